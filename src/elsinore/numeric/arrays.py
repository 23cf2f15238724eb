"""Operations on arrays of extended-range numbers, for computing results."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from elsinore.numeric.extended import LIMB_BITS, THRESHOLD

Doubles = NDArray[np.float64]
Exponents = NDArray[np.int32]


def to_double(mantissas: Doubles, exponents: Exponents) -> Doubles:
    """Return the numbers as doubles; beyond a double's range they are infinite.

    >>> to_double(np.array([3.0, 2.0**200]), np.array([0, 9], dtype=np.int32)).tolist()
    [3.0, inf]
    """
    if not exponents.any():
        return mantissas
    with np.errstate(over="ignore"):
        return np.ldexp(mantissas, exponents.astype(np.int64) * LIMB_BITS)


def log2(mantissas: Doubles, exponents: Exponents) -> Doubles:
    """Return the binary logarithms of positive numbers.

    >>> log2(np.array([2.0**200]), np.array([9], dtype=np.int32)).tolist()
    [2504.0]
    """
    return np.asarray(np.log2(mantissas) + exponents.astype(np.float64) * LIMB_BITS)


def ratio(
    dividend: Doubles, dividend_power: Exponents, divisor: Doubles, divisor_power: Exponents
) -> Doubles:
    """Return quotients of extended-range numbers as doubles; 0/0 is NaN.

    >>> power = np.array([9], dtype=np.int32)
    >>> ratio(np.array([3.0e60]), power, np.array([1.5e60]), power).tolist()
    [2.0]
    """
    power = (dividend_power.astype(np.int64) - divisor_power) * LIMB_BITS
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        return np.asarray(np.ldexp(dividend / divisor, power))


def added(
    mantissas: Doubles, exponents: Exponents, addends: Doubles, powers: Exponents
) -> tuple[Doubles, Exponents]:
    """Return the sums of extended-range numbers.

    >>> zero = np.array([0], dtype=np.int32)
    >>> [part.tolist() for part in added(np.array([1.0]), zero, np.array([-3.0]), zero)]
    [[-2.0], [0]]
    """
    top = np.maximum(exponents, powers).astype(np.int64)
    with np.errstate(under="ignore", invalid="ignore"):
        total = np.ldexp(mantissas, LIMB_BITS * (exponents - top))
        total = total + np.ldexp(addends, LIMB_BITS * (powers - top))
    return normal(total, top)


def scaled(mantissas: Doubles, exponents: Exponents, factors: Doubles) -> tuple[Doubles, Exponents]:
    """Return extended-range numbers times finite doubles.

    >>> two = np.array([2], dtype=np.int32)
    >>> [part.tolist() for part in scaled(np.array([2.0**200]), two, np.array([2.0**-710]))]
    [[4.0], [0]]
    """
    parts, bits = np.frexp(factors)
    limbs, remainder = np.divmod(bits, LIMB_BITS)
    return normal(np.ldexp(mantissas * parts, remainder), exponents.astype(np.int64) + limbs)


def normal(mantissas: Doubles, exponents: NDArray[np.int64]) -> tuple[Doubles, Exponents]:
    """Return numbers below 2**1023 in the normal form of `elsinore.numeric.extended`."""
    size = np.abs(mantissas)
    great = (size >= THRESHOLD) & np.isfinite(size)
    small = (size < THRESHOLD * 2.0**-LIMB_BITS) & (exponents > 0)
    move = great.astype(np.int64) - small - np.minimum(exponents - small, 0)
    with np.errstate(under="ignore"):
        normal = np.ldexp(mantissas, -LIMB_BITS * move)
    exponents = np.where(normal == 0.0, 0, exponents + move)
    return normal, exponents.astype(np.int32)
