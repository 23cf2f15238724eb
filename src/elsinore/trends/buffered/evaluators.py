"""From rows that wait to what a path's evaluator reads, and from its sums to totals."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.arrow import to_numpy
from elsinore.expressions.lengths import is_length, is_time, ticks, unit_of
from elsinore.model.moments import MICROSECOND, Moment, Span
from elsinore.numeric.exact import encode, extended
from elsinore.plan import Path, Sharing, TrendUnit
from elsinore.plan.paths import goes_in_steps
from elsinore.trends.core.arrays import FOREVER
from elsinore.trends.counted import as_guarded, is_counted
from elsinore.trends.graph import GraphEvaluator
from elsinore.trends.graph.columns import ComparedColumns, keeps_codes
from elsinore.trends.graph.pairs import by_pattern
from elsinore.trends.index import Closed, Closing, Indexes
from elsinore.trends.keyed import Codes, KeyedEvents, WindowTotals
from elsinore.trends.partials import TotalsRoom, totals_fields
from elsinore.trends.rows.due import Due
from elsinore.trends.rows.encoded import Encoded, EncodedRows, Rows, encoded_rows
from elsinore.trends.rows.plain import PlainRows
from elsinore.trends.statistics import SharingStatistics
from elsinore.trends.values.columns import addends_of
from elsinore.trends.values.shifts import Shifts
from elsinore.trends.values.spread import from_means

_DIGITS = 15  # so many digits of a decimal a double tells apart


class Evaluator(Protocol):
    """Sums up the trends of whole windows.

    `in_any_order`: it reads rows as they came as well; then no key ever stays.
    """

    in_any_order: bool

    def rows(self, schema: pa.Schema, *, until_end: bool) -> Rows:
        """Return what rows of batches wait in; until_end: nothing is final before there is none."""

    def evaluate(self, rows: Rows, due: Due) -> pa.RecordBatch:
        """Return the totals of all windows that are due, of each key by itself."""

    def close_key(self, rows: Rows, done: int, until: int) -> Closed | None:
        """Return the totals of all windows of the only key that are due by a time, as of rows.

        None: it can do no better than `evaluate`.
        """

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


class _Whole:
    """Evaluates whole windows and keeps nothing."""

    in_any_order = False

    def __init__(self, unit: TrendUnit) -> None:
        self.unit = unit
        self.statistics: list[SharingStatistics] = []
        self._totals = TotalsRoom(totals_fields(unit, exact=False), 0)

    def rows(self, schema: pa.Schema, *, until_end: bool) -> Rows:
        may_keep = self.in_any_order and until_end
        return PlainRows(self.unit, schema, may_keep=may_keep)

    def close_key(self, rows: Rows, done: int, until: int) -> Closed | None:  # noqa: ARG002
        return None

    def may_keep(self, schema: pa.Schema) -> bool:  # noqa: ARG002
        return False

    def forget(self, key: int) -> None: ...

    def _of(self, totals: WindowTotals, due: Due, shifts: Shifts | None = None) -> pa.RecordBatch:
        """Return totals as they are given out; shifts: of keys."""
        columns: dict[str, NDArray[Any]] = {
            "query": totals.query,
            "group": due.groups[totals.key],
            "window": totals.window,
        }
        if shifts is not None:
            of_keys = shifts.columns(totals.query, due.keys[totals.key], totals.window)
            columns |= {f"shift{k}": row for k, row in enumerate(of_keys)}
        for f in range(totals.cells.shape[1]):
            columns[f"cell{f}"], columns[f"power{f}"] = totals.cells[:, f], totals.powers[:, f]
        for x in range(totals.extremes.shape[1]):
            columns[f"extreme{x}"] = totals.extremes[:, x]
        return self._totals.of([columns[name] for name in self._totals.schema.names])


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
        from elsinore.trends.hamlet import HamletEvaluator  # noqa: PLC0415 - a room that few ask

        super().__init__(unit)
        self._inner = HamletEvaluator(unit, sharing=sharing, by_time=by_time, record=record)
        self.statistics = self._inner.statistics
        self._shifts = Shifts(unit)  # of the keys that stay

    @property
    def bytes_held(self) -> int:
        return self._inner.bytes_held

    def rows(self, schema: pa.Schema, *, until_end: bool) -> Rows:
        encoded = None if until_end else encoded_rows(self.unit, schema)
        return encoded or super().rows(schema, until_end=until_end)

    def may_keep(self, schema: pa.Schema) -> bool:
        return _keeps_codes(self.unit, schema)

    def forget(self, key: int) -> None:
        self._inner.forget(key)
        self._shifts.keep(self._shifts.groups != key)

    def evaluate(self, rows: Rows, due: Due) -> pa.RecordBatch:
        read = rows.read(due.wanted)
        events = _keyed(self.unit, read, due, self._shifts)
        totals = self._inner.evaluate(events, read.columns, due.staying)
        given_out = self._of(totals, due, self._shifts)
        if self.unit.squared:
            staying = np.array(list(due.staying), np.int64)
            self._shifts.keep(np.isin(self._shifts.groups, staying))
            if len(staying):
                self._shifts.forget(int(due.ready[np.isin(due.keys, staying)].min()))
        return given_out


class _Graph(_Whole):
    def __init__(self, unit: TrendUnit, by_time: bool, *, share: bool) -> None:
        super().__init__(unit)
        self._index = Indexes(unit)
        self._inner = GraphEvaluator(unit, by_time=by_time, share=share, index=self._index)
        self.in_any_order = all(map(goes_in_steps, by_pattern(unit).unit.guarded))
        # kernels keep where the rows of one are, so that it is for them alone
        self._room = TotalsRoom(totals_fields(unit, exact=False), len(unit.squared))
        self._closing: Closing | None = None

    @property
    def bytes_held(self) -> int:
        return self._inner.bytes_held

    def rows(self, schema: pa.Schema, *, until_end: bool) -> Rows:
        encoded = None if self.in_any_order else encoded_rows(self.unit, schema)
        return encoded or super().rows(schema, until_end=until_end)

    def evaluate(self, rows: Rows, due: Due) -> pa.RecordBatch:
        if due.slots is not None and not self.unit.squared and _keeps_codes(self.unit, rows.schema):
            return self._of(self._in_stretches(rows, due, due.slots), due)
        read, shifts = rows.read(due.wanted), Shifts(self.unit)
        events = _keyed(self.unit, read, due, shifts)
        return self._of(self._inner.evaluate(events, read.columns), due, shifts)

    def _in_stretches(self, rows: Rows, due: Due, slots: Codes) -> WindowTotals:
        """Evaluate rows as they came, whose columns are read when they are needed."""
        shifts = Shifts(self.unit)  # none: nothing is squared

        def read(chosen: slice) -> tuple[KeyedEvents, ComparedColumns]:
            some, part = rows.read(chosen), due._replace(slots=slots[chosen])
            return _keyed(self.unit, some, part, shifts), some.columns

        none, columns = read(slice(0, 0))
        times, codes = rows.column("time"), rows.column("class")
        events = replace(none, times=times, codes=codes, slots=slots)
        return self._inner.evaluate(events, columns, read)

    def close_key(self, rows: Rows, done: int, until: int) -> Closed | None:
        if self.unit.squared or not isinstance(rows, EncodedRows):
            return None
        if self._closing is None or not self._closing.serves(self._index, rows):
            self._closing = Closing.of(self._inner, self._index, rows, self._room)
        return None if self._closing is None else self._closing.close(rows, done, until)


class _Sets(_Whole):
    def __init__(self, unit: TrendUnit, by_time: bool) -> None:
        from elsinore.trends.sets import SetsEvaluator  # noqa: PLC0415 - a room that few ask

        super().__init__(unit)
        self._inner = SetsEvaluator(unit, by_time=by_time)
        self.bytes_held = 0  # of objects, and not of arrays: they are not counted

    def evaluate(self, rows: Rows, due: Due) -> pa.RecordBatch:
        from elsinore.trends.sets import SetEvents  # noqa: PLC0415

        assert isinstance(rows, PlainRows)
        unit, table = self.unit, rows.table(due.wanted)
        values = {name: _compared(table.column(f"pair:{name}")) for name in unit.compared}
        values |= {name: _values(table.column(f"sum:{name}")) for name in unit.summed}
        totals = self._inner.evaluate(
            SetEvents(
                starts=due.starts,
                done=due.done,
                until=due.until,
                times=to_numpy(table.column("time")),
                codes=to_numpy(table.column("class")),
                rows=values,
                ranks={name: table.column(f"rank:{name}").to_pylist() for name in unit.ranked},
            )
        )
        schema = totals_fields(unit, exact=unit.exact)
        shifts = np.zeros((0 if unit.exact else len(unit.squared), len(totals)))
        if not unit.exact:
            for row, total in enumerate(totals):
                for place, shift in from_means(unit, total.query, total.cells):
                    shifts[place, row] = shift
        linear = max(len(member.aggregation.linear) for member in unit.members)
        extremes = sum(name.startswith("extreme") for name in schema.names)
        keys = np.array([total.key for total in totals], dtype=np.int64)
        columns: dict[str, list[Any]] = {
            "query": [total.query for total in totals],
            "group": due.groups[keys].tolist(),
            "window": [total.window for total in totals],
        }
        for f in range(linear):
            numbers = [total.cells[f] if f < len(total.cells) else 0 for total in totals]
            if unit.exact:
                columns[f"digits{f}"] = [encode(number) for number in numbers]
            else:
                pairs = [extended(number) for number in numbers]
                columns[f"cell{f}"] = [mantissa for mantissa, _ in pairs]
                columns[f"power{f}"] = [power for _, power in pairs]
        for x in range(extremes):
            columns[f"extreme{x}"] = [
                total.extremes[x] if x < len(total.extremes) else int(FOREVER) for total in totals
            ]
        columns |= {f"shift{k}": of_rows for k, of_rows in enumerate(shifts.tolist())}
        return pa.RecordBatch.from_pydict(columns, schema=schema)


def _keeps_codes(unit: TrendUnit, schema: pa.Schema) -> bool:
    """Return whether what is compared is so as the same numbers in every batch."""
    return keeps_codes(schema.field(f"pair:{name}").type for name in unit.compared)


def _keyed(unit: TrendUnit, read: Encoded, due: Due, shifts: Shifts) -> KeyedEvents:
    """Return events that are due; shifts: of keys, chosen where there are none yet."""
    values, present = read.values, read.present
    if unit.squared:
        classes = read.codes
        if read.classes is not None:
            classes = np.array([*read.classes, -1], dtype=np.int64)[read.codes]
        keys = due.keys[due.key_of_rows]
        values, present = addends_of(unit, values, present, classes, read.times, keys, shifts)
    return KeyedEvents(
        starts=due.starts,
        done=due.done,
        until=due.until,
        times=read.times,
        codes=read.codes,
        values=values,
        present=present,
        orders=read.orders,
        ordered=read.ordered,
        keys=due.keys,
        classes=read.classes,
        slots=due.slots,
        occur=read.occur,
    )


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


def _compared(column: pa.ChunkedArray) -> list[Any]:
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
