# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Trees: sums over trends by rank, to which one is added, and of which a range is added up.

A Fenwick tree where ranges begin at rank 0, a tree of halves where they begin anywhere, cells where
they are single ranks. Nothing is ever subtracted: numbers of trends differ by powers of two, of
which a difference would keep no digit.

A tree is a stretch of rows of a table of sums. Where trends are only counted and no number has
passed `THRESHOLD`, the numbers alone are added; they are `plain` then.
"""

from __future__ import annotations

import numpy as np

from elsinore.kernels import kernel
from elsinore.trends.core.arrays import FOREVER
from elsinore.trends.graph.sums import Sums, add_to
from elsinore.trends.index.layout import BASE, ENTERED, KIND, LOG, POINT, PREFIX, RANGE, SIZE
from elsinore.trends.keyed import Doubles, Ints


@kernel(borrows=True)
def first_place(kind: int, rank: int, size: int) -> int:
    """Return the first place of a tree that sums up a rank; they count from 1."""
    return rank + size if kind == RANGE else rank + 1


@kernel(borrows=True)
def next_place(kind: int, place: int, size: int) -> int:
    """Return the next place that sums up the same rank, 0 after the last."""
    if kind == PREFIX:
        place += place & -place
        return place if place <= size else 0
    if kind == POINT:
        return 0
    return place >> 1


@kernel(borrows=True)
def sum_plain(words: Ints, work: Ints, numbers: Doubles, tree: int, first: int, last: int) -> float:
    """Return the sum over the ranks `first` to `last` - 1 of a tree of plain numbers."""
    base = words[tree + BASE] - 1
    kind, total = words[tree + KIND], 0.0
    if kind == PREFIX:
        while last > 0:
            total += numbers[np.uint64(base + last)]
            last &= last - 1
        return total
    if first >= last:
        return total
    if kind == POINT:
        return numbers[np.uint64(base + last)]
    size = work[words[tree + SIZE]]
    first += size
    last += size
    while first < last:
        if first & 1 != 0:
            total += numbers[np.uint64(base + first)]
            first += 1
        if last & 1 != 0:
            last -= 1
            total += numbers[np.uint64(base + last)]
        first >>= 1
        last >>= 1
    return total


@kernel(borrows=True)
def sum_rows(
    words: Ints, work: Ints, sums: Sums, tree: int, first: int, last: int, at: int
) -> None:
    """Add the sum over the ranks `first` to `last` - 1 of a tree to row `at`."""
    base = words[tree + BASE] - 1
    kind = words[tree + KIND]
    if kind == PREFIX:
        while last > 0:
            add_to(sums, at, base + last)
            last &= last - 1
        return
    if first >= last:
        return
    if kind == POINT:
        add_to(sums, at, base + last)
        return
    size = work[words[tree + SIZE]]
    first += size
    last += size
    while first < last:
        if first & 1 != 0:
            add_to(sums, at, base + first)
            first += 1
        if last & 1 != 0:
            last -= 1
            add_to(sums, at, base + last)
        first >>= 1
        last >>= 1


@kernel(borrows=True)
def enter_plain(
    words: Ints, work: Ints, numbers: Doubles, tree: int, rank: int, value: float
) -> None:
    """Add a plain number to a rank of a tree."""
    base, kind = words[tree + BASE] - 1, words[tree + KIND]
    size = work[words[tree + SIZE]]
    if kind == PREFIX:
        place = rank + 1
        while place <= size:
            numbers[np.uint64(base + place)] += value
            place += place & -place
        return
    place = first_place(kind, rank, size)
    while place > 0:
        numbers[np.uint64(base + place)] += value
        place = next_place(kind, place, size)


@kernel(borrows=True)
def enter_row(words: Ints, work: Ints, sums: Sums, tree: int, rank: int, row: int) -> None:
    """Add a row of sums to a rank of a tree."""
    base, kind = words[tree + BASE] - 1, words[tree + KIND]
    size = work[words[tree + SIZE]]
    place = first_place(kind, rank, size)
    while place > 0:
        add_to(sums, base + place, row)
        place = next_place(kind, place, size)


@kernel(borrows=True)
def clear_rows(sums: Sums, first: int, last: int) -> None:
    """Make rows of sums those of nothing."""
    for f in range(sums.cells.shape[1]):
        for row in range(first, last):
            sums.cells[row, f] = 0.0
            sums.powers[row, f] = 0
    for x in range(sums.extremes.shape[1]):
        for row in range(first, last):
            sums.extremes[row, x] = FOREVER


@kernel(borrows=True)
def clear_tree(words: Ints, work: Ints, sums: Sums, tree: int) -> None:
    """Make a whole tree one of nothing."""
    size = work[words[tree + SIZE]]
    places = 2 * size if words[tree + KIND] == RANGE else size
    clear_rows(sums, words[tree + BASE], words[tree + BASE] + places)


@kernel(borrows=True)
def empty_tree(words: Ints, work: Ints, sums: Sums, tree: int) -> None:
    """Take out again all that was entered in a tree since it was emptied last.

    It takes no longer than it took to enter it: a place that is 0 has only such places after it.
    """
    base, kind = words[tree + BASE] - 1, words[tree + KIND]
    size = work[words[tree + SIZE]]
    log = words[tree + LOG]
    entered = words[tree + ENTERED]
    for one in range(log, log + work[entered]):
        place = first_place(kind, work[one], size)
        while place > 0 and sums.cells[base + place, 0] != 0.0:
            clear_rows(sums, base + place, base + place + 1)
            place = next_place(kind, place, size)
    work[entered] = 0
