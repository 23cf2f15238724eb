"""Attributes of times and lengths with a constant length added, as the integers they compare as."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from elsinore.model.expression import Attribute, Binary, Duration, Expression, Operator
from elsinore.trends.values.arrays import Ints

_GREATEST = 2**63 - 1


def shifted_attribute(expression: Expression) -> Attribute | None:
    """Return the attribute of a shifted attribute (`elsinore.plan.ranges`), or None."""
    match expression:
        case Binary(Operator.ADD, Attribute() as attribute, Duration()):
            return attribute
        case Binary(Operator.SUB, Duration(), Attribute() as attribute):
            return attribute
    return None


def shifted_codes(
    expression: Expression, codes: Ints, length_code: Callable[[int], int]
) -> Ints | None:
    """Return a shifted attribute in ticks, given the attribute's; None if 64 bits do not suffice.

    >>> time, second = Attribute("current", "time"), Duration(1_000_000_000)
    >>> before = Binary(Operator.ADD, time, second)
    >>> shifted_codes(before, np.array([5, 6]), lambda nanoseconds: nanoseconds // 1_000).tolist()
    [1000005, 1000006]
    """
    match expression:
        case Binary(Operator.ADD, _, Duration(nanoseconds)):
            sign = 1
        case Binary(Operator.SUB, Duration(nanoseconds), _):
            sign = -1
        case _:
            raise TypeError(f"not a shifted attribute: {expression}")
    length = length_code(nanoseconds)
    if len(codes):
        ends = [sign * int(code) + length for code in (codes.min(), codes.max())]
        if max(map(abs, [length, *ends])) > _GREATEST:
            return None
    return sign * codes + np.int64(length)
