"""Casting the columns of a file to a declared schema; invalid text is rejected cell by cell."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.arrow import to_arrow, to_numpy, to_scalar, whole
from elsinore.errors import InputError, did_you_mean
from elsinore.expressions.reasons import reason
from elsinore.runtime.iso8601 import parse_iso8601

TICKS = {"s": 1_000_000, "ms": 1_000, "us": 1}  # microseconds in a unit


def is_text(kind: pa.DataType) -> bool:
    """Return whether a type is text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_plain_number(kind: pa.DataType) -> bool:
    """Return whether readers of text formats parse a type themselves: a number or boolean."""
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    )


def check_columns(names: list[str], schema: pa.Schema, where: str) -> None:
    """Raise InputError if a file lacks a column of the schema."""
    for field in schema:
        if field.name not in names:
            raise InputError(
                f"{where} has no column '{field.name}', which the stream's schema has."
                f"{did_you_mean(field.name, names)} Columns: {', '.join(names) or 'none'}."
            )


def fit_typed(table: pa.Table, schema: pa.Schema, where: str) -> pa.Table:
    """Cast a typed file's columns to a schema whose types represent all of their values.

    Raise InputError for a missing column or an incompatible type.

    >>> narrow = pa.table({"v": pa.array([1], pa.int32()), "w": ["x"]})
    >>> print(fit_typed(narrow, pa.schema([("v", pa.int64())]), "'a.parquet'").schema)
    v: int64
    """
    check_columns(table.column_names, schema, where)
    columns = []
    for field in schema:
        column = table.column(field.name)
        if column.type != field.type:
            if not _widens(column.type, field.type):
                raise InputError(
                    f"Column '{field.name}' of {where} is {column.type}, and the stream's schema "
                    f"says {field.type}. Write the file again with this type, or change the schema."
                )
            column = column.cast(field.type)
        columns.append(column)
    return pa.Table.from_arrays(columns, schema=schema)


def fit_cells(texts: pa.ChunkedArray, field: pa.Field) -> tuple[pa.Array, pa.Array]:
    """Parse text cells as a field's type; return the values, and a reason for each invalid cell.

    Blanks around a value are ignored unless the column is text.

    >>> cells = pa.chunked_array([["1", "x", None]])
    >>> values, reasons = fit_cells(cells, pa.field("v", pa.int64()))
    >>> values.to_pylist(), reasons.to_pylist()
    ([1, None, None], [None, "v: 'x' cannot be read as a number", None])
    """
    column = whole(texts)
    if is_text(field.type):
        return column.cast(field.type), pa.nulls(len(column), pa.string())
    column = pc.utf8_trim_whitespace(column)
    if pa.types.is_timestamp(field.type):
        values = _timestamps(column, field.type)
    else:
        values = _by_value(column, lambda cells: cells.cast(field.type), field.type)
    bad = to_numpy(pc.and_(column.is_valid(), values.is_null()))
    reasons = np.full(len(column), None, dtype=object)
    for row in np.flatnonzero(bad).tolist():
        reasons[row] = f"{field.name}: {_reason(column[row], field.type)}"
    return values, to_arrow(reasons, pa.string())


def _timestamps(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Parse texts as timestamps; times without a zone are UTC if the type has a zone."""
    fine = kind.unit == "ns"
    ticks, _ = parse_iso8601(column.cast(pa.string()), 1000 if fine else 1)
    if kind.unit in {"s", "ms"}:
        ticks = pc.floor(pc.divide(ticks.cast(pa.float64()), to_scalar(float(TICKS[kind.unit]))))
        ticks = ticks.cast(pa.int64())
    return ticks.cast(pa.timestamp(kind.unit)).cast(kind)


def _by_value(
    column: pa.Array, convert: Callable[[pa.Array], pa.Array], kind: pa.DataType
) -> pa.Array:
    """Convert a column by its distinct values, one by one; null for values that fail."""
    try:
        return convert(column)
    except pa.ArrowException:
        encoded_cells = column.dictionary_encode()
        values = [
            _convert_cell(encoded_cells.dictionary.slice(n, 1), convert, kind)
            for n in range(len(encoded_cells.dictionary))
        ]
        return pa.concat_arrays([*values, pa.nulls(1, kind)]).take(
            encoded_cells.indices.fill_null(len(values))
        )


def _convert_cell(
    cell: pa.Array, convert: Callable[[pa.Array], pa.Array], kind: pa.DataType
) -> pa.Array:
    try:
        return convert(cell)
    except pa.ArrowException:
        return pa.nulls(1, kind)


def _reason(cell: pa.Scalar, kind: pa.DataType) -> str:
    if pa.types.is_timestamp(kind):
        return f"'{cell.as_py()}' cannot be read as a time, such as '2024-01-31T12:00:00'"
    try:
        cell.cast(kind)
    except pa.ArrowException as error:
        return reason(error)
    return f"'{cell.as_py()}' cannot be read as {kind}"


def _widens(kind: pa.DataType, target: pa.DataType) -> bool:
    """Return whether the type `target` represents every value of the type `kind`."""
    types = pa.types
    if types.is_null(kind):
        return True
    if types.is_dictionary(kind):
        return kind.value_type == target or _widens(kind.value_type, target)
    if is_text(kind):
        return is_text(target)
    if types.is_integer(kind) and types.is_integer(target):
        signs = types.is_signed_integer(kind), types.is_signed_integer(target)
        if signs[0] == signs[1]:
            return bool(kind.bit_width <= target.bit_width)
        return signs[1] and bool(kind.bit_width < target.bit_width)
    if types.is_integer(kind) and types.is_floating(target):
        return bool(kind.bit_width < target.bit_width)
    if types.is_floating(kind) and types.is_floating(target):
        return bool(kind.bit_width <= target.bit_width)
    if types.is_timestamp(kind) and types.is_timestamp(target):
        units = ("s", "ms", "us", "ns")
        finer = units.index(target.unit) >= units.index(kind.unit)
        return finer and (kind.tz is None) == (target.tz is None)
    return False
