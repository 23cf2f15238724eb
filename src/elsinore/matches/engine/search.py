"""The search for matches: along the edges of the graph, depth first, from each beginning.

Conditions that read more than two neighbours are evaluated as a match grows. If times are uncertain
there is no graph: any event whose times allow it may follow (`elsinore.matches.engine.worlds`). A
search that stops, because there is no room or to let Python look for Ctrl-C, continues from where
it was when it is called again.
"""

from __future__ import annotations

import cython

from elsinore.matches.engine.candidates import (
    first_place,
    is_barred,
    next_place,
    node_at,
    reference_of,
)
from elsinore.matches.engine.codes import Selection, Status, Strategy
from elsinore.matches.engine.completion import is_match
from elsinore.matches.engine.filters import filter_early
from elsinore.matches.engine.graph import (
    build,
    enter,
    first_moment,
    gather,
    is_too_many,
    may_begin,
)
from elsinore.matches.engine.longest import give_best, keep_best, note_best, was_seen
from elsinore.matches.engine.neighbours import far_hold, follows
from elsinore.matches.engine.registers import begin_registers, give_out, give_out_leaf, select
from elsinore.matches.engine.tables import FOREVER as _FOREVER
from elsinore.matches.engine.tables import Graph, Match, Output, Program, Values, Window
from elsinore.matches.engine.windows import leave_key, next_window
from elsinore.matches.engine.worlds import (
    begins_probably,
    extend_probably,
    is_confident,
    set_reach,
)

FOREVER = cython.declare(cython.longlong, _FOREVER)
UNTRIED = cython.declare(cython.int, -2)  # no node of the edge has been a candidate yet


