"""Times and lengths of time in Arrow columns: sums, differences, products and quotients.

All is computed in whole ticks of 64 bits: microseconds, or nanoseconds where an operand has them.
What does not fit raises pa.ArrowInvalid. A quotient, or a product with a fraction, is rounded to
the nearest tick, halves away from zero, as Spark does with day-time intervals.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.arrow import to_scalar
from elsinore.model.expression import Operator

Value: TypeAlias = pa.Array | pa.Scalar
LIMIT = 2.0**63  # doubles from its negative up to below it fit in 64 bits


def is_time(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is of times: timestamps and dates."""
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))


def is_length(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is of lengths of time."""
    return bool(pa.types.is_duration(kind))


def unit_of(*kinds: pa.DataType) -> str:
    """Return the unit that times and lengths of some types are computed in: us, or ns.

    >>> unit_of(pa.timestamp("s"), pa.date32()), unit_of(pa.duration("us"), pa.duration("ns"))
    ('us', 'ns')
    """
    units = {kind.unit for kind in kinds if pa.types.is_timestamp(kind) or is_length(kind)}
    return "ns" if "ns" in units else "us"


def ticks(value: Value, unit: str) -> Value:
    """Return times or lengths as whole numbers of a unit; times without a zone are UTC.

    >>> ticks(pa.array([1], pa.timestamp("s")), "us").to_pylist()
    [1000000]
    """
    if is_length(value.type):
        return value.cast(pa.duration(unit)).cast(pa.int64())
    zone = value.type.tz if pa.types.is_timestamp(value.type) else None
    return value.cast(pa.timestamp(unit, zone)).cast(pa.int64())


def constant(nanoseconds: int) -> pa.Scalar:
    """Return a constant duration, in microseconds unless it is finer.

    >>> constant(1_000_000_000)
    <pyarrow.DurationScalar: datetime.timedelta(seconds=1)>
    """
    if nanoseconds % 1_000:
        return pa.scalar(nanoseconds, pa.duration("ns"))
    return pa.scalar(nanoseconds // 1_000, pa.duration("us"))


def compute(operator: Operator, left: Value, right: Value) -> Value | None:
    """Return the value of an operator if a side is a time or a length; None for other sides.

    >>> compute(Operator.SUB, pa.array([90], pa.timestamp("s")), pa.array([30], pa.timestamp("s")))[
    ...     0
    ... ].as_py()
    datetime.timedelta(seconds=60)
    """
    lengths = is_length(left.type), is_length(right.type)
    times = is_time(left.type), is_time(right.type)
    if not any(lengths) and not any(times):
        return None
    unit = unit_of(left.type, right.type)
    if operator in {Operator.ADD, Operator.SUB}:
        combine = pc.add_checked if operator is Operator.ADD else pc.subtract_checked
        result = combine(ticks(left, unit), ticks(right, unit))
        if any(times) and not all(times):
            return result.cast(_time_type(left.type if times[0] else right.type, unit))
        return result.cast(pa.duration(unit))
    if all(lengths):
        return _quotient(ticks(left, unit), ticks(right, unit))
    count, number = (left, right) if lengths[0] else (right, left)
    scaled = _product if operator is Operator.MUL else _share
    return scaled(ticks(count, unit), number).cast(pa.duration(unit))


def signed(function: Callable[[Value], Value], length: Value) -> Value:
    """Apply a function of integers, such as `abs`, to durations.

    >>> signed(pc.negate_checked, pa.array([2], pa.duration("us"))).cast(pa.int64()).to_pylist()
    [-2]
    """
    unit = unit_of(length.type)
    return function(ticks(length, unit)).cast(pa.duration(unit))


def _time_type(kind: pa.DataType, unit: str) -> pa.DataType:
    return pa.timestamp(unit, kind.tz if pa.types.is_timestamp(kind) else None)


def _quotient(left: Value, right: Value) -> Value:
    divisor = pc.cast(right, pa.float64(), safe=False)
    divisor = pc.if_else(pc.equal(divisor, to_scalar(0.0)), to_scalar(None, pa.float64()), divisor)
    return pc.divide(pc.cast(left, pa.float64(), safe=False), divisor)


def _product(count: Value, number: Value) -> Value:
    if pa.types.is_integer(number.type):
        return pc.multiply_checked(count, number.cast(pa.int64()))
    return rounded(pc.multiply(pc.cast(count, pa.float64(), safe=False), number))


def _share(count: Value, number: Value) -> Value:
    """Return a duration divided by a number; null if that is 0."""
    if not pa.types.is_integer(number.type):
        number = pc.if_else(pc.equal(number, to_scalar(0.0)), to_scalar(None, number.type), number)
        return rounded(pc.divide(pc.cast(count, pa.float64(), safe=False), number))
    number = number.cast(pa.int64())
    zero = pc.equal(number, to_scalar(0))
    divisor = pc.if_else(zero, to_scalar(None, pa.int64()), number)
    whole = pc.divide_checked(count, divisor)  # towards zero
    rest = pc.subtract(count, pc.multiply(whole, divisor))
    # |rest| < |divisor|: half of the divisor or more is rounded away from zero
    absolute, limit = _absolute(rest), _absolute(divisor)
    is_up = pc.greater_equal(absolute, pc.subtract(limit, absolute))
    away = pc.if_else(
        pc.equal(pc.less(count, to_scalar(0)), pc.less(divisor, to_scalar(0))),
        to_scalar(1),
        to_scalar(-1),
    )
    return pc.if_else(is_up, pc.add(whole, away), whole)


def _absolute(number: Value) -> Value:
    """Return absolute values without a sign, which have room for that of the least integer."""
    negative = pc.less(number, to_scalar(0))
    turned = pc.subtract(to_scalar(0, pa.uint64()), pc.cast(number, pa.uint64(), safe=False))
    return pc.if_else(negative, turned, pc.cast(number, pa.uint64(), safe=False))


def rounded(doubles: Value) -> Value:
    """Return doubles as the nearest whole numbers, null for NaN; halves away from zero."""
    nearest = pc.round(doubles, round_mode="half_towards_infinity")
    unknown = pc.or_kleene(pc.is_nan(nearest), pc.is_null(nearest))
    fits = pc.and_(pc.greater_equal(nearest, to_scalar(-LIMIT)), pc.less(nearest, to_scalar(LIMIT)))
    wrong = pc.and_kleene(pc.invert(unknown), pc.invert(pc.fill_null(fits, to_scalar(True))))
    if _any(wrong):
        raise pa.ArrowInvalid("overflow")
    known = pc.if_else(unknown, to_scalar(None, pa.float64()), nearest)
    return pc.cast(known, pa.int64(), safe=False)


def _any(truth: Value) -> bool:
    if isinstance(truth, pa.Scalar):
        return bool(truth.as_py())
    return bool(pc.any(truth).as_py())
