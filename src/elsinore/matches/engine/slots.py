# cython: infer_types=True
"""The rows of each key in a store: a list in the order of time, each row linked to the next one.

Batches are stored in the order of arrival, the rows of a batch key by key: so the next row is
mostly beside. The last two rows of integers are the number of the row among those that arrived, and
the next row of the key.
"""

from __future__ import annotations

from typing import Any

import cython
import numpy as np

from elsinore.matches.engine.codes import CLASS, MOMENT, TIME, Index
from elsinore.structs import empty, struct

SLOT = struct(i8="first last rows added place")  # `added`: rows of the latest batch


class Arena:
    """The slots of keys, and the integers of their rows: [column, row]."""

    def __init__(self) -> None:
        self.slots: Any = empty(SLOT, 0)
        self.integers: Any = np.zeros((0, 0), np.int64)


def add_rows(
    arena: Arena,
    top: Index,
    codes: cython.const_int[::1],
    times: cython.const_longlong[::1],
    classes: cython.const_longlong[::1],
    ordered: cython.bint,
    touched: cython.int[::1],
    order: cython.longlong[::1],
) -> int:
    """Put in the rows of a batch from row `top` on, key by key; return how many keys it has.

    codes: the slots of rows, which get times, classes, moments and numbers. Lists the keys in
    `touched`, and in `order` the rows of the batch as they are stored. Simultaneous events of a key
    share a moment unless they are `ordered`. Returns -1 if its rows are not in the order of time.
    """
    count: Index = 0
    place: cython.longlong = top
    following: Index = arena.integers.shape[0] - 1
    with cython.nogil:
        for number in range(codes.shape[0]):
            if arena.slots[codes[number]].added == 0:
                touched[count] = codes[number]
                count += 1
            arena.slots[codes[number]].added += 1
        for key in range(count):
            arena.slots[touched[key]].place = place
            place += arena.slots[touched[key]].added
        for number in range(codes.shape[0]):
            slot: Index = codes[number]
            row: cython.longlong = arena.slots[slot].place
            last: cython.longlong = arena.slots[slot].last
            moment: cython.longlong = 0
            if arena.slots[slot].rows == 0:
                arena.slots[slot].first = row
            elif times[number] < arena.integers[TIME, last]:
                count = -1
                break
            else:
                moment = arena.integers[MOMENT, last]
                if ordered or times[number] != arena.integers[TIME, last]:
                    moment += 1
                arena.integers[following, last] = row
            arena.integers[TIME, row] = times[number]
            arena.integers[CLASS, row] = classes[number]
            arena.integers[MOMENT, row] = moment
            arena.integers[following - 1, row] = top + number
            order[row - top] = number
            arena.slots[slot].last = row
            arena.slots[slot].place += 1
            arena.slots[slot].rows += 1
    return count


def list_rows(arena: Arena, touched: cython.const_int[::1], rows: cython.longlong[::1]) -> None:
    """Fill `rows` with the rows of some keys, one key after another."""
    place: Index = 0
    following: Index = arena.integers.shape[0] - 1
    with cython.nogil:
        for number in range(touched.shape[0]):
            row: cython.longlong = arena.slots[touched[number]].first
            for _row in range(arena.slots[touched[number]].rows):
                rows[place] = row
                row = arena.integers[following, row]
                place += 1


def release_rows(
    arena: Arena, touched: cython.const_int[::1], least: cython.const_longlong[::1]
) -> int:
    """Release the rows of keys before time `least` [key]; return how many there were."""
    released: cython.longlong = 0
    following: Index = arena.integers.shape[0] - 1
    with cython.nogil:
        for number in range(touched.shape[0]):
            slot: Index = touched[number]
            while (
                arena.slots[slot].rows > 0
                and arena.integers[TIME, arena.slots[slot].first] < least[number]
            ):
                arena.slots[slot].first = arena.integers[following, arena.slots[slot].first]
                arena.slots[slot].rows -= 1
                released += 1
    return released


def list_between(
    arena: Arena, lowest: cython.longlong, highest: cython.longlong, touched: cython.int[::1]
) -> int:
    """List the keys that have a row from time `lowest` to `highest`; return how many there are."""
    count: Index = 0
    following: Index = arena.integers.shape[0] - 1
    with cython.nogil:
        for slot in range(cython.cast(cython.int, arena.slots.shape[0])):
            row: cython.longlong = arena.slots[slot].first
            for _row in range(arena.slots[slot].rows):
                if arena.integers[TIME, row] >= lowest:
                    if arena.integers[TIME, row] <= highest:
                        touched[count] = slot
                        count += 1
                    break
                row = arena.integers[following, row]
    return count
