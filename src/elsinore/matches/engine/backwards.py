# cython: infer_types=True
"""Matches computed from their ends, for many queries in one pass over the events.

For SKIP TILL NEXT MATCH and CONTIGUOUS, if no two events of a key are simultaneous, an event that
may follow a match fits one state only, and nothing follows where a match ends. Then an event in a
state has one continuation, whatever came before: its last event, and what the registers will hold.
The events of a key are read backwards, and each state's continuation is stored in a *slot*. An
event that continues from state s in state t makes the slot of s of that of t and itself; an event
that begins a match writes the slot of its state. Each event is read once, however long matches and
windows are, and states of several queries with equal continuations share a slot.
`elsinore.matches.merged` writes the tables.
"""

from __future__ import annotations

from typing import Any

import cython
import numpy as np

from elsinore.matches.engine.codes import CLASS, TIME, Index
from elsinore.matches.engine.tables import KEY, Values
from elsinore.operators.conditions.machine import comparison_holds
from elsinore.operators.conditions.tables import Registers
from elsinore.structs import empty, struct

CLASS_MOVES = struct(i4="begins begins_end extends extends_end")
BEGIN = struct(i8="within", i4="slot lane is_contiguous changes changes_end")
EXTEND = struct(
    i4="source slot is_contiguous is_end comparisons comparisons_end changes changes_end"
)
CHANGE = struct(i8="below added")
SLOT = struct(i8="last next", i4="numbers")

FIRST_NUMBER = cython.declare(cython.int, 2)  # of a match, behind its first and its last row


class Merged:
    """What events do to the slots of the states of several queries.

    `classes` [1 + class] has the ranges of `begins` and `extends` of events of a class, no class
    first. Each of these has a range of `changes`, one for each register: if its number is less
    than `below` it becomes the row, then `added` is added. Extensions have a range of `conditions`,
    which compare a row with the one before it. A slot's `last` and `next` are the rows of
    the last and the next event, -1: none; its registers are `numbers` from its place on,
    `first_numbers` behind a key's last event. `lane_ends` [lane] is the place in `output` before
    which the lane's next match is written.
    """

    def __init__(self) -> None:
        self.keys: Any = empty(KEY, 0)
        self.classes: Any = empty(CLASS_MOVES, 0)
        self.begins: Any = empty(BEGIN, 0)
        self.extends: Any = empty(EXTEND, 0)
        self.changes: Any = empty(CHANGE, 0)
        self.conditions: Any = None
        self.registers = Registers(0, 0, 0)
        self.slots: Any = empty(SLOT, 0)
        self.numbers: Any = np.zeros(0, np.int64)
        self.first_numbers: Any = self.numbers
        self.lane_ends: Any = np.zeros(0, np.int64)


def go_back(
    merged: Merged, values: Values, begin_key: Index, end_key: Index, output: cython.int[::1]
) -> None:
    """Read the rows of `Merged.keys` from the last to the first, and write their matches.

    They are the keys from `begin_key` to `end_key`. A match in `output` is its first row, its last
    row and its registers.
    """
    with cython.nogil:
        for key in range(end_key - 1, begin_key - 1, -1):
            first_row: Index = merged.keys[key].first_row
            fresh: Index = merged.keys[key].new_row
            if fresh >= merged.keys[key].end_row:
                continue
            clear(merged)
            for row in range(merged.keys[key].end_row - 1, first_row - 1, -1):
                moves: cython.longlong = 1 + values.integers[CLASS, row]
                for number in range(merged.classes[moves].begins, merged.classes[moves].begins_end):
                    begin(merged, values, number, row, fresh, output)
                for number in range(
                    merged.classes[moves].extends, merged.classes[moves].extends_end
                ):
                    extend(merged, values, number, row, first_row)


@cython.nogil
def clear(merged: Merged) -> cython.void:
    """Set the slots to what they are behind a key's last event."""
    for number in range(merged.slots.shape[0]):
        merged.slots[number].last = -1
        merged.slots[number].next = -1
    for number in range(merged.numbers.shape[0]):
        merged.numbers[number] = merged.first_numbers[number]


@cython.nogil
def changed(merged: Merged, change: Index, number: Index, row: Index) -> cython.longlong:
    """Return a register's number after a row."""
    if number < merged.changes[change].below:
        number = row
    return number + merged.changes[change].added


@cython.nogil
def begin(
    merged: Merged, values: Values, number: Index, row: Index, fresh: Index, output: cython.int[::1]
) -> cython.void:
    """Write the match that begins with a row, if one does that ends at `fresh` or later."""
    slot: Index = merged.begins[number].slot
    last: cython.longlong = merged.slots[slot].last
    if last < fresh:
        return
    if merged.begins[number].is_contiguous and merged.slots[slot].next != row + 1:
        return
    within: cython.longlong = merged.begins[number].within
    if within >= 0 and values.integers[TIME, last] - values.integers[TIME, row] > within:
        return
    first: Index = merged.begins[number].changes
    count: Index = merged.begins[number].changes_end - first
    lane: Index = merged.begins[number].lane
    merged.lane_ends[lane] -= FIRST_NUMBER + count
    place: Index = merged.lane_ends[lane]
    numbers: Index = merged.slots[slot].numbers
    output[place] = cython.cast(cython.int, row)
    output[place + 1] = cython.cast(cython.int, last)
    for at in range(count):
        value: cython.longlong = changed(merged, first + at, merged.numbers[numbers + at], row)
        output[place + FIRST_NUMBER + at] = cython.cast(cython.int, value)


@cython.nogil
def extend(
    merged: Merged, values: Values, number: Index, row: Index, first_row: Index
) -> cython.void:
    """Let a row follow a state: make its slot from the slot that continues from the row."""
    for comparison in range(
        merged.extends[number].comparisons, merged.extends[number].comparisons_end
    ):
        if row == first_row or not comparison_holds(
            merged.conditions, comparison, values, row, values, row - 1, merged.registers, 0
        ):
            return  # nothing may follow directly behind the row before
    source: Index = merged.extends[number].source
    slot: Index = merged.extends[number].slot
    last: cython.longlong = merged.slots[source].last
    if merged.extends[number].is_end:
        last = row
    elif merged.extends[number].is_contiguous and merged.slots[source].next != row + 1:
        last = -1
    merged.slots[slot].last = last
    merged.slots[slot].next = row
    if last < 0:
        return
    first: Index = merged.extends[number].changes
    before: Index = merged.slots[source].numbers
    after: Index = merged.slots[slot].numbers
    for at in range(merged.extends[number].changes_end - first):
        merged.numbers[after + at] = changed(merged, first + at, merged.numbers[before + at], row)
