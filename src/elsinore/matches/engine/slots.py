# cython: infer_types=True
"""Where the rows of each key lie in a store: in one range, in the order of time.

The room of a key is `begin` to `limit`, its rows are `first` to `end`. `added` is the number of
rows that a batch adds, `place` where the next of them is listed. A key whose room is full moves to
the end of the store, into a room twice as large as its rows.
"""

from __future__ import annotations

from typing import Any

import cython
import numpy as np

from elsinore.matches.engine.codes import Index
from elsinore.structs import empty, struct

SLOT = struct(i8="begin first end limit added place")
TIME = cython.declare(cython.int, 0)  # rows of `Arena.integers`
CLASS = cython.declare(cython.int, 1)
MOMENT = cython.declare(cython.int, 2)


class Arena:
    """The slots of keys, and the values of their rows: [column, row]; rooms end at row `top`."""

    def __init__(self) -> None:
        self.slots: Any = empty(SLOT, 0)
        self.doubles: Any = np.zeros((0, 0))
        self.integers: Any = np.zeros((0, 0), np.int64)
        self.top = 0


def count_added(arena: Arena, codes: cython.const_int[::1], touched: cython.int[::1]) -> int:
    """Count the rows of each key in a batch, list the keys; return how many there are.

    codes: the slots of rows, below 0 for rows that are left out.
    """
    count: Index = 0
    with cython.nogil:
        for row in range(codes.shape[0]):
            slot: Index = codes[row]
            if slot < 0:
                continue
            if arena.slots[slot].added == 0:
                touched[count] = slot
                count += 1
            arena.slots[slot].added += 1
    return count


@cython.nogil
def has_room(arena: Arena, slot: Index) -> cython.bint:
    """Return whether the added rows of a key fit behind its rows."""
    return arena.slots[slot].end + arena.slots[slot].added <= arena.slots[slot].limit


@cython.nogil
def new_room(arena: Arena, slot: Index) -> cython.longlong:
    """Return how many rows of room a key needs elsewhere; 0 if its own room is large enough."""
    stored: Index = arena.slots[slot].end - arena.slots[slot].first
    count: Index = stored + arena.slots[slot].added
    if has_room(arena, slot) or 4 * count <= 3 * (
        arena.slots[slot].limit - arena.slots[slot].begin
    ):
        return 0
    return 2 * count if stored > 0 else count


def room_needed(arena: Arena, touched: cython.const_int[::1]) -> int:
    """Return how many rows of room the keys need at the end of the store."""
    total: cython.longlong = 0
    with cython.nogil:
        for number in range(touched.shape[0]):
            total += new_room(arena, touched[number])
    return total


def make_room(arena: Arena, touched: cython.const_int[::1]) -> None:
    """Move the rows of the keys whose added rows have no room behind them."""
    with cython.nogil:
        for number in range(touched.shape[0]):
            slot: Index = touched[number]
            if has_room(arena, slot):
                continue
            size: Index = new_room(arena, slot)
            first: cython.longlong = arena.slots[slot].first
            count: Index = arena.slots[slot].end - first
            if size > 0:
                arena.slots[slot].begin = arena.top
                arena.slots[slot].limit = arena.top + size
                arena.top += size
            move_rows(arena, first, arena.slots[slot].begin, count)
            arena.slots[slot].first = arena.slots[slot].begin
            arena.slots[slot].end = arena.slots[slot].begin + count


@cython.nogil
def move_rows(arena: Arena, source: Index, target: Index, count: Index) -> cython.void:
    """Copy rows to an earlier place, or to one that they do not overlap."""
    for column in range(arena.doubles.shape[0]):
        for row in range(count):
            arena.doubles[column, target + row] = arena.doubles[column, source + row]
    for column in range(arena.integers.shape[0]):
        for row in range(count):
            arena.integers[column, target + row] = arena.integers[column, source + row]


def place_rows(
    arena: Arena,
    codes: cython.const_int[::1],
    times: cython.const_longlong[::1],
    classes: cython.const_longlong[::1],
    ordered: cython.bint,
    touched: cython.const_int[::1],
    number: Index,
    order: cython.longlong[::1],
    targets: cython.longlong[::1],
) -> int:
    """Put the times, classes and moments of a batch into the store, key by key.

    The last column of integers gets their numbers, from `number` on. Fills `order` with the rows of
    the batch, key by key, and `targets`, if it has room, with their rows in the store. Simultaneous
    events of a key share a moment unless they are `ordered`. Returns how many rows there are, -1 if
    a key's are not in the order of time.
    """
    count: Index = 0
    numbers: Index = arena.integers.shape[0] - 1
    has_targets: cython.bint = targets.shape[0] > 0
    with cython.nogil:
        for place in range(touched.shape[0]):
            arena.slots[touched[place]].place = count
            count += arena.slots[touched[place]].added
            arena.slots[touched[place]].added = 0
        for row in range(codes.shape[0]):
            slot: Index = codes[row]
            if slot < 0:
                continue
            at: Index = arena.slots[slot].end
            moment: cython.longlong = 0
            if at > arena.slots[slot].first:
                if times[row] < arena.integers[TIME, at - 1]:
                    count = -1
                    break
                moment = arena.integers[MOMENT, at - 1]
                if ordered or times[row] != arena.integers[TIME, at - 1]:
                    moment += 1
            arena.integers[TIME, at] = times[row]
            arena.integers[CLASS, at] = classes[row]
            arena.integers[MOMENT, at] = moment
            arena.integers[numbers, at] = number + row
            order[arena.slots[slot].place] = row
            if has_targets:
                targets[arena.slots[slot].place] = at
            arena.slots[slot].place += 1
            arena.slots[slot].end = at + 1
    return count


def release_rows(
    arena: Arena, touched: cython.const_int[::1], least: cython.const_longlong[::1]
) -> int:
    """Release the rows of keys before time `least` [key]; return how many there were."""
    released: cython.longlong = 0
    with cython.nogil:
        for number in range(touched.shape[0]):
            slot: Index = touched[number]
            first: cython.longlong = first_from(arena, slot, least[number])
            released += first - arena.slots[slot].first
            arena.slots[slot].first = first
            if first == arena.slots[slot].end:  # its room is left
                arena.slots[slot].begin = 0
                arena.slots[slot].first = 0
                arena.slots[slot].end = 0
                arena.slots[slot].limit = 0
    return released


def list_between(
    arena: Arena, lowest: cython.longlong, highest: cython.longlong, touched: cython.int[::1]
) -> int:
    """List the keys that have a row from time `lowest` to `highest`; return how many there are."""
    count: Index = 0
    with cython.nogil:
        for slot in range(cython.cast(cython.int, arena.slots.shape[0])):
            first: cython.longlong = first_from(arena, slot, lowest)
            if first < arena.slots[slot].end and arena.integers[TIME, first] <= highest:
                touched[count] = slot
                count += 1
    return count


@cython.nogil
def first_from(arena: Arena, slot: Index, time: cython.longlong) -> cython.longlong:
    """Return the first row of a key with at least a time, the one behind its last if none."""
    begin: cython.longlong = arena.slots[slot].first
    end: cython.longlong = arena.slots[slot].end
    while begin < end:
        middle: Index = (begin + end) // 2
        if arena.integers[TIME, middle] < time:
            begin = middle + 1
        else:
            end = middle
    return begin
