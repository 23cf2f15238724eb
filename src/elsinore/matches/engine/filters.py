"""Early filters: events that no match of a beginning can have (SASE++, Sections 5.1 and 5.2).

The *main run* of a beginning takes every event of its window that fits by type. A condition that is
false against all of these stays false against those of any match, if it is *false-value consistent*
(`elsinore.matches.consistency`): then the main run does not take the event, and the search does not
enter its node. A main run takes as long as there are events in the window, a search as long as
there are partial matches: so it is made if the graph has many more of these than there are events.
"""

from __future__ import annotations

import cython

from elsinore.matches.engine.registers import select
from elsinore.matches.engine.tables import Graph, Match, Program, Values, Window
from elsinore.operators.conditions.machine import value_of

TAKEN = cython.declare(cython.int, 1)  # the row of registers with all events of the main run
WITH_ONE = cython.declare(cython.int, 2)  # and with one more
OPEN = cython.declare(cython.longlong, 2**62)  # the moment of a state that has taken no event


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def filter_early(
    program: Program, values: Values, graph: Graph, window: Window, match: Match
) -> cython.void:
    """Close the nodes that no match which begins with `window.begin` can have, for its search.

    `Graph.closed` of a node is the number of the start for which it is closed.
    """
    if not program.has_filters or match.frames.shape[0] <= WITH_ONE:
        return
    begin: cython.int = window.begin
    paths: cython.double = 0.0
    node: cython.int
    for node in range(graph.events[begin].node, graph.events[begin].node_end):
        paths += graph.nodes[node].count
    if paths <= program.many * (window.last - begin + 1):
        return
    overflown: cython.int = program.conditions.has_overflown
    make_main_run(program, values, graph, window, match)
    close_dead_ends(program, graph, window, match)
    program.conditions.has_overflown = overflown


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def make_main_run(
    program: Program, values: Values, graph: Graph, window: Window, match: Match
) -> cython.void:
    """Take all events that early filters leave, and close the nodes of the others."""
    begin: cython.int = window.begin
    moment: cython.longlong = graph.events[begin].moment
    state: cython.int
    node: cython.int
    event: cython.int
    for state in range(program.states.shape[0]):
        graph.since[state] = OPEN
    copy_registers(match, 0, TAKEN)
    for node in range(graph.events[begin].node, graph.events[begin].node_end):
        graph.since[graph.nodes[node].state] = moment
        take_in(program, values, graph, match, node)
    for event in range(begin + 1, window.last + 1):
        if graph.events[event].moment == moment:
            continue
        for node in range(graph.events[event].node, graph.events[event].node_end):
            if not is_possible(program, values, graph, window, match, node):
                graph.closed[node] = match.start
        for node in range(graph.events[event].node, graph.events[event].node_end):
            if graph.closed[node] != match.start:
                state = graph.nodes[node].state
                graph.since[state] = min(graph.since[state], graph.events[event].moment)
                take_in(program, values, graph, match, node)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def take_in(
    program: Program, values: Values, graph: Graph, match: Match, node: cython.int
) -> cython.void:
    """Take a node's event into the registers of the main run."""
    row: cython.longlong = graph.events[graph.nodes[node].event].row
    select(program, values, match, graph.nodes[node].state, row, WITH_ONE)
    copy_registers(match, WITH_ONE, TAKEN)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def copy_registers(match: Match, source: cython.int, target: cython.int) -> cython.void:
    """Copy a row of the registers."""
    register: cython.Py_ssize_t
    for register in range(match.held.shape[1]):
        match.held[target, register] = match.held[source, register]
    for register in range(match.numbers.shape[1]):
        match.numbers[target, register] = match.numbers[source, register]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_possible(
    program: Program, values: Values, graph: Graph, window: Window, match: Match, node: cython.int
) -> cython.bint:
    """Return whether some edge from a state of the main run leads to a node, and it may end."""
    event: cython.int = graph.nodes[node].event
    row: cython.longlong = graph.events[event].row
    state: cython.int = graph.nodes[node].state
    first_row: cython.longlong = graph.events[window.begin].row
    is_entered: cython.bint = False
    edge: cython.int
    for edge in range(program.first_edges, program.edges.shape[0]):
        if (
            program.edges[edge].target == state
            and graph.since[program.edges[edge].source] < graph.events[event].moment
            and not is_false(
                program,
                values,
                match,
                program.edges[edge].early,
                program.edges[edge].early_end,
                row,
                first_row,
                TAKEN,
            )
        ):
            is_entered = True
            break
    if not is_entered:
        return False
    early: cython.int = program.states[state].early
    early_end: cython.int = program.states[state].early_end
    if early == early_end:
        return True
    select(program, values, match, state, row, WITH_ONE)
    return not is_false(program, values, match, early, early_end, row, first_row, WITH_ONE)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_false(
    program: Program,
    values: Values,
    match: Match,
    early: cython.int,
    early_end: cython.int,
    row: cython.longlong,
    first_row: cython.longlong,
    before: cython.int,
) -> cython.bint:
    """Return whether a condition of a list is false for the events of a row of the registers."""
    place: cython.int
    for place in range(early, early_end):
        program.conditions.has_overflown = 0
        value: cython.double = value_of(
            program.conditions,
            program.conditions.lists[place],
            values,
            row,
            values,
            first_row,
            match,
            before,
            before,
        )
        if value == 0.0 and not program.conditions.has_overflown:
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def close_dead_ends(program: Program, graph: Graph, window: Window, match: Match) -> cython.void:
    """Close the nodes from which no node that is left leads to an end."""
    state: cython.int
    node: cython.int
    edge: cython.int
    begin: cython.int
    at: cython.int
    event: cython.int = window.last
    for state in range(program.states.shape[0]):
        graph.since[state] = 0  # whether a node of a later moment leads to an end
    while event > window.begin:
        begin = event
        while (
            begin - 1 > window.begin
            and graph.events[begin - 1].moment == graph.events[event].moment
        ):
            begin -= 1
        for node in range(graph.events[begin].node, graph.events[event].node_end):
            state = graph.nodes[node].state
            at = graph.nodes[node].event
            leads: cython.bint = program.states[state].ends and graph.events[at].row >= window.fresh
            for edge in range(program.states[state].edges, program.states[state].edges_end):
                if graph.since[program.edges[edge].target]:
                    leads = True
            if not leads:
                graph.closed[node] = match.start
        for node in range(graph.events[begin].node, graph.events[event].node_end):
            if graph.closed[node] != match.start:
                graph.since[graph.nodes[node].state] = 1
        event = begin - 1
