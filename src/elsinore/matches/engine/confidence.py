"""How probable a match of events with uncertain times is (SASE++, Sections 2.3 and 5.3).

An event has *points*, its possible times, ascending, each with a probability; events are
independent. A match binds events in an order. Its confidence is the probability that their times
ascend strictly in that order and lie within the window. With `mass` f_j(t), the probability that
the first j events ascend and the j-th is at t, and p_j(t) that it is at t at all:

    f_j(t) = p_j(t) * sum of f_{j-1}(u) over u < t

One event more costs as many steps as the two have points. The sum of f_j never grows with j: a
partial match below the threshold is not extended.
"""

from __future__ import annotations

import cython

from elsinore.matches.engine.possible import (
    Worlds,
    ascend,
    count_of,
    first_point,
    last_point,
)
from elsinore.matches.engine.stages import chance_of_stages


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
    if depth > 0:
        before: cython.longlong = worlds.steps[depth - 1].row
        first: cython.longlong = worlds.possible.starts[before]
        end: cython.longlong = worlds.possible.starts[before + 1]
        latest: cython.longlong = worlds.window_end
        return ascend(
            worlds.possible, worlds.mass, depth - 1, first, end, worlds.mass, depth, row, latest
        )
    total: cython.double = 0.0
    place: cython.longlong
    for place in range(start, worlds.possible.starts[row + 1]):
        time: cython.longlong = worlds.possible.points[place]
        is_inside: cython.bint = worlds.window_begin <= time <= worlds.window_end
        worlds.mass[0, place - start] = worlds.possible.odds[place] if is_inside else 0.0
        total += worlds.mass[0, place - start]
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
    step: cython.int
    for begin in range(worlds.possible.starts[first], worlds.possible.starts[first + 1]):
        latest: cython.longlong = worlds.possible.points[begin] + worlds.within
        before: cython.longlong = begin
        end: cython.longlong = begin + 1
        chance: cython.double = worlds.possible.odds[begin]
        worlds.work[0, 0] = chance
        for step in range(1, depth + 1):
            row: cython.longlong = worlds.steps[step].row
            now: cython.int = step % 2
            chance = ascend(
                worlds.possible, worlds.work, 1 - now, before, end, worlds.work, now, row, latest
            )
            before = worlds.possible.starts[row]
            end = worlds.possible.starts[row + 1]
        total += chance
    return total
