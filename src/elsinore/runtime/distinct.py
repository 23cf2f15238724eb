"""Distinct rows of tables with columns of any type, including lists and structs."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.arrow import to_arrow, to_numpy, to_scalar, whole

Ints = NDArray[np.int64]


def distinct_rows(table: pa.Table) -> pa.Table:
    """Return a table without rows that equal an earlier row.

    Nulls are equal to one another, and so are NaNs; 0.0 equals -0.0.

    >>> distinct_rows(pa.table({"a": [[1, 2], [1], [1, 2]]})).to_pylist()
    [{'a': [1, 2]}, {'a': [1]}]
    """
    if table.num_rows == 0 or table.num_columns == 0:
        return table
    columns = [codes_of(column) for column in table.columns]
    _, first = np.unique(np.stack(columns, axis=1), axis=0, return_index=True)
    return table.take(to_arrow(np.sort(first)))


def codes_of(column: pa.Array) -> Ints:
    """Return a code for each value: equal codes for equal values; below 0 for null."""
    column = whole(column)
    kind = column.type
    if pa.types.is_struct(kind):
        codes = _of_structs(column)
    elif pa.types.is_map(kind):
        entries = pa.StructArray.from_arrays([column.keys, column.items], ["key", "value"])
        codes = _of_lists(column.offsets, entries, len(column))
    elif pa.types.is_union(kind):
        return _of_unions(column)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        codes = _of_lists(column.offsets, column.values, len(column))
    else:
        return _of_plain(column)
    nulls = to_numpy(column.is_null())
    return np.where(nulls, -1, codes)


def _of_plain(column: pa.Array) -> Ints:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.equal(column, to_scalar(0.0)), to_scalar(0.0, column.type), column)
    return to_numpy(column.dictionary_encode().indices, -1).astype(np.int64)


def _of_structs(column: pa.StructArray) -> Ints:
    parts = [codes_of(part) for part in column.flatten()]
    if not parts:
        return np.zeros(len(column), dtype=np.int64)
    return _row_codes(np.stack(parts, axis=1))


def _of_unions(column: pa.UnionArray) -> Ints:
    """Return codes of union values: equal if both their type and their value within it are."""
    if column.type.mode == "dense":
        places = to_numpy(column.offsets).astype(np.int64)
    else:
        places = np.arange(len(column))
    types = to_numpy(column.type_codes).astype(np.int64)
    codes = np.full(len(column), -1, dtype=np.int64)
    for number, code in enumerate(column.type.type_codes):
        rows = np.flatnonzero(types == code)
        codes[rows] = codes_of(column.field(number))[places[rows]]
    return np.where(codes < 0, -1, _row_codes(np.stack([types, codes], axis=1)))


def _of_lists(offsets: pa.Array, values: pa.Array, count: int) -> Ints:
    bounds = np.asarray(to_numpy(offsets), dtype=np.int64)
    inner = codes_of(values)
    lengths = np.diff(bounds)
    codes = np.zeros(count, dtype=np.int64)
    next_code = 0
    for length in np.unique(lengths):
        rows = np.flatnonzero(lengths == length)
        places = bounds[:-1][rows][:, None] + np.arange(length)
        inner_codes = _row_codes(inner[places]) if length else np.zeros(len(rows), dtype=np.int64)
        codes[rows] = next_code + inner_codes
        next_code += int(inner_codes.max()) + 1
    return codes


def _row_codes(rows: Ints) -> Ints:
    """Return a code for each row of a matrix: equal codes for equal rows."""
    _, numbers = np.unique(rows, axis=0, return_inverse=True)
    return np.asarray(numbers, dtype=np.int64).reshape(len(rows))
