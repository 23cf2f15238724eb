"""From buffered rows to what a path's evaluator reads, and from its sums to totals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.numeric.exact import encode, extended
from elsinore.plan import Path, Sharing, TrendUnit
from elsinore.plan.paths import goes_in_steps
from elsinore.trends.columns import addend_columns, order_columns, shift_of
from elsinore.trends.core.arrays import FOREVER
from elsinore.trends.counted import as_guarded, is_counted
from elsinore.trends.due import Due
from elsinore.trends.graph import ComparedColumns, GraphEvaluator
from elsinore.trends.graph.columns import keeps_codes
from elsinore.trends.graph.pairs import by_pattern
from elsinore.trends.hamlet import HamletEvaluator
from elsinore.trends.index import Closed, Closing, Indexes
from elsinore.trends.keyed import KeyedEvents, WindowTotals
from elsinore.trends.partials import TotalsRoom, totals_fields
from elsinore.trends.rows import Encoded, EncodedRows, encoded_rows
from elsinore.trends.sets import SetEvents, SetsEvaluator
from elsinore.trends.statistics import SharingStatistics

_DIGITS = 15  # so many digits of a decimal a double tells apart


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of an operator's batches, key after key, with what is done and what is to be done.

    `done`, `until`: [key] windows that end at or before them are given out already, or now; `keys`:
    the operator's code of each; `staying`: those of them that the evaluator is to keep, with their
    open windows, until it is given what comes after `until`, an edge of windows. `slots`: [row] ->
    key, where rows are as they came; then no rows are left out and `starts` says nothing.
    `classes`: all that occur, ascending, and maybe more; None: not known.
    """

    table: pa.Table
    starts: NDArray[np.int64]
    done: NDArray[np.int64]
    until: NDArray[np.int64]
    keys: NDArray[np.int64]
    staying: frozenset[int] = frozenset()
    slots: NDArray[np.int32] | None = None
    classes: NDArray[np.int64] | None = None


class Evaluator(Protocol):
    """Sums up the trends of whole windows; totals have `key`, a place in `keys`, for `group`.

    `in_any_order`: parts may have rows as they came; then no key is ever `staying`.
    """

    in_any_order: bool

    def rows(self, schema: pa.Schema) -> EncodedRows | None:
        """Return what such rows are to be kept in for `evaluate_rows`; None: as they came."""

    def evaluate_rows(self, rows: Encoded, due: Due) -> pa.RecordBatch:
        """Return the totals of all windows that are due, of each key by itself."""

    def close_key(self, rows: EncodedRows, done: int, until: int) -> Closed | None:
        """Return the totals of all windows of the only key that are due by a time, as of rows."""

    @property
    def statistics(self) -> list[SharingStatistics]:
        """What was shared so far, for each sharing set."""

    @property
    def bytes_held(self) -> int:
        """How much memory the last call took at most, beside the rows and the totals."""

    def may_keep(self, schema: pa.Schema) -> bool:
        """Return whether keys of such rows can stay; where none can, none is ever `staying`."""

    def forget(self, key: int) -> None:
        """Keep nothing of a key."""

    def evaluate(self, part: Part) -> pa.Table:
        """Return the totals of all windows that end after `done` and at or before `until`."""


class _Whole:
    """Evaluates whole windows and keeps nothing."""

    in_any_order = False

    def rows(self, schema: pa.Schema) -> EncodedRows | None:  # noqa: ARG002
        return None

    def evaluate_rows(self, rows: Encoded, due: Due) -> pa.RecordBatch:
        raise NotImplementedError

    def close_key(self, rows: EncodedRows, done: int, until: int) -> Closed | None:
        raise NotImplementedError

    def may_keep(self, schema: pa.Schema) -> bool:  # noqa: ARG002
        return False

    def forget(self, key: int) -> None: ...


def evaluator_of(unit: TrendUnit, *, by_time: bool, sharing: Sharing, record: bool) -> Evaluator:
    """Return the evaluator of a unit's path.

    `by_time`: events of one time do not precede one another; else each is its own moment.
    """
    if unit.path is Path.SETS or unit.exact:
        return _Sets(unit, by_time)
    if unit.path is Path.GRAPH:
        return _Graph(unit, by_time, share=sharing is not Sharing.NEVER)
    if is_counted(unit, sharing, record=record):
        return _Graph(as_guarded(unit), by_time, share=True)
    return _Shared(unit, by_time, sharing, record)


