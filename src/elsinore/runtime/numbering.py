"""Lazy integer codes of rows, computed range by range when they are read.

A range's codes are used immediately, and its memory is reused for the next one. Allocating fresh
memory for all rows of a column would take as long as the computation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from elsinore.runtime.ranges import by_ranges

Codes = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Numbering:
    """A code below `size` for each of `rows` rows; `make(begin, end)` computes those of a range.

    >>> squares = Numbering(4, 10, lambda begin, end: np.arange(begin, end, dtype=np.int32) ** 2)
    >>> squares.make(1, 3).tolist(), squares.whole().tolist()
    ([1, 4], [0, 1, 4, 9])
    """

    rows: int
    size: int
    make: Callable[[int, int], Codes]

    @classmethod
    def from_codes(cls, codes: Codes, size: int) -> Numbering:
        """Return the numbering of an array of codes.

        >>> Numbering.from_codes(np.array([3, 1, 2], np.int32), 4).make(1, 3)
        array([1, 2], dtype=int32)
        """
        return cls(len(codes), size, lambda begin, end: codes[begin:end])

    @classmethod
    def constant(cls, rows: int) -> Numbering:
        """Return the numbering in which all rows have code 0."""
        return cls(rows, 1, lambda begin, end: np.zeros(end - begin, dtype=np.int32))

    def whole(self, threads: int = 1) -> Codes:
        """Return the codes of all rows."""
        numbers = np.empty(self.rows, dtype=np.int32)

        def put(begin: int, end: int) -> None:
            numbers[begin:end] = self.make(begin, end)

        by_ranges(put, self.rows, threads)
        return numbers

    def materialized(self, threads: int = 1) -> Numbering:
        """Return the same numbering with its codes in memory, for repeated reading."""
        return Numbering.from_codes(self.whole(threads), self.size)
