"""Compiled passes over columns that both drivers need."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from elsinore.kernels import kernel

Column = TypeVar("Column", NDArray[np.int32], NDArray[np.int64])


def read_only(column: Column) -> Column:
    """Return a column as Arrow's are, for which kernels are compiled.

    >>> read_only(np.zeros(2, np.int32)).flags.writeable
    False
    """
    if column.flags.writeable:
        column = column.view()
        column.flags.writeable = False
    return column


@kernel
def rows_by_type(
    numbers: NDArray[np.int32], types: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of type 0, of type 1, ... in turn, and where each type's begin.

    numbers: [row] -> type, or -1 for rows to leave out. A counting sort: rows keep their order.
    """
    starts = np.zeros(types + 1, dtype=np.int64)
    for row in range(len(numbers)):
        if numbers[row] >= 0:
            starts[numbers[row] + 1] += 1
    for kind in range(types):
        starts[kind + 1] += starts[kind]
    place = starts.copy()
    order = np.empty(starts[types], dtype=np.int64)
    for row in range(len(numbers)):
        kind = numbers[row]
        if kind >= 0:
            order[place[kind]] = row
            place[kind] += 1
    return order, starts


@kernel
def is_sorted(times: NDArray[np.int64]) -> bool:
    """Return whether times never fall."""
    for row in range(1, len(times)):  # noqa: SIM110  (compiled as it stands)
        if times[row] < times[row - 1]:
            return False
    return True


DISORDERED, ASCENDING, DISTINCT = 0, 1, 2  # times that fall; never fall; are no two the same
_STRETCH = 4096  # rows after which a pass may end early


@kernel
def order_of(times: NDArray[np.int64]) -> int:
    """Return whether times are DISORDERED, ASCENDING with equal ones, or DISTINCT and ascending."""
    tied = 0
    for begin in range(1, len(times), _STRETCH):
        falls, same = 0, 0
        for row in range(begin, min(begin + _STRETCH, len(times))):
            falls |= np.int64(times[row] < times[row - 1])
            same |= np.int64(times[row] == times[row - 1])
        if falls != 0:
            return DISORDERED
        tied |= same
    return ASCENDING if tied != 0 else DISTINCT


@kernel
def has_simultaneous(times: NDArray[np.int64], keys: NDArray[np.int32], count: int) -> bool:
    """Return whether a key (0 to count - 1; below 0: none) has two events of one time.

    times: ascending for each key.
    """
    last = np.full(count, np.iinfo(np.int64).min)
    for row in range(len(times)):
        key = keys[row]
        if key >= 0:
            if last[key] == times[row]:
                return True
            last[key] = times[row]
    return False


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
