# cython: infer_types=True
"""The matches that AFTER MATCH and SUPPRESS select, without making the others.

*The longest match* that begins with an event is the one with the latest last event, of these one
with most events, and of these the first that the search reaches. What may follow a node depends on
the node alone if no condition reads more than two neighbours: then the search need not enter it
again with as few events before it.

*With SUPPRESS alone*, a match is returned if it ends after the time until which earlier ones
suppress others, and of those that end with one event, the one that began last. So it suffices to
know of each node where a match to it began last: events are read once, and no match is made that is
not returned. For patterns whose conditions read no more than two neighbours, without NOT at the
beginning or at the end.
"""

from __future__ import annotations

import cython

from elsinore.matches.engine.codes import GRAPH_CURSOR, MOMENT, TIME, Index, Selection, Status
from elsinore.matches.engine.followers import follow, may_follow, next_follower
from elsinore.matches.engine.graph import build, gather
from elsinore.matches.engine.registers import begin_registers, select, write_match
from elsinore.matches.engine.tables import FOREVER as _FOREVER
from elsinore.matches.engine.tables import Program, Search
from elsinore.matches.engine.windows import leave_key

FOREVER = cython.declare(cython.longlong, _FOREVER)
FIRST = cython.declare(cython.int, -1)  # in `Search.came`: the match begins with the node


@cython.nogil
def was_seen(program: Program, search: Search, node: Index, depth: Index) -> cython.bint:
    """Return whether the search has reached a node with as many events before; remember this one.

    With a NOT at the beginning, matches also differ by the state in which they begin: then nothing
    is remembered.
    """
    first: Index = program.edges[search.frames[0].edge].guard
    if not program.is_near or not program.guards[first].is_free:
        return False
    if search.seen_from[node] == search.start and search.seen_depth[node] >= depth:
        return True
    search.seen_from[node] = search.start
    search.seen_depth[node] = depth
    return False


@cython.nogil
def note_best(search: Search) -> cython.void:
    """Make the current match the longest one if it is longer than those before."""
    event: Index = search.nodes[search.frames[search.depth].node].event
    if search.best_depth >= 0 and (
        event < search.best_event
        or (event == search.best_event and search.depth <= search.best_depth)
    ):
        return
    search.best_depth = search.depth
    search.best_event = event
    search.is_kept = 0


@cython.nogil
def keep_best(search: Search, depth: Index) -> cython.void:
    """Copy the longest match before the frame after `depth`, if it has it, is overwritten."""
    if search.is_kept or search.best_depth <= depth:
        return
    for frame in range(search.best_depth + 1):
        search.best[frame] = search.frames[frame]
    search.is_kept = 1


@cython.nogil
def return_best(program: Program, search: Search) -> cython.void:
    """Write the longest match, unless it is suppressed, and skip events for AFTER MATCH."""
    key: Index = search.key
    if search.is_kept:
        for frame in range(search.best_depth + 1):
            search.frames[frame] = search.best[frame]
        select_frames(program, search, search.best_depth + 1)
        search.is_kept = 0
    row: Index = search.frames[search.best_depth].row
    end: cython.longlong = search.values.integers[TIME, row]
    if program.suppress < 0 or end > search.keys[key].quiet:
        search.depth = search.best_depth
        write_match(search)
        search.depth = -1
        if search.status not in (Status.DONE, Status.LIMITED):
            return
        suppress_after(program, search, end)
    if program.selection == Selection.LAST_EVENT:
        moment: cython.longlong = search.values.integers[MOMENT, row]
        while row < search.keys[key].end_row and search.values.integers[MOMENT, row] == moment:
            row += 1
        search.keys[key].next_row = row
    search.best_depth = -1


@cython.nogil
def select_frames(program: Program, search: Search, count: Index) -> cython.void:
    """Set the registers by the events of the match's first frames."""
    for frame in range(count):
        state: Index = search.nodes[search.frames[frame].node].state
        select(program, search, state, search.frames[frame].row, frame + 1)


