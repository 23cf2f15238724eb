"""Streams in this process: a source, a live run and a sink, restartable from a checkpoint.

The plan of a micro-batch is saved before it begins (`BatchPlan`). Its results are written next;
then its state atomically replaces the former one. After a crash in between, the same micro-batch is
replayed: its results are equal, and replace those already written (exactly-once).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow as pa

from elsinore.arrow import no_table
from elsinore.connectors.checkpoint import Checkpoint
from elsinore.connectors.contract import Limit, Offset, Sink, StreamSource
from elsinore.connectors.places import Place
from elsinore.connectors.rejects import no_rejects, rejects_of
from elsinore.connectors.targets import early_name
from elsinore.local.live import Live, resume, start
from elsinore.operators import BurstCounts, OperatorStatistics
from elsinore.runtime.live import (
    LENGTHS,
    LiveOptions,
    Planner,
    ProgressLog,
    StreamProgress,
    bursts_since,
)
from elsinore.runtime.live.state import pack_state, unpack_state
from elsinore.saved_states import reading_state

OWNER = "a stream in this process"
ENGINE = "local"

Write = Callable[[int, pa.Table], object]  # of a micro-batch


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """The timing of micro-batches, and of the stream's end; in seconds.

    `every` is the interval between the beginnings of micro-batches, if there are events; `early`
    that between values of open windows. `end_on_idle` is the time without events after which the
    stream ends, and all windows with it. With `once`, stop when all events available at the start
    are read.
    """

    every: float = 1.0
    early: float | None = None
    end_on_idle: float | None = None
    once: bool = False
    limit: Limit = field(default=Limit(rows=1_000_000))


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPlan:
    """The inputs of a micro-batch besides the state.

    `number` is that of the micro-batch; `begin` and `end` are the offsets before and after its
    events. `now` is the seconds for which the stream has run, which detects idle partitions; `wall`
    the machine's clock in seconds since the epoch, which detects events too far ahead. `unread` has
    the number of unread rows of each partition that the watermark waits for. `ends`: the stream
    ends with this micro-batch.
    """

    number: int
    begin: Offset
    end: Offset
    now: float
    wall: float
    unread: Mapping[str, int]
    ends: bool


class LocalStream:
    """A stream in this process, from a source to a sink; `run` does the work.

    `changes` has the change of each query, by name, after a restart with another workload.
    """

    def __init__(
        self,
        planner: Planner,
        place: Place,
        options: LiveOptions,
        checkpoint: Checkpoint,
        sink: Sink,
        *,
        pace: Pace,
        rejects: Write | None = None,
        early: Callable[[str, int, pa.Table], object] | None = None,
    ) -> None:
        """Open the source, and continue from the checkpoint if it has a state.

        Raises OutputError for a checkpoint that cannot be written, StateError for one of another
        version or engine, and the errors of the source.
        """
        checkpoint.prepare()
        description = checkpoint.stream(ENGINE)
        self.progress = ProgressLog()
        self._checkpoint, self._sink, self._pace = checkpoint, sink, pace
        self._rejects, self._early = rejects, early
        self._stopped = threading.Event()
        self._source: StreamSource = place.open(checkpoint.folder_log)
        self._names = {*planner.meanings, *(description or {"queries": ()})["queries"]}
        blob = checkpoint.state()
        self._offset: Offset | None = None
        self._batch, self._now, self._wall = 0, 0.0, time.time()
        if description is None or blob is None:
            self._live: Live = start(planner, self._source.schema, options)
        else:
            self._live = self._restore(planner, blob, options)
        self._live.now, self._live.today = lambda: self._now, lambda: self._wall
        self._unfinished = self._unfinished_plan()
        checkpoint.save_stream(ENGINE, {"queries": planner.meanings})
        self._is_first = True  # micro-batch since the start
        self._early_at = self._idle_since = time.monotonic()
        self._clock_zero = time.monotonic() - self._now

    @property
    def changes(self) -> Mapping[str, Any]:
        """The change of each query when the stream was continued; empty if it is new."""
        return self._live.changes

    def stop(self) -> None:
        """Let `run` return after the current micro-batch."""
        self._stopped.set()

    def run(self, each: Callable[[StreamProgress], object] | None = None) -> None:
        """Process micro-batches until `stop` or the end of the stream; call `each` after each.

        Raises InputError for unusable events, unless they are rejected, and OutputError if a place
        cannot be written. The checkpoint remains valid.
        """
        until = self._source.available() if self._pace.once else None
        try:
            while not self._stopped.is_set():
                start_time = time.monotonic()
                plan, self._unfinished = (
                    self._unfinished or self._plan_batch(start_time, until),
                    None,
                )
                if plan is not None:
                    progress = self._micro_batch(plan, start_time)
                    if each is not None:
                        each(progress)
                has_events = plan is not None and plan.end != plan.begin
                if (plan is not None and plan.ends) or (self._pace.once and not has_events):
                    break
                if not has_events or not self._pace.once:
                    self._stopped.wait(max(0.0, start_time + self._pace.every - time.monotonic()))
        finally:
            self._source.close()
            self._sink.close()

    def _plan_batch(self, start_time: float, until: Offset | None) -> BatchPlan | None:
        """Plan the next micro-batch and save the plan for replays; None if there is none."""
        begin = self._source.first() if self._offset is None else self._offset
        end = self._source.advance(begin, self._pace.limit, until)
        has_events = end != begin
        if has_events:
            self._idle_since = start_time
        ends = not has_events and self._is_over(start_time)
        self._offset = begin
        if not (has_events or ends or self._wants_tick(start_time)):
            return None
        plan = BatchPlan(
            number=self._batch,
            begin=begin,
            end=end,
            now=time.monotonic() - self._clock_zero,
            wall=time.time(),
            unread=self._source.lag(end),
            ends=ends,
        )
        self._checkpoint.save_batch_plan(asdict(plan))
        return plan

    def _micro_batch(self, plan: BatchPlan, start_time: float) -> StreamProgress:
        """Read, compute and write one micro-batch; then save the state."""
        end, ends = plan.end, plan.ends
        self._now, self._wall = plan.now, plan.wall
        before = self._live.statistics
        rows: dict[str, list[pa.Table]] = {}
        rejects: list[pa.Table] = []
        events = 0
        empty = no_table(self._source.schema)
        for partition in plan.unread:
            _collect(rows, self._live.push(empty, partition=partition))
        for split in self._source.splits(plan.begin, end):
            part = self._source.reader.read(split)
            events += part.events.num_rows
            rejects.append(part.rejects)
            _collect(rows, self._live.push(part.events, partition=split.partition))
        left_out = self._live.take_rejected()
        unread = sum(table.num_rows for table in rejects)
        if left_out is not None:
            rejects.append(rejects_of(left_out, self._source.name))
        _collect(rows, self._live.end() if ends else self._live.poll())
        results = {name: pa.concat_tables(tables) for name, tables in rows.items()}
        for name, table in results.items():
            self._sink.write(name, self._batch, table)
        for name in self._names - results.keys():
            self._sink.discard(name, self._batch)
        if self._is_first:
            self._discard_rest()
        if any(table.num_rows for table in rejects) and self._rejects is not None:
            self._rejects(self._batch, pa.concat_tables(rejects))
        self._write_early(start_time, ends=ends)
        self._sink.flush()
        blob = self._save(end, ends=ends)
        live_statistics, reached = self._live.statistics, self._live.watermark_seconds
        progress = StreamProgress(
            batch=self._batch,
            events=events,
            rejected=unread + live_statistics.rejected - before.rejected,
            late=live_statistics.late - before.late,
            rows={name: table.num_rows for name, table in results.items()},
            watermark=live_statistics.watermark,
            greatest=self._live.greatest_time,
            waiting=live_statistics.waiting,
            keys=live_statistics.open_keys,
            state_bytes=blob,
            seconds=time.monotonic() - start_time,
            finished=time.time(),
            lag=sum(plan.unread.values()),
            open_windows=dict.fromkeys(live_statistics.open_windows, 0)
            if ends
            else live_statistics.open_windows,
            sharing=bursts_since(_bursts(before.operators), _bursts(live_statistics.operators)),
            watermark_delay=None if reached is None else time.time() - reached,
        )
        self.progress.add(progress)
        self._offset, self._batch = end, self._batch + 1
        return progress

    def _discard_rest(self) -> None:
        """Remove files that a crash may have left beside the micro-batch's results."""
        self._is_first = False
        if self._early is not None:
            for name in self._names:
                self._sink.discard(early_name(name), self._batch)
        if self._rejects is not None:
            self._rejects(self._batch, no_rejects())

    def _save(self, end: Offset, *, ends: bool) -> int:
        """Save the state after a micro-batch; return its size in bytes."""
        facts = {"batch": self._batch + 1, "offset": end, "now": self._now, "ended": ends}
        parts = {} if ends else {"live": self._live.save()}
        blob = pack_state(OWNER, facts, parts)
        self._checkpoint.save_state(blob)
        return len(blob)

    def _write_early(self, now: float, *, ends: bool) -> None:
        interval = self._pace.early
        if self._early is None or interval is None or ends or now - self._early_at < interval:
            return
        self._early_at = now
        for name, table in self._live.early():
            self._early(name, self._batch, table)

    def _restore(self, planner: Planner, blob: bytes, options: LiveOptions) -> Live:
        """Return the live run of a saved state, and restore the stream's progress."""
        facts, parts = unpack_state(OWNER, blob)
        schema = self._source.schema
        with reading_state(OWNER):
            self._offset, self._batch = dict(facts["offset"]), int(facts["batch"])
            self._now = float(facts["now"])
            if facts["ended"]:
                return start(planner, schema, options)
            saved_run = bytes(parts["live"])
        changes = {name: getattr(options, name) for name in LENGTHS}
        changes["rejects"] = options.request.rejects
        live = resume(planner, saved_run, schema, changes, now=lambda: self._now)
        options.refuse_other_reading(live.options.reading())
        return live

    def _unfinished_plan(self) -> BatchPlan | None:
        """Return the plan of a micro-batch that was started but not finished, or None."""
        facts = self._checkpoint.batch_plan()
        with reading_state(OWNER):
            if facts is None or int(facts["number"]) != self._batch:
                return None
            return BatchPlan(**facts)

    def _is_over(self, now: float) -> bool:
        idle = self._pace.end_on_idle
        return idle is not None and (self._pace.once or now - self._idle_since >= idle)

    def _wants_tick(self, now: float) -> bool:
        """Return whether results may have become final by time alone, or early values are due."""
        early = self._pace.early is not None and now - self._early_at >= self._pace.early
        return early or self._live.options.idle_timeout is not None


def _collect(rows: dict[str, list[pa.Table]], pieces: list[tuple[str, pa.Table]]) -> None:
    for name, table in pieces:
        rows.setdefault(name, []).append(table)


def _bursts(statistics: Sequence[OperatorStatistics]) -> list[BurstCounts]:
    return [bursts for unit_statistics in statistics for bursts in unit_statistics.shared_bursts]
