"""Combining chunks of columns, decoding dictionaries, and canonical floats."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.arrow import to_arrow, whole
from elsinore.runtime.ranges import by_ranges


def plain(column: pa.Array) -> pa.Array:
    """Return a column with dictionaries decoded."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def same_floats(column: pa.Array) -> pa.Array:
    """Return a column whose floats are equal where their bits are: one NaN, and no -0.0.

    Floats of 16 bits, which Arrow does not compute with, become ones of 32.

    >>> same_floats(pa.array([-0.0, 1.0])).to_pylist()
    [0.0, 1.0]
    """
    if not pa.types.is_floating(column.type):
        return column
    if column.type == pa.float16():
        column = column.cast(pa.float32())
    number = column.type.to_pandas_dtype()
    column = pc.add(column, to_arrow(np.zeros(1, number))[0])
    strange = pc.is_nan(column)
    if pc.any(strange).as_py():
        column = pc.if_else(strange, to_arrow(np.full(1, np.nan, number))[0], column)
    return column


def with_combined_chunks(table: pa.Table, names: Iterable[str], threads: int) -> pa.Table:
    """Return a table with the chunks of the named columns combined, by several threads.

    Names without a column are ignored. With one thread the table is returned unchanged.

    >>> pieces = pa.table({"n": pa.chunked_array([[1], [2]]), "m": pa.chunked_array([[3], [4]])})
    >>> [column.num_chunks for column in with_combined_chunks(pieces, ["n", "other"], 2).columns]
    [1, 2]
    """
    if threads == 1 or all(column.num_chunks < 2 for column in table.columns):
        return table
    existing = [name for name in dict.fromkeys(names) if name in table.column_names]
    fragmented = [name for name in existing if table.column(name).num_chunks > 1]

    def join(begin: int, end: int) -> list[pa.Array]:
        return [whole(table.column(name)) for name in fragmented[begin:end]]

    combined = by_ranges(join, len(fragmented), threads)
    for name, column in zip(fragmented, itertools.chain.from_iterable(combined), strict=True):
        place = table.column_names.index(name)
        table = table.set_column(place, table.schema.field(name), column)
    return table
