"""What results need of extended-range numbers, over whole arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from elsinore.numeric.extended import LIMB_BITS

Doubles = NDArray[np.float64]
Exponents = NDArray[np.int32]


def to_double(mantissas: Doubles, exponents: Exponents) -> Doubles:
    """Return the numbers as doubles; beyond a double's range they are infinite.

    >>> to_double(np.array([3.0, 2.0**200]), np.array([0, 9], dtype=np.int32)).tolist()
    [3.0, inf]
    """
    with np.errstate(over="ignore"):
        return np.ldexp(mantissas, exponents.astype(np.int64) * LIMB_BITS)


def log2(mantissas: Doubles, exponents: Exponents) -> Doubles:
    """Return the binary logarithms of positive numbers.

    >>> log2(np.array([2.0**200]), np.array([9], dtype=np.int32)).tolist()
    [2504.0]
    """
    return np.asarray(np.log2(mantissas) + exponents.astype(np.float64) * LIMB_BITS)


def ratio(over: Doubles, over_power: Exponents, under: Doubles, under_power: Exponents) -> Doubles:
    """Return quotients of extended-range numbers as doubles; 0/0 is NaN.

    >>> power = np.array([9], dtype=np.int32)
    >>> ratio(np.array([3.0e60]), power, np.array([1.5e60]), power).tolist()
    [2.0]
    """
    power = (over_power.astype(np.int64) - under_power) * LIMB_BITS
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        return np.asarray(np.ldexp(over / under, power))
