# cython: infer_types=True
"""The sets of rows in collapsed form (SASE++, Section 5.2): which nodes are on a path of a row.

A row begins with one event of a window. A node is on a path if one leads to it from the row's first
node, and one from it to a node where a match may end: it is reached forwards, and it reaches an end
backwards. Conditions that read more than two neighbours are *postponed*: they are checked when
the row is expanded, except those that read the first event alone, which is the same in all matches
of a row.
"""

from __future__ import annotations

from typing import Any

import cython
import numpy as np
from numpy.typing import NDArray

from elsinore.matches.engine.codes import BEGINS, ENDS, MOMENT, WINDOW, Index
from elsinore.matches.engine.followers import far_hold, is_open, may_follow
from elsinore.matches.engine.graph import gather
from elsinore.matches.engine.guards import hold
from elsinore.matches.engine.registers import begin_registers, copy_registers, select
from elsinore.matches.engine.search import is_free_around
from elsinore.matches.engine.tables import Program, Search
from elsinore.matches.engine.windows import first_at

REACHED = cython.declare(cython.uchar, 1)  # marks of nodes
ON_PATH = cython.declare(cython.uchar, 2)
LEAST_ROOM = 1 << 16  # nodes that are listed at a time
FIRST_ONE = cython.declare(cython.int, 1)  # the row of registers with the first event


class Sets:
    """Rows whose sets are listed, and the state of the listing.

    `rows` [row, column] has the columns of `windows.due_windows`. `known` [condition] is 1 for
    those that read the first event alone. `listed` [n] is filled with row, event and state.
    `marks` [node]; `beside` [node] is the next marked node of its state, `first` that of the row;
    its events are `event` to before `stop`.
    """

    def __init__(self, rows: Any, known: Any, nodes: int, room: int) -> None:
        self.rows = rows
        self.known = known
        self.listed = np.zeros((room, 3), np.int64)
        self.marks = np.zeros(nodes, np.uint8)
        self.beside = np.zeros(nodes, np.int32)
        self.next_row = 0
        self.filled = 0
        self.event = 0
        self.stop = 0
        self.first = -1
        self.first_edge = -1


def all_sets(
    program: Program, search: Search, rows: Any, known: Any, state: int
) -> NDArray[np.int64]:
    """Return row, event and state of what is in the sets of `rows` that begin in a state.

    `search` begins with their keys; `rows` are in the order of their first events.
    """
    nodes = len(search.nodes)
    sets = Sets(np.ascontiguousarray(rows), known, nodes, max(nodes, LEAST_ROOM))
    pieces = [np.zeros((0, 3), np.int64)]
    while sets.next_row < len(rows):
        sets.filled = 0
        list_sets(program, search, sets, state)
        pieces.append(np.asarray(sets.listed)[: sets.filled].copy())
    return np.concatenate(pieces)


def list_sets(program: Program, search: Search, sets: Sets, state: Index) -> None:
    """List the sets of the remaining rows that begin in a state, while there is room."""
    with cython.nogil:
        begin_registers(program, search)
        while sets.next_row < sets.rows.shape[0]:
            begin: cython.longlong = sets.rows[sets.next_row, BEGINS]
            while search.keys[search.key].end_row <= begin:
                search.key += 1
                search.event_count = -1
            if search.event_count < 0:
                gather(program, search)
                sets.event = 0
                sets.stop = 0
            find_events(search, sets, begin, sets.rows[sets.next_row, ENDS])
            last: Index = sets.stop - 1
            nodes: Index = search.events[last].node_end - search.events[sets.event].node
            if sets.filled + nodes > sets.listed.shape[0]:
                break
            if find_first(program, search, sets, state) and far_hold(
                program, search, sets.first_edge, begin, -1, 0
            ):
                for register in range(search.bound_rows.shape[1]):
                    search.bound_rows[FIRST_ONE, register] = begin
                set_bounds(search, sets)
                mark_nodes(program, search, sets, 1)
                mark_nodes(program, search, sets, -1)
                if sets.marks[sets.first] == ON_PATH:
                    list_row(search, sets)
            sets.next_row += 1


@cython.nogil
def find_events(
    search: Search, sets: Sets, begin: cython.longlong, end: cython.longlong
) -> cython.void:
    """Set the events of a row: from its first one to the last up to row `end`."""
    while search.events[sets.event].row < begin:
        sets.event += 1
    if sets.stop <= sets.event or search.events[sets.stop - 1].row > end:
        sets.stop = sets.event + 1
    while sets.stop < search.event_count and search.events[sets.stop].row <= end:
        sets.stop += 1


@cython.nogil
def find_first(program: Program, search: Search, sets: Sets, state: Index) -> cython.bint:
    """Set the node and the edge that a row begins with; return whether there is one."""
    for node in range(search.events[sets.event].node, search.events[sets.event].node_end):
        if search.nodes[node].state == state:
            sets.first = node
            sets.first_edge = program.states[state].first_edge
            return sets.first_edge >= 0
    return False


@cython.nogil
def pass_by(search: Search, sets: Sets, event: Index, mark: cython.uchar) -> cython.void:
    """Link the marked nodes of an event with those of earlier visited moments."""
    for node in range(search.events[event].node, search.events[event].node_end):
        if sets.marks[node] == mark:
            sets.beside[node] = search.heads[search.nodes[node].state]
            search.heads[search.nodes[node].state] = node


