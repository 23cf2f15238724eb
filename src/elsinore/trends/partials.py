"""Totals of closed windows: as Arrow batches, added up, and made into result columns.

A row is what some of a group's keys hold in one window of one query: the extended-range numbers
`cell<f>` and `power<f>` per linear field, and `extreme<x>` per MIN and MAX, a rank (see
`elsinore.operators.ranks`), inverted for MAX; the greatest integer where there is no value.
`shift<k>` is what deviations that have place k in `TrendUnit.squared` are from, in the turn of the
window (`elsinore.plan.epochs`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.arrow import to_arrow, to_numpy
from elsinore.expressions.lengths import is_length
from elsinore.model.window import Window
from elsinore.numeric import add_runs, log2, ratio, to_double
from elsinore.numeric.exact import Number, decode, digits, encode
from elsinore.operators.ranks import from_ranks
from elsinore.plan import TrendUnit
from elsinore.plan.aggregates import SPREAD, Aggregation, FieldKind, Outcome, ResultColumn
from elsinore.plan.epochs import turn_of, turns_of
from elsinore.trends.values import FOREVER, Codes, Doubles, Ints
from elsinore.trends.values.lengths import (
    LIMIT,
    exact_length_averages,
    length_averages,
    length_sums,
    length_type,
)
from elsinore.trends.values.spread import exact_spread, spread, with_one_shift

DECIMAL_LIMIT = 10**38  # the first whole number that decimal(38, 0) does not hold
AT_ONCE = 2**14  # rows whose variances are worked out at once: what they are made from stays near
_SMALL = 2**12  # rows of a batch that several are slices of
WHOLE_BITS = 63  # of a number that is not below 0
_DTYPES = {pa.int32(): np.int32, pa.int64(): np.int64, pa.float64(): np.float64}  # of totals
PLACE = ("query", "group", "window")  # rows that have the same are added up


def totals_fields(unit: TrendUnit, *, exact: bool) -> pa.Schema:
    """Return the columns of a unit's totals."""
    fields = [("query", pa.int32()), ("group", pa.int32()), ("window", pa.int64())]
    for f in range(unit.linear):
        if exact:
            fields.append((f"digits{f}", pa.string()))
        else:
            fields += [(f"cell{f}", pa.float64()), (f"power{f}", pa.int32())]
    fields += [(f"extreme{x}", pa.int64()) for x in range(unit.extremes)]
    if not exact:
        fields += [(f"shift{k}", pa.float64()) for k in range(len(unit.squared))]
    return pa.schema(fields)