class _Shared(_Whole):
    def __init__(self, unit: TrendUnit, by_time: bool, sharing: Sharing, record: bool) -> None:
        self.unit = unit
        self._inner = HamletEvaluator(unit, sharing=sharing, by_time=by_time, record=record)
        self._shifts: dict[int, NDArray[np.float64]] = {}  # of the keys that stay

    @property
    def statistics(self) -> list[SharingStatistics]:
        return self._inner.statistics

    @property
    def bytes_held(self) -> int:
        return self._inner.bytes_held

    def may_keep(self, schema: pa.Schema) -> bool:
        return keeps_codes(schema.field(f"pair:{name}").type for name in self.unit.compared)

    def forget(self, key: int) -> None:
        self._inner.forget(key)
        self._shifts.pop(key, None)

    def evaluate(self, part: Part) -> pa.Table:
        columns = ComparedColumns.of(_raw(self.unit, part.table))
        known = np.full((len(self.unit.squared), len(part.keys)), np.nan)
        for key, of_key in self._shifts.items():  # few stay, of however many keys
            known[:, part.keys == key] = of_key[:, np.newaxis]
        events, shifts = _keyed(self.unit, part, known)
        if self.unit.squared:
            places = {key: int(np.argmax(part.keys == key)) for key in part.staying}
            self._shifts = {key: shifts[:, place] for key, place in places.items()}
        return _totals(self.unit, self._inner.evaluate(events, columns, part.staying), shifts)


class _Graph(_Whole):
    def __init__(self, unit: TrendUnit, by_time: bool, *, share: bool) -> None:
        self.unit = unit
        self.statistics: list[SharingStatistics] = []
        self._index = Indexes(unit)
        self._inner = GraphEvaluator(unit, by_time=by_time, share=share, index=self._index)
        self.in_any_order = all(map(goes_in_steps, by_pattern(unit).unit.guarded))
        schema = totals_fields(unit, exact=False)
        squared = len(unit.squared)
        # kernels keep where the rows of one are, so that it is for them alone
        self._room, self._batches = TotalsRoom(schema, squared), TotalsRoom(schema, squared)
        self._closing: Closing | None = None

    @property
    def bytes_held(self) -> int:
        return self._inner.bytes_held

    def evaluate(self, part: Part) -> pa.Table:
        columns = ComparedColumns.of(_raw(self.unit, part.table))
        events, shifts = _keyed(self.unit, part)
        return _totals(self.unit, self._inner.evaluate(events, columns), shifts)

    def rows(self, schema: pa.Schema) -> EncodedRows | None:
        return None if self.in_any_order else encoded_rows(self.unit, schema)

    def evaluate_rows(self, rows: Encoded, due: Due) -> pa.RecordBatch:
        events = KeyedEvents(
            starts=due.starts,
            done=due.done,
            until=due.ready,
            times=rows.times,
            codes=rows.codes,
            values=rows.values,
            present=rows.present,
            orders=rows.orders,
            ordered=rows.ordered,
            keys=due.keys,
            classes=rows.classes,
        )
        found = self._inner.evaluate(events, rows.columns)
        columns = _sums(found)
        columns |= {"query": found.query, "group": due.groups[found.key], "window": found.window}
        return self._batches.of([columns[name] for name in self._batches.schema.names])

    def close_key(self, rows: EncodedRows, done: int, until: int) -> Closed | None:
        if self._closing is None or not self._closing.serves(self._index, rows):
            self._closing = Closing.of(self._inner, self._index, rows, self._room)
        return None if self._closing is None else self._closing.close(rows, done, until)


class _Sets(_Whole):
    def __init__(self, unit: TrendUnit, by_time: bool) -> None:
        self.unit = unit
        self.statistics: list[SharingStatistics] = []
        self._inner = SetsEvaluator(unit, by_time=by_time)
        self.bytes_held = 0  # of objects, and not of arrays: they are not counted

    def evaluate(self, part: Part) -> pa.Table:
        unit, table = self.unit, part.table
        rows = {name: _compared(table.column(f"pair:{name}")) for name in unit.compared}
        rows |= {name: _values(table.column(f"sum:{name}")) for name in unit.summed}
        key, shifts = _key_of_rows(part), np.empty((0 if unit.exact else len(unit.squared), 0))
        if not unit.exact:
            _, _, shifts = addend_columns(unit, table, key, shifts)
        found = self._inner.evaluate(
            SetEvents(
                starts=part.starts,
                done=part.done,
                until=part.until,
                times=_ints(table, "time"),
                codes=_ints(table, "class"),
                rows=rows,
                ranks={name: table.column(f"rank:{name}").to_pylist() for name in unit.ranked},
                shifts={
                    (name, event_type): of_rows
                    for (name, types), of_rows in zip(
                        unit.squared, shift_of(shifts, key).tolist(), strict=not unit.exact
                    )
                    for event_type in types
                },
            )
        )
        schema = _keyed_schema(unit, exact=unit.exact)
        linear = max(len(one.aggregation.linear) for one in unit.members)
        extremes = sum(name.startswith("extreme") for name in schema.names)
        columns: dict[str, list[Any]] = {
            "query": [total.query for total in found],
            "key": [total.key for total in found],
            "window": [total.window for total in found],
        }
        for f in range(linear):
            numbers = [total.cells[f] if f < len(total.cells) else 0 for total in found]
            if unit.exact:
                columns[f"digits{f}"] = [encode(number) for number in numbers]
            else:
                pairs = [extended(number) for number in numbers]
                columns[f"cell{f}"] = [mantissa for mantissa, _ in pairs]
                columns[f"power{f}"] = [power for _, power in pairs]
        for x in range(extremes):
            columns[f"extreme{x}"] = [
                total.extremes[x] if x < len(total.extremes) else int(FOREVER) for total in found
            ]
        keys = np.array([total.key for total in found], dtype=np.int64)
        columns |= {
            f"shift{k}": of_keys for k, of_keys in enumerate(shift_of(shifts, keys).tolist())
        }
        return pa.table(columns, schema=schema)


