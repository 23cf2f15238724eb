"""Planning a live stream on Spark from the arguments of `Workload.stream`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from elsinore.connectors.contract import Limit
from elsinore.connectors.places import columns_of, place_of
from elsinore.errors import InputError, kind_of_value, option
from elsinore.runtime.live import Length, LiveOptions, Planner, seconds_of, ticks_of
from elsinore.spark.live.stream import LOG, LiveStream, StreamOptions


def planned_stream(
    planner: Planner,
    source: Any,
    options: LiveOptions,
    *,
    early: Length | None,
    end_on_idle: Length | None,
    buckets: int | None,
    batch_rows: int,
    schema: str | pa.Schema | None,
    spark: SparkSession | None,
    kafka: Mapping[str, Any],
) -> LiveStream:
    """Return the stream that `Workload.stream` describes.

    kafka: the arguments of `place_of` that describe a topic.
    """
    if isinstance(source, str | Path):
        source = place_of(
            str(source), schema=schema, rejects=options.request.rejects, report=LOG.info, **kafka
        )
    if isinstance(source, DataFrame):
        _check_frame(source, options, early, end_on_idle)
        session = source.sparkSession
        schema = frame_schema(source)
    else:
        session = _session(source, spark)
        schema = columns_of(source)
    # also raises errors for queries that cannot run, before anything is started
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
            buckets=buckets,
            limit=Limit(rows=batch_rows),
        ),
        source,
        session,
    )


def _session(source: Any, spark: SparkSession | None) -> SparkSession:
    """Return the session that runs a stream. Raises InputError if there is none."""
    if not hasattr(source, "open"):
        raise InputError(
            f"stream() reads a streaming DataFrame, a folder or kafka:TOPIC@HOST:PORT, and this is "
            f"{kind_of_value(source)}. Workload.run answers queries over events that are complete, "
            "and Workload.live takes batches of events in this process."
        )
    session = spark or SparkSession.getActiveSession()
    if session is None:
        raise InputError(
            "There is no Spark session. Name one: stream(..., spark=session). Without Spark, "
            'Workload.live takes batches of events, and stream(..., engine="local") reads folders '
            "and topics."
        )
    return session


def frame_schema(frame: DataFrame) -> pa.Schema:
    """Return the Arrow schema of a DataFrame in Python workers."""
    zone = str(frame.sparkSession.conf.get("spark.sql.session.timeZone"))
    return to_arrow_schema(frame.schema, timezone=zone)


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
