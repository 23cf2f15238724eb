"""Wrappers of operators that convert times to positions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.arrow import to_arrow, to_numpy
from elsinore.errors import StateError
from elsinore.operators.kind import Kind
from elsinore.operators.open_end import WindowEnds
from elsinore.operators.operator import Operator, OperatorOptions
from elsinore.operators.positions.calendar import CalendarDays
from elsinore.operators.positions.counting import Counters
from elsinore.operators.statistics import OperatorStatistics
from elsinore.plan import Unit
from elsinore.saved_states import pack, reading_state, table_from_bytes, table_to_bytes, unpack

SAVED_BY = "positions 1"


class CalendarOperator:
    """Wraps an operator; its times are positions in calendar days."""

    def __init__(self, inner: Operator, days: CalendarDays) -> None:
        self._inner = inner
        self._days = days

    @property
    def statistics(self) -> OperatorStatistics:
        """The statistics of the inner operator so far."""
        return self._inner.statistics

    @property
    def open_group(self) -> int:
        """With `one_slot`, the first group that may still have outputs."""
        return self._inner.open_group

    def process(self, batch: pa.RecordBatch, until: int | None = None) -> Iterable[pa.RecordBatch]:
        """Process a batch; return final partial outputs."""
        times = to_numpy(batch.column("time"))
        return self._inner.process(
            _with_times(batch, self._days.positions(times)), self._position(until)
        )

    def close(self, until: int | None = None) -> Iterable[pa.RecordBatch]:
        """Return partial outputs that are final if no event before `until` follows."""
        return self._inner.close(self._position(until))

    def deadline(self) -> int | None:
        """Return the next time at which `close` would return something."""
        return self._time(self._inner.deadline())

    def idle_time(self) -> int | None:
        """Return the time by which `close` releases all state if no further event comes."""
        return self._time(self._inner.idle_time())

    def open_keys(self) -> NDArray[np.int32] | None:
        """Return the codes of keys that the operator still needs."""
        return self._inner.open_keys()

    def save(self) -> bytes:
        """Return the state."""
        return self._inner.save()

    def _position(self, time: int | None) -> int | None:
        return None if time is None else self._days.position(time)

    def _time(self, position: int | None) -> int | None:
        return None if position is None else self._days.time(position)


class CountingOperator:
    """Wraps an operator; its times are counts of events per key.

    Only events close windows, not the passage of time.
    """

    def __init__(self, kind: Kind, unit: Unit, options: OperatorOptions) -> None:
        """`unit`: of the inner kind; with `keeps_all`, its operator receives all events."""
        self._unit = unit
        self._final: FinalGroups | None = None
        last_time = None if options.last_time is None else np.iinfo(np.int64).min
        if kind.adds_up(unit):
            if last_time is not None:
                self._final = FinalGroups(kind, unit)
            last_time = None
        self._inner = kind.operator(unit, replace(options, last_time=last_time))
        self._counters = Counters(ordered=options.ordered)

    @property
    def statistics(self) -> OperatorStatistics:
        """The statistics of the inner operator so far."""
        return self._inner.statistics

    @property
    def open_group(self) -> int:
        """With `one_slot`, the first group that may still have outputs."""
        return self._inner.open_group

    def process(self, batch: pa.RecordBatch, until: int | None = None) -> Iterator[pa.RecordBatch]:
        """Process a batch; return final partial outputs."""
        del until
        keys = to_numpy(batch.column("key"))
        positions = self._counters.positions(keys, to_numpy(batch.column("time")))
        batch = _with_times(batch, positions)
        if self._final is not None:
            self._final.add(keys, to_numpy(batch.column("group")))
        if not self._unit.keeps_all:
            batch = batch.filter(pc.greater_equal(batch.column("class"), 0))
        yield from self._final_outputs(self._inner.process(batch))

    def close(self, until: int | None = None) -> Iterator[pa.RecordBatch]:
        """Return the remaining partial outputs at the end of the stream; nothing before."""
        if until is None:
            yield from self._final_outputs(self._inner.close())

    def deadline(self) -> int | None:
        """Return None: no window ends by time."""
        return None

    def idle_time(self) -> int | None:
        """Return None: no state is released by time."""
        return None

    def open_keys(self) -> None:
        """Return None: the events of all keys are counted."""
        return

    def save(self) -> bytes:
        """Return the state."""
        arrays = {
            "counters": _bytes(table_to_bytes(self._counters.table())),
            "inner": _bytes(self._inner.save()),
        }
        return pack(SAVED_BY, "", arrays)

    @classmethod
    @reading_state(SAVED_BY)
    def load(cls, kind: Kind, unit: Unit, blob: bytes) -> CountingOperator:
        """Return the saved operator; raise StateError if the bytes are damaged."""
        arrays = unpack(SAVED_BY, "", blob)
        if not {"counters", "inner"} <= arrays.keys():
            raise StateError("The saved state is damaged: parts of it are missing.")
        operator = cls(kind, unit, OperatorOptions())
        operator._counters.load(table_from_bytes(arrays["counters"].tobytes()))
        operator._inner = kind.load(unit, arrays["inner"].tobytes())
        return operator

    def _final_outputs(self, outputs: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of windows that begin at or after a key's first event."""
        for output in outputs:
            rows = output
            if "window" in rows.schema.names:
                rows = rows.filter(pc.greater_equal(rows.column("window"), 0))
            if self._final is not None:
                rows = self._final.rows(rows, self._counters.latest)
            if rows.num_rows:
                yield rows


class FinalGroups:
    """Determines which windows of groups are final although more events may follow."""

    def __init__(self, kind: Kind, unit: Unit) -> None:
        windows = kind.windows(unit)
        assert not isinstance(windows, str)
        self._ends = WindowEnds(windows)
        self._has_one_key = not unit.equivalence  # else a group may get further keys at any time
        self._keys = np.zeros(0, np.int64)  # [group]

    def add(self, keys: NDArray[np.int32], groups: NDArray[np.int32]) -> None:
        """Record the key of each group; keys and groups are those of events."""
        has_key = keys >= 0
        new_groups = int(groups.max(initial=-1)) + 1 - len(self._keys)
        if new_groups > 0:
            self._keys = np.append(self._keys, np.full(new_groups, -1, np.int64))
        self._keys[groups[has_key]] = keys[has_key]

    def rows(self, output: pa.RecordBatch, latest: NDArray[np.int64]) -> pa.RecordBatch:
        """Return the rows of windows that end at or before the latest position of their key."""
        if not self._has_one_key:
            return output.slice(0, 0)
        queries, windows, groups = (
            to_numpy(output.column(name)).astype(np.int64) for name in ("query", "window", "group")
        )
        is_final = self._ends.end_times(queries, windows) <= latest[self._keys[groups]]
        return output.filter(to_arrow(is_final))


def _with_times(batch: pa.RecordBatch, times: NDArray[np.int64]) -> pa.RecordBatch:
    return batch.set_column(batch.schema.get_field_index("time"), "time", to_arrow(times))


def _bytes(content: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(content, np.uint8)
