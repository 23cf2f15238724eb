"""The sets of rows in collapsed form (SASE++, Section 5.2): which nodes are on a path of a row.

A row begins with one event of a window. A node is on a path if one leads to it from the row's first
node, and one from it to a node where a match may end: it is reached forwards, and it reaches an end
backwards. Conditions that read more than two neighbours are *postponed*: they are left to whoever
expands the row, except those that read the first event alone, which is the same in all matches of
a row.
"""

from __future__ import annotations

from typing import Any

import cython
import numpy as np

from elsinore.matches.engine.tables import FOREVER as _FOREVER
from elsinore.matches.engine.tables import MOMENT as _MOMENT
from elsinore.matches.engine.tables import TIME as _TIME

if cython.compiled:
    from cython.cimports.elsinore.matches.engine.graph import (
        gather,
        is_free,
        is_open,
        last_before,
        may_follow,
    )
    from cython.cimports.elsinore.matches.engine.registers import begin_registers, step_aggregate
    from cython.cimports.elsinore.matches.engine.tables import Graph, Match, Program, Values, Window
    from cython.cimports.elsinore.matches.engine.windows import first_at, first_number
    from cython.cimports.elsinore.operators.conditions.machine import (
        all_hold,
        comparison_holds,
        value_of,
    )
else:
    from elsinore.matches.engine.graph import gather, is_free, is_open, last_before, may_follow
    from elsinore.matches.engine.registers import begin_registers, step_aggregate
    from elsinore.matches.engine.tables import Graph, Match, Program, Values, Window
    from elsinore.matches.engine.windows import first_at, first_number
    from elsinore.operators.conditions.machine import all_hold, comparison_holds, value_of

FOREVER = cython.declare(cython.longlong, _FOREVER)
TIME = cython.declare(cython.int, _TIME)
MOMENT = cython.declare(cython.int, _MOMENT)
BEGINS = cython.declare(cython.int, 0)  # columns of `Sets.rows`
WINDOW = cython.declare(cython.int, 1)
ENDS = cython.declare(cython.int, 2)
KEY_FIRST = cython.declare(cython.int, 3)
REACHED = cython.declare(cython.uchar, 1)  # marks of nodes
ON_PATH = cython.declare(cython.uchar, 2)
USER = cython.declare(cython.int, 7)  # `elsinore.matches.registers.RegisterKind`
FIRST_ONE = cython.declare(cython.int, 1)  # the row of registers with the first event


