# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""How probable it is that an event with an uncertain time lies between two times."""

from __future__ import annotations

from typing import NamedTuple

from elsinore.kernels import kernel
from elsinore.matches.arrays import Doubles, Ints


class PossibleTimes(NamedTuple):
    """The possible times of all events: those of event n are `points` from starts[n] on, ascending.

    `odds` are their probabilities, `sums` these summed up event by event (`sum_up`).
    """

    starts: Ints  # [event + 1]
    points: Ints
    odds: Doubles
    sums: Doubles


@kernel(borrows=True)
def sum_up(starts: Ints, odds: Doubles, sums: Doubles) -> None:
    """Fill `sums`: those of event n, from 0 on, begin at starts[n] + n."""
    for event in range(len(starts) - 1):
        total = 0.0
        sums[starts[event] + event] = 0.0
        for place in range(starts[event], starts[event + 1]):
            total += odds[place]
            sums[place + event + 1] = total


@kernel(borrows=True)
def chance_between(event: int, after: int, before: int, possible: PossibleTimes) -> float:
    """Return the probability that an event is later than `after` and earlier than `before`."""
    starts, points, sums = possible.starts, possible.points, possible.sums
    low, high = starts[event], starts[event + 1]
    while low < high:
        middle = (low + high) // 2
        if points[middle] <= after:
            low = middle + 1
        else:
            high = middle
    first, high = low, starts[event + 1]
    while low < high:
        middle = (low + high) // 2
        if points[middle] < before:
            low = middle + 1
        else:
            high = middle
    return sums[low + event] - sums[first + event]
