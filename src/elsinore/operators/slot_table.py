"""A compiled hash table from keys to slots; see `elsinore.operators.slots`."""

from __future__ import annotations

import cython
import numpy as np

# 2**32 by the golden ratio: the product with a key fits 64 bits
MULTIPLIER = cython.declare(cython.longlong, 2654435761)
NEVER = cython.declare(cython.longlong, np.iinfo(np.int64).min)


@cython.cclass
class SlotTable:
    """The arrays of a table as memoryviews, whose conversion takes longer than a call.

    `table` has slots by open addressing, -1 for empty entries; its length is a power of two.
    `key` is [slot] -> its key, or -1; `last` is [slot] -> the time of its key's last event. `free`
    has the free slots, of which the last is assigned first, and `count` their number.
    """

    table: cython.int[::1]
    key: cython.int[::1]
    last: cython.longlong[::1]
    free: cython.int[::1]
    count: cython.longlong[::1]

    def __init__(
        self,
        table: cython.int[::1],
        key: cython.int[::1],
        last: cython.longlong[::1],
        free: cython.int[::1],
        count: cython.longlong[::1],
    ) -> None:
        self.table, self.key, self.last, self.free, self.count = table, key, last, free, count


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
@cython.nogil
def _home(key: cython.longlong, size: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Return the first entry that is probed for a key in a table of `size` entries."""
    mixed: cython.longlong = cython.cast(cython.longlong, key) * MULTIPLIER
    return (mixed ^ (mixed >> 32)) & (size - 1)


def fill(table: SlotTable) -> None:
    """Insert all slots with a key into an empty table."""
    entries: cython.int[::1] = table.table
    key: cython.int[::1] = table.key
    size: cython.Py_ssize_t = entries.shape[0]
    slot: cython.Py_ssize_t
    place: cython.Py_ssize_t
    with cython.nogil:
        for slot in range(key.shape[0]):
            if key[slot] >= 0:
                place = _home(key[slot], size)
                while entries[place] != -1:
                    place = (place + 1) & (size - 1)
                entries[place] = cython.cast(cython.int, slot)


def assign_slots(
    table: SlotTable,
    keys: cython.const_int[::1],
    times: cython.const_longlong[::1],
    slots: cython.int[::1],
    begin: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Find the slots of events' keys from `begin` on; return the first event without a slot."""
    entries: cython.int[::1] = table.table
    key: cython.int[::1] = table.key
    last: cython.longlong[::1] = table.last
    free: cython.int[::1] = table.free
    count: cython.longlong[::1] = table.count
    size: cython.Py_ssize_t = entries.shape[0]
    before: cython.int = -1  # the key of the previous event; keys often repeat
    slot: cython.int = -1  # that key's
    latest: cython.longlong = NEVER  # the time of its last event
    event: cython.Py_ssize_t = begin
    place: cython.Py_ssize_t
    with cython.nogil:
        while event < keys.shape[0]:
            if keys[event] != before:
                if slot >= 0:
                    last[slot] = latest
                before, slot, latest = keys[event], -1, NEVER
                if before >= 0:
                    place = _home(before, size)
                    while entries[place] != -1 and key[entries[place]] != before:
                        place = (place + 1) & (size - 1)
                    if entries[place] == -1:
                        if count[0] == 0:
                            break
                        count[0] -= 1
                        entries[place] = free[count[0]]
                        key[entries[place]] = before
                    slot = entries[place]
                    latest = last[slot]
            latest = max(latest, times[event])
            slots[event] = slot
            event += 1
        if slot >= 0:
            last[slot] = latest
    return event


def release_slots(table: SlotTable, slots: cython.const_longlong[::1]) -> None:
    """Free slots. Entries after a removed one move up, so that probing still finds them."""
    entries: cython.int[::1] = table.table
    key: cython.int[::1] = table.key
    last: cython.longlong[::1] = table.last
    free: cython.int[::1] = table.free
    count: cython.longlong[::1] = table.count
    size: cython.Py_ssize_t = entries.shape[0]
    number: cython.Py_ssize_t
    hole: cython.Py_ssize_t
    place: cython.Py_ssize_t
    home: cython.Py_ssize_t
    slot: cython.int
    with cython.nogil:
        for number in range(slots.shape[0]):
            slot = cython.cast(cython.int, slots[number])
            hole = _home(key[slot], size)
            while entries[hole] != slot:
                hole = (hole + 1) & (size - 1)
            place = (hole + 1) & (size - 1)
            while entries[place] != -1:
                home = _home(key[entries[place]], size)
                if ((place - home) & (size - 1)) >= ((place - hole) & (size - 1)):
                    entries[hole] = entries[place]
                    hole = place
                place = (place + 1) & (size - 1)
            entries[hole] = -1
            key[slot] = -1
            last[slot] = NEVER
            free[count[0]] = slot
            count[0] += 1
