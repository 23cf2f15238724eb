"""Conversion of time columns to ticks and back, as Spark columns.

The counterpart of `elsinore.runtime.times`. Spark's times are microseconds; integers that a reader
has marked as timestamps in nanoseconds (`NANOSECONDS_KEY` in their metadata) remain exact. Text is
parsed in Python by `elsinore.runtime.iso8601`, for equal results.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.pandas.functions import arrow_udf

from elsinore.errors import InputError
from elsinore.model.clock import LARGEST, Clock
from elsinore.model.window import Window
from elsinore.runtime.iso8601 import NANOSECOND_DIGITS, ZONE, parse_iso8601
from elsinore.runtime.numbers_in_text import NUMBER, WHOLE, are_most
from elsinore.runtime.times import ACCEPTED, MICROSECONDS_PER_DAY, TimeUnit, check_unit

EPOCH = "TIMESTAMP_NTZ'1970-01-01 00:00:00'"
Form = Literal["timestamp", "local", "date", "integer", "float", "nanoseconds"]
# In the metadata of a column of integers: the time zone of its timestamps, "" for none.
NANOSECONDS_KEY = "elsinore.nanoseconds"


@dataclass(frozen=True, slots=True)
class SparkTime:
    """The kind of the input's times, which results have too.

    `per_unit` is the number of ticks of a unit of numbers, or of a day.
    """

    form: Form
    per_unit: int = 1
    per_microsecond: int = 1
    zone: str = ""

    def type(self, window: Window | None) -> T.DataType:
        """Return the type of window bounds as times of the input's kind.

        Integers and dates keep their type if it represents every bound of `window` exactly.
        Timestamps finer than Spark's become integers with the same mark as the input's.
        """
        parts = () if window is None else (window.within, window.step, window.origin)
        exact = not any(part % self.per_unit for part in parts)
        fine = any(part % self.per_microsecond for part in parts)
        if self.form in {"integer", "float"}:
            return T.LongType() if self.form == "integer" and exact else T.DoubleType()
        if self.form == "date" and exact:
            return T.DateType()
        if self.form == "nanoseconds" or fine:
            return T.LongType()
        return T.TimestampType() if self.form == "timestamp" else T.TimestampNTZType()

    def present(self, ticks: Column, window: Window | None) -> Column:
        """Return bounds of windows, in ticks, as the input's kind of time."""
        match self.type(window):
            case T.DoubleType():
                return ticks.cast("double") / self.per_unit
            case T.DateType():
                return F.date_from_unix_date(_divided(ticks, self.per_unit).cast("int"))
            case T.TimestampType():
                return F.timestamp_micros(_divided(ticks, self.per_microsecond))
            case T.TimestampNTZType():
                micros = _divided(ticks, self.per_microsecond)
                return F.timestamp_add("MICROSECOND", micros, F.expr(EPOCH))
            case _:
                return _divided(ticks, self.per_unit) if self.form == "integer" else ticks

    def presented(self, ticks: pa.ChunkedArray, window: Window | None) -> pa.ChunkedArray:
        """Convert a column in memory as `present` converts a column of Spark."""
        match self.type(window):
            case T.DoubleType():
                return pc.divide(ticks.cast(pa.float64()), float(self.per_unit))
            case T.DateType():
                days = pc.divide(ticks, self.per_unit)  # towards zero, as Spark's div
                return days.cast(pa.int32()).cast(pa.date32())
            case T.TimestampType():
                return pc.divide(ticks, self.per_microsecond).cast(pa.timestamp("us", "UTC"))
            case T.TimestampNTZType():
                return pc.divide(ticks, self.per_microsecond).cast(pa.timestamp("us"))
            case _:
                return pc.divide(ticks, self.per_unit) if self.form == "integer" else ticks

    def metadata(self, window: Window | None) -> dict[str, str]:
        """Return the metadata of presented bounds: the mark of nanoseconds, if they have any."""
        parts = () if window is None else (window.within, window.step, window.origin)
        if self.form == "nanoseconds":
            return {NANOSECONDS_KEY: self.zone}
        fine = any(part % self.per_microsecond for part in parts)
        exact = self.form in {"integer", "float"}
        return {NANOSECONDS_KEY: self.zone} if fine and not exact else {}


def _divided(ticks: Column, by: int) -> Column:
    return ticks if by == 1 else F.call_function("div", ticks, F.lit(by))


@dataclass(frozen=True, slots=True)
class TextTimes:
    """Properties of times in text: whether any has a zone or nanoseconds; or most are numbers."""

    has_zone: bool = False
    fine: bool = False
    numbers: T.LongType | T.DoubleType | None = None


