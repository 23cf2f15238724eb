"""Time columns of any usual kind to microseconds and back, as Spark columns.

The counterpart of `elsinore.runtime.times`. Text without a zone is read in the session's time zone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from elsinore.errors import InputError
from elsinore.model.window import Window
from elsinore.runtime.times import ACCEPTED, MICROSECONDS, MICROSECONDS_PER_DAY, TimeUnit

EPOCH = "TIMESTAMP_NTZ'1970-01-01 00:00:00'"
Form = Literal["timestamp", "local", "date", "integer", "float"]


@dataclass(frozen=True, slots=True)
class SparkTime:
    """What kind of time the input has, so that results have it too."""

    form: Form
    per_unit: int = 1  # microseconds in a unit of a number

    def present(self, micros: Column, window: Window | None) -> Column:
        """Return bounds of windows as the input's kind of time.

        Whole numbers and dates stay what they are where every bound of `window` is one.
        """
        exact = window is None or not any(
            part % self._whole for part in (window.within, window.step, window.origin)
        )
        if self.form == "timestamp":
            return F.timestamp_micros(micros)
        if self.form == "date" and exact:
            return F.date_from_unix_date(
                F.call_function("div", micros, F.lit(self._whole)).cast("int")
            )
        if self.form in {"local", "date"}:
            return F.timestamp_add("MICROSECOND", micros, F.expr(EPOCH))
        if self.form == "integer" and exact:
            return F.call_function("div", micros, F.lit(self._whole))
        return micros.cast("double") / self.per_unit

    @property
    def _whole(self) -> int:
        return MICROSECONDS_PER_DAY if self.form == "date" else self.per_unit


def microseconds(column: Column, kind: T.DataType, unit: TimeUnit) -> tuple[Column, SparkTime]:
    """Return a time column as microseconds, null where unusable, and what kind it was.

    Raises InputError for a column that cannot be a time.
    """
    if isinstance(kind, T.TimestampType):
        return F.unix_micros(column), SparkTime("timestamp")
    if isinstance(kind, T.TimestampNTZType):
        return F.timestamp_diff("MICROSECOND", F.expr(EPOCH), column), SparkTime("local")
    if isinstance(kind, T.StringType):
        return F.unix_micros(F.try_to_timestamp(column)), SparkTime("timestamp")
    if isinstance(kind, T.DateType):
        days = F.unix_date(column).cast("bigint")
        return F.try_multiply(days, F.lit(MICROSECONDS_PER_DAY)), SparkTime("date")
    per_unit = MICROSECONDS[unit]
    if isinstance(kind, T.IntegralType):
        counted = F.try_multiply(column.cast("bigint"), F.lit(per_unit).cast("bigint"))
        return counted, SparkTime("integer", per_unit)
    if isinstance(kind, T.FractionalType):  # decimals too: Spark's constants are of that type
        number = column.cast("double")
        bound = float(2**63) / per_unit
        usable = ~F.isnan(number) & (number > -bound) & (number < bound)
        whole = F.floor(number)
        part = F.rint((number - whole) * per_unit).cast("bigint")
        micros = F.try_add(F.try_multiply(whole, F.lit(per_unit).cast("bigint")), part)
        return F.when(usable, micros), SparkTime("float", per_unit)
    raise InputError(
        f"A column of type {kind.simpleString()} cannot be a time. A time is {ACCEPTED}."
    )