def _raw(unit: TrendUnit, table: pa.Table) -> dict[str, pa.Array]:
    return {name: _whole(table.column(f"pair:{name}")) for name in unit.compared}


def _key_of_rows(part: Part) -> NDArray[Any]:
    if part.slots is not None:
        return part.slots
    return np.repeat(np.arange(len(part.starts) - 1), np.diff(part.starts))


def _keyed(
    unit: TrendUnit, part: Part, known: NDArray[np.float64] | None = None
) -> tuple[KeyedEvents, NDArray[np.float64]]:
    """Return a part's events, and the shifts of its keys [place in `unit.squared`, key].

    known: those that are known already, NaN for others.
    """
    shifts = np.empty((len(unit.squared), 0)) if known is None else known
    groups = _key_of_rows(part) if unit.squared else shifts
    values, present, shifts = addend_columns(unit, part.table, groups, shifts)
    orders, ordered = order_columns(unit, part.table)
    events = KeyedEvents(
        starts=part.starts,
        done=part.done,
        until=part.until,
        times=_ints(part.table, "time"),
        codes=_ints(part.table, "class") if part.slots is None else _codes(part.table),
        values=values,
        present=present,
        orders=orders,
        ordered=ordered,
        keys=part.keys,
        slots=part.slots,
        occur=part.classes,
    )
    return events, shifts


def _codes(table: pa.Table) -> NDArray[np.int32]:
    return np.ascontiguousarray(table.column("class").to_numpy(), dtype=np.int32)


def _totals(unit: TrendUnit, found: WindowTotals, shifts: NDArray[np.float64]) -> pa.Table:
    schema = _keyed_schema(unit, exact=False)
    columns = {"query": found.query, "key": found.key, "window": found.window} | _sums(found)
    columns |= {f"shift{k}": column for k, column in enumerate(shift_of(shifts, found.key))}
    arrays = [pa.array(np.ascontiguousarray(columns[name])) for name in schema.names]
    return pa.Table.from_arrays(arrays, schema=schema)


def _sums(found: WindowTotals) -> dict[str, NDArray[Any]]:
    """Return the columns of sums and extremes by name."""
    columns: dict[str, NDArray[Any]] = {}
    for f in range(found.cells.shape[1]):
        columns[f"cell{f}"], columns[f"power{f}"] = found.cells[:, f], found.powers[:, f]
    for x in range(found.extremes.shape[1]):
        columns[f"extreme{x}"] = found.extremes[:, x]
    return columns


def _keyed_schema(unit: TrendUnit, *, exact: bool) -> pa.Schema:
    schema = totals_fields(unit, exact=exact)
    return schema.set(schema.get_field_index("group"), pa.field("key", pa.int32()))


def _values(column: pa.ChunkedArray) -> list[Any]:
    """Return a column's values as Python's, NaN as None, whole decimals as integers."""
    if pa.types.is_decimal(column.type) and column.type.scale <= 0:
        return [None if value is None else int(value) for value in column.to_pylist()]
    return [
        None if isinstance(value, float) and math.isnan(value) else value
        for value in column.to_pylist()
    ]


def _compared(column: pa.ChunkedArray) -> list[Any]:
    """Return the values of a column that is compared, decimals as doubles where that is exact.

    Other decimals stay: one can compare them with one another, and compute nothing with them.
    """
    kind = column.type
    if pa.types.is_decimal(kind) and kind.scale > 0 and kind.precision <= _DIGITS:
        return [None if value is None else float(value) for value in column.to_pylist()]
    return _values(column)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _ints(table: pa.Table, name: str) -> NDArray[np.int64]:
    return np.ascontiguousarray(table.column(name).to_numpy(), dtype=np.int64)
