# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""What `elsinore.operators.slot_table` lends, for kernels that Numba compiles."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from elsinore.kernels import kernel
from elsinore.kernels.arrow import array_at
from elsinore.operators.slots import NEVER, KeyTable

MULTIPLIER = np.int64(2654435761)  # that of `elsinore.operators.slot_table`


@kernel(borrows=True, inline=True)
def table_at(words: NDArray[np.int64], at: int) -> KeyTable:
    """Return the table that words tell of from a place on."""
    return KeyTable(
        array_at(words[at], words[at + 1], np.int32),
        array_at(words[at + 2], words[at + 3], np.int32),
        array_at(words[at + 4], words[at + 5], np.int64),
        array_at(words[at + 6], words[at + 7], np.int32),
        array_at(words[at + 8], words[at + 9], np.int64),
    )


@kernel
def _home(key: int, size: int) -> int:
    """Return where in a table of `size` entries a key is looked for first."""
    mixed = np.int64(key) * MULTIPLIER
    return (mixed ^ (mixed >> 32)) & (size - 1)


@kernel
def lend(
    table: NDArray[np.int32],
    key: NDArray[np.int32],
    last: NDArray[np.int64],
    free: NDArray[np.int32],
    count: NDArray[np.int64],
    keys: NDArray[np.int32],
    times: NDArray[np.int64],
    slots: NDArray[np.int32],
    begin: int,
) -> int:
    """Find the slots of events' keys from `begin` on; return the event for which there was none."""
    size = len(table)
    before, slot, latest = -1, -1, NEVER  # a key, its slot and last event: many come in turn
    for event in range(begin, len(keys)):
        wanted = keys[event]
        if wanted != before:
            if slot >= 0:
                last[slot] = latest
            before, slot, latest = wanted, -1, NEVER
            if wanted >= 0:
                place = _home(wanted, size)
                while table[place] != -1 and key[table[place]] != wanted:
                    place = (place + 1) & (size - 1)
                if table[place] == -1:
                    if count[0] == 0:
                        return event
                    count[0] -= 1
                    table[place] = free[count[0]]
                    key[table[place]] = wanted
                slot = np.int64(table[place])
                latest = last[slot]
        latest = max(latest, times[event])
        slots[event] = slot
    if slot >= 0:
        last[slot] = latest
    return len(keys)
