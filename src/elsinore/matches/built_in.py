"""Aggregates of one match that are written as users write theirs (`elsinore.matches.aggregates`).

A new one takes its class here, its name in `elsinore.model.expression` and the types that it takes
in `elsinore.model.types`. Beside what classes of users have, `counts` says that values are only
told apart (any type) and that the result is a whole number, 0 for no values. The engine computes
`FORMULAS` in compiled code.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Mapping


class CountDistinct:
    """The number of different values."""

    monotone = "increasing"
    counts = True

    def init(self) -> frozenset[float]:
        """Return no values."""
        return frozenset()

    def step(self, state: frozenset[float], value: float) -> frozenset[float]:
        """Return the values with one more."""
        return state if value in state else state | {value}

    def value(self, state: frozenset[float]) -> int:
        """Return how many there are."""
        return len(state)


class Median:
    """The value in the middle; of an even number of values, the mean of the two in the middle."""

    def init(self) -> tuple[float, ...]:
        """Return no values."""
        return ()

    def step(self, state: tuple[float, ...], value: float) -> tuple[float, ...]:
        """Return the values in order, with one more."""
        at = bisect(state, value)
        return (*state[:at], value, *state[at:])

    def value(self, state: tuple[float, ...]) -> float:
        """Return the median."""
        middle = len(state) // 2
        if len(state) % 2:
            return state[middle]
        return state[middle - 1] + (state[middle] - state[middle - 1]) / 2


class VarPop:
    """The variance of a population (Welford's recurrence: count, mean, sum of squares)."""

    def init(self) -> tuple[float, float, float]:
        """Return no values."""
        return (0.0, 0.0, 0.0)

    def step(self, state: tuple[float, float, float], value: float) -> tuple[float, float, float]:
        """Return the moments with one more value."""
        count = state[0] + 1.0
        distance = value - state[1]
        mean = state[1] + distance / count
        return (count, mean, state[2] + distance * (value - mean))

    def value(self, state: tuple[float, float, float]) -> float | None:
        """Return the mean square of the distances from the mean."""
        return state[2] / state[0]


class StddevPop(VarPop):
    """The standard deviation of a population."""

    def value(self, state: tuple[float, float, float]) -> float | None:
        """Return the root of the variance."""
        return float((state[2] / state[0]) ** 0.5)


class Variance(VarPop):
    """The variance of a sample, null for fewer than two values."""

    def value(self, state: tuple[float, float, float]) -> float | None:
        """Return the sum of squares divided by the number of values less one."""
        if state[0] < 2.0:
            return None
        return state[2] / (state[0] - 1.0)


class Stddev(VarPop):
    """The standard deviation of a sample, null for fewer than two values."""

    def value(self, state: tuple[float, float, float]) -> float | None:
        """Return the root of the variance."""
        if state[0] < 2.0:
            return None
        return float((state[2] / (state[0] - 1.0)) ** 0.5)


BUILT_IN: Mapping[str, object] = {
    "COUNT_DISTINCT": CountDistinct,
    "MEDIAN": Median,
    "STDDEV": Stddev,
    "STDDEV_POP": StddevPop,
    "VARIANCE": Variance,
    "VAR_POP": VarPop,
}
# By `elsinore.matches.engine.registers.step_variance`, with the same operations in the same order.
FORMULAS = frozenset({"STDDEV", "STDDEV_POP", "VARIANCE", "VAR_POP"})
