"""Converting columns of any Arrow type to the types that Elsinore's computations support.

Few of Arrow's compute functions accept extension types, views, run-end encoding, decimals of 32 or
64 bits, or half floats. Each table of events therefore passes through `stored` once, when it is
read. After that, a column has one of Arrow's plain types.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.arrow import to_arrow, to_numpy

_HEXADECIMAL = np.frombuffer(b"0123456789abcdef", np.uint8)
_UUID_DIGITS = [place for place in range(36) if place not in {8, 13, 18, 23}]  # others are hyphens


def with_stored_types(table: pa.Table) -> pa.Table:
    """Return `table` with each column cast to its `stored_type`; values stay the same.

    >>> views = pa.table({"s": pa.array(["x"], pa.string_view())})
    >>> print(with_stored_types(views).schema.field("s").type)
    large_string
    """
    for index, field in enumerate(table.schema):
        kind = stored_type(field.type)
        if kind != field.type:
            chunks = [_cast_to_stored(chunk, kind) for chunk in table.column(index).chunks]
            column = pa.chunked_array(chunks, kind)
            table = table.set_column(index, pa.field(field.name, kind), column)
    return table


def stored_type(kind: pa.DataType) -> pa.DataType:
    """Return the plain type that replaces `kind`, also within nested types.

    UUIDs become their text in lower case, as in '0f8fad5b-d9cb-469f-a165-70867728950e'; other
    extension types their storage, but `bool8` booleans. Views, runs, lists of a fixed size, narrow
    decimals and half floats become their common relatives. Dictionaries of plain values remain,
    with signed indices.

    >>> print(stored_type(pa.list_(pa.string_view())), stored_type(pa.uuid()))
    list<item: large_string> large_string
    >>> print(stored_type(pa.decimal32(7, 2)), stored_type(pa.bool8()), stored_type(pa.int64()))
    decimal128(7, 2) bool int64
    """
    types = pa.types
    if isinstance(kind, pa.UuidType):
        return pa.large_string()
    if isinstance(kind, pa.BaseExtensionType):
        return pa.bool_() if isinstance(kind, pa.Bool8Type) else stored_type(kind.storage_type)
    if types.is_string_view(kind):
        return pa.large_string()
    if types.is_binary_view(kind):
        return pa.large_binary()
    if types.is_float16(kind):
        return pa.float32()
    if types.is_decimal32(kind) or types.is_decimal64(kind):
        return pa.decimal128(kind.precision, kind.scale)
    if types.is_run_end_encoded(kind):
        return stored_type(kind.value_type)
    if types.is_dictionary(kind):
        values, index = stored_type(kind.value_type), kind.index_type
        if types.is_nested(values) or types.is_dictionary(values):
            return values
        index = pa.int64() if types.is_unsigned_integer(index) else index
        return pa.dictionary(index, values, kind.ordered)
    return _nested_type(kind) if types.is_nested(kind) else kind


def _nested_type(kind: pa.DataType) -> pa.DataType:
    """Return a list, map or struct type with the stored types of its parts."""
    types = pa.types
    if types.is_list(kind) or types.is_list_view(kind) or types.is_fixed_size_list(kind):
        return pa.list_(_stored_field(kind.value_field))
    if types.is_large_list(kind) or types.is_large_list_view(kind):
        return pa.large_list(_stored_field(kind.value_field))
    if types.is_map(kind):
        return pa.map_(_stored_field(kind.key_field), _stored_field(kind.item_field))
    if types.is_struct(kind):
        return pa.struct([_stored_field(field) for field in kind])
    return kind


def _stored_field(field: pa.Field) -> pa.Field:
    return field.with_type(stored_type(field.type))


def _cast_to_stored(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return an array cast to `kind`, the `stored_type` of its type."""
    types, source_type = pa.types, array.type
    if source_type == kind:
        return array
    if isinstance(source_type, pa.UuidType):
        return _uuid_texts(array.storage)
    if isinstance(array, pa.ExtensionArray):
        return _cast_to_stored(array.storage, kind)
    if types.is_run_end_encoded(source_type):
        return _cast_to_stored(pc.run_end_decode(array), kind)
    if types.is_dictionary(source_type):
        if not types.is_dictionary(kind) or types.is_dictionary(source_type.value_type):
            return _cast_to_stored(array.dictionary, kind).take(array.indices)
        values = _cast_to_stored(array.dictionary, kind.value_type)
        indices = array.indices.cast(kind.index_type)
        return pa.DictionaryArray.from_arrays(indices, values, ordered=kind.ordered)
    if types.is_struct(source_type):
        parts = [_cast_to_stored(array.field(n), field.type) for n, field in enumerate(kind)]
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=array.is_null())
    return _stored_lists(array, kind) if types.is_nested(source_type) else array.cast(kind)


