"""A rival by hand for `SEQ(x, y+, z)` of each key: a loop over columns that Numba compiles.

Of each key and query it keeps how many trends end in an x, in a y and in a z so far, and for AVG
the sum and number of what those of y bring; no number has an exponent. Where events of a key may be
of one time, what those of the latest add is kept apart until a later one comes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numba import njit
from numpy.typing import NDArray

Doubles = NDArray[np.float64]
BEGUN, GOING, SUM, NUMBER, ENDED, ENDED_SUM, ENDED_NUMBER, CELLS = range(8)


@njit(nogil=True)
def _count(times, kinds, keys, values, queries, step, average, totals):
    """Put the cells of key k and query q at the end of window w into totals[w, k, q].

    queries: [query, 3] -> the kinds of events that begin its trends, go on and end them.
    """
    first = times[0] // step
    end = (first + 1) * step
    cells = totals[0]
    for event in range(len(times)):
        if times[event] >= end:
            window = times[event] // step
            end = (window + 1) * step
            cells = totals[window - first]
        kind, mine = kinds[event], cells[keys[event]]
        for query in range(len(queries)):
            if kind == queries[query, 2]:
                mine[query, ENDED] += mine[query, GOING]
                if average:
                    mine[query, ENDED_SUM] += mine[query, SUM]
                    mine[query, ENDED_NUMBER] += mine[query, NUMBER]
            if kind == queries[query, 1]:
                trends = mine[query, BEGUN] + mine[query, GOING]
                if average:
                    mine[query, SUM] += mine[query, SUM] + trends * values[event]
                    mine[query, NUMBER] += mine[query, NUMBER] + trends
                mine[query, GOING] += trends
            if kind == queries[query, 0]:
                mine[query, BEGUN] += 1.0


@njit(nogil=True)
def _count_moments(times, kinds, keys, values, queries, step, average, totals):
    """Do the same where events of a key may be simultaneous: these do not see one another."""
    first = times[0] // step
    added = np.zeros(totals.shape[1:])
    latest = np.full(totals.shape[1], times[0])
    cells = totals[0]
    for event in range(len(times)):
        key, kind = keys[event], kinds[event]
        more, since = added[key], latest[key]
        if times[event] != since:
            cells = totals[since // step - first, key]
            for query in range(len(queries)):
                for cell in range(CELLS):
                    cells[query, cell] += more[query, cell]
                    more[query, cell] = 0.0
            latest[key] = times[event]
        mine = totals[times[event] // step - first, key]
        for query in range(len(queries)):
            if kind == queries[query, 2]:
                more[query, ENDED] += mine[query, GOING]
                if average:
                    more[query, ENDED_SUM] += mine[query, SUM]
                    more[query, ENDED_NUMBER] += mine[query, NUMBER]
            if kind == queries[query, 1]:
                trends = mine[query, BEGUN] + mine[query, GOING]
                if average:
                    more[query, SUM] += mine[query, SUM] + trends * values[event]
                    more[query, NUMBER] += mine[query, NUMBER] + trends
                more[query, GOING] += trends
            if kind == queries[query, 0]:
                more[query, BEGUN] += 1.0
    for key in range(len(latest)):
        totals[latest[key] // step - first, key] += added[key]


def keyed_loop(
    table: pa.Table,
    queries: Sequence[Sequence[str]],
    step: int,
    *,
    average: bool,
    ties: bool = False,
) -> Doubles:
    """Return the cells of each window, key (0, 1, ...) and query; `step` in microseconds."""
    times = table.column("time").combine_chunks().cast(pa.int64()).to_numpy()
    types = table.column("type").combine_chunks().dictionary_encode()
    keys = table.column("key").combine_chunks().to_numpy()
    values = table.column("v").combine_chunks().to_numpy()
    places = {name: place for place, name in enumerate(types.dictionary.to_pylist())}
    kinds = types.indices.to_numpy()
    told = np.array([[places[name] for name in query] for query in queries], dtype=np.int32)
    windows = int(times[-1] // step - times[0] // step) + 1
    totals = np.zeros((windows, int(keys.max()) + 1, len(queries), CELLS))
    count = _count_moments if ties else _count
    count(times, kinds, keys, values, told, step, average, totals)
    return totals
