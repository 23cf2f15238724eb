"""Arithmetic of times and durations in Spark columns, in whole ticks.

The counterpart of `elsinore.expressions.lengths`. Spark's own difference of two timestamps depends
on the session's time zone (it is one of local times, an hour off where clocks change), so times are
counted in ticks since the epoch before anything is computed. Ticks are microseconds; nanoseconds
where a constant has them.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from elsinore.model.expression import Duration, Expression, Operator, walk
from elsinore.runtime.times import MICROSECONDS_PER_DAY
from elsinore.spark.times import EPOCH


def per_microsecond(node: Expression) -> int:
    """Return the number of ticks per microsecond of an expression: 1 or 1000."""
    lengths = (part.nanoseconds for part in walk(node) if isinstance(part, Duration))
    return 1_000 if any(nanoseconds % 1_000 for nanoseconds in lengths) else 1


def ticks_of(column: Column, kind: T.DataType) -> Column:
    """Return a column of times or durations as whole microseconds."""
    if isinstance(kind, T.TimestampType):
        return F.unix_micros(column)
    if isinstance(kind, T.DateType):
        return F.unix_date(column).cast("bigint") * F.lit(MICROSECONDS_PER_DAY).cast("bigint")
    if isinstance(kind, T.DayTimeIntervalType):
        column = F.expr(EPOCH) + column
    return F.timestamp_diff("MICROSECOND", F.expr(EPOCH), column)


def as_time(ticks: Column, kind: T.DataType) -> Column:
    """Return microseconds since the epoch as a timestamp: with a zone if `kind` has one."""
    if isinstance(kind, T.TimestampType):
        return F.timestamp_micros(ticks)
    return F.timestamp_add("MICROSECOND", ticks, F.expr(EPOCH))


def as_length(ticks: Column) -> Column:
    """Return microseconds as a day-time interval."""
    return F.timestamp_add("MICROSECOND", ticks, F.expr(EPOCH)) - F.expr(EPOCH)


def opposite(number: Column) -> Column:
    """Return integers of 64 bits with the opposite sign; null where there is no room for it."""
    return F.try_subtract(F.lit(0).cast("bigint"), number)


def size(number: Column) -> Column:
    """Return integers of 64 bits without their sign; null where there is no room for it."""
    return F.when(number >= 0, number).otherwise(opposite(number))


def scaled(operator: Operator, ticks: Column, number: Column, *, is_whole: bool) -> Column:
    """Return a duration times or divided by a number, in whole ticks.

    Null for NaN, a division by 0, and what 64 bits have no room for.
    """
    if operator is Operator.MUL:
        if is_whole:
            return F.try_multiply(ticks, number.cast("bigint"))
        return _rounded(ticks.cast("double") * number.cast("double"))
    divisor = F.when(number != 0, number)
    if not is_whole:
        return _rounded(ticks.cast("double") / divisor.cast("double"))
    divisor = divisor.cast("bigint")
    quotient = F.call_function("div", ticks, divisor)
    whole = F.when(divisor == -1, opposite(ticks)).otherwise(quotient)
    rest = ticks - whole * divisor
    # |rest| < |divisor|: half of the divisor or more is rounded away from zero. Sizes are computed
    # with a minus sign, for which the least integer has room.
    below, limit = _below_zero(rest), _below_zero(divisor)
    is_up = below <= limit - below
    away = F.when((ticks < 0) == (divisor < 0), F.lit(1)).otherwise(F.lit(-1)).cast("bigint")
    return F.when(is_up, whole + away).otherwise(whole)


def _below_zero(number: Column) -> Column:
    """Return integers with a minus sign."""
    return F.when(number <= 0, number).otherwise(-number)


def _rounded(number: Column) -> Column:
    """Return doubles as the nearest integers; null for NaN, and where 64 bits have no room."""
    return F.round(F.when(~F.isnan(number), number)).try_cast("bigint")
