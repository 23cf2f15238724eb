"""GRETA (VLDB 2017) as published: a graph for each query, each event scans its predecessors.

HAMLET, section 3.2: a vertex is an event with the number of trends that end with it (Equation 2);
a new event adds up those of all vertices that may precede it. Vertices are kept by query, group and
step, as the paper keeps them by type; nothing is shared by queries.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit

from benchmarks.baselines.trends.queries import Doubles, Events, Ints, Tables, Totals, TrendQuery

FIRST_ROOM = 64  # vertices of a step


class _Graphs:
    """The graphs of all queries for one group: `[query, step, vertex]`."""

    def __init__(self, queries: int, steps: int) -> None:
        shape = queries, steps, FIRST_ROOM
        self.counts: Doubles = np.zeros(shape)
        self.sums: Doubles = np.zeros(shape)
        self.values: Doubles = np.zeros(shape)
        self.vertices: Ints = np.zeros((queries, steps), np.int64)

    def make_room(self, events: int) -> None:
        """Grow so that each step can take so many more vertices."""
        needed = int(self.vertices.max(initial=0)) + events
        room = self.counts.shape[2]
        if needed > room:
            more = max(needed, 2 * room) - room
            grown = [
                np.pad(of, ((0, 0), (0, 0), (0, more)))
                for of in (self.counts, self.sums, self.values)
            ]
            self.counts, self.sums, self.values = grown


class Greta:
    """The graphs of one window."""

    def __init__(self, queries: Sequence[TrendQuery], kinds: Sequence[str], groups: int) -> None:
        self._tables = Tables(queries, kinds)
        self._graphs = [_Graphs(len(queries), self._tables.width) for _ in range(groups)]

    def feed(self, events: Events) -> None:
        """Insert the events into the graphs of their groups."""
        of = self._tables
        tables = (of.begins, of.query, of.step, of.repeats, of.adds, of.above, of.rising)
        for group in np.unique(events.groups).tolist():
            rows = events.groups == group
            graphs = self._graphs[group]
            graphs.make_room(int(rows.sum()))
            _feed(
                (events.kinds[rows], events.values[rows]),
                tables,
                (graphs.counts, graphs.sums, graphs.values, graphs.vertices),
            )

    def totals(self) -> Totals:
        """Return the sums over the vertices of each query's last step (Equation 3)."""
        every = np.arange(len(self._tables.queries))
        last = self._tables.last
        return Totals(
            np.stack([of.counts[every, last].sum(axis=1) for of in self._graphs], axis=1),
            np.stack([of.sums[every, last].sum(axis=1) for of in self._graphs], axis=1),
        )


@njit(cache=True)
def _feed(events, tables, graphs):
    kinds, values = events
    begins, queries, steps, repeats, adds, above, rising = tables
    counts, sums, held, vertices = graphs
    for row in range(len(kinds)):
        kind, value = kinds[row], values[row]
        for place in range(begins[kind], begins[kind + 1]):
            query, step = queries[place], steps[place]
            if repeats[query, step] and not value > above[query]:
                continue
            count, total = (1.0, 0.0) if step == 0 else (0.0, 0.0)
            if step > 0:
                for vertex in range(vertices[query, step - 1]):
                    count += counts[query, step - 1, vertex]
                    total += sums[query, step - 1, vertex]
            if repeats[query, step]:
                for vertex in range(vertices[query, step]):
                    if not rising[query] or held[query, step, vertex] <= value:
                        count += counts[query, step, vertex]
                        total += sums[query, step, vertex]
            if adds[query, step]:
                total += count * value
            vertex = vertices[query, step]
            counts[query, step, vertex] = count
            sums[query, step, vertex] = total
            held[query, step, vertex] = value
            vertices[query, step] = vertex + 1
