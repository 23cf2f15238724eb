"""Whether times are in order, and simultaneous rows of a key, computed by several threads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from elsinore.runtime.numbering import Numbering
from elsinore.runtime.ranges import by_ranges, ranges_of
from elsinore.runtime.simultaneous import has_simultaneous, order_of, simultaneous_rows

FEW_KEYS = 2**16  # up to which each range has a table of keys


def order_in_ranges(times: NDArray[np.int64], threads: int) -> int:
    """Return the order of times (`order_of`), computed by several threads.

    >>> order_in_ranges(np.array([1, 2, 2, 3]), 2)  # ASCENDING
    1
    """

    def find(begin: int, end: int) -> int:
        return order_of(times[max(begin - 1, 0) : end])

    return min(by_ranges(find, len(times), threads))


def has_ties(times: NDArray[np.int64], keys: Numbering, threads: int) -> bool:
    """Return whether a key has simultaneous events (`has_simultaneous`), by several threads.

    >>> has_ties(np.array([1, 2, 2]), Numbering.from_codes(np.array([0, 1, 0], np.int32), 2), 1)
    False
    """

    def find(begin: int, end: int) -> bool:
        first = int(np.searchsorted(times, times[begin])) if begin < end else begin
        # from the first row with the time at which the range begins
        return has_simultaneous(times[first:end], keys.make(first, end), keys.size)

    if keys.size > FEW_KEYS:
        return find(0, len(times))
    if threads == 1:  # stop at the first range with a tie
        return any(find(*bounds) for bounds in ranges_of(len(times), threads))
    return any(by_ranges(find, len(times), threads))


def simultaneous(
    times: NDArray[np.int64], keys: Numbering, threads: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows whose key and time equal another row's, and numbers of these ties.

    Times never fall. Rows have the same number if their key and time are equal.

    >>> keys = Numbering.from_codes(np.array([0, 1, 0, 1], np.int32), 2)
    >>> simultaneous(np.array([1, 2, 2, 2]), keys, 1)
    (array([1, 3]), array([0, 0]))
    """

    def find(begin: int, end: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        first = int(np.searchsorted(times, times[begin]))
        stop = len(times) if end == len(times) else int(np.searchsorted(times, times[end]))
        rows, moments = np.empty((2, stop - first), dtype=np.int64)
        codes = keys.make(first, stop)
        count = simultaneous_rows(times[first:stop], codes, keys.size, rows, moments)
        return rows[:count] + first, moments[:count]

    if len(times) < 2:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    ties_by_range = (
        [find(0, len(times))] if keys.size > FEW_KEYS else by_ranges(find, len(times), threads)
    )
    counts = [int(moments.max(initial=-1)) + 1 for _, moments in ties_by_range]
    offsets = np.cumsum([0, *counts[:-1]])
    numbered_ties = [
        moments + offset for (_, moments), offset in zip(ties_by_range, offsets, strict=True)
    ]
    return np.concatenate([rows for rows, _ in ties_by_range]), np.concatenate(numbered_ties)
