"""Kinds of DuckDB types, and converting Arrow columns to the types that Spark reads them as."""

from __future__ import annotations

from enum import Enum

import pyarrow as pa

from elsinore.runtime.chunks import plain


class Kind(Enum):
    """A group of DuckDB types that rules treat equally; the value is its name in messages."""

    INTEGER = "a whole number"
    DOUBLE = "a number"
    DECIMAL = "a decimal"
    TEXT = "text"
    BOOLEAN = "a truth value"
    DATE = "a date"
    TIME = "a time"
    LIST = "a list"
    MAP = "a map"
    STRUCT = "a struct"
    NULL = "null"
    OTHER = "of a type that is only returned"


INTEGER, DOUBLE, TEXT, BOOLEAN = Kind.INTEGER, Kind.DOUBLE, Kind.TEXT, Kind.BOOLEAN
DATE, TIME = Kind.DATE, Kind.TIME
NUMBERS = frozenset({Kind.INTEGER, Kind.DOUBLE, Kind.DECIMAL})
TIMES = frozenset({Kind.DATE, Kind.TIME})

_BY_NAME = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT"), Kind.INTEGER),
    "FLOAT": Kind.DOUBLE,
    "DOUBLE": Kind.DOUBLE,
    "VARCHAR": Kind.TEXT,
    "BOOLEAN": Kind.BOOLEAN,
    "DATE": Kind.DATE,
    "TIMESTAMP": Kind.TIME,
    '"NULL"': Kind.NULL,
    "NULL": Kind.NULL,
}


def kind_of(type_name: str) -> Kind:
    """Return the kind of a DuckDB type.

    >>> kind_of("DECIMAL(18,3)"), kind_of("INTEGER[]")
    (<Kind.DECIMAL: 'a decimal'>, <Kind.LIST: 'a list'>)
    """
    if type_name.endswith("[]"):
        return Kind.LIST
    for prefix, kind in (("DECIMAL", Kind.DECIMAL), ("MAP", Kind.MAP), ("STRUCT", Kind.STRUCT)):
        if type_name.startswith(prefix):
            return kind
    return _BY_NAME.get(type_name, Kind.OTHER)


def as_spark_reads(column: pa.Array) -> pa.Array:
    """Cast a column to the type that Spark reads it as: signed integers, microseconds in UTC.

    >>> as_spark_reads(pa.array([7], pa.uint8())).type
    DataType(int16)
    """
    column, types = plain(column), pa.types
    kind = column.type
    if kind in _SIGNED:
        return column.cast(_SIGNED[kind])
    if kind == pa.float16():
        return column.cast(pa.float32())
    if types.is_timestamp(kind) and kind.unit != "ns":
        return column.cast(pa.timestamp(kind.unit, "UTC" if kind.tz else None)).cast(
            pa.timestamp("us")
        )
    if types.is_date64(kind):
        return column.cast(pa.date32())
    if types.is_decimal256(kind):
        return column.cast(pa.decimal128(38, kind.scale))
    return column


_SIGNED = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20),
}
