"""The cells that values are counted by: powers of 1 + eps (StreamQRE, Section 4.1)."""

from __future__ import annotations

import math
from math import exp, floor, log
from typing import Any

import cython

from elsinore.quantitative.folds import is_comparable

LEAST, MOST = 1e-290, 1e290  # sizes whose powers are doubles
MOST_WHOLE = 9_007_199_254_740_992  # integers up to here are doubles


def power(place: int, eps: float) -> float:
    """Return a power of 1 + eps."""
    return math.exp(place * math.log1p(eps))


def cell_of(value: Any, base: float, eps: float) -> tuple[int, int]:
    """Return the sign and the place of the greatest power of 1 + eps that is at most the size.

    Of negative values the least power that is at least the size, negated, so that cells are in the
    order of the values.

    base: the logarithm of 1 + eps.

    >>> [cell_of(value, math.log1p(0.5), 0.5) for value in (1.6, 0, -1.4, -1.6)]
    [(1, 1), (0, 0), (-1, -1), (-1, -2)]
    """
    number: cython.double
    logarithm: cython.double = base
    if type(value) is float or (type(value) is int and -MOST_WHOLE <= value <= MOST_WHOLE):
        number = value
        size: cython.double = abs(number)
        if size > LEAST and size < MOST:
            place: cython.longlong = _place(size, logarithm)
            if number > 0.0:
                return 1, place
            return -1, -(place if exp(place * logarithm) == size else place + 1)
    return _any_cell(value, base, eps)


@cython.nogil
def _place(size: cython.double, base: cython.double) -> cython.longlong:
    """Return the place of the greatest power that is at most the size."""
    place: cython.longlong = cython.cast(cython.longlong, floor(log(size) / base))
    while exp(place * base) > size:  # the logarithm was rounded
        place -= 1
    while exp((place + 1) * base) <= size:
        place += 1
    return place


def _any_cell(value: Any, base: float, eps: float) -> tuple[int, int]:
    """Return the cell of a value of any type, by Python's operations."""
    is_comparable(value)
    if value == 0:
        return 0, 0
    size = abs(value)
    place = math.floor(math.log(size) / base)
    while power(place, eps) > size:
        place -= 1
    while power(place + 1, eps) <= size:
        place += 1
    if value > 0:
        return 1, place
    return -1, -(place if power(place, eps) == size else place + 1)
