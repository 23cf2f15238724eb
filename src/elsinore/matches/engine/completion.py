"""Whether a partial match that may end is a match: what is left to check when it is complete."""

from __future__ import annotations

import cython

from elsinore.matches.engine.codes import MOMENT, TIME
from elsinore.matches.engine.guards import hold, is_free, is_free_between, last_before
from elsinore.matches.engine.tables import FOREVER as _FOREVER
from elsinore.matches.engine.tables import Program, Search
from elsinore.matches.engine.windows import first_at

FOREVER = cython.declare(cython.longlong, _FOREVER)


@cython.nogil
def is_match(program: Program, search: Search) -> cython.bint:
    """Return whether a partial match in a state where matches end is one.

    What is left to check: NOT at the beginning and at the end, conditions on the whole match.
    """
    final: cython.int = search.depth + 1
    last: cython.longlong = search.frames[search.depth].row
    first: cython.longlong = search.frames[0].row
    edge: cython.int = search.frames[0].edge
    state: cython.int = search.nodes[search.frames[search.depth].node].state
    if program.decides_early:
        known: cython.longlong = known_at(program, search, state)
        if known < search.keys[search.key].passed or known >= search.keys[search.key].reached:
            return False  # it was returned before, or something may still break it
    if not program.is_uncertain and not is_free_around(
        program, search, edge, first, state, last, final
    ):
        return False
    begin: cython.int = program.final
    end: cython.int = program.final_end
    step: cython.int = search.depth
    if not hold(program, search, begin, end, last, -1, step, final):
        return False
    for step in range(search.depth + 1 if program.has_late else 0):
        edge = search.frames[step].edge
        row: cython.longlong = search.frames[step].row
        previous: cython.longlong = search.frames[step - 1].row if step > 0 else -1
        late: cython.int = program.edges[edge].late
        late_end: cython.int = program.edges[edge].late_end
        if not hold(program, search, late, late_end, row, previous, step, final):
            return False
        guard: cython.int = program.edges[edge].guard
        if (
            step > 0
            and program.guards[guard].relations < program.guards[guard].relations_end
            and not is_free_between(program, search, guard, row, previous, step, final)
        ):
            return False
    return True


@cython.nogil
def is_free_around(
    program: Program,
    search: Search,
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
    first_row: cython.longlong = search.first_row
    guard: cython.int = program.edges[edge].guard
    if not program.guards[guard].is_free:
        lowest: cython.longlong = search.lowest
        if lowest < 0:  # the window ends with the match
            start: cython.longlong = search.values.integers[TIME, last] - search.within
            lowest = search.values.integers[MOMENT, first_at(search, first_row, last, start)]
        before: cython.longlong = last_before(search, first)
        if not is_free(program, search, guard, lowest - 1, before, first, 0, final):
            return False
    guard = program.states[state].guard
    moment: cython.longlong = search.values.integers[MOMENT, last]
    highest: cython.longlong = search.highest
    return is_free(program, search, guard, moment, highest, -1, final, final)


@cython.nogil
def known_at(program: Program, search: Search, state: cython.int) -> cython.longlong:
    """Return the last time at which an event may break a match that ends in a state, or be in it.

    It is the latest deadline of the NOTs at its end, and the end of the window at most.
    """
    last: cython.longlong = search.values.integers[TIME, search.frames[search.depth].row]
    end: cython.longlong = FOREVER - 1
    if search.slide > 0:
        end = search.origin + search.window_number * search.slide + search.within - 1
    elif search.within >= 0:
        end = search.values.integers[TIME, search.frames[0].row] + search.within
    place: cython.int = program.states[state].deadlines
    place_end: cython.int = program.states[state].deadlines_end
    if place == place_end:
        return last if program.guards[program.states[state].guard].is_free else end
    while place < place_end and last < end:
        negative: cython.int = program.deadlines[place].negative
        until: cython.longlong = end
        while place < place_end and program.deadlines[place].negative == negative:
            row: cython.longlong = search.held[search.depth + 1, program.deadlines[place].register]
            if row >= 0:
                until = min(
                    until, search.values.integers[TIME, row] + program.deadlines[place].ticks
                )
            place += 1
        last = max(last, until)
    return last
