"""Events in a data frame: their times and types as columns, and reasons for unusable events."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from elsinore.errors import InputError, choices_text, did_you_mean, no_column, option
from elsinore.model import Schema
from elsinore.model.spark_sql import quoted
from elsinore.runtime.numbers_in_text import NUMBER
from elsinore.runtime.options import RunOptions
from elsinore.runtime.rejects import (
    ENDS_BEFORE,
    NOT_A_NUMBER,
    NULL_END,
    NULL_TIME,
    NULL_TYPE,
    ODD_LAW,
    REFUSAL,
    TIME_OUT_OF_RANGE,
    UNPARSEABLE_TIME,
    reason_column,
    unusable_remedy,
)
from elsinore.runtime.schema import check_order
from elsinore.runtime.tables import check_names
from elsinore.spark.column_types import arrow_type_of, kind_of_field
from elsinore.spark.distributions import distributions
from elsinore.spark.expressions import sql_column
from elsinore.spark.quiet import first_line, task_errors
from elsinore.spark.times import (
    NANOSECONDS_KEY,
    SparkTime,
    TextTimes,
    as_numbers,
    reads_as_time,
    text_times,
    time_properties,
    to_ticks,
)
from elsinore.words import count

SHOWN_ROWS = 5


@dataclass(frozen=True)
class Events:
    """A data frame of events with their time, in ticks, and type as columns.

    `source` is the frame without the columns that SQL computes; None if it has none.
    """

    frame: DataFrame
    options: RunOptions
    source: DataFrame | None = None

    @cached_property
    def time(self) -> tuple[Column, SparkTime]:
        """The time in ticks, null if unusable, and its original kind."""
        column, options = self.column(self.options.time, "time"), self.options
        field = self.frame.select(column.alias("time")).schema["time"]
        return to_ticks(
            column, field, options.time_unit, options.clock, options.largest_time, self._texts
        )

    @cached_property
    def _texts(self) -> TextTimes | None:
        """The properties of times in text; None if times are not text."""
        column = self.column(self.options.time, "time")
        kind = self.frame.select(column.alias("time")).schema["time"].dataType
        return text_times(self.frame, column) if isinstance(kind, T.StringType) else None

    @cached_property
    def bounds(self) -> tuple[Column, Column]:
        """The first and the last possible time in ticks; equal where times are exact."""
        ticks, _ = self.time
        uncertain, options = self.options.uncertain, self.options
        if uncertain is None:
            return ticks, ticks
        if uncertain.high is not None:
            high, _ = Events(self.frame, replace(options, time=uncertain.high)).time
            return ticks, high
        by_type, default_shift = uncertain.shifts(options.clock)
        shift = F.lit(default_shift)
        for kind, length in by_type.items():
            shift = F.when(self.type == kind, F.lit(length)).otherwise(shift)
        return ticks - shift, ticks

    @cached_property
    def type(self) -> Column:
        """The type as text."""
        return self.column(self.options.type, "type").cast("string")

    @cached_property
    def reason(self) -> Column:
        """The reason why an event is unusable; null for usable events."""
        ticks, _ = self.time
        raw = self.column(self.options.time, "time")
        kind = self.frame.select(raw.alias("time")).schema["time"].dataType
        reason = F.when(raw.isNull(), NULL_TIME)
        if isinstance(kind, T.DoubleType | T.FloatType):
            reason = reason.when(F.isnan(raw), NOT_A_NUMBER)
        out_of_range = F.lit(TIME_OUT_OF_RANGE)
        if self._texts is not None:
            out_of_range = F.when(reads_as_time(raw, self._texts), out_of_range).otherwise(
                UNPARSEABLE_TIME
            )
        reason = reason.when(ticks.isNull(), out_of_range).when(self.type.isNull(), NULL_TYPE)
        if self.options.uncertain is None:
            return reason
        low, high = self.bounds
        reason = reason.when(high.isNull(), NULL_END).when(high < low, ENDS_BEFORE)
        if self.law is None or self.options.uncertain.law is None:
            return reason
        distribution = self.column(self.options.uncertain.law, "time_distribution")
        return reason.when(distribution.isNotNull() & self.law.isNull(), ODD_LAW)

    @cached_property
    def law(self) -> Column | None:
        """The distribution of each event's times, if there is such a column; null if invalid."""
        uncertain = self.options.uncertain
        if uncertain is None or uncertain.law is None:
            return None
        return distributions(self.frame, self.column(uncertain.law, "time_distribution"))

    @cached_property
    def orders(self) -> list[Column]:
        """The columns by which events of one time are ordered."""
        texts = self.options.order_by
        columns = [self.column(text, "order") for text in texts]
        fields = self.frame.select(*columns).schema.fields
        for text, field in zip(texts, fields, strict=True):
            check_order(text, kind_of_field(field))
        return columns

    @cached_property
    def time_zone(self) -> str:
        """The time zone of the session."""
        return str(self.frame.sparkSession.conf.get("spark.sql.session.timeZone"))

    def arrow_type(self, name: str) -> pa.DataType:
        """Return the type that an attribute has in Arrow."""
        return arrow_type_of(self.frame.schema[name].dataType, self.time_zone)

    def is_null(self, name: str) -> bool:
        """Return whether an attribute has the type null, and so no values."""
        return isinstance(self.frame.schema[name].dataType, T.NullType)

    def column(self, text: str, role: str) -> Column:
        """Return a column by name, or an SQL expression with null for rows for which it fails."""
        if text in self.frame.columns:
            return F.col(quoted(text))
        try:
            return sql_column(self.frame, text)
        except AnalysisException as error:
            names = self.frame.columns
            if text.isidentifier():
                raise InputError(no_column(text, role, names)) from None
            raise InputError(
                f"The expression for the {role}, {text!r}, does not fit the events: "
                f"{first_line(error)}{did_you_mean(text, names)} Columns: "
                f"{choices_text(names)}. Name the column that has the {role} with {option(role)}."
            ) from None


