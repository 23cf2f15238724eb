"""Converting columns to Python values: exact numbers, and values for `elsinore.model.evaluate`."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa

from elsinore.expressions.lengths import is_length, is_time, ticks, unit_of
from elsinore.model.time_values import MICROSECOND, Moment, Span

_DIGITS = 15  # decimals with so many digits are distinct as doubles


def exact_values(column: pa.ChunkedArray) -> list[Any]:
    """Return a column's values as Python objects: NaN as None, decimals without scale as integers.

    Durations are integers in ticks (`elsinore.expressions.lengths.unit_of`).
    """
    if is_length(column.type):
        column = ticks(column, unit_of(column.type))
    if pa.types.is_decimal(column.type) and column.type.scale <= 0:
        return [None if value is None else int(value) for value in column.to_pylist()]
    return [
        None if isinstance(value, float) and math.isnan(value) else value
        for value in column.to_pylist()
    ]


def compared_values(column: pa.ChunkedArray) -> list[Any]:
    """Return the values of a column for comparisons, decimals as doubles if that is exact.

    Other decimals are returned unchanged: they can only be compared with one another.
    """
    kind = column.type
    if is_time(kind) or is_length(kind):
        unit = unit_of(kind)
        factor, fine = (1, True) if unit == "ns" else (MICROSECOND, False)
        value_class = Moment if is_time(kind) else Span
        tick_values = ticks(column, unit).to_pylist()
        return [None if tick is None else value_class(tick * factor, fine) for tick in tick_values]
    if pa.types.is_decimal(kind) and kind.scale > 0 and kind.precision <= _DIGITS:
        return [None if value is None else float(value) for value in column.to_pylist()]
    return exact_values(column)
