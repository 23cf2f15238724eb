"""Merging stretches of events, each of one key and in time order, into one order by key."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.numeric.sorting import rows_by_code
from elsinore.runtime.columnar.merge_sort import merge_stretches

Ints = NDArray[np.int64]


def merged_order(ranks: NDArray[np.int32], lengths: Ints, keys: int, times: Ints) -> Ints:
    """Return the rows of stretches key after key, each key's in time order.

    ranks: [stretch] -> place of its key in the required order, below `keys`; lengths: [stretch] ->
    its rows, which follow those of the stretch before; times: [row]. Simultaneous events of a key
    stay in the order of their stretches.

    >>> merged_order(np.array([1, 0, 1], np.int32), np.array([2, 1, 2]), 2,
    ...              np.array([1, 4, 9, 2, 3])).tolist()
    [2, 0, 3, 4, 1]
    """
    starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
    stretches, firsts = rows_by_code(ranks, keys)
    rows = np.empty(len(times), dtype=np.int64)
    most_rows = int(np.bincount(ranks, lengths).max(initial=0))
    most_stretches = int(np.diff(firsts).max(initial=0))
    buffer, bounds = np.empty(most_rows, np.int64), np.empty(most_stretches + 1, np.int64)
    times = np.ascontiguousarray(times)
    merge_stretches(stretches, firsts, starts, times, rows, buffer, bounds)
    return rows


def with_sorted_ties(
    rows: Ints, keys: NDArray[np.int32], times: Ints, orders: Sequence[pa.Array]
) -> Ints:
    """Return `rows` with the events of one key and time in the order of other columns.

    keys, times: of the rows, in the order of `rows`; orders: columns by row, the first decides
    first. Smaller values come first, then NaN, then nulls; the sort is stable.
    """
    same = (keys[1:] == keys[:-1]) & (times[1:] == times[:-1])
    if not orders or not same.any():
        return rows
    tied = np.zeros(len(rows), dtype=np.bool_)
    tied[1:] |= same
    tied[:-1] |= same
    places = np.flatnonzero(tied)
    chosen = pa.array(rows[places])
    moments = np.cumsum(np.concatenate((np.zeros(1, np.int64), ~same)))
    names = ["moment", *(f"order{n}" for n in range(len(orders))), "place"]
    columns = [pa.array(moments[places]), *(column.take(chosen) for column in orders)]
    columns.append(pa.array(np.arange(len(places))))
    table = pa.Table.from_arrays(columns, names=names)
    by = pc.sort_indices(table, sort_keys=[(name, "ascending") for name in names])
    result = rows.copy()
    result[places] = rows[places][by.to_numpy()]
    return result
