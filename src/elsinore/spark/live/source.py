"""A Python data source for Structured Streaming whose tasks read events and pack them into blobs.

It wraps a source of `elsinore.connectors`. An offset of the stream records, besides the source's
offset, everything else that a micro-batch depends on, so that a replay has the same result:

    source   the offset of the wrapped source
    now      seconds for which the stream has run; detects idle partitions
    wall     the machine's clock in microseconds since the epoch; detects events too far ahead
    end      whether the stream ends here
    early    how many times values of open windows have been requested
    expected   the partitions that the watermark waits for
    watermark  in ticks, after the previous micro-batch; detects late events in tasks
"""

from __future__ import annotations

import base64
import pickle
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxFiles,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from elsinore.connectors.checkpoint import Checkpoint
from elsinore.connectors.contract import Limit, Offset, Reader, StreamSource, balance
from elsinore.connectors.places import Place
from elsinore.spark.live.rows import EVENTS_DDL, Tick
from elsinore.spark.live.tasks import EventPacker, loaded_plan

NAME = "elsinore"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTask:
    """The task of Spark's data source: opening the source, reading splits, packing events.

    `place` opens the source for planning micro-batches, `reader` reads its splits. `payload` is the
    pickled `StreamPlan`. `limit` is the maximum rows, `tasks` the maximum tasks of a micro-batch.
    `early` is the seconds between values of open windows, `end_on_idle` the seconds without events
    after which the stream ends.
    """

    place: Place
    checkpoint: Checkpoint
    reader: Reader
    payload: bytes
    limit: Limit
    tasks: int
    early: float | None = None
    idle_timeout: float | None = None
    end_on_idle: float | None = None

    def dump(self) -> str:
        """Return the task as text, for an option of Spark."""
        return base64.b64encode(cloudpickle.dumps(self)).decode()  # type: ignore[no-untyped-call]


class ElsinoreSource(DataSource):
    """The data source; its option `task` is a `SourceTask`."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return NAME

    def schema(self) -> str:
        """Return the columns: those of EVENTS."""
        return EVENTS_DDL

    def streamReader(self, schema: Any) -> PackingReader:  # noqa: N802, ARG002 - Spark's names
        """Return the reader of the stream."""
        return PackingReader(self.options["task"])


class Piece(InputPartition):
    """The part of a micro-batch for one task; `splits` may be empty: a tick is always sent."""

    def __init__(self, splits: Sequence[Any], wall: int, watermark: int | None, tick: Tick) -> None:
        self.splits, self.wall, self.watermark, self.tick = splits, wall, watermark, tick


class PackingReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans micro-batches in one process, and reads their pieces in others."""

    def __init__(self, task: str) -> None:
        self._text = task
        self._task: SourceTask = pickle.loads(base64.b64decode(task))
        self._source: StreamSource | None = None
        self._until: Offset | None = None  # the end of a run with trigger availableNow
        self._started: float | None = None
        self._idle_since: float | None = None
        self._ended = False

    def __getstate__(self) -> dict[str, Any]:
        return {"_text": self._text}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["_text"])  # type: ignore[misc]

    # --- planning

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Return where a new stream begins."""
        return {
            "source": self._open_source().first(),
            "now": 0.0,
            "wall": _wall(),
            "end": False,
            "early": 0,
            "expected": [],
            "watermark": None,
        }

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Return the limit of a micro-batch, if Spark supports one."""
        if self._task.limit.rows is not None:
            return ReadMaxRows(self._task.limit.rows)
        if self._task.limit.files is not None:
            return ReadMaxFiles(self._task.limit.files)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Record the latest offset, at which the run ends."""
        self._until = self._open_source().available()

    def latestOffset(  # noqa: N802 - Spark's name
        self,
        start: dict[str, Any],
        limit: ReadLimit,  # noqa: ARG002 - the task has the limit
    ) -> dict[str, Any]:
        """Return the end of the next micro-batch; `start` if there is none.

        A stream that has ended restarts with empty state, after the events it has read.
        """
        if self._ended:
            return start
        now = self._now(start["now"])
        offset = self._open_source().advance(start["source"], self._task.limit, self._until)
        has_events = offset != start["source"]
        self._idle_since = None if has_events else (self._idle_since or now)
        ends = self._ends(now, has_events)
        early = start["early"]
        if self._task.early is not None:
            early = int(now // self._task.early)
        if not (has_events or ends or self._ticks(start, now, early)):
            return start
        self._ended = ends
        return {
            "source": offset,
            "now": now,
            "wall": _wall(),
            "end": ends,
            "early": early,
            "expected": list(self._open_source().lag(offset)),
            "watermark": self._task.checkpoint.progress().get("watermark"),
        }

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802 - Spark's name
        """Return None: reporting an offset would list the source's events again."""
        return None

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return the pieces of a micro-batch."""
        source = self._open_source()
        splits = source.splits(start["source"], end["source"])
        early = end["early"] > start["early"]
        tick = Tick(
            now=end["now"],
            end=end["end"],
            early=early,
            expected=tuple(end["expected"]),
            lag=sum(source.lag(end["source"]).values()),
        )
        pieces = balance(splits, self._task.tasks) or [[]]
        return [Piece(piece, end["wall"], end["watermark"], tick) for piece in pieces]

    def _open_source(self) -> StreamSource:
        if self._source is None:
            self._source = self._task.place.open(self._task.checkpoint.folder_log)
        return self._source

    def _now(self, before: float) -> float:
        """Return the seconds for which the stream has run, without pauses between runs."""
        if self._started is None:
            self._started = time.monotonic() - before
        return time.monotonic() - self._started

    def _ends(self, now: float, has_events: bool) -> bool:
        timeout = self._task.end_on_idle
        if timeout is None or has_events:
            return False
        if self._until is not None:
            return True
        return self._idle_since is not None and now - self._idle_since >= timeout

    def _ticks(self, start: dict[str, Any], now: float, early: int) -> bool:
        """Return whether to run a micro-batch without events, as partitions may be idle."""
        if early > start["early"]:
            return True
        timeout = self._task.idle_timeout
        return timeout is not None and now - start["now"] >= max(timeout, 1.0)

    def commit(self, end: dict[str, Any]) -> None:
        """Do nothing: offsets are kept by Spark."""

    def stop(self) -> None:
        """Close the source."""
        if self._source is not None:
            self._source.close()

    # --- in tasks

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a piece."""
        assert isinstance(partition, Piece)
        plan = loaded_plan(self._task.payload)
        wall = partition.wall * plan.per_second // 1_000_000
        packer = EventPacker(plan, wall, partition.watermark, partition.tick)
        try:
            for split in partition.splits:
                part = self._task.reader.read(split)
                if part.rejects.num_rows:
                    yield packer.reject(part.rejects)
                yield from packer.pack(part.events, split.partition)
        finally:
            self._task.reader.close()
        yield packer.ticks()


def _wall() -> int:
    return time.time_ns() // 1_000
