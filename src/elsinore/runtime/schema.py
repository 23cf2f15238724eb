"""The kinds of attributes, derived from Arrow types."""

from __future__ import annotations

import pyarrow as pa

from elsinore.errors import InputError, option
from elsinore.model.comparable import no_comparison
from elsinore.model.schema import AttributeKind, Schema
from elsinore.runtime.column_types import stored_type


def schema_of(columns: pa.Schema) -> Schema:
    """Return the schema of events with a table's columns.

    >>> schema_of(pa.schema([("speed", pa.float32())])).kind("speed")
    <AttributeKind.NUMBER: 'number'>
    """
    return Schema(tuple((column.name, kind_of(column.type)) for column in columns))


def kind_of(kind: pa.DataType) -> AttributeKind:
    """Return the kind of attribute of an Arrow type.

    >>> kind_of(pa.uuid()), kind_of(pa.month_day_nano_interval())
    (<AttributeKind.STRING: 'string'>, <AttributeKind.INTERVAL: 'interval'>)
    """
    kind = plain_type(stored_type(kind))
    if pa.types.is_boolean(kind):
        return AttributeKind.BOOLEAN
    if pa.types.is_integer(kind):
        return AttributeKind.INTEGER
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return AttributeKind.NUMBER
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
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
    if pa.types.is_interval(kind):
        return AttributeKind.INTERVAL
    return AttributeKind.NULL if pa.types.is_null(kind) else AttributeKind.OTHER


def check_order(text: str, kind: AttributeKind) -> None:
    """Raise InputError if `order_by` names a column, or an SQL expression, without an order.

    >>> check_order("id", AttributeKind.INTEGER)
    """
    reason = no_comparison(kind, within_an_event=True)
    if reason is not None:
        raise InputError(f"{option('order_by', text)}: {reason}")


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of a column's values, without their dictionary."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def is_bytes(kind: pa.DataType) -> bool:
    """Return whether a column of an Arrow type holds bytes."""
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
        or pa.types.is_binary_view(kind)
    )
