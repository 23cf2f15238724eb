"""Totals put in order of query, group and window without sorting.

A table with an entry for every possible place records which row has that place, and is then read
from start to end. This works where most places have a row and no place has two. Apart from the
values that are taken, only the places of the rows are read, so each thread can do this for some of
the queries, given the rows of all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.arrow import to_arrow, to_numpy, whole
from elsinore.trends.place_table import PlaceRange

PLACE = ("query", "group", "window")  # rows that have the same are added up
FEW_PLACES = 4  # for each row: a table of them takes as much memory as sorting does
ROW_BITS = 32  # of a row's number in it, with its sign
MANY = 2**16  # rows of which sorting takes longer
AT_ONCE = 2**12  # rows of a piece from which on pieces are gone through one by one


def placed(table: pa.Table, first: int, last: int) -> pa.Table | None:
    """Return the rows of queries from the first to the last, in order of their places.

    Return None if two rows have the same place, if there are too many places, or too few rows.
    """
    size = table.num_rows
    if size < MANY or size.bit_length() >= ROW_BITS:
        return None
    pieces = _places_of(table)
    places = PlaceRange(first, last)
    for piece in pieces:
        places.count(*piece)
    rows = int(places.rows)
    if not rows:
        return table.slice(0, 0)
    if places.ascending:
        return table if rows == size else None
    room = places.room()
    if room > FEW_PLACES * rows:
        return None
    taken, begin = np.full(room, -1, dtype=np.int32), 0
    for query, group, window in pieces:
        if not places.enter(query, group, window, taken, begin):
            return None
        begin += len(query)
    order, queries, groups = (np.empty(rows, dtype=np.int32) for _ in range(3))
    windows = np.empty(rows, dtype=np.int64)
    places.put_in_order(taken, order, queries, groups, windows)
    made = dict(zip(PLACE, map(to_arrow, (queries, groups, windows)), strict=True))
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
