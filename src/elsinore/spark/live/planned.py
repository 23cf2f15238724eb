"""Planning a live stream on Spark from what `Workload.stream` is called with."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from elsinore.connectors.contract import Limit
from elsinore.connectors.places import FolderPlace, Place
from elsinore.errors import InputError, option
from elsinore.runtime.live import Length, LiveOptions, Planner, seconds_of, ticks_of
from elsinore.spark.live.stream import BUCKETS, LiveStream, StreamOptions


def planned_stream(
    planner: Planner,
    source: Any,
    options: LiveOptions,
    *,
    early: Length | None,
    end_on_idle: Length | None,
    buckets: int | None,
    batch_rows: int,
    schema: pa.Schema | None,
    spark: SparkSession | None,
) -> LiveStream:
    """Return the stream that `Workload.stream` describes."""
    if isinstance(source, str | Path):
        source = FolderPlace(folder=str(source), schema=schema, rejects=options.request.rejects)
    is_frame = isinstance(source, DataFrame)
    if is_frame:
        _check_frame(source, options, early, end_on_idle)
        session = source.sparkSession
        schema = frame_schema(source)
    else:
        session = spark or SparkSession.getActiveSession()
        if session is None:
            raise InputError("There is no Spark session. Name one: stream(..., spark=session).")
        schema = _source_schema(source)
    # also refuses, before anything is started, what cannot run
    clock = planner.plan(planner.queries, planner.exact, schema, options, False).options.clock
    return LiveStream(
        planner,
        schema,
        options,
        StreamOptions(
            lateness=ticks_of(options.lateness, clock, "lateness"),
            ahead=None if options.ahead is None else ticks_of(options.ahead, clock, "ahead"),
            idle_timeout=_seconds(options.idle_timeout, "idle_timeout"),
            early=_seconds(early, "early"),
            end_on_idle=_seconds(end_on_idle, "end_on_idle"),
            buckets=BUCKETS if buckets is None else buckets,
            limit=Limit(rows=batch_rows),
        ),
        source,
        session,
    )


def frame_schema(frame: DataFrame) -> pa.Schema:
    """Return the columns of a DataFrame as they come to Python."""
    zone = str(frame.sparkSession.conf.get("spark.sql.session.timeZone"))
    return to_arrow_schema(frame.schema, timezone=zone)


def _source_schema(place: Place) -> pa.Schema:
    """Return the columns of a source's events."""
    with tempfile.TemporaryDirectory(prefix="elsinore-") as folder:
        source = place.open(Path(folder) / "log")
        try:
            return source.schema
        finally:
            source.close()


def _check_frame(
    frame: DataFrame, options: LiveOptions, early: Length | None, end_on_idle: Length | None
) -> None:
    """Raise InputError for a DataFrame that is not a stream, and options that need a source."""
    if not frame.isStreaming:
        raise InputError(
            "The DataFrame is not a stream. Read it with spark.readStream, or run the queries over "
            "the events that it has: Workload.run(frame)."
        )
    for name, value in (
        ("idle_timeout", options.idle_timeout),
        ("ahead", options.ahead),
        ("early", early),
        ("end_on_idle", end_on_idle),
    ):
        if value is not None:
            raise InputError(
                f"{option(name)} needs a source that Elsinore reads itself: a folder or a Kafka "
                "topic. Name that in place of the DataFrame, or leave the option out."
            )


def _seconds(length: Length | None, name: str) -> float | None:
    return None if length is None else seconds_of(length, name)
