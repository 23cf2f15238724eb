"""SHARON (ICDE 2018): Kleene flattened to sequences of fixed lengths, counted online.

HAMLET, section 6.1: "we estimate the length l of the longest match of E+ and specify a set of
fixed-length sequence queries that cover all possible lengths up to l". A sequence query keeps a
count for each of its prefixes. The static plan shares what the sequences made from one query have
in common: SEQ(A, B) is a prefix of SEQ(A, B, B), so l lengths cost l counters and not l * l / 2.
Sharing B, ..., B between queries with different beginnings takes l counters for each event that
may start it, which is more than 50 queries cost alone; the plan leaves it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit

from benchmarks.baselines.trends.queries import Events, Tables, Totals, TrendQuery, UnsupportedError


class Sharon:
    """The counters of one window; `longest`: the estimated length of the longest match of E+."""

    def __init__(
        self, queries: Sequence[TrendQuery], kinds: Sequence[str], groups: int, longest: int
    ) -> None:
        if any(query.rising for query in queries):
            raise UnsupportedError("a count of prefixes keeps no events to compare with")
        if any(sum(step.repeats for step in query.steps) > 1 for query in queries):
            raise UnsupportedError("a second Kleene plus needs a query for each pair of lengths")
        self._tables = Tables(queries, kinds)
        # [group, query, step, length]: the steps before Kleene plus use length 0 alone
        shape = groups, len(queries), self._tables.width, longest + 1
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
        """Return the sums over all lengths."""
        return self._tables.totals(self._counts.sum(axis=3), self._sums.sum(axis=3))


@njit(cache=True)
def _feed(events, tables, counts, sums):
    kinds, values, groups = events
    begins, queries, steps, repeats, adds, above = tables
    lengths = counts.shape[3]
    for row in range(len(kinds)):
        kind, value, group = kinds[row], values[row], groups[row]
        for place in range(begins[kind], begins[kind + 1]):
            query, step = queries[place], steps[place]
            if not repeats[query, step]:
                for length in range(lengths):
                    if step == 0:
                        count, total = (1.0 if length == 0 else 0.0), 0.0
                    else:
                        count = counts[group, query, step - 1, length]
                        total = sums[group, query, step - 1, length]
                    counts[group, query, step, length] += count
                    sums[group, query, step, length] += total
            elif value > above[query]:
                added = value if adds[query, step] else 0.0
                for length in range(lengths - 1, 0, -1):
                    if length > 1:
                        count = counts[group, query, step, length - 1]
                        total = sums[group, query, step, length - 1]
                    elif step == 0:
                        count, total = 1.0, 0.0
                    else:
                        count = counts[group, query, step - 1, 0]
                        total = sums[group, query, step - 1, 0]
                    counts[group, query, step, length] += count
                    sums[group, query, step, length] += total + count * added
