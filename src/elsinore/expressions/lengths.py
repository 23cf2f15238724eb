"""Arithmetic of times and durations in Arrow columns.

Values are 64-bit ticks: microseconds, or nanoseconds if an operand has them; overflow is null.
Quotients, and products with fractions, are rounded to the nearest tick, halves away from zero, as
Spark does with day-time intervals.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.arrow import to_scalar
from elsinore.expressions import integers
from elsinore.model.expression import Operator

Value: TypeAlias = pa.Array | pa.Scalar
_TICKS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}  # per second
_DAY = 86_400  # seconds


def is_time(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is of times: timestamps and dates."""
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))


def is_length(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is of durations."""
    return bool(pa.types.is_duration(kind))


def unit_of(*kinds: pa.DataType) -> str:
    """Return the unit in which times and durations of some types are computed: us, or ns.

    >>> unit_of(pa.timestamp("s"), pa.date32()), unit_of(pa.duration("us"), pa.duration("ns"))
    ('us', 'ns')
    """
    units = {kind.unit for kind in kinds if pa.types.is_timestamp(kind) or is_length(kind)}
    return "ns" if "ns" in units else "us"


def ticks(value: Value, unit: str) -> Value:
    """Return times or durations as integers in a unit that is not coarser than theirs.

    Times without a zone are UTC.

    >>> ticks(pa.array([1, 2**62], pa.timestamp("s")), "us").to_pylist()
    [1000000, None]
    """
    return integers.scaled(*_counts(value, unit))


def wide_ticks(value: Value, unit: str) -> Value:
    """Return `ticks` as decimals, in which the ticks of any time fit."""
    return integers.wide(*_counts(value, unit))


def _counts(value: Value, unit: str) -> tuple[Value, int]:
    """Return times or durations as integers in their own unit, and `unit`s per own unit."""
    if pa.types.is_date32(value.type):
        return value.cast(pa.int32()).cast(pa.int64()), _DAY * _TICKS[unit]
    own_unit = "ms" if pa.types.is_date64(value.type) else value.type.unit
    return value.cast(pa.int64()), _TICKS[unit] // _TICKS[own_unit]


def constant(nanoseconds: int) -> pa.Scalar:
    """Return a constant duration, in microseconds unless it is finer.

    >>> constant(1_000_000_000)
    <pyarrow.DurationScalar: datetime.timedelta(seconds=1)>
    """
    if nanoseconds % 1_000:
        return pa.scalar(nanoseconds, pa.duration("ns"))
    return pa.scalar(nanoseconds // 1_000, pa.duration("us"))


def compute(operator: Operator, left: Value, right: Value) -> Value | None:
    """Return the value of an operator if an operand is a time or a duration; else None.

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
        result = integers.arithmetic(operator, ticks(left, unit), ticks(right, unit))
        if any(times) and not all(times):
            return result.cast(_time_type(left.type if times[0] else right.type, unit))
        return result.cast(pa.duration(unit))
    if all(lengths):
        return _quotient(ticks(left, unit), ticks(right, unit))
    count, number = (left, right) if lengths[0] else (right, left)
    operation = _product if operator is Operator.MUL else _divided
    return operation(ticks(count, unit), number).cast(pa.duration(unit))


def signed(function: Callable[[Value], Value], length: Value) -> Value:
    """Apply a function of integers, such as `abs`, to durations.

    >>> signed(integers.negated, pa.array([2], pa.duration("us"))).cast(pa.int64()).to_pylist()
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
        return integers.arithmetic(Operator.MUL, count, number, signed=True)
    return integers.rounded(pc.multiply(pc.cast(count, pa.float64(), safe=False), number))


def _divided(count: Value, number: Value) -> Value:
    """Return a duration divided by a number; null if that is 0."""
    if not pa.types.is_integer(number.type):
        number = pc.if_else(pc.equal(number, to_scalar(0.0)), to_scalar(None, number.type), number)
        return integers.rounded(pc.divide(pc.cast(count, pa.float64(), safe=False), number))
    divisor = integers.null_for(number, 0)
    whole = _whole_part(count, divisor)
    small = pc.cast(divisor, pa.int64(), safe=False)  # a large one is multiplied by 0
    remainder = pc.subtract(count, pc.multiply(whole, small))
    # |rest| < |divisor|: half of the divisor or more is rounded away from zero
    size, limit = _absolute(remainder), _absolute(divisor)
    is_up = pc.greater_equal(size, pc.subtract(limit, size))
    zero = to_scalar(0)
    is_positive = pc.equal(pc.less(count, zero), pc.less(divisor, zero))
    step = pc.if_else(is_positive, to_scalar(1), to_scalar(-1))
    return pc.if_else(is_up, pc.add(whole, step), whole)


def _whole_part(count: Value, divisor: Value) -> Value:
    """Return a quotient of integers, truncated towards zero; null on overflow.

    That of the least integer and a divisor of 2^63 is 0, and its remainder is rounded to 1.
    """
    if divisor.type == pa.uint64():
        is_great = pc.greater(divisor, to_scalar(integers.GREATEST))
        small = pc.if_else(is_great, to_scalar(1, pa.uint64()), divisor).cast(pa.int64())
        return pc.if_else(is_great, to_scalar(0), pc.divide(count, small))
    divisor = divisor.cast(pa.int64())
    is_negated = pc.equal(divisor, to_scalar(-1))
    return pc.if_else(is_negated, integers.negated(count), pc.divide(count, divisor))


def _absolute(number: Value) -> Value:
    """Return absolute values of integers as uint64, in which that of the least one fits."""
    negative = pc.less(number, to_scalar(0))
    opposite = pc.subtract(to_scalar(0, pa.uint64()), pc.cast(number, pa.uint64(), safe=False))
    return pc.if_else(negative, opposite, pc.cast(number, pa.uint64(), safe=False))
