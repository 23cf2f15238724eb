"""Compiled passes over columns that both drivers need."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from elsinore.kernels import enter, kernel
from elsinore.kernels.sorting import read_only
from elsinore.runtime.numbering import Numbering
from elsinore.runtime.ranges import by_ranges, ranges_of


@kernel
def is_sorted(times: NDArray[np.int64]) -> bool:
    """Return whether times never fall."""
    for row in range(1, len(times)):  # noqa: SIM110  (compiled as it stands)
        if times[row] < times[row - 1]:
            return False
    return True


DISORDERED, ASCENDING, DISTINCT = 0, 1, 2  # times that fall; never fall; are no two the same
FEW_KEYS = 2**16  # up to which each range may have a table of them
_STRETCH = 2**18  # rows that are compared at once; fewer make threads wait for one another


def order_of(times: NDArray[np.int64]) -> int:
    """Return whether times are DISORDERED, ASCENDING with equal ones, or DISTINCT and ascending.

    What is found of a stretch stays near the processor: as fast as compiled, and nothing to load.
    """
    distinct = True
    for begin in range(1, len(times), _STRETCH):
        later = times[begin : begin + _STRETCH]
        earlier = times[begin - 1 : begin - 1 + len(later)]
        distinct = distinct and bool((later > earlier).all())
        if not distinct and (later < earlier).any():
            return DISORDERED
    return DISTINCT if distinct else ASCENDING


def order_in_ranges(times: NDArray[np.int64], threads: int) -> int:
    """Return what `order_of` does, of ranges of rows by so many threads.

    >>> order_in_ranges(np.array([1, 2, 2, 3]), 2) == ASCENDING
    True
    """

    def find(begin: int, end: int) -> int:
        return order_of(times[max(begin - 1, 0) : end])

    return min(by_ranges(find, len(times), threads))


def has_ties(times: NDArray[np.int64], keys: Numbering, threads: int) -> bool:
    """Return what `has_simultaneous` does, of times that never fall, by so many threads.

    >>> has_ties(np.array([1, 2, 2]), Numbering.of(np.array([0, 1, 0], np.int32), 2), 1)
    False
    """

    def find(begin: int, end: int) -> bool:
        first = int(np.searchsorted(times, times[begin])) if begin < end else begin
        # with what the range before has of its first time
        some, codes = times[first:end], read_only(keys.make(first, end))
        return enter(has_simultaneous, 1e-6 * (end - first), some, codes, keys.size)

    if keys.size > FEW_KEYS:
        return find(0, len(times))
    if threads == 1:  # up to the first range that has some
        return any(find(*bounds) for bounds in ranges_of(len(times), threads))
    return any(by_ranges(find, len(times), threads))


@kernel
def has_simultaneous(times: NDArray[np.int64], keys: NDArray[np.int32], count: int) -> bool:
    """Return whether a key (0 to count - 1; below 0: none) has two events of one time.

    Times never fall, so keys matter only where one is that of the row before.
    """
    last = np.full(count, np.iinfo(np.int64).min)
    for row in range(1, len(times)):
        if times[row] == times[row - 1]:
            before, key = keys[row - 1], keys[row]
            if before >= 0:
                last[before] = times[row]
            if key >= 0 and last[key] == times[row]:
                return True
    return False


def simultaneous(
    times: NDArray[np.int64], keys: Numbering, threads: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows that have key and time in common with another, and their moments' numbers.

    Times never fall. A moment's number is the same for all of its rows, and for no others.

    >>> simultaneous(np.array([1, 2, 2, 2]), Numbering.of(np.array([0, 1, 0, 1], np.int32), 2), 1)
    (array([1, 3]), array([0, 0]))
    """

    def find(begin: int, end: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        first = int(np.searchsorted(times, times[begin]))
        stop = len(times) if end == len(times) else int(np.searchsorted(times, times[end]))
        rows, moments = np.empty((2, stop - first), dtype=np.int64)
        some, codes = times[first:stop], read_only(keys.make(first, stop))
        count = enter(simultaneous_rows, 2e-6 * len(some), some, codes, keys.size, rows, moments)
        return rows[:count] + first, moments[:count]

    if len(times) < 2:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    found = [find(0, len(times))] if keys.size > FEW_KEYS else by_ranges(find, len(times), threads)
    counts = [int(moments.max(initial=-1)) + 1 for _, moments in found]
    offsets = np.cumsum([0, *counts[:-1]])
    numbered = [moments + offset for (_, moments), offset in zip(found, offsets, strict=True)]
    return np.concatenate([rows for rows, _ in found]), np.concatenate(numbered)


@kernel
def simultaneous_rows(
    times: NDArray[np.int64],
    keys: NDArray[np.int32],
    count: int,
    rows: NDArray[np.int64],
    moments: NDArray[np.int64],
) -> int:
    """Find the rows of which another row has the key (0 to count - 1) and the time.

    Puts the rows, and numbers of their moments, into `rows` and `moments`; returns how many rows
    there are. Times never fall.
    """
    last = np.full(count, -1, dtype=np.int64)  # [key] -> its last row
    moment_of = np.full(count, -1, dtype=np.int64)  # [key] -> that row's moment if it is in a tie
    found, moment = 0, 0
    for row in range(len(times)):
        key = keys[row]
        if key < 0:
            continue
        before = last[key]
        last[key] = row
        if before < 0 or times[before] != times[row]:
            moment_of[key] = -1
            continue
        if moment_of[key] < 0:
            moment_of[key] = moment
            rows[found], moments[found] = before, moment
            found, moment = found + 1, moment + 1
        rows[found], moments[found] = row, moment_of[key]
        found += 1
    return found


@kernel
def number_from(values: NDArray[np.int64], least: int, codes: NDArray[np.int32]) -> None:
    """Put values[row] - least into codes[row]."""
    for row in range(len(values)):
        codes[row] = values[row] - least


@kernel
def first_rows(codes: NDArray[np.int32], rows: NDArray[np.int64]) -> None:
    """Put the first row of each code into rows[code], which are -1."""
    wanted = len(rows)
    for row in range(len(codes)):
        if rows[codes[row]] < 0:
            rows[codes[row]] = row
            wanted -= 1
            if wanted == 0:
                break


@kernel
def mark_pairs(codes: NDArray[np.int32], more: NDArray[np.int32], there: NDArray[np.uint8]) -> None:
    """Put 1 into there[codes[row], more[row]]."""
    for row in range(len(codes)):
        there[np.uint64(codes[row]), np.uint64(more[row])] = 1


@kernel
def look_up_pairs(
    codes: NDArray[np.int32],
    more: NDArray[np.int32],
    table: NDArray[np.int32],
    found: NDArray[np.int32],
) -> None:
    """Put table[codes[row], more[row]] - 1 into found[row]."""
    for row in range(len(codes)):
        found[row] = table[np.uint64(codes[row]), np.uint64(more[row])] - 1
