"""Variances from sums: of deviations from a shift, of their squares, and the number of values.

With d = shift - new shift, n values, deviations S and squares Q, the sums from the new shift are

    S' = S + d*n        Q' = Q + 2*d*S + d**2*n

(Chan, Golub, LeVeque: Algorithms for computing the sample variance, 1983.)
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.arrow import to_arrow
from elsinore.numeric.arrays import added, scaled
from elsinore.numeric.exact import Number
from elsinore.numeric.extended import LIMB_BITS

Doubles = NDArray[np.float64]
Extended = tuple[Doubles, NDArray[np.int32]]  # mantissas and exponents
_ROOT_BITS = 2**7  # bits of a root that are computed before it is rounded


def moved_by(
    by: Doubles, squares: Extended, deviations: Extended, present: Extended
) -> tuple[Extended, Extended]:
    """Return the sums of squares and of deviations from a shift that is less by `by`.

    >>> power = np.zeros(1, dtype=np.int32)
    >>> sums = [(np.array([number]), power) for number in (5.0, 3.0, 2.0)]  # of values 1 and 2
    >>> [cells.tolist() for cells, _ in moved_by(np.array([10.0]), *sums)]  # of 11 and 12
    [[265.0], [23.0]]
    """
    new_deviations = added(*deviations, *scaled(*present, by))
    twice = scaled(*added(*deviations, *new_deviations), by)  # d*(S + S') is 2*d*S + d**2*n
    return added(*squares, *twice), new_deviations


def spread(
    squares: Extended, deviations: Extended, count: Extended, *, of_sample: bool, is_root: bool
) -> pa.Array:
    """Return variances, or their roots, as doubles; null for too few values.

    of_sample: divide by the number of values less one.

    >>> power = np.zeros(2, dtype=np.int32)
    >>> numbers = [(np.array(sums), power) for sums in ([2.0, 1.0], [0.0, 1.0], [2.0, 1.0])]
    >>> spread(*numbers, of_sample=True, is_root=False).to_pylist()
    [2.0, None]
    """
    values, powers = count
    less = np.where(powers == 0, values - 1.0, values) if of_sample else values
    nothing = (values == 0.0) | (less == 0.0)
    # (n*Q - S**2) / (n*n or n*(n - 1)): exact sums stay exact, and equal values have variance 0
    numerator_power = powers.astype(np.int64) + squares[1]
    denominator_power = 2 * deviations[1].astype(np.int64)
    top = np.maximum(numerator_power, denominator_power)
    with np.errstate(all="ignore"):
        over = _times_power(values * squares[0], LIMB_BITS, numerator_power - top)
        over -= _times_power(deviations[0] ** 2, LIMB_BITS, denominator_power - top)
        values_spread = np.maximum(over, 0.0) / (values * less)
        power = top - 2 * powers.astype(np.int64)
        if is_root:
            values_spread = _times_power(np.sqrt(values_spread), LIMB_BITS // 2, power)
        else:
            values_spread = _times_power(values_spread, LIMB_BITS, power)
    return to_arrow(values_spread, pa.float64(), mask=nothing)


def _times_power(numbers: Doubles, bits: int, powers: NDArray[np.int64]) -> Doubles:
    """Return numbers times 2**(bits * power); usually all powers are 0."""
    return np.asarray(np.ldexp(numbers, bits * powers)) if powers.any() else numbers


def exact_spread(
    squares: Number, deviations: Number, count: Number, *, of_sample: bool, is_root: bool
) -> float | None:
    """Return a variance, or its root, rounded once; None for too few values.

    >>> sums = [(50, 10, 3), (1, 1, 1)]
    >>> [exact_spread(*numbers, of_sample=True, is_root=True) for numbers in sums]
    [2.8867513459481287, None]
    """
    under = count * (count - 1 if of_sample else count)
    if under == 0:
        return None
    variance = Fraction(count * squares - deviations * deviations, under)
    try:
        return _root(variance) if is_root else float(variance)
    except OverflowError:
        return math.inf


def _root(number: Fraction) -> float:
    """Return the square root, computed as an integer of enough bits and rounded once."""
    bits = number.numerator.bit_length() - number.denominator.bit_length()
    up = _ROOT_BITS - bits // 2
    scale = Fraction(4) ** up
    integer_root = number * scale
    root = math.isqrt(integer_root.numerator // integer_root.denominator)
    inexact = root * root != integer_root  # a last bit 1 for inexact roots makes rounding correct
    return float(Fraction(2 * root + inexact, 2) / Fraction(2) ** up)
