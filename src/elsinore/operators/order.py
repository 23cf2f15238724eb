"""Sorting rows by their values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.arrow import to_numpy

WHOLE_BITS = 63  # of a number that is not below 0


def in_order(columns: Sequence[pa.Array]) -> bool:
    """Return whether rows are sorted by columns, the first column first; False if unknown.

    The check takes much less time than sorting. It returns False for columns with nulls or NaN.

    >>> in_order([pa.array([1, 1, 2]), pa.array(["a", "b", "a"])])
    True
    """
    if not columns or len(columns[0]) < 2:
        return True
    if any(column.null_count for column in columns):
        return False
    ordered: pa.Array | None = None  # [row] it is not less than the row before
    for column in reversed(columns):
        before, after = column.slice(0, len(column) - 1), column.slice(1)
        try:
            if ordered is None:
                ordered = pc.less_equal(before, after)
            else:
                same = pc.and_(pc.equal(before, after), ordered)
                ordered = pc.or_(pc.less(before, after), same)
        except pa.ArrowNotImplementedError:  # types that Arrow can sort, but not compare
            return False
    return pc.all(ordered).as_py() is True


def ranks(columns: Sequence[pa.Array]) -> tuple[pa.Array, NDArray[np.int32]]:
    """Return rows sorted by columns, nulls last, and the rank of each row in that order.

    >>> rows, places = ranks([pa.array(["b", None, "a"])])
    >>> rows.to_pylist(), places.tolist()
    ([2, 0, 1], [1, 2, 0])
    """
    keys = pa.table({str(place): column for place, column in enumerate(columns)})
    rows = pc.sort_indices(keys, [(name, "ascending") for name in keys.column_names])
    places = np.empty(len(rows), dtype=np.int32)
    places[to_numpy(rows)] = np.arange(len(rows), dtype=np.int32)
    return rows, places


def rows_in_order(
    columns: Sequence[NDArray[Any]],
) -> tuple[NDArray[np.int64] | None, NDArray[np.bool_]]:
    """Return the row numbers sorted by integer columns, and which rows equal the one before.

    None: the rows are sorted already. The sort is stable. If the values of a row and its number fit
    into 63 bits, they are sorted as one integer, which is much faster than sorting by columns.

    >>> order, same = rows_in_order([np.array([7, 5, 7]), np.array([1, 2, 1])])
    >>> order.tolist(), same.tolist()
    ([1, 0, 2], [False, True])
    """
    rows = len(columns[0])
    bits = (rows - 1).bit_length()
    ranges = [(int(column.min()), int(column.max())) for column in columns]
    widths = [(last - first).bit_length() for first, last in ranges]
    order: NDArray[np.int64] | None = None
    if sum(widths) + bits > WHOLE_BITS:
        order = np.lexsort(columns[::-1])
        same = np.ones(rows - 1, dtype=np.bool_)
        for column in columns:
            ordered = column[order]
            same &= ordered[1:] == ordered[:-1]
        return order, same
    packed = np.zeros(rows, dtype=np.int64)
    for column, (first, _), width in zip(columns, ranges, widths, strict=True):
        packed <<= width
        packed |= column.astype(np.int64) - first
    if np.any(packed[1:] < packed[:-1]):
        packed <<= bits
        packed |= np.arange(rows)
        packed.sort()
        order = packed & ((1 << bits) - 1)
        packed >>= bits
    return order, packed[1:] == packed[:-1]
