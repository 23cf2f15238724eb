# cython: infer_types=True
"""The graph of a key's partial matches, built from its last event backwards.

A node is an event in a state. Its `count` is the number of ways to complete a match after it (the
number of paths of a directed graph without cycles), its `soonest` the event at which the first of
these matches ends. So a search never enters a node from which no match ends in its window.
Conditions that read more than two neighbours are taken as true here (`Program.is_near`): then
counts are bounds, and `soonest` is no later than the true one.

If the one condition of an edge compares neighbours, the values of the later event's attribute are
numbered so that those that compare as they should with any value of the earlier event come first
(`elsinore.matches.engine.lookups`). A tree of sums (Fenwick 1994), and one of soonest ends, then
give the counts of all nodes that may follow an event in log n steps.
"""

from __future__ import annotations

import cython

from elsinore.matches.engine.codes import (
    CLASS,
    GRAPH_CURSOR,
    MOMENT,
    TIME,
    Index,
    Selection,
    Status,
    Strategy,
)
from elsinore.matches.engine.followers import follow, follows, may_follow, next_follower
from elsinore.matches.engine.guards import is_free
from elsinore.matches.engine.tables import FOREVER as _FOREVER
from elsinore.matches.engine.tables import Program, Search

FOREVER = cython.declare(cython.longlong, _FOREVER)
LONG = cython.declare(cython.int, 64)  # events from which on trees are faster than comparisons


@cython.nogil
def gather(program: Program, search: Search) -> cython.void:
    """Fill the graph's events, and the states of its nodes, for a key.

    Without a new event with which a match may end there are none.
    """
    search.event_count = 0
    search.node_count = 0
    search.built = -1
    search.first_row = search.keys[search.key].first_row
    search.fresh = 0 if program.is_deferred else search.keys[search.key].new_row
    end_row: Index = search.keys[search.key].end_row
    if program.suppress >= 0 and program.selection == Selection.ALL:
        while (
            search.fresh < end_row
            and search.values.integers[TIME, search.fresh] <= search.keys[search.key].quiet
        ):
            search.fresh += 1
    if search.fresh >= end_row:
        return
    has_buckets: cython.bint = program.buckets.shape[0] > 0
    for row in range(search.first_row, end_row):
        if has_buckets:
            search.event_of[row] = -1
        number: Index = search.values.integers[CLASS, row]
        if number < 0 or program.classes[number].states == program.classes[number].states_end:
            continue
        event: Index = search.event_count
        if has_buckets:
            search.event_of[row] = event
        search.events[event].row = row
        search.events[event].time = search.values.integers[TIME, row]
        search.events[event].moment = search.values.integers[MOMENT, row]
        search.events[event].node = search.node_count
        for place in range(program.classes[number].states, program.classes[number].states_end):
            search.nodes[search.node_count].event = event
            search.nodes[search.node_count].state = program.class_states[place]
            search.nodes[search.node_count].soonest = 0  # until the graph is built
            search.node_count += 1
        search.events[event].node_end = search.node_count
        search.event_count += 1
    if search.event_count > 0 and search.events[search.event_count - 1].row < search.fresh:
        search.event_count = 0


@cython.nogil
def build(program: Program, search: Search, begin: Index, last: Index) -> cython.void:
    """Build the nodes of events `last` back to `begin`: counts, ends and links."""
    state: Index
    for state in range(program.states.shape[0]):
        search.heads[state] = -1
        search.sums[state] = 0.0
        search.soonest[state] = search.event_count
    search.uses_trees = program.orders.shape[0] > 0 and last - begin >= LONG
    search.built = last
    joined: Index = last  # events after it have been joined
    reach: Index = last  # the last event that can be in a window with the event
    link: Index = 0
    at: Index = last
    while at >= begin:
        while search.events[joined].moment > search.events[at].moment:
            join(program, search, joined)
            joined -= 1
        while (
            search.within >= 0
            and search.events[reach].time - search.events[at].time > search.within
        ):
            reach -= 1
        for node in range(search.events[at].node, search.events[at].node_end):
            state = search.nodes[node].state
            search.nodes[node].link = link
            for edge in range(program.states[state].edges, program.states[state].edges_end):
                search.links[link] = search.heads[program.edges[edge].target]
                link += 1
            complete(program, search, node, reach)
        at -= 1
    if search.uses_trees:
        for at in range(joined + 1, last + 1):
            for node in range(search.events[at].node, search.events[at].node_end):
                clear_path(program, search, node)


