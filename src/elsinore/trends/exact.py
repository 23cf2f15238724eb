"""The operator for EXACT, and for queries that the engine cannot run: exact numbers, plain Python.

It keeps the events since the start of the earliest open window, and evaluates whole windows when
they end. An event takes a few microseconds, and some tens where it follows ranges of earlier ones;
so does each pair of events where conditions compare them otherwise, or a NOT needs a search.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.arrow import no_rows, to_arrow, to_numpy
from elsinore.expressions.plain import compared_values, exact_values
from elsinore.model.window import Window
from elsinore.numeric.exact import encode, extended
from elsinore.operators.slots import KeySlots, slots_of, with_slots
from elsinore.plan import Sharing, TrendUnit
from elsinore.plan.stored import stored_template
from elsinore.plan.template import Template
from elsinore.saved_states import pack, reading_state, table_from_bytes, table_to_bytes, unpack
from elsinore.trends.exact_sums import EventValues, ExactSums, Sums
from elsinore.trends.partials import from_means, merge, totals_fields
from elsinore.trends.runs import Automaton, WindowRuns
from elsinore.trends.search import Search
from elsinore.trends.statistics import SAVED_BY, TrendStatistics
from elsinore.trends.values import FOREVER, NEVER, Ints, out_of_order

_NEVER, _FOREVER = int(NEVER), int(FOREVER)
_COUNTED = ("events", "matched", "totals", "state_bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactEvents:
    """Events sorted by key, those of a key by time."""

    starts: Ints  # [key + 1] -> first row of each key
    times: Ints  # [row] microseconds
    codes: NDArray[Any]  # [row] class; below 0: no state takes the event
    values: EventValues


class ExactTotal(NamedTuple):
    """The sums of a query in a window of a key that has trends.

    `query` is its place in the unit, `key` the place in `ExactEvents.starts`, `window` 0 without
    WITHIN. `sums.extremes` are ranks: FOREVER for none, inverted for MAX.
    """

    query: int
    key: int
    window: int
    sums: Sums


class ExactEvaluator:
    """Aggregates the trends of a unit's queries over whole windows.

    by_time: simultaneous events do not precede one another; otherwise rows are in order.
    """

    def __init__(self, unit: TrendUnit, *, by_time: bool = True) -> None:
        self.unit = unit
        self._by_time = by_time
        templates = {
            query: template
            for query, template in enumerate(unit.templates or map(stored_template, unit.members))
            if isinstance(template, Template) and template.is_pairwise
        }
        self._summed = list(templates)  # the queries that are sums per state, ...
        self._sums = ExactSums(unit, templates) if templates else None
        self._automata = {  # ... and the others
            query: Automaton(template, unit.classes)
            for query, template in enumerate(unit.members)
            if query not in templates
        }
        self._windows = dict.fromkeys(template.query.window for template in unit.members)

    def evaluate(
        self, events: ExactEvents, done: int = _NEVER, until: int = _FOREVER
    ) -> list[ExactTotal]:
        """Return the totals of all windows that end after `done` and at or before `until`.

        done: NEVER to begin with; until: FOREVER for all. Raises InputError for an infinite addend.
        """
        # rows are converted only when they are read: the whole stream may be one window
        starts, times, codes = events.starts.tolist(), events.times.data, events.codes.data
        totals: list[ExactTotal] = []
        for key, (first, end) in enumerate(itertools.pairwise(starts)):
            for window in self._windows:
                for index, rows in _windows(window, times, range(first, end), done, until):
                    moments = [[row] for row in rows]
                    if self._by_time:
                        by_time = itertools.groupby(rows, lambda row: times[row])
                        moments = [list(moment) for _, moment in by_time]
                    totals += [
                        ExactTotal(query, key, index, sums)
                        for query, sums in self._of_window(window, moments, codes, events.values)
                    ]
        return totals

    def _of_window(
        self,
        window: Window | None,
        moments: Sequence[Sequence[int]],
        codes: Sequence[int],
        values: EventValues,
    ) -> Iterator[tuple[int, Sums]]:
        """Yield the queries that have trends in a window, with their sums."""
        if self._sums is not None:
            for number, sums in self._sums.totals(values, codes, window, moments):
                yield self._summed[number], sums
        for query, automaton in self._automata.items():
            if automaton.template.query.window == window:
                total = Search(WindowRuns(automaton, moments, codes, values), values).total()
                if total is not None:
                    yield query, total


def _windows(
    window: Window | None, times: Sequence[int], rows: range, done: int, until: int
) -> Iterator[tuple[int, range]]:
    """Yield the windows of a key that contain events and end in time, each with its rows."""
    if window is None:
        if rows and done < FOREVER <= until:
            yield 0, rows
        return
    indices: set[int] = set()
    for time in {times[row] for row in rows}:
        indices.update(range(window.first(time), window.last(time) + 1))
    for index in sorted(indices):
        start, end = window.bounds(index)
        if (done == NEVER or done < end) and (until == FOREVER or end <= until):
            low = bisect_left(times, start, rows.start, rows.stop)
            yield index, range(low, bisect_left(times, end, low, rows.stop))


class ExactOperator:
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
        self._evaluator = ExactEvaluator(unit, by_time=not ordered)
        windows = {member.query.window for member in unit.members}
        self._windows: set[Window] = {window for window in windows if window is not None}
        self._all_end = None not in windows
        self._rows: list[pa.Table] = []
        self._last: dict[int, int] = {}  # slot -> the time of its last event
        self._closed = _NEVER  # windows that end by then were evaluated
        self._current = (-1, -1)  # with `one_slot`: the last key, and its group
        self._classes: set[int] = set()  # of events that occurred
        self._nothing = no_rows(totals_fields(unit, exact=unit.exact))

    @staticmethod
    def bytes_per_key(unit: TrendUnit) -> int:  # noqa: ARG004
        """Return how much memory each key takes, beside buffered events."""
        return 0

    @property
    def open_group(self) -> int:
        """With `one_slot`, the group of the last key; -1 before the first event."""
        return self._current[1]

    def process(
        self, batch: pa.RecordBatch, slots: KeySlots | None = None, until: int | None = None
    ) -> pa.RecordBatch:
        """Buffer a batch; return totals that are already final (with `one_slot`, or `until`).

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
            self._buffer(rows)
        if until is not None:
            return self.close(until)
        return self._ended_keys() if self._one_slot and rows.num_rows else self._nothing

    def _buffer(self, rows: pa.Table) -> None:
        """Buffer rows, which must be in time order."""
        keys, times = rows.column("key").to_pylist(), rows.column("time").to_pylist()
        for key, time in zip(keys, times, strict=True):
            if time < self._last.get(key, _NEVER):
                raise out_of_order(time)
            self._last[key] = time
        self._current = (keys[-1], rows.column("group")[-1].as_py())
        self._rows.append(rows)

    def _ended_keys(self) -> pa.RecordBatch:
        """Return the totals of all keys but the last one, and release their rows."""
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
        """Return the totals of windows that end by `until` and were not evaluated before."""
        self.statistics.state_bytes = max(self.statistics.state_bytes, rows.nbytes)
        order = np.argsort(to_numpy(rows.column("key")), kind="stable")
        rows = rows.take(to_arrow(order)).combine_chunks()
        _, starts = np.unique(to_numpy(rows.column("key")), return_index=True)
        events = exact_events(self.unit, rows, np.append(starts, rows.num_rows))
        totals = self._evaluator.evaluate(events, self._closed, until)
        batch = _totals_batch(self.unit, totals, to_numpy(rows.column("group"))[starts])
        merged = merge(self.unit, pa.Table.from_batches([batch]))
        self.statistics.totals += merged.num_rows
        return next(iter(merged.combine_chunks().to_batches()), self._nothing)

    def _needed(self, until: int) -> int:
        """Return the time from which rows are needed after windows that end by `until`."""
        if until == _FOREVER:
            return _FOREVER
        starts = [window.bounds(window.first(until))[0] for window in self._windows]
        return min(starts) if self._all_end else _NEVER

    def deadline(self) -> int | None:
        """Return the end of the first window that has totals to return."""
        ends = []
        for rows in self._rows:
            times = to_numpy(rows.column("time"))
            for window in self._windows:
                starts, over = window.bounds(window.first(np.maximum(times, self._closed)))
                ends += [int(some.min()) for some in (over[starts <= times],) if len(some)]
        return min(ends, default=None)

    def forget(self, slots: NDArray[np.int64]) -> None:
        """Reset slots for other keys; their keys have no open windows."""
        for slot in slots.tolist():
            self._last.pop(slot, None)

    def occupied(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the slots in use, and the time of the last event in each."""
        slots = sorted(self._last)
        return np.array(slots, np.int64), np.array([self._last[s] for s in slots], np.int64)

    def save(self) -> bytes:
        """Return the state as bytes from which `load` continues."""
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
    def load(cls, unit: TrendUnit, blob: bytes) -> ExactOperator:
        """Return the operator whose state `save` returned.

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


def exact_events(unit: TrendUnit, table: pa.Table, starts: Ints) -> ExactEvents:
    """Return rows of a table, key after key, with the values that the evaluator reads."""
    values = EventValues(
        {name: compared_values(table.column(f"pair:{name}")) for name in unit.compared},
        {name: exact_values(table.column(f"sum:{name}")) for name in unit.summed},
        {name: table.column(f"rank:{name}").to_pylist() for name in unit.ranked},
    )
    times, codes = to_numpy(table.column("time")), to_numpy(table.column("class"))
    return ExactEvents(starts=starts, times=times, codes=codes, values=values)


def _totals_batch(
    unit: TrendUnit, totals: Sequence[ExactTotal], groups: NDArray[Any]
) -> pa.RecordBatch:
    """Return totals as a batch (`elsinore.trends.partials`); groups: of the keys."""
    schema = totals_fields(unit, exact=unit.exact)
    columns: dict[str, list[Any]] = {
        "query": [total.query for total in totals],
        "group": [groups[total.key] for total in totals],
        "window": [total.window for total in totals],
    }
    if not unit.exact:  # before the sums are read, which change with it
        shifts = np.zeros((len(unit.squared), len(totals)))
        for row, total in enumerate(totals):
            for place, shift in from_means(unit, total.query, total.sums.linear):
                shifts[place, row] = shift
        columns |= {f"shift{k}": of_rows for k, of_rows in enumerate(shifts.tolist())}
    for f in range(unit.linear):
        numbers = [t.sums.linear[f] if f < len(t.sums.linear) else 0 for t in totals]
        if unit.exact:
            columns[f"digits{f}"] = [encode(number) for number in numbers]
        else:
            pairs = [extended(number) for number in numbers]
            columns[f"cell{f}"] = [mantissa for mantissa, _ in pairs]
            columns[f"power{f}"] = [power for _, power in pairs]
    for x in range(unit.extremes):
        extremes = [t.sums.extremes[x] if x < len(t.sums.extremes) else _FOREVER for t in totals]
        columns[f"extreme{x}"] = extremes
    return pa.RecordBatch.from_pydict(columns, schema=schema)
