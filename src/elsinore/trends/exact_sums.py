"""Sums over all trends by node of the merged template, in numbers of any size.

These are the engine's sums (`elsinore.trends.engine`), computed from the same updates in Python's
integers and fractions. A count has about one more digit for every three events. An event that may
follow a range of earlier ones reads O(log n) sums of a tree over their ranks; under any other
condition it is compared with each earlier event.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from elsinore.errors import InputError
from elsinore.model.evaluate import Value, compare, evaluate, is_true
from elsinore.model.expression import Expression, Operator
from elsinore.model.window import Window
from elsinore.numeric.exact import Number, simple
from elsinore.plan import TrendUnit
from elsinore.plan.aggregates import FieldKind
from elsinore.plan.between import PREVIOUS
from elsinore.plan.merged import Place, QueryEnds, merge_templates
from elsinore.plan.ranges import sides
from elsinore.plan.template import ALL, Cut, Reads, Template
from elsinore.trends.engine.constants import NO_ADDEND, ONE, VALUE
from elsinore.trends.engine.steps import SumUpdate, Update, Updates
from elsinore.trends.values import EDGE, FOREVER

NONE = int(FOREVER)  # the rank of no event
CACHED = 2**16  # numbers and conditions that are cached: overlapping windows read rows again

Addition = tuple[int, int, "Sums"]  # a node, the row of an event, and its trends that end there


@dataclass(slots=True)
class Sums:
    """Linear fields and extremes over some sequences of events."""

    linear: list[Number]
    extremes: list[int]

    def add(self, other: Sums) -> None:
        """Add other sequences."""
        self.linear = [a + b for a, b in zip(self.linear, other.linear, strict=True)]
        self.extremes = [min(a, b) for a, b in zip(self.extremes, other.extremes, strict=True)]

    def copy(self) -> Sums:
        """Return equal sums; adding to them does not change these."""
        return Sums(self.linear, self.extremes)


class EventValues:
    """The values of attributes by row, None for null and NaN.

    An attribute may be compared and added up in different forms: a length of time is compared as a
    `Span`, and added up as a number of ticks.
    """

    def __init__(
        self,
        compared: Mapping[str, Sequence[Any]],
        summed: Mapping[str, Sequence[Any]],
        ranks: Mapping[str, Sequence[int | None]],
    ) -> None:
        self.compared = compared
        self._ranks = ranks
        self._summed = summed
        self._number = lru_cache(CACHED)(self._exact_number)

    def _exact_number(self, name: str, row: int) -> Number | None:
        value = self._summed[name][row]
        try:
            return None if value is None else simple(Fraction(value))
        except OverflowError:
            raise InputError(
                f"EXACT cannot add up the value {value}: it is not finite. Filter such events out."
            ) from None

    def holds(self, condition: Expression, earlier: int, later: int) -> bool:
        """Return whether a condition between two events holds, given their rows."""
        return is_true(
            condition,
            lambda read: self.compared[read.name or ""][
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
        number = self._number(attribute or "", row)
        if kind is FieldKind.PRESENT:
            return int(number is not None)
        if number is None or turn:
            return 0
        return number**2 if kind is FieldKind.SQUARE else number

    def rank(self, kind: FieldKind, attribute: str | None, row: int) -> int:
        """Return the rank of an event, of which the least is taken; NONE for a null.

        It is inverted for the greatest; in the field of an edge it is 0 for the edge.
        """
        rank = self._ranks[attribute or ""][row]
        if rank is None:
            return NONE
        if kind in EDGE:
            return 0 if rank == EDGE[kind] else NONE
        return rank if kind is FieldKind.LEAST else ~rank


def pair_count(left: int, right: int, both: int) -> int:
    """Return the number of unordered pairs of different trends, one of each of two patterns.

    `left` and `right` are the trends of one pattern alone, `both` those of both patterns.

    >>> pair_count(2, 3, 4)
    32
    """
    return left * right + left * both + right * both + both * (both - 1) // 2


class ExactSums:
    """The sums of a unit's queries over all trends in a window."""

    def __init__(self, unit: TrendUnit, templates: Mapping[int, Template]) -> None:
        """Prepare some queries of a unit, by templates that are pairwise."""
        self.unit = replace(
            unit,
            members=tuple(
                replace(unit.members[query], aggregation=template.aggregation)
                for query, template in templates.items()
            ),
            templates=tuple(templates.values()),
            merged=merge_templates(list(templates.values())),
        )
        self.updates = Updates(self.unit)
        self.effects = lru_cache(None)(self._effects)

    def totals(
        self,
        values: EventValues,
        codes: Sequence[int],
        window: Window | None,
        moments: Sequence[Sequence[int]],
    ) -> Iterator[tuple[int, Sums]]:
        """Yield the queries that have trends in a window, with their sums and extremes.

        codes: the classes by row; moments: the rows of each timestamp.
        """
        if window not in self.updates.windows:
            return
        sums = WindowSums(self, values, codes, window, moments)
        for moment in moments:
            sums.store(moment, sums.contributions(moment))
        for query, ends in enumerate(self.unit.merged.ends):
            if self.unit.templates[query].query.window == window:
                total = sums.total(ends)
                if total.linear[0]:
                    yield query, total

    def _effects(self, code: int, kind: int) -> tuple[list[Update], list[int]]:
        """Return how a class of events updates nodes of a kind of window, and which it empties."""
        if code < 0:
            return [], []
        decoded, kinds = self.unit.classes.decode(code), self.updates.kind_of
        return (
            [u for u in self.updates.updates(*decoded) if kinds[u.node] == kind],
            [node for node in self.updates.resets(*decoded) if kinds[node] == kind],
        )


