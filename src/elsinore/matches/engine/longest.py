"""The longest of the matches that begin with an event (AFTER MATCH).

That is the one with the latest last event, of these one with most events, and of these the first
that the search comes to. What may follow a node depends on the node alone if no condition reads
more than two neighbours: then the search need not come to it again with as few events before it.
"""

from __future__ import annotations

import cython

from elsinore.matches.engine.codes import MOMENT, TIME, Selection, Status
from elsinore.matches.engine.registers import give_out, select
from elsinore.matches.engine.tables import FOREVER as _FOREVER
from elsinore.matches.engine.tables import Graph, Match, Output, Program, Values, Window

FOREVER = cython.declare(cython.longlong, _FOREVER)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def was_seen(
    program: Program, graph: Graph, match: Match, node: cython.int, depth: cython.int
) -> cython.bint:
    """Return whether the search came to a node before with as many events; remember that it did.

    A NOT at the beginning may tell apart in which state a match began: then nothing is remembered.
    """
    first: cython.int = program.edges[match.frames[0].edge].guard
    if not program.is_near or not program.guards[first].is_free:
        return False
    if graph.seen_from[node] == match.start and graph.seen_depth[node] >= depth:
        return True
    graph.seen_from[node] = match.start
    graph.seen_depth[node] = depth
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def note_best(graph: Graph, match: Match) -> cython.void:
    """Note the match that the search is at if it is longer than the longest so far."""
    event: cython.int = graph.nodes[match.frames[match.depth].node].event
    if match.best_depth >= 0 and (
        event < match.best_event or (event == match.best_event and match.depth <= match.best_depth)
    ):
        return
    match.best_depth = match.depth
    match.best_event = event
    match.is_kept = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def keep_best(match: Match, depth: cython.int) -> cython.void:
    """Copy the longest match before the frame behind `depth` is written, if that is one of its."""
    if match.is_kept or match.best_depth <= depth:
        return
    frame: cython.int
    for frame in range(match.best_depth + 1):
        match.best[frame] = match.frames[frame]
    match.is_kept = 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def give_best(
    program: Program, values: Values, graph: Graph, window: Window, match: Match, output: Output
) -> cython.void:
    """Return the longest match, unless it is suppressed, and skip events as AFTER MATCH says."""
    frame: cython.int
    key: cython.int = window.key
    if match.is_kept:
        for frame in range(match.best_depth + 1):
            match.frames[frame] = match.best[frame]
        select_frames(program, values, graph, match, match.best_depth + 1)
        match.is_kept = 0
    row: cython.longlong = match.frames[match.best_depth].row
    end: cython.longlong = values.integers[TIME, row]
    if program.suppress < 0 or end > window.keys[key].quiet:
        match.depth = match.best_depth
        give_out(graph, match, output, window.number)
        match.depth = -1
        if output.status not in (Status.DONE, Status.LIMITED):
            return
        suppress_after(program, window, end)
    if program.selection == Selection.LAST_EVENT:
        moment: cython.longlong = values.integers[MOMENT, row]
        while row < window.keys[key].end_row and values.integers[MOMENT, row] == moment:
            row += 1
        window.keys[key].next_row = row
    match.best_depth = -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def select_frames(
    program: Program, values: Values, graph: Graph, match: Match, count: cython.int
) -> cython.void:
    """Set the registers by the events of the match's first frames."""
    frame: cython.int
    for frame in range(count):
        state: cython.int = graph.nodes[match.frames[frame].node].state
        select(program, values, match, state, match.frames[frame].row, frame + 1)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def suppress_after(program: Program, window: Window, end: cython.longlong) -> cython.void:
    """Suppress other matches of the key for a while after one that ended at a time."""
    if program.suppress >= 0:
        is_far: cython.bint = end > FOREVER - program.suppress
        window.keys[window.key].quiet = FOREVER if is_far else end + program.suppress
