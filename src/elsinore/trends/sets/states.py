"""Sums per state in integers of any size, of all events or of ranges of those before an event.

The same sums as `elsinore.trends.engine`, in Python's integers and fractions, from the same
updates. A count has a digit for every three events or so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

from elsinore.model.kinds import Strategy
from elsinore.model.window import Window
from elsinore.numeric.exact import Number
from elsinore.plan import TrendUnit
from elsinore.plan.aggregates import Addend, FieldKind
from elsinore.plan.guards import FREE
from elsinore.plan.merged import Place, QueryEnds, merge_templates
from elsinore.plan.template import ALL, Reads, Template
from elsinore.trends.engine.tables import NO_ADDEND, ONE, VALUE
from elsinore.trends.engine.updates import SumUpdate, Update, Updates
from elsinore.trends.sets.ranked import Ranked, Values
from elsinore.trends.sets.sums import NONE, Sums, exact_number, exact_pairs, rank_at

RECENT = 2**16  # exact numbers that are kept: those of rows of windows that overlap are read again
Totals = tuple[int, Sums]  # of a query


class Columns(NamedTuple):
    """What events add up, by addend, their ranks, by column, and compared values; each by row."""

    addends: Sequence[Callable[[int], Number | None]]
    ranks: Sequence[Callable[[int], int]]
    compared: Values


class States:
    """The sums of a unit's queries over all trends in a window."""

    def __init__(self, unit: TrendUnit) -> None:
        self.unit = unit
        self._updates = Updates(unit)
        self._effects: dict[tuple[int, int], tuple[list[Update], list[int]]] = {}

    def columns(
        self, rows: Mapping[str, Sequence[Any]], ranks: Mapping[str, Sequence[int | None]]
    ) -> Columns:
        """Return the columns of events: of deviations those of one turn, from 0, are enough."""

        @lru_cache(maxsize=RECENT)
        def number(name: str, row: int) -> Number | None:
            return exact_number(rows[name][row])

        def value(addend: Addend, row: int) -> Number | None:
            found = None if addend.turn else number(addend.attribute, row)
            return found**2 if found is not None and addend.kind is FieldKind.SQUARE else found

        return Columns(
            [partial(value, addend) for addend in self.unit.addends],
            [partial(rank_at, kind, ranks[name]) for kind, name in self._updates.ranks],
            rows,
        )

    def totals(
        self,
        columns: Columns,
        codes: Sequence[int],
        window: Window | None,
        moments: Sequence[Sequence[int]],
    ) -> Iterator[Totals]:
        """Yield the queries of a window that have trends, with their sums and extremes.

        codes: the classes by row; moments: the rows of each.
        """
        if window not in self._updates.windows:
            return
        kind = self._updates.windows.index(window)
        effects = {row: self._effects_of(codes[row], kind) for moment in moments for row in moment}
        taken: dict[int, list[int]] = {}
        for row, (updates, _) in effects.items():
            for update in updates:
                taken.setdefault(update.node, []).append(row)
        kept = _Kept(self._updates, kind, columns, taken)
        for moment in moments:
            added: list[tuple[int, int, Sums]] = []
            emptied: list[int] = []
            for row in moment:
                updates, resets = effects[row]
                emptied += resets
                added += [(update.node, row, kept.added(update, row)) for update in updates]
            for node in emptied:
                kept.empty(node)
            for addition in added:
                kept.add(*addition)
        for query, ends in enumerate(self.unit.merged.ends):
            if self.unit.templates[query].query.window == window:
                sums = kept.ended(ends)
                if sums.linear[0]:
                    yield query, sums

    def _effects_of(self, code: int, kind: int) -> tuple[list[Update], list[int]]:
        """Return what a class of events does to a kind of windows' nodes, and which it empties."""
        if (code, kind) not in self._effects:
            updates: list[Update] = []
            resets: list[int] = []
            if code >= 0:
                decoded, kinds = self.unit.classes.decode(code), self._updates.kind_of
                updates = [
                    update
                    for update in self._updates.updates(*decoded)
                    if kinds[update.node] == kind
                ]
                resets = [node for node in self._updates.resets(*decoded) if kinds[node] == kind]
            self._effects[code, kind] = updates, resets
        return self._effects[code, kind]


