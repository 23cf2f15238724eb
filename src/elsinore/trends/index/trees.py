# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Trees: sums over trends by rank, to which one is added, and of which a range is added up.

A Fenwick tree where ranges begin at rank 0, a tree of halves where they begin anywhere, cells where
they are single ranks. Nothing is ever subtracted: numbers of trends differ by powers of two, of
which a difference would keep no digit.

A tree is a stretch of rows of a table of sums. Where trends are only counted and no number has
passed `THRESHOLD`, the numbers alone are added; they are plain then, and sums are None.
"""

from __future__ import annotations

import numpy as np

from elsinore.kernels import kernel
from elsinore.trends.graph.sums import Sums, add_to, clear_rows
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
def sum_ranks(
    words: Ints,
    work: Ints,
    numbers: Doubles,
    sums: Sums | None,
    tree: int,
    first: int,
    last: int,
    at: int,
) -> float:
    """Add what the ranks `first` to `last` - 1 of a tree sum up to row `at`; see `read_row`."""
    base = words[tree + BASE] - 1
    kind, total = words[tree + KIND], 0.0
    if kind == PREFIX:
        while last > 0:
            total += read_row(numbers, sums, base + last, at)
            last &= last - 1
        return total
    if first >= last:
        return total
    if kind == POINT:
        return read_row(numbers, sums, base + last, at)
    size = work[words[tree + SIZE]]
    first += size
    last += size
    while first < last:
        if first & 1 != 0:
            total += read_row(numbers, sums, base + first, at)
            first += 1
        if last & 1 != 0:
            last -= 1
            total += read_row(numbers, sums, base + last, at)
        first >>= 1
        last >>= 1
    return total


@kernel(borrows=True, linked=True)
def read_row(numbers: Doubles, sums: Sums | None, row: int, at: int) -> float:
    """Add a row of sums to row `at`; or return it, where there are plain numbers instead."""
    if sums is None:
        return numbers[np.uint64(row)]
    add_to(sums, at, row)
    return 0.0


@kernel(borrows=True)
def enter_rank(
    words: Ints,
    work: Ints,
    numbers: Doubles,
    sums: Sums | None,
    tree: int,
    rank: int,
    row: int,
    value: float,
) -> None:
    """Add row `row` of sums to a rank of a tree; or `value`, where there are plain numbers."""
    base, kind = words[tree + BASE] - 1, words[tree + KIND]
    size = work[words[tree + SIZE]]
    if kind == PREFIX:
        place = rank + 1
        while place <= size:
            _add_row(numbers, sums, base + place, row, value)
            place += place & -place
        return
    place = first_place(kind, rank, size)
    while place > 0:
        _add_row(numbers, sums, base + place, row, value)
        place = next_place(kind, place, size)


@kernel(borrows=True, linked=True)
def _add_row(numbers: Doubles, sums: Sums | None, to: int, row: int, value: float) -> None:
    """Add row `row` of sums to another one; or `value`, where there are plain numbers."""
    if sums is None:
        numbers[np.uint64(to)] += value
    else:
        add_to(sums, to, row)


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