@cython.nogil
def join(program: Program, search: Search, event: Index) -> cython.void:
    """Make the nodes of an event followers of those of earlier moments.

    Under ANY only nodes that lead to the end of a match matter; otherwise any node may be the next.
    """
    for node in range(search.events[event].node_end - 1, search.events[event].node - 1, -1):
        state: Index = search.nodes[node].state
        search.nodes[node].later = search.heads[state]
        if program.strategy == Strategy.ANY and search.nodes[node].soonest == search.event_count:
            continue
        search.heads[state] = node
        search.sums[state] += search.nodes[node].count
        search.soonest[state] = min(search.soonest[state], search.nodes[node].soonest)
        if search.uses_trees:
            put_in(program, search, node)


@cython.nogil
def complete(program: Program, search: Search, node: Index, reach: Index) -> cython.void:
    """Set a node's count and soonest end, from those of the nodes that may follow it.

    These are of events up to `reach`.
    """
    state: Index = search.nodes[node].state
    event: Index = search.nodes[node].event
    search.nodes[node].count = 0.0
    search.nodes[node].soonest = search.event_count
    if (
        program.states[state].ends
        and search.events[event].row >= search.fresh
        and (not search.all_rows or ends_freely(program, search, state, event))
    ):
        search.nodes[node].count = 1.0
        search.nodes[node].soonest = event
    until: cython.longlong = FOREVER
    if program.strategy == Strategy.CONTIGUOUS:
        until = search.events[event].moment + 1
    elif program.strategy != Strategy.ANY and program.is_near:
        until = first_moment(program, search, node, -1, reach)
    search.nodes[node].until = until
    for edge in range(program.states[state].edges, program.states[state].edges_end):
        target: Index = program.edges[edge].target
        if until == FOREVER and (program.edges[edge].is_plain or program.strategy != Strategy.ANY):
            search.nodes[node].count += search.sums[target]
            search.nodes[node].soonest = min(search.nodes[node].soonest, search.soonest[target])
        elif search.uses_trees and program.edges[edge].order >= 0:
            add_smaller(program, search, node, program.edges[edge].order)
        else:
            add_followers(program, search, node, edge, until, reach)


@cython.nogil
def ends_freely(program: Program, search: Search, state: Index, event: Index) -> cython.bint:
    """Return whether NOT at the end, looked for up to the end of the key, lets a match end."""
    last: cython.longlong = search.keys[search.key].end_row - 1
    moment: cython.longlong = search.events[event].moment
    return is_free(program, search, program.states[state].guard, moment, last, -1, -1)


@cython.nogil
def first_moment(
    program: Program, search: Search, node: Index, step: Index, last: Index
) -> cython.longlong:
    """Return the first moment at which an event up to `last` may follow a node; -1 if none.

    `step` is the row of the registers of a match that ends with the node; -1: of any match.
    """
    state: Index = search.nodes[node].state
    previous: Index = search.events[search.nodes[node].event].row
    until: cython.longlong = FOREVER
    for edge in range(program.states[state].edges, program.states[state].edges_end):
        follow(program, search, GRAPH_CURSOR, node, edge, step)
        while True:
            later: Index = next_follower(program, search, GRAPH_CURSOR, last, until - 1)
            if later < 0:
                break
            event: Index = search.nodes[later].event
            if follows(program, search, edge, search.events[event].row, previous, step):
                until = search.events[event].moment
                break
    return -1 if until == FOREVER else until


