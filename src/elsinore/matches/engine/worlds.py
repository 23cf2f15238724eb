"""The search for matches of events with uncertain times (SASE++, Section 5.3).

The events of a key are in the order of their earliest possible times; an event may follow another
if it can be later than that one's earliest time. Each match that is extended has its confidence
(`elsinore.matches.engine.confidence`): below the threshold it is left, as no extension is more
probable.
"""

from __future__ import annotations

import cython

from elsinore.matches.engine.confidence import chance_of_match, chance_so_far
from elsinore.matches.engine.graph import enter
from elsinore.matches.engine.neighbours import follows
from elsinore.matches.engine.possible import FAR as _FAR
from elsinore.matches.engine.possible import Worlds, count_of, first_point, last_point
from elsinore.matches.engine.tables import Graph, Match, Output, Program, Values, Window
from elsinore.matches.engine.windows import first_event

FAR = cython.declare(cython.longlong, _FAR)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def begins_probably(
    graph: Graph, window: Window, worlds: Worlds, output: Output, node: cython.int
) -> cython.bint:
    """Return whether a match that begins with a node reaches the threshold."""
    put_step(graph, worlds, 0, node)
    row: cython.longlong = worlds.steps[0].row
    worlds.steps[0].has_new = row >= window.keys[window.key].new_row
    return is_probable(worlds, output, 0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_step(graph: Graph, worlds: Worlds, depth: cython.int, node: cython.int) -> cython.void:
    """Make a node the step at a depth."""
    worlds.steps[depth].row = graph.events[graph.nodes[node].event].row
    worlds.steps[depth].set = worlds.sets[graph.nodes[node].state]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_probable(worlds: Worlds, output: Output, depth: cython.int) -> cython.bint:
    """Return whether the match up to a step reaches the threshold; count the times summed up."""
    step: cython.int
    for step in range(0 if worlds.has_sets else depth, depth + 1):
        output.steps += count_of(worlds.possible, worlds.steps[step].row)
    chance: cython.double = chance_so_far(worlds, depth)
    return chance > 0.0 and chance >= worlds.threshold


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_confident(match: Match, worlds: Worlds, output: Output) -> cython.bint:
    """Return whether a match has a new event and reaches the threshold; keep its confidence."""
    depth: cython.int = match.depth
    if not worlds.steps[depth].has_new:
        return False
    chance: cython.double = chance_of_match(worlds, depth)
    if not worlds.has_sets and worlds.within >= 0:
        count_times(worlds, output, depth)
    if worlds.register >= 0:
        match.numbers[depth + 1, worlds.register] = chance
    return chance > 0.0 and chance >= worlds.threshold


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def count_times(worlds: Worlds, output: Output, depth: cython.int) -> cython.void:
    """Count the possible times that are summed up for a window that ends with the match."""
    later: cython.longlong = 0
    step: cython.int
    for step in range(1, depth + 1):
        later += count_of(worlds.possible, worlds.steps[step].row)
    output.steps += count_of(worlds.possible, worlds.steps[0].row) * later


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def set_reach(graph: Graph, match: Match, worlds: Worlds) -> cython.void:
    """Set between which times the next event may be, and the first node that it may have."""
    depth: cython.int = match.depth
    row: cython.longlong = worlds.steps[depth].row
    event: cython.int = graph.nodes[match.frames[depth].node].event
    earliest: cython.longlong = FAR
    place: cython.longlong
    for place in range(count_of(worlds.possible, row)):
        if worlds.has_sets or worlds.mass[depth, place] > 0.0:
            earliest = worlds.possible.points[worlds.possible.starts[row] + place]
            break
    step: cython.int = depth
    if worlds.steps[depth].set >= 0:  # the next event is later than all of the set
        while step > 0 and worlds.steps[step - 1].set == worlds.steps[depth].set:
            step -= 1
            earliest = max(earliest, first_point(worlds.possible, worlds.steps[step].row))
    worlds.steps[depth].earliest = earliest
    latest: cython.longlong = worlds.window_end
    if worlds.within >= 0:
        latest = last_point(worlds.possible, worlds.steps[0].row) + worlds.within
    worlds.steps[depth].latest = latest
    following: cython.int = first_event(graph, 0, earliest - worlds.longest + 1)
    if worlds.has_sets:  # events of a set may be simultaneous
        following = min(following, event + 1)
    worlds.steps[depth].node = (
        graph.node_count if following == graph.event_count else graph.events[following].node
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def extend_probably(
    program: Program,
    values: Values,
    graph: Graph,
    window: Window,
    match: Match,
    worlds: Worlds,
    output: Output,
) -> cython.bint:
    """Extend the match by the next node that may follow; return whether there was one."""
    depth: cython.int = match.depth
    previous: cython.longlong = match.frames[depth].row
    state: cython.int = graph.nodes[match.frames[depth].node].state
    edge: cython.int
    while worlds.steps[depth].node < graph.node_count:
        node: cython.int = worlds.steps[depth].node
        event: cython.int = graph.nodes[node].event
        if graph.events[event].time > worlds.steps[depth].latest:
            break
        worlds.steps[depth].node += 1
        target: cython.int = graph.nodes[node].state
        for edge in range(program.states[state].edges, program.states[state].edges_end):
            if program.edges[edge].target == target:
                break
        else:
            continue
        row: cython.longlong = graph.events[event].row
        if not may_be_later(worlds, depth, row, target) or is_bound(worlds, depth, row):
            continue
        if not follows(program, values, match, edge, row, previous, window.first_row, depth + 1):
            continue
        put_step(graph, worlds, depth + 1, node)
        if not is_probable(worlds, output, depth + 1):
            continue
        worlds.steps[depth + 1].has_new = (
            worlds.steps[depth].has_new or row >= window.keys[window.key].new_row
        )
        match.depth = depth + 1
        enter(graph, match, node, edge)
        return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def may_be_later(
    worlds: Worlds, depth: cython.int, row: cython.longlong, target: cython.int
) -> cython.bint:
    """Return whether the times of an event let it follow the step at a depth in a state.

    A set has its events in the order of rows, so that each set is found once.
    """
    if worlds.steps[depth].set >= 0 and worlds.steps[depth].set == worlds.sets[target]:
        return row >= worlds.steps[depth].row
    return last_point(worlds.possible, row) > worlds.steps[depth].earliest


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_bound(worlds: Worlds, depth: cython.int, row: cython.longlong) -> cython.bint:
    """Return whether the match has an event."""
    step: cython.int
    for step in range(depth + 1):  # noqa: SIM110 - compiled
        if worlds.steps[step].row == row:
            return True
    return False
