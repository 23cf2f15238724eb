"""Passes over the rows of columns that threads take range by range.

Compiled passes and Arrow's own let other threads run, so a pass over some rows goes on beside that
over others.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from elsinore.threads import in_threads

R = TypeVar("R")

MOST_ROWS = 2**19  # of a range: what is made of one is soon needed, or gone


def ranges_of(rows: int, threads: int) -> list[tuple[int, int]]:
    """Return ranges of rows, about equally long: one for each thread at least, if they suffice.

    >>> ranges_of(10, 1), ranges_of(10, 3)
    ([(0, 10)], [(0, 3), (3, 6), (6, 10)])
    """
    count = min(rows, max(threads, -(-rows // MOST_ROWS)))
    return [(rows * n // count, rows * (n + 1) // count) for n in range(count)] or [(0, 0)]


def by_ranges(work: Callable[[int, int], R], rows: int, threads: int) -> list[R]:
    """Return what `work(begin, end)` gives for ranges of rows, in their order.

    >>> by_ranges(range, 10, 3)
    [range(0, 3), range(3, 6), range(6, 10)]
    """
    ranges = ranges_of(rows, threads)
    if len(ranges) == 1 or threads == 1:
        return [work(*bounds) for bounds in ranges]
    left = iter(range(len(ranges)))  # whoever is in want of one takes the next
    results: dict[int, R] = {}

    def take() -> None:
        for number in left:
            results[number] = work(*ranges[number])

    in_threads([take] * min(threads, len(ranges)), partial(list, left))
    return [results[number] for number in range(len(ranges))]
