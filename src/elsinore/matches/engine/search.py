"""The search for matches: along the edges of the graph, depth first, from each beginning.

Conditions that read more than two neighbours are evaluated as a match grows. If times are uncertain
there is no graph: any event whose times allow it may follow (`elsinore.matches.engine.worlds`). A
search that stops, because there is no room or to let Python look for Ctrl-C, continues from where
it was when it is called again.
"""

from __future__ import annotations

import cython

from elsinore.matches.engine.codes import Selection, Status, Strategy
from elsinore.matches.engine.completion import is_match
from elsinore.matches.engine.filters import filter_early
from elsinore.matches.engine.followers import (
    far_hold,
    first_place,
    follows,
    is_barred,
    next_place,
    node_at,
    reference_of,
)
from elsinore.matches.engine.graph import (
    build,
    enter,
    first_moment,
    gather,
    is_too_many,
    may_begin,
)
from elsinore.matches.engine.registers import begin_registers, select, write_leaf, write_match
from elsinore.matches.engine.selected import keep_best, note_best, return_best, was_seen
from elsinore.matches.engine.tables import FOREVER as _FOREVER
from elsinore.matches.engine.tables import Program, Search
from elsinore.matches.engine.windows import leave_key, next_window
from elsinore.matches.engine.worlds import (
    begins_probably,
    extend_probably,
    is_confident,
    set_reach,
)

FOREVER = cython.declare(cython.longlong, _FOREVER)
UNTRIED = cython.declare(cython.int, -2)  # no node of the edge has been a candidate yet


def scan(program: Program, search: Search) -> None:
    """Search until the last key is done, or until the output's status says why not."""
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
    """Return the matches from the beginnings of a window that are left."""
    while search.begin < search.begin_end:
        row: cython.longlong = search.events[search.begin].row
        is_under_way: cython.bint = search.depth >= 0 or search.first_edge > 0
        if not is_under_way:
            search.best_depth = -1
            search.is_kept = 0
            search.start += 1
        if is_under_way or (
            may_begin(program, search, search.begin)
            and (program.selection == Selection.ALL or row >= search.keys[search.key].next_row)
        ):
            if not is_under_way:
                filter_early(program, search)
            count: cython.int = search.count
            filled: cython.int = search.filled
            in_window: cython.longlong = search.in_window
            matches_from(program, search)
            if search.status == Status.DONE and search.best_depth >= 0:
                return_best(program, search)
            if search.status != Status.DONE:
                if program.has_duplicates and search.status != Status.LIMITED:
                    # matches of one event are returned together: all of them another time
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
    """Return the matches that begin with the event `window.begin`."""
    steps: cython.longlong = 0
    while True:
        if search.depth < 0 and not begins(program, search):
            break
        if not search.is_made:
            steps += 1
            state: cython.int = search.nodes[search.frames[search.depth].node].state
            row: cython.longlong = search.frames[search.depth].row
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
            if is_due and is_match(program, search):
                if program.selection:
                    note_best(search)
                else:
                    write_match(search)
                if search.status != Status.DONE:
                    if search.status == Status.LIMITED:
                        search.is_made = 1
                    break
            search.is_made = 1
            look_ahead(program, search)
        if search.steps + steps > search.budget:
            search.status = Status.TOO_LONG
        elif search.depth + 2 >= search.frames.shape[0]:
            search.status = Status.DEEP
        elif search.steps + steps > search.pause and not program.has_duplicates:
            search.status = Status.PAUSED
        if search.status != Status.DONE:
            break
        if program.is_uncertain:
            is_extended: cython.bint = extend_probably(program, search, search.worlds)
        else:
            is_extended = extend(program, search)
        if search.status != Status.DONE:
            break
        if not is_extended:
            search.depth -= 1
    search.steps += steps


@cython.nogil
def begins(program: Program, search: Search) -> cython.bint:
    """Begin a match with the window's event in the next state in which it may, if there is one."""
    event: cython.int = search.begin
    row: cython.longlong = search.events[event].row
    node: cython.int
    while search.first_edge < program.first_edges:
        edge: cython.int = search.first_edge
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
    node: cython.int = search.frames[search.depth].node
    search.frames[search.depth].trying = program.states[search.nodes[node].state].edges
    search.frames[search.depth].candidate = UNTRIED
    search.frames[search.depth].until = search.nodes[node].until
    if program.strategy == Strategy.NEXT and not program.is_near:
        step: cython.int = search.depth + 1
        search.frames[search.depth].until = first_moment(program, search, node, step, search.last)


@cython.nogil
def extend(program: Program, search: Search) -> cython.bint:
    """Extend the match by the next node that may follow; return whether there was one.

    Matches that end at once with the next node are written down on the way.
    """
    depth: cython.int = search.depth
    node: cython.int = search.frames[depth].node
    state: cython.int = search.nodes[node].state
    previous: cython.longlong = search.frames[depth].row
    until: cython.longlong = search.frames[depth].until
    while search.frames[depth].trying < program.states[state].edges_end:
        edge: cython.int = search.frames[depth].trying
        place: cython.longlong = search.frames[depth].candidate
        if place == UNTRIED:
            link: cython.int = search.nodes[node].link + edge - program.states[state].edges
            reference: cython.longlong = reference_of(program, search, edge, previous, depth + 1)
            search.frames[depth].reference = reference
            place = first_place(program, search, edge, previous, reference, search.links[link])
        reference = search.frames[depth].reference
        while place >= 0:
            candidate: cython.int = node_at(program, search, edge, place, reference)
            event: cython.int = search.nodes[candidate].event
            row: cython.longlong = search.events[event].row
            if event > search.last or search.events[event].moment > until:
                break
            if is_barred(program, search, edge, row, previous, depth + 1):
                break
            tried: cython.longlong = place
            place = next_place(program, search, edge, place, reference)
            if until != FOREVER and search.events[event].moment < until:
                continue
            if search.nodes[candidate].soonest > search.last:
                continue
            if program.has_filters and search.closed[candidate] == search.start:
                continue
            if follows(program, search, edge, row, previous, depth + 1):
                if program.selection and was_seen(program, search, candidate, depth + 1):
                    continue
                if program.states[program.edges[edge].target].is_leaf:
                    if row >= search.fresh:
                        write_leaf(program, search, candidate)
                        search.steps += 1
                    if search.status != Status.DONE:
                        is_written: cython.bint = search.status == Status.LIMITED
                        search.frames[depth].candidate = place if is_written else tried
                        return False
                    continue
                search.frames[depth].candidate = place
                if program.selection:
                    keep_best(search, depth)
                search.depth = depth + 1
                enter(search, candidate, edge)
                return True
        search.frames[depth].trying += 1
        search.frames[depth].candidate = UNTRIED
    return False