class TotalsBatches:
    """Makes batches of a schema from arrays; small ones are slices of a larger batch.

    It takes Arrow longer to make a batch than to fill it.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self._used = _SMALL  # rows of the larger batch

    def of(self, columns: Sequence[NDArray[Any]]) -> pa.RecordBatch:
        """Return columns of the schema's types as a batch; those of few rows are copied.

        >>> batches = TotalsBatches(pa.schema([("n", pa.int32()), ("x", pa.float64())]))
        >>> left = batches.of([np.array([7], dtype=np.int32), np.array([0.5])])
        >>> right = batches.of([np.array([8], dtype=np.int32), np.array([1.5])])
        >>> left.to_pylist(), right.to_pylist()
        ([{'n': 7, 'x': 0.5}], [{'n': 8, 'x': 1.5}])
        """
        rows = len(columns[0])
        if rows > _SMALL:
            return _batch_of(list(map(np.ascontiguousarray, columns)), self.schema)
        if self._used + rows > _SMALL:
            self._columns = [np.empty(_SMALL, _DTYPES[kind]) for kind in self.schema.types]
            self._whole, self._used = _batch_of(self._columns, self.schema), 0
        first, self._used = self._used, self._used + rows
        for filled, column in zip(self._columns, columns, strict=True):
            filled[first : self._used] = column
        return self._whole.slice(first, rows)


def _batch_of(arrays: Sequence[NDArray[Any]], schema: pa.Schema) -> pa.RecordBatch:
    """Return arrays, of the types of a schema and without nulls, as a batch; nothing is copied."""
    columns = [
        pa.Array.from_buffers(kind, len(array), [None, pa.py_buffer(array)])
        for kind, array in zip(schema.types, arrays, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def merge(unit: TrendUnit, table: pa.Table, queries: Sequence[int] = ()) -> pa.Table:
    """Add up rows of one (query, group, window); return one row for each, in that order.

    `queries`: from the first to the last of these alone, where others may be there, too.
    """
    if queries:
        places = to_numpy(table.column("query"))
        of_queries = (places >= queries[0]) & (places <= queries[-1])
        table = table if of_queries.all() else table.filter(to_arrow(of_queries))
    table = table.combine_chunks()
    if table.num_rows < 2:
        return table
    order, same = _in_order([to_numpy(table.column(name)) for name in PLACE])
    if not same.any():
        return table if order is None else table.take(to_arrow(order))
    if order is None:
        order = np.arange(table.num_rows)
    starts = np.concatenate(([0], np.flatnonzero(~same) + 1, [len(order)]))
    if "shift0" in table.column_names:
        table = with_one_shift(unit, table.take(to_arrow(order)), starts)
        order = np.arange(len(order))
    firsts = order[starts[:-1]]
    columns: dict[str, Any] = {n: to_numpy(table.column(n))[firsts] for n in PLACE}
    for name in table.column_names:
        if name.startswith("cell"):
            power = name.replace("cell", "power")
            cells, powers = to_numpy(table.column(name)), to_numpy(table.column(power))
            sums, sum_powers = np.empty(len(firsts)), np.empty(len(firsts), dtype=np.int32)
            add_runs(cells[order], powers[order], starts, sums, sum_powers)
            columns[name], columns[power] = sums, sum_powers
        elif name.startswith("digits"):
            numbers = [decode(text) for text in table.column(name).to_pylist()]
            columns[name] = [
                encode(sum(numbers[row] for row in order[start:stop]))
                for start, stop in itertools.pairwise(starts)
            ]
        elif name.startswith("extreme"):
            ordered = to_numpy(table.column(name))[order]
            columns[name] = np.minimum.reduceat(ordered, starts[:-1])
        elif name.startswith("shift"):
            columns[name] = to_numpy(table.column(name))[firsts]
    return pa.table([to_arrow(columns[name]) for name in table.column_names], schema=table.schema)


def _in_order(columns: Sequence[Ints | Codes]) -> tuple[Ints | None, NDArray[np.bool_]]:
    """Return rows in the order of whole numbers, and which of them have those of the row before.

    None: rows are in order already. Equal rows keep their order. Numbers and row are sorted as one
    number where that has no more than 63 bits: much faster than by columns, and rows need not be
    looked up then.

    >>> order, same = _in_order([np.array([7, 5, 7]), np.array([1, 2, 1])])
    >>> order.tolist(), same.tolist()
    ([1, 0, 2], [False, True])
    """
    rows = len(columns[0])
    bits = (rows - 1).bit_length()
    lasts = [(int(column.min()), int(column.max())) for column in columns]
    widths = [(last - first).bit_length() for first, last in lasts]
    order: Ints | None = None
    if sum(widths) + bits > WHOLE_BITS:
        order = np.lexsort(columns[::-1])
        same = np.ones(rows - 1, dtype=np.bool_)
        for column in columns:
            ordered = column[order]
            same &= ordered[1:] == ordered[:-1]
        return order, same
    packed = np.zeros(rows, dtype=np.int64)
    for column, (first, _), width in zip(columns, lasts, widths, strict=True):
        packed <<= width
        packed |= column.astype(np.int64) - first
    if np.any(packed[1:] < packed[:-1]):
        packed <<= bits
        packed |= np.arange(rows)
        packed.sort()
        order = packed & ((1 << bits) - 1)
        packed >>= bits
    return order, packed[1:] == packed[:-1]


def result_columns(
    aggregation: Aggregation,
    window: Window | None,
    totals: pa.Table,
    types: Mapping[str, pa.DataType],
) -> dict[str, pa.Array]:
    """Return a query's result columns by name from its merged totals, row by row.

    `window`: the query's. `types` gives the attributes' types. Counts and sums are doubles,
    infinite beyond a double's range; SUM, AVG, MIN and MAX of nothing are null, as in SQL. From
    exact totals, counts and sums of whole numbers are decimal(38, 0), with a column `<name>_digits`
    beside them that has the digits of those that do not fit and are null there.
    """
    exact = "digits0" in totals.column_names
    columns: dict[str, pa.Array] = {}
    for column in aggregation.columns:
        field = column.fields[0]
        if column.outcome is Outcome.EXTREME:
            greatest = aggregation.extremes[field].kind is FieldKind.GREATEST
            ranks, edges = (to_numpy(totals.column(f"extreme{x}")) for x in column.fields)
            kind = types[column.attribute or ""]
            columns[column.name] = extreme_column(ranks, edges, greatest, kind)
        elif exact:
            columns |= _exact_columns(column, totals, types)
        else:
            columns[column.name] = _column(column, window, totals, types)
    return columns


def _column(
    column: ResultColumn,
    window: Window | None,
    totals: pa.Table,
    types: Mapping[str, pa.DataType],
) -> pa.Array:
    sums = [
        (to_numpy(totals.column(f"cell{field}")), to_numpy(totals.column(f"power{field}")))
        for field in column.fields
    ]
    if column.outcome.is_spread:
        indices = to_numpy(totals.column("window"))
        parts = [slice(n, n + AT_ONCE) for n in range(0, max(1, len(indices)), AT_ONCE)]
        return pa.concat_arrays(
            [
                _spreads(
                    column.outcome, window, indices[part], [(a[part], b[part]) for a, b in sums]
                )
                for part in parts
            ]
        )
    (cells, powers), *below = sums
    if column.outcome is Outcome.LOG2:
        return to_arrow(log2(cells, powers))
    if column.outcome is Outcome.COUNT:
        return to_arrow(to_double(cells, powers))
    under, under_powers = below[0]
    nothing = under == 0.0
    kind = types[column.attribute or ""]
    if is_length(kind):
        ticks, counts = to_double(cells, powers), to_double(under, under_powers)
        if column.outcome is Outcome.SUM:
            return length_sums(column.name, ticks, counts, kind)
        quotients = ratio(cells, powers, under, under_powers)
        return length_averages(ticks, counts, quotients, kind)
    if column.outcome is Outcome.SUM:
        return to_arrow(to_double(cells, powers), mask=nothing)
    return to_arrow(ratio(cells, powers, under, under_powers), mask=nothing)


def _spreads(
    outcome: Outcome, window: Window | None, indices: Ints, sums: list[tuple[Doubles, Codes]]
) -> pa.Array:
    """Return variances, or their roots, of windows given by their indices, from sums of turns."""
    chosen_sums, turns = sums[: len(SPREAD)], turn_of(window, indices)
    for turn in range(1, turns_of(window)):
        for field in range(len(SPREAD) - 1):  # the number of values is that of all turns
            first, of_turn = chosen_sums[field], sums[len(SPREAD) * turn + field]
            chosen = turns == turn
            chosen_sums[field] = (
                np.where(chosen, of_turn[0], first[0]),
                np.where(chosen, of_turn[1], first[1]),
            )
    return spread(outcome, *chosen_sums)


def _exact_columns(
    column: ResultColumn, totals: pa.Table, types: Mapping[str, pa.DataType]
) -> dict[str, pa.Array]:
    numbers, *below = (
        [decode(text) for text in totals.column(f"digits{field}").to_pylist()]
        for field in column.fields[: len(SPREAD)]
    )
    if column.outcome is Outcome.LOG2:
        return {column.name: to_arrow([math.log2(number) for number in numbers], pa.float64())}
    if column.outcome.is_spread:
        spreads = [
            exact_spread(column.outcome, *sums) for sums in zip(numbers, *below, strict=True)
        ]
        return {column.name: to_arrow(spreads, pa.float64())}
    kind = types[column.attribute or ""] if column.attribute else pa.null()
    if column.outcome is Outcome.AVG and is_length(kind):
        return {column.name: exact_length_averages(numbers, below[0], kind)}
    if column.outcome is Outcome.AVG:
        averages = [
            _double(Fraction(over, under)) if under else None
            for over, under in zip(numbers, below[0], strict=True)
        ]
        return {column.name: to_arrow(averages, pa.float64())}
    known: list[Number | None] = list(numbers)
    if column.outcome is Outcome.SUM:
        known = [n if under else None for n, under in zip(known, below[0], strict=True)]
        if is_length(kind):
            of_type = length_type(kind)
            return _with_digits(
                column.name, known, LIMIT, lambda ticks: to_arrow(ticks, pa.int64()).cast(of_type)
            )
        if not pa.types.is_integer(kind):
            sums = [None if number is None else _double(number) for number in known]
            return {column.name: to_arrow(sums, pa.float64())}
    return _with_digits(
        column.name, known, DECIMAL_LIMIT, lambda whole: to_arrow(whole, pa.decimal128(38, 0))
    )


def _with_digits(
    name: str,
    numbers: Sequence[Number | None],
    limit: int,
    array_of: Callable[[list[int | None]], pa.Array],
) -> dict[str, pa.Array]:
    """Return whole numbers below a limit as a column, beside one with the digits of the others."""
    whole = [None if number is None else int(number) for number in numbers]
    fits = [number is None or -limit < number < limit for number in whole]
    small = [number if fit else None for number, fit in zip(whole, fits, strict=True)]
    texts = [
        None if fit or number is None else digits(number)
        for number, fit in zip(whole, fits, strict=True)
    ]
    return {name: array_of(small), f"{name}_digits": to_arrow(texts, pa.string())}


def _double(number: Number) -> float:
    """Return the nearest double, infinite beyond a double's range."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def extreme_column(ranks: Ints, edges: Ints, greatest: bool, kind: pa.DataType) -> pa.Array:
    """Return the values of a column of extremes, null where there was none.

    `edges` are 0 where some value had the rank that stands for none.
    """
    nothing = (ranks == FOREVER) & (edges == FOREVER)
    return from_ranks(~ranks if greatest else ranks, nothing, kind)