class Sets:
    """Rows whose sets are listed, and how far this has come.

    `rows` [row, column]: the first event, the window, the last event in it, the first row of the
    key. `known` [condition] is 1 for those that read the first event alone. `listed` [n] is filled
    with row, event and state. `marks` [node]; `beside` [node] is the next marked node of its state,
    `first` that of the row; its events are `event` to before `stop`.
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


def list_sets(
    program: Program,
    values: Values,
    graph: Graph,
    window: Window,
    match: Match,
    sets: Sets,
    state: cython.int,
) -> None:
    """List the sets of the rows that are left and begin in a state, as long as there is room."""
    register: cython.Py_ssize_t
    with cython.nogil:
        begin_registers(program, match)
        while sets.next_row < sets.rows.shape[0]:
            begin: cython.longlong = sets.rows[sets.next_row, BEGINS]
            while window.keys[window.key].end_row <= begin:
                window.key += 1
                graph.event_count = -1
            if graph.event_count < 0:
                gather(program, values, graph, window)
                sets.event = 0
                sets.stop = 0
            find_events(graph, sets, begin, sets.rows[sets.next_row, ENDS])
            last: cython.int = sets.stop - 1
            nodes: cython.int = graph.events[last].node_end - graph.events[sets.event].node
            if sets.filled + nodes > sets.listed.shape[0]:
                break
            if find_first(program, graph, sets, state):
                far: cython.int = program.edges[sets.first_edge].far
                far_end: cython.int = program.edges[sets.first_edge].far_end
                if all_hold(
                    program.conditions, far, far_end, values, begin, values, -1, match, 0, 0
                ):
                    for register in range(match.held.shape[1]):
                        match.held[FIRST_ONE, register] = begin
                    mark_reached(program, values, graph, window, match, sets)
                    mark_paths(program, values, graph, window, match, sets)
                    if sets.marks[sets.first] == ON_PATH:
                        put_down(graph, sets)
            sets.next_row += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_events(
    graph: Graph, sets: Sets, begin: cython.longlong, end: cython.longlong
) -> cython.void:
    """Set the events of a row: from its first one to the last up to row `end`."""
    while graph.events[sets.event].row < begin:
        sets.event += 1
    if sets.stop <= sets.event or graph.events[sets.stop - 1].row > end:
        sets.stop = sets.event + 1
    while sets.stop < graph.event_count and graph.events[sets.stop].row <= end:
        sets.stop += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_first(program: Program, graph: Graph, sets: Sets, state: cython.int) -> cython.bint:
    """Set the node and the edge that a row begins with; return whether there is one."""
    node: cython.int
    edge: cython.int
    for node in range(graph.events[sets.event].node, graph.events[sets.event].node_end):
        if graph.nodes[node].state == state:
            for edge in range(program.first_edges):
                if program.edges[edge].target == state:
                    sets.first = node
                    sets.first_edge = edge
                    return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def forget_heads(program: Program, graph: Graph) -> cython.void:
    """Let no state have a marked node."""
    state: cython.int
    for state in range(program.states.shape[0]):
        graph.heads[state] = -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def pass_by(graph: Graph, sets: Sets, event: cython.int, mark: cython.uchar) -> cython.void:
    """Let the marked nodes of an event be beside those of other moments."""
    node: cython.int
    for node in range(graph.events[event].node, graph.events[event].node_end):
        if sets.marks[node] == mark:
            sets.beside[node] = graph.heads[graph.nodes[node].state]
            graph.heads[graph.nodes[node].state] = node


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def mark_reached(
    program: Program, values: Values, graph: Graph, window: Window, match: Match, sets: Sets
) -> cython.void:
    """Mark the nodes that a path leads to from the row's first node."""
    at: cython.int
    node: cython.int
    forget_heads(program, graph)
    for node in range(graph.events[sets.event].node, graph.events[sets.event].node_end):
        sets.marks[node] = 0
    sets.marks[sets.first] = REACHED
    passed: cython.int = sets.event
    for at in range(sets.event + 1, sets.stop):
        while graph.events[passed].moment < graph.events[at].moment:
            pass_by(graph, sets, passed, REACHED)
            passed += 1
        for node in range(graph.events[at].node, graph.events[at].node_end):
            sets.marks[node] = 0
            if is_reached(program, values, graph, window, match, sets, node):
                sets.marks[node] = REACHED


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_reached(
    program: Program,
    values: Values,
    graph: Graph,
    window: Window,
    match: Match,
    sets: Sets,
    node: cython.int,
) -> cython.bint:
    """Return whether a node may follow a marked node of an earlier moment."""
    row: cython.longlong = graph.events[graph.nodes[node].event].row
    state: cython.int = graph.nodes[node].state
    edge: cython.int
    for edge in range(program.first_edges, program.edges.shape[0]):
        if program.edges[edge].target != state:
            continue
        earlier: cython.int = graph.heads[program.edges[edge].source]
        while earlier >= 0:
            previous: cython.longlong = graph.events[graph.nodes[earlier].event].row
            if not is_open(program, values, edge, row, previous, window.first_row):
                break
            if leads(program, values, window, match, sets, edge, row, previous):
                return True
            earlier = sets.beside[earlier]
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def mark_paths(
    program: Program, values: Values, graph: Graph, window: Window, match: Match, sets: Sets
) -> cython.void:
    """Mark those of the nodes reached from which a path leads to where a match may end."""
    node: cython.int
    forget_heads(program, graph)
    at: cython.int = sets.stop - 1
    passed: cython.int = at
    while at >= sets.event:
        while graph.events[passed].moment > graph.events[at].moment:
            pass_by(graph, sets, passed, ON_PATH)
            passed -= 1
        for node in range(graph.events[at].node, graph.events[at].node_end):
            if sets.marks[node] == REACHED and (
                may_end(program, values, graph, window, sets, node)
                or is_continued(program, values, graph, window, match, sets, node)
            ):
                sets.marks[node] = ON_PATH
        at -= 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_continued(
    program: Program,
    values: Values,
    graph: Graph,
    window: Window,
    match: Match,
    sets: Sets,
    node: cython.int,
) -> cython.bint:
    """Return whether a node of a later moment that is on a path may follow a node."""
    row: cython.longlong = graph.events[graph.nodes[node].event].row
    state: cython.int = graph.nodes[node].state
    edge: cython.int
    for edge in range(program.states[state].edges, program.states[state].edges_end):
        later: cython.int = graph.heads[program.edges[edge].target]
        while later >= 0:
            following: cython.longlong = graph.events[graph.nodes[later].event].row
            if not is_open(program, values, edge, following, row, window.first_row):
                break
            if leads(program, values, window, match, sets, edge, following, row):
                return True
            later = sets.beside[later]
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def leads(
    program: Program,
    values: Values,
    window: Window,
    match: Match,
    sets: Sets,
    edge: cython.int,
    current: cython.longlong,
    previous: cython.longlong,
) -> cython.bint:
    """Return whether an event may follow another by an edge, as far as is known of the row."""
    if not may_follow(program, values, match, edge, current, previous, window.first_row):
        return False
    place: cython.int
    for place in range(program.edges[edge].far, program.edges[edge].far_end):
        number: cython.int = program.conditions.lists[place]
        if not sets.known[number]:
            continue
        if program.conditions.conditions[number].comparison != 0:
            if not comparison_holds(
                program.conditions, number, values, current, values, previous, match, FIRST_ONE
            ):
                return False
        elif (
            value_of(
                program.conditions,
                number,
                values,
                current,
                values,
                previous,
                match,
                FIRST_ONE,
                FIRST_ONE,
            )
            != 1.0
        ):
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def may_end(
    program: Program,
    values: Values,
    graph: Graph,
    window: Window,
    sets: Sets,
    node: cython.int,
) -> cython.bint:
    """Return whether a match of a row may end with a node: NOT at its beginning and at its end."""
    state: cython.int = graph.nodes[node].state
    if not program.states[state].ends:
        return False
    last: cython.longlong = graph.events[graph.nodes[node].event].row
    first_row: cython.longlong = sets.rows[sets.next_row, KEY_FIRST]
    edge: cython.int = sets.first_edge
    if not program.edges[edge].is_free:
        lowest: cython.longlong = 0
        if window.slide > 0 or window.within >= 0:
            start: cython.longlong = values.integers[TIME, last] - window.within
            if window.slide > 0:
                start = window.origin + sets.rows[sets.next_row, WINDOW] * window.slide
            lowest = values.integers[MOMENT, first_at(values, first_row, last, start)]
        before: cython.longlong = last_before(values, sets.rows[sets.next_row, BEGINS], first_row)
        ways: cython.int = program.edges[edge].ways
        ways_end: cython.int = program.edges[edge].ways_end
        if not is_free(program, values, ways, ways_end, lowest - 1, before):
            return False
    if program.states[state].is_free:
        return True
    moment: cython.longlong = values.integers[MOMENT, last]
    ways = program.states[state].ways
    ways_end = program.states[state].ways_end
    return is_free(program, values, ways, ways_end, moment, sets.rows[sets.next_row, ENDS])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_down(graph: Graph, sets: Sets) -> cython.void:
    """List the nodes of a row that are on a path."""
    node: cython.int
    first: cython.int = graph.events[sets.event].node
    for node in range(first, graph.events[sets.stop - 1].node_end):
        if sets.marks[node] == ON_PATH:
            sets.listed[sets.filled, 0] = sets.next_row
            sets.listed[sets.filled, 1] = graph.events[graph.nodes[node].event].row
            sets.listed[sets.filled, 2] = graph.nodes[node].state
            sets.filled += 1


