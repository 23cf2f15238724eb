"""From rows that wait to what a path's evaluator reads, and from its sums to totals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.plan import Path, Sharing, TrendUnit
from elsinore.plan.paths import goes_in_steps
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
