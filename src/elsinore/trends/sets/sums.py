"""What trends add up: their number, and for each run they may be in sums and extremes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

from elsinore.errors import InputError
from elsinore.numeric.exact import Number, simple
from elsinore.plan.aggregates import Field, FieldKind
from elsinore.plan.guarded import GuardedTemplate
from elsinore.trends.sets.ground import Run
from elsinore.trends.values.arrays import FOREVER
from elsinore.trends.values.columns import EDGE

NONE = int(FOREVER)  # the least of no ranks


@dataclass(slots=True)
class Sums:
    """Linear fields and extremes over some sequences of events.

    `search` leaves out the first field, their number: it is the same for all runs.
    """

    linear: list[Number]
    extremes: list[int]

    def add(self, other: Sums) -> None:
        """Take in other sequences."""
        self.linear = [a + b for a, b in zip(self.linear, other.linear, strict=True)]
        self.extremes = [min(a, b) for a, b in zip(self.extremes, other.extremes, strict=True)]

    def copy(self) -> Sums:
        """Return sums to which others can be added without changing these."""
        return Sums(self.linear, self.extremes)


@dataclass(slots=True)
class Sequences:
    """The number of some sequences of events, and their sums as each of their runs reads them."""

    count: int = 0
    sums: dict[Run, Sums] = field(default_factory=dict)

    def add(self, count: int, sums: Mapping[Run, Sums]) -> None:
        """Take in other sequences that may be in the same runs."""
        self.count += count
        for run, more in sums.items():
            if run in self.sums:
                self.sums[run].add(more)
            else:
                self.sums[run] = more.copy()


class Addends:
    """What an event contributes to the fields of a template, by the state it takes."""

    def __init__(
        self,
        template: GuardedTemplate,
        rows: Mapping[str, Sequence[Any]],
        ranks: Mapping[str, Sequence[int | None]],
    ) -> None:
        self._variables = [state.variable for state in template.states]
        self._linear = template.aggregation.linear[1:]  # without the number of trends
        self._extremes = template.aggregation.extremes
        self._rows = rows
        self._ranks = ranks
        self._numbers: dict[tuple[str, int], Number | None] = {}

    def nothing(self) -> Sums:
        """Return the sums of no event."""
        return Sums([0] * len(self._linear), [NONE] * len(self._extremes))

    def added(self, before: Sums, count: int, state: int, row: int) -> Sums:
        """Return the sums of `count` sequences each extended by an event that takes a state."""
        variable = self._variables[state]
        return Sums(
            [
                old + count * self._addend(entry, row) if variable in entry.variables else old
                for old, entry in zip(before.linear, self._linear, strict=True)
            ],
            [
                min(old, self._rank(entry, row)) if variable in entry.variables else old
                for old, entry in zip(before.extremes, self._extremes, strict=True)
            ],
        )

    def _addend(self, entry: Field, row: int) -> Number:
        if entry.kind is FieldKind.EVENTS:
            return 1
        name = entry.attribute or ""
        if entry.kind is FieldKind.PRESENT:
            return int(self._rows[name][row] is not None)
        if entry.kind is FieldKind.SUM:
            return self._number(name, row) or 0
        number = self._number(name, row)
        if number is None or entry.turn:  # nothing is rounded here: those of one turn do for all
            return 0
        return number**2 if entry.kind is FieldKind.SQUARE else number

    def _number(self, name: str, row: int) -> Number | None:
        if (name, row) not in self._numbers:
            self._numbers[name, row] = exact_number(self._rows[name][row])
        return self._numbers[name, row]

    def _rank(self, entry: Field, row: int) -> int:
        return rank_at(entry.kind, self._ranks[entry.attribute or ""], row)


def rank_at(kind: FieldKind, ranks: Sequence[int | None], row: int) -> int:
    """Return the rank of a row, of which the least is taken; NONE if it has none.

    It is inverted for the greatest, and 0 for the rank that stands for none, in a field of edges.
    """
    rank = ranks[row]
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
