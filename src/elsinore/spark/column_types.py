"""Kinds of a data frame's columns, and whether Spark can send them to Python workers."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_type

from elsinore.errors import InputError, called
from elsinore.model import AttributeKind
from elsinore.plan import Unit
from elsinore.plan.unit import Travel
from elsinore.spark.times import NANOSECONDS_KEY

_KINDS = (
    (T.BooleanType, AttributeKind.BOOLEAN),
    (T.IntegralType, AttributeKind.INTEGER),
    (T.NumericType, AttributeKind.NUMBER),
    ((T.StringType, T.CharType, T.VarcharType), AttributeKind.STRING),
    ((T.TimestampType, T.TimestampNTZType, T.DateType), AttributeKind.TIME),
    ((T.StructType, T.ArrayType, T.MapType, T.VariantType), AttributeKind.NESTED),
    (T.DayTimeIntervalType, AttributeKind.DURATION),
    ((T.YearMonthIntervalType, T.CalendarIntervalType), AttributeKind.INTERVAL),
    (T.BinaryType, AttributeKind.BYTES),
    (T.TimeType, AttributeKind.CLOCK),
    (T.NullType, AttributeKind.NULL),
)
# Types of values that PySpark does not convert to Arrow, or not to columns that Arrow can return.
_NOT_SENT = (T.YearMonthIntervalType, T.CalendarIntervalType, T.VariantType, T.SpatialType)


def kind_of_field(field: T.StructField) -> AttributeKind:
    """Return the kind of attribute of a column.

    >>> kind_of_field(T.StructField("v", T.StringType("UTF8_LCASE")))
    <AttributeKind.COLLATED: 'collated'>
    """
    return AttributeKind.TIME if NANOSECONDS_KEY in field.metadata else kind_of(field.dataType)


def kind_of(kind: T.DataType) -> AttributeKind:
    """Return the kind of attribute of a Spark type; for a user-defined type that of its SQL type.

    >>> kind_of(T.LongType()), kind_of(T.YearMonthIntervalType())
    (<AttributeKind.INTEGER: 'integer'>, <AttributeKind.INTERVAL: 'interval'>)
    """
    kind = kind.sqlType() if isinstance(kind, T.UserDefinedType) else kind
    if isinstance(kind, T.StringType) and not kind.isUTF8BinaryCollation():
        return AttributeKind.COLLATED
    return next((holds for types, holds in _KINDS if isinstance(kind, types)), AttributeKind.OTHER)


def arrow_type_of(kind: T.DataType, zone: str) -> pa.DataType:
    """Return the Arrow type of a column; for columns that are not sent, any type of the same kind.

    `zone` is the session's time zone.

    >>> arrow_type_of(T.LongType(), "UTC"), arrow_type_of(T.TimestampType(), "UTC")
    (DataType(int64), TimestampType(timestamp[us, tz=UTC]))
    """
    if isinstance(kind, T.TimestampType):
        return pa.timestamp("us", zone)
    if is_sent(kind):
        return to_arrow_type(kind)
    return pa.struct([]) if kind_of(kind) is AttributeKind.NESTED else pa.month_day_nano_interval()


def is_sent(kind: T.DataType) -> bool:
    """Return whether Spark can exchange a column's values with Python workers.

    >>> is_sent(T.LongType()), is_sent(T.ArrayType(T.VariantType()))
    (True, False)
    """
    match kind:
        case T.ArrayType(elementType=element):
            return is_sent(element)
        case T.MapType(keyType=key, valueType=value):
            return is_sent(key) and is_sent(value)
        case T.StructType(fields=fields):
            return all(is_sent(field.dataType) for field in fields)
    return not isinstance(kind, _NOT_SENT)


def refuse_unsent(units: Sequence[Unit], schema: T.StructType) -> None:
    """Raise InputError if units read, as a whole, columns that Spark cannot send to workers."""
    for unit in units:
        for column in unit.columns:
            if column.travel is not Travel.RAW or not isinstance(column.source, str):
                continue
            kind = schema[column.source].dataType
            if not is_sent(kind):
                raise InputError(
                    f"Column '{column.source}' is of type {kind.simpleString()}, which Spark does "
                    "not send to Python, where queries run. Convert it to text (to_json, "
                    "ST_AsText, or CAST(... AS STRING)), or leave it out of RETURN."
                )


def refuse_distinct(query: str, columns: T.StructType) -> None:
    """Raise InputError if rows have maps, which Spark does not compare: DISTINCT needs that."""
    for field in columns.fields:
        if _has_map(field.dataType):
            raise InputError(
                f"{called(query)}: DISTINCT compares rows, and '{field.name}' has a map, which "
                "Spark does not compare. Convert it to a list (map_entries), or leave out DISTINCT."
            )


def _has_map(kind: T.DataType) -> bool:
    match kind:
        case T.ArrayType(elementType=element):
            return _has_map(element)
        case T.StructType(fields=fields):
            return any(_has_map(field.dataType) for field in fields)
    return isinstance(kind, T.MapType)
