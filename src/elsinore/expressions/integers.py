"""Integer arithmetic over Arrow columns: exact, and null on overflow of 64 bits.

Results are first computed in 64 bits. If one of a column overflows, the whole column is computed
again in decimals, which are wide enough; other columns do not cost more.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.arrow import to_scalar
from elsinore.errors import InputError
from elsinore.expressions.reasons import MIXED_SIGNS, not_computed
from elsinore.model.expression import Operator

Value: TypeAlias = pa.Array | pa.Scalar
LEAST, GREATEST, GREATEST_UNSIGNED = -(2**63), 2**63 - 1, 2**64 - 1
WIDE_DECIMAL = pa.decimal256(20)  # for integers of 64 bits, with or without a sign
_COMPUTE = {
    Operator.ADD: (pc.add_checked, pc.add),
    Operator.SUB: (pc.subtract_checked, pc.subtract),
    Operator.MUL: (pc.multiply_checked, pc.multiply),
}


def arithmetic(operator: Operator, left: Value, right: Value, *, signed: bool = False) -> Value:
    """Return sums, differences or products of 64-bit integers, null on overflow.

    The result is int64; if an operand is unsigned and results exceed int64, it is uint64 (int64 and
    null if `signed`). Raises InputError if some results are negative and others 2^63 or more.

    >>> arithmetic(Operator.MUL, pa.array([3, 2**62]), pa.array([2, 2])).to_pylist()
    [6, None]
    """
    quick, exact = _COMPUTE[operator]
    with suppress(pa.ArrowInvalid):  # overflow, or an unsigned operand beyond int64
        return quick(left.cast(pa.int64()), right.cast(pa.int64()))
    is_unsigned = not signed and pa.uint64() in {left.type, right.type}
    results = exact(left.cast(WIDE_DECIMAL), right.cast(WIDE_DECIMAL))
    results = _within(results, GREATEST_UNSIGNED if is_unsigned else GREATEST)
    for kind in (pa.int64(), pa.uint64()) if is_unsigned else (pa.int64(),):
        with suppress(pa.ArrowInvalid):
            return results.cast(kind)
    raise InputError(not_computed(MIXED_SIGNS))


def scaled(number: Value, factor: int) -> Value:
    """Return integers times a constant; see `arithmetic`.

    >>> scaled(pa.array([1, 2**62]), 1_000).to_pylist()
    [1000, None]
    """
    return number if factor == 1 else arithmetic(Operator.MUL, number, to_scalar(factor))


def wide(number: Value, factor: int) -> Value:
    """Return integers times a constant as decimals, in which all products fit."""
    return pc.multiply(number.cast(WIDE_DECIMAL), to_scalar(factor).cast(WIDE_DECIMAL))


def negated(number: Value) -> Value:
    """Return integers with the opposite sign; see `arithmetic`.

    >>> negated(pa.array([1, -(2**63)])).to_pylist()
    [-1, None]
    """
    return arithmetic(Operator.SUB, to_scalar(0), number)


def absolute(number: Value) -> Value:
    """Return the absolute values of integers, null for the least one, whose value overflows.

    >>> absolute(pa.array([-1, -(2**63)])).to_pylist()
    [1, None]
    """
    with suppress(pa.ArrowInvalid):
        return pc.abs_checked(number)
    return pc.abs_checked(null_for(number, LEAST))


def null_for(number: Value, strange: int) -> Value:
    """Return integers with null in place of the value `strange`."""
    return pc.if_else(pc.equal(number, to_scalar(strange)), to_scalar(None, number.type), number)


def rounded(doubles: Value) -> Value:
    """Round doubles to 64-bit integers, halves away from zero; null on overflow.

    >>> rounded(pa.array([2.5, -2.5, 1e19, float("nan")])).to_pylist()
    [3, -3, None, None]
    """
    nearest = pc.round(doubles, round_mode="half_towards_infinity")
    greatest_double = np.nextafter(2.0**63, 0.0)  # the greatest double that fits
    fits = pc.and_(
        pc.greater_equal(nearest, to_scalar(float(LEAST))),
        pc.less_equal(nearest, to_scalar(float(greatest_double))),
    )
    valid = pc.if_else(fits, nearest, to_scalar(None, pa.float64()))
    return pc.cast(valid, pa.int64(), safe=False)


def _within(results: Value, greatest: int) -> Value:
    """Return decimals with null for those below the least int64 or above `greatest`."""
    fits = pc.and_(
        pc.greater_equal(results, to_scalar(LEAST, pa.int64()).cast(WIDE_DECIMAL)),
        pc.less_equal(results, to_scalar(greatest, pa.uint64()).cast(WIDE_DECIMAL)),
    )
    return pc.if_else(fits, results, to_scalar(None, results.type))
