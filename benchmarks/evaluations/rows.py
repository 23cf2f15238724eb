"""Searches among the rows of a key, compiled for kernels."""

from __future__ import annotations

from benchmarks.evaluations.kernels import kernel
from elsinore.matches.arrays import Ints
from elsinore.model import window

TIME = 0  # a row of `integers`

first_window = kernel(inline=True)(window.first_window)


@kernel
def first_at(integers: Ints, begin: int, end: int, value: int) -> int:
    """Return the first event from `begin` to `end` with a time of at least `value`, else `end`."""
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        if integers[TIME, middle] < value:
            low = middle + 1
        else:
            high = middle
    return low
