"""Streams in this process: a source, a live run and a sink, restartable from a checkpoint.

A micro-batch's results are written first; then its state replaces the former one in one step. After
a crash in between, the micro-batch is read again, with what has come since, and its results replace
those that were written. So every result is there once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from elsinore.arrow import no_table
from elsinore.connectors.checkpoint import Checkpoint
from elsinore.connectors.contract import Limit, Offset, Sink, StreamSource
from elsinore.connectors.places import Place
from elsinore.connectors.rejects import no_rejects, rejected_rows
from elsinore.connectors.targets import early_name
from elsinore.kernels.saved import reading_state
from elsinore.local.live import Live, resume, start
from elsinore.operators import BurstCounts, OperatorStatistics
from elsinore.runtime.live import (
    LiveOptions,
    Planner,
    ProgressLog,
    StreamProgress,
    bursts_since,
)
from elsinore.runtime.live.state import pack_state, unpack_state
from elsinore.runtime.rejects import REASON_COLUMN

OWNER = "a stream in this process"
ENGINE = "local"

Write = Callable[[int, pa.Table], object]  # of a micro-batch


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """When micro-batches begin, and when the stream ends; in seconds.

    every: from the beginning of a micro-batch to that of the next one, if there are events.
    early: between values of open windows. end_on_idle: without events, after which the stream ends,
    and all windows with it. once: stop when what is available at the start was read.
    """

    every: float = 1.0
    early: float | None = None
    end_on_idle: float | None = None
    once: bool = False
    limit: Limit = field(default=Limit(rows=1_000_000))


class LocalStream:
    """A stream in this process, from a source to a sink; `run` does the work.

    changes: after a restart with another workload, what happened to each query, by name.
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
        version or engine, and what the source raises.
        """
        checkpoint.prepare()
        known = checkpoint.stream(ENGINE)
        self.progress = ProgressLog()
        self._checkpoint, self._sink, self._pace = checkpoint, sink, pace
        self._rejects, self._early = rejects, early
        self._stopped = threading.Event()
        self._source: StreamSource = place.open(checkpoint.folder_log)
        self._names = {*planner.meanings, *(known or {"queries": ()})["queries"]}
        blob = checkpoint.state()
        if known is None or blob is None:
            checkpoint.keep_stream(ENGINE, {"queries": planner.meanings})
            self._live: Live = start(planner, self._source.schema, options)
            self._offset: Offset = self._source.first()
            self._batch = 0
        else:
            self._live, self._offset, self._batch = _continued(
                planner, blob, self._source.schema, options
            )
            checkpoint.keep_stream(ENGINE, {"queries": planner.meanings})
        self._is_first = True  # micro-batch since the start
        self._early_at = self._idle_since = time.monotonic()

    @property
    def changes(self) -> Mapping[str, Any]:
        """What happened to each query when the stream was continued; empty if it is new."""
        return self._live.changes

    def stop(self) -> None:
        """Let `run` return after the micro-batch that is being worked on."""
        self._stopped.set()

    def run(self, each: Callable[[StreamProgress], object] | None = None) -> None:
        """Work on micro-batches until `stop`, or until the stream ends. each: is called after each.

        Raises InputError for events that cannot be used, unless they are rejected, and OutputError
        where a place cannot be written. The checkpoint stays valid.
        """
        until = self._source.available() if self._pace.once else None
        try:
            while not self._stopped.is_set():
                begun = time.monotonic()
                end = self._source.advance(self._offset, self._pace.limit, until)
                has_events = end != self._offset
                if has_events:
                    self._idle_since = begun
                ends = not has_events and self._is_over(begun)
                if has_events or ends or self._wants_tick(begun):
                    progress = self._micro_batch(end, begun, ends=ends)
                    if each is not None:
                        each(progress)
                if ends or (self._pace.once and not has_events):
                    break
                if not has_events or not self._pace.once:
                    self._stopped.wait(max(0.0, begun + self._pace.every - time.monotonic()))
        finally:
            self._source.close()
            self._sink.close()

    def _micro_batch(self, end: Offset, begun: float, *, ends: bool) -> StreamProgress:
        """Read, compute and write one micro-batch; then keep the state."""
        before = self._live.statistics
        rows: dict[str, list[pa.Table]] = {}
        rejects: list[pa.Table] = []
        events = 0
        empty = no_table(self._source.schema)
        for partition in self._source.lag(end):
            _collect(rows, self._live.push(empty, partition=partition))
        for split in self._source.splits(self._offset, end):
            part = self._source.reader.read(split)
            events += part.events.num_rows
            rejects.append(part.rejects)
            _collect(rows, self._live.push(part.events, partition=split.partition))
        left_out = self._live.take_rejected()
        unread = sum(table.num_rows for table in rejects)
        if left_out is not None:
            rejects.append(_as_rejects(left_out, self._source.name))
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
        self._write_early(begun, ends=ends)
        self._sink.flush()
        blob = self._keep(end, ends=ends)
        after, reached = self._live.statistics, self._live.watermark_seconds
        progress = StreamProgress(
            batch=self._batch,
            events=events,
            rejected=unread + after.rejected - before.rejected,
            late=after.late - before.late,
            rows={name: table.num_rows for name, table in results.items()},
            watermark=after.watermark,
            greatest=self._live.greatest_time,
            waiting=after.waiting,
            keys=after.open_keys,
            state_bytes=blob,
            seconds=time.monotonic() - begun,
            finished=time.time(),
            lag=sum(self._source.lag(end).values()),
            open_windows=dict.fromkeys(after.open_windows, 0) if ends else after.open_windows,
            sharing=bursts_since(_bursts(before.operators), _bursts(after.operators)),
            watermark_delay=None if reached is None else time.time() - reached,
        )
        self.progress.add(progress)
        self._offset, self._batch = end, self._batch + 1
        return progress

    def _discard_rest(self) -> None:
        """Remove what a crash may have left beside the results of the micro-batch."""
        self._is_first = False
        if self._early is not None:
            for name in self._names:
                self._sink.discard(early_name(name), self._batch)
        if self._rejects is not None:
            self._rejects(self._batch, no_rejects())

    def _keep(self, end: Offset, *, ends: bool) -> int:
        """Keep the state after a micro-batch; return its size in bytes."""
        facts = {"batch": self._batch + 1, "offset": end, "ended": ends}
        parts = {} if ends else {"live": self._live.save()}
        blob = pack_state(OWNER, facts, parts)
        self._checkpoint.keep_state(blob)
        return len(blob)

    def _write_early(self, now: float, *, ends: bool) -> None:
        every = self._pace.early
        if self._early is None or every is None or ends or now - self._early_at < every:
            return
        self._early_at = now
        for name, table in self._live.early():
            self._early(name, self._batch, table)

    def _is_over(self, now: float) -> bool:
        idle = self._pace.end_on_idle
        return idle is not None and (self._pace.once or now - self._idle_since >= idle)

    def _wants_tick(self, now: float) -> bool:
        """Return whether time alone may make something final, or early values are due."""
        early = self._pace.early is not None and now - self._early_at >= self._pace.early
        return early or self._live.options.idle_timeout is not None


def _continued(
    planner: Planner, blob: bytes, schema: pa.Schema, options: LiveOptions
) -> tuple[Live, Offset, int]:
    """Return the live run, the offset and the number of the next micro-batch of a state."""
    facts, parts = unpack_state(OWNER, blob)
    with reading_state(OWNER):
        offset, batch = dict(facts["offset"]), int(facts["batch"])
        if facts["ended"]:
            return start(planner, schema, options), offset, batch
        saved = bytes(parts["live"])
    changes = {name: getattr(options, name) for name in ("lateness", "idle_timeout", "ahead")}
    changes["rejects"] = options.request.rejects
    return resume(planner, saved, schema, changes), offset, batch


def _collect(rows: dict[str, list[pa.Table]], pieces: list[tuple[str, pa.Table]]) -> None:
    for name, table in pieces:
        rows.setdefault(name, []).append(table)


def _as_rejects(left_out: pa.Table, source: str) -> pa.Table:
    reasons = left_out.column(REASON_COLUMN)
    return rejected_rows(left_out.drop_columns([REASON_COLUMN]), reasons, source)


def _bursts(statistics: Sequence[OperatorStatistics]) -> list[BurstCounts]:
    return [bursts for of_unit in statistics for bursts in of_unit.shared_bursts]
