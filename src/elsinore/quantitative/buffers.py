"""The memory of Arrow's columns as NumPy's arrays, without copies where they lie as NumPy reads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from elsinore.arrow import to_arrow, truths


def is_text(kind: pa.DataType) -> bool:
    """Return whether a column of such a type holds texts, as a dictionary or one by one.

    >>> is_text(pa.dictionary(pa.int8(), pa.string())), is_text(pa.binary())
    (True, False)
    """
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def stored(column: pa.Array) -> Any:
    """Return what a column of numbers or truth values holds, any value in place of a null.

    >>> stored(pa.array([1.5, None, 2.5]))[[0, 2]].tolist()
    [1.5, 2.5]
    """
    values = column.buffers()[1]
    if pa.types.is_boolean(column.type):
        return _bits(values, column, zero=True)
    kind = column.type.to_pandas_dtype()
    if values is None:
        return np.zeros(len(column), kind)
    return np.frombuffer(values, kind)[column.offset : column.offset + len(column)]


def present(column: pa.Array) -> Any:
    """Return, for each value of a column, whether there is one.

    >>> present(pa.array([1, None, 3])[1:]).tolist()
    [False, True]
    """
    return _bits(column.buffers()[0], column, zero=False)


def picked(column: pa.Array, rows: Any) -> pa.Array:
    """Return the values of a column in some rows, ascending ones, each once.

    >>> picked(pa.array([1, None, 3]), np.array([1, 2])).to_pylist()
    [None, 3]
    """
    if len(rows) == len(column):
        return column
    kind = column.type
    plain = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_temporal(kind)
    if not plain or kind.bit_width > 64:
        return column.take(to_arrow(rows))
    width = np.dtype(f"i{kind.bit_width // 8}")
    values = np.frombuffer(column.buffers()[1], width)[column.offset :][rows]
    mask = None
    if column.null_count:
        mask = pa.py_buffer(np.packbits(present(column)[rows], bitorder="little"))
    return pa.Array.from_buffers(kind, len(rows), [mask, pa.py_buffer(values)])


def _bits(buffer: pa.Buffer | None, column: pa.Array, *, zero: bool) -> Any:
    """Return the bits of a column's validity or truth, one a byte; all alike without a buffer."""
    if buffer is None:
        return np.full(len(column), not zero)
    return truths(buffer, column.offset, len(column))