def last_time_of(events: Events) -> int | None:
    """Return the latest time in ticks of all usable events; None if there are none.

    Runs a job over the columns of time and type. For uncertain times, returns the latest first
    possible time.
    """
    times = events.frame.filter(events.reason.isNull()).select(events.bounds[0].alias("time"))
    with task_errors():
        (latest,) = times.agg(F.max("time")).collect()[0]
    return None if latest is None else int(latest)


def inspect_time(frame: DataFrame, options: RunOptions) -> tuple[bool, bool]:
    """Return whether the times of events are numbers, and whether they have nanoseconds.

    Runs a job over all events if times are text. Raises InputError for unknown columns, columns
    with equal names, and streams.
    """
    refuse_stream(frame)
    check_names(frame.columns, "the events")
    column = Events(frame, options).column(options.time, "time")
    field = frame.select(column.alias("time")).schema["time"]
    return time_properties(frame, column, field, options.time_unit)


def nanosecond_columns(frame: DataFrame) -> tuple[str, ...]:
    """Return the columns of integers that a reader has marked as timestamps in nanoseconds."""
    return tuple(field.name for field in frame.schema.fields if NANOSECONDS_KEY in field.metadata)


def with_numbers(frame: DataFrame, options: RunOptions) -> DataFrame:
    """Convert a text column of times that are mostly numbers to numbers.

    A text that is not a number becomes null if rejects are allowed, and otherwise fails the job.
    """
    time = options.time
    if time not in frame.columns or not isinstance(frame.schema[time].dataType, T.StringType):
        return frame
    column = F.col(quoted(time))
    kind = text_times(frame, column).numbers
    if kind is None:
        return frame
    numbers = as_numbers(column, kind)
    if not options.allow_rejects:
        refusal = F.raise_error(F.lit(REFUSAL.format(UNPARSEABLE_TIME))).cast(kind)
        numbers = F.when(column.isNull() | column.rlike(NUMBER), numbers).otherwise(refusal)
    return frame.withColumn(time, numbers)


LIVE_WORKLOAD = (
    "workload.stream(events).start(path, checkpoint=...) returns results while events arrive"
)


def refuse_stream(frame: DataFrame, live: str = LIVE_WORKLOAD) -> None:
    """Raise InputError for a data frame of Structured Streaming.

    Spark would treat each micro-batch as all events. `live` names the right method in the message.
    """
    if frame.isStreaming:
        raise InputError(
            "The events are a stream (spark.readStream), and run() answers queries over events "
            f"that are complete. {live}. Or read the events with spark.read."
        )


def schema_of(frame: DataFrame) -> Schema:
    """Return the schema of a data frame's events."""
    return Schema(tuple((field.name, kind_of_field(field)) for field in frame.schema.fields))


def unusable_report(frame: DataFrame, options: RunOptions) -> str | None:
    """Return a report of the unusable events: number, reasons, first five; None without any."""
    reason = Events(frame, options).reason
    reason_counts = frame.select(reason.alias("reason")).groupBy("reason").count().collect()
    counts = {row["reason"]: row["count"] for row in reason_counts}
    usable = counts.pop(None, 0)
    if not counts:
        return None
    bad = sum(counts.values())
    why = ", ".join(f"{number:,} with {text}" for text, number in sorted(counts.items()))
    name = reason_column(frame.columns)
    examples = frame.withColumn(name, reason).filter(F.col(name).isNotNull())
    lines = [f"{count(bad, 'event')} of {bad + usable:,} cannot be used ({why})."]
    lines.append("The first of them:" if bad > 1 else "It is:")
    for row in examples.limit(SHOWN_ROWS).collect():
        values = row.asDict()
        reason = values.pop(name)
        cells = ", ".join(f"{k}={'null' if v is None else v}" for k, v in values.items())
        lines.append(f"  ({reason}): {cells}")
    lines.append(unusable_remedy(counts, options.time))
    return "\n".join(lines)
