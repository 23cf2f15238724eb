"""Whether a partial match that may end is a match: what is left to check when it is complete."""

from __future__ import annotations

import cython

from elsinore.matches.engine.codes import MOMENT, TIME
from elsinore.matches.engine.guards import is_free, is_free_between, last_before
from elsinore.matches.engine.tables import FOREVER as _FOREVER
from elsinore.matches.engine.tables import Graph, Match, Program, Values, Window
from elsinore.matches.engine.windows import first_at
from elsinore.operators.conditions.machine import all_hold

FOREVER = cython.declare(cython.longlong, _FOREVER)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_match(
    program: Program, values: Values, graph: Graph, window: Window, match: Match
) -> cython.bint:
    """Return whether a partial match in a state where matches end is one.

    What is left to check: NOT at the beginning and at the end, conditions on the whole match.
    """
    final: cython.int = match.depth + 1
    last: cython.longlong = match.frames[match.depth].row
    first: cython.longlong = match.frames[0].row
    edge: cython.int = match.frames[0].edge
    state: cython.int = graph.nodes[match.frames[match.depth].node].state
    if program.decides_early:
        known: cython.longlong = known_at(program, values, window, match, state)
        if known < window.keys[window.key].passed or known >= window.keys[window.key].reached:
            return False  # it was returned before, or something may still break it
    if not is_free_around(program, values, window, match, edge, first, state, last, final):
        return False
    begin: cython.int = program.final
    end: cython.int = program.final_end
    step: cython.int = match.depth
    if not all_hold(program.conditions, begin, end, values, last, values, -1, match, step, final):
        return False
    for step in range(match.depth + 1 if program.has_late or program.has_late_relations else 0):
        edge = match.frames[step].edge
        row: cython.longlong = match.frames[step].row
        previous: cython.longlong = match.frames[step - 1].row if step > 0 else -1
        late: cython.int = program.edges[edge].late
        late_end: cython.int = program.edges[edge].late_end
        if not all_hold(
            program.conditions, late, late_end, values, row, values, previous, match, step, final
        ):
            return False
        guard: cython.int = program.edges[edge].guard
        if (
            step > 0
            and program.guards[guard].relations < program.guards[guard].relations_end
            and not is_free_between(
                program, values, match, guard, row, previous, window.first_row, step, final
            )
        ):
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_free_around(
    program: Program,
    values: Values,
    window: Window,
    match: Match,
    edge: cython.int,
    first: cython.longlong,
    state: cython.int,
    last: cython.longlong,
    final: cython.int,
) -> cython.bint:
    """Return whether NOT before and after a match lets it be one.

    It begins with row `first` by an edge, and ends with row `last` in a state; `final` is the row
    of the registers with all of its events.
    """
    first_row: cython.longlong = window.first_row
    guard: cython.int = program.edges[edge].guard
    if not program.guards[guard].is_free:
        lowest: cython.longlong = window.lowest
        if lowest < 0:  # the window ends with the match
            start: cython.longlong = values.integers[TIME, last] - window.within
            lowest = values.integers[MOMENT, first_at(values, first_row, last, start)]
        before: cython.longlong = last_before(values, first, first_row)
        if not is_free(
            program, values, match, guard, lowest - 1, before, first_row, first, 0, final
        ):
            return False
    guard = program.states[state].guard
    moment: cython.longlong = values.integers[MOMENT, last]
    highest: cython.longlong = window.highest
    return is_free(program, values, match, guard, moment, highest, first_row, -1, final, final)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def known_at(
    program: Program, values: Values, window: Window, match: Match, state: cython.int
) -> cython.longlong:
    """Return the last time at which an event may break a match that ends in a state, or be in it.

    It is the latest deadline of the NOTs at its end, and the end of the window at most.
    """
    last: cython.longlong = values.integers[TIME, match.frames[match.depth].row]
    end: cython.longlong = FOREVER - 1
    if window.slide > 0:
        end = window.origin + window.number * window.slide + window.within - 1
    elif window.within >= 0:
        end = values.integers[TIME, match.frames[0].row] + window.within
    place: cython.int = program.states[state].deadlines
    place_end: cython.int = program.states[state].deadlines_end
    if place == place_end:
        return last if program.guards[program.states[state].guard].is_free else end
    while place < place_end and last < end:
        negative: cython.int = program.deadlines[place].negative
        until: cython.longlong = end
        while place < place_end and program.deadlines[place].negative == negative:
            row: cython.longlong = match.held[match.depth + 1, program.deadlines[place].register]
            if row >= 0:
                until = min(until, values.integers[TIME, row] + program.deadlines[place].ticks)
            place += 1
        last = max(last, until)
    return last
