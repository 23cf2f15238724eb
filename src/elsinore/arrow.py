"""Arrow arrays of NumPy's and Python's values, and back, for processes that start at once.

Arrow's own conversions ask whether they are given something of pandas, and for that import pandas
wherever it is installed: 0.4 s, more than all else that a handful of events takes. These return
what Arrow's return, over the same memory, and leave to it what is rare.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Number = TypeVar("Number", np.int32, np.int64)
_BOOL = pa.bool_()
_DTYPES = frozenset(
    map(np.dtype, ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"))
)
# Arrow's kinds of numbers, which it lays out as NumPy does; truths, of which it keeps bits
_NUMBERS = frozenset(pa.from_numpy_dtype(dtype).id for dtype in _DTYPES)
_ZEROS: dict[type, Any] = {int: 0, float: 0.0, bool: False, str: ""}  # values under a null
_TIMES: tuple[set[type], ...] = ({dt.datetime}, {dt.date})
_ZONES = (None, dt.UTC)  # of times; Arrow knows how it calls others
_SMALL = 2**12  # rows of a batch that several are slices of
_MOST_BYTES = 2**31 - 1  # of all texts of a column


def to_arrow(
    values: Any,
    kind: pa.DataType | None = None,
    *,
    mask: NDArray[np.bool_] | None = None,
) -> Any:
    """Return the result of `pa.array`; `mask` marks nulls in an array of NumPy.

    Numbers of NumPy's are not copied: whoever writes to them writes to the array.

    >>> to_arrow(np.array([1.5, 2.0]), mask=np.array([False, True])).to_pylist()
    [1.5, None]
    >>> to_arrow(["a", None]).type, to_arrow((1, 2)).type, to_arrow([], pa.int8()).type
    (DataType(string), DataType(int64), DataType(int8))
    """
    array = None
    if type(values) is np.ndarray:  # one with a mask of its own is Arrow's to read
        array = _of_numbers(values, mask)
    elif mask is None and isinstance(values, list | tuple):
        array = _of_values(values, kind)
    if array is None or not (kind is None or array.type == kind or _casts(array.type, kind)):
        return pa.array(values, kind, mask=mask)
    return array if kind is None or array.type == kind else array.cast(kind)


def to_scalar(value: object, kind: pa.DataType | None = None) -> pa.Scalar:
    """Return the result of `pa.scalar`.

    >>> to_scalar(1.5), to_scalar(None, pa.int64())
    (<pyarrow.DoubleScalar: 1.5>, <pyarrow.Int64Scalar: None>)
    """
    return to_arrow([value], kind)[0]


def to_numpy(column: pa.Array | pa.ChunkedArray, null: Any = None) -> NDArray[Any]:
    """Return a column as an array, `null` in the place of nulls.

    Without one, nulls are NaN. What Arrow would lend is lent, not to be written to.

    >>> to_numpy(pa.array([1, None, 3])), to_numpy(pa.array([1, None, 3]), 0)
    (array([ 1., nan,  3.]), array([1, 0, 3]))
    """
    if isinstance(column, pa.ChunkedArray):
        column = whole(column)
    kind, nulls = column.type, column.null_count
    if kind.id not in _NUMBERS or (nulls and null is None and not pa.types.is_floating(kind)):
        column = column if null is None else column.fill_null(null)
        return np.asarray(column.to_numpy(zero_copy_only=False))
    rows, first = len(column), column.offset
    validity, data = column.buffers()
    numbers: NDArray[Any]
    if kind == _BOOL:
        numbers = truths(data, first, rows)
    else:
        lent = pa.Array.from_buffers(kind, rows, [None, data], 0, first) if nulls else column
        numbers = np.from_dlpack(lent)
        numbers.flags.writeable = False
    if not nulls:
        return numbers
    hole = np.array(np.nan if null is None else null, numbers.dtype)
    filled = np.where(truths(validity, first, rows), numbers, hole)
    filled.flags.writeable = null is None or kind == _BOOL
    return filled


def truths(bits: pa.Buffer, first: int, rows: int) -> NDArray[np.bool_]:
    """Return `rows` of Arrow's bits from the `first` on, a byte each."""
    if not rows:
        return np.empty(0, np.bool_)
    octets = np.frombuffer(bits, np.uint8)[first // 8 : (first + rows + 7) // 8]
    flags = np.unpackbits(octets, count=first % 8 + rows, bitorder="little")
    return flags[first % 8 :].view(np.bool_)


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
        return _bits_of(values, column, zero=True)
    kind = column.type.to_pandas_dtype()
    if values is None:
        return np.zeros(len(column), kind)
    return np.frombuffer(values, kind)[column.offset : column.offset + len(column)]


def present(column: pa.Array) -> Any:
    """Return, for each value of a column, whether there is one.

    >>> present(pa.array([1, None, 3])[1:]).tolist()
    [False, True]
    """
    return _bits_of(column.buffers()[0], column, zero=False)


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


def no_rows(schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch without rows."""
    nothing = [pa.nulls(0, field.type) for field in schema]
    return pa.RecordBatch.from_arrays(nothing, schema=schema)


def no_table(schema: pa.Schema) -> pa.Table:
    """Return a table without rows."""
    return pa.Table.from_batches([no_rows(schema)])


def whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a column as one array, copied only if it has several chunks."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    return column.combine_chunks() if column.num_chunks else pa.nulls(0, column.type)


def _of_values(values: Sequence[Any], kind: pa.DataType | None) -> pa.Array | None:
    """Return an array of numbers, truths, texts, times or dates; None for other values."""
    kinds = set(map(type, values))
    holes = type(None) in kinds
    kinds.discard(type(None))
    if not kinds:
        return pa.nulls(len(values), kind)
    if kinds in _TIMES:
        return _of_times(values)
    if len(kinds) > 1 or not kinds <= _ZEROS.keys():
        return None
    zero, mask = _ZEROS[kinds.pop()], None
    if holes:
        mask = np.array([value is None for value in values])
        values = [zero if value is None else value for value in values]
    try:
        if zero != "":
            return _of_numbers(np.array(values, np.dtype(type(zero))), mask)
        letters = [text.encode() for text in values]
    except (OverflowError, UnicodeEncodeError):
        return None
    ends = np.cumsum([0, *map(len, letters)])
    if ends[-1] > _MOST_BYTES:
        return None
    offsets, data = pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(bytearray().join(letters))
    return pa.StringArray.from_buffers(len(letters), offsets, data, _valid(mask))


def _of_times(values: Sequence[Any]) -> pa.Array | None:
    """Return an array of dates, or of times without a zone or in UTC; None of other zones."""
    there = [value for value in values if value is not None]
    if type(there[0]) is dt.date:
        kind, counts = pa.date32(), np.array(values, "M8[D]").astype(np.int32, copy=False)
    else:
        zone = there[0].tzinfo
        if zone not in _ZONES or any(value.tzinfo is not zone for value in there):
            return None
        kind = pa.timestamp("us", zone and "UTC")
        values = [value and value.replace(tzinfo=None) for value in values]
        counts = np.array(values, "M8[us]").view(np.int64)
    holes = np.array([value is None for value in values])
    valid = _valid(holes) if holes.any() else None
    return pa.Array.from_buffers(kind, len(values), [valid, pa.py_buffer(counts)])


def _of_numbers(values: NDArray[Any], mask: NDArray[np.bool_] | None) -> pa.Array | None:
    """Return an array over the memory of `values`; None if Arrow's layout differs."""
    if values.ndim != 1 or not values.flags.c_contiguous or values.dtype not in _DTYPES:
        return None
    if mask is not None and mask.shape != values.shape:
        return None
    truths = values.dtype.kind == "b"
    data = pa.py_buffer(np.packbits(values, bitorder="little") if truths else values)
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [_valid(mask), data])


def _casts(given: pa.DataType, kind: pa.DataType) -> bool:
    """Return whether casting numbers has the same result as Arrow's direct conversion."""
    return pa.types.is_integer(given) and kind != _BOOL and kind.id in _NUMBERS


def _valid(mask: NDArray[np.bool_] | None) -> pa.Buffer | None:
    """Return the validity bitmap of values."""
    return None if mask is None else pa.py_buffer(np.packbits(~mask, bitorder="little"))


def _bits_of(buffer: pa.Buffer | None, column: pa.Array, *, zero: bool) -> Any:
    """Return the bits of a column's validity or truth, one a byte; all alike without a buffer."""
    if buffer is None:
        return np.full(len(column), not zero)
    return truths(buffer, column.offset, len(column))


class SmallBatches:
    """Makes batches of a schema from arrays; small ones are slices of a larger batch.

    It takes Arrow longer to make a batch than to fill it.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self._used = _SMALL  # rows of the larger batch

    def of(self, columns: Sequence[NDArray[Any]]) -> pa.RecordBatch:
        """Return columns of the schema's types as a batch; those of few rows are copied.

        >>> batches = SmallBatches(pa.schema([("n", pa.int32()), ("x", pa.float64())]))
        >>> left = batches.of([np.array([7], dtype=np.int32), np.array([0.5])])
        >>> right = batches.of([np.array([8], dtype=np.int32), np.array([1.5])])
        >>> left.to_pylist(), right.to_pylist()
        ([{'n': 7, 'x': 0.5}], [{'n': 8, 'x': 1.5}])
        """
        rows = len(columns[0])
        if rows > _SMALL:
            return batch_of(list(map(np.ascontiguousarray, columns)), self.schema)
        if self._used + rows > _SMALL:
            self._columns = [np.empty(_SMALL, kind.to_pandas_dtype()) for kind in self.schema.types]
            self._whole, self._used = batch_of(self._columns, self.schema), 0
        first, self._used = self._used, self._used + rows
        for filled, column in zip(self._columns, columns, strict=True):
            filled[first : self._used] = column
        return self._whole.slice(first, rows)


def batch_of(arrays: Sequence[NDArray[Any]], schema: pa.Schema) -> pa.RecordBatch:
    """Return arrays, of the types of a schema and without nulls, as a batch; nothing is copied."""
    columns = [
        pa.Array.from_buffers(kind, len(array), [None, pa.py_buffer(array)])
        for kind, array in zip(schema.types, arrays, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def numbers_of(batch: pa.RecordBatch, name: str, kind: type[Number]) -> NDArray[Number]:
    """Return a column of whole numbers without nulls, without copying where it is of the kind.

    It is read-only as Arrow's memory is, for which kernels are compiled.

    >>> batch = pa.record_batch({"time": pa.array([5, 7])})
    >>> numbers_of(batch, "time", np.int64)
    array([5, 7])
    """
    numbers: NDArray[Any] = np.from_dlpack(
        batch.column(name)
    )  # in half a microsecond; to_numpy takes two
    if numbers.dtype == kind and not numbers.flags.writeable:
        return numbers
    converted = np.ascontiguousarray(numbers, dtype=kind)
    converted.flags.writeable = False
    return converted
