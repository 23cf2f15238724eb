# cython: infer_types=True
"""The search for matches: along the edges of the graph, depth first, from each beginning.

Conditions that read more than two neighbours are evaluated as a match grows. If times are uncertain
there is no graph: any event whose times allow it may follow (`elsinore.matches.engine.worlds`). A
search that stops, because there is no room or for Python to check for Ctrl-C, continues there when
it is called again.
"""

from __future__ import annotations

import cython

from elsinore.matches.engine.codes import MOMENT, TIME, Index, Selection, Status, Strategy
from elsinore.matches.engine.filters import filter_early
from elsinore.matches.engine.followers import far_hold, follow, follows, next_follower
from elsinore.matches.engine.graph import build, enter, first_moment, gather, is_too_many, may_begin
from elsinore.matches.engine.guards import hold, is_free, is_free_between, last_before
from elsinore.matches.engine.registers import begin_registers, select, write_match
from elsinore.matches.engine.selected import keep_best, note_best, return_best, was_seen
from elsinore.matches.engine.tables import FOREVER as _FOREVER
from elsinore.matches.engine.tables import Program, Search
from elsinore.matches.engine.windows import first_at, leave_key, next_window
from elsinore.matches.engine.worlds import begins_probably, extend_probably, is_confident, set_reach

FOREVER = cython.declare(cython.longlong, _FOREVER)


def scan(program: Program, search: Search) -> None:
    """Search the remaining keys, until the status says why the search stops."""
    with cython.nogil:
        begin_registers(program, search)
        while search.key < search.keys.shape[0]:
            if search.event_count < 0:
                gather(program, search)
                if (
                    search.event_count > 0
                    and not program.is_uncertain
                    and (program.strategy != Strategy.ANY or search.within < 0)
                ):
                    build(program, search, 0, search.event_count - 1)
            is_under_way: cython.bint = not search.is_new and search.begin < search.begin_end
            if not next_window(program, search):
                leave_key(search)
                continue
            if not is_under_way:
                search.in_window = 0
                if search.counts_exactly and is_too_many(program, search):
                    break
            search_window(program, search)
            if search.status != Status.DONE:
                break


@cython.nogil
def search_window(program: Program, search: Search) -> cython.void:
    """Write the matches of the remaining beginnings of a window."""
    while search.begin < search.begin_end:
        row: Index = search.events[search.begin].row
        is_under_way: cython.bint = search.depth >= 0 or search.first_edge > 0
        if not is_under_way:
            search.best_depth = -1
            search.is_kept = 0
            search.start += 1
            if program.is_uncertain:  # matches are counted from each beginning
                search.in_window = 0
        if is_under_way or (
            may_begin(program, search, search.begin)
            and (program.selection == Selection.ALL or row >= search.keys[search.key].next_row)
        ):
            if not is_under_way:
                filter_early(program, search)
            count: Index = search.count
            filled: Index = search.filled
            in_window: cython.longlong = search.in_window
            matches_from(program, search)
            if search.status == Status.DONE and search.best_depth >= 0:
                return_best(program, search)
            if search.status != Status.DONE:
                if program.has_duplicates and search.status != Status.LIMITED:
                    # matches of one beginning are written together: all of them again
                    search.count = count
                    search.filled = filled
                    search.in_window = in_window
                    search.depth = -1
                    search.first_edge = 0
                return
        search.begin += 1
        search.first_edge = 0
        if search.steps > search.pause:
            search.status = Status.PAUSED
            return


@cython.nogil
def matches_from(program: Program, search: Search) -> cython.void:
    """Write the matches that begin with the event `search.begin`."""
    steps: cython.longlong = 0
    while True:
        if search.depth < 0 and not begins(program, search):
            break
        if not search.is_made:
            steps += 1
            state: Index = search.nodes[search.frames[search.depth].node].state
            row: Index = search.frames[search.depth].row
            select(program, search, state, row, search.depth + 1)
            if program.failed_row >= 0:
                search.status = Status.FAILED
                break
            if program.is_uncertain:
                is_due: cython.bint = program.states[state].ends and is_confident(
                    program, search, search.worlds
                )
            else:
                is_due = program.states[state].ends and row >= search.fresh
            search.final = search.depth + 1
            is_due = is_due and is_match(program, search)
            search.final = -1
            if is_due:
                if program.selection:
                    note_best(search)
                else:
                    write_match(search)
                if search.status != Status.DONE:
                    if search.status == Status.LIMITED:
                        search.is_made = 1
                    break
            search.is_made = 1
            if program.states[state].edges == program.states[state].edges_end:
                search.depth -= 1
            else:
                look_ahead(program, search)
        if search.steps + steps > search.budget:
            search.status = Status.TOO_LONG
        elif search.depth + 2 >= search.frames.shape[0]:
            search.status = Status.DEEP
        elif search.steps + steps > search.pause and not program.has_duplicates:
            search.status = Status.PAUSED
        if search.status != Status.DONE:
            break
        if search.depth < 0:
            continue
        if program.is_uncertain:
            is_extended: cython.bint = extend_probably(program, search, search.worlds)
        else:
            is_extended = extend(program, search)
        if not is_extended:
            search.depth -= 1
    search.steps += steps


@cython.nogil
def begins(program: Program, search: Search) -> cython.bint:
    """Begin a match with the window's event in the next state in which it may, if there is one."""
    event: Index = search.begin
    row: Index = search.events[event].row
    while search.first_edge < program.first_edges:
        edge: Index = search.first_edge
        search.first_edge += 1
        for node in range(search.events[event].node, search.events[event].node_end):
            if search.nodes[node].state != program.edges[edge].target:
                continue
            if search.nodes[node].soonest > search.last:
                continue
            if program.is_uncertain and not begins_probably(program, search, search.worlds, node):
                continue
            if far_hold(program, search, edge, row, -1, 0):
                if program.selection:
                    keep_best(search, -1)
                search.depth = 0
                enter(search, node, edge)
                return True
    return False


