"""The operator of the paths that keep events: rows are buffered until their windows end.

What is kept is what open windows need and no more: the events of each key since the start of its
earliest open window. Whole windows go to the path's evaluator, all of a batch's keys at once;
cutting batches elsewhere, or stopping in between, cannot change what it sees.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.errors import StateError
from elsinore.kernels import enter
from elsinore.kernels.saved import pack, unpack
from elsinore.kernels.sorting import read_only
from elsinore.operators.slots import KeySlots
from elsinore.plan import Sharing, TrendUnit
from elsinore.trends.arrangement import ArrivalOrder, KeyOrder
from elsinore.trends.columns import numbers_of, out_of_order, with_slots
from elsinore.trends.core.arrays import FOREVER, NEVER
from elsinore.trends.due import bounds_of, done_of, due_of_keys, due_of_one, ready_of
from elsinore.trends.evaluators import Evaluator, Part, evaluator_of
from elsinore.trends.index import Closed
from elsinore.trends.keyed import Ints, first_out_of_order, occurring
from elsinore.trends.partials import merge, totals_fields
from elsinore.trends.rows import EncodedRows, restored
from elsinore.trends.statistics import SAVED_BY, TrendStatistics, sets_to_text, take_up
from elsinore.trends.staying import Staying

CHUNK = 2**16  # rows that are worth a call of the evaluator
PIECE = 2**20  # rows that are encoded at once: fresh memory costs as much as what is done with it
FEW_LEFT_OUT = 1.5  # rows for each wanted one of which copies of the wanted ones cost more
_NEVER = int(NEVER)


class BufferedTrends:
    """Aggregates trends of queries that look at single events; the contract is `TrendOperator`'s.

    Beside its columns a batch has `pair:<name>` for each attribute of `unit.compared`, as it is in
    the input.
    """

    def __init__(
        self,
        unit: TrendUnit,
        *,
        one_slot: bool = False,
        ordered: bool = False,
        sharing: Sharing = Sharing.DYNAMIC,
        record: bool = False,
    ) -> None:
        self.unit = unit
        self.statistics = TrendStatistics()
        self._one_slot = one_slot
        self._ordered = ordered
        self._modes = (sharing, record)
        self._evaluator: Evaluator = evaluator_of(
            unit, by_time=not ordered, sharing=sharing, record=record
        )
        windows = [one.query.window for one in unit.members]
        self._windows = tuple({window for window in windows if window is not None})
        self._is_windowed = np.array([window is not None for window in windows])
        # [query] its first window's end, and from one of its windows to the next
        self._first_end = np.array([w.bounds(0)[1] if w else FOREVER for w in windows])
        self._step = np.array([w.step if w else 0 for w in windows], dtype=np.int64)
        # whether anything is final before the stream's end
        self._ends_early = one_slot or bool(self._windows)
        self._all_end = bool(self._is_windowed.all())
        self._keeps_all = unit.keeps_all
        # events that no state takes may stay among the others: nothing is asked of a key's last row
        self._may_keep = self._evaluator.in_any_order and not self._ends_early
        self._rows: list[pa.Table] = []  # as they came, where they cannot be encoded at once
        self._encoded: EncodedRows | None = None
        self._has_begun = False  # whether a batch was seen, so that it is known which it is
        self._pending = 0  # rows that came since the evaluator was last called
        self._kept = 0  # rows that it left for open windows
        self._last = np.full(1, NEVER)  # [key] -> time of its last event
        self._done: dict[int, int] = {}  # key -> windows that end by then are given out
        self._staying = Staying(self._evaluator, self._windows)
        self._current = (-1, -1)  # with `one_slot`: the key that goes on, and its group
        self._ready = _NEVER  # their windows end at or before it
        schema = totals_fields(unit, exact=unit.exact)
        self._nothing = pa.RecordBatch.from_pylist([], schema=schema)
        # those that wait, one row for each (query, group, window)
        self._totals: pa.RecordBatch = self._nothing
        self._row = 8 * len(schema)  # bytes of a row of totals, at most
        self._classes = np.zeros(0, dtype=np.int64)  # the classes that occurred, ascending

    @property
    def open_group(self) -> int:
        """With `one_slot`, the first group of which rows or totals wait; -1 where none does."""
        if self._encoded is not None and self._encoded.count:
            return int(self._encoded.column("group")[0])
        return int(self._rows[0].column("group")[0].as_py()) if self._rows else self._current[1]

    def process(
        self, batch: pa.RecordBatch, slots: KeySlots | None = None, until: int | None = None
    ) -> pa.RecordBatch:
        """Take a batch; return totals that are final already (with `one_slot`), else none.

        slots: of keys; None: a key is its own slot. until: then do as `close` does. Raises
        InputError where a key's rows are not in time order.
        """
        if not self._has_begun:
            self._encoded, self._has_begun = self._evaluator.rows(batch.schema), True
        self.statistics.events += batch.num_rows
        size = batch.num_rows
        if self._ends_early and self._encoded is not None:
            size = min(size, PIECE)
        for first in range(0, batch.num_rows, size or 1):
            self._add(batch.slice(first, size), slots)
        if not self._one_slot:
            return self._nothing if until is None else self.close(until)
        groups = self._totals.column("group").to_numpy()
        waiting = [part.column("group").to_numpy() for part in self._rows]
        if self._encoded is not None:
            waiting.append(self._encoded.column("group"))
        return self._take(~np.isin(groups, np.concatenate([*waiting, [self._current[1]]])))

    def _add(self, batch: pa.RecordBatch, slots: KeySlots | None) -> None:
        """Keep the rows of a batch that are wanted, and evaluate what is due if they are many."""
        if self._encoded is not None:
            self._add_encoded(self._encoded, batch, slots)
        else:
            self._add_as_they_came(batch, slots)
        if self._ends_early and self._pending >= max(CHUNK, self._kept):
            self._evaluate(None, everything=False)

    def _add_encoded(
        self, rows: EncodedRows, batch: pa.RecordBatch, slots: KeySlots | None
    ) -> None:
        current = self._current[0] if self._one_slot else None
        taken = rows.add(batch, slots, self._last, current)
        self._last = taken.last
        self._pending += taken.rows
        self.statistics.matched += taken.matched
        self.statistics.classes = len(rows.classes)
        if self._one_slot and taken.rows:
            self._current = (taken.current, int(rows.column("group")[-1]))

    def _add_as_they_came(self, batch: pa.RecordBatch, slots: KeySlots | None) -> None:
        codes = numbers_of(batch, "class", np.int64)
        keys, times = numbers_of(batch, "key", np.int32), numbers_of(batch, "time", np.int64)
        if slots is not None:
            keys = slots.of(keys, times)
        wanted = codes >= 0
        matched = int(np.count_nonzero(wanted))
        self.statistics.matched += matched
        if self._keeps_all or (self._may_keep and FEW_LEFT_OUT * matched >= len(codes)):
            wanted = keys >= 0
        if not wanted.all():
            batch = batch.filter(pa.array(wanted))
            keys = keys[wanted] if slots is not None else numbers_of(batch, "key", np.int32)
            times, codes = numbers_of(batch, "time", np.int64), numbers_of(batch, "class", np.int64)
        if len(keys) == 0:
            return
        self._check_order(keys, times, codes)
        self._staying.leave_late(keys, times)
        self._classes = np.union1d(self._classes, occurring(codes))
        self.statistics.classes = len(self._classes)
        batch = batch if slots is None else with_slots(batch, keys)
        self._rows.append(pa.Table.from_batches([batch]))
        self._pending += len(keys)
        if self._one_slot:
            self._current = (int(keys[-1]), batch.column("group")[-1].as_py())

    def close(self, until: int | None = None) -> pa.RecordBatch:
        """Return the totals of all windows that end at or before `until`; None: of all windows."""
        self._evaluate(until, everything=until is None)
        if until is None or self._ready <= until:
            return self._take(None)
        return self._take(self._window_ends(self._totals) <= until)

    def deadline(self) -> int | None:
        """Return the end of the first window of which there is something to give out."""
        ends = [self._window_ends(self._totals)]
        waiting = [
            [rows.column(name).to_numpy() for name in ("key", "time")] for rows in self._rows
        ]
        if self._encoded is not None and self._encoded.count:
            waiting.append([self._encoded.column(name) for name in ("key", "time")])
        for keys, times in waiting:
            found, place = np.unique(keys, return_inverse=True)
            after = np.maximum(times, done_of(self._done, found)[place])
            for window in self._windows:
                starts, over = window.bounds(window.first(after))
                ends.append(over[starts <= times])
        first = min((int(some.min()) for some in ends if len(some)), default=int(FOREVER))
        return None if first == FOREVER else first

    def forget(self, slots: NDArray[np.int64]) -> None:
        """Make slots ready for other keys; nothing of their keys is open."""
        self._last[slots[slots < len(self._last)]] = NEVER
        for slot in slots.tolist():
            self._done.pop(slot, None)
            self._staying.leave(slot)

    def occupied(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the slots that keys have, and the time of each one's last event."""
        slots = np.flatnonzero(self._last != NEVER)
        return slots, self._last[slots]

    def _check_order(
        self, keys: NDArray[Any], times: NDArray[np.int64], codes: NDArray[np.int64]
    ) -> None:
        if self._one_slot:
            keys = np.cumsum(np.concatenate(([keys[0] != self._current[0]], keys[1:] != keys[:-1])))
            if keys[0]:
                self._last[0] = NEVER
            keys = keys - keys[0]
        most = int(keys.max())
        if most >= len(self._last):
            grown = np.full(max(most + 1, 2 * len(self._last)), NEVER)
            grown[: len(self._last)] = self._last
            self._last = grown
        keys = read_only(np.require(keys, np.int32, ["C"]))
        least = _NEVER if self._keeps_all else 0
        rows = keys, read_only(times), read_only(codes), least
        wrong = enter(first_out_of_order, 1e-6 * len(keys), *rows, self._last)
        if wrong >= 0:
            raise out_of_order(int(times[wrong]))
        if self._one_slot:
            self._last = self._last[most:][:1].copy()

    def _evaluate(self, until: int | None, *, everything: bool) -> None:
        """Give whole windows to the evaluator; keep the rows that open windows need."""
        if self._encoded is not None:
            self._evaluate_encoded(self._encoded, until, everything=everything)
            return
        if not self._rows:
            return
        table = pa.concat_tables(self._rows).combine_chunks()
        keys = table.column("key").to_numpy()
        rows: KeyOrder | ArrivalOrder
        if self._evaluator.in_any_order and not self._one_slot:
            rows = ArrivalOrder(keys)
        else:
            rows = KeyOrder(keys, together=self._one_slot)
        present, times = rows.keys, rows.column(table.column("time").to_numpy())
        if isinstance(rows, KeyOrder):
            latest = times[rows.begins[1:] - 1].astype(np.int64)
        else:
            latest = self._last[present]
        current = self._current[0] if self._one_slot else None
        ready = ready_of(present, latest, until, everything=everything, current=current)
        done = done_of(self._done, present)
        groups = rows.first(table.column("group").to_numpy())
        last, needed = bounds_of(self._windows, ready, ends=self._all_end)
        keep = times >= rows.of_rows(needed)
        left = rows.count(keep) > 0
        if isinstance(rows, KeyOrder):
            part = self._staying.part(table, rows, times, (done, ready, last), keep)
        else:
            chosen = table.drop_columns(["key", "group"])
            part = Part(
                chosen, _NOWHERE, done, ready, present, slots=rows.slots, classes=self._classes
            )
        totals = self._evaluator.evaluate(part)
        self._staying.leave_all(present[~left])
        if totals.num_rows:
            codes = pa.array(groups[totals.column("key").to_numpy()], pa.int32())
            place = totals.column_names.index("key")
            totals = totals.set_column(place, "group", codes)
            self._add_totals(totals)
            self._ready = int(FOREVER)  # it is looked up
        self.statistics.sharing = self._evaluator.statistics
        kept = rows.table(table, keep)
        if 2 * kept.num_rows < table.num_rows:  # leave the memory of the others
            kept = kept.take(pa.array(np.arange(kept.num_rows)))
        self._rows = [kept] if kept.num_rows else []
        size = table.nbytes + self._totals.nbytes
        self._go_on_with(kept.num_rows, _by_key(present[left], ready[left]), size)

    def _evaluate_encoded(self, rows: EncodedRows, until: int | None, *, everything: bool) -> None:
        """Do so with encoded rows, which are read where they are."""
        if rows.count == 0:
            return
        windows, ends = self._windows, self._all_end
        if rows.one_key:
            key, _ = rows.first
            over = everything or (self._one_slot and key != self._current[0])
            done = self._done.get(key, _NEVER)
            if until is not None and not over:
                closed = self._evaluator.close_key(rows, done, until)
                if closed is not None:
                    self._go_on_behind(rows, key, closed)
                    return
            due = due_of_one(rows, windows, done, until, everything=over, ends=ends)
        else:
            current = self._current[0] if self._one_slot else None
            due = due_of_keys(
                rows, windows, self._done, until, everything=everything, ends=ends, current=current
            )
        if due.starts[-1] > 0:
            totals = self._evaluator.evaluate_rows(rows.read(due.wanted), due)
            self._put_totals(totals, int(due.ready.max()), in_order=len(due.keys) == 1)
        size = rows.nbytes + self._totals.num_rows * self._row
        rows.keep(due.kept)
        left = _by_key(due.keys[due.left], due.ready[due.left])
        self._go_on_with(rows.count, left, size)

    def _go_on_behind(self, rows: EncodedRows, key: int, closed: Closed) -> None:
        """Take up what was closed of the only key, and let go of the rows that are gone."""
        if closed.totals is not None:
            self._put_totals(closed.totals, closed.ready, in_order=True)
        size = rows.nbytes + self._totals.num_rows * self._row
        rows.keep(slice(closed.gone, None))
        self._go_on_with(rows.count, {key: closed.ready} if rows.count else {}, size)

    def _put_totals(self, totals: pa.RecordBatch, ready: int, *, in_order: bool) -> None:
        """Put totals of windows that end at or before `ready` to those that wait."""
        if totals.num_rows == 0:
            return
        if self._totals.num_rows or not in_order:
            self._add_totals(pa.Table.from_batches([totals]))
        else:
            self._totals = totals
        self._ready = max(self._ready, ready)

    def _go_on_with(self, kept: int, done: dict[int, int], size: int) -> None:
        """Take note of how many rows are kept, what of keys is done, and the bytes that it took."""
        self._pending, self._kept, self._done = 0, kept, done
        size += self._last.nbytes + self._evaluator.bytes_held
        self.statistics.state_bytes = max(self.statistics.state_bytes, size)

    def _window_ends(self, totals: pa.RecordBatch) -> NDArray[np.int64]:
        queries, indices = totals.column("query").to_numpy(), totals.column("window").to_numpy()
        ends: NDArray[np.int64] = self._first_end[queries] + self._step[queries] * indices
        return ends

    def _add_totals(self, totals: pa.Table) -> None:
        """Put totals to those that wait."""
        waiting = pa.Table.from_batches([self._totals])
        both = merge(self.unit, pa.concat_tables([waiting, totals]) if len(waiting) else totals)
        (self._totals,) = both.combine_chunks().to_batches()

    def _take(self, chosen: NDArray[np.bool_] | None) -> pa.RecordBatch:
        """Remove the chosen rows of the totals and return them; None: all."""
        given = self._totals
        if given.num_rows == 0 or (chosen is not None and not chosen.any()):
            return self._nothing
        if chosen is None or chosen.all():
            self._totals, self._ready = self._nothing, _NEVER
        else:
            self._totals = given.filter(pa.array(~chosen))
            given = given.filter(pa.array(chosen))
        self.statistics.totals += given.num_rows
        return given

    def save(self) -> bytes:
        """Return all that is needed to go on later as if never stopped."""
        keys, waiting = list(self._done), pa.Table.from_batches([self._totals])
        return pack(
            SAVED_BY,
            self.unit.fingerprint,
            ({} if self._encoded is None else self._encoded.saved())
            | {
                "rows": _to_bytes(self._rows),
                "waiting": _to_bytes([waiting] if len(waiting) else []),
                "last": self._last,
                "done": np.array([keys, [self._done[key] for key in keys]], dtype=np.int64),
                "counts": np.array([self._pending, self._kept, *self._current], dtype=np.int64),
                "modes": np.array([self._one_slot, self._ordered, self._modes[1]]),
                "sharing": np.array([list(Sharing).index(self._modes[0])]),
                "classes": self._classes,
                "shared": np.array(sets_to_text(self._evaluator.statistics)),
                "statistics": np.array(
                    [getattr(self.statistics, name) for name in _COUNTED], dtype=np.int64
                ),
            },
        )

    @classmethod
    def load(cls, unit: TrendUnit, blob: bytes) -> BufferedTrends:
        """Return the operator that `save` made the bytes of.

        Raises StateError where the bytes are damaged or of another version or workload.
        """
        arrays = unpack(SAVED_BY, unit.fingerprint, blob)
        if "rows" not in arrays:
            raise StateError("The saved state is of another path: plan the workload as before.")
        one_slot, ordered, record = arrays["modes"].tolist()
        sharing = list(Sharing)[int(arrays["sharing"][0])]
        operator = cls(unit, one_slot=one_slot, ordered=ordered, sharing=sharing, record=record)
        operator._rows = _from_bytes(arrays["rows"])
        operator._encoded = restored(unit, arrays)
        operator._has_begun = bool(operator._rows) or operator._encoded is not None
        for waiting in _from_bytes(arrays["waiting"]):
            operator._add_totals(waiting)
            operator._ready = int(FOREVER)
        operator._last = arrays["last"]
        operator._done = dict(zip(*arrays["done"].tolist(), strict=True))
        pending, kept, key, group = arrays["counts"].tolist()
        operator._pending, operator._kept = pending, kept
        operator._current = (key, group)
        operator._classes = arrays["classes"]
        take_up(operator._evaluator.statistics, str(arrays["shared"]))
        operator.statistics.sharing = operator._evaluator.statistics
        for name, value in zip(_COUNTED, arrays["statistics"].tolist(), strict=True):
            setattr(operator.statistics, name, value)
        return operator


_NOWHERE = np.zeros(0, dtype=np.int64)
_COUNTED = ("events", "matched", "classes", "totals", "state_bytes")


def _by_key(keys: Ints, times: Ints) -> dict[int, int]:
    return dict(zip(keys.tolist(), times.tolist(), strict=True))


def _to_bytes(tables: Sequence[pa.Table]) -> NDArray[np.uint8]:
    """Return tables of one schema as the bytes of an Arrow stream; no bytes for none."""
    if not tables:
        return np.zeros(0, dtype=np.uint8)
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, tables[0].schema) as writer:
        for table in tables:
            writer.write_table(table)
    return np.frombuffer(sink.getvalue(), dtype=np.uint8)


def _from_bytes(stored: NDArray[np.uint8]) -> list[pa.Table]:
    if len(stored) == 0:
        return []
    return [pa.ipc.open_stream(stored.tobytes()).read_all()]
