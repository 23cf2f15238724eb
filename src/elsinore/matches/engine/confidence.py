# cython: infer_types=True
"""How probable a match of events with uncertain times is (SASE++, Sections 2.3, 4 and 5.3).

An event has *points*, its possible times, ascending, each with a probability; events are
independent. A match binds events in an order. Its confidence is the probability that their times
ascend strictly in that order, that they lie within the window, and that no event which NOT forbids
lies in a *gap*: before the first event, between neighbours, after the last one. With `mass` f_j(t),
the probability that the first j events ascend, that the j-th is at t and that no gap before is
broken, and p_j(t) that it is at t at all:

    f_j(t) = p_j(t) * sum over u < t of f_{j-1}(u) * product over n of (1 - P(u < time of n < t))

The product is over the events n that could lie in the gap before event j; without any, one event
more costs as many steps as the two have points. The sum of f_j never grows with j: a partial match
below the threshold is not extended. If the window ends with the match, it is computed for each time
of the first event.

If no condition relates the events of a Kleene variable to one another, their order does not matter
(Section 4 and Appendix A: the uncorrelated case): they are a *set*. A match is then a sequence of
*stages*, single events and sets, and all of a stage must be later than all of the one before. With
g_j(t), the probability that this holds up to stage j and that its last event is at t, and S the
events of the next stage,

    G(t) = sum over u < t of g_j(u) * product over n of S of P(u < time of n <= t)

is the sum of g_{j+1} up to t.
"""

from __future__ import annotations

import cython

from elsinore.matches.engine.codes import Index
from elsinore.matches.engine.possible import (
    Worlds,
    ascend,
    chance_between,
    count_of,
    first_point,
    last_point,
)

NEAR_COST = cython.declare(cython.longlong, 20)  # pairs of times that cost as much as a near event


@cython.nogil
def chance_so_far(worlds: Worlds, depth: Index) -> cython.double:
    """Fill row `depth` of the mass from the rows before; return the match's probability so far.

    A window that ends with the match is ignored unless there are sets: this is an upper bound.
    """
    chance: cython.double = 0.0
    for _repeat in range(worlds.repeats):
        if worlds.has_sets:
            chance = chance_of_stages(worlds, depth)
            worlds.mass[depth, 0] = chance
        else:
            chance = fill_mass(worlds, depth)
    return chance


@cython.nogil
def fill_mass(worlds: Worlds, depth: Index) -> cython.double:
    """Fill row `depth` of the mass, f_j of the step; return its sum."""
    row: Index = worlds.steps[depth].row
    start: cython.longlong = worlds.possible.starts[row]
    if depth > 0:
        before: cython.longlong = worlds.steps[depth - 1].row
        first: cython.longlong = worlds.possible.starts[before]
        end: cython.longlong = worlds.possible.starts[before + 1]
        latest: cython.longlong = worlds.window_end
        return ascend(
            worlds.possible, worlds.mass, depth - 1, first, end, worlds.mass, depth, row, latest
        )
    total: cython.double = 0.0
    for place in range(start, worlds.possible.starts[row + 1]):
        time: cython.longlong = worlds.possible.points[place]
        is_inside: cython.bint = worlds.window_begin <= time <= worlds.window_end
        worlds.mass[0, place - start] = worlds.possible.odds[place] if is_inside else 0.0
        total += worlds.mass[0, place - start]
    return total


@cython.nogil
def chance_of_match(worlds: Worlds, depth: Index) -> cython.double:
    """Return the confidence of a complete match, whose rows of the mass are filled."""
    last: cython.longlong = worlds.steps[depth].row
    if worlds.has_sets:
        return worlds.mass[depth, 0]
    first: cython.longlong = worlds.steps[0].row
    widest: cython.longlong = last_point(worlds.possible, last) - first_point(
        worlds.possible, first
    )
    total: cython.double = 0.0
    if worlds.near_count == 0 and (worlds.within < 0 or worlds.within >= widest):
        for place in range(count_of(worlds.possible, last)):
            total += worlds.mass[depth, place]
        return total
    for _repeat in range(worlds.repeats):
        if worlds.within < 0:
            total = chance_from(worlds, depth, -1, worlds.window_end)
            continue
        total = 0.0
        for place in range(worlds.possible.starts[first], worlds.possible.starts[first + 1]):
            if worlds.summed > worlds.budget:
                break
            latest: cython.longlong = worlds.possible.points[place] + worlds.within
            total += chance_from(worlds, depth, place, latest)
    return total


@cython.nogil
def chance_from(
    worlds: Worlds, depth: Index, only: Index, latest: cython.longlong
) -> cython.double:
    """Return the probability of a match by `latest` whose first event has one possible time.

    `only` is the place of that time, with which the window begins; -1: the first event has all of
    its times, and the window does not depend on it.
    """
    first: cython.longlong = worlds.steps[0].row
    begin: cython.longlong = only if only >= 0 else worlds.possible.starts[first]
    end: cython.longlong = only + 1 if only >= 0 else worlds.possible.starts[first + 1]
    for place in range(begin, end):
        value: cython.double = worlds.possible.odds[place]
        time: cython.longlong = worlds.possible.points[place]
        if time < worlds.window_begin or time > latest:
            value = 0.0
        elif only < 0:
            value *= chance_free(worlds, 0, worlds.window_begin - 1, time)
        worlds.work[0, place - begin] = value
    for step in range(1, depth + 1):
        fill_step(worlds, step, begin, end, latest)
        row: Index = worlds.steps[step].row
        begin = worlds.possible.starts[row]
        end = worlds.possible.starts[row + 1]
    total: cython.double = 0.0
    for place in range(begin, end):
        value = worlds.work[depth % 2, place - begin]
        time = worlds.possible.points[place]
        if value > 0.0 and only >= 0:
            opening: cython.longlong = worlds.possible.points[only]
            value *= chance_free(worlds, 0, time - worlds.within - 1, opening)
        if value > 0.0:
            value *= chance_free(worlds, depth + 1, time, latest + 1)
        total += value
    return total


