"""Sums per state in exact numbers, over all earlier events or over those that compare so.

These are the sums of `elsinore.trends.engine`, in Python's integers and fractions and from the same
updates. A count has a digit for every three events or so. Sums over ranges are those of trends by
the rank of their last event, and ranges of ranks are added up in O(log n); for other conditions
each earlier event is looked at.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from elsinore.automata.positions import FREE
from elsinore.model.evaluate import Value, compared, evaluate
from elsinore.model.expression import Expression, Operator
from elsinore.model.kinds import Strategy
from elsinore.model.window import Window
from elsinore.numeric.exact import Number
from elsinore.plan import TrendUnit
from elsinore.plan.aggregates import FieldKind
from elsinore.plan.merged import Place, QueryEnds, merge_templates
from elsinore.plan.ranges import sides
from elsinore.plan.template import ALL, Cut, Reads, Template
from elsinore.trends.engine.constants import NO_ADDEND, ONE, VALUE
from elsinore.trends.engine.updates import SumUpdate, Update, Updates
from elsinore.trends.sets.sums import NONE, Sums, Values, exact_pairs

Addition = tuple[int, int, Sums]  # a node, the row of an event, and its trends that end there


class States:
    """The sums of a unit's queries over all trends in a window."""

    def __init__(self, unit: TrendUnit) -> None:
        self.unit = unit
        self.updates = Updates(unit)
        self._effects: dict[tuple[int, int], tuple[list[Update], list[int]]] = {}

    def totals(
        self,
        values: Values,
        codes: Sequence[int],
        window: Window | None,
        moments: Sequence[Sequence[int]],
    ) -> Iterator[tuple[int, Sums]]:
        """Yield the queries of a window that have trends, with their sums and extremes.

        codes: the classes by row; moments: the rows of each.
        """
        if window not in self.updates.windows:
            return
        sums = WindowSums(self, values, codes, window, moments)
        for moment in moments:
            sums.end(moment, sums.added(moment))
        for query, ends in enumerate(self.unit.merged.ends):
            if self.unit.templates[query].query.window == window:
                total = sums.total(ends)
                if total.linear[0]:
                    yield query, total

    def effects(self, code: int, kind: int) -> tuple[list[Update], list[int]]:
        """Return what a class of events does to a kind of windows' nodes, and which it empties."""
        if (code, kind) not in self._effects:
            updates: list[Update] = []
            resets: list[int] = []
            if code >= 0:
                decoded, kinds = self.unit.classes.decode(code), self.updates.kind_of
                updates = [
                    update
                    for update in self.updates.updates(*decoded)
                    if kinds[update.node] == kind
                ]
                resets = [node for node in self.updates.resets(*decoded) if kinds[node] == kind]
            self._effects[code, kind] = updates, resets
        return self._effects[code, kind]