class WindowSums:
    """The trends in one window by node: their sums, and the sums of each last event if needed."""

    def __init__(
        self,
        exact: ExactSums,
        values: EventValues,
        codes: Sequence[int] | Mapping[int, int],
        window: Window | None,
        moments: Iterable[Iterable[int]],
    ) -> None:
        """Start before the first event; the arguments are those of `ExactSums.totals`."""
        self._addends, self._columns = exact.unit.addends, exact.updates.ranks
        self._values = values
        kind = exact.updates.windows.index(window)
        self._effects = {row: exact.effects(codes[row], kind) for rows in moments for row in rows}
        entered: dict[int, list[int]] = {}
        for row, (updates, _) in self._effects.items():
            for update in updates:
                entered.setdefault(update.node, []).append(row)
        self._sums: dict[int, Sums] = {}
        self._ranked: dict[int, RankedSums] = {}
        self._listed: dict[int, list[tuple[int, Sums]]] = {}  # rows and their sums
        for number, node in enumerate(exact.updates.nodes):
            if node.storage.is_seed and exact.updates.kind_of[number] == kind:
                self._sums[number] = Sums([1], [])
            rows = node.storage.rows
            if rows is not None and rows.order is not None:
                self._ranked[number] = RankedSums(rows.order, entered.get(number, ()), values)
            if rows is not None and rows.is_checked:
                self._listed[number] = []

    def count(self, node: int) -> int:
        """Return the number of trends that end in a node."""
        return int(self._add_up([(node, 0)]))

    def contributions(self, moment: Iterable[int]) -> list[Addition]:
        """Return the trends that end with each event of a timestamp, before any is stored."""
        return [
            (update.node, row, self._contribution(update, row))
            for row in moment
            for update in self._effects[row][0]
        ]

    def store(self, moment: Iterable[int], additions: Iterable[Addition]) -> None:
        """Empty the nodes that events of a timestamp reset, then store what the events add."""
        for row in moment:
            for node in self._effects[row][1]:
                self._sums.pop(node, None)
                for stored in (self._ranked, self._listed):
                    if node in stored:
                        stored[node].clear()
        for node, row, sums in additions:
            if not sums.linear[0]:
                continue
            if node in self._sums:
                self._sums[node].add(sums)
            else:
                self._sums[node] = sums.copy()
            if node in self._ranked:
                self._ranked[node].add(row, sums)
            if node in self._listed:
                self._listed[node].append((row, sums))

    def _read(self, node: int, reads: Reads, row: int) -> Sums | None:
        """Return the sums of the trends of a node that an event may follow."""
        if reads == ALL:
            return self._sums.get(node)
        parts: Iterable[Sums]
        if reads.conditions:
            listed = self._listed[node]
            parts = (s for earlier, s in listed if self._values.follows(reads, earlier, row))
        else:
            parts = self._ranked[node].in_ranges(reads.ranges, row)
        total: Sums | None = None
        for sums in parts:
            if total is None:
                total = sums.copy()
            else:
                total.add(sums)
        return total

    def _contribution(self, update: Update, row: int) -> Sums:
        """Return what an event adds to a node (HAMLET, Equation 2)."""
        keys = dict.fromkeys((s.node, s.reads) for s in update.sums[0].sources)
        read = {key: sums for key in keys if (sums := self._read(*key, row)) is not None}
        totals = [
            sum(read[s.node, s.reads].linear[s.row] for s in sources if (s.node, s.reads) in read)
            for sources, _ in update.sums
        ]
        count = int(update.starts is not None) + totals[0]
        if not count:
            return Sums([0], [])
        added = zip(totals[1:], update.sums[1:], strict=True)
        linear = [count, *(total + count * self._addend(part, row) for total, part in added)]
        extremes = []
        for sources, column in update.extremes:
            ranks = [
                read[s.node, s.reads].extremes[s.row] for s in sources if (s.node, s.reads) in read
            ]
            if column >= 0:
                ranks.append(self._values.rank(*self._columns[column], row))
            extremes.append(min(ranks, default=NONE))
        return Sums(linear, extremes)

    def _addend(self, part: SumUpdate, row: int) -> Number:
        """Return what an event itself adds to a sum, for each of its trends."""
        if part.addend in {NO_ADDEND, ONE}:
            return int(part.addend == ONE)
        addend = self._addends[(part.addend - VALUE) >> 1]
        kind = FieldKind.PRESENT if part.addend & 1 else addend.kind
        return self._values.addend(kind, addend.attribute, row, addend.turn)

    def total(self, ends: QueryEnds) -> Sums:
        """Return the sums and extremes over a query's trends (HAMLET, Equation 3)."""
        cells = [self._add_up(places) for places in ends.linear]
        if ends.pairs:
            left, right, both = map(int, cells)
            return Sums([pair_count(left - both, right - both, both)], [])
        extremes = [
            min((self._sums[n].extremes[e] for n, e in places if n in self._sums), default=NONE)
            for places in ends.extremes
        ]
        return Sums(cells, extremes)

    def _add_up(self, places: Sequence[Place]) -> Number:
        return sum(self._sums[n].linear[number] for n, number in places if n in self._sums)


