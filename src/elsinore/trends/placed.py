# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Totals put in order of query, group and window without sorting.

A table with an entry for every possible place records which row has that place, and is then read
from start to end. This works where most places have a row and no place has two. Apart from the
values that are taken, only the places of the rows are read, so each thread can do this for some of
the queries, given the rows of all.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.arrow import to_arrow, to_numpy, whole
from elsinore.kernels import enter, is_compiling, kernel
from elsinore.trends.core.arrays import FOREVER, Codes, Ints

PLACE = ("query", "group", "window")  # rows that have the same are added up
FEW_PLACES = 4  # for each row: a table of them takes as much memory as sorting does
ROW_BITS = 32  # of a row's number in it, with its sign
MANY = 2**16  # rows that are worth a kernel
AT_ONCE = 2**12  # rows of a piece from which on pieces are gone through one by one

ROWS, ASCENDING, LOWS, HIGHS, BEFORE = 0, 1, 2, 5, 8  # what `_look_at` finds out


def placed(table: pa.Table, first: int, last: int) -> pa.Table | None:
    """Return the rows of queries from the first to the last, in order of their places.

    Return None if two rows have the same place, if there are too many places, or too few rows.
    """
    size, compiling = table.num_rows, is_compiling()
    if size < (1 if compiling else MANY) or size.bit_length() >= ROW_BITS:
        return None
    pieces = _places_of(table)
    range_of = np.array([0, 1, *[FOREVER] * 3, *[-FOREVER] * 3, 0, 0, 0])
    for piece in pieces:
        enter(_look_at, 5e-6 * len(piece[0]), *(*piece, first, last, range_of))
    rows = int(range_of[ROWS])
    if not rows:
        return table.slice(0, 0)
    if range_of[ASCENDING] and not compiling:
        return table if rows == size else None
    room = math.prod(
        int(range_of[HIGHS + n]) - int(range_of[LOWS + n]) + 1 for n in range(len(PLACE))
    )
    if room > FEW_PLACES * (max(rows, AT_ONCE) if compiling else rows):
        return None
    taken, begin = np.full(room, -1, dtype=np.int32), 0
    for piece in pieces:
        if not enter(_take_places, 5e-6 * len(piece[0]), *(*piece, range_of, taken, begin)):
            return None
        begin += len(piece[0])
    order, *places = enter(_rows_by_place, 5e-6 * room, range_of, taken)
    made = dict(zip(PLACE, map(to_arrow, places), strict=True))
    taking = to_arrow(order)
    columns = [
        made[name] if name in made else pc.take(whole(column), taking, boundscheck=False)
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    return pa.table(columns, schema=table.schema)


def _places_of(table: pa.Table) -> list[tuple[Any, ...]]:
    """Return the queries, groups and windows of rows, in pieces; large pieces are not copied."""
    places = table.select(PLACE)
    batches = places.to_batches()
    if len(batches) * AT_ONCE > table.num_rows:
        batches = places.combine_chunks().to_batches()
    return [tuple(to_numpy(column) for column in batch.columns) for batch in batches]


@kernel
def _look_at(
    queries: Codes, groups: Codes, windows: Ints, first: int, last: int, found: Ints
) -> None:
    """Count the rows of queries from the first to the last, and find the range of their places.

    found, from piece to piece: the number of rows so far, whether their places ascend, the least
    and the greatest query, group and window, and those of the last row.
    """
    rows, ascending = found[ROWS], found[ASCENDING] != 0
    low_query, low_group, low_window = found[LOWS], found[LOWS + 1], found[LOWS + 2]
    high_query, high_group, high_window = found[HIGHS], found[HIGHS + 1], found[HIGHS + 2]
    query, group, window = found[BEFORE], found[BEFORE + 1], found[BEFORE + 2]
    for row in range(len(queries)):
        if first <= queries[row] <= last:
            q, g, w = np.int64(queries[row]), np.int64(groups[row]), np.int64(windows[row])
            if ascending and rows > 0:
                same = q == query
                ascending = q > query or (same and (g > group or (g == group and w > window)))
            low_query, high_query = min(low_query, q), max(high_query, q)
            low_group, high_group = min(low_group, g), max(high_group, g)
            low_window, high_window = min(low_window, w), max(high_window, w)
            query, group, window = q, g, w
            rows += 1
    found[ROWS], found[ASCENDING] = rows, ascending
    found[LOWS], found[LOWS + 1], found[LOWS + 2] = low_query, low_group, low_window
    found[HIGHS], found[HIGHS + 1], found[HIGHS + 2] = high_query, high_group, high_window
    found[BEFORE], found[BEFORE + 1], found[BEFORE + 2] = query, group, window


@kernel
def _take_places(
    queries: Codes, groups: Codes, windows: Ints, found: Ints, taken: Codes, begin: int
) -> bool:
    """Enter rows, numbered from `begin`, at their places; return whether all places were free.

    found: see `_look_at`. taken: [place], the number of the row that has it, or -1.
    """
    low_query, low_group, low_window = found[LOWS], found[LOWS + 1], found[LOWS + 2]
    high_query = found[HIGHS]
    across, along = found[HIGHS + 1] - low_group + 1, found[HIGHS + 2] - low_window + 1
    for row in range(len(queries)):
        query = np.int64(queries[row])
        if low_query <= query <= high_query:
            line = (query - low_query) * across + (np.int64(groups[row]) - low_group)
            place = np.uint64(line * along + (windows[row] - low_window))
            if taken[place] >= 0:
                return False
            taken[place] = begin + row
    return True


@kernel
def _rows_by_place(found: Ints, taken: Codes) -> tuple[Codes, Codes, Codes, Ints]:
    """Return the numbers of rows in order of their places, with queries, groups and windows."""
    rows = found[ROWS]
    order, queries = np.empty(rows, dtype=np.int32), np.empty(rows, dtype=np.int32)
    groups, windows = np.empty(rows, dtype=np.int32), np.empty(rows, dtype=np.int64)
    place, count = 0, 0
    for query in range(found[LOWS], found[HIGHS] + 1):
        for group in range(found[LOWS + 1], found[HIGHS + 1] + 1):
            for window in range(found[LOWS + 2], found[HIGHS + 2] + 1):
                row = taken[np.uint64(place)]
                if row >= 0:
                    order[np.uint64(count)] = row
                    queries[np.uint64(count)], groups[np.uint64(count)] = query, group
                    windows[np.uint64(count)] = window
                    count += 1
                place += 1
    return order, queries, groups, windows
