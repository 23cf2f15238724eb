"""The operator for EXACT, and for what the engine does not run: plain Python over whole windows.

It keeps the events of each key since the start of its earliest open window, and gives whole windows
to the evaluator.
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
from elsinore.operators.open_end import WindowEnds
from elsinore.operators.slots import KeySlots
from elsinore.plan import Sharing, TrendUnit
from elsinore.trends.partials import merge, totals_fields
from elsinore.trends.sets.evaluator import SetsEvaluator, SetTotal, set_events
from elsinore.trends.statistics import SAVED_BY, TrendStatistics
from elsinore.trends.values import FOREVER, NEVER
from elsinore.trends.values.columns import out_of_order, slots_of, with_slots
from elsinore.trends.values.spread import from_means

MANY = 2**16  # rows that are worth evaluating before they must be
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
        windows = [member.query.window for member in unit.members]
        self._windows: set[Window] = {window for window in windows if window is not None}
        self._all_end = None not in windows
        self._window_ends = WindowEnds(windows)
        self._rows: list[pa.Table] = []
        self._new = self._kept = 0  # rows since the last evaluation, and those it left
        self._last: dict[int, int] = {}  # slot -> the time of its last event
        self._done: dict[int, int] = {}  # slot -> windows that end by then were evaluated
        self._current = (-1, -1)  # with `one_slot`: the key that goes on, and its group
        self._classes: set[int] = set()  # of events that occurred
        self._nothing = no_rows(totals_fields(unit, exact=unit.exact))
        self._totals: pa.RecordBatch = self._nothing

    @property
    def open_group(self) -> int:
        """With `one_slot`, the first group of which rows or totals wait; -1 if there is none."""
        if self._rows:
            return int(self._rows[0].column("group")[0].as_py())
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
        self._keep(pa.Table.from_batches([batch.filter(to_arrow(wanted))]))
        if self._new >= max(MANY, self._kept) and (self._one_slot or self._windows):
            self._evaluate(None, everything=False)
        if until is not None:
            return self.close(until)
        if not self._one_slot:
            return self._nothing
        groups = to_numpy(self._totals.column("group"))
        return self._take((groups != self._current[1]) & (groups != self.open_group))

    def _keep(self, rows: pa.Table) -> None:
        """Keep rows that are in time order."""
        if not rows.num_rows:
            return
        for key, time in zip(
            rows.column("key").to_pylist(), rows.column("time").to_pylist(), strict=True
        ):
            if time < self._last.get(key, _NEVER):
                raise out_of_order(time)
            self._last[key] = time
        if self._one_slot:
            key = rows.column("key")[-1].as_py()
            self._last = {key: self._last[key]}
        self._current = (rows.column("key")[-1].as_py(), rows.column("group")[-1].as_py())
        self._rows.append(rows)
        self._new += rows.num_rows

    def close(self, until: int | None = None) -> pa.RecordBatch:
        """Return the totals of all windows that end at or before `until`; None: of all windows."""
        self._evaluate(until, everything=until is None)
        if until is None:
            self._last.clear()
            return self._take(np.ones(self._totals.num_rows, np.bool_))
        return self._take(self._ends(self._totals) <= until)

    def _evaluate(self, until: int | None, *, everything: bool) -> None:
        """Evaluate the windows that are over; keep the rows that open windows need."""
        if not self._rows:
            return
        table = pa.concat_tables(self._rows)
        order = np.argsort(to_numpy(table.column("key")), kind="stable")
        table = table.take(to_arrow(order)).combine_chunks()
        codes, starts = np.unique(to_numpy(table.column("key")), return_index=True)
        edges, times = np.append(starts, table.num_rows), to_numpy(table.column("time"))
        ready = np.maximum(times[edges[1:] - 1], _NEVER if until is None else until)
        if self._one_slot:  # keys before the last one are over
            ready[codes != self._current[0]] = _FOREVER
        if everything:
            ready[:] = _FOREVER
        done = np.array([self._done.get(code, _NEVER) for code in codes.tolist()], np.int64)
        totals = self._evaluator.evaluate(set_events(self.unit, table, edges, done, ready))
        self._add(totals_of(self.unit, totals, to_numpy(table.column("group"))[starts]))
        size = table.nbytes + self._totals.nbytes
        self.statistics.state_bytes = max(self.statistics.state_bytes, size)
        self._forget_rows(table, order, times >= np.repeat(self._needed(ready), np.diff(edges)))
        left = {int(code) for rows in self._rows for code in rows.column("key").to_pylist()}
        ends = zip(codes.tolist(), ready.tolist(), strict=True)
        self._done = {code: end for code, end in ends if code in left}

    def _needed(self, ready: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the time from which rows are needed, if windows that end by `ready` are over."""
        needed = np.full(len(ready), _NEVER if not self._all_end else _FOREVER)
        is_open = ready < _FOREVER
        for window in self._windows:
            starts, _ = window.bounds(window.first(ready[is_open]))
            needed[is_open] = np.minimum(needed[is_open], starts)
        needed[~is_open] = _FOREVER
        return needed

    def _forget_rows(
        self, table: pa.Table, order: NDArray[np.int64], kept: NDArray[np.bool_]
    ) -> None:
        """Keep some rows, in the order in which they came."""
        places = np.flatnonzero(kept)
        places = places[np.argsort(order[places])]
        self._rows = [table.take(to_arrow(places))] if len(places) else []
        self._new, self._kept = 0, len(places)

    def _add(self, totals: pa.RecordBatch) -> None:
        """Put totals to those that wait: one row for each (query, group, window)."""
        both = pa.Table.from_batches([self._totals, totals])
        (self._totals,) = merge(self.unit, both).combine_chunks().to_batches() or [self._nothing]

    def _ends(self, totals: pa.RecordBatch) -> NDArray[np.int64]:
        """Return when the windows of totals end."""
        return self._window_ends.end_times(
            to_numpy(totals.column("query")), to_numpy(totals.column("window"))
        )

    def _take(self, chosen: NDArray[np.bool_]) -> pa.RecordBatch:
        """Remove some of the totals and return them."""
        given = self._totals.filter(to_arrow(chosen))
        self._totals = self._totals.filter(to_arrow(~chosen))
        self.statistics.totals += given.num_rows
        return given

    def deadline(self) -> int | None:
        """Return the end of the first window that has totals to return."""
        ends = self._ends(self._totals)
        times = [ends[ends != _FOREVER]]
        for rows in self._rows:
            done = [self._done.get(code, _NEVER) for code in rows.column("key").to_pylist()]
            came = to_numpy(rows.column("time"))
            for window in self._windows:
                starts, over = window.bounds(window.first(np.maximum(came, done)))
                times.append(over[starts <= came])
        return min((int(some.min()) for some in times if len(some)), default=None)

    def forget(self, slots: NDArray[np.int64]) -> None:
        """Make slots ready for other keys; nothing of their keys is open."""
        for slot in slots.tolist():
            self._last.pop(slot, None)
            self._done.pop(slot, None)

    def occupied(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the slots that keys have, and the time of each one's last event."""
        slots = sorted(self._last)
        return np.array(slots, np.int64), np.array([self._last[s] for s in slots], np.int64)

    def save(self) -> bytes:
        """Return all that is needed to go on later as if never stopped."""
        tables = {"rows": self._rows, "totals": [pa.Table.from_batches([self._totals])]}
        arrays: dict[str, NDArray[Any]] = {
            name: np.frombuffer(table_to_bytes(pa.concat_tables(several)), dtype=np.uint8)
            for name, several in tables.items()
            if several
        }
        arrays |= {
            "last": np.array([list(self._last), list(self._last.values())], np.int64),
            "done": np.array([list(self._done), list(self._done.values())], np.int64),
            "counts": np.array([self._new, self._kept, *self._current]),
            "classes": np.array(sorted(self._classes), np.int64),
            "modes": np.array(self._modes),
            "statistics": np.array([getattr(self.statistics, name) for name in _COUNTED]),
        }
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
        for totals in table_from_bytes(arrays["totals"].tobytes()).to_batches():
            operator._add(totals)
        operator._last = dict(zip(*arrays["last"].tolist(), strict=True))
        operator._done = dict(zip(*arrays["done"].tolist(), strict=True))
        new, kept, key, group = arrays["counts"].tolist()
        operator._new, operator._kept, operator._current = new, kept, (key, group)
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
