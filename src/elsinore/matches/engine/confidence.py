"""How probable a match of events with uncertain times is (SASE++, Sections 2.3 and 5.3).

An event has *points*, its possible times, ascending, each with a probability; events are
independent. A match binds events in an order. Its confidence is the probability that their times
ascend strictly in that order and lie within the window. With `mass` f_j(t), the probability that
the first j events ascend and the j-th is at t, and p_j(t) that it is at t at all:

    f_j(t) = p_j(t) * sum of f_{j-1}(u) over u < t

One event more costs as many steps as the two have points. The sum of f_j never grows with j: a
partial match below the threshold is not extended.

If no condition relates the events of a Kleene variable to one another, their order does not matter
(Section 4 and Appendix A: the uncorrelated case): they are a *set*. A match is then a sequence of
*stages*, single events and sets, and all of a stage must be later than all of the one before. With
g_j(t), the probability that this holds up to stage j and that its last event is at t, and S the
events of the next stage,

    G(t) = sum over u < t of g_j(u) * product over n of S of P(u < time of n <= t)

is the sum of g_{j+1} up to t. If the window ends with the match, this is computed for each time at
which the first stage may begin.
"""

from __future__ import annotations

from typing import Any

import cython
import numpy as np

from elsinore.matches.engine.tables import empty

