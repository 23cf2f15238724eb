"""The graph of a key's partial matches, built from its last event backwards.

A node is an event in a state. Its `count` is the number of ways to complete a match after it (the
number of paths of a directed graph without cycles), its `soonest` the event at which the first of
these matches ends. So no search enters a node from which no match ends in its window. Conditions
that read more than two neighbours are taken to hold here (`Program.is_near`): then counts are
bounds, and `soonest` is no later than the true one.
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
from elsinore.matches.engine.codes import CLASS, MOMENT, TIME, Selection, Status, Strategy
from elsinore.matches.engine.neighbours import follows, may_follow
from elsinore.matches.engine.tables import FOREVER as _FOREVER
from elsinore.matches.engine.tables import Graph, Match, Output, Program, Values, Window
from elsinore.matches.engine.trees import add_smaller, clear_path, put_in

FOREVER = cython.declare(cython.longlong, _FOREVER)
LONG = cython.declare(cython.int, 64)  # events from which on trees are faster than comparisons


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def gather(program: Program, values: Values, graph: Graph, window: Window) -> cython.void:
    """Fill the graph's events, and the states of its nodes, for the key of a window.

    There are none if no match can end with a new event.
    """
    graph.event_count = 0
    graph.node_count = 0
    graph.built = -1
    window.first_row = window.keys[window.key].first_row
    window.fresh = 0 if program.is_deferred else window.keys[window.key].new_row
    end_row: cython.longlong = window.keys[window.key].end_row
    if program.suppress >= 0 and program.selection == Selection.ALL:
        while (
            window.fresh < end_row
            and values.integers[TIME, window.fresh] <= window.keys[window.key].quiet
        ):
            window.fresh += 1
    if window.fresh >= end_row:
        return
    has_buckets: cython.bint = program.buckets.shape[0] > 0
    row: cython.longlong
    place: cython.int
    for row in range(window.first_row, end_row):
        if has_buckets:
            graph.event_of[row] = -1
        number: cython.longlong = values.integers[CLASS, row]
        if number < 0 or program.classes[number].states == program.classes[number].states_end:
            continue
        event: cython.int = graph.event_count
        if has_buckets:
            graph.event_of[row] = event
        graph.events[event].row = row
        graph.events[event].time = values.integers[TIME, row]
        graph.events[event].moment = values.integers[MOMENT, row]
        graph.events[event].node = graph.node_count
        for place in range(program.classes[number].states, program.classes[number].states_end):
            graph.nodes[graph.node_count].event = event
            graph.nodes[graph.node_count].state = program.class_states[place]
            graph.nodes[graph.node_count].soonest = 0  # until the graph is built
            graph.node_count += 1
        graph.events[event].node_end = graph.node_count
        graph.event_count += 1
    if graph.event_count > 0 and graph.events[graph.event_count - 1].row < window.fresh:
        graph.event_count = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def build(
    program: Program,
    values: Values,
    match: Match,
    graph: Graph,
    window: Window,
    begin: cython.int,
    last: cython.int,
) -> cython.void:
    """Build the nodes of events `last` back to `begin`: counts, ends and links."""
    state: cython.int
    for state in range(program.states.shape[0]):
        graph.heads[state] = -1
        graph.sums[state] = 0.0
        graph.soonest[state] = graph.event_count
    graph.uses_trees = program.orders.shape[0] > 0 and last - begin >= LONG
    graph.built = last
    joined: cython.int = last  # events after it have been joined
    reach: cython.int = last  # the last event that can be in a window with the event
    link: cython.int = 0
    at: cython.int = last
    node: cython.int
    edge: cython.int
    while at >= begin:
        while graph.events[joined].moment > graph.events[at].moment:
            join(program, values, graph, joined)
            joined -= 1
        while (
            window.within >= 0 and graph.events[reach].time - graph.events[at].time > window.within
        ):
            reach -= 1
        for node in range(graph.events[at].node, graph.events[at].node_end):
            state = graph.nodes[node].state
            graph.nodes[node].link = link
            for edge in range(program.states[state].edges, program.states[state].edges_end):
                graph.links[link] = graph.heads[program.edges[edge].target]
                link += 1
            complete(program, values, match, graph, window, node, reach)
        at -= 1
    if graph.uses_trees:
        for at in range(joined + 1, last + 1):
            for node in range(graph.events[at].node, graph.events[at].node_end):
                clear_path(program, values, graph, node)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def join(program: Program, values: Values, graph: Graph, event: cython.int) -> cython.void:
    """Let the nodes of an event follow those of earlier moments.

    Under ANY only nodes from which a match ends matter; otherwise any node may have to be taken.
    """
    node: cython.int
    for node in range(graph.events[event].node_end - 1, graph.events[event].node - 1, -1):
        state: cython.int = graph.nodes[node].state
        graph.nodes[node].later = graph.heads[state]
        if program.strategy == Strategy.ANY and graph.nodes[node].soonest == graph.event_count:
            continue
        graph.heads[state] = node
        graph.sums[state] += graph.nodes[node].count
        graph.soonest[state] = min(graph.soonest[state], graph.nodes[node].soonest)
        if graph.uses_trees:
            put_in(program, values, graph, node)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def complete(
    program: Program,
    values: Values,
    match: Match,
    graph: Graph,
    window: Window,
    node: cython.int,
    reach: cython.int,
) -> cython.void:
    """Set a node's count and soonest end, from those of the nodes that may follow it.

    These are of events up to `reach`.
    """
    state: cython.int = graph.nodes[node].state
    event: cython.int = graph.nodes[node].event
    graph.nodes[node].count = 0.0
    graph.nodes[node].soonest = graph.event_count
    if program.states[state].ends and graph.events[event].row >= window.fresh:
        graph.nodes[node].count = 1.0
        graph.nodes[node].soonest = event
    until: cython.longlong = FOREVER
    if program.strategy == Strategy.CONTIGUOUS:
        until = graph.events[event].moment + 1
    elif program.strategy != Strategy.ANY and program.is_near:
        until = first_moment(program, values, match, graph, window, node, -1, reach)
    graph.nodes[node].until = until
    edge: cython.int
    for edge in range(program.states[state].edges, program.states[state].edges_end):
        target: cython.int = program.edges[edge].target
        if until == FOREVER and (program.edges[edge].is_plain or program.strategy != Strategy.ANY):
            graph.nodes[node].count += graph.sums[target]
            graph.nodes[node].soonest = min(graph.nodes[node].soonest, graph.soonest[target])
        elif graph.uses_trees and program.edges[edge].order >= 0:
            add_smaller(program, values, graph, node, program.edges[edge].order)
        else:
            add_followers(program, values, match, graph, window, node, edge, until, reach)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def first_moment(
    program: Program,
    values: Values,
    match: Match,
    graph: Graph,
    window: Window,
    node: cython.int,
    step: cython.int,
    last: cython.int,
) -> cython.longlong:
    """Return the first moment at which an event up to `last` may follow a node; -1 if none.

    `step` is the row of the registers of a match that ends with the node; -1: of any match.
    """
    state: cython.int = graph.nodes[node].state
    previous: cython.longlong = graph.events[graph.nodes[node].event].row
    links: cython.int = graph.nodes[node].link - program.states[state].edges
    until: cython.longlong = FOREVER
    edge: cython.int
    for edge in range(program.states[state].edges, program.states[state].edges_end):
        linked: cython.int = graph.links[links + edge]
        reference: cython.longlong = reference_of(program, match, edge, previous, step)
        place: cython.longlong = first_place(program, values, edge, previous, reference, linked)
        while place >= 0:
            event: cython.int = graph.nodes[
                node_at(program, values, graph, edge, place, reference)
            ].event
            row: cython.longlong = graph.events[event].row
            if (
                event > last
                or graph.events[event].moment >= until
                or is_barred(program, values, match, edge, row, previous, window.first_row, step)
            ):
                break
            if follows(program, values, match, edge, row, previous, window.first_row, step):
                until = graph.events[event].moment
                break
            place = next_place(program, values, graph, edge, place, reference)
    return -1 if until == FOREVER else until


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_followers(
    program: Program,
    values: Values,
    match: Match,
    graph: Graph,
    window: Window,
    node: cython.int,
    edge: cython.int,
    until: cython.longlong,
    last: cython.int,
) -> cython.void:
    """Add to a node the counts of the nodes that may follow it by an edge, up to event `last`.

    Under NEXT and CONTIGUOUS only the nodes of the moment `until` follow.
    """
    state: cython.int = graph.nodes[node].state
    previous: cython.longlong = graph.events[graph.nodes[node].event].row
    linked: cython.int = graph.links[graph.nodes[node].link + edge - program.states[state].edges]
    reference: cython.longlong = reference_of(program, match, edge, previous, -1)
    place: cython.longlong = first_place(program, values, edge, previous, reference, linked)
    while place >= 0:
        later: cython.int = node_at(program, values, graph, edge, place, reference)
        event: cython.int = graph.nodes[later].event
        moment: cython.longlong = graph.events[event].moment
        row: cython.longlong = graph.events[event].row
        if (
            event > last
            or moment > until
            or is_barred(program, values, match, edge, row, previous, window.first_row, -1)
        ):
            break
        if (
            (program.strategy == Strategy.ANY or moment == until)
            and graph.nodes[later].count > 0.0
            and may_follow(program, values, match, edge, row, previous, window.first_row)
        ):
            graph.nodes[node].count += graph.nodes[later].count
            soonest: cython.int = graph.nodes[later].soonest
            graph.nodes[node].soonest = min(graph.nodes[node].soonest, soonest)
        place = next_place(program, values, graph, edge, place, reference)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def may_begin(program: Program, graph: Graph, event: cython.int) -> cython.bint:
    """Return whether a match may begin with an event and can be completed."""
    node: cython.int
    for node in range(graph.events[event].node, graph.events[event].node_end):
        first_edge: cython.int = program.states[graph.nodes[node].state].first_edge
        if first_edge >= 0 and graph.nodes[node].soonest < graph.event_count:
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_too_many(
    program: Program, values: Values, match: Match, graph: Graph, window: Window, output: Output
) -> cython.bint:
    """Return whether more matches begin in a window than may be returned.

    Counts are bounds if the graph goes beyond the window: if they are too many, it is built anew up
    to the window's end.
    """
    if program.strategy != Strategy.ANY:
        return False
    if total_count(program, graph, window) <= output.guard:
        return False
    if graph.built != window.last:
        build(program, values, match, graph, window, window.begin, window.last)
        if total_count(program, graph, window) <= output.guard:
            return False
    output.too_many = total_count(program, graph, window)
    output.status = Status.TOO_MANY
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def total_count(program: Program, graph: Graph, window: Window) -> cython.double:
    """Return the number of matches that begin in a window, as the graph counts them."""
    total: cython.double = 0.0
    event: cython.int
    node: cython.int
    for event in range(window.begin, window.begin_end):
        for node in range(graph.events[event].node, graph.events[event].node_end):
            if program.states[graph.nodes[node].state].first_edge >= 0:
                total += graph.nodes[node].count
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def enter(graph: Graph, match: Match, node: cython.int, edge: cython.int) -> cython.void:
    """Make a node the match's last one, entered by an edge."""
    match.frames[match.depth].row = graph.events[graph.nodes[node].event].row
    match.frames[match.depth].node = node
    match.frames[match.depth].edge = edge
    match.is_made = 0