def step_sets(
    program: Program,
    values: Values,
    match: Match,
    state: cython.int,
    place: cython.int,
    rows: cython.const_longlong[::1],
    events: cython.const_longlong[::1],
    found: cython.double[::1],
) -> None:
    """Fill `found` [row] with an aggregate of the user's over the events of each row.

    It is at a place of the registers, and stepped in a state. The events of a row stand together.
    """
    update: cython.int
    number: cython.Py_ssize_t
    register: cython.Py_ssize_t
    before: cython.longlong = -1
    aggregate: cython.int = 0
    with cython.nogil:
        begin_registers(program, match)
        for update in range(program.states[state].updates, program.states[state].updates_end):
            if program.updates[update].kind == USER and program.updates[update].register == place:
                aggregate = program.updates[update].column
        for number in range(rows.shape[0]):
            if rows[number] != before:
                for register in range(match.numbers.shape[1]):
                    match.numbers[FIRST_ONE, register] = match.numbers[0, register]
                before = rows[number]
            step_aggregate(program, values, match, aggregate, place, events[number], FIRST_ONE)
            if program.failed_row >= 0:
                break
            found[before] = match.numbers[FIRST_ONE, place]


def list_windows(
    integers: cython.const_longlong[:, ::1],
    window: Window,
    fits: cython.const_uchar[::1],
    rows: cython.longlong[:, ::1],
) -> int:
    """Fill `rows` with first event, window, last event and first row of the key of the due rows.

    A row begins with each event that `fits`, in each window that has it, has passed by now and had
    not before. Returns how many there are, also if `rows` has no room for them.
    """
    count: cython.Py_ssize_t = 0
    row: cython.longlong
    with cython.nogil:
        while window.key < window.keys.shape[0]:
            end_row: cython.longlong = window.keys[window.key].end_row
            last: cython.longlong = window.keys[window.key].first_row
            for row in range(window.keys[window.key].first_row, end_row):
                if not fits[row]:
                    continue
                if window.slide > 0:
                    count = list_slides(integers, window, row, count, rows)
                    continue
                last = max(last, row)
                if is_due(integers, window, row):
                    while last + 1 < end_row and (
                        window.within < 0
                        or integers[TIME, last + 1] - integers[TIME, row] <= window.within
                    ):
                        last += 1
                    count = put_row(window, row, 0, last, count, rows)
            window.key += 1
    return count


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_due(
    integers: cython.const_longlong[:, ::1], window: Window, row: cython.longlong
) -> cython.bint:
    """Return whether the window that begins with an event has passed by now and had not before."""
    if window.within < 0:
        return window.keys[window.key].reached == FOREVER
    until: cython.longlong = integers[TIME, row] + window.within
    return window.keys[window.key].passed <= until < window.keys[window.key].reached


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def list_slides(
    integers: cython.const_longlong[:, ::1],
    window: Window,
    row: cython.longlong,
    count: cython.Py_ssize_t,
    rows: cython.longlong[:, ::1],
) -> cython.Py_ssize_t:
    """List the due windows that SLIDE lays out and that have an event; return the new count."""
    time: cython.longlong = integers[TIME, row]
    number: cython.longlong = first_number(window, time)
    while window.origin + number * window.slide <= time:
        over: cython.longlong = window.origin + number * window.slide + window.within
        if over > window.keys[window.key].reached:
            break
        if over > window.keys[window.key].passed:
            begin: cython.longlong = row
            end: cython.longlong = window.keys[window.key].end_row
            while begin < end:
                middle: cython.longlong = (begin + end) // 2
                if integers[TIME, middle] < over:
                    begin = middle + 1
                else:
                    end = middle
            count = put_row(window, row, number, begin - 1, count, rows)
        number += 1
    return count


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_row(
    window: Window,
    first: cython.longlong,
    number: cython.longlong,
    last: cython.longlong,
    count: cython.Py_ssize_t,
    rows: cython.longlong[:, ::1],
) -> cython.Py_ssize_t:
    """Put a row down if there is room; return the new count."""
    if count < rows.shape[0]:
        rows[count, BEGINS] = first
        rows[count, WINDOW] = number
        rows[count, ENDS] = last
        rows[count, KEY_FIRST] = window.keys[window.key].first_row
    return count + 1