@cython.nogil
def add_followers(
    program: Program, search: Search, node: Index, edge: Index, until: cython.longlong, last: Index
) -> cython.void:
    """Add to a node the counts of the nodes that may follow it by an edge, up to event `last`.

    Under NEXT and CONTIGUOUS only the nodes of the moment `until` follow.
    """
    previous: Index = search.events[search.nodes[node].event].row
    follow(program, search, GRAPH_CURSOR, node, edge, -1)
    while True:
        later: Index = next_follower(program, search, GRAPH_CURSOR, last, until)
        if later < 0:
            break
        event: Index = search.nodes[later].event
        if (
            (program.strategy == Strategy.ANY or search.events[event].moment == until)
            and search.nodes[later].count > 0.0
            and may_follow(program, search, edge, search.events[event].row, previous)
        ):
            search.nodes[node].count += search.nodes[later].count
            soonest: Index = search.nodes[later].soonest
            search.nodes[node].soonest = min(search.nodes[node].soonest, soonest)


@cython.nogil
def may_begin(program: Program, search: Search, event: Index) -> cython.bint:
    """Return whether a match may begin with an event and can be completed."""
    for node in range(search.events[event].node, search.events[event].node_end):
        first_edge: Index = program.states[search.nodes[node].state].first_edge
        if first_edge >= 0 and search.nodes[node].soonest < search.event_count:
            return True
    return False


@cython.nogil
def is_too_many(program: Program, search: Search) -> cython.bint:
    """Return whether more matches begin in a window than may be returned.

    Counts are bounds if the graph goes beyond the window: if they are too many, it is built anew up
    to the window's end.
    """
    if program.strategy != Strategy.ANY:
        return False
    if total_count(program, search) <= search.most:
        return False
    if search.built != search.last:
        build(program, search, search.begin, search.last)
        if total_count(program, search) <= search.most:
            return False
    search.too_many = total_count(program, search)
    search.status = Status.TOO_MANY
    return True


@cython.nogil
def total_count(program: Program, search: Search) -> cython.double:
    """Return the number of matches that begin in a window, as the graph counts them."""
    total: cython.double = 0.0
    for event in range(search.begin, search.begin_end):
        for node in range(search.events[event].node, search.events[event].node_end):
            if program.states[search.nodes[node].state].first_edge >= 0:
                total += search.nodes[node].count
    return total


@cython.nogil
def enter(search: Search, node: Index, edge: Index) -> cython.void:
    """Make a node the match's last one, entered by an edge."""
    search.frames[search.depth].row = search.events[search.nodes[node].event].row
    search.frames[search.depth].node = node
    search.frames[search.depth].edge = edge
    search.is_made = 0


@cython.nogil
def put_in(program: Program, search: Search, node: Index) -> cython.void:
    """Add a node to the trees of the edges that lead to its state."""
    row: Index = search.events[search.nodes[node].event].row
    for order in range(program.orders.shape[0]):
        if program.orders[order].target != search.nodes[node].state:
            continue
        tree: Index = program.orders[order].tree
        place: Index = search.values.integers[program.orders[order].place, row]
        if place < 0:
            continue
        place += 1
        while place <= program.orders[order].places:
            search.tree_counts[tree + place] += search.nodes[node].count
            soonest: Index = search.nodes[node].soonest
            search.tree_ends[tree + place] = min(search.tree_ends[tree + place], soonest)
            place += place & -place


@cython.nogil
def clear_path(program: Program, search: Search, node: Index) -> cython.void:
    """Empty the trees where a node was added."""
    row: Index = search.events[search.nodes[node].event].row
    for order in range(program.orders.shape[0]):
        tree: Index = program.orders[order].tree
        place: Index = search.values.integers[program.orders[order].place, row]
        if program.orders[order].target != search.nodes[node].state or place < 0:
            continue
        place += 1
        while place <= program.orders[order].places:
            search.tree_counts[tree + place] = 0.0
            search.tree_ends[tree + place] = 2147483647
            place += place & -place


@cython.nogil
def add_smaller(program: Program, search: Search, node: Index, order: Index) -> cython.void:
    """Add the counts of all nodes in a tree that may follow a node to its count."""
    row: Index = search.events[search.nodes[node].event].row
    tree: Index = program.orders[order].tree
    place: Index = search.values.integers[program.orders[order].bound, row]
    while place > 0:
        search.nodes[node].count += search.tree_counts[tree + place]
        soonest: Index = search.tree_ends[tree + place]
        search.nodes[node].soonest = min(search.nodes[node].soonest, soonest)
        place -= place & -place
