"""The operator for EXACT, and for what the engine does not run: plain Python over whole windows.

It keeps the events since the start of the earliest open window, and gives whole windows to the
evaluator when they end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.arrow import no_rows, to_arrow, to_numpy
from elsinore.kernels.saved import pack, reading_state, table_from_bytes, table_to_bytes, unpack
from elsinore.model.window import Window
from elsinore.numeric.exact import encode, extended
from elsinore.operators.slots import KeySlots, slots_of, with_slots
from elsinore.plan import Sharing, TrendUnit
from elsinore.trends.partials import from_means, merge, totals_fields
from elsinore.trends.sets.evaluator import SetsEvaluator, SetTotal, set_events
from elsinore.trends.statistics import SAVED_BY, TrendStatistics
from elsinore.trends.values import FOREVER, NEVER
from elsinore.trends.values.columns import out_of_order

_NEVER, _FOREVER = int(NEVER), int(FOREVER)
_COUNTED = ("events", "matched", "totals", "state_bytes")


class SetsOperator:
    """Aggregates trends in exact numbers."""

    def __init__(
        self,
        unit: TrendUnit,
        *,
        one_slot: bool = False,
        ordered: bool = False,
        sharing: Sharing = Sharing.DYNAMIC,  # noqa: ARG002 - nothing is shared
        record: bool = False,  # noqa: ARG002
    ) -> None:
        self.unit = unit
        self.statistics = TrendStatistics()
        self._modes = (one_slot, ordered)
        self._one_slot = one_slot
        self._evaluator = SetsEvaluator(unit, by_time=not ordered)
        windows = {member.query.window for member in unit.members}
        self._windows: set[Window] = {window for window in windows if window is not None}
        self._all_end = None not in windows
        self._rows: list[pa.Table] = []
        self._last: dict[int, int] = {}  # slot -> the time of its last event
        self._closed = _NEVER  # windows that end by then were evaluated
        self._current = (-1, -1)  # with `one_slot`: the key that goes on, and its group
        self._classes: set[int] = set()  # of events that occurred
        self._nothing = no_rows(totals_fields(unit, exact=unit.exact))

    @staticmethod
    def bytes_per_key(unit: TrendUnit) -> int:  # noqa: ARG004
        """Return how much memory each key takes, beside the events that are kept."""
        return 0

    @property
    def open_group(self) -> int:
        """With `one_slot`, the group of the key that goes on; -1 if there is none yet."""
        return self._current[1]

    def process(
        self, batch: pa.RecordBatch, slots: KeySlots | None = None, until: int | None = None
    ) -> pa.RecordBatch:
        """Take a batch; return totals that are final already (with `one_slot`), else none.

        slots: of keys; None: a key is its own slot. until: then do as `close` does. Raises
        InputError if a key's rows are not in time order.
        """
        self.statistics.events += batch.num_rows
        if slots is not None:
            batch = with_slots(batch, slots_of(batch, slots))
        classes = to_numpy(batch.column("class"))
        wanted = classes >= 0
        self.statistics.matched += int(wanted.sum())
        self._classes.update(np.unique(classes[wanted]).tolist())
        self.statistics.classes = len(self._classes)
        if self.unit.keeps_all:
            wanted = to_numpy(batch.column("key")) >= 0
        rows = pa.Table.from_batches([batch.filter(to_arrow(wanted))])
        if rows.num_rows:
            self._keep(rows)
        if until is not None:
            return self.close(until)
        return self._ended_keys() if self._one_slot and rows.num_rows else self._nothing

    def _keep(self, rows: pa.Table) -> None:
        """Keep rows that are in time order."""
        keys, times = rows.column("key").to_pylist(), rows.column("time").to_pylist()
        for key, time in zip(keys, times, strict=True):
            if time < self._last.get(key, _NEVER):
                raise out_of_order(time)
            self._last[key] = time
        self._current = (keys[-1], rows.column("group")[-1].as_py())
        self._rows.append(rows)

    def _ended_keys(self) -> pa.RecordBatch:
        """Return the totals of all keys but the last one; keep its rows alone."""
        key, _ = self._current
        self._last = {key: self._last[key]}
        rows = pa.concat_tables(self._rows)
        is_current = to_numpy(rows.column("key")) == key
        self._rows = [rows.filter(to_arrow(is_current))]
        return self._totals(rows.filter(to_arrow(~is_current)), _FOREVER)

    def close(self, until: int | None = None) -> pa.RecordBatch:
        """Return the totals of all windows that end at or before `until`; None: of all windows."""
        if until is None:
            self._last.clear()
        end = _FOREVER if until is None else until
        totals = self._nothing
        if self._rows:
            rows = pa.concat_tables(self._rows)
            totals = self._totals(rows, end)
            rows = rows.filter(to_arrow(to_numpy(rows.column("time")) >= self._needed(end)))
            self._rows = [rows] if rows.num_rows else []
        if until is not None:
            self._closed = max(self._closed, until)
        return totals

    def _totals(self, rows: pa.Table, until: int) -> pa.RecordBatch:
        """Return the totals of windows that end by then, and were not evaluated before."""
        self.statistics.state_bytes = max(self.statistics.state_bytes, rows.nbytes)
        order = np.argsort(to_numpy(rows.column("key")), kind="stable")
        rows = rows.take(to_arrow(order)).combine_chunks()
        _, starts = np.unique(to_numpy(rows.column("key")), return_index=True)
        edges = np.append(starts, rows.num_rows)
        totals = self._evaluator.evaluate(set_events(self.unit, rows, edges), self._closed, until)
        batch = totals_of(self.unit, totals, to_numpy(rows.column("group"))[starts])
        merged = merge(self.unit, pa.Table.from_batches([batch]))
        self.statistics.totals += merged.num_rows
        return next(iter(merged.combine_chunks().to_batches()), self._nothing)

    def _needed(self, until: int) -> int:
        """Return the time from which rows are needed, if windows that end by `until` are over."""
        if until == _FOREVER:
            return _FOREVER
        starts = [window.bounds(window.first(until))[0] for window in self._windows]
        return min(starts) if self._all_end else _NEVER

    def deadline(self) -> int | None:
        """Return the end of the first window that has totals to return."""
        ends = []
        for rows in self._rows:
            came = to_numpy(rows.column("time"))
            for window in self._windows:
                starts, over = window.bounds(window.first(np.maximum(came, self._closed)))
                ends += [int(some.min()) for some in (over[starts <= came],) if len(some)]
        return min(ends, default=None)

    def forget(self, slots: NDArray[np.int64]) -> None:
        """Make slots ready for other keys; nothing of their keys is open."""
        for slot in slots.tolist():
            self._last.pop(slot, None)

    def occupied(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the slots that keys have, and the time of each one's last event."""
        slots = sorted(self._last)
        return np.array(slots, np.int64), np.array([self._last[s] for s in slots], np.int64)

    def save(self) -> bytes:
        """Return all that is needed to go on later as if never stopped."""
        arrays: dict[str, NDArray[Any]] = {
            "last": np.array([list(self._last), list(self._last.values())], np.int64),
            "counts": np.array([self._closed, *self._current]),
            "classes": np.array(sorted(self._classes), np.int64),
            "modes": np.array(self._modes),
            "statistics": np.array([getattr(self.statistics, name) for name in _COUNTED]),
        }
        if self._rows:
            rows = table_to_bytes(pa.concat_tables(self._rows))
            arrays["rows"] = np.frombuffer(rows, dtype=np.uint8)
        return pack(SAVED_BY, self.unit.fingerprint, arrays)

    @classmethod
    @reading_state(SAVED_BY)
    def load(cls, unit: TrendUnit, blob: bytes) -> SetsOperator:
        """Return the operator that `save` made the bytes of.

        Raises StateError if the bytes are damaged or of another version or workload.
        """
        arrays = unpack(SAVED_BY, unit.fingerprint, blob)
        one_slot, ordered = arrays["modes"].tolist()
        operator = cls(unit, one_slot=one_slot, ordered=ordered)
        if "rows" in arrays:
            operator._rows = [table_from_bytes(arrays["rows"].tobytes())]
        operator._last = dict(zip(*arrays["last"].tolist(), strict=True))
        operator._closed, key, group = arrays["counts"].tolist()
        operator._current = (key, group)
        operator._classes = set(arrays["classes"].tolist())
        operator.statistics.classes = len(operator._classes)
        for name, value in zip(_COUNTED, arrays["statistics"].tolist(), strict=True):
            setattr(operator.statistics, name, value)
        return operator


def totals_of(unit: TrendUnit, totals: Sequence[SetTotal], groups: NDArray[Any]) -> pa.RecordBatch:
    """Return sums over trends as totals (`elsinore.trends.partials`).

    groups: of the keys.
    """
    schema = totals_fields(unit, exact=unit.exact)
    columns: dict[str, list[Any]] = {
        "query": [total.query for total in totals],
        "group": [groups[total.key] for total in totals],
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
            total.extremes[x] if x < len(total.extremes) else _FOREVER for total in totals
        ]
    return pa.RecordBatch.from_pydict(columns, schema=schema)
