"""What the engines that keep events are given, and what they give out: arrays, key after key."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from elsinore.kernels import enter, kernel
from elsinore.kernels.read_only import read_only
from elsinore.numeric.sorting import rows_by_code

FEW_CLASSES = 2**12  # classes that are told by a table: sorting takes much longer
MANY_EVENTS = 2**18  # above which a compiled pass is worth loading

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Doubles = NDArray[np.float64]
Flags = NDArray[np.uint8]
_Kind = TypeVar("_Kind", bound=np.generic)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedEvents:
    """Events sorted by key, each key's by time; or, where there are `slots`, as they came.

    `values` and `present` are what SUM and AVG read, `orders` and `ordered` what MIN and MAX do.
    What predicates between two events read is in `ComparedColumns` of the same events.
    """

    starts: Ints  # [key + 1] -> first row of each key
    done: Ints  # [key] windows that end at or before it are given out already; NEVER: none
    until: Ints  # [key] windows that end at or before it are wanted now; FOREVER: all
    times: Ints  # [row] microseconds
    # [row] class, or its place among `classes` where these are told; below 0: no state takes it;
    # int64, with `slots` int32
    codes: NDArray[Any]
    values: Doubles  # [attribute of unit.summed, row]
    present: Flags
    orders: Ints  # [attribute of unit.ranked, row]
    ordered: Flags
    keys: Ints | None = None  # [key] its code, where records of bursts tell it
    classes: list[int] | None = None  # that may occur
    slots: Codes | None = None  # [row] -> key, where rows are as they came; starts are not told
    occur: Ints | None = None  # the classes that `codes` tell, maybe with others, where known

    def by_key(self, order: Ints) -> KeyedEvents:
        """Return events that are as they came in the order of their keys."""
        assert self.slots is not None
        counts = np.bincount(self.slots, minlength=len(self.done))
        return replace(self.of_rows(order), starts=np.concatenate(([0], np.cumsum(counts))))

    def of_rows(self, rows: slice | Ints) -> KeyedEvents:
        """Return the events of some rows, sorted by key; what is told of keys is as it was."""
        return replace(
            self,
            times=self.times[rows],
            codes=self.codes[rows],
            values=self.values[:, rows],
            present=self.present[:, rows],
            orders=self.orders[:, rows],
            ordered=self.ordered[:, rows],
            slots=None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowTotals:
    """Sums over the trends of each (query, key, window) that holds one."""

    query: Codes  # the query's number in the unit
    key: Codes  # place in `KeyedEvents.starts`
    window: Ints  # 0 without WITHIN
    cells: Doubles  # [row, linear field] extended-range numbers
    powers: Codes
    extremes: Ints  # [row, extreme field]; FOREVER where there is none, inverted for MAX


def as_entered(array: NDArray[_Kind]) -> NDArray[_Kind]:
    """Return an array of the one form that kernels are compiled for: in C order, to be written."""
    flags = array.flags
    if flags.c_contiguous and flags.writeable:
        return array
    return np.require(array, requirements=["C", "W"])


def size_of(*records: Iterable[NDArray[Any]]) -> int:
    """Return the bytes that the arrays of some tuples take.

    >>> size_of((np.zeros(2), np.zeros(3, dtype=np.uint8)))
    19
    """
    return sum(array.nbytes for record in records for array in record)


@kernel
def first_out_of_order(keys: Codes, times: Ints, codes: Ints, least: int, last: Ints) -> int:
    """Return the first row that is before an earlier one of its key, -1 where there is none.

    codes, least: rows with lower codes are left out, be they in order or not.
    last: [key] -> the time of its last event so far; it is kept up to date.
    """
    for row in range(len(keys)):
        if codes[row] < least:
            continue
        if times[row] < last[keys[row]]:
            return row
        last[keys[row]] = times[row]
    return -1


@kernel
def mark_few(codes: Ints | Codes, occurs: Flags) -> bool:
    """Mark the classes that occur, until there is one beyond those that can be; False where so."""
    few = len(occurs)
    for row in range(len(codes)):
        code = codes[row]
        if code >= few:
            return False
        if code >= 0:
            occurs[code] = 1
    return True


def occurring(codes: NDArray[Any]) -> Ints:
    """Return the classes that some events are of, ascending, without those below 0.

    >>> occurring(np.array([7, -1, 3, 7])).tolist()
    [3, 7]
    """
    if len(codes) > MANY_EVENTS:
        marks = np.zeros(FEW_CLASSES, dtype=np.uint8)
        if enter(mark_few, 2e-7 * len(codes), read_only(codes), marks):
            return np.flatnonzero(marks)
    elif len(codes) and codes.max() < FEW_CLASSES and codes.min() >= -1:
        occurs = np.zeros(FEW_CLASSES + 1, dtype=np.bool_)
        occurs[codes] = True  # the last place is for -1
        return np.flatnonzero(occurs[:-1])
    classes = np.unique(codes)
    return classes[classes >= 0].astype(np.int64)


def runs(keys: Codes) -> tuple[Ints, Ints]:
    """Return the keys of rows that stand together by key, and where each one's begin, and the end.

    >>> runs(np.array([3, 3, 0]))
    (array([3, 0]), array([0, 2, 3]))
    """
    starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    return keys[starts].astype(np.int64), np.append(starts, len(keys))


def by_key(keys: Codes) -> tuple[Ints, Ints, Ints]:
    """Return the rows in the order of their keys, and what `runs` tells of them in this order.

    Those of one key stay in order.

    >>> by_key(np.array([3, 0, 3, 1], dtype=np.int32))
    (array([1, 3, 0, 2]), array([0, 1, 3]), array([0, 1, 2, 4]))
    """
    most = int(keys.max(initial=0))
    if most > len(keys) or keys.min(initial=0) < 0:
        order = np.argsort(keys, kind="stable")
        return order, *runs(keys[order])
    rows, starts = rows_by_code(keys, most + 1)
    present = np.flatnonzero(np.diff(starts))
    return rows, present, np.append(starts[present], len(keys))
