"""Folds: functions of the values of an iteration or a window.

A fold has an initial accumulator, a step and, if the accumulator is not the result, a finish.
`combine` combines the accumulators of two neighbouring stretches, and `inverse` removes the oldest
value: with either, the cost of a sliding window does not depend on its size.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from elsinore.errors import QuerySemanticError
from elsinore.quantitative.versions import Bag, Counts, plain

EMPTY_BAG = Bag()
EMPTY_COUNTS = Counts()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """A left fold: init, step(accumulator, value), finish(accumulator)."""

    name: str
    init: Any
    step: Callable[[Any, Any], Any]
    finish: Callable[[Any], Any] | None = None
    combine: Callable[[Any, Any], Any] | None = None
    inverse: Callable[[Any, Any], Any] | None = None

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Counting:
    """The step of a fold that counts values, or their cells."""

    name: str
    cell: Callable[[Any], Any] | None = None

    @property
    def __name__(self) -> str:
        """The step's name in messages."""
        return self.name

    def __call__(self, counted: Counts, value: Any) -> Counts:
        """Return the counts with one more."""
        return counted.add(value if self.cell is None else self.cell(value))


@dataclass(frozen=True, slots=True)
class Adding:
    """The step of a fold that sorts values, for the value at a fraction of them."""

    fraction: float

    __name__ = "quantile"

    def __call__(self, bag: Bag, value: Any) -> Bag:
        """Return the values with one more. Raises ValueError for NaN."""
        is_comparable(value)
        return bag.add(value)


@dataclass(frozen=True, slots=True)
class AtFraction:
    """The value at rank floor(fraction * (n - 1)) of n values in order."""

    fraction: float

    __name__ = "quantile"

    def __call__(self, bag: Bag) -> Any:
        """Return the value, None if there are no values."""
        return bag.quantile(self.fraction) if len(bag) else None


@dataclass(frozen=True, slots=True)
class Merging:
    """The step of a fold that adds mappings of counts, or subtracts them."""

    sign: int

    __name__ = "merged_counts"

    def __call__(self, total: Mapping[Any, int], counts: Mapping[Any, int]) -> Counts:
        """Return the sums, without those that are 0."""
        counted = dict(plain(total))
        for key, number in plain(counts).items():
            counted[key] = counted.get(key, 0) + self.sign * number
            if not counted[key]:
                del counted[key]
        return Counts.owning(counted)


def count() -> Fold:
    """Return the number of values."""
    return Fold(
        name="count",
        init=0,
        step=lambda number, value: number + 1,
        combine=lambda left, right: left + right,
        inverse=lambda number, value: number - 1,
    )


def sum(init: Any = 0) -> Fold:  # noqa: A001 - the word for it
    """Return the sum of the values, added from left to right to `init`.

    A sliding window adds the sums of neighbouring stretches if `init` is zero, with their rounding
    of doubles; otherwise it adds all its values at each match.
    """
    return Fold(
        name="sum",
        init=init,
        step=lambda total, value: total + value,
        combine=(lambda left, right: left + right) if _is_nothing(init) else None,
    )


def _is_nothing(init: Any) -> bool:
    """Return whether adding it changes no sum; False for an array of several numbers."""
    try:
        return not init
    except ValueError:
        return False


def is_comparable(value: Any) -> bool:
    """Return True for a value that has a place in an order.

    Raises ValueError for NaN and for tuples that contain it: NaN is neither less nor greater than
    any number, so the result of a fold by order would depend on where it stands.
    """
    if isinstance(value, tuple):
        for part in value:
            is_comparable(part)
    elif value != value:  # noqa: PLR0124 - NaN alone differs from itself
        raise ValueError("NaN has no place in the order of values; leave such items out")
    return True


def min() -> Fold:  # noqa: A001
    """Return the least value, None if there is none. NaN is rejected."""
    return Fold(
        name="min",
        init=(False, 0),
        step=lambda least, value: (
            is_comparable(value),
            value if not least[0] or value < least[1] else least[1],
        ),
        finish=lambda least: least[1] if least[0] else None,
        combine=_lesser,
    )


