"""Matches of patterns under NOT: the latest moment at which one began that ended by each row."""

from __future__ import annotations

import cython

from elsinore.matches.engine.graph import gather
from elsinore.matches.engine.guards import is_free, last_before
from elsinore.matches.engine.neighbours import is_open, may_follow
from elsinore.matches.engine.tables import Graph, Match, Program, Values, Window


def latest_beginnings(
    program: Program,
    values: Values,
    graph: Graph,
    window: Window,
    match: Match,
    latest: cython.longlong[::1],
) -> None:
    """Fill `latest` [row] with the latest moment at which a match began that ended by the row.

    For patterns whose conditions read no more than two neighbours; -1 if no match ended by then.
    Matches longer than the window's `within` do not count. A NOT at the beginning or the end of the
    pattern is looked for among all rows of the key. A node's `count` is the latest moment at which
    a partial match began that ends with it.
    """
    at: cython.int
    node: cython.int
    row: cython.longlong
    with cython.nogil:
        while window.key < window.keys.shape[0]:
            gather(program, values, graph, window)
            row = window.first_row
            best: cython.longlong = -1
            earliest: cython.int = 0
            for at in range(graph.event_count):
                while row < graph.events[at].row:
                    latest[row] = best
                    row += 1
                while (
                    window.within >= 0
                    and graph.events[at].time - graph.events[earliest].time > window.within
                ):
                    earliest += 1
                for node in range(graph.events[at].node, graph.events[at].node_end):
                    began: cython.longlong = latest_beginning(
                        program, values, graph, window, match, node, earliest
                    )
                    graph.nodes[node].count = cython.cast(cython.double, began)
                    if (
                        began > best
                        and began >= graph.events[earliest].moment
                        and may_end(
                            program,
                            values,
                            graph,
                            match,
                            node,
                            window.keys[window.key].end_row,
                        )
                    ):
                        best = began
            while row < window.keys[window.key].end_row:
                latest[row] = best
                row += 1
            window.key += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def may_end(
    program: Program,
    values: Values,
    graph: Graph,
    match: Match,
    node: cython.int,
    end_row: cython.longlong,
) -> cython.bint:
    """Return whether a match may end with a node, given a NOT at its end up to `end_row`."""
    state: cython.int = graph.nodes[node].state
    guard: cython.int = program.states[state].guard
    moment: cython.longlong = graph.events[graph.nodes[node].event].moment
    return program.states[state].ends and is_free(
        program, values, match, guard, moment, end_row - 1, 0, -1, -1, -1
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def latest_beginning(
    program: Program,
    values: Values,
    graph: Graph,
    window: Window,
    match: Match,
    node: cython.int,
    earliest: cython.int,
) -> cython.longlong:
    """Return the latest moment at which a partial match began that ends with a node; -1: none.

    The event before is `earliest` or later.
    """
    state: cython.int = graph.nodes[node].state
    event: cython.int = graph.nodes[node].event
    row: cython.longlong = graph.events[event].row
    moment: cython.longlong = graph.events[event].moment
    edge: cython.int = program.states[state].first_edge
    if edge >= 0:
        before_row: cython.longlong = last_before(values, row, window.first_row)
        guard: cython.int = program.edges[edge].guard
        if is_free(program, values, match, guard, -1, before_row, 0, -1, -1, -1):
            return moment
    began: cython.longlong = -1
    before: cython.int = event - 1
    earlier: cython.int
    while before >= earliest:
        if graph.events[before].moment < moment:
            if graph.events[before].moment <= began:
                break
            previous: cython.longlong = graph.events[before].row
            for earlier in range(graph.events[before].node, graph.events[before].node_end):
                first: cython.longlong = cython.cast(cython.longlong, graph.nodes[earlier].count)
                if first <= began:
                    continue
                source: cython.int = graph.nodes[earlier].state
                for edge in range(program.states[source].edges, program.states[source].edges_end):
                    if (
                        program.edges[edge].target == state
                        and is_open(program, values, match, edge, row, previous, window.first_row)
                        and may_follow(
                            program, values, match, edge, row, previous, window.first_row
                        )
                    ):
                        began = first
                        break
        before -= 1
    return began