@cython.nogil
def suppress_after(program: Program, search: Search, end: cython.longlong) -> cython.void:
    """Suppress other matches of the key for a while after one that ended at a time."""
    if program.suppress >= 0:
        is_far: cython.bint = end > FOREVER - program.suppress
        search.keys[search.key].quiet = FOREVER if is_far else end + program.suppress


def scan_suppressed(program: Program, search: Search) -> None:
    """Read the events of the remaining keys, until the status says why the search stops.

    `Search.from_event` is the event to continue with.
    """
    with cython.nogil:
        begin_registers(program, search)
        while search.key < search.keys.shape[0]:
            if search.event_count < 0:
                gather(program, search)
                search.from_event = 0
                if search.event_count > 0:
                    build(program, search, 0, search.event_count - 1)
                for node in range(search.node_count):
                    search.began[node] = -1
            while search.from_event < search.event_count:
                act(program, search)
                if search.status != Status.DONE:
                    break
                search.from_event += 1
                search.steps += 1
                if search.steps > search.pause:
                    search.status = Status.PAUSED
                    break
            if search.status != Status.DONE:
                break
            leave_key(search)


@cython.nogil
def act(program: Program, search: Search) -> cython.void:
    """Write a match that ends with the event, if there is one, and extend matches to later ones."""
    event: Index = search.from_event
    row: Index = search.events[event].row
    key: Index = search.key
    best: Index = -1
    for node in range(search.events[event].node, search.events[event].node_end):
        state: Index = search.nodes[node].state
        if search.nodes[node].soonest == search.event_count:
            continue
        if program.states[state].first_edge >= 0:
            search.began[node] = row
            search.came[node] = FIRST
        if (
            program.states[state].ends
            and row >= search.fresh
            and search.events[event].time > search.keys[key].quiet
            and is_in_window(search, node)
            and (best < 0 or search.began[node] > search.began[best])
        ):
            best = node
    if best >= 0:
        return_match(program, search, best)
        if search.status not in (Status.DONE, Status.LIMITED):
            return
        suppress_after(program, search, search.events[event].time)
    for node in range(search.events[event].node, search.events[event].node_end):
        if search.nodes[node].soonest < search.event_count and search.began[node] >= 0:
            extend_to(program, search, node)


@cython.nogil
def is_in_window(search: Search, node: Index) -> cython.bint:
    """Return whether the match to a node is no longer than the window."""
    began: cython.longlong = search.began[node]
    if began < 0:
        return False
    time: cython.longlong = search.events[search.nodes[node].event].time
    return search.within < 0 or time - search.values.integers[TIME, began] <= search.within


@cython.nogil
def extend_to(program: Program, search: Search, node: Index) -> cython.void:
    """Extend the match to a node to those that may follow, unless theirs began later."""
    state: Index = search.nodes[node].state
    row: Index = search.events[search.nodes[node].event].row
    until: cython.longlong = search.nodes[node].until
    last: Index = search.event_count - 1
    for edge in range(program.states[state].edges, program.states[state].edges_end):
        follow(program, search, GRAPH_CURSOR, node, edge, -1)
        while True:
            later: Index = next_follower(program, search, GRAPH_CURSOR, last, until)
            if later < 0:
                break
            event: Index = search.nodes[later].event
            if (
                search.events[event].moment == until
                and search.began[later] < search.began[node]
                and may_follow(program, search, edge, search.events[event].row, row)
            ):
                search.began[later] = search.began[node]
                search.came[later] = node


@cython.nogil
def return_match(program: Program, search: Search, last: Index) -> cython.void:
    """Return the match that ends with a node and began last."""
    length: Index = 0
    node: Index = last
    while node != FIRST:
        length += 1
        node = search.came[node]
    if length + 1 >= search.frames.shape[0]:
        search.status = Status.DEEP
        return
    frame: Index = length
    node = last
    while node != FIRST:
        frame -= 1
        search.frames[frame].node = node
        search.frames[frame].row = search.events[search.nodes[node].event].row
        node = search.came[node]
    select_frames(program, search, length)
    if program.failed_row >= 0:
        search.status = Status.FAILED
        return
    search.depth = length - 1
    write_match(search)
    search.depth = -1
