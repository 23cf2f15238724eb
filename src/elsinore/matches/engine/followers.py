"""Which events may follow another one by an edge, in the order of time.

They are the nodes of the edge's target state, linked from one to the next; or, if the edge has an
equality, those in the bucket of an earlier event's value (`elsinore.matches.engine.lookups`). A
*place* is a node of the former or a place in the sorted rows of the latter; -1 is the end. The
*reference* is the row whose bucket it is; -1: none.
"""

from __future__ import annotations

import cython

from elsinore.matches.engine.codes import MOMENT
from elsinore.matches.engine.guards import hold, is_free_between, limit_holds
from elsinore.matches.engine.tables import Program, Search


@cython.nogil
def reference_of(
    program: Program,
    search: Search,
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
    return search.held[before, register]


@cython.nogil
def first_place(
    program: Program,
    search: Search,
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
    begin: cython.longlong = search.values.buckets[rows + 1, reference]
    last: cython.longlong = search.values.buckets[rows + 2, reference]
    end: cython.longlong = last
    moment: cython.longlong = search.values.integers[MOMENT, previous]
    while begin < end:
        middle: cython.longlong = (begin + end) // 2
        if search.values.integers[MOMENT, search.values.buckets[rows, middle]] <= moment:
            begin = middle + 1
        else:
            end = middle
    return begin if begin < last else -1


@cython.nogil
def node_at(
    program: Program,
    search: Search,
    edge: cython.int,
    place: cython.longlong,
    reference: cython.longlong,
) -> cython.int:
    """Return the node at a place."""
    if reference < 0:
        return cython.cast(cython.int, place)
    rows: cython.int = program.buckets[program.edges[edge].bucket].rows
    event: cython.int = search.event_of[search.values.buckets[rows, place]]
    node: cython.int = search.events[event].node
    while search.nodes[node].state != program.edges[edge].target:
        node += 1
    return node


@cython.nogil
def next_place(
    program: Program,
    search: Search,
    edge: cython.int,
    place: cython.longlong,
    reference: cython.longlong,
) -> cython.longlong:
    """Return the place after one."""
    if reference < 0:
        return search.nodes[place].later
    rows: cython.int = program.buckets[program.edges[edge].bucket].rows
    return place + 1 if place + 1 < search.values.buckets[rows + 2, reference] else -1


@cython.nogil
def is_barred(
    program: Program,
    search: Search,
    edge: cython.int,
    current: cython.longlong,
    previous: cython.longlong,
    before: cython.longlong,
) -> cython.bint:
    """Return whether neither row `current` nor any later one may follow `previous` by an edge.

    NOT or a limit of the edge tells. `before` is a row of the registers; -1 while the graph is
    built, and there are none.
    """
    if not is_open(program, search, edge, current, previous):
        return True
    place: cython.int
    for place in range(program.edges[edge].limits, program.edges[edge].limits_end):
        number: cython.int = program.limits[place]
        if before < 0 and program.conditions.conditions[number].register >= 0:
            continue
        if not limit_holds(program, search, number, current, previous, before):
            return True
    return False


@cython.nogil
def is_open(
    program: Program,
    search: Search,
    edge: cython.int,
    current: cython.longlong,
    previous: cython.longlong,
) -> cython.bint:
    """Return whether NOT lets row `current` follow `previous`; if not, no later row may either.

    NOTs that are related to the match are left out: what they forbid for one row they may allow
    for another one.
    """
    guard: cython.int = program.edges[edge].guard
    if program.guards[guard].relations < program.guards[guard].relations_end:
        return True
    return is_free_between(program, search, guard, current, previous, -1, -1)


@cython.nogil
def far_hold(
    program: Program,
    search: Search,
    edge: cython.int,
    current: cython.longlong,
    previous: cython.longlong,
    step: cython.int,
) -> cython.bint:
    """Return whether the conditions of an edge hold that read more than two neighbours."""
    begin: cython.int = program.edges[edge].far
    end: cython.int = program.edges[edge].far_end
    return hold(program, search, begin, end, current, previous, step, step)


@cython.nogil
def may_follow(
    program: Program,
    search: Search,
    edge: cython.int,
    current: cython.longlong,
    previous: cython.longlong,
) -> cython.bint:
    """Return whether row `current` may follow `previous` by an edge that NOT leaves open.

    This is of the two events alone, whatever match they are in.
    """
    if program.edges[edge].is_plain:
        return True
    unless: cython.int = program.edges[edge].unless
    if unless >= 0 and is_free_between(program, search, unless, current, previous, -1, -1):
        return False
    begin: cython.int = program.edges[edge].near
    end: cython.int = program.edges[edge].near_end
    return hold(program, search, begin, end, current, previous, 0, 0)


@cython.nogil
def follows(
    program: Program,
    search: Search,
    edge: cython.int,
    current: cython.longlong,
    previous: cython.longlong,
    step: cython.int,
) -> cython.bint:
    """Return whether a row may follow a match that ends with `previous`, by an open edge.

    `step` is the row of the registers of that match; -1: of any match, as far as the two events
    decide it.
    """
    if not may_follow(program, search, edge, current, previous):
        return False
    if step < 0:
        return True
    if not far_hold(program, search, edge, current, previous, step):
        return False
    guard: cython.int = program.edges[edge].guard
    if program.guards[guard].relations == program.guards[guard].relations_end:
        return True
    return is_free_between(program, search, guard, current, previous, step, -1)
