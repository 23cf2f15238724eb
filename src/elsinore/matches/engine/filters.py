# cython: infer_types=True
"""Early filters: events that no match of a beginning can have (SASE++, Sections 5.1 and 5.2).

The *main run* of a beginning takes every event of its window that fits by type. A condition that is
false against all of these stays false against those of any match, if it is *false-value consistent*
(`elsinore.matches.consistency`): then the main run does not take the event, and the search does not
enter its node. A main run takes as long as there are events in the window, a search as long as
there are partial matches: so it is made if the graph has many more of these than there are events.
"""

from __future__ import annotations

import cython

from elsinore.matches.engine.codes import Index
from elsinore.matches.engine.registers import copy_registers, select
from elsinore.matches.engine.tables import Program, Search
from elsinore.operators.conditions.machine import value_of

TAKEN = cython.declare(cython.int, 1)  # the row of registers with all events of the main run
WITH_ONE = cython.declare(cython.int, 2)  # and with one more
OPEN = cython.declare(cython.longlong, 2**62)  # the moment of a state that has taken no event


@cython.nogil
def filter_early(program: Program, search: Search) -> cython.void:
    """Close the nodes that no match that begins with `search.begin` can have, for its search.

    `closed` [node] is the number of the start for which it is closed.
    """
    if not program.has_filters or search.frames.shape[0] <= WITH_ONE:
        return
    begin: Index = search.begin
    paths: cython.double = 0.0
    for node in range(search.events[begin].node, search.events[begin].node_end):
        paths += search.nodes[node].count
    if paths <= program.many * (search.last - begin + 1):
        return
    overflown: Index = program.conditions.has_overflown
    make_main_run(program, search)
    close_dead_ends(program, search)
    program.conditions.has_overflown = overflown


@cython.nogil
def make_main_run(program: Program, search: Search) -> cython.void:
    """Take all events that early filters do not exclude, and close the nodes of the others."""
    begin: Index = search.begin
    moment: cython.longlong = search.events[begin].moment
    state: Index
    for state in range(program.states.shape[0]):
        search.since[state] = OPEN
    copy_registers(search, 0, TAKEN)
    for node in range(search.events[begin].node, search.events[begin].node_end):
        search.since[search.nodes[node].state] = moment
        take_in(program, search, node)
    for event in range(begin + 1, search.last + 1):
        if search.events[event].moment == moment:
            continue
        for node in range(search.events[event].node, search.events[event].node_end):
            if not is_possible(program, search, node):
                search.closed[node] = search.start
        for node in range(search.events[event].node, search.events[event].node_end):
            if search.closed[node] != search.start:
                state = search.nodes[node].state
                search.since[state] = min(search.since[state], search.events[event].moment)
                take_in(program, search, node)


@cython.nogil
def take_in(program: Program, search: Search, node: Index) -> cython.void:
    """Add a node's event to the registers of the main run."""
    row: Index = search.events[search.nodes[node].event].row
    select(program, search, search.nodes[node].state, row, WITH_ONE)
    copy_registers(search, WITH_ONE, TAKEN)


@cython.nogil
def is_possible(program: Program, search: Search, node: Index) -> cython.bint:
    """Return whether some edge from a state of the main run leads to a node, and it may end."""
    event: Index = search.nodes[node].event
    row: Index = search.events[event].row
    state: Index = search.nodes[node].state
    first_row: Index = search.events[search.begin].row
    is_entered: cython.bint = False
    for edge in range(program.first_edges, program.edges.shape[0]):
        if (
            program.edges[edge].target == state
            and search.since[program.edges[edge].source] < search.events[event].moment
            and not is_false(program, search, program.edges[edge].early, row, first_row, TAKEN)
        ):
            is_entered = True
            break
    if not is_entered:
        return False
    early: Index = program.states[state].early
    if program.checks[early].begin == program.checks[early].end:
        return True
    select(program, search, state, row, WITH_ONE)
    return not is_false(program, search, early, row, first_row, WITH_ONE)


@cython.nogil
def is_false(
    program: Program, search: Search, checks: Index, row: Index, first_row: Index, before: Index
) -> cython.bint:
    """Return whether a condition of a list is false for the events of a row of the registers."""
    for place in range(program.checks[checks].begin, program.checks[checks].end):
        program.conditions.has_overflown = 0
        value: cython.double = value_of(
            program.conditions,
            program.conditions.lists[place],
            search.values,
            row,
            search.values,
            first_row,
            search,
            before,
            before,
        )
        if value == 0.0 and not program.conditions.has_overflown:
            return True
    return False


@cython.nogil
def close_dead_ends(program: Program, search: Search) -> cython.void:
    """Close the nodes from which no open node leads to an end."""
    state: Index
    begin: Index
    at: Index
    event: Index = search.last
    for state in range(program.states.shape[0]):
        search.since[state] = 0  # whether a node of a later moment leads to an end
    while event > search.begin:
        begin = event
        while (
            begin - 1 > search.begin
            and search.events[begin - 1].moment == search.events[event].moment
        ):
            begin -= 1
        for node in range(search.events[begin].node, search.events[event].node_end):
            state = search.nodes[node].state
            at = search.nodes[node].event
            leads: cython.bint = (
                program.states[state].ends and search.events[at].row >= search.fresh
            )
            for edge in range(program.states[state].edges, program.states[state].edges_end):
                if search.since[program.edges[edge].target]:
                    leads = True
            if not leads:
                search.closed[node] = search.start
        for node in range(search.events[begin].node, search.events[event].node_end):
            if search.closed[node] != search.start:
                search.since[search.nodes[node].state] = 1
        event = begin - 1
