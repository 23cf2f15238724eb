"""Whether an event may follow another by an edge: NOT between them, and the edge's conditions."""

from __future__ import annotations

import cython

from elsinore.matches.engine.codes import MOMENT
from elsinore.matches.engine.tables import Match, Program, Values
from elsinore.operators.conditions.machine import all_hold


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def last_before(
    values: Values, row: cython.longlong, first_row: cython.longlong
) -> cython.longlong:
    """Return the last row, from `first_row` on, of an earlier moment than `row`; -1 if none."""
    moment: cython.longlong = values.integers[MOMENT, row]
    while row >= first_row and values.integers[MOMENT, row] == moment:
        row -= 1
    return row if row >= first_row else -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_free(
    program: Program,
    values: Values,
    ways: cython.int,
    ways_end: cython.int,
    moment: cython.longlong,
    before: cython.longlong,
) -> cython.bint:
    """Return whether some way has no match that begins after `moment` and ends by row `before`.

    `before` is -1 if there is no such row.
    """
    if before < 0:
        return True
    way: cython.int
    place: cython.int
    for way in range(ways, ways_end):
        free: cython.bint = True
        for place in range(program.ways[way].negatives, program.ways[way].negatives_end):
            if values.negatives[program.negatives[place], before] > moment:
                free = False
        if free:
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_open(
    program: Program,
    values: Values,
    edge: cython.int,
    current: cython.longlong,
    previous: cython.longlong,
    first_row: cython.longlong,
) -> cython.bint:
    """Return whether NOT lets row `current` follow `previous`; if not, no later row may either."""
    if program.edges[edge].is_free:
        return True
    if program.edges[edge].relations < program.edges[edge].relations_end:
        return True  # what is forbidden for one row may be allowed for another one
    ways: cython.int = program.edges[edge].ways
    ways_end: cython.int = program.edges[edge].ways_end
    moment: cython.longlong = values.integers[MOMENT, previous]
    before: cython.longlong = last_before(values, current, first_row)
    return is_free(program, values, ways, ways_end, moment, before)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def near_hold(
    program: Program,
    values: Values,
    match: Match,
    edge: cython.int,
    current: cython.longlong,
    previous: cython.longlong,
    step: cython.int,
) -> cython.bint:
    """Return whether the conditions of an edge hold that read two neighbours alone."""
    begin: cython.int = program.edges[edge].near
    end: cython.int = program.edges[edge].near_end
    return all_hold(
        program.conditions, begin, end, values, current, values, previous, match, step, step
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def far_hold(
    program: Program,
    values: Values,
    match: Match,
    edge: cython.int,
    current: cython.longlong,
    previous: cython.longlong,
    step: cython.int,
) -> cython.bint:
    """Return whether the conditions of an edge hold that read more than two neighbours."""
    begin: cython.int = program.edges[edge].far
    end: cython.int = program.edges[edge].far_end
    return all_hold(
        program.conditions, begin, end, values, current, values, previous, match, step, step
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def may_follow(
    program: Program,
    values: Values,
    match: Match,
    edge: cython.int,
    current: cython.longlong,
    previous: cython.longlong,
    first_row: cython.longlong,
) -> cython.bint:
    """Return whether row `current` may follow `previous` by an edge that NOT leaves open."""
    if program.edges[edge].is_plain:
        return True
    unless: cython.int = program.edges[edge].unless
    unless_end: cython.int = program.edges[edge].unless_end
    if unless < unless_end:
        moment: cython.longlong = values.integers[MOMENT, previous]
        before: cython.longlong = last_before(values, current, first_row)
        if is_free(program, values, unless, unless_end, moment, before):
            return False
    return near_hold(program, values, match, edge, current, previous, 0)
