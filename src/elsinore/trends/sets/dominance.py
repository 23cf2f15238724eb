"""Runs that a set need not hold, because another run in it can do all that they can.

Where a sequence of events can be read with several events as an anchor, its set has a run for each
of them, and the sets alone would be exponential in number: for `SEQ(A p*, A r, A t+) WHERE
t[i].v > r.v` each increasing sequence of r's is one. But of two runs in one state, the one whose
anchors let more later events pass accepts all that the other does: here the least r suffices.
Comparisons by order or equality with one anchor leave one run for each state. Where no run
dominates the others (`!=`, several anchors), the number of sets can still be exponential.
"""

from __future__ import annotations

from elsinore.model.kinds import Strategy
from elsinore.trends.sets.automaton import Run
from elsinore.trends.sets.ground import Ground


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
            if any(_is_dominated(run, passing, *other) for other in kept.items()):
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


def _is_dominated(one: Run, fewer: tuple[int, ...], other: Run, more: tuple[int, ...]) -> bool:
    """Return whether another run is in the same state and lets all pass that the one does."""
    return one.state == other.state and all(not a & ~b for a, b in zip(fewer, more, strict=True))


def _order(run: Run) -> tuple[int, ...]:
    return run.state, *(-1 if row is None else row for row in run.bound)
