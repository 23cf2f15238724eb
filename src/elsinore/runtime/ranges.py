"""Passes over the rows of columns, divided into ranges for threads.

Compiled passes and Arrow's functions release Python's lock, so ranges are processed in parallel.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from elsinore.threads import in_threads

R = TypeVar("R")

MOST_ROWS = 2**19  # of a range, so that its results stay in the processor's cache


def ranges_of(rows: int, threads: int) -> list[tuple[int, int]]:
    """Return ranges of rows of similar lengths, at least one per thread if there are enough rows.

    >>> ranges_of(10, 1), ranges_of(10, 3)
    ([(0, 10)], [(0, 3), (3, 6), (6, 10)])
    """
    count = min(rows, max(threads, -(-rows // MOST_ROWS)))
    return [(rows * n // count, rows * (n + 1) // count) for n in range(count)] or [(0, 0)]


def by_ranges(work: Callable[[int, int], R], rows: int, threads: int) -> list[R]:
    """Return the results of `work(begin, end)` for ranges of rows, in their order.

    >>> by_ranges(range, 10, 3)
    [range(0, 3), range(3, 6), range(6, 10)]
    """
    ranges = ranges_of(rows, threads)
    if len(ranges) == 1 or threads == 1:
        return [work(*bounds) for bounds in ranges]
    left = iter(range(len(ranges)))  # idle threads take the next
    results: dict[int, R] = {}

    def take() -> None:
        for number in left:
            results[number] = work(*ranges[number])

    in_threads([take] * min(threads, len(ranges)), partial(list, left))
    return [results[number] for number in range(len(ranges))]
