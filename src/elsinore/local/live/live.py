"""The users' class of a live run of a workload in this process."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from elsinore.arrow import no_table, to_arrow, to_scalar
from elsinore.errors import InputError, StateError, option
from elsinore.local.live.generation import Generation
from elsinore.local.live.state import saved_run
from elsinore.operators import OperatorStatistics
from elsinore.runtime.inputs import as_table
from elsinore.runtime.live import (
    Admission,
    Change,
    Length,
    LiveOptions,
    UsableEvents,
    Watermark,
    seconds_of,
    ticks_of,
)
from elsinore.runtime.times import TimeKind, from_ticks
from elsinore.runtime.warnings import tied_events, warn_of_ties

Rows = list[tuple[str, pa.Table]]

WATERMARK, EARLY = "watermark", "early"  # the columns of marks


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveStatistics:
    """The counts and the state of a live run.

    `events` is the number of accepted events, `rows` that of returned rows without early values,
    `waiting` that of events that the watermark has not passed, `open_keys` that of keys with state,
    summed over passes. `open_windows` has the number of each query's windows that contain the time
    of the last event; None if unknown. `operators` are the statistics of each unit's operators
    since the run was started or resumed.
    """

    events: int
    rows: int
    late: int
    rejected: int
    waiting: int
    open_keys: int
    open_windows: Mapping[str, int | None]
    watermark: Any
    operators: Sequence[OperatorStatistics]


class Live:
    """A live run: batches of events in, rows of results as soon as they are final.

    `Workload.live` starts one, and `Workload.resume` continues one that was saved.

    >>> from elsinore import Workload
    >>> workload = Workload.parse("QUERY q RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10 seconds;")
    >>> schema = pa.schema({"time": pa.int64(), "type": pa.string()})
    >>> live = workload.live(schema, lateness="2 seconds")
    >>> live.push([{"time": 3, "type": "B"}, {"time": 1, "type": "A"}])
    []
    >>> for name, rows in live.push([{"time": 13, "type": "A"}]):
    ...     print(name, rows.to_pylist(), live.watermark)
    q [{'window_start': 0, 'window_end': 10, 'count(*)': 1.0}] 11
    >>> live.end()
    []
    """

    def __init__(
        self,
        generations: Sequence[Generation],
        options: LiveOptions,
        meanings: Mapping[str, str],
        *,
        now: Callable[[], float] = clock.monotonic,
        today: Callable[[], float] = clock.time,
    ) -> None:
        """Start with some generations, of which the last one is the workload's.

        `meanings` has the meaning of each query, for comparison with later workloads. `now` and
        `today` are clocks in seconds; `today` counts from the epoch.
        """
        self.options = options
        self.changes: Mapping[str, Change] = {}
        self.generations = list(generations)
        self.meanings = dict(meanings)
        self.now, self.today = now, today
        setup = self._newest.setup
        self.clock = setup.options.clock
        self._ahead = self._ticks(options.ahead, "ahead")
        timeout = options.idle_timeout
        self._following = Watermark(
            lateness=self._ticks(options.lateness, "lateness") or 0,
            idle_timeout=None if timeout is None else seconds_of(timeout, "idle_timeout"),
            per_second=1_000_000 * self.clock.per_microsecond,
        )
        self._time: TimeKind | None = None if setup.time.form == "text" else setup.time
        self._reached: int | None = None
        self._events = self._rows = self._late = self._rejected = 0
        self._set_aside: list[pa.Table] = []
        self._warned = bool(options.request.order_by)
        self._state = "running"

    # --- events in, rows out

    def push(self, data: Any, *, partition: str = "") -> Rows:
        """Add a batch of events; return (query, rows) of results that are final at the watermark.

        `data` is events in any container that `Workload.run` accepts. `partition` is the source's
        partition of these events; the watermark is the least of all partitions'.

        Raises InputError for unusable events, unless they are rejected (`rejects`); the whole batch
        is then ignored, and the run can continue.
        """
        self._check_running()
        reader = self._newest.reader
        usable = reader.usable(self.as_table(data))
        admission = reader.admit(usable, watermark=self._reached, latest=self._latest())
        with self._failing():
            self._count(admission)
            self._show_times(admission.events)
            for generation in self.generations:
                generation.add(admission.events)
            now = self.now()
            if admission.greatest is not None:
                self._following.observe(admission.greatest, partition, now=now)
            else:
                self._following.expect(partition, now)
            return self._advance(now)

    def poll(self) -> Rows:
        """Return results that became final without new events, after an idle timeout."""
        self._check_running()
        with self._failing():
            return self._advance(self.now())

    def early(self) -> Rows:
        """Return the current values of open windows; they are not final.

        They include events that wait for the watermark. Only queries with windows have such values.
        """
        self._check_running()
        with self._failing():
            return self._rows_by_query([g.early() for g in self.generations], early=True)

    def end(self) -> Rows:
        """End the stream and return the remaining rows; no events can be added afterwards."""
        self._check_running()
        with self._failing():
            rows = self._rows_by_query([g.end() for g in self.generations], early=False)
        self._state = "ended"
        return rows

    def follow(self, batches: Iterable[Any]) -> Iterator[tuple[str, pa.Table]]:
        """Push batches one by one and yield the rows; at their end, end the run."""
        for batch in batches:
            yield from self.push(batch)
        yield from self.end()

    # --- time

    @property
    def watermark(self) -> Any:
        """The watermark of the last returned rows, as a time of the input; None before the first.

        No event before it is expected. All returned rows are final at it.
        """
        return None if self._reached is None else self._input_time(self._reached)[0].as_py()

    @property
    def watermark_seconds(self) -> float | None:
        """The watermark in seconds since the epoch; None before the first event."""
        if self._reached is None:
            return None
        return self._reached / (1_000_000 * self.clock.per_microsecond)

    @property
    def greatest_time(self) -> Any:
        """The greatest time of all events, as a time of the input; None before the first one."""
        return None if self.greatest is None else self._input_time(self.greatest)[0].as_py()

    # --- events that were left out

    @property
    def late(self) -> int:
        """The number of events that arrived after the watermark had passed them."""
        return self._late

    @property
    def rejected(self) -> int:
        """The number of events that were unusable, or too far ahead of the clock."""
        return self._rejected

    def take_rejected(self) -> pa.Table | None:
        """Return the events rejected since the last call, including late ones.

        Their last column, `reject_reason`, has the reasons. None if there are none, or if they are
        not stored (`rejects`).
        """
        tables, self._set_aside = self._set_aside, []
        return pa.concat_tables(tables, promote_options="permissive") if tables else None

    # --- what the run is doing

    @property
    def statistics(self) -> LiveStatistics:
        """The current counts and state of the run, for progress displays and metrics."""
        buckets = [b for g in self.generations for of_pass in g.buckets for b in of_pass]
        open_windows = None
        if self.greatest is not None:
            open_windows = self._newest.open_windows(self.greatest)
        return LiveStatistics(
            events=self._events,
            rows=self._rows,
            late=self._late,
            rejected=self._rejected,
            waiting=sum(bucket.waiting for bucket in buckets),
            open_keys=sum(len(bucket.open_keys()) for bucket in buckets),
            open_windows=open_windows or {},
            watermark=self.watermark,
            operators=self._newest.statistics(),
        )

    # --- state

    def save(self) -> bytes:
        """Return the state, with which `Workload.resume` continues, in another process too."""
        self._check_running()
        facts = {
            "options": self.options.saved(),
            "meanings": self.meanings,
            "per microsecond": self.clock.per_microsecond,
            "progress": self.progress(),
        }
        return saved_run(self.generations, facts)

    def progress(self) -> dict[str, Any]:
        """Return the progress of the run as JSON values, for `restore`."""
        return {
            "watermark": self._following.saved(),
            "reached": self._reached,
            "counts": [self._events, self._rows, self._late, self._rejected],
            "zone": None if self._time is None else [self._time.zone],
        }

    def restore(self, progress: Mapping[str, Any], *, same_clock: bool = False) -> None:
        """Continue from the result of `progress`.

        With `same_clock`, `now` continues the clock of the saved run, so the idle times of
        partitions continue; otherwise partitions count as seen now.
        """
        self._following.restore(progress["watermark"], None if same_clock else self.now())
        self._reached = progress["reached"]
        self._events, self._rows, self._late, self._rejected = progress["counts"]
        if self._time is None and progress["zone"] is not None:
            (zone,) = progress["zone"]
            self._time = replace(self._newest.setup.time, zone=zone)
            self.set_generations(self.generations)

    def set_generations(self, generations: Sequence[Generation]) -> None:
        """Replace the generations, of which the last one is the workload's."""
        self.generations = list(generations)
        if self._time is not None:
            for generation in self.generations:
                generation.show_times_as(self._time)

    @property
    def greatest(self) -> int | None:
        """The greatest time of all events, in ticks."""
        return self._following.greatest

    def as_table(self, data: Any) -> pa.Table:
        """Return events as a table; in dicts, missing attributes are null."""
        schema = self._newest.setup.schema
        if not isinstance(data, list) or not all(isinstance(row, Mapping) for row in data):
            return as_table(data)
        if not data:
            return no_table(schema)
        table = as_table(data)
        for column in schema:
            if column.name not in table.column_names:
                table = table.append_column(column.name, pa.nulls(len(data), column.type))
        return table

    def no_rows(self, name: str) -> pa.Table:
        """Return a query's result without rows, with its columns."""
        return self._newest.no_rows(name)

    # --- parts

    @property
    def _newest(self) -> Generation:
        return self.generations[-1]

    def _advance(self, now: float) -> Rows:
        """Return the results that are final at the watermark."""
        until = self._following.at(now)
        if until is None:
            return []
        self._reached = until
        return self._until(until)

    def _until(self, until: int) -> Rows:
        rows = [generation.advance(until) for generation in self.generations]
        self._warn_of_ties()
        old = self.generations[:-1]
        self.generations = [g for g in old if not g.planned.is_over(until)] + [self._newest]
        return self._rows_by_query(rows, early=False)

    def _warn_of_ties(self) -> None:
        """Warn once if simultaneous events of one key have come and no order was given."""
        if not self._warned:
            sentences = tied_events(self._newest.planned.units, self._newest.statistics())
            self._warned = bool(sentences)
            warn_of_ties(sentences)

    def _latest(self) -> int | None:
        """Return the time after which events are too far ahead of the clock; None: no limit."""
        if self._ahead is None:
            return None
        return int(self.today() * 1_000_000) * self.clock.per_microsecond + self._ahead

    def _count(self, admission: Admission) -> None:
        """Count the events of a batch, and store rejected ones if requested."""
        self._events += len(admission.events.times)
        self._late += admission.late_count
        self._rejected += admission.rejected_count
        if self.options.request.rejects:
            self._set_aside += admission.rejected

    def _rows_by_query(
        self, by_generation: Sequence[Mapping[str, pa.Table]], *, early: bool
    ) -> Rows:
        """Return the rows of generations by query, in the workload's order; add requested marks."""
        rows: Rows = []
        for name in self.meanings:
            tables = [tables[name] for tables in by_generation if name in tables]
            for table in tables:
                self._rows += 0 if early else table.num_rows
                rows.append((name, self._with_marks(table, early=early)))
        return rows

    def _with_marks(self, table: pa.Table, *, early: bool) -> pa.Table:
        """Add the columns `watermark` and `early` to rows."""
        if not self.options.marks:
            return table
        for name in (WATERMARK, EARLY):
            if name in table.column_names:
                raise InputError(
                    f"{option('marks')} adds the column '{name}' to results, and a query has one "
                    "of that name. Give it another name with AS."
                )
        kind = self._newest.setup.time if self._time is None else self._time
        if self._reached is None:
            times = pa.nulls(table.num_rows, kind.arrow_type)
        else:
            times = pa.repeat(self._input_time(self._reached)[0], table.num_rows)
        table = table.append_column(WATERMARK, times)
        return table.append_column(EARLY, pa.repeat(to_scalar(early), table.num_rows))

    def _input_time(self, ticks: int) -> pa.Array:
        """Return a time in ticks as a time of the input, rounded down to the input's unit."""
        kind = self._newest.setup.time if self._time is None else self._time
        whole = ticks if kind.form == "float" else ticks // kind.ticks * kind.ticks
        return from_ticks(to_arrow([whole], pa.int64()), kind)

    def _show_times(self, events: UsableEvents) -> None:
        """Set the kind of times in text from the first events: whether they name a zone."""
        if self._time is None and len(events.times):
            self._time = events.time
            self.set_generations(self.generations)

    def _ticks(self, length: Length | None, name: str) -> int | None:
        return None if length is None else ticks_of(length, self.clock, name)

    def _check_running(self) -> None:
        if self._state == "ended":
            raise InputError("This live run has ended. Start another one with live().")
        if self._state == "failed":
            raise StateError(
                "This live run failed in the middle of a batch. Resume it from the state that was "
                "saved last."
            )

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Mark the run as failed if an error occurs within a batch; it cannot continue."""
        try:
            yield
        except BaseException:
            self._state = "failed"
            raise
