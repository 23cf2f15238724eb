# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Uncorrelated Kleene where times are uncertain: events whose order no one asks for are a set.

Where no condition relates the events of a Kleene variable to one another, their order does not
matter (SASE++, Section 4 and Appendix A: the uncorrelated case). A match is then a sequence of
*stages*, single events and sets, and its confidence is the probability that all of a stage is later
than all of the one before, within the window. With g_j(t), the probability that this holds up to
stage j and that its last event is at t, and S the events of the next stage,

    G(t) = sum over u < t of g_j(u) * product over n of S of P(u < time of n <= t)

is the sum of g_{j+1} up to t. Where the window ends with the match, all is gone through for each
time that the first stage may begin at.
"""

from __future__ import annotations

from elsinore.kernels import kernel
from elsinore.matches.arrays import Doubles, Ints
from elsinore.matches.chances import PossibleTimes, chance_between

AT, STATE = 0, 1  # columns of `path`


@kernel(borrows=True)
def stage_end(path: Ints, begin: int, depth: int, sets: Ints) -> int:
    """Return the step after the last one of the stage that begins with a step of a path."""
    end = begin + 1
    group = sets[path[begin, STATE]]
    while group >= 0 and end <= depth and sets[path[end, STATE]] == group:
        end += 1
    return end


@kernel(borrows=True)
def put_points(
    path: Ints, begin: int, end: int, possible: PossibleTimes, times: Ints, line: int
) -> int:
    """Fill a line of `times` with the possible times of some steps, ascending, each once.

    Returns how many there are.
    """
    starts, points, count = possible.starts, possible.points, 0
    for step in range(begin, end):
        event = path[step, AT]
        for place in range(starts[event], starts[event + 1]):
            time, low, high = points[place], 0, count
            while low < high:
                middle = (low + high) // 2
                if times[line, middle] < time:
                    low = middle + 1
                else:
                    high = middle
            if low < count and times[line, low] == time:
                continue
            for at in range(count, low, -1):
                times[line, at] = times[line, at - 1]
            times[line, low] = time
            count += 1
    return count


@kernel(borrows=True)
def all_between(
    path: Ints, begin: int, end: int, after: int, last: int, possible: PossibleTimes
) -> float:
    """Return the probability that the events of some steps are later than `after`, by `last`."""
    chance = 1.0
    for step in range(begin, end):
        if chance > 0.0:
            chance *= chance_between(path[step, AT], after, last + 1, possible)
    return chance


@kernel(borrows=True)
def chance_of_stages(
    path: Ints,
    depth: int,
    within: int,
    first: int,
    last: int,
    sets: Ints,
    possible: PossibleTimes,
    times: Ints,
    mass: Doubles,
) -> float:
    """Return the probability that the stages of a path follow one another in the window.

    All times are from `first` to `last`, and no more than `within` apart where that is not below 0.
    `sets` [state] is the variable of a state whose events are a set, below 0 of others; `times` [3,
    point] and `mass` [2, point] are working room.
    """
    if within < 0:
        return chance_from(path, depth, first, last, False, sets, possible, times, mass)
    total = 0.0
    opening = stage_end(path, 0, depth, sets)
    for only in range(put_points(path, 0, opening, possible, times, 2)):
        time = times[2, only]
        if first <= time <= last:
            latest = min(last, time + within)
            total += chance_from(path, depth, time, latest, True, sets, possible, times, mass)
    return total


@kernel(borrows=True)
def chance_from(
    path: Ints,
    depth: int,
    earliest: int,
    latest: int,
    is_exact: bool,
    sets: Ints,
    possible: PossibleTimes,
    times: Ints,
    mass: Doubles,
) -> float:
    """Return the probability that stages follow one another from `earliest` to `latest`.

    is_exact: the first of all events is at `earliest`.
    """
    begin, end, now, count = 0, stage_end(path, 0, depth, sets), 0, 0
    while True:
        is_last = end > depth
        following = 1
        if not is_last:
            following = put_points(path, begin, end, possible, times, now)
        before, kept = 0.0, 0
        for place in range(following):
            time = latest if is_last else times[now, place]
            if time > latest:
                break
            chance = 0.0
            if begin == 0:
                chance = all_between(path, 0, end, earliest - 1, time, possible)
                if is_exact:
                    chance -= all_between(path, 0, end, earliest, time, possible)
            for earlier in range(count):
                after = times[1 - now, earlier]
                if after >= time:
                    break
                part = mass[1 - now, earlier]
                if part > 0.0:
                    chance += part * all_between(path, begin, end, after, time, possible)
            mass[now, place] = chance - before
            before, kept = chance, kept + 1
        if is_last:
            return before
        begin, count, now = end, kept, 1 - now
        end = stage_end(path, begin, depth, sets)
