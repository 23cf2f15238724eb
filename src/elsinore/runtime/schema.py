"""What Arrow columns hold, as queries see it."""

from __future__ import annotations

import pyarrow as pa

from elsinore.model.schema import AttributeKind, Schema


def schema_of(columns: pa.Schema) -> Schema:
    """Return the attributes that a table's columns give its events.

    >>> schema_of(pa.schema([("speed", pa.float32())])).kind("speed")
    <AttributeKind.NUMBER: 'number'>
    """
    return Schema(tuple((column.name, kind_of(column.type)) for column in columns))


def kind_of(kind: pa.DataType) -> AttributeKind:
    """Return what a column of an Arrow type holds."""
    kind = plain_type(kind)
    if pa.types.is_boolean(kind):
        return AttributeKind.BOOLEAN
    if pa.types.is_integer(kind):
        return AttributeKind.INTEGER
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return AttributeKind.NUMBER
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return AttributeKind.STRING
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return AttributeKind.TIME
    if pa.types.is_nested(kind):
        return AttributeKind.NESTED
    if pa.types.is_duration(kind):
        return AttributeKind.DURATION
    if pa.types.is_time(kind):
        return AttributeKind.CLOCK
    if is_bytes(kind):
        return AttributeKind.BYTES
    return AttributeKind.NULL if pa.types.is_null(kind) else AttributeKind.OTHER


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of a column's values, whether or not it has a dictionary of them."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def is_bytes(kind: pa.DataType) -> bool:
    """Return whether a column of an Arrow type holds bytes."""
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
        or pa.types.is_binary_view(kind)
    )
