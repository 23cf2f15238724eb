"""The nodes that may follow a node by an edge, in the order of time.

They are those of the edge's target state, linked from one to the next; or, if the edge has an
equality, those in the bucket of an earlier event's value (`elsinore.matches.engine.buckets`). A
*place* is a node of the former or a place in the sorted rows of the latter; -1 is the end. The
*reference* is the row whose bucket it is; -1: none.
"""

from __future__ import annotations

import cython

from elsinore.matches.engine.codes import MOMENT
from elsinore.matches.engine.neighbours import is_open
from elsinore.matches.engine.tables import Graph, Match, Program, Values
from elsinore.operators.conditions.machine import comparison_holds


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def reference_of(
    program: Program,
    match: Match,
    edge: cython.int,
    previous: cython.longlong,
    before: cython.longlong,
) -> cython.longlong:
    """Return the row whose bucket has all that may follow row `previous` by an edge, or -1.

    `before` is a row of the registers; -1 while the graph is built, and there are none.
    """
    bucket: cython.int = program.edges[edge].bucket
    if bucket < 0:
        return -1
    register: cython.int = program.buckets[bucket].register
    if register < 0:
        return previous
    if before < 0:
        return -1
    return match.held[before, register]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def first_place(
    program: Program,
    values: Values,
    edge: cython.int,
    previous: cython.longlong,
    reference: cython.longlong,
    linked: cython.int,
) -> cython.longlong:
    """Return the first place of an edge's candidates after row `previous`.

    `linked` is the first node of the target state; it is taken if there is no reference.
    """
    if reference < 0:
        return linked
    rows: cython.int = program.buckets[program.edges[edge].bucket].rows
    begin: cython.longlong = values.buckets[rows + 1, reference]
    last: cython.longlong = values.buckets[rows + 2, reference]
    end: cython.longlong = last
    moment: cython.longlong = values.integers[MOMENT, previous]
    while begin < end:
        middle: cython.longlong = (begin + end) // 2
        if values.integers[MOMENT, values.buckets[rows, middle]] <= moment:
            begin = middle + 1
        else:
            end = middle
    return begin if begin < last else -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def node_at(
    program: Program,
    values: Values,
    graph: Graph,
    edge: cython.int,
    place: cython.longlong,
    reference: cython.longlong,
) -> cython.int:
    """Return the node at a place."""
    if reference < 0:
        return cython.cast(cython.int, place)
    rows: cython.int = program.buckets[program.edges[edge].bucket].rows
    event: cython.int = graph.event_of[values.buckets[rows, place]]
    node: cython.int = graph.events[event].node
    while graph.nodes[node].state != program.edges[edge].target:
        node += 1
    return node


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def next_place(
    program: Program,
    values: Values,
    graph: Graph,
    edge: cython.int,
    place: cython.longlong,
    reference: cython.longlong,
) -> cython.longlong:
    """Return the place after one."""
    if reference < 0:
        return graph.nodes[place].later
    rows: cython.int = program.buckets[program.edges[edge].bucket].rows
    return place + 1 if place + 1 < values.buckets[rows + 2, reference] else -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_barred(
    program: Program,
    values: Values,
    match: Match,
    edge: cython.int,
    current: cython.longlong,
    previous: cython.longlong,
    first_row: cython.longlong,
    before: cython.longlong,
) -> cython.bint:
    """Return whether neither row `current` nor any later one may follow `previous` by an edge.

    NOT or a limit of the edge tells. `before` is a row of the registers; -1 while the graph is
    built, and there are none.
    """
    if not is_open(program, values, match, edge, current, previous, first_row):
        return True
    place: cython.int
    for place in range(program.edges[edge].limits, program.edges[edge].limits_end):
        number: cython.int = program.limits[place]
        if before < 0 and program.conditions.conditions[number].register >= 0:
            continue
        if not comparison_holds(
            program.conditions, number, values, current, values, previous, match, before
        ):
            return True
    return False