class _Kept:
    """What is kept of the trends in a window: sums of all that end in a node, and by rank."""

    def __init__(
        self, updates: Updates, kind: int, columns: Columns, taken: Mapping[int, Sequence[int]]
    ) -> None:
        self._nodes, self._columns = updates.nodes, columns
        self._sums: dict[int, Sums] = {}
        self._ranked: dict[int, Ranked] = {}
        for number, node in enumerate(updates.nodes):
            if node.seed and updates.kind_of[number] == kind:
                self._sums[number] = Sums([1], [])
            if node.rows is not None and node.rows.order is not None:
                rows = taken.get(number, ())
                self._ranked[number] = Ranked(node.rows.order, rows, columns.compared)

    def _read(self, node: int, reads: Reads, row: int) -> Sums | None:
        """Return the sums of the trends of a node that an event may follow."""
        if reads == ALL:
            return self._sums.get(node)
        read: Sums | None = None
        for sums in self._ranked[node].followed(reads.ranges, row):
            if read is None:
                read = sums.copy()
            else:
                read.add(sums)
        return read

    def added(self, update: Update, row: int) -> Sums:
        """Return what an event adds to a node."""
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
            extremes.append(
                min([*ranks, self._columns.ranks[column](row) if column >= 0 else NONE])
            )
        return Sums(linear, extremes)

    def _addend(self, part: SumUpdate, row: int) -> Number:
        """Return what an event itself adds to a sum, for each of its trends."""
        if part.addend in {NO_ADDEND, ONE}:
            return int(part.addend == ONE)
        addend = self._columns.addends[(part.addend - VALUE) >> 1](row)
        return int(addend is not None) if part.addend & 1 else addend or 0

    def add(self, node: int, row: int, sums: Sums) -> None:
        """Take in the trends that end with an event in a node, if there are any."""
        if not sums.linear[0]:
            return
        if node in self._sums:
            self._sums[node].add(sums)
        else:
            self._sums[node] = sums.copy()
        if node in self._ranked:
            self._ranked[node].enter(row, sums)

    def empty(self, node: int) -> None:
        """Forget the trends that end in a node."""
        self._sums.pop(node, None)
        if node in self._ranked:
            self._ranked[node].clear()

    def ended(self, ends: QueryEnds) -> Sums:
        """Return the sums and extremes over a query's trends."""
        cells = [self._add_up(places) for places in ends.linear]
        if ends.pairs:
            left, right, both = map(int, cells)
            return Sums([exact_pairs(left - both, right - both, both)], [])
        extremes = [
            min((self._sums[n].extremes[e] for n, e in places if n in self._sums), default=NONE)
            for places in ends.extremes
        ]
        return Sums(cells, extremes)

    def _add_up(self, places: Sequence[Place]) -> Number:
        return sum(self._sums[n].linear[number] for n, number in places if n in self._sums)


def summed_unit(unit: TrendUnit, templates: Mapping[int, Template]) -> TrendUnit:
    """Return a unit of some queries of a unit, by the templates that `States` runs."""
    return replace(
        unit,
        members=tuple(unit.members[query] for query in templates),
        templates=tuple(templates.values()),
        merged=merge_templates(list(templates.values())),
    )


def reads_ranges(template: Template) -> bool:
    """Return whether events follow all events of a state, or ranges of them."""
    plain = all(move.reads._replace(ranges=()) == ALL for move in template.transitions)
    free = all(ways == FREE for ways in template.closing)
    return template.query.strategy is Strategy.ANY and plain and free
