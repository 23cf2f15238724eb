"""Cuts of times and lengths of time: an earlier event's attribute against a later one's, shifted.

`c.time - p.time <= 5 minutes` is `p.time >= c.time - 5 minutes`. Times are whole ticks, so nothing
is rounded on the way, and one order of the earlier events serves for any number of limits.
"""

from __future__ import annotations

from collections.abc import Iterator

from elsinore.model import expression as ex
from elsinore.model.expression import (
    Attribute,
    Binary,
    Duration,
    Expression,
    Literal,
    Negative,
    Operator,
)
from elsinore.plan.between import PREVIOUS, TURNED
from elsinore.plan.template import Cut

Term = tuple[int, Attribute | Duration | Literal]  # its sign, and what is added


def has_length(*expressions: Expression) -> bool:
    """Return whether expressions contain a constant length of time."""
    return any(isinstance(node, Duration) for part in expressions for node in ex.walk(part))


def length_cut(left: Expression, operator: Operator, right: Expression) -> Cut | None:
    """Return a comparison of times or lengths as a cut; None if it is not a sum of two attributes.

    The attributes are one of each event, and constant lengths are added to them.

    >>> time, before = Attribute("current", "time"), Attribute(PREVIOUS, "time")
    >>> minute = Duration(60_000_000_000)
    >>> cut = length_cut(Binary(Operator.SUB, time, before), Operator.LE, minute)
    >>> cut.operator.value, cut.current.operator.value, cut.current.right.nanoseconds
    ('>=', '+', -60000000000)
    """
    terms = signed_terms(Binary(Operator.SUB, left, right))
    if terms is None or any(isinstance(term, Literal) for _, term in terms):
        return None
    length = sum(sign * term.nanoseconds for sign, term in terms if isinstance(term, Duration))
    attributes = [(sign, term) for sign, term in terms if isinstance(term, Attribute)]
    attributes.sort(key=lambda signed: signed[1].variable != PREVIOUS)
    if len(attributes) != 2 or (attributes[0][1].variable == attributes[1][1].variable):
        return None
    (previous_sign, previous), (sign, current) = attributes
    if previous_sign > 0:  # what is not `previous` goes to the other side
        sign, length = -sign, -length
    else:
        operator = TURNED[operator]
    shift = Duration(length)
    if sign < 0:
        return Cut(previous, operator, Binary(Operator.SUB, shift, current))
    shifted = Binary(Operator.ADD, current, shift) if length else current
    return Cut(previous, operator, shifted)


def limits_time(left: Expression, right: Expression) -> bool:
    """Return whether a comparison is of one attribute of each of two events and a constant length.

    >>> time, before = Attribute("current", "time"), Attribute(PREVIOUS, "time")
    >>> limits_time(Binary(Operator.SUB, time, before), Duration(60_000_000_000))
    True
    """
    terms = signed_terms(Binary(Operator.SUB, left, right)) or []
    events = [term.variable for _, term in terms if isinstance(term, Attribute)]
    has_length = any(
        isinstance(term, Duration) or (isinstance(term, Literal) and term.is_ticks)
        for _, term in terms
    )
    return has_length and len(events) == 2 and events[0] != events[1]


def signed_terms(expression: Expression) -> list[Term] | None:
    """Return the terms of a sum of attributes and constants; None for another expression."""
    terms = list(_terms(expression, 1))
    return None if None in terms else [term for term in terms if term is not None]


def _terms(expression: Expression, sign: int) -> Iterator[Term | None]:
    match expression:
        case Attribute() | Duration() | Literal():
            yield sign, expression
        case Negative(operand):
            yield from _terms(operand, -sign)
        case Binary(Operator.ADD | Operator.SUB as operator, left, right):
            yield from _terms(left, sign)
            yield from _terms(right, sign if operator is Operator.ADD else -sign)
        case _:
            yield None
