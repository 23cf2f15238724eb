"""Elsinore's streams from any source: on Spark, in this process, and the identity on Spark."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

import elsinore as el
from benchmarks.live.marks import Marks
from elsinore.connectors.checkpoint import Checkpoint
from elsinore.connectors.contract import Limit
from elsinore.connectors.places import Place
from elsinore.connectors.targets import EachBatch
from elsinore.local.stream import LocalStream, Pace
from elsinore.runtime.live import StreamProgress, options_of
from elsinore.spark.live.rows import ANSWERS_TYPE
from elsinore.spark.live.stream import LiveStream
from elsinore.spark.live.tasks import StreamPlan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LATENESS = "1 second"
AVAILABLE = {"availableNow": True}

Results = dict[str, pa.Table]


class Collected:
    """Results of all micro-batches, for `foreach_batch`."""

    def __init__(self) -> None:
        self._pieces: dict[str, list[pa.Table]] = {}

    def __call__(self, results: Results, batch: int) -> None:  # noqa: ARG002 - of `foreach_batch`
        """Add the results of a micro-batch."""
        for name, table in results.items():
            self._pieces.setdefault(name, []).append(table)

    def tables(self) -> Results:
        """Return the rows of each query."""
        return {name: pa.concat_tables(pieces) for name, pieces in self._pieces.items()}


def in_process(
    workload: el.Workload,
    place: Place,
    limit: int,
    each: Callable[[StreamProgress], object] = lambda _: None,
    **options: Any,
) -> tuple[Marks, Results]:
    """Run a stream in this process over all that is there."""
    marks, results = Marks(), Collected()

    def note(progress: StreamProgress) -> None:
        marks.add(progress.events)
        each(progress)

    with tempfile.TemporaryDirectory() as folder:
        LocalStream(
            workload.live_planner(),
            place,
            options_of(lateness=LATENESS, **options),
            Checkpoint(Path(folder) / "checkpoint"),
            EachBatch(results),
            pace=Pace(every=0.0, once=True, end_on_idle=0.0, limit=Limit(rows=limit)),
        ).run(note)
    return marks, results.tables()


def on_spark(
    workload: el.Workload,
    place: Place,
    spark: SparkSession,
    limit: int,
    each: Callable[[StreamProgress], object] = lambda _: None,
    **options: Any,
) -> tuple[Marks, Results]:
    """Run a stream on Spark over all that is there."""
    marks, results = Marks(), Collected()

    def note(progress: StreamProgress) -> None:
        marks.add(progress.events)
        each(progress)

    stream = workload.stream(
        place, lateness=LATENESS, end_on_idle="0 seconds", batch_rows=limit, spark=spark, **options
    )
    with tempfile.TemporaryDirectory() as folder:
        run = stream.start(
            foreach_batch=results,
            checkpoint=Path(folder) / "checkpoint",
            trigger=AVAILABLE,
            on_progress=note,
        )
        run.await_termination()
    return marks, results.tables()


def identity_on_spark(
    workload: el.Workload, place: Place, spark: SparkSession, limit: int
) -> Marks:
    """Run a stream over all that is there whose buckets only count the bytes that they receive."""
    stream = workload.stream(place, lateness=LATENESS, batch_rows=limit, spark=spark)
    stream.__class__ = Identity  # planned as any stream, with other buckets
    ends = Ends(limit)
    with tempfile.TemporaryDirectory() as folder:
        run = stream.start(sink=ends, checkpoint=Path(folder) / "checkpoint", trigger=AVAILABLE)
        run.await_termination()
    return ends.marks


class Ends:
    """A sink that notes the ends of micro-batches of so many events each."""

    def __init__(self, events: int) -> None:
        self.marks = Marks()
        self._events = events

    def write(self, query: str, batch: int, rows: pa.Table) -> None:
        """Do nothing: there are no results."""

    def discard(self, query: str, batch: int) -> None:
        """Do nothing: there are no results."""

    def flush(self) -> None:
        """Note the end of a micro-batch."""
        self.marks.add(self._events)

    def close(self) -> None:
        """Do nothing: nothing is open."""


class Identity(LiveStream):
    """A stream whose buckets count bytes: what a stream costs without operators."""

    def _answers(
        self,
        events: DataFrame,
        payload: bytes,  # noqa: ARG002 - of LiveStream
        plan: StreamPlan,  # noqa: ARG002
    ) -> DataFrame:
        counted: DataFrame = events.groupBy("bucket").transformWithState(
            ByteCounter(), ANSWERS_TYPE, "Append", "None"
        )
        return counted


class ByteCounter(StatefulProcessor):
    """Keeps the number of bytes that came as state."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        self._state = handle.getValueState("bytes", "count long")

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: Any,  # noqa: ARG002
        rows: Iterator[Any],
        timerValues: Any,  # noqa: N803, ARG002 - Spark's name
    ) -> Iterator[Row]:
        """Add up the bytes; yield nothing."""
        before = self._state.get()
        count = sum(len(row.blob) for row in rows if row.blob is not None)
        self._state.update((count + (0 if before is None else before[0]),))
        yield from ()