class RankedSums:
    """Sums of trends by the rank of their last event in a sort key.

    They are a binary tree in heap order, from which nodes without trends are absent.
    """

    def __init__(self, sort_key: Expression, rows: Sequence[int], values: EventValues) -> None:
        """Rank the events of rows; nothing follows an event whose sort key is null."""
        self._sort_key = sort_key
        self._values = values
        keys = [(row, key) for row in rows if (key := self._value(sort_key, row)) is not None]
        self._ordered = sorted({key for _, key in keys})
        places = {key: rank for rank, key in enumerate(self._ordered)}
        self._ranks = {row: places[key] for row, key in keys}
        self._examples = {rank: row for row, rank in self._ranks.items()}
        self._sums: dict[int, Sums] = {}

    def add(self, row: int, sums: Sums) -> None:
        """Add trends that end with an event."""
        if row not in self._ranks:
            return
        place = self._ranks[row] + len(self._ordered)
        while place:
            if place in self._sums:
                self._sums[place].add(sums)
            else:
                self._sums[place] = sums.copy()
            place >>= 1

    def clear(self) -> None:
        """Remove all trends."""
        self._sums.clear()

    def in_ranges(self, ranges: Sequence[Sequence[Cut]], row: int) -> Iterator[Sums]:
        """Yield the sums of the trends that a later event may follow: in one range or several."""
        reach, size = 0, len(self._ordered)
        for first, last in sorted(self._between(cuts, row) for cuts in ranges):
            low, high = max(first, reach) + size, last + size
            reach = max(reach, last)
            while low < high:
                if low & 1 and low in self._sums:
                    yield self._sums[low]
                if high & 1 and high - 1 in self._sums:
                    yield self._sums[high - 1]
                low, high = (low + 1) >> 1, high >> 1

    def _between(self, cuts: Sequence[Cut], row: int) -> tuple[int, int]:
        """Return the first rank for which all cuts hold, and the rank after the last one."""
        first, last = 0, len(self._ordered)
        for cut in cuts:
            for operator, is_high in sides(cut, self._sort_key):
                if is_high:
                    last = min(last, self._place(cut, operator, row, holds=False))
                else:
                    first = max(first, self._place(cut, operator, row, holds=True))
        return first, last

    def _place(self, cut: Cut, operator: Operator, row: int, *, holds: bool) -> int:
        """Return the first rank from which on a cut holds, or fails, for a later row."""
        if cut.shift is None and cut.previous == self._sort_key:
            bound = self._value(cut.current, row)

            def is_reached(rank: int) -> bool:
                return (compare(operator, self._ordered[rank], bound) is True) == holds

        else:
            condition = cut.condition(operator)

            def is_reached(rank: int) -> bool:
                return self._values.holds(condition, self._examples[rank], row) == holds

        return bisect_left(range(len(self._ordered)), True, key=is_reached)

    def _value(self, expression: Expression, row: int) -> Value | None:
        return evaluate(expression, lambda read: self._values.compared[read.name or ""][row])
