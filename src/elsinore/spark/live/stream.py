"""The users' classes of live streams on Spark: planned, started, awaited and stopped."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from elsinore.connectors.checkpoint import Checkpoint
from elsinore.connectors.contract import Limit, Sink
from elsinore.connectors.files_sink import FileFormat
from elsinore.connectors.places import Place
from elsinore.connectors.targets import (
    EarlyWrite,
    ForeachBatch,
    check_outputs,
    early_to,
    rejects_to,
    target_of,
)
from elsinore.errors import InputError
from elsinore.runtime.live import Change, LiveOptions, Planner, ProgressLog, StreamProgress
from elsinore.spark.fields import ship_functions
from elsinore.spark.live.continuing import Continuation, start_or_continue
from elsinore.spark.live.merging import MergePartials
from elsinore.spark.live.processor import BucketProcessor, needs_merging
from elsinore.spark.live.rows import ANSWERS_TYPE, EVENTS_DDL, BucketName
from elsinore.spark.live.sink import BatchWriter
from elsinore.spark.live.source import NAME, ElsinoreSource, SourceTask
from elsinore.spark.live.tasks import EventPacker, StreamPlan, loaded_plan
from elsinore.spark.live.watermarks import set_task_watermarks, watermark_of_task
from elsinore.spark.quiet import error_in_task, silenced, unread_file
from elsinore.spark.shuffle import known_cores
from elsinore.spark.workers import MapInArrow, shipped, use_driver_interpreter

STATE_STORE = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
SETTINGS = {
    "spark.sql.streaming.stateStore.providerClass": STATE_STORE,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}

POLL_SECONDS = 0.2  # between checks whether the stream has ended

Trigger = Mapping[str, Any]

LOG = logging.getLogger("elsinore.live")


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOptions:
    """Options of a stream; for units see `StreamPlan`.

    `limit` is the maximum rows of a micro-batch, `early` the seconds between values of open
    windows, `end_on_idle` the seconds without events after which the stream ends, `buckets` the
    number of buckets (None: as in the checkpoint).
    """

    lateness: int
    ahead: int | None = None
    idle_timeout: float | None = None
    early: float | None = None
    end_on_idle: float | None = None
    buckets: int | None = None
    limit: Limit = Limit(rows=1_000_000)  # noqa: RUF009 - frozen


class LiveStream:
    """A planned live stream, to be started; returned by `Workload.stream`.

    `source` is a streaming DataFrame, or the place of a source of `elsinore.connectors`.
    """

    def __init__(
        self,
        planner: Planner,
        schema: pa.Schema,
        reading: LiveOptions,
        options: StreamOptions,
        source: DataFrame | Place,
        spark: SparkSession,
    ) -> None:
        self._planner, self._schema, self._reading = planner, schema, reading
        self._options, self._source, self._spark = options, source, spark

    def start(
        self,
        path: str | Path | None = None,
        *,
        checkpoint: str | Path,
        format: FileFormat = "parquet",  # noqa: A002 - Spark's word for it
        sink: Sink | None = None,
        foreach_batch: ForeachBatch | None = None,
        early: EarlyWrite | None = None,
        rejects: str | Path | None = None,
        trigger: Trigger | None = None,
        on_progress: Callable[[StreamProgress], object] | None = None,
    ) -> RunningStream:
        """Start the stream; return a handle on it.

        path, format    results are files `path/QUERY/batch=N/part-00000.FORMAT`: parquet, csv or
                        ndjson. A batch that is replayed after a crash replaces its files. If path
                        is kafka:TOPIC@HOST:PORT, they are messages of that topic, which are sent
                        again when a batch is replayed, with equal keys
        sink            or any sink of `elsinore.connectors`, such as
                        `connectors.places.sink_of(text, kafka_options=...)`
        foreach_batch   or a function of (results by the queries' names, number of the batch); it
                        is called again with the same results if a batch is replayed
        early           if the stream was planned with `early`: a function of (query, number of the
                        batch, rows) for values of windows that are still open. By default they go
                        where results go, as those of QUERY.early
        on_progress     a function that receives the progress of each micro-batch
        checkpoint      a folder for the state; a stream is continued from it
        rejects         a folder for rejected and late records, for a stream that was planned with
                        `rejects=True`
        trigger         what Spark's `trigger` takes: {"processingTime": "1 second"} (by default),
                        {"availableNow": True}

        Raises OutputError for a checkpoint that cannot be written, StateError for one of another
        stream.
        """
        check_outputs(self._reading, self._options.early, rejects, early)
        checkpoint_folder = Checkpoint(checkpoint)
        checkpoint_folder.prepare()
        target = target_of(path, format, sink, foreach_batch, self._planner.queries)
        if early is None and self._options.early is not None:
            early = early_to(target)
        continuation = start_or_continue(
            self._planner, self._schema, self._reading, checkpoint_folder, self._options.buckets
        )
        for name, change in continuation.changes.items():
            LOG.info("query %s is %s", name, change.value)
        plan = self._planned(continuation)
        writer = BatchWriter(
            plan=plan,
            checkpoint=checkpoint_folder,
            sink=target,
            rejects=None if rejects is None else rejects_to(rejects),
            early=early,
            on_progress=on_progress,
        )
        if isinstance(self._source, DataFrame):
            writer.on_progress_saved = partial(set_task_watermarks, self._spark)
            set_task_watermarks(self._spark, checkpoint_folder.progress())
        self._prepare_session()
        for generation in plan.generations.values():
            ship_functions(generation.setup.fields)
        payload: bytes = cloudpickle.dumps(plan)  # type: ignore[no-untyped-call]
        with _settings(self._spark):
            events = self._events(payload, checkpoint_folder)
            answers = self._answers(events, payload, plan)
            query = (
                answers.writeStream.foreachBatch(writer)
                .option("checkpointLocation", str(checkpoint_folder.folder))
                .trigger(**(trigger or {"processingTime": "1 second"}))
                .start()
            )
        return RunningStream(query, writer, continuation.changes)

    @property
    def schema(self) -> pa.Schema:
        """The columns of the events."""
        return self._schema

    def _planned(self, continuation: Continuation) -> StreamPlan:
        """Return the plan of the stream for a continuation."""
        options = self._options
        clock = continuation.generations[max(continuation.generations)].setup.options.clock
        return StreamPlan(
            generations=continuation.generations,
            buckets=continuation.buckets,
            lateness=options.lateness,
            per_second=1_000_000 * clock.per_microsecond,
            source=_name_of(self._source),
            idle_timeout=options.idle_timeout,
            ahead=options.ahead,
            ended=tuple(
                str(BucketName(number, key, bucket))
                for number, keys in continuation.ended.items()
                for key, count in keys.items()
                for bucket in range(count)
            ),
            query_names=continuation.former | {query.name for query in self._planner.queries},
        )

    def _prepare_session(self) -> None:
        use_driver_interpreter(self._spark)
        logging.getLogger("py4j.clientserver").setLevel(logging.CRITICAL)  # we raise its errors

    def _events(self, payload: bytes, checkpoint_folder: Checkpoint) -> DataFrame:
        """Return the stream of rows of EVENTS."""
        if isinstance(self._source, DataFrame):
            names = self._schema.names
            chosen = self._source.select(*(f"`{name}`" for name in names))
            packing = _pack_frame(payload)
            return chosen.mapInArrow(shipped(packing), EVENTS_DDL)
        opened_source = self._source.open(checkpoint_folder.folder_log)
        task = SourceTask(
            place=self._source,
            checkpoint=checkpoint_folder,
            reader=opened_source.reader,
            payload=payload,
            limit=self._options.limit,
            tasks=known_cores(self._spark),
            early=self._options.early,
            idle_timeout=self._options.idle_timeout,
            end_on_idle=self._options.end_on_idle,
        )
        opened_source.close()
        self._spark.dataSource.register(ElsinoreSource)
        return self._spark.readStream.format(NAME).option("task", task.dump()).load()

    def _answers(self, events: DataFrame, payload: bytes, plan: StreamPlan) -> DataFrame:
        """Return the stream of rows of ANSWERS."""
        answers: DataFrame = events.groupBy("bucket").transformWithState(
            BucketProcessor(payload), ANSWERS_TYPE, "Append", "None"
        )
        if any(
            needs_merging(planned_pass)
            for generation in plan.generations.values()
            for planned_pass in generation.setup.passes
        ):
            shares = answers.repartition(known_cores(self._spark), "share")
            answers = shares.mapInArrow(shipped(MergePartials(payload)), ANSWERS_TYPE)
        return answers


class RunningStream:
    """A live stream that was started; methods are named as those of Spark's `StreamingQuery`.

    `query` is that `StreamingQuery`. `changes` has the change of each query, by name, after a
    restart with another workload.
    """

    def __init__(
        self, query: StreamingQuery, writer: BatchWriter, changes: Mapping[str, Change]
    ) -> None:
        self.query = query
        self.changes = changes
        self._writer = writer

    @property
    def is_active(self) -> bool:
        """Whether the stream runs."""
        if self._is_committed():
            self.query.stop()
        return bool(self.query.isActive)

    @property
    def recent_progress(self) -> list[StreamProgress]:
        """The progress of the last micro-batches, the last one last."""
        return list(self.progress.recent)

    @property
    def progress(self) -> ProgressLog:
        """The progress since the stream was started."""
        return self._writer.progress

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait until the stream ends, at most `timeout` seconds; return whether it has ended.

        Raises the error that stopped a failed stream: InputError for unusable events, OutputError
        for a place that cannot be written.
        """
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        with _own_errors(self._writer):
            while True:
                wait = min(POLL_SECONDS, max(0.01, deadline - time.monotonic()))
                if self.query.awaitTermination(wait):  # type: ignore[arg-type]
                    return True
                if self._is_committed():
                    self.query.stop()
                elif time.monotonic() >= deadline:
                    return False

    def _is_committed(self) -> bool:
        """Return whether the last micro-batch of an ended stream is committed (`end_on_idle`)."""
        end_batch, last = self._writer.ended, self.query.lastProgress
        return end_batch is not None and last is not None and last["batchId"] >= end_batch

    def stop(self) -> None:
        """Stop the stream; it can be continued from its checkpoint."""
        self.query.stop()
        self._writer.sink.close()


@contextmanager
def _own_errors(writer: BatchWriter) -> Iterator[None]:
    """Replace Spark's error by the Elsinore error that it wraps."""
    with silenced():
        try:
            yield
        except PySparkException as error:
            cause = writer.failure or error
            if not isinstance(cause, PySparkException):
                raise cause from None
            message = error_in_task(cause) or unread_file(cause)
            if message is None:
                raise
            raise InputError(message) from None


def _name_of(source: DataFrame | Place) -> str:
    return "the stream" if isinstance(source, DataFrame) else source.name


def _pack_frame(payload: bytes) -> MapInArrow:
    """Return the function that packs the rows of a streaming DataFrame."""

    def pack(batches: Any) -> Iterator[pa.RecordBatch]:
        packer = EventPacker(loaded_plan(payload), watermark=watermark_of_task())
        for batch in batches:
            yield from packer.pack(pa.Table.from_batches([batch]), "")
        if packer.tick.events:
            yield packer.ticks()

    return pack


@contextmanager
def _settings(spark: SparkSession) -> Iterator[None]:
    """Set a session's options for streams; restore them afterwards."""
    settings = {**SETTINGS, "spark.sql.shuffle.partitions": str(known_cores(spark))}
    before: dict[str, Any] = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)
