"""All trends of a template in a stretch, counted and added up but not built.

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
"""

from __future__ import annotations

from dataclasses import dataclass

from elsinore.model.kinds import Strategy
from elsinore.trends.sets.ground import Arrival, Ground, Place, Run
from elsinore.trends.sets.sums import Addends, Sequences, Sums, exact_pairs

Entries = dict[frozenset[Run], Sequences]


@dataclass(slots=True)
class Ending:
    """All sequences that end with one event; `alive` are the runs that may be extended still."""

    place: Place
    entries: Entries
    alive: set[Run]


def total(ground: Ground, addends: Addends) -> Sums | None:
    """Return linear fields and extremes over all trends, or None where there is no trend.

    Under AND the one field is the number of pairs of different trends.
    """
    sides: dict[frozenset[int], int] = {}
    whole = addends.nothing()
    for ending in _endings(ground, addends):
        for runs, sequences in ending.entries.items():
            accepted = {run: ground.sides(run, ending.place) for run in runs}
            accepting = frozenset[int]().union(*accepted.values())
            if accepting:
                sides[accepting] = sides.get(accepting, 0) + sequences.count
                # where several runs are accepted, all of them give the fields the same value
                whole.add(next(sequences.sums[run] for run in runs if accepted[run]))
    if ground.automaton.template.sides == 2:
        left, right, both = (sides.get(frozenset(which), 0) for which in ({0}, {1}, {0, 1}))
        count = exact_pairs(left, right, both)
    else:
        count = sum(sides.values())
    return Sums([count, *whole.linear], whole.extremes) if count else None


def _endings(ground: Ground, addends: Addends) -> list[Ending]:
    """Return the sequences of events that a run stands behind, by their last event."""
    strategy = ground.automaton.template.query.strategy
    dominance = Dominance(ground)
    endings: list[Ending] = []
    extensible: list[Ending] = []
    for moment in range(len(ground.stretch.moments)):
        came: list[Ending] = []
        extended: set[tuple[int, Run]] = set()
        for arrival in ground.arrivals(moment):
            entries = _begun(addends, arrival)
            for number, before in enumerate(extensible):
                targets = {run: arrival.extended(run, before.place) for run in before.alive}
                extended.update((number, run) for run, onward in targets.items() if onward)
                _extend(addends, dominance, before, arrival, targets, entries)
            if entries:
                came.append(Ending(arrival.place, entries, set().union(*entries)))
        endings += came
        if strategy is Strategy.NEXT:
            for number, run in extended:  # a run takes the next event that can extend it
                extensible[number].alive.discard(run)
        if strategy is Strategy.CONTIGUOUS:
            extensible.clear()
        extensible = [ending for ending in extensible if ending.alive] + came
    return endings


def _begun(addends: Addends, arrival: Arrival) -> Entries:
    """Return the entry of the sequence that an event begins, if it begins one."""
    begun = arrival.begun()
    row = arrival.place.row
    sums = {run: addends.added(addends.nothing(), 1, run.state, row) for run in begun}
    return {begun: Sequences(1, sums)} if begun else {}


def _extend(
    addends: Addends,
    dominance: Dominance,
    before: Ending,
    arrival: Arrival,
    targets: dict[Run, tuple[Run, ...]],
    entries: Entries,
) -> None:
    """Add what an event makes of the sequences that end with an earlier one to `entries`.

    Where several runs of a set lead to one run, all of them give its fields the same value: an
    aggregate that depends on how a sequence is read is refused.
    """
    row = arrival.place.row
    for runs, sequences in before.entries.items():
        source = {target: run for run in runs for target in targets.get(run, ())}
        if source:
            needed = dominance.needed(frozenset(source), row)
            sums = {
                target: addends.added(
                    sequences.sums[source[target]], sequences.count, target.state, row
                )
                for target in needed
            }
            entries.setdefault(needed, Sequences()).add(sequences.count, sums)


class Dominance:
    """The later events that pass the checks of each anchor's event, as bits by row.

    Under NEXT it leaves all runs: what a run may be extended by ends it too.
    """

    def __init__(self, ground: Ground) -> None:
        template = ground.automaton.template
        self._ground = ground
        self._matters = (
            template.ambiguous
            and bool(template.anchors)
            and template.query.strategy is not Strategy.NEXT
        )
        self._checks = sorted({check for move in template.moves for check in move.checks})
        self._rows = [row for moment in ground.stretch.moments for row in moment]
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
                if later > bound and self._ground.holds(condition, bound, later):
                    passing |= 1 << place
            self._passing[condition, bound] = passing
        return self._passing[condition, bound] >> (row - self._rows[0] + 1)


def _is_dominated(run: Run, fewer: tuple[int, ...], better: Run, more: tuple[int, ...]) -> bool:
    """Return whether another run is in the same state and lets all pass that the one does."""
    return run.state == better.state and all(not a & ~b for a, b in zip(fewer, more, strict=True))


def _order(run: Run) -> tuple[int, ...]:
    return run.state, *(-1 if row is None else row for row in run.bound)
