# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Arithmetic of 64-bit integers in conditions, exact or marked in the tables as beyond 64 bits.

The least integer is null. A result that does not fit is null, and `tables[OVERFLOWED]` is set: the
operator then raises an error instead of going on with a wrong number.
"""

from __future__ import annotations

import math

import numpy as np

from benchmarks.evaluations.kernels import kernel
from elsinore.matches.arrays import Ints

OVERFLOWED = 33  # the place in the header of `tables`
LIMIT = 9223372036854775808.0  # 2**63: doubles below it fit in 64 bits
HALF = 4294967296.0  # 2**32: what the upper half of a sum counts

_NULL = np.int64(np.iinfo(np.int64).min)
_GREATEST = np.int64(np.iinfo(np.int64).max)


@kernel
def computed(tables: Ints, op: int, one: int, other: int) -> int:
    """Return a sum, difference, product, remainder or rounded quotient of two integers.

    `op` is a `Code` of conditions, from WHOLE_ADD to SHARE. Divided by 0: null.
    """
    if one == _NULL or other == _NULL:  # noqa: PLR1714 - compiled
        return _NULL
    if op == 41:
        other = -other
    if op in (40, 41):
        if other > 0 and one > _GREATEST - other:
            return _beyond(tables)
        if other < 0 and one < -_GREATEST - other:
            return _beyond(tables)
        return one + other
    if op == 42:
        if one == 0 or other == 0:
            return 0
        return _beyond(tables) if abs(one) > _GREATEST // abs(other) else one * other
    if other == 0:
        return _NULL
    size, by = abs(one), abs(other)
    rest = size % by
    if op == 43:
        return -rest if one < 0 else rest
    quotient = size // by
    if rest >= by - rest:  # halves away from zero
        quotient += 1
    return quotient if (one < 0) == (other < 0) else -quotient


@kernel
def scaled(tables: Ints, divides: int, count: int, number: float) -> int:
    """Return an integer times, or divided by, a double, rounded; halves away from zero."""
    if count == _NULL or math.isnan(number) or (divides == 1 and number == 0.0):
        return _NULL
    result = float(count) / number if divides == 1 else float(count) * number
    if math.isnan(result):
        return _NULL
    size = abs(result)
    if size >= LIMIT:
        return _beyond(tables)
    whole = math.floor(size)
    if size - whole >= 0.5:
        whole += 1
    return -whole if result < 0 else whole


@kernel
def summed(tables: Ints, low: float, high: float) -> int:
    """Return the sum whose halves were added up; null if there was nothing to add."""
    if math.isnan(low):
        return _NULL
    if abs(low) > 9007199254740992.0 or (not math.isnan(high) and abs(high) > 9007199254740992.0):
        return _beyond(tables)  # more than two million events: the halves are not exact any more
    if math.isnan(high):
        return int(low)
    carry = math.floor(low / HALF)
    upper = int(high) + int(carry)
    if upper >= 2147483648 or upper < -2147483648:
        return _beyond(tables)
    total = (upper << 32) + int(low - carry * HALF)
    return _beyond(tables) if total == _NULL else total


@kernel
def with_sign(tables: Ints, code: int) -> int:
    """Return the code of an integer without a sign (`operands`) as the integer."""
    if code == _NULL:
        return _NULL
    if code > 0:
        return _beyond(tables)
    return (code - 1) ^ _NULL


@kernel
def _beyond(tables: Ints) -> int:
    """Mark that a number was beyond 64 bits; return null."""
    tables[OVERFLOWED] = 1
    return _NULL
