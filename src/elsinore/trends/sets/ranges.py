"""All trends of a template whose predecessors are ranges, counted and added up but not built.

As `elsinore.plan.indexed` has them: what an event may follow is all that is kept of a state, or
what lies between cuts through the order of an expression over the state's events. Trees of sums add
a range up in O(log n), where `search` looks at each pair of events.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from elsinore.model.evaluate import Value, compared, evaluate, is_true
from elsinore.model.expression import Attribute, Binary, Expression, Negative, Operator
from elsinore.numeric.exact import Number
from elsinore.plan.between import PREVIOUS
from elsinore.plan.indexed import Indexed, axis, sides
from elsinore.plan.template import START, Cut
from elsinore.trends.sets.ground import Automaton, Stretch
from elsinore.trends.sets.sums import Addends, Sums

Parts = Sequence[Sequence[Cut]]  # ranges: all cuts of one hold


@dataclass(slots=True)
class Tally:
    """The number of some trends, and their sums."""

    count: int
    sums: Sums

    def add(self, other: Tally) -> None:
        """Take in other trends."""
        self.count += other.count
        self.sums.add(other.sums)


class Tree:
    """Tallies by rank, of which ranges are added up: a tree of halves, of what is not empty."""

    def __init__(self, ranks: int) -> None:
        self._ranks = ranks
        self._tallies: dict[int, Tally] = {}

    def enter(self, rank: int, tally: Tally) -> None:
        """Add to what a rank holds.

        >>> tree = Tree(5)
        >>> for rank in (0, 3, 4):
        ...     tree.enter(rank, Tally(10**rank, Sums([], [])))
        >>> sum(tally.count for tally in tree.held(0, 4)), sum(1 for _ in tree.held(1, 3))
        (1001, 0)
        """
        place = rank + self._ranks
        while place:
            if place in self._tallies:
                self._tallies[place].add(tally)
            else:
                self._tallies[place] = Tally(tally.count, tally.sums.copy())
            place >>= 1

    def held(self, first: int, last: int) -> Iterator[Tally]:
        """Yield what the ranks `first` to `last` - 1 hold, in few parts."""
        first, last = first + self._ranks, last + self._ranks
        while first < last:
            if first & 1 and first in self._tallies:
                yield self._tallies[first]
            if last & 1 and last - 1 in self._tallies:
                yield self._tallies[last - 1]
            first, last = (first + 1) >> 1, last >> 1

    def clear(self) -> None:
        """Hold nothing."""
        self._tallies.clear()


class Ranked:
    """Trends by the rank of their last event, in the order of an expression over such events."""

    def __init__(self, by: Expression, rows: Sequence[int], stretch: Stretch) -> None:
        """Rank the events of rows; nothing follows those without a value of the expression."""
        self._by = by
        self._values = stretch.rows
        there = [(row, value) for row in rows if (value := self._value(by, row)) is not None]
        self._ordered = sorted({value for _, value in there})
        places = {value: rank for rank, value in enumerate(self._ordered)}
        self._ranks = {row: places[value] for row, value in there}
        self._examples = {rank: row for row, rank in self._ranks.items()}
        self._tree = Tree(len(places))

    def enter(self, row: int, tally: Tally) -> None:
        """Keep trends that end with an event."""
        rank = self._ranks.get(row)
        if rank is not None:
            self._tree.enter(rank, tally)

    def clear(self) -> None:
        """Keep nothing."""
        self._tree.clear()

    def followed(self, parts: Parts, row: int) -> Iterator[Tally]:
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
            earlier = cut.previous
            if isinstance(cut.shift, Negative):
                earlier = Binary(Operator.SUB, earlier, cut.shift.operand)
            elif cut.shift is not None:
                earlier = Binary(Operator.ADD, earlier, cut.shift)
            condition = Binary(operator, earlier, cut.current)

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


@dataclass(frozen=True, slots=True)
class Read:
    """What an event follows: all that is kept at a place, or ranges of it in an order."""

    place: int
    by: Expression | None
    parts: Parts


class Ranges:
    """A template whose predecessors are ranges, by what an event of each state follows."""

    def __init__(self, automaton: Automaton, form: Indexed) -> None:
        self.automaton = automaton
        self.form = form
        self.places: dict[int, list[int]] = {state: [] for state in range(len(automaton.moves))}
        for place, (state, _) in enumerate(form.kept):
            if state != START:
                self.places[state].append(place)
        self.reads: dict[int, list[Read]] = {state: [] for state in self.places}
        self.orders: list[set[Expression]] = [set() for _ in form.kept]
        for extension in form.extensions:
            cuts = [cut for part in extension.ranges for cut in part]
            by = axis(cuts) if cuts else None
            self.reads[extension.target].append(Read(extension.source, by, extension.ranges))
            if by is not None:
                self.orders[extension.source].add(by)

    def total(self, stretch: Stretch, addends: Addends) -> tuple[list[Number], list[int]] | None:
        """Return linear fields and extremes over all trends, or None where there is no trend."""
        window = _Window(self, stretch, addends)
        for moment in stretch.moments:
            window.let_act(moment)
        whole = window.ended()
        return ([whole.count, *whole.sums.linear], whole.sums.extremes) if whole.count else None


class _Window:
    """What is kept of the trends in a window."""

    def __init__(self, ranges: Ranges, stretch: Stretch, addends: Addends) -> None:
        self._ranges, self._addends, self._codes = ranges, addends, stretch.codes
        rows: dict[int, list[int]] = {state: [] for state in ranges.places}
        for row in (row for moment in stretch.moments for row in moment):
            for state in ranges.automaton.fitting(stretch.codes[row]):
                rows[state].append(row)
        self._all: list[Tally] = []
        self._ranked: list[dict[Expression, Ranked]] = []
        for (state, _), orders in zip(ranges.form.kept, ranges.orders, strict=True):
            self._all.append(self._trends(int(state == START)))
            self._ranked.append({by: Ranked(by, rows[state], stretch) for by in orders})

    def let_act(self, moment: Sequence[int]) -> None:
        """Let the events of a moment act: all read, what they forbid is gone, they are kept."""
        automaton, kept = self._ranges.automaton, self._ranges.form.kept
        came = [
            (state, row, tally)
            for row in moment
            for state in automaton.fitting(self._codes[row])
            if (tally := self._ending(state, row)).count
        ]
        for row in moment if automaton.negatives else ():
            code = self._codes[row]
            forbidden = {n for n, no in enumerate(automaton.negatives) if no.fitting(code)}
            for place, (_, way) in enumerate(kept):
                if way & forbidden:
                    self._all[place] = self._trends(0)
                    for ranked in self._ranked[place].values():
                        ranked.clear()
        for state, row, tally in came:
            for place in self._ranges.places[state]:
                self._all[place].add(tally)
                for ranked in self._ranked[place].values():
                    ranked.enter(row, tally)

    def ended(self) -> Tally:
        """Return what all trends add up to."""
        whole = self._trends(0)
        for place in self._ranges.form.ends:
            whole.add(self._all[place])
        return whole

    def _ending(self, state: int, row: int) -> Tally:
        """Return the trends that an event ends which takes a state."""
        before = self._trends(int(state in self._ranges.form.starts))
        for read in self._ranges.reads[state]:
            if read.by is None:
                before.add(self._all[read.place])
                continue
            for tally in self._ranked[read.place][read.by].followed(read.parts, row):
                before.add(tally)
        return Tally(before.count, self._addends.added(before.sums, before.count, state, row))

    def _trends(self, count: int) -> Tally:
        """Return so many trends without events."""
        return Tally(count, self._addends.nothing())