class WindowSums:
    """The trends in one window by node: sums of all that end there, and by their last event."""

    def __init__(
        self,
        states: States,
        values: Values,
        codes: Sequence[int] | Mapping[int, int],
        window: Window | None,
        moments: Iterable[Iterable[int]],
    ) -> None:
        """Start with no event; the arguments are those of `States.totals`."""
        self._addends, self._columns = states.unit.addends, states.updates.ranks
        self._values = values
        kind = states.updates.windows.index(window)
        self._effects = {row: states.effects(codes[row], kind) for rows in moments for row in rows}
        entered: dict[int, list[int]] = {}
        for row, (updates, _) in self._effects.items():
            for update in updates:
                entered.setdefault(update.node, []).append(row)
        self._sums: dict[int, Sums] = {}
        self._ranked: dict[int, Ranked] = {}
        self._listed: dict[int, list[tuple[int, Sums]]] = {}  # rows and their sums
        for number, node in enumerate(states.updates.nodes):
            if node.seed and states.updates.kind_of[number] == kind:
                self._sums[number] = Sums([1], [])
            if node.rows is not None and node.rows.order is not None:
                self._ranked[number] = Ranked(node.rows.order, entered.get(number, ()), values)
            if node.rows is not None and node.rows.is_checked:
                self._listed[number] = []

    def count(self, node: int) -> int:
        """Return the number of trends that end in a node."""
        return int(self._sums[node].linear[0]) if node in self._sums else 0

    def added(self, moment: Iterable[int]) -> list[Addition]:
        """Return the trends that end with each event of a moment, none of which acts yet."""
        return [
            (update.node, row, self._added(update, row))
            for row in moment
            for update in self._effects[row][0]
        ]

    def end(self, moment: Iterable[int], additions: Iterable[Addition]) -> None:
        """Let the events of a moment act, after what they forbid has been dropped."""
        for row in moment:
            for node in self._effects[row][1]:
                self._sums.pop(node, None)
                for kept in (self._ranked, self._listed):
                    if node in kept:
                        kept[node].clear()
        for node, row, sums in additions:
            if not sums.linear[0]:
                continue
            if node in self._sums:
                self._sums[node].add(sums)
            else:
                self._sums[node] = sums.copy()
            if node in self._ranked:
                self._ranked[node].enter(row, sums)
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
            parts = self._ranked[node].followed(reads.ranges, row)
        read: Sums | None = None
        for sums in parts:
            if read is None:
                read = sums.copy()
            else:
                read.add(sums)
        return read

    def _added(self, update: Update, row: int) -> Sums:
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
            return Sums([exact_pairs(left - both, right - both, both)], [])
        extremes = [
            min((self._sums[n].extremes[e] for n, e in places if n in self._sums), default=NONE)
            for places in ends.extremes
        ]
        return Sums(cells, extremes)

    def _add_up(self, places: Sequence[Place]) -> Number:
        return sum(self._sums[n].linear[number] for n, number in places if n in self._sums)


class Ranked:
    """Trends by the rank of their last event in the order of an expression over such events.

    Their sums are a tree of halves, of which the nodes without trends are left out.
    """

    def __init__(self, by: Expression, rows: Sequence[int], values: Values) -> None:
        """Rank the events of rows; nothing follows those without a value of the expression."""
        self._by = by
        self._values = values
        ordering = [(row, value) for row in rows if (value := self._value(by, row)) is not None]
        self._ordered = sorted({value for _, value in ordering})
        places = {value: rank for rank, value in enumerate(self._ordered)}
        self._ranks = {row: places[value] for row, value in ordering}
        self._examples = {rank: row for row, rank in self._ranks.items()}
        self._sums: dict[int, Sums] = {}

    def enter(self, row: int, sums: Sums) -> None:
        """Keep trends that end with an event."""
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
        """Keep nothing."""
        self._sums.clear()

    def followed(self, ranges: Sequence[Sequence[Cut]], row: int) -> Iterator[Sums]:
        """Yield the trends that a later event may follow: all cuts of one of the ranges hold."""
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
        """Return the first rank for which all cuts hold, and that after the last one."""
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

            def is_reached(rank: int) -> bool:
                return (compared(operator, self._ordered[rank], bound) is True) == holds

        else:
            condition = cut.condition(operator)

            def is_reached(rank: int) -> bool:
                return self._values.holds(condition, self._examples[rank], row) == holds

        return bisect_left(range(len(self._ordered)), True, key=is_reached)

    def _value(self, expression: Expression, row: int) -> Value | None:
        return evaluate(expression, lambda read: self._values.rows[read.name or ""][row])


def unit_of_templates(unit: TrendUnit, templates: Mapping[int, Template]) -> TrendUnit:
    """Return a unit of some queries of a unit, by templates that `States` runs."""
    return replace(
        unit,
        members=tuple(
            replace(unit.members[query], aggregation=template.aggregation)
            for query, template in templates.items()
        ),
        templates=tuple(templates.values()),
        merged=merge_templates(list(templates.values())),
    )


def can_sum(template: Template) -> bool:
    """Return whether `States` runs a template.

    Its events follow all events of a state, or those that compare so with them.
    """
    left = (move.reads._replace(ranges=(), conditions=()) for move in template.transitions)
    free = all(state.closing == FREE for state in template.states)
    return template.query.strategy is Strategy.ANY and free and all(map(ALL.__eq__, left))
