"""Arithmetic of whole numbers in Arrow columns: exact, and null where 64 bits have no room.

Columns are computed with in 64 bits first. Where a result does not fit, all are computed again in
decimals, which have room for them; only columns with such results cost that.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.arrow import to_scalar
from elsinore.errors import InputError
from elsinore.expressions.reasons import APART, not_computed
from elsinore.model.expression import Operator

Value: TypeAlias = pa.Array | pa.Scalar
LEAST, GREATEST, GREATEST_UNSIGNED = -(2**63), 2**63 - 1, 2**64 - 1
_ROOM = pa.decimal256(20)  # for integers of 64 bits, with or without a sign
_COMPUTE = {
    Operator.ADD: (pc.add_checked, pc.add),
    Operator.SUB: (pc.subtract_checked, pc.subtract),
    Operator.MUL: (pc.multiply_checked, pc.multiply),
}


def combined(operator: Operator, left: Value, right: Value, *, signed: bool = False) -> Value:
    """Return sums, differences or products of integers of 64 bits, null where they do not fit.

    The result is int64; if an operand is unsigned, uint64 where the results fit in that alone,
    unless they are to be `signed`. Raises InputError if some of them are below zero, and others
    2^63 or more.

    >>> combined(Operator.MUL, pa.array([3, 2**62]), pa.array([2, 2])).to_pylist()
    [6, None]
    """
    quick, exact = _COMPUTE[operator]
    with suppress(pa.ArrowInvalid):  # overflow, or an unsigned operand beyond int64
        return quick(left.cast(pa.int64()), right.cast(pa.int64()))
    is_unsigned = not signed and pa.uint64() in {left.type, right.type}
    results = exact(left.cast(_ROOM), right.cast(_ROOM))
    results = _within(results, GREATEST_UNSIGNED if is_unsigned else GREATEST)
    for kind in (pa.int64(), pa.uint64()) if is_unsigned else (pa.int64(),):
        with suppress(pa.ArrowInvalid):
            return results.cast(kind)
    raise InputError(not_computed(APART))


def scaled(number: Value, factor: int) -> Value:
    """Return integers times a constant; see `combined`.

    >>> scaled(pa.array([1, 2**62]), 1_000).to_pylist()
    [1000, None]
    """
    return number if factor == 1 else combined(Operator.MUL, number, to_scalar(factor))


def wide(number: Value, factor: int) -> Value:
    """Return integers times a constant as decimals, which have room for all products."""
    return pc.multiply(number.cast(_ROOM), to_scalar(factor).cast(_ROOM))


def negated(number: Value) -> Value:
    """Return integers with the opposite sign; see `combined`.

    >>> negated(pa.array([1, -(2**63)])).to_pylist()
    [-1, None]
    """
    return combined(Operator.SUB, to_scalar(0), number)


def absolute(number: Value) -> Value:
    """Return the sizes of integers, null for the least one, whose size has no room.

    >>> absolute(pa.array([-1, -(2**63)])).to_pylist()
    [1, None]
    """
    with suppress(pa.ArrowInvalid):
        return pc.abs_checked(number)
    return pc.abs_checked(without(number, LEAST))


def without(number: Value, strange: int) -> Value:
    """Return integers with null in place of one of them."""
    return pc.if_else(pc.equal(number, to_scalar(strange)), to_scalar(None, number.type), number)


def rounded(doubles: Value) -> Value:
    """Return doubles as the nearest whole numbers, halves away from zero; null where none fits.

    >>> rounded(pa.array([2.5, -2.5, 1e19, float("nan")])).to_pylist()
    [3, -3, None, None]
    """
    nearest = pc.round(doubles, round_mode="half_towards_infinity")
    below = np.nextafter(2.0**63, 0.0)  # the greatest double that fits
    fits = pc.and_(
        pc.greater_equal(nearest, to_scalar(float(LEAST))),
        pc.less_equal(nearest, to_scalar(float(below))),
    )
    known = pc.if_else(fits, nearest, to_scalar(None, pa.float64()))
    return pc.cast(known, pa.int64(), safe=False)


def _within(results: Value, greatest: int) -> Value:
    """Return decimals with null in place of those below int64's least number, or above another."""
    fits = pc.and_(
        pc.greater_equal(results, to_scalar(LEAST, pa.int64()).cast(_ROOM)),
        pc.less_equal(results, to_scalar(greatest, pa.uint64()).cast(_ROOM)),
    )
    return pc.if_else(fits, results, to_scalar(None, results.type))