def max() -> Fold:  # noqa: A001
    """Return the greatest value, None if there is none. NaN is rejected."""
    return Fold(
        name="max",
        init=(False, 0),
        step=lambda most, value: (
            is_comparable(value),
            value if not most[0] or value > most[1] else most[1],
        ),
        finish=lambda most: most[1] if most[0] else None,
        combine=_greater,
    )


def mean() -> Fold:
    """Return the mean of the values, None if there are none."""
    return Fold(
        name="mean",
        init=(0, 0.0),
        step=lambda state, value: (state[0] + 1, state[1] + value),
        finish=lambda state: state[1] / state[0] if state[0] else None,
        combine=lambda left, right: (left[0] + right[0], left[1] + right[1]),
    )


def variance(*, population: bool = False) -> Fold:
    """Return the variance of the values: None for fewer than two (none if of a population).

    Computed by Welford's recurrence, which does not cancel.
    """
    less = 0 if population else 1
    return Fold(
        name="variance",
        init=(0, 0.0, 0.0),
        step=_welford,
        finish=lambda state: state[2] / (state[0] - less) if state[0] > less else None,
        combine=_welford_joined,
    )


def standard_deviation(*, population: bool = False) -> Fold:
    """Return the square root of the variance."""
    less = 0 if population else 1
    return Fold(
        name="standard_deviation",
        init=(0, 0.0, 0.0),
        step=_welford,
        finish=lambda state: math.sqrt(state[2] / (state[0] - less)) if state[0] > less else None,
        combine=_welford_joined,
    )


def linear_regression() -> Fold:
    """Return (slope, intercept) of the least squares line through (x, y); None for a single x."""
    return Fold(
        name="linear_regression",
        init=(0, 0.0, 0.0, 0.0, 0.0),  # number, means of x and y, sums of squares and products
        step=_regress,
        finish=_line,
    )


def interpolated_mean() -> Fold:
    """Return the mean over time of the line through values (time, value), in order of time.

    The mean of the piecewise linear interpolation; the value itself where times do not differ.
    """
    return Fold(
        name="interpolated_mean",
        init=(False, 0.0, 0.0, 0.0, 0.0),  # any yet, first time, last time and value, area
        step=lambda state, point: (
            True,
            state[1] if state[0] else float(point[0]),
            float(point[0]),
            float(point[1]),
            state[4] + (point[0] - state[2]) * (point[1] + state[3]) / 2.0 if state[0] else 0.0,
        ),
        finish=_mean_over_time,
    )


def discounted_sum(factor: float) -> Fold:
    """Return the sum in which a value counts `factor` times as much with each later one."""
    return Fold(
        name=f"discounted_sum({factor})",
        init=0.0,
        step=lambda total, value: total * factor + value,
    )


def first() -> Fold:
    """Return the first value, None if there is none."""
    return Fold(
        name="first",
        init=(False, None),
        step=lambda state, value: state if state[0] else (True, value),
        finish=lambda state: state[1] if state[0] else None,
        combine=lambda left, right: left if left[0] else right,
    )


def last() -> Fold:
    """Return the last value, None if there is none."""
    return Fold(
        name="last",
        init=(False, None),
        step=lambda state, value: (True, value),
        finish=lambda state: state[1] if state[0] else None,
        combine=lambda left, right: right if right[0] else left,
    )


def top(k: int, key: Callable[[Any], Any] | None = None) -> Fold:
    """Return the k greatest values as a list, greatest first, earlier ones first among equals.

    With a `key`, those with the greatest keys. A value or key that is NaN is rejected.
    """
    if k < 1:
        raise QuerySemanticError(f"top(k) keeps at least one value, not {k}.")

    def ranked(values: tuple[Any, ...]) -> tuple[Any, ...]:
        for value in values:
            is_comparable(value if key is None else key(value))
        return tuple(sorted(values, key=key, reverse=True)[:k])  # sorted keeps the order of equals

    return Fold(
        name=f"top({k})",
        init=(),
        step=lambda kept, value: ranked((*kept, value)),
        finish=list,
        combine=lambda left, right: ranked((*left, *right)),
    )


