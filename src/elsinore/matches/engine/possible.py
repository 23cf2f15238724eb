# cython: infer_types=True
"""The possible times of events, and the partial match of a search over them."""

from __future__ import annotations

from typing import Any

import cython
import numpy as np

from elsinore.matches.engine.codes import Index
from elsinore.structs import empty, struct

STEP = struct(i8="row earliest latest", i4="set node has_new")
NEAR = struct(i8="row", i4="gap")
FAR = 2**62  # later than all times


class PossibleTimes:
    """The possible times of all events: those of event n are `points[starts[n] : starts[n + 1]]`.

    `odds` are their probabilities; `sums` these summed up from 0, event by event: the sums of event
    n begin at `starts[n] + n`.
    """

    def __init__(self, starts: Any, points: Any, odds: Any) -> None:
        self.starts = starts
        self.points = points
        self.odds = odds
        self.sums = sums_of(starts, odds)


class Worlds:
    """The partial match of the search, and what its confidence is computed with.

    `steps` are its events: each has its row, the number of its set (-1: a single event), the
    earliest and latest possible times of the next event, the node of the graph to try next, and
    whether the match has a new event so far. `mass` [step, point] is f_j of each step; with sets,
    `mass` [step, 0] is the confidence. `work` [2, point] and `times` [3, point] are working room.
    `sets` [state] is the number of the variable whose events are a set, -1 for others. All times of
    a match lie from `window_begin` to `window_end`; `within` is the length of a window that ends
    with the match, -1 if there is none. `near` has the events that NOT forbids and that could lie
    in a gap of the match: before step `gap`, or after the last one. `has_gaps` says whether to look
    for them (`worlds.look_around`), -1: `elsinore.matches.cases` does. `high` is the row of
    integers with the last possible times. `register` gets the confidence, -1: none. `summed` counts
    the possible times that are summed up for a complete match; beyond `budget` this stops.
    Confidences are computed `repeats` times, more than once only to measure what they cost.
    """

    def __init__(self, possible: Any, sets: Any, has_sets: bool) -> None:
        self.possible = possible
        self.sets = sets
        self.has_sets = int(has_sets)
        self.threshold = 0.0
        self.longest = 0
        self.window_begin = -FAR
        self.window_end = FAR
        self.within = -1
        self.high = 0
        self.register = -1
        self.repeats = 1
        self.has_gaps = 0
        self.near = empty(NEAR, 0)
        self.near_count = 0
        self.summed = 0
        self.budget = 0
        self.steps = empty(STEP, 0)
        self.mass = self.work = np.zeros((0, 0))
        self.times = np.zeros((0, 0), np.int64)

    def make_room(self, depth: int) -> None:
        """Make room for matches of `depth` events, without changing the current one."""
        widest = int(np.diff(np.asarray(self.possible.starts)).max(initial=0))
        steps = empty(STEP, depth)
        mass = np.zeros((depth, widest))
        steps[: len(self.steps)] = np.asarray(self.steps)
        if len(self.mass):
            mass[: len(self.mass)] = np.asarray(self.mass)
        self.steps = steps
        self.mass = mass
        many = widest * depth if self.has_sets else widest
        self.work = np.zeros((2, many))
        self.times = np.zeros((3, many if self.has_sets else 0), np.int64)


def sums_of(starts: cython.const_longlong[::1], odds: cython.const_double[::1]) -> Any:
    """Return the probabilities of possible times summed up (`PossibleTimes.sums`)."""
    result = np.empty(odds.shape[0] + starts.shape[0] - 1)
    sums: cython.double[::1] = result
    with cython.nogil:
        for event in range(starts.shape[0] - 1):
            total: cython.double = 0.0
            sums[starts[event] + event] = 0.0
            for place in range(starts[event], starts[event + 1]):
                total += odds[place]
                sums[place + event + 1] = total
    return result


@cython.nogil
def count_of(possible: PossibleTimes, row: Index) -> cython.longlong:
    """Return the number of possible times of an event."""
    return possible.starts[row + 1] - possible.starts[row]


@cython.nogil
def first_point(possible: PossibleTimes, row: Index) -> cython.longlong:
    """Return the earliest possible time of an event."""
    return possible.points[possible.starts[row]]


@cython.nogil
def last_point(possible: PossibleTimes, row: Index) -> cython.longlong:
    """Return the latest possible time of an event."""
    return possible.points[possible.starts[row + 1] - 1]


@cython.nogil
def chance_between(
    possible: PossibleTimes, row: Index, after: cython.longlong, before: cython.longlong
) -> cython.double:
    """Return the probability that an event is later than `after` and earlier than `before`."""
    low: Index = possible.starts[row]
    high: Index = possible.starts[row + 1]
    middle: Index
    while low < high:
        middle = (low + high) // 2
        if possible.points[middle] <= after:
            low = middle + 1
        else:
            high = middle
    first: cython.longlong = low
    high = possible.starts[row + 1]
    while low < high:
        middle = (low + high) // 2
        if possible.points[middle] < before:
            low = middle + 1
        else:
            high = middle
    return possible.sums[low + row] - possible.sums[first + row]


@cython.nogil
def ascend(
    possible: PossibleTimes,
    before: cython.double[:, ::1],
    line: Index,
    begin: cython.longlong,
    end: cython.longlong,
    after: cython.double[:, ::1],
    target: Index,
    row: Index,
    latest: cython.longlong,
) -> cython.double:
    """Fill a line of `after` with f_j of an event's times up to `latest`; return its sum.

    f_j(t) = p_j(t) * sum of f_{j-1}(u) over u < t. A line of `before` has f_{j-1} of the times from
    place `begin` to `end` of those of all events.
    """
    total: cython.double = 0.0
    earlier: cython.double = 0.0
    at: Index = begin
    start: cython.longlong = possible.starts[row]
    for place in range(start, possible.starts[row + 1]):
        time: cython.longlong = possible.points[place]
        while at < end and possible.points[at] < time:
            earlier += before[line, at - begin]
            at += 1
        value: cython.double = possible.odds[place] * earlier if time <= latest else 0.0
        after[target, place - start] = value
        total += value
    return total
