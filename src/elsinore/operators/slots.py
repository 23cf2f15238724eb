"""Slots: rows of an operator's arrays, assigned to keys while they have open windows.

A stream always has new keys, of which few are open at a time. An operator whose arrays have a row
per key assigns rows to keys by a hash table, and reuses them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.arrow import numbers_of, to_arrow
from elsinore.model.window import Window
from elsinore.operators.slot_table import SlotTable, assign_slots, fill, release_slots

FIRST_SLOTS = 64
EMPTY = np.int32(-1)  # an entry of the table without a slot, a slot without a key
NEVER = np.int64(np.iinfo(np.int64).min)


class KeyTable(NamedTuple):
    """The arrays in which compiled functions find and assign slots."""

    table: NDArray[np.int32]  # open addressing; a power of two
    key: NDArray[np.int32]  # [slot] -> its key
    last: NDArray[np.int64]  # [slot] -> the time of its key's last event
    free: NDArray[np.int32]  # free slots; the last is assigned first
    count: NDArray[np.int64]  # type: ignore[assignment]  # the number of free slots


class KeySlots:
    """The slot of each key, and the time of its last event."""

    def __init__(self) -> None:
        self._set_arrays(
            KeyTable(
                table=np.full(4 * FIRST_SLOTS, EMPTY),
                key=np.full(FIRST_SLOTS, EMPTY),
                last=np.full(FIRST_SLOTS, NEVER),
                free=np.arange(FIRST_SLOTS, dtype=np.int32)[::-1].copy(),
                count=np.array([FIRST_SLOTS]),
            )
        )

    def _set_arrays(self, key_table: KeyTable) -> None:
        """Set the arrays of the table."""
        self.key_table, self._table = key_table, SlotTable(*key_table)
        self._size, self._free = (
            len(key_table.key),
            key_table.count.data,
        )  # cached, as `close` reads them

    @property
    def used(self) -> NDArray[np.int64]:
        """The slots in use."""
        return np.flatnonzero(self.key_table.key >= 0)

    @property
    def count(self) -> int:
        """The number of slots in use."""
        return self._size - self._free[0]

    @property
    def nbytes(self) -> int:
        """The memory of the table in bytes."""
        return sum(array.nbytes for array in self.key_table)

    def slots_of(self, keys: NDArray[np.int32], times: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the slots of events' keys, assigning free ones to new keys; -1 for keys below 0.

        >>> slots = KeySlots()
        >>> slots.slots_of(np.array([70000, 5, -1, 70000], np.int32), np.arange(4)).tolist()
        [0, 1, -1, 0]
        """
        slots = np.empty(len(keys), dtype=np.int32)
        assigned = 0
        while True:
            assigned = assign_slots(self._table, keys, times, slots, assigned)
            if assigned == len(keys):
                return slots
            self.grow()

    def idle(self, until: int, windows: Iterable[Window | None]) -> NDArray[np.int64]:
        """Return the slots of keys whose last event is in no window that ends after `until`."""
        used = self.used
        last = self.key_table.last[used]
        ends = np.full(len(used), NEVER)
        for window in windows:
            if window is None:
                return used[:0]
            ends = np.maximum(ends, window.bounds(window.last(last))[1])
        return used[ends <= until]

    def idle_time(self, windows: Iterable[Window | None]) -> int | None:
        """Return the time by which all keys are idle; None if there are none, or they never are."""
        last = self.key_table.last[self.used]
        if not len(last):
            return None
        ends = [None if w is None else int(w.bounds(w.last(int(last.max())))[1]) for w in windows]
        known = [end for end in ends if end is not None]
        return max(known) if known and len(known) == len(ends) else None

    def release(self, slots: NDArray[np.int64]) -> None:
        """Release slots.

        >>> slots = KeySlots()
        >>> first = slots.slots_of(np.array([7, 8], np.int32), np.array([0, 9]))
        >>> slots.release(slots.idle(10, [Window(10)]))
        >>> slots.slots_of(np.array([9, 8], np.int32), np.array([11, 12])).tolist()
        [1, 0]
        """
        release_slots(self._table, slots)

    def arrays(self) -> dict[str, NDArray[np.int64]]:
        """Return the state as arrays for `from_arrays`."""
        used = self.used
        return {
            "slots": used,
            "keys": self.key_table.key[used].astype(np.int64),
            "last": self.key_table.last[used],
        }

    @classmethod
    def from_arrays(
        cls, slots: NDArray[np.int64], keys: NDArray[np.int64], last: NDArray[np.int64]
    ) -> KeySlots:
        """Return the slots of these keys."""
        key_slots = cls()
        while len(key_slots.key_table.key) <= slots.max(initial=-1):
            key_slots.grow()
        _, key, latest, free, count = key_slots.key_table
        key[slots], latest[slots] = keys, last
        unused = np.flatnonzero(key < 0)[::-1]
        free[: len(unused)] = unused
        count[0] = len(unused)
        fill(key_slots._table)
        return key_slots

    def grow(self) -> None:
        """Double the number of slots."""
        _, key, last, free, count = self.key_table
        size = len(key)
        new_slots = np.arange(size, 2 * size, dtype=np.int32)[::-1]
        self._set_arrays(
            KeyTable(
                table=np.full(8 * size, EMPTY),
                key=np.concatenate((key, np.full(size, EMPTY))),
                last=np.concatenate((last, np.full(size, NEVER))),
                free=np.concatenate((new_slots, free)),
                count=count + size,
            )
        )
        fill(self._table)


def slots_of(batch: pa.RecordBatch, slots: KeySlots) -> NDArray[np.int32]:
    """Return the slots of a batch's keys."""
    return slots.slots_of(numbers_of(batch, "key", np.int32), numbers_of(batch, "time", np.int64))


def with_slots(batch: pa.RecordBatch, slots: NDArray[np.int32]) -> pa.RecordBatch:
    """Return a batch of the same schema with slots for its keys."""
    place = batch.schema.get_field_index("key")
    field = batch.schema.field(place)
    return batch.set_column(place, field, to_arrow(slots, field.type))