def text_times(frame: Any, column: Column) -> TextTimes:
    """Return the properties of times in a column of text, after reading all of them."""
    # A column first: an aggregate may not contain `null_if_failing` expressions.
    text = F.col("text")
    number = text.rlike(NUMBER)
    has_zone, fine, numbers, texts, whole = (
        frame.select(column.alias("text"))
        .select(
            F.max(text.rlike(ZONE)),
            F.max(text.rlike(NANOSECOND_DIGITS)),
            F.count_if(number),
            F.count(text),
            F.min(F.when(number, text.rlike(WHOLE))),
        )
        .collect()[0]
    )
    if are_most(numbers, texts):
        return TextTimes(numbers=T.LongType() if whole else T.DoubleType())
    return TextTimes(bool(has_zone), bool(fine))


def as_numbers(column: Column, kind: T.LongType | T.DoubleType) -> Column:
    """Return a column of text as numbers, null for other texts."""
    return F.when(column.rlike(NUMBER), F.trim(column).try_cast(kind))


def reads_as_time(column: Column, texts: TextTimes) -> Column:
    """Return whether a text is a time (or a number if most are), without a limit."""
    if texts.numbers is not None:
        return column.rlike(NUMBER)
    times: Column = _text_reader(1)(column)
    return times.isNotNull()


def time_properties(
    frame: Any, column: Column, field: T.StructField, unit: TimeUnit
) -> tuple[bool, bool]:
    """Return whether times are numbers, and whether they have nanoseconds; reads times in text."""
    check_unit(unit)
    if NANOSECONDS_KEY in field.metadata:
        return False, True
    if isinstance(field.dataType, T.NumericType):
        return True, unit == "ns"
    if isinstance(field.dataType, T.StringType):
        texts = text_times(frame, column)
        if texts.numbers is not None:
            return True, unit == "ns"
        return False, texts.fine
    return False, False


def to_ticks(
    column: Column,
    field: T.StructField,
    unit: TimeUnit,
    clock: Clock,
    largest: int = LARGEST,
    texts: TextTimes | None = None,
) -> tuple[Column, SparkTime]:
    """Return a time column as ticks, null if unusable, and its original kind.

    `texts` is the result of `text_times` for text. Raises InputError for a column that
    cannot be a time.
    """
    texts = TextTimes() if texts is None else texts
    if texts.numbers is not None:
        column = as_numbers(column, texts.numbers)
        field = T.StructField(field.name, texts.numbers)
    ticks, kind = _to_ticks(column, field, unit, clock, has_zone=texts.has_zone)
    if largest < LARGEST:
        ticks = F.when(ticks.between(-largest, largest), ticks)
    return ticks, kind


def _to_ticks(
    column: Column, field: T.StructField, unit: TimeUnit, clock: Clock, *, has_zone: bool
) -> tuple[Column, SparkTime]:
    """Return a time column as ticks, null if unusable, and its kind, by its Spark type."""
    kind, scale = field.dataType, clock.per_microsecond
    if NANOSECONDS_KEY in field.metadata:
        zone = field.metadata[NANOSECONDS_KEY]
        return column, SparkTime("nanoseconds", per_microsecond=scale, zone=zone)
    if isinstance(kind, T.TimestampType):
        return _scaled(F.unix_micros(column), scale), SparkTime(
            "timestamp", per_microsecond=scale, zone="UTC"
        )
    if isinstance(kind, T.TimestampNTZType):
        micros = F.timestamp_diff("MICROSECOND", F.expr(EPOCH), column)
        return _scaled(micros, scale), SparkTime("local", per_microsecond=scale)
    if isinstance(kind, T.StringType):
        text = SparkTime("timestamp" if has_zone else "local", 1, scale, "UTC" if has_zone else "")
        return _text_reader(scale)(column), text
    if isinstance(kind, T.DateType):
        day = MICROSECONDS_PER_DAY * scale
        return _scaled(F.unix_date(column).cast("bigint"), day), SparkTime("date", day, scale)
    per_unit = clock.ticks_per(unit)
    if isinstance(kind, T.IntegralType):
        counted = _scaled(column.cast("bigint"), per_unit)
        return counted, SparkTime("integer", per_unit, scale)
    if isinstance(kind, T.FractionalType):  # decimals too: Spark's constants are of that type
        number = column.cast("double")
        bound = float(2**63) / per_unit
        usable = ~F.isnan(number) & (number > -bound) & (number < bound)
        whole = F.floor(number)
        part = F.rint((number - whole) * per_unit).cast("bigint")
        ticks = F.try_add(_scaled(whole, per_unit), part)
        return F.when(usable, ticks), SparkTime("float", per_unit, scale)
    raise InputError(
        f"A column of type {kind.simpleString()} cannot be a time. A time is {ACCEPTED}."
    )


def _scaled(column: Column, factor: int) -> Column:
    """Return `column * factor`, null where the product leaves 64 bits."""
    return column if factor == 1 else F.try_multiply(column, F.lit(factor).cast("bigint"))


def _text_reader(per_microsecond: int) -> Any:
    def read(texts: pa.Array) -> pa.Array:
        return parse_iso8601(texts.cast(pa.string()), per_microsecond)[0]

    # Without annotations: as strings they could not be resolved in the worker.
    read.__annotations__ = {"texts": pa.Array, "return": pa.Array}
    make: Any = arrow_udf
    return make(read, "bigint")