@cython.nogil
def mark_nodes(program: Program, search: Search, sets: Sets, step: Index) -> cython.void:
    """Mark the nodes that a path leads to (`step` 1), then those it leads from to an end (-1).

    Forwards a path begins with the row's first node; backwards it ends where a match may end.
    """
    mark: cython.uchar = REACHED if step > 0 else ON_PATH
    for state in range(program.states.shape[0]):
        search.heads[state] = -1
    at: Index = sets.event if step > 0 else sets.stop - 1
    passed: Index = at
    while sets.event <= at < sets.stop:
        while search.events[passed].moment != search.events[at].moment:
            pass_by(search, sets, passed, mark)
            passed += step
        for node in range(search.events[at].node, search.events[at].node_end):
            if step > 0:
                sets.marks[node] = 0
                if node == sets.first:
                    sets.marks[node] = REACHED
                    continue
            elif sets.marks[node] != REACHED:
                continue
            elif may_end(program, search, sets, node):
                sets.marks[node] = ON_PATH
                continue
            if has_neighbour(program, search, sets, node, step):
                sets.marks[node] = mark
        at += step


@cython.nogil
def has_neighbour(
    program: Program, search: Search, sets: Sets, node: Index, step: Index
) -> cython.bint:
    """Return whether a node may follow a marked one (`step` 1), or a marked one may follow it."""
    row: Index = search.events[search.nodes[node].event].row
    state: Index = search.nodes[node].state
    begin: Index = program.first_edges if step > 0 else program.states[state].edges
    end: Index = program.edges.shape[0] if step > 0 else program.states[state].edges_end
    for edge in range(begin, end):
        if step > 0 and program.edges[edge].target != state:
            continue
        other: Index = program.edges[edge].source if step > 0 else program.edges[edge].target
        neighbour: Index = search.heads[other]
        while neighbour >= 0:
            beside: Index = search.events[search.nodes[neighbour].event].row
            later: Index = row if step > 0 else beside
            earlier: Index = beside if step > 0 else row
            if not is_open(program, search, edge, later, earlier):
                break
            if leads(program, search, sets, edge, later, earlier):
                return True
            neighbour = sets.beside[neighbour]
    return False


@cython.nogil
def leads(
    program: Program, search: Search, sets: Sets, edge: Index, current: Index, previous: Index
) -> cython.bint:
    """Return whether an event may follow another by an edge in some match of the row."""
    if not may_follow(program, search, edge, current, previous):
        return False
    checks: Index = program.edges[edge].far
    for place in range(program.checks[checks].begin, program.checks[checks].end):
        number: Index = program.conditions.lists[place]
        if sets.known[number] and not hold(program, search, number, current, previous, FIRST_ONE):
            return False
    return True


@cython.nogil
def may_end(program: Program, search: Search, sets: Sets, node: Index) -> cython.bint:
    """Return whether a match of a row may end with a node: NOT at its beginning and at its end."""
    state: Index = search.nodes[node].state
    first: Index = sets.rows[sets.next_row, BEGINS]
    last: Index = search.events[search.nodes[node].event].row
    return program.states[state].ends and is_free_around(
        program, search, sets.first_edge, first, state, last
    )


@cython.nogil
def set_bounds(search: Search, sets: Sets) -> cython.void:
    """Set from which moment to which row NOT is looked for around the matches of a row."""
    end: cython.longlong = sets.rows[sets.next_row, ENDS]
    search.highest = end
    search.lowest = -1 if search.within >= 0 else 0
    if search.slide > 0:
        start: cython.longlong = search.origin + sets.rows[sets.next_row, WINDOW] * search.slide
        search.lowest = search.values.integers[
            MOMENT, first_at(search, search.first_row, end, start)
        ]


@cython.nogil
def list_row(search: Search, sets: Sets) -> cython.void:
    """List the nodes of a row that are on a path."""
    first: Index = search.events[sets.event].node
    for node in range(first, search.events[sets.stop - 1].node_end):
        if sets.marks[node] == ON_PATH:
            sets.listed[sets.filled, 0] = sets.next_row
            sets.listed[sets.filled, 1] = search.events[search.nodes[node].event].row
            sets.listed[sets.filled, 2] = search.nodes[node].state
            sets.filled += 1


def fill_registers(
    program: Program,
    search: Search,
    rows: cython.const_longlong[::1],
    events: cython.const_longlong[::1],
    states: cython.const_longlong[::1],
    events_of: cython.longlong[:, ::1],
    numbers_of: cython.double[:, ::1],
) -> None:
    """Fill the registers of rows from their sets: those of a match that selects all of the events.

    `rows`, `events` and `states` are ordered by row, then by time; `events_of` and `numbers_of` are
    [row, register].
    """
    count: Index = rows.shape[0]
    with cython.nogil:
        begin_registers(program, search)
        for number in range(count):
            row: Index = rows[number]
            if number == 0 or rows[number - 1] != row:
                copy_registers(search, 0, FIRST_ONE)
            state: Index = cython.cast(cython.int, states[number])
            select(program, search, state, events[number], FIRST_ONE + 1)
            if program.failed_row >= 0:
                break
            copy_registers(search, FIRST_ONE + 1, FIRST_ONE)
            if number + 1 == count or rows[number + 1] != row:
                for register in range(search.bound_rows.shape[1]):
                    events_of[row, register] = search.bound_rows[FIRST_ONE, register]
                for register in range(search.numbers.shape[1]):
                    numbers_of[row, register] = search.numbers[FIRST_ONE, register]
