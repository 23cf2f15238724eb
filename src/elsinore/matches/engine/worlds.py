"""The search for matches of events with uncertain times (SASE++, Section 5.3), depth first.

The events of a key are in the order of their earliest possible times; an event may follow another
if it can be later than that one's earliest time. Each match that is extended has its confidence
(`elsinore.matches.engine.confidence`): below the threshold it is left, as no extension is more
probable. A search that stops continues from where it was when it is called again.
"""

from __future__ import annotations

import cython

from elsinore.matches.engine.codes import Status
from elsinore.matches.engine.completion import is_match
from elsinore.matches.engine.confidence import chance_of_match, chance_so_far
from elsinore.matches.engine.graph import gather
from elsinore.matches.engine.neighbours import far_hold, near_hold
from elsinore.matches.engine.possible import FAR as _FAR
from elsinore.matches.engine.possible import (
    Worlds,
    count_of,
    first_point,
    last_point,
)
from elsinore.matches.engine.registers import begin_registers, give_out, select
from elsinore.matches.engine.search import enter
from elsinore.matches.engine.tables import Graph, Match, Output, Program, Values, Window
from elsinore.matches.engine.windows import first_number, leave_key

FAR = cython.declare(cython.longlong, _FAR)


def scan_worlds(
    program: Program,
    values: Values,
    graph: Graph,
    window: Window,
    match: Match,
    worlds: Worlds,
    output: Output,
) -> None:
    """Write down the matches that reach the threshold and have a new event.

    Returns when the last key is done, or if the output's status says why not.
    """
    with cython.nogil:
        begin_registers(program, match)
        while window.key < window.keys.shape[0]:
            if graph.event_count < 0:
                gather(program, values, graph, window)
            if not next_beginning(graph, window, worlds):
                leave_key(window, graph)
                continue
            matches_from(program, values, graph, window, match, worlds, output)
            if output.status != Status.DONE:
                break
            window.begin += 1
            match.first_edge = 0
            output.in_window = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def first_event(graph: Graph, begin: cython.int, time: cython.longlong) -> cython.int:
    """Return the first event from `begin` on whose earliest time is at least `time`."""
    end: cython.int = graph.event_count
    while begin < end:
        middle: cython.int = (begin + end) // 2
        if graph.events[middle].time < time:
            begin = middle + 1
        else:
            end = middle
    return begin


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def next_beginning(graph: Graph, window: Window, worlds: Worlds) -> cython.bint:
    """Set the window, and the event in it that a match is to begin with; return whether one is."""
    if graph.event_count == 0:
        return False
    if window.is_new:
        window.is_new = 0
        window.begin = 0
        window.number = 0
        worlds.window_begin = -FAR
        worlds.window_end = FAR
        worlds.within = window.within
        if window.slide > 0:
            set_window(window, worlds, first_number(window, graph.events[0].time))
    while True:
        if (
            window.begin < graph.event_count
            and graph.events[window.begin].time <= worlds.window_end
        ):
            return True
        if window.slide == 0:
            return False
        number: cython.longlong = window.number + 1
        start: cython.longlong = window.origin + number * window.slide
        window.begin = first_event(graph, 0, start - worlds.longest)
        if window.begin == graph.event_count:
            return False
        time: cython.longlong = graph.events[window.begin].time
        if time >= start + window.within:  # an empty window: skip to the first with the event
            number = first_number(window, time)
        set_window(window, worlds, number)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def set_window(window: Window, worlds: Worlds, number: cython.longlong) -> cython.void:
    """Set the number of the window that SLIDE lays out, and its first and last time."""
    window.number = number
    worlds.window_begin = window.origin + number * window.slide
    worlds.window_end = worlds.window_begin + window.within - 1
    worlds.within = -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def matches_from(
    program: Program,
    values: Values,
    graph: Graph,
    window: Window,
    match: Match,
    worlds: Worlds,
    output: Output,
) -> cython.void:
    """Write down the matches that begin with the event `window.begin`."""
    while True:
        if match.depth < 0 and not begins(program, values, graph, window, match, worlds, output):
            break
        if not match.is_made:
            make(program, values, graph, window, match, worlds, output)
            if output.status != Status.DONE:
                break
            match.is_made = 1
            look_ahead(graph, match, worlds)
        if not extend(program, values, graph, window, match, worlds, output):
            match.depth -= 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def begins(
    program: Program,
    values: Values,
    graph: Graph,
    window: Window,
    match: Match,
    worlds: Worlds,
    output: Output,
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
            put_step(graph, worlds, 0, node)
            worlds.steps[0].has_new = row >= window.keys[window.key].new_row
            if not is_probable(worlds, output, 0):
                continue
            if far_hold(program, values, match, edge, row, -1, 0):
                match.depth = 0
                enter(graph, match, node, edge)
                return True
    return False


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
def make(
    program: Program,
    values: Values,
    graph: Graph,
    window: Window,
    match: Match,
    worlds: Worlds,
    output: Output,
) -> cython.void:
    """Update the registers by the match's last event; write the match down if it is complete."""
    depth: cython.int = match.depth
    node: cython.int = match.frames[depth].node
    state: cython.int = graph.nodes[node].state
    output.steps += 1
    if output.steps > output.budget:
        output.status = Status.TOO_LONG
    elif output.steps > output.pause:
        output.status = Status.PAUSED
    elif depth + 2 >= match.frames.shape[0]:
        output.status = Status.DEEP
    if output.status != Status.DONE:
        return
    select(program, values, match, state, match.frames[depth].row, depth + 1)
    if program.failed_row >= 0:
        output.status = Status.FAILED
        return
    if not program.states[state].ends or not worlds.steps[depth].has_new:
        return
    chance: cython.double = chance_of_match(worlds, depth)
    if not worlds.has_sets and worlds.within >= 0:
        count_times(worlds, output, depth)
    if worlds.register >= 0:
        match.numbers[depth + 1, worlds.register] = chance
    if chance <= 0.0 or chance < worlds.threshold:
        return
    if is_match(program, values, graph, window, match):
        give_out(graph, match, output, window.number)


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
def look_ahead(graph: Graph, match: Match, worlds: Worlds) -> cython.void:
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
def extend(
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
        if not may_follow(worlds, depth, row, target):
            continue
        if is_bound(worlds, depth, row):
            continue
        if not conditions_hold(program, values, match, edge, row):
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
def may_follow(
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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def conditions_hold(
    program: Program, values: Values, match: Match, edge: cython.int, row: cython.longlong
) -> cython.bint:
    """Return whether the conditions of an edge let a row follow the match."""
    previous: cython.longlong = match.frames[match.depth].row
    step: cython.int = match.depth + 1
    return near_hold(program, values, match, edge, row, previous, step) and far_hold(
        program, values, match, edge, row, previous, step
    )