STEP = np.dtype(
    [
        ("row", "i8"),
        ("earliest", "i8"),
        ("latest", "i8"),
        ("set", "i4"),
        ("node", "i4"),
        ("has_new", "i4"),
    ],
    align=True,
)
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
    with the match, -1 if there is none. `register` gets the confidence, -1: none. Confidences are
    computed `repeats` times, more than once only to measure what they cost.
    """

    def __init__(self, possible: Any, sets: Any, has_sets: bool, depth: int) -> None:
        self.possible = possible
        self.sets = sets
        self.has_sets = int(has_sets)
        self.threshold = 0.0
        self.longest = 0
        self.window_begin = -FAR
        self.window_end = FAR
        self.within = -1
        self.register = -1
        self.repeats = 1
        self.steps = empty(STEP, 0)
        self.mass = np.zeros((0, 0))
        self.make_room(depth)

    def make_room(self, depth: int) -> None:
        """Make room for matches of `depth` events; those under way are kept."""
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
    event: cython.Py_ssize_t
    place: cython.longlong
    with cython.nogil:
        for event in range(starts.shape[0] - 1):
            total: cython.double = 0.0
            sums[starts[event] + event] = 0.0
            for place in range(starts[event], starts[event + 1]):
                total += odds[place]
                sums[place + event + 1] = total
    return result


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def count_of(possible: PossibleTimes, row: cython.longlong) -> cython.longlong:
    """Return the number of possible times of an event."""
    return possible.starts[row + 1] - possible.starts[row]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def first_point(possible: PossibleTimes, row: cython.longlong) -> cython.longlong:
    """Return the earliest possible time of an event."""
    return possible.points[possible.starts[row]]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def last_point(possible: PossibleTimes, row: cython.longlong) -> cython.longlong:
    """Return the latest possible time of an event."""
    return possible.points[possible.starts[row + 1] - 1]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def chance_between(
    possible: PossibleTimes,
    row: cython.longlong,
    after: cython.longlong,
    before: cython.longlong,
) -> cython.double:
    """Return the probability that an event is later than `after` and earlier than `before`."""
    low: cython.longlong = possible.starts[row]
    high: cython.longlong = possible.starts[row + 1]
    middle: cython.longlong
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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def chance_so_far(worlds: Worlds, depth: cython.int) -> cython.double:
    """Fill row `depth` of the mass from the rows before; return the match's probability so far.

    A window that ends with the match is ignored unless there are sets: this is an upper bound.
    """
    chance: cython.double = 0.0
    _repeat: cython.int
    for _repeat in range(worlds.repeats):
        if worlds.has_sets:
            chance = chance_of_stages(worlds, depth)
            worlds.mass[depth, 0] = chance
        else:
            chance = fill_mass(worlds, depth)
    return chance


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def fill_mass(worlds: Worlds, depth: cython.int) -> cython.double:
    """Fill row `depth` of the mass, f_j of the step; return its sum."""
    row: cython.longlong = worlds.steps[depth].row
    start: cython.longlong = worlds.possible.starts[row]
    total: cython.double = 0.0
    before: cython.double = 0.0
    first: cython.longlong = 0
    earlier: cython.longlong = 0
    end: cython.longlong = 0
    place: cython.longlong
    if depth > 0:
        first = worlds.possible.starts[worlds.steps[depth - 1].row]
        end = worlds.possible.starts[worlds.steps[depth - 1].row + 1]
        earlier = first
    for place in range(start, worlds.possible.starts[row + 1]):
        time: cython.longlong = worlds.possible.points[place]
        value: cython.double = worlds.possible.odds[place]
        if depth > 0:
            while earlier < end and worlds.possible.points[earlier] < time:
                before += worlds.mass[depth - 1, earlier - first]
                earlier += 1
            value *= before
        elif time < worlds.window_begin:
            value = 0.0
        if time > worlds.window_end:
            value = 0.0
        worlds.mass[depth, place - start] = value
        total += value
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def chance_of_match(worlds: Worlds, depth: cython.int) -> cython.double:
    """Return the confidence of a complete match, whose rows of the mass are filled."""
    last: cython.longlong = worlds.steps[depth].row
    if worlds.has_sets:
        return worlds.mass[depth, 0]
    widest: cython.longlong = last_point(worlds.possible, last) - first_point(
        worlds.possible, worlds.steps[0].row
    )
    total: cython.double = 0.0
    _repeat: cython.int
    if 0 <= worlds.within < widest:
        for _repeat in range(worlds.repeats):
            total = chance_within(worlds, depth)
        return total
    place: cython.longlong
    for place in range(count_of(worlds.possible, last)):
        total += worlds.mass[depth, place]
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def chance_within(worlds: Worlds, depth: cython.int) -> cython.double:
    """Return the probability that the events ascend and last no longer than `within`.

    The recurrence is computed for each time of the first event, without times that are too late.
    """
    total: cython.double = 0.0
    first: cython.longlong = worlds.steps[0].row
    begin: cython.longlong
    place: cython.longlong
    step: cython.int
    for begin in range(worlds.possible.starts[first], worlds.possible.starts[first + 1]):
        latest: cython.longlong = worlds.possible.points[begin] + worlds.within
        count: cython.longlong = 1
        start_before: cython.longlong = begin
        worlds.work[0, 0] = worlds.possible.odds[begin]
        now: cython.int = 0
        for step in range(1, depth + 1):
            row: cython.longlong = worlds.steps[step].row
            start: cython.longlong = worlds.possible.starts[row]
            before: cython.double = 0.0
            earlier: cython.longlong = 0
            for place in range(start, worlds.possible.starts[row + 1]):
                time: cython.longlong = worlds.possible.points[place]
                while earlier < count and worlds.possible.points[start_before + earlier] < time:
                    before += worlds.work[now, earlier]
                    earlier += 1
                value: cython.double = worlds.possible.odds[place] * before
                worlds.work[1 - now, place - start] = 0.0 if time > latest else value
            now = 1 - now
            start_before = start
            count = worlds.possible.starts[row + 1] - start
        for place in range(count):
            total += worlds.work[now, place]
    return total


# --- sets of events


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def stage_end(worlds: Worlds, begin: cython.int, depth: cython.int) -> cython.int:
    """Return the step after the last one of the stage that begins with a step."""
    end: cython.int = begin + 1
    if worlds.steps[begin].set >= 0:
        while end <= depth and worlds.steps[end].set == worlds.steps[begin].set:
            end += 1
    return end


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_points(
    worlds: Worlds, begin: cython.int, end: cython.int, line: cython.int
) -> cython.longlong:
    """Fill a line of `times` with the possible times of some steps, ascending, each once.

    Returns how many there are.
    """
    count: cython.longlong = 0
    step: cython.int
    place: cython.longlong
    at: cython.longlong
    for step in range(begin, end):
        row: cython.longlong = worlds.steps[step].row
        for place in range(worlds.possible.starts[row], worlds.possible.starts[row + 1]):
            time: cython.longlong = worlds.possible.points[place]
            low: cython.longlong = 0
            high: cython.longlong = count
            while low < high:
                middle: cython.longlong = (low + high) // 2
                if worlds.times[line, middle] < time:
                    low = middle + 1
                else:
                    high = middle
            if low < count and worlds.times[line, low] == time:
                continue
            for at in range(count, low, -1):
                worlds.times[line, at] = worlds.times[line, at - 1]
            worlds.times[line, low] = time
            count += 1
    return count


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def all_between(
    worlds: Worlds,
    begin: cython.int,
    end: cython.int,
    after: cython.longlong,
    last: cython.longlong,
) -> cython.double:
    """Return the probability that the events of some steps are later than `after`, by `last`."""
    chance: cython.double = 1.0
    step: cython.int
    for step in range(begin, end):
        if chance > 0.0:
            chance *= chance_between(worlds.possible, worlds.steps[step].row, after, last + 1)
    return chance


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def chance_of_stages(worlds: Worlds, depth: cython.int) -> cython.double:
    """Return the probability that the stages follow one another in the window."""
    if worlds.within < 0:
        return chance_from(worlds, depth, worlds.window_begin, worlds.window_end, False)
    total: cython.double = 0.0
    place: cython.longlong
    for place in range(put_points(worlds, 0, stage_end(worlds, 0, depth), 2)):
        time: cython.longlong = worlds.times[2, place]
        if worlds.window_begin <= time <= worlds.window_end:
            latest: cython.longlong = min(worlds.window_end, time + worlds.within)
            total += chance_from(worlds, depth, time, latest, True)
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def chance_from(
    worlds: Worlds,
    depth: cython.int,
    earliest: cython.longlong,
    latest: cython.longlong,
    is_exact: cython.bint,
) -> cython.double:
    """Return the probability that stages follow one another from `earliest` to `latest`.

    is_exact: the first of all events is at `earliest`.
    """
    begin: cython.int = 0
    end: cython.int = stage_end(worlds, 0, depth)
    now: cython.int = 0
    count: cython.longlong = 0
    place: cython.longlong
    earlier: cython.longlong
    while True:
        is_last: cython.bint = end > depth
        following: cython.longlong = 1 if is_last else put_points(worlds, begin, end, now)
        before: cython.double = 0.0
        kept: cython.longlong = 0
        for place in range(following):
            time: cython.longlong = latest if is_last else worlds.times[now, place]
            if time > latest:
                break
            chance: cython.double = 0.0
            if begin == 0:
                chance = all_between(worlds, 0, end, earliest - 1, time)
                if is_exact:
                    chance -= all_between(worlds, 0, end, earliest, time)
            for earlier in range(count):
                after: cython.longlong = worlds.times[1 - now, earlier]
                if after >= time:
                    break
                part: cython.double = worlds.work[1 - now, earlier]
                if part > 0.0:
                    chance += part * all_between(worlds, begin, end, after, time)
            worlds.work[now, place] = chance - before
            before = chance
            kept += 1
        if is_last:
            return before
        begin = end
        count = kept
        now = 1 - now
        end = stage_end(worlds, begin, depth)
