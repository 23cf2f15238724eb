"""Ordering events that come as stretches of one key each, every stretch in time order."""

# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.kernels import kernel
from elsinore.kernels.sorting import rows_by_type

Ints = NDArray[np.int64]


def merged_order(ranks: NDArray[np.int32], lengths: Ints, keys: int, times: Ints) -> Ints:
    """Return the rows of stretches key after key, each key's in time order.

    ranks: [stretch] -> place of its key in the order wanted, below `keys`; lengths: [stretch] ->
    its rows, which follow those of the stretch before; times: [row]. Simultaneous events of a key
    stay in the order of their stretches.

    >>> merged_order(np.array([1, 0, 1], np.int32), np.array([2, 1, 2]), 2,
    ...              np.array([1, 4, 9, 2, 3])).tolist()
    [2, 0, 3, 4, 1]
    """
    starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
    stretches, firsts = rows_by_type(ranks, keys)
    rows = np.empty(len(times), dtype=np.int64)
    _merge(stretches, firsts, starts, np.ascontiguousarray(times), rows)
    return rows


@kernel
def _merge(stretches: Ints, firsts: Ints, starts: Ints, times: Ints, rows: Ints) -> None:
    """Fill `rows`; stretches: key after key, `firsts[key]` its first; starts: [stretch] -> row.

    A merge sort of the runs that are there: stretches that follow one another in time are one run,
    and where all do, nothing is compared but their ends.
    """
    spare = np.empty(0, dtype=np.int64)
    bounds = np.empty(16, dtype=np.int64)
    begin = 0
    for key in range(len(firsts) - 1):
        count = firsts[key + 1] - firsts[key]
        if len(bounds) < count + 2:
            bounds = np.empty(2 * count + 2, dtype=np.int64)
        runs = 0
        place = begin
        for number in range(firsts[key], firsts[key + 1]):
            first, last = starts[stretches[number]], starts[stretches[number] + 1]
            if last == first:
                continue
            if place == begin or times[rows[place - 1]] > times[first]:
                bounds[runs] = place
                runs += 1
            for row in range(first, last):
                rows[place] = row
                place += 1
        bounds[runs] = place
        if runs > 1 and len(spare) < place - begin:
            spare = np.empty(2 * (place - begin), dtype=np.int64)
        while runs > 1:
            kept = 0
            for run in range(0, runs - 1, 2):
                _merge_two(rows, bounds[run], bounds[run + 1], bounds[run + 2], times, spare)
                bounds[kept] = bounds[run]
                kept += 1
            if runs % 2:
                bounds[kept] = bounds[runs - 1]
                kept += 1
            bounds[kept] = place
            runs = kept
        begin = place


@kernel(linked=True)
def _merge_two(rows: Ints, first: int, middle: int, last: int, times: Ints, spare: Ints) -> None:
    """Merge rows[first:middle] and rows[middle:last], each in time order; the first before ties."""
    for place in range(first, middle):
        spare[place - first] = rows[place]
    left, lefts, right, place = 0, middle - first, middle, first
    while left < lefts and right < last:
        if times[rows[right]] < times[spare[left]]:
            rows[place] = rows[right]
            right += 1
        else:
            rows[place] = spare[left]
            left += 1
        place += 1
    while left < lefts:
        rows[place] = spare[left]
        left += 1
        place += 1


def with_ties_ordered(
    rows: Ints, keys: NDArray[np.int32], times: Ints, orders: Sequence[pa.Array]
) -> Ints:
    """Return `rows` with the events of one key and time in the order of other columns.

    keys, times: of the rows, in the order of `rows`; orders: columns by row, the first decides
    first. Smaller values come first, then NaN, then nulls; what is equal in all stays as it is.
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
