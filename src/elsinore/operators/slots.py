# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Slots: places in an operator's arrays, lent to keys for as long as something of theirs is open.

Keys come and go while a stream runs, and their codes never end. An operator whose arrays have a row
a key gives these rows to keys by a table, and takes them back.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from elsinore.kernels import enter, kernel
from elsinore.model.window import Window

FIRST_SLOTS = 64
MULTIPLIER = np.int64(2654435761)  # 2**32 by the golden ratio: a key's product with it fits 64 bits
EMPTY = np.int32(-1)  # an entry of the table without a slot, a slot without a key
NEVER = np.int64(np.iinfo(np.int64).min)
FOREVER = np.int64(np.iinfo(np.int64).max)


class KeySlots:
    """Which key has which slot, and when each key's last event was."""

    def __init__(self) -> None:
        self._table = np.full(4 * FIRST_SLOTS, EMPTY)  # open addressing; a power of two
        self._key = np.full(FIRST_SLOTS, EMPTY)  # [slot] -> its key
        self._last = np.full(FIRST_SLOTS, NEVER)  # [slot] -> time of its key's last event
        self._free = np.arange(FIRST_SLOTS, dtype=np.int32)[::-1].copy()  # the last goes first
        self._count = np.array([FIRST_SLOTS])  # free slots

    @property
    def used(self) -> NDArray[np.int64]:
        """The slots that keys have."""
        return np.flatnonzero(self._key >= 0)

    @property
    def count(self) -> int:
        """How many slots keys have."""
        return len(self._key) - self._count.item()

    @property
    def nbytes(self) -> int:
        """How much memory the table takes."""
        return sum(a.nbytes for a in (self._table, self._key, self._last, self._free))

    def of(self, keys: NDArray[np.int32], times: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the slots of events' keys, lending new keys free ones; -1 for keys below 0.

        >>> slots = KeySlots()
        >>> slots.of(np.array([70000, 5, -1, 70000], np.int32), np.arange(4)).tolist()
        [0, 1, -1, 0]
        """
        slots = np.empty(len(keys), dtype=np.int32)
        done = 0
        while True:
            done = enter(
                lend,
                1e-5 * (len(keys) - done),
                self._table,
                self._key,
                self._last,
                self._free,
                self._count,
                keys,
                times,
                slots,
                done,
            )
            if done == len(keys):
                return slots
            self._grow()

    def idle(self, until: int, windows: Iterable[Window | None]) -> NDArray[np.int64]:
        """Return the slots of keys whose last event is in no window that ends after `until`."""
        used = self.used
        last = self._last[used]
        ends = np.full(len(used), NEVER)
        for window in windows:
            if window is None:
                return used[:0]
            ends = np.maximum(ends, window.bounds(window.last(last))[1])
        return used[ends <= until]

    def give_back(self, slots: NDArray[np.int64]) -> None:
        """Take slots back from their keys.

        >>> slots = KeySlots()
        >>> first = slots.of(np.array([7, 8], np.int32), np.array([0, 9]))
        >>> slots.give_back(slots.idle(10, [Window(10)]))
        >>> slots.of(np.array([9, 8], np.int32), np.array([11, 12])).tolist()
        [1, 0]
        """
        seconds = 2e-5 * len(slots)
        enter(
            take_back, seconds, self._table, self._key, self._last, self._free, self._count, slots
        )

    def arrays(self) -> dict[str, NDArray[np.int64]]:
        """Return what `from_arrays` makes the same slots of."""
        used = self.used
        return {"slots": used, "keys": self._key[used].astype(np.int64), "last": self._last[used]}

    @classmethod
    def from_arrays(
        cls, slots: NDArray[np.int64], keys: NDArray[np.int64], last: NDArray[np.int64]
    ) -> KeySlots:
        """Return slots that some keys have, and no other."""
        made = cls()
        while len(made._key) <= slots.max(initial=-1):
            made._grow()
        made._key[slots], made._last[slots] = keys, last
        free = np.flatnonzero(made._key < 0)[::-1]
        made._free[: len(free)] = free
        made._count[0] = len(free)
        enter(fill, 5e-6 * len(made._key), made._table, made._key)
        return made

    def _grow(self) -> None:
        have = len(self._key)
        self._table = np.full(8 * have, EMPTY)
        self._key = np.concatenate((self._key, np.full(have, EMPTY)))
        self._last = np.concatenate((self._last, np.full(have, NEVER)))
        more = np.arange(have, 2 * have, dtype=np.int32)[::-1]
        free = self._free[: self._count[0]]
        self._free = np.empty(2 * have, dtype=np.int32)
        self._free[: have + len(free)] = np.concatenate((more, free))
        self._count[0] += have
        enter(fill, 5e-6 * len(self._key), self._table, self._key)


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
    before, slot = -1, -1  # a key and its slot: events of one key often come in turn
    for event in range(begin, len(keys)):
        wanted = keys[event]
        if wanted < 0:
            slots[event] = -1
            continue
        if wanted != before:
            place = _home(wanted, size)
            while table[place] != -1 and key[table[place]] != wanted:
                place = (place + 1) & (size - 1)
            if table[place] == -1:
                if count[0] == 0:
                    return event
                count[0] -= 1
                lent = free[count[0]]
                table[place] = lent
                key[lent] = wanted
                last[lent] = times[event]
            before, slot = wanted, table[place]
        last[slot] = max(last[slot], times[event])
        slots[event] = slot
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
