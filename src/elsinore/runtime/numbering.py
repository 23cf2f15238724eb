"""Numbers of rows that are made where they are read, range by range.

What is made of a range is soon needed, or gone, and its memory serves again: fresh memory for all
rows of a column costs as much as what is done with it, and more where the system has to find it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from elsinore.kernels.read_only import read_only
from elsinore.runtime.ranges import by_ranges

Codes = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Numbering:
    """A number for each of so many rows, below `size`; `make(begin, end)` makes those of a range.

    >>> squares = Numbering(4, 10, lambda begin, end: np.arange(begin, end, dtype=np.int32) ** 2)
    >>> squares.make(1, 3).tolist(), squares.whole().tolist()
    ([1, 4], [0, 1, 4, 9])
    """

    rows: int
    size: int
    make: Callable[[int, int], Codes]

    @classmethod
    def of(cls, numbers: Codes, size: int) -> Numbering:
        """Return the numbering that numbers are which are there already.

        >>> Numbering.of(np.array([3, 1, 2], np.int32), 4).make(1, 3)
        array([1, 2], dtype=int32)
        """
        numbers = read_only(numbers)
        return cls(len(numbers), size, lambda begin, end: numbers[begin:end])

    @classmethod
    def alike(cls, rows: int) -> Numbering:
        """Return the numbering in which all rows have one number."""
        return cls(rows, 1, lambda begin, end: np.zeros(end - begin, dtype=np.int32))

    def whole(self, threads: int = 1) -> Codes:
        """Return the numbers of all rows."""
        numbers = np.empty(self.rows, dtype=np.int32)

        def put(begin: int, end: int) -> None:
            numbers[begin:end] = self.make(begin, end)

        by_ranges(put, self.rows, threads)
        return numbers

    def kept(self, threads: int = 1) -> Numbering:
        """Return the same with all numbers made, for those who read them more than once."""
        return Numbering.of(self.whole(threads), self.size)