def scan(
    program: Program,
    values: Values,
    graph: Graph,
    window: Window,
    match: Match,
    output: Output,
) -> None:
    """Search until the last key is done, or until the output's status says why not."""
    with cython.nogil:
        begin_registers(program, match)
        while window.key < window.keys.shape[0]:
            if graph.event_count < 0:
                gather(program, values, graph, window)
                if (
                    graph.event_count > 0
                    and not program.is_uncertain
                    and (program.strategy != Strategy.ANY or window.within < 0)
                ):
                    build(program, values, match, graph, window, 0, graph.event_count - 1)
            is_under_way: cython.bint = not window.is_new and window.begin < window.begin_end
            if not next_window(program, values, match, graph, window):
                leave_key(window, graph)
                continue
            if not is_under_way:
                output.in_window = 0
                if output.counts_exactly and is_too_many(
                    program, values, match, graph, window, output
                ):
                    break
            search_window(program, values, graph, window, match, output)
            if output.status != Status.DONE:
                break


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def search_window(
    program: Program, values: Values, graph: Graph, window: Window, match: Match, output: Output
) -> cython.void:
    """Return the matches from the beginnings of a window that are left."""
    while window.begin < window.begin_end:
        row: cython.longlong = graph.events[window.begin].row
        is_under_way: cython.bint = match.depth >= 0 or match.first_edge > 0
        if not is_under_way:
            match.best_depth = -1
            match.is_kept = 0
            match.start += 1
        if is_under_way or (
            may_begin(program, graph, window.begin)
            and (program.selection == Selection.ALL or row >= window.keys[window.key].next_row)
        ):
            if not is_under_way:
                filter_early(program, values, graph, window, match)
            count: cython.int = output.count
            filled: cython.int = output.filled
            in_window: cython.longlong = output.in_window
            matches_from(program, values, graph, window, match, output)
            if output.status == Status.DONE and match.best_depth >= 0:
                give_best(program, values, graph, window, match, output)
            if output.status != Status.DONE:
                if program.has_duplicates and output.status != Status.LIMITED:
                    # matches of one event are returned together: all of them another time
                    output.count = count
                    output.filled = filled
                    output.in_window = in_window
                    match.depth = -1
                    match.first_edge = 0
                return
        window.begin += 1
        match.first_edge = 0
        if output.steps > output.pause:
            output.status = Status.PAUSED
            return


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def matches_from(
    program: Program, values: Values, graph: Graph, window: Window, match: Match, output: Output
) -> cython.void:
    """Return the matches that begin with the event `window.begin`."""
    steps: cython.longlong = 0
    while True:
        if match.depth < 0 and not begins(program, values, graph, window, match, output):
            break
        if not match.is_made:
            steps += 1
            state: cython.int = graph.nodes[match.frames[match.depth].node].state
            row: cython.longlong = match.frames[match.depth].row
            select(program, values, match, state, row, match.depth + 1)
            if program.failed_row >= 0:
                output.status = Status.FAILED
                break
            if program.is_uncertain:
                is_due: cython.bint = program.states[state].ends and is_confident(
                    match, match.worlds, output
                )
            else:
                is_due = program.states[state].ends and row >= window.fresh
            if is_due and is_match(program, values, graph, window, match):
                if program.selection:
                    note_best(graph, match)
                else:
                    give_out(graph, match, output, window.number)
                if output.status != Status.DONE:
                    if output.status == Status.LIMITED:
                        match.is_made = 1
                    break
            match.is_made = 1
            look_ahead(program, values, graph, window, match)
        if output.steps + steps > output.budget:
            output.status = Status.TOO_LONG
        elif match.depth + 2 >= match.frames.shape[0]:
            output.status = Status.DEEP
        elif output.steps + steps > output.pause and not program.has_duplicates:
            output.status = Status.PAUSED
        if output.status != Status.DONE:
            break
        if program.is_uncertain:
            is_extended: cython.bint = extend_probably(
                program, values, graph, window, match, match.worlds, output
            )
        else:
            is_extended = extend(program, values, graph, window, match, output)
        if output.status != Status.DONE:
            break
        if not is_extended:
            match.depth -= 1
    output.steps += steps


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def begins(
    program: Program, values: Values, graph: Graph, window: Window, match: Match, output: Output
) -> cython.bint:
    """Begin a match with the window's event in the next state in which it may, if there is one."""
    event: cython.int = window.begin
    row: cython.longlong = graph.events[event].row
    node: cython.int
    while match.first_edge < program.first_edges:
        edge: cython.int = match.first_edge
        match.first_edge += 1
        for node in range(graph.events[event].node, graph.events[event].node_end):
            if graph.nodes[node].state != program.edges[edge].target:
                continue
            if graph.nodes[node].soonest > window.last:
                continue
            if program.is_uncertain and not begins_probably(
                graph, window, match.worlds, output, node
            ):
                continue
            if far_hold(program, values, match, edge, row, -1, 0):
                if program.selection:
                    keep_best(match, -1)
                match.depth = 0
                enter(graph, match, node, edge)
                return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def look_ahead(
    program: Program, values: Values, graph: Graph, window: Window, match: Match
) -> cython.void:
    """Set the moment at which the match must be continued, if its strategy requires one."""
    if program.is_uncertain:
        set_reach(graph, match, match.worlds)
        return
    node: cython.int = match.frames[match.depth].node
    match.frames[match.depth].trying = program.states[graph.nodes[node].state].edges
    match.frames[match.depth].candidate = UNTRIED
    match.frames[match.depth].until = graph.nodes[node].until
    if program.strategy == Strategy.NEXT and not program.is_near:
        step: cython.int = match.depth + 1
        match.frames[match.depth].until = first_moment(
            program, values, match, graph, window, node, step, window.last
        )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def extend(
    program: Program, values: Values, graph: Graph, window: Window, match: Match, output: Output
) -> cython.bint:
    """Extend the match by the next node that may follow; return whether there was one.

    Matches that end at once with the next node are written down on the way.
    """
    depth: cython.int = match.depth
    node: cython.int = match.frames[depth].node
    state: cython.int = graph.nodes[node].state
    previous: cython.longlong = match.frames[depth].row
    until: cython.longlong = match.frames[depth].until
    while match.frames[depth].trying < program.states[state].edges_end:
        edge: cython.int = match.frames[depth].trying
        place: cython.longlong = match.frames[depth].candidate
        if place == UNTRIED:
            link: cython.int = graph.nodes[node].link + edge - program.states[state].edges
            reference: cython.longlong = reference_of(program, match, edge, previous, depth + 1)
            match.frames[depth].reference = reference
            place = first_place(program, values, edge, previous, reference, graph.links[link])
        reference = match.frames[depth].reference
        while place >= 0:
            candidate: cython.int = node_at(program, values, graph, edge, place, reference)
            event: cython.int = graph.nodes[candidate].event
            row: cython.longlong = graph.events[event].row
            if event > window.last or graph.events[event].moment > until:
                break
            if is_barred(program, values, match, edge, row, previous, window.first_row, depth + 1):
                break
            tried: cython.longlong = place
            place = next_place(program, values, graph, edge, place, reference)
            if until != FOREVER and graph.events[event].moment < until:
                continue
            if graph.nodes[candidate].soonest > window.last:
                continue
            if program.has_filters and graph.closed[candidate] == match.start:
                continue
            if follows(program, values, match, edge, row, previous, window.first_row, depth + 1):
                if program.selection and was_seen(program, graph, match, candidate, depth + 1):
                    continue
                if program.states[program.edges[edge].target].is_leaf:
                    if row >= window.fresh:
                        give_out_leaf(
                            program, values, graph, match, output, candidate, window.number
                        )
                        output.steps += 1
                    if output.status != Status.DONE:
                        is_written: cython.bint = output.status == Status.LIMITED
                        match.frames[depth].candidate = place if is_written else tried
                        return False
                    continue
                match.frames[depth].candidate = place
                if program.selection:
                    keep_best(match, depth)
                match.depth = depth + 1
                enter(graph, match, candidate, edge)
                return True
        match.frames[depth].trying += 1
        match.frames[depth].candidate = UNTRIED
    return False