def counts() -> Fold:
    """Return how often each value occurred, as a mapping from values to numbers."""
    return Fold(name="counts", init=EMPTY_COUNTS, step=Counting("counts"))


def merged_counts() -> Fold:
    """Return the sum of mappings of counts; a sliding window subtracts the oldest one.

    >>> import elsinore.quantitative as qre
    >>> pairs = qre.iterate_n(qre.atom(), 2, qre.counts())
    >>> qre.sliding(pairs, 2, qre.merged_counts()).start().extend("aaabbc")[1]
    [Counts({'a': 2}), Counts({'a': 3, 'b': 1}), Counts({'a': 1, 'b': 2, 'c': 1})]
    """
    return Fold(name="merged_counts", init=EMPTY_COUNTS, step=Merging(1), inverse=Merging(-1))


def most_common(counted: Mapping[Any, int]) -> tuple[Any, int] | None:
    """Return the value with the highest count, the least of several, and this count; or None.

    >>> most_common({"b": 2, "a": 2, "c": 1}), most_common({})
    (('a', 2), None)
    """
    if not counted:
        return None
    counted = plain(counted)
    most = builtins.max(counted.values())
    return builtins.min(value for value, number in counted.items() if number == most), most


def quantile(fraction: float) -> Fold:
    """Return the value at rank floor(fraction * (n - 1)) of the n values in order; exact.

    Keeps all values, as every exact quantile must. None if there are none. NaN is rejected.
    """
    check_fraction(fraction)
    return Fold(
        name=f"quantile({fraction})",
        init=EMPTY_BAG,
        step=Adding(fraction),
        finish=AtFraction(fraction),
    )


def check_fraction(fraction: float) -> None:
    """Raise QuerySemanticError unless the fraction of a quantile is from 0 to 1."""
    if not 0 <= fraction <= 1:
        raise QuerySemanticError(f"The fraction of a quantile is from 0 to 1, not {fraction}.")


def median() -> Fold:
    """Return the lower median of the values; exact. None if there are none. NaN is rejected."""
    return replace(quantile(0.5), name="median")


def _lesser(left: Any, right: Any) -> Any:
    return right if not left[0] or (right[0] and right[1] < left[1]) else left


def _greater(left: Any, right: Any) -> Any:
    return right if not left[0] or (right[0] and right[1] > left[1]) else left


def _welford(state: Any, value: Any) -> Any:
    number = state[0] + 1
    off = value - state[1]
    mean_now = state[1] + off / number
    return number, mean_now, state[2] + off * (value - mean_now)


def _welford_joined(left: Any, right: Any) -> Any:
    number = left[0] + right[0]
    if number == 0:
        return left
    off = right[1] - left[1]
    return (
        number,
        left[1] + off * (right[0] / number),
        left[2] + right[2] + off * off * (left[0] * right[0] / number),
    )


def _regress(state: Any, point: Any) -> Any:
    x, y = point
    number = state[0] + 1
    off = x - state[1]
    mean_x = state[1] + off / number
    mean_y = state[2] + (y - state[2]) / number
    return (
        number,
        mean_x,
        mean_y,
        state[3] + off * (x - mean_x),
        state[4] + off * (y - mean_y),
    )


def _line(state: Any) -> Any:
    if state[3] == 0:
        return None
    slope = state[4] / state[3]
    return slope, state[2] - slope * state[1]


def _mean_over_time(state: Any) -> Any:
    if not state[0]:
        return None
    return state[4] / (state[2] - state[1]) if state[2] != state[1] else state[3]