@cython.nogil
def look_ahead(program: Program, search: Search) -> cython.void:
    """Set the moment at which the match must be continued, if its strategy requires one."""
    if program.is_uncertain:
        set_reach(search, search.worlds)
        return
    depth: Index = search.depth
    node: Index = search.frames[depth].node
    edge: Index = program.states[search.nodes[node].state].edges
    search.frames[depth].until = search.nodes[node].until
    if program.strategy == Strategy.NEXT and not program.is_near:
        search.frames[depth].until = first_moment(program, search, node, depth + 1, search.last)
    follow(program, search, depth + 1, node, edge, depth + 1)


@cython.nogil
def extend(program: Program, search: Search) -> cython.bint:
    """Extend the match by the next node that may follow; return whether there was one."""
    depth: Index = search.depth
    cursor: Index = depth + 1
    node: Index = search.frames[depth].node
    previous: Index = search.frames[depth].row
    until: cython.longlong = search.frames[depth].until
    while True:
        later: Index = next_follower(program, search, cursor, search.last, until)
        edge: Index = search.cursors[cursor].edge
        if later < 0:
            edge += 1
            if edge == program.states[search.nodes[node].state].edges_end:
                return False
            follow(program, search, cursor, node, edge, depth + 1)
            continue
        event: Index = search.nodes[later].event
        if until != FOREVER and search.events[event].moment < until:
            continue
        if search.nodes[later].soonest > search.last:
            continue
        if program.has_filters and search.closed[later] == search.start:
            continue
        if not follows(program, search, edge, search.events[event].row, previous, depth + 1):
            continue
        if program.selection:
            if was_seen(program, search, later, depth + 1):
                continue
            keep_best(search, depth)
        search.depth = depth + 1
        enter(search, later, edge)
        return True


@cython.nogil
def is_match(program: Program, search: Search) -> cython.bint:
    """Return whether a partial match in a state where matches end is one.

    It checks NOT at the beginning and at the end, and conditions on the whole match.
    """
    if program.ends_at_once:
        return True
    last: Index = search.frames[search.depth].row
    first: Index = search.frames[0].row
    edge: Index = search.frames[0].edge
    state: Index = search.nodes[search.frames[search.depth].node].state
    if program.decides_early:
        known: cython.longlong = known_at(program, search, state)
        if known < search.keys[search.key].passed or known >= search.keys[search.key].reached:
            return False  # it was returned before, or later events may exclude it
    if not program.is_uncertain and not is_free_around(program, search, edge, first, state, last):
        return False
    step: Index = search.depth
    if not hold(program, search, program.final, last, -1, step):
        return False
    for step in range(search.depth + 1 if program.has_late else 0):
        edge = search.frames[step].edge
        row: Index = search.frames[step].row
        previous: Index = search.frames[step - 1].row if step > 0 else -1
        if not hold(program, search, program.edges[edge].late, row, previous, step):
            return False
        guard: Index = program.edges[edge].guard
        if (
            step > 0
            and program.guards[guard].relations < program.guards[guard].relations_end
            and not is_free_between(program, search, guard, row, previous, step)
        ):
            return False
    return True


@cython.nogil
def is_free_around(
    program: Program, search: Search, edge: Index, first: Index, state: Index, last: Index
) -> cython.bint:
    """Return whether NOT before and after a match lets it be one.

    It begins with row `first` by an edge, and ends with row `last` in a state.
    """
    first_row: Index = search.first_row
    guard: Index = program.edges[edge].guard
    if not program.guards[guard].is_free:
        lowest: cython.longlong = search.lowest
        if lowest < 0:  # the window ends with the match
            start: cython.longlong = search.values.integers[TIME, last] - search.within
            lowest = search.values.integers[MOMENT, first_at(search, first_row, last, start)]
        before: cython.longlong = last_before(search, first)
        if not is_free(program, search, guard, lowest - 1, before, first, 0):
            return False
    guard = program.states[state].guard
    moment: cython.longlong = search.values.integers[MOMENT, last]
    return is_free(program, search, guard, moment, search.highest, -1, search.final)


@cython.nogil
def known_at(program: Program, search: Search, state: Index) -> cython.longlong:
    """Return the last time at which an event may exclude a match that ends in a state.

    It is the latest deadline of the NOTs at its end, and the end of the window at most.
    """
    last: cython.longlong = search.values.integers[TIME, search.frames[search.depth].row]
    end: cython.longlong = FOREVER - 1
    if search.slide > 0:
        end = search.origin + search.window_number * search.slide + search.within - 1
    elif search.within >= 0:
        end = search.values.integers[TIME, search.frames[0].row] + search.within
    place: Index = program.states[state].deadlines
    place_end: Index = program.states[state].deadlines_end
    if place == place_end:
        return last if program.guards[program.states[state].guard].is_free else end
    while place < place_end and last < end:
        negative: Index = program.deadlines[place].negative
        until: cython.longlong = end
        while place < place_end and program.deadlines[place].negative == negative:
            row: Index = search.bound_rows[search.depth + 1, program.deadlines[place].register]
            if row >= 0:
                until = min(
                    until, search.values.integers[TIME, row] + program.deadlines[place].ticks
                )
            place += 1
        last = max(last, until)
    return last
