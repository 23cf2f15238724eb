"""How probable a match is whose events are partly sets (SASE++, Section 4 and Appendix A).

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

import cython

from elsinore.matches.engine.possible import Worlds, chance_between


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
