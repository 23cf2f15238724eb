"""A row of running sums for each step of each query: the loop that one would write by hand.

The coarse form of COGRA (SIGMOD 2019): an event adds the trends that it continues to those that end
at its step. Nothing is shared, nothing is kept but the sums.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit

from benchmarks.baselines.trends.queries import Events, Tables, Totals, TrendQuery, UnsupportedError


class RunningSums:
    """Running sums of one window. Raises UnsupportedError for comparisons of neighbours."""

    def __init__(self, queries: Sequence[TrendQuery], kinds: Sequence[str], groups: int) -> None:
        if any(query.rising for query in queries):
            raise UnsupportedError("running sums keep no events to compare with")
        self._tables = Tables(queries, kinds)
        shape = groups, len(queries), self._tables.width
        self._counts = np.zeros(shape)
        self._sums = np.zeros(shape)

    def feed(self, events: Events) -> None:
        """Add up the events."""
        of = self._tables
        _feed(
            (events.kinds, events.values, events.groups),
            (of.begins, of.query, of.step, of.repeats, of.adds, of.above),
            self._counts,
            self._sums,
        )

    def totals(self) -> Totals:
        """Return the sums of each query's last step."""
        return self._tables.totals(self._counts, self._sums)


@njit(cache=True)
def _feed(events, tables, counts, sums):
    kinds, values, groups = events
    begins, queries, steps, repeats, adds, above = tables
    for row in range(len(kinds)):
        kind, value, group = kinds[row], values[row], groups[row]
        for place in range(begins[kind], begins[kind + 1]):
            query, step = queries[place], steps[place]
            if repeats[query, step] and not value > above[query]:
                continue
            if step == 0:
                count, total = 1.0, 0.0
            else:
                count, total = counts[group, query, step - 1], sums[group, query, step - 1]
            if repeats[query, step]:
                count += counts[group, query, step]
                total += sums[group, query, step]
            if adds[query, step]:
                total += count * value
            counts[group, query, step] += count
            sums[group, query, step] += total
