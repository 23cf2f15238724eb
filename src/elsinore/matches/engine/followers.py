# cython: infer_types=True
"""Which events may follow another one by an edge, in the order of time.

They are the nodes of the edge's target state, linked from one to the next; or, if the edge has an
equality, those in the bucket of an earlier event's value (`elsinore.matches.engine.lookups`). A
*cursor* goes through them. Its *place* is the next node of the former, or the next place in the
sorted rows of the latter; -1 is the end. Its *reference* is the row whose bucket it is; -1: none.
"""

from __future__ import annotations

import cython

from elsinore.matches.engine.codes import MOMENT, Index
from elsinore.matches.engine.guards import first_after, hold, is_free_between, limit_holds
from elsinore.matches.engine.tables import Program, Search


@cython.nogil
def follow(
    program: Program, search: Search, cursor: Index, node: Index, edge: Index, step: Index
) -> cython.void:
    """Set a cursor before the first event that may follow a node by an edge.

    `step` is the row of the registers of the match that ends with the node; -1 while the graph is
    built, and there are none.
    """
    links: Index = search.nodes[node].link - program.states[search.nodes[node].state].edges
    row: Index = search.events[search.nodes[node].event].row
    search.cursors[cursor].row = row
    search.cursors[cursor].edge = edge
    search.cursors[cursor].step = step
    search.cursors[cursor].place = search.links[links + edge]
    search.cursors[cursor].reference = -1
    if program.edges[edge].bucket >= 0:
        find_bucket(program, search, cursor)


@cython.nogil
def find_bucket(program: Program, search: Search, cursor: Index) -> cython.void:
    """Set a cursor to its place in the bucket of its edge, if the reference is known."""
    step: Index = search.cursors[cursor].step
    bucket: Index = program.edges[search.cursors[cursor].edge].bucket
    register: Index = program.buckets[bucket].register
    reference: Index = search.cursors[cursor].row
    if register >= 0:
        reference = search.bound_rows[step, register] if step >= 0 else -1
    if reference < 0:
        return
    rows: Index = program.buckets[bucket].rows
    begin: Index = search.values.buckets[rows + 1, reference]
    end: Index = search.values.buckets[rows + 2, reference]
    moment: cython.longlong = search.values.integers[MOMENT, search.cursors[cursor].row]
    place: Index = first_after(search, rows, begin, end, moment)
    search.cursors[cursor].reference = reference
    search.cursors[cursor].place = place if place < end else -1


@cython.nogil
def next_follower(
    program: Program, search: Search, cursor: Index, last: Index, until: cython.longlong
) -> Index:
    """Return the node at a cursor, and advance the cursor; -1: no other node may follow.

    Nodes are those of events up to `last` and moment `until`, as long as neither NOT nor a limit
    of the edge rules out all later ones.
    """
    place: Index = search.cursors[cursor].place
    if place < 0:
        return -1
    node: Index = cython.cast(cython.int, place)
    edge: Index = search.cursors[cursor].edge
    reference: Index = search.cursors[cursor].reference
    if reference < 0:
        search.cursors[cursor].place = search.nodes[node].later
    else:
        rows: Index = program.buckets[program.edges[edge].bucket].rows
        node = search.events[search.event_of[search.values.buckets[rows, place]]].node
        while search.nodes[node].state != program.edges[edge].target:
            node += 1
        is_last: cython.bint = place + 1 >= search.values.buckets[rows + 2, reference]
        search.cursors[cursor].place = -1 if is_last else place + 1
    event: Index = search.nodes[node].event
    row: Index = search.events[event].row
    previous: Index = search.cursors[cursor].row
    if (
        event > last
        or search.events[event].moment > until
        or is_barred(program, search, edge, row, previous, search.cursors[cursor].step)
    ):
        search.cursors[cursor].place = -1
        return -1
    return node


@cython.nogil
def is_barred(
    program: Program, search: Search, edge: Index, current: Index, previous: Index, before: Index
) -> cython.bint:
    """Return whether neither row `current` nor any later one may follow `previous` by an edge.

    NOT or a limit of the edge decides this. `before` is a row of the registers; -1 while the graph
    is built, and there are none.
    """
    if not is_open(program, search, edge, current, previous):
        return True
    for place in range(program.edges[edge].limits, program.edges[edge].limits_end):
        number: Index = program.limits[place]
        if before < 0 and program.conditions.conditions[number].register >= 0:
            continue
        if not limit_holds(program, search, number, current, previous, before):
            return True
    return False


@cython.nogil
def is_open(
    program: Program, search: Search, edge: Index, current: Index, previous: Index
) -> cython.bint:
    """Return whether NOT lets row `current` follow `previous`; if not, no later row may either.

    NOTs with relations to the match are not checked: they may forbid one row and allow a later one.
    """
    guard: Index = program.edges[edge].guard
    if program.guards[guard].relations < program.guards[guard].relations_end:
        return True
    return is_free_between(program, search, guard, current, previous, -1)


@cython.nogil
def far_hold(
    program: Program, search: Search, edge: Index, current: Index, previous: Index, step: Index
) -> cython.bint:
    """Return whether the conditions of an edge hold that read more than two neighbours."""
    return hold(program, search, program.edges[edge].far, current, previous, step)


@cython.nogil
def may_follow(
    program: Program, search: Search, edge: Index, current: Index, previous: Index
) -> cython.bint:
    """Return whether row `current` may follow `previous` by an edge that NOT leaves open.

    The two events alone decide this, in any match.
    """
    if program.edges[edge].is_plain:
        return True
    unless: Index = program.edges[edge].unless
    if unless >= 0 and is_free_between(program, search, unless, current, previous, -1):
        return False
    return hold(program, search, program.edges[edge].near, current, previous, 0)


@cython.nogil
def follows(
    program: Program, search: Search, edge: Index, current: Index, previous: Index, step: Index
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
    guard: Index = program.edges[edge].guard
    if program.guards[guard].relations == program.guards[guard].relations_end:
        return True
    return is_free_between(program, search, guard, current, previous, step)
