"""Lists of numbers as kernels read them: one after another in one array."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from elsinore.trends.core.arrays import Ints


class Lists:
    """Lists that are put one after another.

    >>> lists = Lists()
    >>> lists.put([[5, 6], []]), lists.put([[7]]), lists.items
    (array([0, 2, 2]), array([2, 3]), array([5, 6, 7]))
    """

    def __init__(self) -> None:
        self._items: list[int] = []

    def put(self, lists: Iterable[Sequence[int]]) -> Ints:
        """Add lists; return where each begins, and where the last ends."""
        begins = [len(self._items)]
        for items in lists:
            self._items += items
            begins.append(len(self._items))
        return np.array(begins, dtype=np.int64)

    @property
    def items(self) -> Ints:
        """The lists as one array, which is never empty."""
        return np.array(self._items or [0], dtype=np.int64)
