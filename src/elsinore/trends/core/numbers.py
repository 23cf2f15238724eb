# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Numbers with an exponent of their own: `mantissa * 2**(512 * power)`, both doubles.

A mantissa is below 2**512, and with a power above 0 at least 1 (both in magnitude); zero has power
0. So numbers below 2**512 are plain doubles, counts are exact up to 2**53, and of two numbers whose
powers differ by two or more the lesser is below the greater one's last bit. What is no finite
number has the power BEYOND, greater than any.

Powers are doubles so that lanes of numbers are added without a branch, several at once; and most
numbers, being below 2**512, have none. `elsinore.numeric.extended` has integers of 32 bits for
powers, and mantissas whose product is a double: it is for tables, and for what leaves an engine.
"""

from __future__ import annotations

import math

import numpy as np

from elsinore.trends.core.wide import wide_kernel

BITS = 512.0  # one unit of the power
LIMIT = 2.0**512  # the magnitude from which a mantissa hands on to the power
DOWN = 2.0**-512
BEYOND = 2.0**28  # the power of infinities and NaN
_GREAT = 2.0**256  # factors are kept below it, so that products stay doubles


@wide_kernel(inline=True)
def power_of_two(exponent: int) -> float:
    """Return 2**exponent, the exponent between 0 and 1023, by the bits of the result.

    >>> float(power_of_two(10))
    1024.0
    """
    return np.int64((exponent + 1023) << 52).view(np.float64)


@wide_kernel(inline=True)
def lowered(mantissa: float, power: float, top: float) -> float:
    """Return the mantissa of a number whose power is made to be `top`, its own or a greater one.

    >>> lowered(2.0**512, 0.0, 1.0), lowered(3.0, 1.0, 1.0), lowered(3.0, 0.0, 2.0)
    (1.0, 3.0, 0.0)
    """
    return mantissa if power == top else (mantissa * DOWN if power + 1.0 == top else 0.0)


@wide_kernel(linked=True)
def sum_of(mantissa: float, power: float, other: float, other_power: float) -> tuple[float, float]:
    """Return a sum that is not in its normal form, without a branch.

    >>> sum_of(1.0, 1.0, 2.0**511, 0.0), sum_of(1.0, 0.0, 1.0, 2.0)
    ((1.5, 1.0), (1.0, 2.0))
    """
    top = max(power, other_power)
    return lowered(mantissa, power, top) + lowered(other, other_power, top), top


@wide_kernel(linked=True)
def settled(total: float, top: float) -> tuple[float, float]:
    """Return the sum of two numbers in normal form in its own, without a branch.

    >>> settled(2.0**512, 0.0), settled(2.0**-52, 1.0) == (2.0**460, 0.0), settled(0.0, 1.0)
    ((1.0, 1.0), True, (0.0, 0.0))
    """
    size = abs(total)
    passed = size >= LIMIT
    fallen = (size < 1.0) & (top > 0.0)
    number = total * DOWN if passed else (total * LIMIT if fallen else total)
    top = top + 1.0 if passed else (top - 1.0 if fallen else top)
    top = 0.0 if size == 0.0 else top
    return number, (top if size < math.inf else BEYOND)


@wide_kernel(linked=True)
def normal(mantissa: float, power: float) -> tuple[float, float]:
    """Return a number below 2**1023 in its normal form.

    >>> normal(2.0**600, 0.0) == (2.0**88, 1.0), normal(2.0**-500, 1.0) == (2.0**12, 0.0)
    (True, True)
    """
    size = abs(mantissa)
    if size >= LIMIT:
        return (mantissa * DOWN, power + 1.0) if size < math.inf else (mantissa, BEYOND)
    if size != size:  # noqa: PLR0124  (what NaN alone is)
        return mantissa, BEYOND
    if size == 0.0:
        return mantissa, 0.0
    while abs(mantissa) < 1.0 and power > 0.0:
        mantissa *= LIMIT
        power -= 1.0
    return mantissa, power


@wide_kernel(linked=True)
def plus(mantissa: float, power: float, other: float, other_power: float) -> tuple[float, float]:
    """Return a sum; the terms' mantissas may be as great as 2**1000.

    >>> plus(1.0, 1.0, 2.0**511, 0.0) == (1.5, 1.0)
    True
    """
    total, top = sum_of(mantissa, power, other, other_power)
    return normal(total, top)


@wide_kernel
def factor(value: float, doublings: float) -> tuple[float, float]:
    """Return `value * 2**doublings`, its mantissa below 2**256 unless it is infinite.

    >>> factor(3.0, 1024.0) == (3.0, 2.0), factor(2.0**300, 0.0) == (2.0**-212, 1.0)
    (True, True)
    >>> factor(-math.inf, 0.0) == (-math.inf, BEYOND)
    True
    """
    if not abs(value) < math.inf:
        return value, BEYOND
    power = math.floor(doublings / BITS)
    while abs(value) >= _GREAT:
        value *= DOWN
        power += 1.0
    mantissa = math.ldexp(value, int(doublings - math.floor(doublings / BITS) * BITS))
    if abs(mantissa) >= _GREAT:
        mantissa *= DOWN
        power += 1.0
    return mantissa, power
