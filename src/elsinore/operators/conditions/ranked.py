"""Order-preserving integer codes of texts or numbers, extensible by later values."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

STEP = 2**32  # between adjacent codes after numbering
HIGHEST = 2**62  # codes are between -HIGHEST and HIGHEST
FEW = 64  # new values up to which each is inserted separately


class OrderCodes:
    """Codes of the values of events and of constants in conditions, in the values' order.

    Values are texts, or exact numbers of any kind. A new value gets a code between those of its
    neighbours. If there is no such code, all values are renumbered.
    """

    def __init__(self) -> None:
        self._codes: dict[Any, int] = {}
        self._sorted: list[Any] = []
        self._constants: set[Any] = set()

    def __len__(self) -> int:
        return len(self._codes)

    def learn(self, values: Iterable[Any]) -> tuple[Ints, Ints] | None:
        """Add values; if codes changed, return the old codes, ascending, and their new codes.

        >>> codes = OrderCodes()
        >>> codes.learn(["b", "d"])
        >>> codes.learn(["c"])
        >>> codes.code_of("b") < codes.code_of("c") < codes.code_of("d")
        True
        """
        new = [value for value in dict.fromkeys(values) if value not in self._codes]
        if not new:
            return None
        if len(new) <= FEW + len(self._sorted) // 64 and all(map(self._insert, new)):
            return None
        before = [value for value in self._sorted if value in self._codes]
        old = np.array([self._codes[value] for value in before], np.int64)
        self._renumber(sorted({*self._sorted, *new}))
        return (old, self.encoded(before)) if before else None

    def encoded(self, values: Iterable[Any]) -> Ints:
        """Return the codes of values that were added before."""
        return np.array([self._codes[value] for value in values], np.int64)

    def code_of(self, value: Any) -> int:
        """Return the code of a constant that was passed to `pin`."""
        return self._codes[value]

    def pin(self, values: Iterable[Any]) -> tuple[Ints, Ints] | None:
        """Add constants of conditions, which `keep` never removes; return as `learn` does."""
        constants = [value for value in values if value not in self._constants]
        self._constants.update(constants)
        return self.learn(constants) if constants else None

    def keep(self, codes: Ints) -> None:
        """Remove all values except those with the given codes, and constants."""
        retained = set(codes.tolist())
        self._sorted = [
            value
            for value in self._sorted
            if self._codes[value] in retained or value in self._constants
        ]
        self._codes = {value: self._codes[value] for value in self._sorted}

    def _insert(self, value: Any) -> bool:
        """Insert a value between its neighbours; return False if there is no code between."""
        place = bisect_left(self._sorted, value)
        ordered, codes = self._sorted, self._codes
        below = codes[ordered[place - 1]] if place else None
        above = codes[ordered[place]] if place < len(ordered) else None
        if below is None:
            code = 0 if above is None else above - STEP
        else:
            code = below + STEP if above is None else (below + above) // 2
        if code == below or not -HIGHEST < code < HIGHEST:
            return False
        ordered.insert(place, value)
        codes[value] = code
        return True

    def _renumber(self, values: list[Any]) -> None:
        """Assign evenly spaced codes to all values, in their order."""
        step = min(STEP, HIGHEST // (len(values) + 1))
        first = -step * (len(values) // 2)
        self._sorted = values
        self._codes = dict(zip(values, range(first, first + step * len(values), step), strict=True))

    def items(self) -> list[tuple[Any, int]]:
        """Return all values with their codes, for `restore`."""
        return list(self._codes.items())

    def restore(self, items: Iterable[tuple[Any, int]]) -> None:
        """Restore the values that `items` returned; constants are already pinned."""
        self._codes = dict(items)
        self._sorted = sorted(self._codes)


def recoded(codes: Ints, old: Ints, new: Ints) -> Ints:
    """Map codes from `old` to `new`; `old` is ascending and contains all codes."""
    chosen: Ints = new[np.searchsorted(old, codes)]
    return chosen
