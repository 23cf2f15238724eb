"""Cases drawn by a pseudo-random generator; Hypothesis draws only its seed.

Hypothesis prefers simple and repeated choices: of queries and streams that it draws piece by piece,
most have one event or no match, and many are equal. Cases of different seeds differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np
from hypothesis import strategies as st

T = TypeVar("T")


class Drawn:
    """Draws a case; equal seeds draw equal cases."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._random = np.random.default_rng(seed)

    def __repr__(self) -> str:
        return f"Drawn({self.seed})"

    def one(self, values: Iterable[T]) -> T:
        """Draw a value from a list."""
        among = values if isinstance(values, Sequence) else list(values)
        return among[int(self._random.integers(len(among)))]

    def some(self, values: Iterable[T], most: int | None = None, least: int = 0) -> list[T]:
        """Draw several different values from a list, in a drawn order."""
        among = list(values)
        count = self.number(least, min(len(among), most if most is not None else len(among)))
        return [among[place] for place in self._random.permutation(len(among))[:count]]

    def number(self, low: int, high: int) -> int:
        """Draw a whole number from `low` to `high`."""
        return int(self._random.integers(low, high + 1))

    def whether(self) -> bool:
        """Draw true or false."""
        return bool(self._random.integers(2))

    def cuts(self, size: int, most: int) -> list[int]:
        """Draw at most `most` places at which a sequence is divided."""
        return [self.number(0, size) for _ in range(self.number(0, most))]


CASES = st.integers(0, 2**63).map(Drawn)
