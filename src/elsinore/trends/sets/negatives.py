"""Matches of the patterns under NOT: when the latest of them begins that has ended by a moment."""

from __future__ import annotations

from elsinore.trends.sets.automaton import Automaton, Run
from elsinore.trends.sets.ground import BEFORE_ALL, Ground, Place, Stretch


def ground_of(automaton: Automaton, stretch: Stretch) -> Ground:
    """Return a template's ground in a stretch, the matches of its negatives searched first."""
    latest = [latest_beginnings(ground_of(negative, stretch)) for negative in automaton.negatives]
    return Ground(automaton, stretch, latest)


def latest_beginnings(ground: Ground) -> list[int]:
    """Return for each moment, and for the end, when the latest match begins that has ended by then.

    The end's is the last; `BEFORE_ALL` stands for none. Whatever the query's strategy, any later
    event may go on with a run. For each run at each event it is enough to
    know the latest moment in which it may have begun: polynomial in the number of events.
    """
    latest = [BEFORE_ALL]
    earlier: list[tuple[Place, dict[Run, int]]] = []
    for moment in range(len(ground.stretch.moments)):
        found: list[tuple[Place, dict[Run, int]]] = []
        for arrival in ground.arrivals(moment):
            begins: dict[Run, int] = dict.fromkeys(arrival.begun(), moment)
            for last, runs in earlier:
                for run, first in runs.items():
                    for target in arrival.extended(run, last):
                        begins[target] = max(first, begins.get(target, BEFORE_ALL))
            if begins:
                found.append((arrival.place, begins))
        earlier += found
        ended = [
            first
            for _, begins in found
            for run, first in begins.items()
            if ground.sides(run, moment)
        ]
        latest.append(max([latest[-1], *ended]))
    return latest
