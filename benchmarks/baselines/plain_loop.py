"""The baseline for many sums: one running sum for each query, in twenty lines of Numba.

For queries `SEQ(X_i, B+)` with COUNT(*), each with a threshold `b.v < t_i` or none, in tumbling
windows: a B event doubles the number of trends that end in one and adds that of X events before.
Counts of all queries lie side by side, so that the loop over queries is compiled to vector
instructions; where one passes 1e150 it is scaled by 2**-256.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numba import njit
from numpy.typing import NDArray

Doubles = NDArray[np.float64]
Ints = NDArray[np.int64]


def columns(table: pa.Table) -> tuple[Ints, NDArray[np.int32], Doubles]:
    """Return times, kinds (0 for B, 1 + q for X_q) and values of a table."""
    return (
        table.column("time").combine_chunks().cast(pa.int64()).to_numpy(),
        table.column("type").combine_chunks().indices.to_numpy(),
        table.column("v").combine_chunks().to_numpy(),
    )


@njit(nogil=True)
def count_trends(times, kinds, values, cuts, step, logs):
    """Write the binary logarithm of query q's count in window w to logs[w, q].

    kinds: [event] -> 0 for B, 1 + q for X_q. cuts: [query] -> its threshold. step: of the windows.
    """
    queries = len(cuts)
    begun, trends, power = np.zeros(queries), np.zeros(queries), np.zeros(queries)
    window = times[0] // step
    first = window
    for event in range(len(kinds)):
        if times[event] >= (window + 1) * step:
            _close(begun, trends, power, logs[window - first])
            window = times[event] // step
        if kinds[event] > 0:
            query = kinds[event] - 1
            begun[query] += 2.0 ** (-256.0 * power[query])
            continue
        value = values[event]
        passed = False
        for query in range(queries):
            mine = trends[query]
            mine = 2.0 * mine + begun[query] if value < cuts[query] else mine
            trends[query] = mine
            passed |= mine > 1e150
        if passed:
            for query in range(queries):
                if trends[query] > 1e150:
                    trends[query] *= 2.0**-256
                    begun[query] *= 2.0**-256
                    power[query] += 1.0
    _close(begun, trends, power, logs[window - first])


@njit(nogil=True)
def _close(begun, trends, power, logs):
    for query in range(len(begun)):
        logs[query] = np.log2(trends[query]) + 256.0 * power[query]
        begun[query] = trends[query] = power[query] = 0.0


def plain_loop(table: pa.Table, cuts: Sequence[float], step: int) -> Doubles:
    """Return the logarithms of the counts by window and query; `step` in microseconds.

    The table's types are a dictionary: B, X0, X1, ...
    """
    times, kinds, values = columns(table)
    windows = int(times[-1] // step - times[0] // step) + 1
    logs = np.full((windows, len(cuts)), -np.inf)
    count_trends(times, kinds, values, np.array(cuts), step, logs)
    return logs
