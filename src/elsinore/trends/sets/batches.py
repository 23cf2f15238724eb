"""From rows of Arrow to what `SetsEvaluator` reads, and from its sums to totals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.arrow import to_numpy
from elsinore.expressions.lengths import is_length, is_time, ticks, unit_of
from elsinore.model.time_values import MICROSECOND, Moment, Span
from elsinore.numeric.exact import encode, extended
from elsinore.plan import TrendUnit
from elsinore.trends.partials import totals_fields
from elsinore.trends.sets.evaluator import SetEvents, SetTotal
from elsinore.trends.values.arrays import FOREVER
from elsinore.trends.values.spread import from_means

_DIGITS = 15  # so many digits of a decimal a double tells apart
Ints = NDArray[np.int64]


class Keys(NamedTuple):
    """Keys of which windows are wanted: those that end after `done` and at or before `until`.

    The rows of each are `starts[key]` to before `starts[key + 1]`.
    """

    starts: Ints
    groups: Ints
    done: Ints
    until: Ints


def set_events(unit: TrendUnit, table: pa.Table, keys: Keys) -> SetEvents:
    """Return rows of a table, key after key, as the evaluator reads them."""
    rows = {name: compared_values(table.column(f"pair:{name}")) for name in unit.compared}
    rows |= {name: _values(table.column(f"sum:{name}")) for name in unit.summed}
    return SetEvents(
        starts=keys.starts,
        done=keys.done,
        until=keys.until,
        times=to_numpy(table.column("time")),
        codes=to_numpy(table.column("class")),
        rows=rows,
        ranks={name: table.column(f"rank:{name}").to_pylist() for name in unit.ranked},
    )


def totals_of(unit: TrendUnit, totals: Sequence[SetTotal], keys: Keys) -> pa.RecordBatch:
    """Return sums over trends as they are given out (`elsinore.trends.partials`)."""
    schema = totals_fields(unit, exact=unit.exact)
    places = np.array([total.key for total in totals], dtype=np.int64)
    columns: dict[str, list[Any]] = {
        "query": [total.query for total in totals],
        "group": keys.groups[places].tolist(),
        "window": [total.window for total in totals],
    }
    if not unit.exact:  # before the sums are read, which change with it
        shifts = np.zeros((len(unit.squared), len(totals)))
        for row, total in enumerate(totals):
            for place, shift in from_means(unit, total.query, total.cells):
                shifts[place, row] = shift
        columns |= {f"shift{k}": of_rows for k, of_rows in enumerate(shifts.tolist())}
    for f in range(unit.linear):
        numbers = [total.cells[f] if f < len(total.cells) else 0 for total in totals]
        if unit.exact:
            columns[f"digits{f}"] = [encode(number) for number in numbers]
        else:
            pairs = [extended(number) for number in numbers]
            columns[f"cell{f}"] = [mantissa for mantissa, _ in pairs]
            columns[f"power{f}"] = [power for _, power in pairs]
    for x in range(unit.extremes):
        columns[f"extreme{x}"] = [
            total.extremes[x] if x < len(total.extremes) else int(FOREVER) for total in totals
        ]
    return pa.RecordBatch.from_pydict(columns, schema=schema)


def _values(column: pa.ChunkedArray) -> list[Any]:
    """Return a column's values as Python's, NaN as None, whole decimals as integers.

    Lengths of time are whole numbers of ticks (`elsinore.expressions.lengths.unit_of`).
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
    """Return the values of a column that is compared, decimals as doubles where that is exact.

    Other decimals stay: one can compare them with one another, and compute nothing with them.
    """
    kind = column.type
    if is_time(kind) or is_length(kind):
        unit = unit_of(kind)
        factor, fine = (1, True) if unit == "ns" else (MICROSECOND, False)
        make = Moment if is_time(kind) else Span
        counted = ticks(column, unit).to_pylist()
        return [None if tick is None else make(tick * factor, fine) for tick in counted]
    if pa.types.is_decimal(kind) and kind.scale > 0 and kind.precision <= _DIGITS:
        return [None if value is None else float(value) for value in column.to_pylist()]
    return _values(column)
