"""Matches of which SUPPRESS leaves out most, in the order of their last events.

A match is returned if it ends after the time until which earlier ones suppress others. Of the
matches that end with an event, the one that began last is returned. So it suffices to know of each
node where a match to it began last: events are gone through once, and no match is made that is not
returned. For patterns whose conditions read no more than two neighbours, without NOT at the
beginning or at the end.
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
from elsinore.matches.engine.codes import TIME, Status
from elsinore.matches.engine.graph import build, gather
from elsinore.matches.engine.longest import select_frames, suppress_after
from elsinore.matches.engine.neighbours import may_follow
from elsinore.matches.engine.registers import begin_registers, give_out
from elsinore.matches.engine.tables import Graph, Match, Output, Program, Values, Window
from elsinore.matches.engine.windows import leave_key

FIRST = cython.declare(cython.int, -1)  # in `Graph.came`: the match begins with the node


def scan_suppressed(
    program: Program,
    values: Values,
    graph: Graph,
    window: Window,
    match: Match,
    output: Output,
) -> None:
    """Go through the events of the keys that are left, or until the output's status says why not.

    `Window.from_event` is the event to continue with.
    """
    node: cython.int
    with cython.nogil:
        begin_registers(program, match)
        while window.key < window.keys.shape[0]:
            if graph.event_count < 0:
                gather(program, values, graph, window)
                window.from_event = 0
                if graph.event_count > 0:
                    build(program, values, match, graph, window, 0, graph.event_count - 1)
                for node in range(graph.node_count):
                    graph.began[node] = -1
            while window.from_event < graph.event_count:
                act(program, values, graph, window, match, output)
                if output.status != Status.DONE:
                    break
                window.from_event += 1
                output.steps += 1
                if output.steps > output.pause:
                    output.status = Status.PAUSED
                    break
            if output.status != Status.DONE:
                break
            leave_key(window, graph)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def act(
    program: Program, values: Values, graph: Graph, window: Window, match: Match, output: Output
) -> cython.void:
    """Return a match that ends with the event, if there is one, and let later events follow it."""
    event: cython.int = window.from_event
    row: cython.longlong = graph.events[event].row
    key: cython.int = window.key
    best: cython.int = -1
    node: cython.int
    for node in range(graph.events[event].node, graph.events[event].node_end):
        state: cython.int = graph.nodes[node].state
        if graph.nodes[node].soonest == graph.event_count:
            continue
        if program.states[state].first_edge >= 0:
            graph.began[node] = row
            graph.came[node] = FIRST
        if (
            program.states[state].ends
            and row >= window.fresh
            and graph.events[event].time > window.keys[key].quiet
            and is_in_window(values, graph, window, node)
            and (best < 0 or graph.began[node] > graph.began[best])
        ):
            best = node
    if best >= 0:
        return_match(program, values, graph, window, match, output, best)
        if output.status not in (Status.DONE, Status.LIMITED):
            return
        suppress_after(program, window, graph.events[event].time)
    for node in range(graph.events[event].node, graph.events[event].node_end):
        if graph.nodes[node].soonest < graph.event_count and graph.began[node] >= 0:
            lead_on(program, values, graph, window, match, node)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_in_window(values: Values, graph: Graph, window: Window, node: cython.int) -> cython.bint:
    """Return whether a match leads to a node that is no longer than the window."""
    began: cython.longlong = graph.began[node]
    if began < 0:
        return False
    time: cython.longlong = graph.events[graph.nodes[node].event].time
    return window.within < 0 or time - values.integers[TIME, began] <= window.within


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def lead_on(
    program: Program, values: Values, graph: Graph, window: Window, match: Match, node: cython.int
) -> cython.void:
    """Let a match to a node lead on to those that may follow it, if it began later than others."""
    state: cython.int = graph.nodes[node].state
    row: cython.longlong = graph.events[graph.nodes[node].event].row
    until: cython.longlong = graph.nodes[node].until
    edge: cython.int
    for edge in range(program.states[state].edges, program.states[state].edges_end):
        link: cython.int = graph.nodes[node].link + edge - program.states[state].edges
        reference: cython.longlong = reference_of(program, match, edge, row, -1)
        place: cython.longlong = first_place(
            program, values, edge, row, reference, graph.links[link]
        )
        while place >= 0:
            later: cython.int = node_at(program, values, graph, edge, place, reference)
            event: cython.int = graph.nodes[later].event
            if graph.events[event].moment > until:
                break
            current: cython.longlong = graph.events[event].row
            if is_barred(program, values, match, edge, current, row, window.first_row, -1):
                break
            if (
                graph.events[event].moment == until
                and graph.began[later] < graph.began[node]
                and may_follow(program, values, match, edge, current, row, window.first_row)
            ):
                graph.began[later] = graph.began[node]
                graph.came[later] = node
            place = next_place(program, values, graph, edge, place, reference)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def return_match(
    program: Program,
    values: Values,
    graph: Graph,
    window: Window,
    match: Match,
    output: Output,
    last: cython.int,
) -> cython.void:
    """Return the match that ends with a node and began last."""
    length: cython.int = 0
    node: cython.int = last
    while node != FIRST:
        length += 1
        node = graph.came[node]
    if length + 1 >= match.frames.shape[0]:
        output.status = Status.DEEP
        return
    frame: cython.int = length
    node = last
    while node != FIRST:
        frame -= 1
        match.frames[frame].node = node
        match.frames[frame].row = graph.events[graph.nodes[node].event].row
        node = graph.came[node]
    select_frames(program, values, graph, match, length)
    if program.failed_row >= 0:
        output.status = Status.FAILED
        return
    match.depth = length - 1
    give_out(graph, match, output, window.number)
    match.depth = -1
