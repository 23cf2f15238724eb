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
from dataclasses import dataclass, replace
from typing import Any

from elsinore.errors import QuerySemanticError
from elsinore.quantitative.buckets import Histogram
from elsinore.quantitative.cells import cell_of, power
from elsinore.quantitative.folds import Counting, Fold, check_fraction
from elsinore.quantitative.versions import Counts
from elsinore.quantitative.windows import check_size


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
    check_fraction(fraction)
    base = math.log1p(eps)

    def value_of(cell: tuple[int, int]) -> float:
        sign, place = cell
        return sign * power(place if sign > 0 else -place, eps) if sign else 0.0

    name = f"approx_quantile({fraction}, {eps})"
    step = Counting("approx_quantile", lambda value: cell_of(value, base, eps))
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
    return replace(approx_quantile(0.5, eps), name=f"approx_median({eps})")


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
    1 / eps + (C - 2) / (2 eps) events in the newer buckets. What is saved of a state is a tuple:
    values so far, events in all buckets, and the buckets from the newest on, each as the place of
    its last event and how many events it holds; there are O(log(size) / eps) of them.
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
    def empty(self) -> Histogram:
        """The state of a window that nothing was pushed to."""
        return Histogram(self.size, self.most(1), self.most(2))

    @property
    def push(self) -> Callable[[Histogram, Any], Histogram]:
        """A function of a state and a mark, 1 for an event, that returns the state after it."""
        return Histogram.push

    @property
    def value(self) -> Callable[[Histogram], Any]:
        """A function of a state that returns the number of events."""
        return Histogram.value

    def __str__(self) -> str:
        return f"{self.size}, approx_count({self.eps})"


def _check_eps(eps: float) -> None:
    if not 0 < eps < 1:
        raise QuerySemanticError(f"eps lies between 0 and 1, not at {eps}.")
