"""Approximate folds: less space than the exact ones, with stated bounds.

- medians and quantiles by geometric histograms: the value is off by a factor of 1 + eps at most
  (StreamQRE, Section 4.1, Theorem 9);
- the number of events among the last W by exponential histograms: off by eps of the number at most
  (Datar, Gionis, Indyk and Motwani, Maintaining Stream Statistics over Sliding Windows, SIAM
  Journal on Computing 2002).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from elsinore.errors import QuerySemanticError
from elsinore.quantitative.folds import Counting, Fold, is_comparable
from elsinore.quantitative.versions import Counts
from elsinore.quantitative.windows import State, check_size

Bucket = tuple[int, int]  # the place of its last event, and how many events it holds


def approx_quantile(fraction: float, eps: float) -> Fold:
    """Return the value at rank floor(fraction * (n - 1)), off by a factor of 1 + eps at most.

    Values are rounded down: the exact one is in [x, (1 + eps) x] where it is above 0.

    Values are counted by the power of 1 + eps that they lie above, so the space is that of
    log(U / L) / eps numbers, U and L the greatest and least of the values' sizes (StreamQRE,
    Theorem 9). Negative values are rounded away from 0, and 0 is itself: then |x| is between the
    true size and (1+eps) times it. None if there are no values; raises ValueError for NaN and
    infinities, which have no place in the order.
    """
    _check_eps(eps)
    if not 0 <= fraction <= 1:
        raise QuerySemanticError(f"A quantile lies between 0 and 1, not at {fraction}.")
    base = math.log1p(eps)

    def value_of(cell: tuple[int, int]) -> float:
        sign, place = cell
        return sign * _power(place if sign > 0 else -place, eps) if sign else 0.0

    name = f"approx_quantile({fraction}, {eps})"
    step = Counting("approx_quantile", lambda value: _cell(value, base, eps))
    return Fold(name=name, init=Counts(), step=step, finish=CellAt(fraction, value_of))


def approx_median(eps: float) -> Fold:
    """Return the lower median, rounded down: x with x <= median <= (1 + eps) x.

    >>> fold = approx_median(0.01)
    >>> counted = fold.init
    >>> for value in (3.0, 100.0, 7.0):
    ...     counted = fold.step(counted, value)
    >>> fold.finish(counted) <= 7.0 <= 1.01 * fold.finish(counted)
    True
    """
    quantile = approx_quantile(0.5, eps)
    return Fold(
        name=f"approx_median({eps})", init=quantile.init, step=quantile.step, finish=quantile.finish
    )


@dataclass(frozen=True, slots=True)
class CellAt:
    """The value of the cell at rank floor(fraction * (n - 1)) of n values that were counted."""

    fraction: float
    value_of: Callable[[tuple[int, int]], float]  # the power that a cell's values were rounded to

    @property
    def __name__(self) -> str:
        """What the function is called."""
        return "approx_quantile"

    def __call__(self, counted: Mapping[tuple[int, int], int]) -> float | None:
        """Return the value, None if there are no values."""
        left = int(self.fraction * (sum(counted.values()) - 1)) if counted else 0
        for cell in sorted(counted):
            left -= counted[cell]
            if left < 0:
                return self.value_of(cell)
        return None


@dataclass(frozen=True, slots=True)
class ExponentialHistogram:
    """How many of the last `size` values were events, within `eps` of the number.

    Buckets hold 1, 2, 4, ... events; where there are more than `most` of a size, the two oldest of
    it become one of the next. Only the oldest bucket may lie across the window's edge, and half of
    it counts: with C events in it the number is off by C / 2 at most, and there are at least
    1 / eps + (C - 2) / (2 eps) events in the newer buckets. A state is a tuple: values so far,
    events in all buckets, and the buckets from the newest on; there are O(log(size) / eps) of them.
    """

    size: int
    eps: float

    def __post_init__(self) -> None:
        _check_eps(self.eps)
        check_size("approx_count_in_window", self.size)

    def most(self, width: int) -> int:
        """Return how many buckets of `width` events there may be."""
        return 1 + math.ceil(1 / self.eps if width == 1 else 1 / (2 * self.eps))

    @property
    def how(self) -> str:
        """How the window is kept up, in words."""
        return f"exponential histogram, at most {self.most(1)} buckets of a size"

    @property
    def fold(self) -> Fold:
        """The exact count that is approximated."""
        return Fold(name="approx_count", init=0, step=lambda number, mark: number + mark)

    @property
    def empty(self) -> State:
        """The state of a window that nothing was pushed to."""
        return (0, 0, ())

    @property
    def push(self) -> Callable[[State, Any], State]:
        """A function of a state and a mark, 1 for an event, that returns the state after it."""
        return self._push

    @property
    def value(self) -> Callable[[State], Any]:
        """A function of a state that returns the number of events."""
        return self._value

    def _push(self, state: State, mark: int) -> State:
        number, total, buckets = state
        number += 1
        if buckets and buckets[-1][0] <= number - self.size:
            total -= buckets[-1][1]
            buckets = buckets[:-1]
        if mark:
            total += 1
            buckets = self._merged(((number, 1), *buckets))
        return number, total, buckets

    def _merged(self, buckets: tuple[Bucket, ...]) -> tuple[Bucket, ...]:
        start, width = 0, 1
        while True:
            stop = start
            while stop < len(buckets) and buckets[stop][1] == width:
                stop += 1
            if stop - start <= self.most(width):
                return buckets
            newer = buckets[stop - 2]  # the two oldest of the size become one, as new as the newer
            buckets = (*buckets[: stop - 2], (newer[0], 2 * width), *buckets[stop:])
            start, width = stop - 2, 2 * width

    @staticmethod
    def _value(state: State) -> int:
        _, total, buckets = state
        return total - buckets[-1][1] // 2 if buckets else 0

    def __str__(self) -> str:
        return f"{self.size}, approx_count({self.eps})"


def _check_eps(eps: float) -> None:
    if not 0 < eps < 1:
        raise QuerySemanticError(f"eps lies between 0 and 1, not at {eps}.")


def _power(place: int, eps: float) -> float:
    return math.exp(place * math.log1p(eps))


def _cell(value: float, base: float, eps: float) -> tuple[int, int]:
    """Return the sign and the place of the greatest power of 1 + eps that is at most the size.

    Of negative values the least power that is at least the size, negated, so that cells are in the
    order of the values.
    """
    is_comparable(value)
    if value == 0:
        return 0, 0
    size = abs(value)
    place = math.floor(math.log(size) / base)
    while _power(place, eps) > size:  # the logarithm was rounded
        place -= 1
    while _power(place + 1, eps) <= size:
        place += 1
    if value > 0:
        return 1, place
    return -1, -(place if _power(place, eps) == size else place + 1)
