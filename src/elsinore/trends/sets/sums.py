"""Sums over trends in exact numbers, and what single events add to them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

from elsinore.errors import InputError
from elsinore.model.evaluate import is_true
from elsinore.model.expression import Expression
from elsinore.numeric.exact import Number, simple
from elsinore.plan.aggregates import FieldKind
from elsinore.plan.between import PREVIOUS
from elsinore.plan.template import Reads
from elsinore.trends.values import FOREVER
from elsinore.trends.values.columns import EDGE

NONE = int(FOREVER)  # the least of no ranks
RECENT = 2**16  # numbers that are kept: rows in overlapping windows are read again


@dataclass(slots=True)
class Sums:
    """Linear fields and extremes over some sequences of events."""

    linear: list[Number]
    extremes: list[int]

    def add(self, other: Sums) -> None:
        """Take in other sequences."""
        self.linear = [a + b for a, b in zip(self.linear, other.linear, strict=True)]
        self.extremes = [min(a, b) for a, b in zip(self.extremes, other.extremes, strict=True)]

    def copy(self) -> Sums:
        """Return sums to which others can be added without changing these."""
        return Sums(self.linear, self.extremes)


class Values:
    """The values of events, by attribute and row, and what they add to fields."""

    def __init__(
        self, rows: Mapping[str, Sequence[Any]], ranks: Mapping[str, Sequence[int | None]]
    ) -> None:
        self.rows = rows
        self._ranks = ranks
        self._number = lru_cache(maxsize=RECENT)(lambda name, row: exact_number(rows[name][row]))

    def holds(self, condition: Expression, earlier: int, later: int) -> bool:
        """Return whether a condition between two events holds, given their rows."""
        return is_true(
            condition,
            lambda read: self.rows[read.name or ""][
                earlier if read.variable == PREVIOUS else later
            ],
        )

    def follows(self, reads: Reads, earlier: int, later: int) -> bool:
        """Return whether an event may follow an earlier one by the conditions on the two."""
        in_range = not reads.ranges or any(
            all(self.holds(cut.condition(), earlier, later) for cut in cuts)
            for cuts in reads.ranges
        )
        return in_range and all(self.holds(each, earlier, later) for each in reads.conditions)

    def addend(self, kind: FieldKind, attribute: str | None, row: int, turn: int = 0) -> Number:
        """Return what an event adds to a sum for each trend that contains it.

        Deviations are from 0. As nothing is rounded, those of turn 0 are enough.
        """
        if kind is FieldKind.EVENTS:
            return 1
        number: Number | None = self._number(attribute, row)
        if kind is FieldKind.PRESENT:
            return int(number is not None)
        if number is None or turn:
            return 0
        return number**2 if kind is FieldKind.SQUARE else number

    def rank(self, kind: FieldKind, attribute: str | None, row: int) -> int:
        """Return the rank of an event, of which the least is taken; NONE if it has none.

        It is inverted for the greatest; in the field of an edge it is 0 for the edge.
        """
        rank = self._ranks[attribute or ""][row]
        if rank is None:
            return NONE
        if kind in EDGE:
            return 0 if rank == EDGE[kind] else NONE
        return rank if kind is FieldKind.LEAST else ~rank


def exact_number(value: object) -> Number | None:
    """Return a value as an exact number; None for null and NaN."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool | int):
        return int(value)
    if isinstance(value, float | Decimal):
        try:
            return simple(Fraction(value))
        except OverflowError:
            raise InputError(
                f"EXACT cannot add up the value {value}: it is not finite. Filter such events out."
            ) from None
    raise InputError(f"EXACT cannot add up the value {value!r}.")


def exact_pairs(one: int, other: int, both: int) -> int:
    """Return the pairs of trends of one pattern alone, of the other alone and of both.

    >>> exact_pairs(2, 3, 4)
    32
    """
    return one * other + one * both + other * both + both * (both - 1) // 2
