# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""AND: how many unordered pairs of different trends there are, one of each of two patterns."""

from __future__ import annotations

import numpy as np

from elsinore.kernels import kernel
from elsinore.numeric import LIMB_BITS
from elsinore.trends.core.arrays import Codes, Doubles
from elsinore.trends.core.extended import add, normalise, product
from elsinore.trends.core.numbers import BITS, normal
from elsinore.trends.core.wide import wide_kernel

LIMBS = BITS / LIMB_BITS  # powers of `elsinore.numeric` in one of this engine
_DOWN = 2.0**-LIMB_BITS
_NO_POWER = np.int64(0)  # a literal is a type of its own, and would be compiled for itself


@kernel(borrows=True, linked=True)
def pairs(
    one: float, one_power: int, other: float, other_power: int, both: float, both_power: int
) -> tuple[float, int]:
    """Return the pairs of trends of the one pattern alone, of the other alone and of both.

    one*other + one*both + other*both + both*(both - 1)/2; all are numbers of `elsinore.numeric`.

    >>> pairs(2.0, 0, 3.0, 0, 4.0, 0)
    (32.0, 0)
    """
    cell, power = product(one, one_power, other, other_power)
    more, more_power = product(one, one_power, both, both_power)
    cell, power = add(cell, power, more, more_power)
    more, more_power = product(other, other_power, both, both_power)
    cell, power = add(cell, power, more, more_power)
    less, less_power = add(both, both_power, -1.0, _NO_POWER)
    if both_power == 0 and both % 2.0 == 0.0:  # halve the even one: no bit is lost
        more, more_power = product(both / 2.0, _NO_POWER, less, less_power)
    else:
        more, more_power = product(both, both_power, less / 2.0, less_power)
    return add(cell, power, more, more_power)


def exact_pairs(one: int, other: int, both: int) -> int:
    """Return `pairs` of whole numbers.

    >>> exact_pairs(2, 3, 4)
    32
    """
    return one * other + one * both + other * both + both * (both - 1) // 2


@kernel(borrows=True, linked=True)
def pairs_of_all(
    one: float, one_power: int, other: float, other_power: int, both: float, both_power: int
) -> tuple[float, int]:
    """Return the pairs of all trends of the one pattern and the other, of which some are of both.

    >>> pairs_of_all(6.0, 0, 7.0, 0, 4.0, 0)
    (32.0, 0)
    """
    alone, alone_power = add(one, one_power, -both, both_power)
    beside, beside_power = add(other, other_power, -both, both_power)
    return pairs(alone, alone_power, beside, beside_power, both, both_power)


@kernel
def pairs_of_rows(
    ones: Doubles,
    one_powers: Codes,
    others: Doubles,
    other_powers: Codes,
    both: Doubles,
    powers: Codes,
) -> tuple[Doubles, Codes]:
    """Return `pairs_of_all` row by row."""
    found, found_powers = np.zeros(len(ones)), np.zeros(len(ones), dtype=np.int32)
    for row in range(len(ones)):
        cell, power = pairs_of_all(
            ones[row], one_powers[row], others[row], other_powers[row], both[row], powers[row]
        )
        found[row], found_powers[row] = cell, power
    return found, found_powers


@wide_kernel(linked=True)
def pairs_of_sums(
    one: float, one_power: float, other: float, other_power: float, both: float, both_power: float
) -> tuple[float, float]:
    """Return `pairs_of_all` of this engine's numbers.

    >>> pairs_of_sums(2.0**500, 0.0, 2.0**500, 0.0, 0.0, 0.0) == (2.0**488, 1.0)
    True
    """
    first, first_power = normalise(one, np.int64(one_power * LIMBS))
    second, second_power = normalise(other, np.int64(other_power * LIMBS))
    third, third_power = normalise(both, np.int64(both_power * LIMBS))
    cell, power = pairs_of_all(first, first_power, second, second_power, third, third_power)
    if power % 2:
        return normal(cell * _DOWN, (power + 1) / LIMBS)
    return normal(cell, power / LIMBS)
