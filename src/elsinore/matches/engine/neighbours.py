"""Whether an event may follow another one by an edge."""

from __future__ import annotations

import cython

from elsinore.matches.engine.guards import is_free_between
from elsinore.matches.engine.tables import Match, Program, Values
from elsinore.operators.conditions.machine import all_hold


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_open(
    program: Program,
    values: Values,
    match: Match,
    edge: cython.int,
    current: cython.longlong,
    previous: cython.longlong,
    first_row: cython.longlong,
) -> cython.bint:
    """Return whether NOT lets row `current` follow `previous`; if not, no later row may either.

    NOTs that are related to the match are left out: what they forbid for one row they may allow
    for another one.
    """
    guard: cython.int = program.edges[edge].guard
    if program.guards[guard].relations < program.guards[guard].relations_end:
        return True
    return is_free_between(program, values, match, guard, current, previous, first_row, -1, -1)


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
    """Return whether row `current` may follow `previous` by an edge that NOT leaves open.

    This is of the two events alone, whatever match they are in.
    """
    if program.edges[edge].is_plain:
        return True
    unless: cython.int = program.edges[edge].unless
    if unless >= 0 and is_free_between(
        program, values, match, unless, current, previous, first_row, -1, -1
    ):
        return False
    begin: cython.int = program.edges[edge].near
    end: cython.int = program.edges[edge].near_end
    return all_hold(program.conditions, begin, end, values, current, values, previous, match, 0, 0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def follows(
    program: Program,
    values: Values,
    match: Match,
    edge: cython.int,
    current: cython.longlong,
    previous: cython.longlong,
    first_row: cython.longlong,
    step: cython.int,
) -> cython.bint:
    """Return whether a row may follow a match that ends with `previous`, by an open edge.

    `step` is the row of the registers of that match; -1: of any match, as far as the two events
    decide it.
    """
    if not may_follow(program, values, match, edge, current, previous, first_row):
        return False
    if step < 0:
        return True
    if not far_hold(program, values, match, edge, current, previous, step):
        return False
    guard: cython.int = program.edges[edge].guard
    if program.guards[guard].relations == program.guards[guard].relations_end:
        return True
    return is_free_between(program, values, match, guard, current, previous, first_row, step, -1)
