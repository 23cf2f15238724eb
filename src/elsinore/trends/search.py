"""All trends of a guarded template in a window, counted and added up without building them.

A trend is its sequence of events, however its variables are assigned. The set of runs that a
sequence may be in decides how it can be extended and whether it is a trend. So sequences that end
with the same event and in the same *set of runs* are one entry, and each sequence is in one entry
only. An event extends the entries of every event before it. Runs that add nothing to what a set
accepts are left out of it.

If a sequence of events can be read with several events as an anchor, its set has a run for each of
them, and the number of sets alone would be exponential: for `SEQ(A p*, A r, A t+) WHERE
t[i].v > r.v` each increasing sequence of r's is one. But of two runs in one state, the one whose
anchors let more later events pass accepts all that the other does: here the least r suffices.
Comparisons by order or equality with one anchor leave one run for each state. If no run dominates
the others (`!=`, several anchors), the number of sets can still be exponential.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from elsinore.model.kinds import Strategy
from elsinore.trends.exact_sums import NONE, EventValues, Sums, pair_count
from elsinore.trends.runs import NO_EVENT, Event, Run, WindowRuns

# sequences of events by the runs that they may be in: their number and sums, as each run reads them
Entries = dict[frozenset[Run], dict[Run, Sums]]


@dataclass(slots=True)
class Ending:
    """All sequences that end with one event; `alive` are the runs that can still be extended."""

    event: Event
    entries: Entries
    alive: set[Run]


class Search:
    """The search for the trends of a query in one window."""

    def __init__(self, window: WindowRuns, values: EventValues) -> None:
        template = window.template
        self._window, self._template, self._values = window, template, values
        self._linear, self._extremes = template.aggregation.linear, template.aggregation.extremes
        self._dominance = Dominance(window)

    def total(self) -> Sums | None:
        """Return linear fields and extremes over all trends, or None without trends.

        Under AND the one field is the number of pairs of different trends.
        """
        sides: dict[frozenset[int], int] = {}
        total = self._sums(0)
        for ending in self._endings():
            for runs, sums in ending.entries.items():
                accepted = {run: self._window.sides(run, ending.event) for run in runs}
                accepting = frozenset[int]().union(*accepted.values())
                if accepting:
                    # if several runs are accepted, all of them give the fields the same value
                    of_run = next(sums[run] for run in runs if accepted[run])
                    sides[accepting] = sides.get(accepting, 0) + int(of_run.linear[0])
                    total.add(of_run)
        if self._template.sides == 2:
            left, right, both = (sides.get(frozenset(which), 0) for which in ({0}, {1}, {0, 1}))
            total.linear[0] = pair_count(left, right, both)
        return total if total.linear[0] else None

    def _endings(self) -> list[Ending]:
        """Return the sequences of events that runs have read, by their last event."""
        window, strategy = self._window, self._template.query.strategy
        begin = window.automaton.begin
        beginning = Ending(NO_EVENT, {frozenset({begin}): {begin: self._sums(1)}}, {begin})
        endings: list[Ending] = []
        extensible: list[Ending] = []
        for moment in range(len(window.moments)):
            present: list[Ending] = []
            extended: set[tuple[int, Run]] = set()
            for event in window.events(moment):
                entries: Entries = {}
                for number, before in enumerate((beginning, *extensible), start=-1):
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
                    if run != begin:
                        extensible[number].alive.discard(run)
            if strategy is Strategy.CONTIGUOUS:
                extensible.clear()
            extensible = [ending for ending in extensible if ending.alive] + present
        return endings

    def _extend(
        self,
        before: Ending,
        event: Event,
        targets: Mapping[Run, Sequence[Run]],
        entries: Entries,
    ) -> None:
        """Extend the sequences that end with an earlier event by an event; add them to `entries`.

        If several runs of a set lead to one run, all of them give its fields the same value: an
        aggregate on which readings of a sequence disagree is refused.
        """
        for runs, sums in before.entries.items():
            source = {target: run for run in runs for target in targets.get(run, ())}
            if source:
                needed = self._dominance.needed(frozenset(source), event.row)
                entry = entries.setdefault(needed, {})
                for run in needed:
                    more = self._extended(sums[source[run]], run.state, event.row)
                    if run in entry:
                        entry[run].add(more)
                    else:
                        entry[run] = more

    def _sums(self, count: int) -> Sums:
        """Return the sums of a number of sequences without events."""
        return Sums([count, *[0] * len(self._linear[1:])], [NONE] * len(self._extremes))

    def _extended(self, before: Sums, state: int, row: int) -> Sums:
        """Return the sums of sequences each extended by an event that takes a state."""
        variable, values = self._template.states[state].variable, self._values
        linear, extremes = list(before.linear), list(before.extremes)
        for number, entry in enumerate(self._linear):
            if variable in entry.variables:
                addend = values.addend(entry.kind, entry.attribute, row, entry.turn)
                linear[number] += before.linear[0] * addend
        for number, entry in enumerate(self._extremes):
            if variable in entry.variables:
                rank = values.rank(entry.kind, entry.attribute, row)
                extremes[number] = min(extremes[number], rank)
        return Sums(linear, extremes)


class Dominance:
    """Removes runs whose anchors let no more events pass than those of another run.

    Under NEXT it keeps all runs, because an event that can extend a run also ends it.
    """

    def __init__(self, window: WindowRuns) -> None:
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
        """Return the runs that accept, after an event, everything that some of the runs accepts."""
        if not self._matters or len({run.state for run in runs}) == len(runs):
            return runs
        kept: dict[Run, tuple[int, ...]] = {}
        for run in sorted(runs, key=_order):  # of equal runs, the first stays
            passing = tuple(self._of(run, check, row) for check in self._checks)
            if any(_is_dominated(run, passing, *kept_run) for kept_run in kept.items()):
                continue
            kept = {o: p for o, p in kept.items() if not _is_dominated(o, p, run, passing)}
            kept[run] = passing
        return frozenset(kept)

    def _of(self, run: Run, check: tuple[int, int], row: int) -> int:
        """Return the events after a row that pass a check of a run as bits, -1 for all."""
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
    """Return whether a better run is in the same state and lets at least the same events pass."""
    return run.state == better.state and all(not a & ~b for a, b in zip(fewer, more, strict=True))


def _order(run: Run) -> tuple[int, ...]:
    return run.state, *(-1 if row is None else row for row in run.bound)
