# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Slots: places in an operator's arrays, lent to keys for as long as something of theirs is open.

Keys come and go while a stream runs, and their codes never end. An operator whose arrays have a row
a key gives these rows to keys by a table, and takes them back.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from elsinore.kernels import enter, kernel
from elsinore.kernels.arrow import array_at
from elsinore.model.window import Window

FIRST_SLOTS = 64
MULTIPLIER = np.int64(2654435761)  # 2**32 by the golden ratio: a key's product with it fits 64 bits
EMPTY = np.int32(-1)  # an entry of the table without a slot, a slot without a key
NEVER = np.int64(np.iinfo(np.int64).min)
FOREVER = np.int64(np.iinfo(np.int64).max)


class KeyTable(NamedTuple):
    """What kernels find slots in, and lend them from."""

    table: NDArray[np.int32]  # open addressing; a power of two
    key: NDArray[np.int32]  # [slot] -> its key
    last: NDArray[np.int64]  # [slot] -> time of its key's last event
    free: NDArray[np.int32]  # slots, of which the last goes first, ...
    count: NDArray[np.int64]  # ... and how many they are


TABLE_WORDS = 2 * len(KeyTable._fields)


def words_of(arrays: Iterable[NDArray[Any]]) -> list[int]:
    """Return where arrays are and how long each is: one array is sooner passed than five.

    They are good as long as the arrays are kept, which a `KeyTable` may be.
    """
    return [word for array in arrays for word in (array.ctypes.data, len(array))]


