"""The baseline for `SEQ(x, y+, z)` of each key: a loop over columns, compiled by Numba.

For each key and query it stores the numbers of trends that end in an x, a y and a z so far, and for
AVG the sum and number of values of the y events; numbers have no exponents. If events of a key may
be simultaneous, the addends of the latest time are kept separately until a later event.
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
    """Write the cells of key k and query q at the end of window w to totals[w, k, q].

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
    """Do the same for simultaneous events of a key, which do not precede one another."""
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