def _uuid_texts(storage: pa.Array) -> pa.Array:
    """Return UUIDs, given as 16 bytes each, as texts of 36 characters."""
    without_nulls = storage.fill_null(bytes(16))
    uuid_bytes = np.frombuffer(without_nulls.buffers()[1], np.uint8)
    octets = uuid_bytes[16 * without_nulls.offset :][: 16 * len(without_nulls)].reshape(-1, 16)
    texts = np.full((len(octets), 36), ord("-"), np.uint8)
    texts[:, _UUID_DIGITS[::2]] = _HEXADECIMAL[octets >> 4]
    texts[:, _UUID_DIGITS[1::2]] = _HEXADECIMAL[octets & 15]
    ends = np.arange(0, texts.size + 1, 36, dtype=np.int64)
    valid_bits = np.packbits(to_numpy(storage.is_valid()), bitorder="little")
    buffers = list(map(pa.py_buffer, (valid_bits, ends, texts)))
    return pa.Array.from_buffers(pa.large_string(), len(storage), buffers)


def _stored_lists(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return lists or maps in a type of lists or maps."""
    types, source_type, nulls = pa.types, array.type, array.is_null()
    if types.is_map(source_type):
        array = array.cast(pa.list_(_entries(source_type)))
    if types.is_list_view(source_type) or types.is_large_list_view(source_type):
        # Arrow's cast of list views returns other values (24.0 to 26.0): take their parts
        lengths = np.where(to_numpy(nulls), 0, to_numpy(array.sizes))
        parts = _ranges_of(array.values, kind.value_type, to_numpy(array.offsets), lengths)
    elif types.is_fixed_size_list(source_type):
        lengths = np.where(to_numpy(nulls), 0, source_type.list_size)
        starts = (array.offset + np.arange(len(array))) * source_type.list_size
        parts = _ranges_of(array.values, kind.value_type, starts, lengths)
    else:
        lengths = to_numpy(array.value_lengths(), 0)
        entries = pa.struct(list(_entries(kind).type)) if types.is_map(kind) else kind.value_type
        parts = _cast_to_stored(array.flatten(), entries)
    wide = types.is_large_list(kind)
    ends = to_arrow(np.cumsum(np.append(0, lengths), dtype=np.int64 if wide else np.int32))
    if types.is_map(kind):
        return pa.MapArray.from_arrays(ends, parts.field(0), parts.field(1), type=kind, mask=nulls)
    array_type = pa.LargeListArray if wide else pa.ListArray
    return array_type.from_arrays(ends, parts, type=kind, mask=nulls)


def _ranges_of(
    values: pa.Array, kind: pa.DataType, starts: NDArray[Any], lengths: NDArray[Any]
) -> pa.Array:
    """Return ranges of values one after another, in the type `kind`."""
    before = np.cumsum(lengths) - lengths
    places = np.arange(lengths.sum()) + np.repeat(starts - before, lengths)
    return _cast_to_stored(values, kind).take(to_arrow(places))


def _entries(kind: pa.MapType) -> pa.Field:
    """Return the field of a map's entries: structs of a key and an item."""
    return pa.field("entries", pa.struct([kind.key_field, kind.item_field]), nullable=False)
