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
from elsinore.spark.live.rows import ANSWERS_TYPE, COUNTS, Answer, BucketCounts, Tick
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
    *,
    identity: bool = False,
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
    if identity:
        stream.__class__ = Identity  # planned as any stream, with other buckets
    with tempfile.TemporaryDirectory() as folder:
        run = stream.start(
            foreach_batch=results,
            checkpoint=Path(folder) / "checkpoint",
            trigger=AVAILABLE,
            on_progress=note,
        )
        run.await_termination()
    return marks, results.tables()


class Identity(LiveStream):
    """A stream whose buckets count the bytes that they receive: what a stream costs without us."""

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
        """Add up the bytes; yield the counts that the sink needs."""
        before = self._state.get()
        count, events = (0 if before is None else before[0]), 0
        for row in rows:
            if row.blob is not None:
                count += len(row.blob)
            else:
                events += Tick.load(row.tick).events
        self._state.update((count,))
        counts = BucketCounts(
            watermark=None, greatest=None, events=events, rejected=0, task_late=0, late=0,
            bursts=0, shared=0, waiting=0, keys=0, state_bytes=8,
        )  # fmt: skip
        yield Row(**Answer(COUNTS, 0, 0, 0, counts.dump())._asdict())