@cython.nogil
def fill_step(
    worlds: Worlds,
    step: Index,
    begin: cython.longlong,
    end: cython.longlong,
    latest: cython.longlong,
) -> cython.void:
    """Fill a line of `work` from that of the step before, whose times are `begin` to `end`."""
    now: Index = step % 2
    row: Index = worlds.steps[step].row
    start: cython.longlong = worlds.possible.starts[row]
    stop: cython.longlong = worlds.possible.starts[row + 1]
    is_free: cython.bint = True
    for number in range(worlds.near_count):
        if worlds.near[number].gap == step:
            is_free = False
    if is_free:
        worlds.summed += stop - start
        ascend(worlds.possible, worlds.work, 1 - now, begin, end, worlds.work, now, row, latest)
        return
    worlds.summed += (end - begin) * (stop - start) * (1 + NEAR_COST * worlds.near_count)
    for place in range(start, stop):
        time: cython.longlong = worlds.possible.points[place]
        value: cython.double = 0.0
        for earlier in range(begin, end):
            after: cython.longlong = worlds.possible.points[earlier]
            if after >= time or time > latest:
                break
            part: cython.double = worlds.work[1 - now, earlier - begin]
            if part > 0.0:
                value += part * chance_free(worlds, step, after, time)
        worlds.work[now, place - start] = value * worlds.possible.odds[place]


@cython.nogil
def chance_free(
    worlds: Worlds, gap: Index, after: cython.longlong, before: cython.longlong
) -> cython.double:
    """Return the probability that nothing forbidden lies in a gap between two times."""
    chance: cython.double = 1.0
    for number in range(worlds.near_count):
        if worlds.near[number].gap == gap:
            row: Index = worlds.near[number].row
            chance *= 1.0 - chance_between(worlds.possible, row, after, before)
    return chance


@cython.nogil
def stage_end(worlds: Worlds, begin: Index, depth: Index) -> Index:
    """Return the step after the last one of the stage that begins with a step."""
    end: Index = begin + 1
    if worlds.steps[begin].set >= 0:
        while end <= depth and worlds.steps[end].set == worlds.steps[begin].set:
            end += 1
    return end


@cython.nogil
def put_points(worlds: Worlds, begin: Index, end: Index, line: Index) -> cython.longlong:
    """Fill a line of `times` with the possible times of some steps, ascending, each once.

    Returns how many there are.
    """
    count: Index = 0
    for step in range(begin, end):
        row: Index = worlds.steps[step].row
        for place in range(worlds.possible.starts[row], worlds.possible.starts[row + 1]):
            time: cython.longlong = worlds.possible.points[place]
            low: Index = 0
            high: Index = count
            while low < high:
                middle: Index = (low + high) // 2
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


@cython.nogil
def all_between(
    worlds: Worlds, begin: Index, end: Index, after: cython.longlong, last: cython.longlong
) -> cython.double:
    """Return the probability that the events of some steps are later than `after`, by `last`."""
    chance: cython.double = 1.0
    for step in range(begin, end):
        if chance > 0.0:
            chance *= chance_between(worlds.possible, worlds.steps[step].row, after, last + 1)
    return chance


@cython.nogil
def chance_of_stages(worlds: Worlds, depth: Index) -> cython.double:
    """Return the probability that the stages follow one another in the window."""
    if worlds.within < 0:
        return stages_between(worlds, depth, worlds.window_begin, worlds.window_end, False)
    total: cython.double = 0.0
    for place in range(put_points(worlds, 0, stage_end(worlds, 0, depth), 2)):
        time: cython.longlong = worlds.times[2, place]
        if worlds.window_begin <= time <= worlds.window_end:
            latest: cython.longlong = min(worlds.window_end, time + worlds.within)
            total += stages_between(worlds, depth, time, latest, True)
    return total


@cython.nogil
def stages_between(
    worlds: Worlds,
    depth: Index,
    earliest: cython.longlong,
    latest: cython.longlong,
    is_exact: cython.bint,
) -> cython.double:
    """Return the probability that stages follow one another from `earliest` to `latest`.

    is_exact: the first of all events is at `earliest`.
    """
    begin: Index = 0
    end: Index = stage_end(worlds, 0, depth)
    now: Index = 0
    count: Index = 0
    while True:
        is_last: cython.bint = end > depth
        following: Index = 1 if is_last else put_points(worlds, begin, end, now)
        before: cython.double = 0.0
        times: Index = 0
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
            times += 1
        if is_last:
            return before
        begin = end
        count = times
        now = 1 - now
        end = stage_end(worlds, begin, depth)
