"""Counts of nodes ordered by an attribute, for edges whose one condition compares neighbours.

The values of the later event's attribute are numbered so that those that compare as they should
with any value of the earlier event come first (`elsinore.matches.engine.orders`). A tree of sums
(Fenwick 1994), and one of soonest ends, then give the counts of all nodes that may follow an event
in log n steps. For an equality a table of sums suffices.
"""

from __future__ import annotations

import cython

from elsinore.matches.engine.tables import Graph, Program, Values


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_in(program: Program, values: Values, graph: Graph, node: cython.int) -> cython.void:
    """Add a node to the trees of the edges that lead to its state."""
    order: cython.int
    row: cython.longlong = graph.events[graph.nodes[node].event].row
    for order in range(program.orders.shape[0]):
        if program.orders[order].target != graph.nodes[node].state:
            continue
        tree: cython.int = program.orders[order].tree
        place: cython.longlong = values.integers[program.orders[order].place, row]
        if place < 0:
            continue
        place += 1
        while place <= program.orders[order].places:
            graph.tree_counts[tree + place] += graph.nodes[node].count
            soonest: cython.int = graph.nodes[node].soonest
            graph.tree_ends[tree + place] = min(graph.tree_ends[tree + place], soonest)
            if program.orders[order].is_equality:
                break
            place += place & -place


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def clear_path(program: Program, values: Values, graph: Graph, node: cython.int) -> cython.void:
    """Make the trees empty where a node was put in."""
    order: cython.int
    row: cython.longlong = graph.events[graph.nodes[node].event].row
    for order in range(program.orders.shape[0]):
        tree: cython.int = program.orders[order].tree
        place: cython.longlong = values.integers[program.orders[order].place, row]
        if program.orders[order].target != graph.nodes[node].state or place < 0:
            continue
        place += 1
        while place <= program.orders[order].places:
            graph.tree_counts[tree + place] = 0.0
            graph.tree_ends[tree + place] = 2147483647
            if program.orders[order].is_equality:
                break
            place += place & -place


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_smaller(
    program: Program, values: Values, graph: Graph, node: cython.int, order: cython.int
) -> cython.void:
    """Add to a node the counts of all nodes in a tree that may follow it."""
    row: cython.longlong = graph.events[graph.nodes[node].event].row
    tree: cython.int = program.orders[order].tree
    place: cython.longlong = values.integers[program.orders[order].bound, row]
    is_equality: cython.bint = program.orders[order].is_equality
    if is_equality:
        place += 1
    while place > 0:
        graph.nodes[node].count += graph.tree_counts[tree + place]
        soonest: cython.int = graph.tree_ends[tree + place]
        graph.nodes[node].soonest = min(graph.nodes[node].soonest, soonest)
        if is_equality:
            break
        place -= place & -place
