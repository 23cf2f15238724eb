"""All trends of a guarded template in a window, counted and added up but not built.

A trend is its sequence of events, however its variables are assigned. The runs that a sequence may
be in, all of them together, decide how it can be extended and whether it is a trend. So sequences
that end with the same event and in the same *set of runs* are one entry, and each sequence is in
one entry only. An event extends the entries of every event before it. Runs that add nothing to what
a set accepts are left out of it.

Where a sequence of events can be read with several events as an anchor, its set has a run for each
of them, and the sets alone would be exponential in number: for `SEQ(A p*, A r, A t+) WHERE
t[i].v > r.v` each increasing sequence of r's is one. But of two runs in one state, the one whose
anchors let more later events pass accepts all that the other does: here the least r suffices.
Comparisons by order or equality with one anchor leave one run for each state. Where no run
dominates the others (`!=`, several anchors), the number of sets can still be exponential.

Moments number the different times of the window's events; events of one moment do not precede one
another.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from elsinore.automata.positions import Ways
from elsinore.model.evaluate import is_true
from elsinore.model.expression import attributes
from elsinore.model.kinds import Strategy
from elsinore.trends.sets.runs import Automaton, Event, Gap, Run
from elsinore.trends.sets.sums import NONE, RECENT, Sums, Values, exact_pairs

BEFORE_ALL = -1  # before the first moment


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


Entries = dict[frozenset[Run], Sequences]


@dataclass(slots=True)
class Ending:
    """All sequences that end with one event; `alive` are the runs that may be extended still."""

    event: Event
    entries: Entries
    alive: set[Run]


class WindowEvents:
    """A template among the events of one key in one window, its negative matches known."""

    def __init__(
        self,
        automaton: Automaton,
        moments: Sequence[Sequence[int]],
        codes: Sequence[int],
        values: Values,
    ) -> None:
        """Search the matches of negatives; moments: the rows of each, codes: the classes by row."""
        self.automaton = automaton
        self.template = automaton.template
        self.moments = moments
        self._codes = codes
        self._values = values
        # (condition, earlier row, later row) -> whether it holds; all runs ask for the same ones
        self.holds = lru_cache(RECENT)(
            lambda condition, *rows: values.holds(automaton.conditions[condition], *rows)
        )
        # When the latest match of a negative begins that has ended before a moment: if any match
        # lies between two events, this one does. Those that are related have no such matches.
        self._latest: dict[int, Sequence[int]] = {}
        self._related: dict[int, Sequence[Event]] = {}
        for number, negative in enumerate(automaton.negatives):
            window = WindowEvents(negative, moments, codes, values)
            if negative.template.related:
                moments_of = range(len(moments))
                self._related[number] = [e for m in moments_of for e in window.events(m)]
            else:
                self._latest[number] = window.latest_beginnings()

    def events(self, moment: int) -> Iterator[Event]:
        """Yield the events of a moment that some state may take."""
        for row in self.moments[moment]:
            states = self.automaton.fitting(self._codes[row])
            if states:
                yield Event(moment, row, states)

    def begun(self, event: Event) -> frozenset[Run]:
        """Return the runs that begin with an event."""
        return frozenset(
            self.automaton.entered(None, start.target, event.row)
            for start in self.template.starts
            if start.target in event.states
            and self._is_free(
                start.ways, Gap(BEFORE_ALL, event.moment, ((start.target, event.row),))
            )
        )

    def extended(self, run: Run, last: Event, event: Event) -> tuple[Run, ...]:
        """Return the runs that an event makes of a run whose last event, `last`, is earlier."""
        runs = []
        for step in self.automaton.steps[run.state]:
            if step.target not in event.states or not all(
                self.holds(condition, last.row, event.row) for condition in step.conditions
            ):
                continue
            anchored = ((run.bound[anchor], condition) for anchor, condition in step.checks)
            if any(row is not None and not self.holds(c, row, event.row) for row, c in anchored):
                continue
            around = (run.state, last.row), (step.target, event.row)
            gap = Gap(last.moment, event.moment, around)
            if self._is_free(step.ways, gap) and not self._is_free(step.unless, gap):
                runs.append(self.automaton.entered(run, step.target, event.row))
        return tuple(runs)

    def sides(self, run: Run, last: Event) -> frozenset[int]:
        """Return the sides of AND of which a run is a trend if it ends with an event.

        Without AND there is side 0 alone.
        """
        gap = Gap(last.moment, len(self.moments), ((run.state, last.row),))
        return frozenset(
            end.side for end in self.automaton.ends[run.state] if self._is_free(end.ways, gap)
        )

    def _is_free(self, ways: Ways, gap: Gap) -> bool:
        """Return whether in some way no negative match lies strictly within a gap."""
        return any(not any(self._is_forbidden(n, gap) for n in way) for way in ways)

    def _is_forbidden(self, negative: int, gap: Gap) -> bool:
        if negative in self._latest:
            return self._latest[negative][gap.after] > gap.before
        return any(
            gap.before < event.moment < gap.after and self._relates(negative, gap, event.row)
            for event in self._related[negative]
        )

    def _relates(self, negative: int, gap: Gap, forbidden: int) -> bool:
        """Return whether an event fulfils the conditions that relate it to those around a gap.

        A condition on a variable that the gap does not have does not apply.
        """
        template = self.template.negatives[negative]
        around = [(self.template.states[state], row) for state, row in gap.around]
        around.append((template.states[0], forbidden))
        rows = {state.type: row for state, row in reversed(around)}
        rows |= {state.variable: row for state, row in around}
        return all(
            is_true(condition, lambda read: self._values.rows[read.name or ""][rows[read.variable]])
            for condition in template.related
            if all(read.variable in rows for read in attributes(condition))
        )

    def latest_beginnings(self) -> list[int]:
        """Return for each moment, and for the end, when the latest match begins that ended before.

        `BEFORE_ALL` stands for none. Whatever the query's strategy, any later event may go on with
        a run. For each run at each event it is enough to know the latest moment in which it may
        have begun: polynomial in the number of events.
        """
        latest = [BEFORE_ALL]
        earlier: list[tuple[Event, dict[Run, int]]] = []
        for moment in range(len(self.moments)):
            present: list[tuple[Event, dict[Run, int]]] = []
            for event in self.events(moment):
                begins: dict[Run, int] = dict.fromkeys(self.begun(event), moment)
                for last, runs in earlier:
                    for run, first in runs.items():
                        for target in self.extended(run, last, event):
                            begins[target] = max(first, begins.get(target, BEFORE_ALL))
                if begins:
                    present.append((event, begins))
            earlier += present
            ended = [
                first
                for event, begins in present
                for run, first in begins.items()
                if self.sides(run, event)
            ]
            latest.append(max([latest[-1], *ended]))
        return latest


class Search:
    """The search for the trends of a query in one window."""

    def __init__(self, window: WindowEvents, values: Values) -> None:
        template = window.template
        self._window, self._template, self._values = window, template, values
        self._linear = template.aggregation.linear[1:]  # without the number of trends
        self._extremes = template.aggregation.extremes
        self._dominance = Dominance(window)

    def total(self) -> Sums | None:
        """Return linear fields and extremes over all trends, or None where there is no trend.

        Under AND the one field is the number of pairs of different trends.
        """
        sides: dict[frozenset[int], int] = {}
        whole = self._nothing()
        for ending in self._endings():
            for runs, sequences in ending.entries.items():
                accepted = {run: self._window.sides(run, ending.event) for run in runs}
                accepting = frozenset[int]().union(*accepted.values())
                if accepting:
                    sides[accepting] = sides.get(accepting, 0) + sequences.count
                    # where several runs are accepted, all of them give the fields the same value
                    whole.add(next(sequences.sums[run] for run in runs if accepted[run]))
        if self._template.sides == 2:
            left, right, both = (sides.get(frozenset(which), 0) for which in ({0}, {1}, {0, 1}))
            count = exact_pairs(left, right, both)
        else:
            count = sum(sides.values())
        return Sums([count, *whole.linear], whole.extremes) if count else None

    def _endings(self) -> list[Ending]:
        """Return the sequences of events that a run stands behind, by their last event."""
        window, strategy = self._window, self._template.query.strategy
        endings: list[Ending] = []
        extensible: list[Ending] = []
        for moment in range(len(window.moments)):
            present: list[Ending] = []
            extended: set[tuple[int, Run]] = set()
            for event in window.events(moment):
                entries = self._begun(event)
                for number, before in enumerate(extensible):
                    targets = {
                        run: window.extended(run, before.event, event) for run in before.alive
                    }
                    extended.update((number, run) for run, onward in targets.items() if onward)
                    self._extend(before, event, targets, entries)
                if entries:
                    present.append(Ending(event, entries, set().union(*entries)))
            endings += present
            if strategy is Strategy.NEXT:
                for number, run in extended:  # a run takes the next event that can extend it
                    extensible[number].alive.discard(run)
            if strategy is Strategy.CONTIGUOUS:
                extensible.clear()
            extensible = [ending for ending in extensible if ending.alive] + present
        return endings

    def _begun(self, event: Event) -> Entries:
        """Return the entry of the sequence that an event begins, if it begins one."""
        begun = self._window.begun(event)
        sums = {run: self._added(self._nothing(), 1, run.state, event.row) for run in begun}
        return {begun: Sequences(1, sums)} if begun else {}

    def _extend(
        self,
        before: Ending,
        event: Event,
        targets: Mapping[Run, Sequence[Run]],
        entries: Entries,
    ) -> None:
        """Add what an event makes of the sequences that end with an earlier one to `entries`.

        Where several runs of a set lead to one run, all of them give its fields the same value: an
        aggregate that depends on how a sequence is read is refused.
        """
        for runs, sequences in before.entries.items():
            source = {target: run for run in runs for target in targets.get(run, ())}
            if source:
                needed = self._dominance.needed(frozenset(source), event.row)
                sums = {
                    run: self._added(
                        sequences.sums[source[run]], sequences.count, run.state, event.row
                    )
                    for run in needed
                }
                entries.setdefault(needed, Sequences()).add(sequences.count, sums)

    def _nothing(self) -> Sums:
        """Return the sums of no event, without the number of trends: it is equal for all runs."""
        return Sums([0] * len(self._linear), [NONE] * len(self._extremes))

    def _added(self, before: Sums, count: int, state: int, row: int) -> Sums:
        """Return the sums of `count` sequences each extended by an event that takes a state."""
        variable, values = self._template.states[state].variable, self._values
        linear, extremes = list(before.linear), list(before.extremes)
        for number, entry in enumerate(self._linear):
            if variable in entry.variables:
                addend = values.addend(entry.kind, entry.attribute, row, entry.turn)
                linear[number] += count * addend
        for number, entry in enumerate(self._extremes):
            if variable in entry.variables:
                rank = values.rank(entry.kind, entry.attribute, row)
                extremes[number] = min(extremes[number], rank)
        return Sums(linear, extremes)


class Dominance:
    """The later events that pass the checks of each anchor's event, as bits by row.

    Under NEXT it leaves all runs: what a run may be extended by ends it too.
    """

    def __init__(self, window: WindowEvents) -> None:
        template = window.template
        self._window = window
        self._matters = (
            template.ambiguous
            and bool(template.anchors)
            and template.query.strategy is not Strategy.NEXT
        )
        steps = itertools.chain.from_iterable(window.automaton.steps)
        self._checks = sorted({check for step in steps for check in step.checks})
        self._rows = [row for moment in window.moments for row in moment]
        self._passing: dict[tuple[int, int], int] = {}

    def needed(self, runs: frozenset[Run], row: int) -> frozenset[Run]:
        """Return the runs that accept whatever one of the given runs, at an event, accepts."""
        if not self._matters or len({run.state for run in runs}) == len(runs):
            return runs
        kept: dict[Run, tuple[int, ...]] = {}
        for run in sorted(runs, key=_order):  # equals leave the first of them, always the same
            passing = tuple(self._of(run, check, row) for check in self._checks)
            if any(_is_dominated(run, passing, *kept_run) for kept_run in kept.items()):
                continue
            kept = {o: p for o, p in kept.items() if not _is_dominated(o, p, run, passing)}
            kept[run] = passing
        return frozenset(kept)

    def _of(self, run: Run, check: tuple[int, int], row: int) -> int:
        """Return which events after a row pass a check of a run: bit by bit, -1 for all."""
        anchor, condition = check
        bound = run.bound[anchor]
        if bound is None:
            return -1
        if (condition, bound) not in self._passing:
            passing = 0
            for place, later in enumerate(self._rows):
                if later > bound and self._window.holds(condition, bound, later):
                    passing |= 1 << place
            self._passing[condition, bound] = passing
        return self._passing[condition, bound] >> (row - self._rows[0] + 1)


def _is_dominated(run: Run, fewer: tuple[int, ...], better: Run, more: tuple[int, ...]) -> bool:
    """Return whether another run is in the same state and lets all pass that the one does."""
    return run.state == better.state and all(not a & ~b for a, b in zip(fewer, more, strict=True))


def _order(run: Run) -> tuple[int, ...]:
    return run.state, *(-1 if row is None else row for row in run.bound)