def counts_that_fit(room: int, few: int) -> range:
    """Return how many slots, or rows, there is room for without far too much, beyond a few.

    >>> 3 in counts_that_fit(64, 16), 3 in counts_that_fit(16, 16)
    (False, True)
    """
    return range(room // 8 if room > few else 0, room + 1)


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


class KeySlots:
    """Which key has which slot, and when each key's last event was."""

    def __init__(self) -> None:
        self._take(
            KeyTable(
                table=np.full(4 * FIRST_SLOTS, EMPTY),
                key=np.full(FIRST_SLOTS, EMPTY),
                last=np.full(FIRST_SLOTS, NEVER),
                free=np.arange(FIRST_SLOTS, dtype=np.int32)[::-1].copy(),
                count=np.array([FIRST_SLOTS]),
            )
        )

    def _take(self, lent: KeyTable) -> None:
        """Let slots be those of a table."""
        self.lent = lent
        self._size, self._free = len(lent.key), lent.count.data  # sooner read: every closing asks

    @property
    def used(self) -> NDArray[np.int64]:
        """The slots that keys have."""
        return np.flatnonzero(self.lent.key >= 0)

    @property
    def count(self) -> int:
        """How many slots keys have."""
        return self._size - self._free[0]

    @property
    def nbytes(self) -> int:
        """How much memory the table takes."""
        return sum(array.nbytes for array in self.lent)

    def of(self, keys: NDArray[np.int32], times: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the slots of events' keys, lending new keys free ones; -1 for keys below 0.

        >>> slots = KeySlots()
        >>> slots.of(np.array([70000, 5, -1, 70000], np.int32), np.arange(4)).tolist()
        [0, 1, -1, 0]
        """
        slots = np.empty(len(keys), dtype=np.int32)
        done = 0
        while True:
            seconds = 1e-5 * (len(keys) - done)
            done = enter(lend, seconds, *self.lent, keys, times, slots, done)
            if done == len(keys):
                return slots
            self.grow()

    def idle(self, until: int, windows: Iterable[Window | None]) -> NDArray[np.int64]:
        """Return the slots of keys whose last event is in no window that ends after `until`."""
        used = self.used
        last = self.lent.last[used]
        ends = np.full(len(used), NEVER)
        for window in windows:
            if window is None:
                return used[:0]
            ends = np.maximum(ends, window.bounds(window.last(last))[1])
        return used[ends <= until]

    def idle_time(self, windows: Iterable[Window | None]) -> int | None:
        """Return the time by which all keys are idle; None if there are none, or they never are."""
        last = self.lent.last[self.used]
        if not len(last):
            return None
        ends = [None if w is None else int(w.bounds(w.last(int(last.max())))[1]) for w in windows]
        known = [end for end in ends if end is not None]
        return max(known) if known and len(known) == len(ends) else None

    def give_back(self, slots: NDArray[np.int64]) -> None:
        """Take slots back from their keys.

        >>> slots = KeySlots()
        >>> first = slots.of(np.array([7, 8], np.int32), np.array([0, 9]))
        >>> slots.give_back(slots.idle(10, [Window(10)]))
        >>> slots.of(np.array([9, 8], np.int32), np.array([11, 12])).tolist()
        [1, 0]
        """
        enter(take_back, 2e-5 * len(slots), *self.lent, slots)

    def arrays(self) -> dict[str, NDArray[np.int64]]:
        """Return what `from_arrays` makes the same slots of."""
        used = self.used
        return {
            "slots": used,
            "keys": self.lent.key[used].astype(np.int64),
            "last": self.lent.last[used],
        }

    @classmethod
    def from_arrays(
        cls, slots: NDArray[np.int64], keys: NDArray[np.int64], last: NDArray[np.int64]
    ) -> KeySlots:
        """Return slots that some keys have, and no other."""
        made = cls()
        while len(made.lent.key) <= slots.max(initial=-1):
            made.grow()
        table, key, latest, free, count = made.lent
        key[slots], latest[slots] = keys, last
        unused = np.flatnonzero(key < 0)[::-1]
        free[: len(unused)] = unused
        count[0] = len(unused)
        enter(fill, 5e-6 * len(key), table, key)
        return made

    def grow(self) -> None:
        """Have twice as many."""
        _, key, last, free, count = self.lent
        have = len(key)
        new_slots = np.arange(have, 2 * have, dtype=np.int32)[::-1]
        self._take(
            KeyTable(
                table=np.full(8 * have, EMPTY),
                key=np.concatenate((key, np.full(have, EMPTY))),
                last=np.concatenate((last, np.full(have, NEVER))),
                free=np.concatenate((new_slots, free)),
                count=count + have,
            )
        )
        enter(fill, 5e-6 * 2 * have, self.lent.table, self.lent.key)


@kernel
def _home(key: int, size: int) -> int:
    """Return where in a table of `size` entries a key is looked for first."""
    mixed = np.int64(key) * MULTIPLIER
    return (mixed ^ (mixed >> 32)) & (size - 1)


@kernel
def fill(table: NDArray[np.int32], key: NDArray[np.int32]) -> None:
    """Enter the slots that have a key into an empty table."""
    size = len(table)
    for slot in range(len(key)):
        if key[slot] >= 0:
            place = _home(key[slot], size)
            while table[place] != -1:
                place = (place + 1) & (size - 1)
            table[place] = slot


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


@kernel
def take_back(
    table: NDArray[np.int32],
    key: NDArray[np.int32],
    last: NDArray[np.int64],
    free: NDArray[np.int32],
    count: NDArray[np.int64],
    slots: NDArray[np.int64],
) -> None:
    """Free slots. What lies behind an entry that is taken out moves up, so that none is missed."""
    size = len(table)
    for slot in slots:
        hole = _home(key[slot], size)
        while table[hole] != slot:
            hole = (hole + 1) & (size - 1)
        place = (hole + 1) & (size - 1)
        while table[place] != -1:
            home = _home(key[table[place]], size)
            if ((place - home) & (size - 1)) >= ((place - hole) & (size - 1)):
                table[hole] = table[place]
                hole = place
            place = (place + 1) & (size - 1)
        table[hole] = -1
        key[slot] = -1
        last[slot] = np.int64(-(2**63))
        free[count[0]] = slot
        count[0] += 1
