"""Sums of trends by the rank of their last event, of which ranges are added up in O(log n)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from elsinore.model.evaluate import Value, compared, evaluate, is_true
from elsinore.model.expression import Attribute, Expression, Operator
from elsinore.plan.between import PREVIOUS
from elsinore.plan.ranges import sides
from elsinore.plan.template import Cut
from elsinore.trends.sets.sums import Sums

Parts = Sequence[Sequence[Cut]]  # ranges: all cuts of one hold
Values = Mapping[str, Sequence[Any]]


class Tree:
    """Sums by rank, of which ranges are added up: a tree of halves, of what is not empty."""

    def __init__(self, ranks: int) -> None:
        self._ranks = ranks
        self._sums: dict[int, Sums] = {}

    def enter(self, rank: int, sums: Sums) -> None:
        """Add to what a rank holds.

        >>> tree = Tree(5)
        >>> for rank in (0, 3, 4):
        ...     tree.enter(rank, Sums([10**rank], []))
        >>> sum(sums.linear[0] for sums in tree.held(0, 4)), sum(1 for _ in tree.held(1, 3))
        (1001, 0)
        """
        place = rank + self._ranks
        while place:
            if place in self._sums:
                self._sums[place].add(sums)
            else:
                self._sums[place] = sums.copy()
            place >>= 1

    def held(self, first: int, last: int) -> Iterator[Sums]:
        """Yield what the ranks `first` to `last` - 1 hold, in few parts."""
        first, last = first + self._ranks, last + self._ranks
        while first < last:
            if first & 1 and first in self._sums:
                yield self._sums[first]
            if last & 1 and last - 1 in self._sums:
                yield self._sums[last - 1]
            first, last = (first + 1) >> 1, last >> 1

    def clear(self) -> None:
        """Hold nothing."""
        self._sums.clear()


class Ranked:
    """Trends by the rank of their last event, in the order of an expression over such events."""

    def __init__(self, by: Expression, rows: Sequence[int], values: Values) -> None:
        """Rank the events of rows; nothing follows those without a value of the expression.

        values: by attribute and row.
        """
        self._by = by
        self._values = values
        there = [(row, value) for row in rows if (value := self._value(by, row)) is not None]
        self._ordered = sorted({value for _, value in there})
        places = {value: rank for rank, value in enumerate(self._ordered)}
        self._ranks = {row: places[value] for row, value in there}
        self._examples = {rank: row for row, rank in self._ranks.items()}
        self._tree = Tree(len(places))

    def enter(self, row: int, sums: Sums) -> None:
        """Keep trends that end with an event."""
        rank = self._ranks.get(row)
        if rank is not None:
            self._tree.enter(rank, sums)

    def clear(self) -> None:
        """Keep nothing."""
        self._tree.clear()

    def followed(self, parts: Parts, row: int) -> Iterator[Sums]:
        """Yield the trends that a later event may follow, in few parts."""
        for first, last in self._spans(parts, row):
            yield from self._tree.held(first, last)

    def _spans(self, parts: Parts, row: int) -> Iterator[tuple[int, int]]:
        """Yield ranges of ranks that lie between all cuts of some part, and have none in common."""
        reach = 0
        for first, last in sorted(self._between(cuts, row) for cuts in parts):
            if last > max(first, reach):
                yield max(first, reach), last
                reach = last

    def _between(self, cuts: Sequence[Cut], row: int) -> tuple[int, int]:
        first, last = 0, len(self._ordered)
        for cut in cuts:
            for operator, is_high in sides(cut, self._by):
                if is_high:
                    last = min(last, self._place(cut, operator, row, holds=False))
                else:
                    first = max(first, self._place(cut, operator, row, holds=True))
        return first, last

    def _place(self, cut: Cut, operator: Operator, row: int, *, holds: bool) -> int:
        """Return the first rank from which on a cut holds for a later row, or does not."""
        if cut.shift is None and cut.previous == self._by:
            bound = self._value(cut.current, row)

            def is_there(rank: int) -> bool:
                return (compared(operator, self._ordered[rank], bound) is True) == holds

        else:
            condition = cut.condition(operator)

            def is_there(rank: int) -> bool:
                rows = self._examples[rank], row
                return is_true(condition, lambda read: self._read(read, *rows)) == holds

        return bisect_left(range(len(self._ordered)), True, key=is_there)

    def _value(self, expression: Expression, row: int) -> Value | None:
        return evaluate(expression, lambda read: self._read(read, row, row))

    def _read(self, read: Attribute, earlier: int, later: int) -> Value | None:
        value: Value | None = self._values[read.name or ""][
            earlier if read.variable == PREVIOUS else later
        ]
        return value
