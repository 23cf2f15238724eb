"""Whether a partial match that may end is a match: what is left to check when it is complete."""

from __future__ import annotations

import cython

from elsinore.matches.engine.codes import MOMENT, TIME
from elsinore.matches.engine.neighbours import last_before
from elsinore.matches.engine.related import is_passable
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
    depth: cython.int = match.depth
    last: cython.longlong = match.frames[depth].row
    if program.decides_early:
        known: cython.longlong = known_at(program, values, graph, window, match)
        if known < window.keys[window.key].passed or known >= window.keys[window.key].reached:
            return False  # it was returned before, or something may still break it
    first: cython.int = match.frames[0].edge
    if not program.edges[first].is_free:
        lowest: cython.longlong = window.lowest
        if lowest < 0:  # the window ends with the match
            start: cython.longlong = values.integers[TIME, last] - window.within
            low: cython.longlong = first_at(values, window.first_row, last, start)
            lowest = values.integers[MOMENT, low]
        before: cython.longlong = last_before(values, match.frames[0].row, window.first_row)
        if not is_passable(
            program,
            values,
            match,
            first,
            lowest - 1,
            before,
            window.first_row,
            match.frames[0].row,
            0,
            depth + 1,
        ):
            return False
    state: cython.int = graph.nodes[match.frames[depth].node].state
    if not program.states[state].is_free and not is_passable(
        program,
        values,
        match,
        -1 - state,
        values.integers[MOMENT, last],
        window.highest,
        window.first_row,
        -1,
        depth + 1,
        depth + 1,
    ):
        return False
    begin: cython.int = program.final
    end: cython.int = program.final_end
    step: cython.int = depth + 1
    if not all_hold(program.conditions, begin, end, values, last, values, -1, match, depth, step):
        return False
    if program.has_late_relations and not are_gaps_free(program, values, window, match):
        return False
    return not program.has_late or late_hold(program, values, match)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def known_at(
    program: Program, values: Values, graph: Graph, window: Window, match: Match
) -> cython.longlong:
    """Return the last time at which an event may break the match, or be in it.

    It is the latest deadline of the NOTs at its end, and the end of the window at most.
    """
    last: cython.longlong = values.integers[TIME, match.frames[match.depth].row]
    end: cython.longlong = FOREVER - 1
    if window.slide > 0:
        end = window.origin + window.number * window.slide + window.within - 1
    elif window.within >= 0:
        end = values.integers[TIME, match.frames[0].row] + window.within
    state: cython.int = graph.nodes[match.frames[match.depth].node].state
    place: cython.int = program.states[state].deadlines
    place_end: cython.int = program.states[state].deadlines_end
    if place == place_end:
        return last if program.states[state].is_free else end
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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def are_gaps_free(program: Program, values: Values, window: Window, match: Match) -> cython.bint:
    """Return whether NOTs that are related to later events let all events of a match follow."""
    step: cython.int
    final: cython.int = match.depth + 1
    for step in range(1, final):
        edge: cython.int = match.frames[step].edge
        row: cython.longlong = match.frames[step].row
        previous: cython.longlong = match.frames[step - 1].row
        if program.edges[edge].relations < program.edges[edge].relations_end and not is_gap_free(
            program, values, window, match, edge, row, previous, step, final
        ):
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_gap_free(
    program: Program,
    values: Values,
    window: Window,
    match: Match,
    edge: cython.int,
    row: cython.longlong,
    previous: cython.longlong,
    before: cython.longlong,
    final: cython.longlong,
) -> cython.bint:
    """Return whether NOTs that are related to the match let a row follow another by an edge.

    `before` and `final` are rows of the registers; -1 if the match is not complete.
    """
    return is_passable(
        program,
        values,
        match,
        edge,
        values.integers[MOMENT, previous],
        last_before(values, row, window.first_row),
        window.first_row,
        row,
        before,
        final,
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def late_hold(program: Program, values: Values, match: Match) -> cython.bint:
    """Return whether the conditions of a match's events hold that read the whole match."""
    step: cython.int
    final: cython.int = match.depth + 1
    for step in range(match.depth + 1):
        edge: cython.int = match.frames[step].edge
        late: cython.int = program.edges[edge].late
        late_end: cython.int = program.edges[edge].late_end
        previous: cython.longlong = match.frames[step - 1].row if step > 0 else -1
        row: cython.longlong = match.frames[step].row
        if not all_hold(
            program.conditions, late, late_end, values, row, values, previous, match, step, final
        ):
            return False
    return True
