"""The operator of the paths that keep events: rows are buffered until their windows end.

What is kept is what open windows need and no more: the events of each key since the start of its
earliest open window. Whole windows go to the path's evaluator, all of a batch's keys at once;
cutting batches elsewhere, or stopping in between, cannot change what it sees.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.arrow import no_rows, to_arrow, to_numpy
from elsinore.errors import StateError
from elsinore.kernels.saved import (
    pack,
    reading_state,
    schema_from_bytes,
    table_from_bytes,
    table_to_bytes,
    unpack,
)
from elsinore.operators.slots import KeySlots
from elsinore.plan import Sharing, TrendUnit
from elsinore.trends.buffered.evaluators import Evaluator, evaluator_of
from elsinore.trends.core.arrays import FOREVER, NEVER
from elsinore.trends.index import Closed
from elsinore.trends.partials import ascend, merge, totals_fields
from elsinore.trends.rows.due import done_of, due_as_they_came, due_of_keys, due_of_one
from elsinore.trends.rows.encoded import Rows
from elsinore.trends.rows.staying import Staying
from elsinore.trends.statistics import SAVED_BY, TrendStatistics, sets_to_text, take_up

CHUNK = 2**16  # rows that are worth a call of the evaluator
PIECE = 2**20  # rows that are encoded at once: fresh memory costs as much as what is done with it
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
        windows = [member.query.window for member in unit.members]
        self._windows = tuple({window for window in windows if window is not None})
        self._is_windowed = np.array([window is not None for window in windows])
        # [query] its first window's end, and from one of its windows to the next
        self._first_end = np.array([w.bounds(0)[1] if w else FOREVER for w in windows])
        self._step = np.array([w.step if w else 0 for w in windows], dtype=np.int64)
        # whether anything is final before the stream's end
        self._ends_early = one_slot or bool(self._windows)
        self._all_end = bool(self._is_windowed.all())
        self._rows: Rows | None = None  # none was seen
        self._pending = 0  # rows that came since the evaluator was last called
        self._kept = 0  # rows that it left for open windows
        self._last = np.full(1, NEVER)  # [key] -> time of its last event
        self._done: dict[int, int] = {}  # key -> windows that end by then are given out
        self._staying: Staying | None = None  # where no key can stay
        self._current = (-1, -1)  # with `one_slot`: the key that goes on, and its group
        self._ready = _NEVER  # their windows end at or before it
        schema = totals_fields(unit, exact=unit.exact)
        self._nothing = no_rows(schema)
        # those that wait, one row for each (query, group, window)
        self._totals: pa.RecordBatch = self._nothing
        self._row = 8 * len(schema)  # bytes of a row of totals, at most

    @property
    def open_group(self) -> int:
        """With `one_slot`, the first group of which rows or totals wait; -1 where none does."""
        return self._rows.first[1] if self._rows and self._rows.count else self._current[1]

    def process(
        self, batch: pa.RecordBatch, slots: KeySlots | None = None, until: int | None = None
    ) -> pa.RecordBatch:
        """Take a batch; return totals that are final already (with `one_slot`), else none.

        slots: of keys; None: a key is its own slot. until: then do as `close` does. Raises
        InputError where a key's rows are not in time order.
        """
        rows = self._rows or self._begin(batch.schema)
        count = batch.num_rows
        self.statistics.events += count
        size = min(count, PIECE) if self._ends_early and rows.copies else count
        for first in range(0, count, size or 1):
            self._add(rows, batch if size == count else batch.slice(first, size), slots)
        if not self._one_slot:
            return self._nothing if until is None else self.close(until)
        groups = to_numpy(self._totals.column("group"))
        waits = groups == self._current[1]
        if rows.count:
            waits |= groups == rows.first[1]  # of others all rows came after those totals
        return self._take(~waits)

    def _begin(self, schema: pa.Schema) -> Rows:
        """Return what rows of such batches wait in from now on."""
        self._rows = self._evaluator.rows(schema, until_end=not self._ends_early)
        if self._evaluator.may_keep(schema):
            self._staying = Staying(self._evaluator.forget, self._windows)
        return self._rows

    def _add(self, rows: Rows, batch: pa.RecordBatch, slots: KeySlots | None) -> None:
        """Keep the rows of a batch that are wanted, and evaluate what is due if they are many."""
        taken = rows.add(batch, slots, self._last, self._current[0] if self._one_slot else None)
        self._last = taken.last
        self._pending += taken.rows
        self.statistics.matched += taken.matched
        self.statistics.classes = len(rows.classes)
        if self._one_slot and taken.rows:
            self._current = (taken.current, rows.last_group)
        if self._ends_early and self._pending >= max(CHUNK, self._kept):
            self._evaluate(None, everything=False)

    def close(self, until: int | None = None) -> pa.RecordBatch:
        """Return the totals of all windows that end at or before `until`; None: of all windows."""
        self._evaluate(until, everything=until is None)
        if until is None:
            self._last[:] = NEVER  # keys begin anew, as on sums
        if until is None or self._ready <= until:
            return self._take(None)
        return self._take(self._window_ends(self._totals) <= until)

    def deadline(self) -> int | None:
        """Return the end of the first window of which there is something to give out."""
        ends = [self._window_ends(self._totals)]
        if self._rows is not None and self._rows.count:
            times = self._rows.column("time")
            keys, place = np.unique(self._rows.column("key"), return_inverse=True)
            after = np.maximum(times, done_of(self._done, keys)[place])
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
            if self._staying is not None:
                self._staying.leave(slot)

    def occupied(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the slots that keys have, and the time of each one's last event."""
        slots = np.flatnonzero(self._last != NEVER)
        return slots, self._last[slots]

    def _evaluate(self, until: int | None, *, everything: bool) -> None:
        """Give whole windows to the evaluator; keep the rows that open windows need."""
        rows, windows, ends = self._rows, self._windows, self._all_end
        if rows is None or rows.count == 0:
            return
        evaluator, staying = self._evaluator, self._staying
        current = self._current[0] if self._one_slot else None
        if rows.one_key and staying is None:
            key, _ = rows.first
            over = everything or (self._one_slot and key != current)
            done = self._done.get(key, _NEVER)
            if until is not None and not over:
                closed = evaluator.close_key(rows, done, max(done, until))
                if closed is not None:
                    self._go_on_behind(rows, key, closed)
                    return
            due = due_of_one(rows, windows, done, until, everything=over, ends=ends)
        elif evaluator.in_any_order and not self._one_slot:
            due = due_as_they_came(
                rows, windows, self._done, until, self._last, everything=everything, ends=ends
            )
        else:
            due = due_of_keys(
                rows,
                windows,
                self._done,
                until,
                everything=everything,
                ends=ends,
                current=current,
                staying=staying,
            )
        if staying is not None or due.slots is not None or due.starts[-1] > 0:
            totals = evaluator.evaluate(rows, due)
            self._put_totals(totals, int(due.ready.max()), in_order=rows.one_key and not staying)
        if staying is not None:
            staying.leave_all(due.keys[~due.left])
        self.statistics.sharing = evaluator.statistics
        size = rows.nbytes + self._totals.num_rows * self._row
        rows.keep(due.kept)
        left = due.keys[due.left].tolist(), due.ready[due.left].tolist()
        self._go_on_with(rows.count, dict(zip(*left, strict=True)), size)

    def _go_on_behind(self, rows: Rows, key: int, closed: Closed) -> None:
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
        if self._totals.num_rows or not (in_order or ascend(totals)):
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
        queries, indices = to_numpy(totals.column("query")), to_numpy(totals.column("window"))
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
            self._totals = given.filter(to_arrow(~chosen))
            given = given.filter(to_arrow(chosen))
        self.statistics.totals += given.num_rows
        return given

    def save(self) -> bytes:
        """Return all that is needed to go on later as if never stopped."""
        keys, waiting = list(self._done), pa.Table.from_batches([self._totals])
        rows = {}
        if self._rows is not None:
            schema = np.frombuffer(self._rows.schema.serialize(), dtype=np.uint8)
            rows = self._rows.saved() | {"row:schema": schema}
        return pack(
            SAVED_BY,
            self.unit.fingerprint,
            rows
            | {
                "waiting": _to_bytes([waiting] if len(waiting) else []),
                "last": self._last,
                "done": np.array([keys, [self._done[key] for key in keys]], dtype=np.int64),
                "counts": np.array([self._pending, self._kept, *self._current], dtype=np.int64),
                "modes": np.array([self._one_slot, self._ordered, self._modes[1]]),
                "sharing": np.array([list(Sharing).index(self._modes[0])]),
                "shared": np.array(sets_to_text(self._evaluator.statistics)),
                "statistics": np.array(
                    [getattr(self.statistics, name) for name in _COUNTED], dtype=np.int64
                ),
            },
        )

    @classmethod
    @reading_state(SAVED_BY)
    def load(cls, unit: TrendUnit, blob: bytes) -> BufferedTrends:
        """Return the operator that `save` made the bytes of.

        Raises StateError where the bytes are damaged or of another version or workload.
        """
        arrays = unpack(SAVED_BY, unit.fingerprint, blob)
        if "waiting" not in arrays:
            raise StateError("The saved state is of another path: plan the workload as before.")
        one_slot, ordered, record = arrays["modes"].tolist()
        sharing = list(Sharing)[int(arrays["sharing"][0])]
        operator = cls(unit, one_slot=one_slot, ordered=ordered, sharing=sharing, record=record)
        if "row:schema" in arrays:
            schema = schema_from_bytes(arrays["row:schema"].tobytes())
            operator._begin(schema).restore(arrays)
        for waiting in _from_bytes(arrays["waiting"]):
            operator._add_totals(waiting)
            operator._ready = int(FOREVER)
        operator._last = arrays["last"]
        operator._done = dict(zip(*arrays["done"].tolist(), strict=True))
        pending, kept, key, group = arrays["counts"].tolist()
        operator._pending, operator._kept = pending, kept
        operator._current = (key, group)
        take_up(operator._evaluator.statistics, str(arrays["shared"]))
        operator.statistics.sharing = operator._evaluator.statistics
        for name, value in zip(_COUNTED, arrays["statistics"].tolist(), strict=True):
            setattr(operator.statistics, name, value)
        return operator


_COUNTED = ("events", "matched", "classes", "totals", "state_bytes")


def _to_bytes(tables: Sequence[pa.Table]) -> NDArray[np.uint8]:
    """Return tables of one schema as the bytes of an Arrow stream; no bytes for none."""
    if not tables:
        return np.zeros(0, dtype=np.uint8)
    return np.frombuffer(table_to_bytes(pa.concat_tables(tables)), dtype=np.uint8)


def _from_bytes(stored: NDArray[np.uint8]) -> list[pa.Table]:
    if len(stored) == 0:
        return []
    return [table_from_bytes(stored.tobytes())]
