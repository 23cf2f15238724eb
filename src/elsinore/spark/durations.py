"""Arithmetic of times and durations in Spark columns, in whole ticks.

The counterpart of `elsinore.expressions.lengths`. Spark subtracts timestamps as local times of the
session's time zone, which is an hour off at changes of the clocks, so times are converted to ticks
since the epoch first. Ticks are microseconds, or nanoseconds if a constant has some.
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
    """Return 64-bit integers negated; null on overflow."""
    return F.try_subtract(F.lit(0).cast("bigint"), number)


def size(number: Column) -> Column:
    """Return the absolute values of 64-bit integers; null on overflow."""
    return F.when(number >= 0, number).otherwise(opposite(number))


def scaled(operator: Operator, ticks: Column, number: Column, *, is_whole: bool) -> Column:
    """Multiply or divide a duration by a number, rounded to ticks.

    Null for NaN, division by 0, and overflow of 64 bits.
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
    remainder = ticks - whole * divisor
    # |rest| < |divisor|: half of the divisor or more is rounded away from zero. Absolute values are
    # computed with a minus sign, so that the least 64-bit integer does not overflow.
    negative_remainder, limit = _below_zero(remainder), _below_zero(divisor)
    is_up = negative_remainder <= limit - negative_remainder
    step = F.when((ticks < 0) == (divisor < 0), F.lit(1)).otherwise(F.lit(-1)).cast("bigint")
    return F.when(is_up, whole + step).otherwise(whole)


def _below_zero(number: Column) -> Column:
    """Return the negated absolute values of integers."""
    return F.when(number <= 0, number).otherwise(-number)


def _rounded(number: Column) -> Column:
    """Round doubles to 64-bit integers; null for NaN and on overflow."""
    return F.round(F.when(~F.isnan(number), number)).try_cast("bigint")
