"""The stored events: the rows of each key, with the values that conditions read.

A row is converted once, when its event arrives. The rows of a key are linked to one another
(`elsinore.matches.engine.slots`). Rows that are searched are copied, one key after another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from elsinore.arrow import to_arrow, to_numpy, whole
from elsinore.errors import InputError
from elsinore.matches.arrays import Doubles, Ints, Keys, Shorts
from elsinore.matches.columns import ArrivedRows
from elsinore.matches.engine.codes import TIME
from elsinore.matches.engine.slots import (
    SLOT,
    Arena,
    add_rows,
    list_between,
    list_rows,
    release_rows,
)
from elsinore.matches.engine.tables import KEY
from elsinore.matches.operands import Laws, Layout, Operands, put_members
from elsinore.matches.template import column_of
from elsinore.plan.modes import LAW
from elsinore.structs import empty

FEW = 4096  # rows that may be stored although no key has them any more


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of some keys, one key after another.

    `keys` are as in `elsinore.matches.arrays`; `numbers` are those of the rows in `Store.arrived`.
    """

    slots: Shorts
    keys: Keys
    operands: Operands
    numbers: Ints


class Store:
    """The events of a unit's open windows, by key.

    A key has the slot of its code; with `one_slot`, keys are numbered, the last one as 0.
    """

    def __init__(self, layout: Layout, *, one_slot: bool, ordered: bool) -> None:
        self._layout = layout
        self._one_slot, self._ordered = one_slot, ordered
        self._arena = Arena()
        self._use(
            empty(SLOT, 0),
            np.zeros((layout.double_rows, 0)),
            np.zeros((layout.whole_rows + 2, 0), np.int64),
        )
        self._code: int | None = None  # of the one slot
        self.arrived = ArrivedRows()
        self.rows = 0

    def _use(self, slots: Any, doubles: Doubles, integers: Ints) -> None:
        """Set the slots of keys, and the values of the rows that arrived."""
        self._slots, self._doubles, self._integers = slots, doubles, integers
        self._arena.slots, self._arena.integers = slots, integers

    @property
    def nbytes(self) -> int:
        """The memory that rows take, in bytes."""
        columns = len(self._doubles) + len(self._integers)
        return self.arrived.nbytes + 8 * columns * self.arrived.rows

    def append(self, table: pa.Table, classes: Ints) -> tuple[Shorts, Ints]:
        """Append the events of a batch; return the slots of their keys, and the rows these had.

        classes: the numbers of the events' classes. Raises InputError if a key's events are not in
        the order of their times.
        """
        keys = to_numpy(table.column("key"))
        if keys.min(initial=0) < 0:
            has_key = keys >= 0
            table, classes, keys = table.filter(to_arrow(has_key)), classes[has_key], keys[has_key]
        if table.num_rows == 0:
            return np.zeros(0, np.int32), np.zeros(0, np.int64)
        codes, times = self._slots_of(keys), to_numpy(table.column("time"))
        top, order = self.arrived.rows, np.empty(table.num_rows, np.int64)
        self._make_room(top + len(order))
        room = np.empty(len(self._slots), np.int32)
        count = add_rows(self._arena, top, codes, times, classes, self._ordered, room, order)
        if count < 0:
            raise InputError("A key's events are not in the order of their times.")
        self._put_values(table, order)
        self.arrived.append(table)
        self.rows += table.num_rows
        touched = np.sort(room[:count])
        if self._one_slot and touched[0] != 0 and self._slots["rows"][0]:
            touched = np.concatenate([[np.int32(0)], touched])
        old = self._slots["rows"][touched] - self._slots["added"][touched]
        self._slots["added"][touched] = 0
        return touched, old

    def all_slots(self) -> Shorts:
        """Return the slots of all keys that have rows."""
        return np.flatnonzero(self._slots["rows"]).astype(np.int32)

    def slots_between(self, lowest: int, highest: int) -> Shorts:
        """Return the slots of keys that have an event from time `lowest` to `highest`."""
        room = np.empty(len(self._slots), np.int32)
        return room[: list_between(self._arena, lowest, highest, room)]

    def take(self, touched: Shorts, old: Ints | None = None) -> Rows:
        """Return the rows of some keys, of which the first `old` [key] are old; None: all."""
        counts = self._slots["rows"][touched]
        keys = empty(KEY, len(touched))
        keys.end_row = np.cumsum(counts)
        keys.first_row = keys.end_row - counts
        keys.new_row = keys.end_row if old is None else keys.first_row + old
        rows = self._rows_of(touched)
        doubles = np.take(self._doubles, rows, axis=1, mode="clip")
        integers = np.take(self._integers, rows, axis=1, mode="clip")
        numbers = integers[-2]
        laws = None
        if LAW in self._layout.types:
            laws = Laws.of(self.arrived.take(column_of(LAW), numbers))
        members = put_members(
            self._layout.member_rows,
            lambda name: self.arrived.take(column_of(name), numbers),
            integers,
        )
        operands = Operands(doubles, integers, self._layout.texts, laws, members)
        return Rows(touched, keys, operands, numbers)

    def release(self, touched: Shorts, least: Ints) -> None:
        """Release the rows of some keys whose times are before `least` [key]."""
        self.rows -= release_rows(self._arena, touched, least)
        if self._one_slot and len(self._slots):
            self._use(self._slots[-1:].copy(), self._doubles, self._integers)
        if self.arrived.rows > 2 * self.rows + FEW:
            self._compact()

    def table(self) -> pa.Table | None:
        """Return all rows with their original columns, key by key; None without rows."""
        if self.rows == 0:
            return None
        return self.arrived.table(self.column(-2))

    def column(self, row: int) -> Ints:
        """Return integers of all rows, one key after another."""
        return np.asarray(self._integers[row, self._rows_of(self.all_slots())])

    def _rows_of(self, touched: Shorts) -> Ints:
        """Return the rows of some keys, one key after another."""
        rows = np.empty(self._slots["rows"][touched].sum(), np.int64)
        list_rows(self._arena, touched, rows)
        return rows

    def last_times(self) -> Ints:
        """Return the time of the last row of each slot that has rows."""
        return np.asarray(self._integers[TIME, self._slots["last"][self.all_slots()]])

    def codes(self) -> Shorts:
        """Return the codes of the keys that have rows."""
        if self._one_slot:
            return np.array([self._code] if self.rows else [], np.int32)
        return self.all_slots()

    def _slots_of(self, codes: Shorts) -> Shorts:
        """Return the slots of rows by the codes of their keys, and make slots for new keys."""
        if self._one_slot:
            last, code = codes[-1], codes[0] if self._code is None else self._code
            codes = np.cumsum(np.diff(codes, prepend=code) != 0, dtype=np.int32)
            self._code = int(last)
        count = int(codes.max(initial=-1)) + 1
        slots = self._slots
        if count > len(slots):
            more = empty(SLOT, count if self._one_slot else max(count, 2 * len(slots)))
            more[: len(slots)] = slots
            self._use(more, self._doubles, self._integers)
        return codes

    def _make_room(self, rows: int) -> None:
        """Make room for so many rows."""
        capacity, top = self._integers.shape[1], self.arrived.rows
        if rows <= capacity:
            return
        size = max(rows, 2 * capacity)
        doubles = np.empty((len(self._doubles), size))
        integers = np.empty((len(self._integers), size), np.int64)
        doubles[:, :top], integers[:, :top] = self._doubles[:, :top], self._integers[:, :top]
        self._use(self._slots, doubles, integers)

    def _put_values(self, table: pa.Table, order: Ints) -> None:
        """Convert the attributes of a batch, in an order, behind the rows before."""
        layout, top = self._layout, self.arrived.rows
        attributes = {name: whole(table.column(column_of(name))) for name in layout.types}
        changed = layout.learn_texts(attributes)
        if changed is not None:
            for row in layout.text_rows:
                self._recode(self._integers[row, :top], *changed)
        stop = top + table.num_rows
        layout.convert(attributes, order, self._doubles[:, top:stop], self._integers[:, top:stop])

    @staticmethod
    def _recode(codes: Ints, old: Ints, new: Ints) -> None:
        """Replace old codes of texts by new ones."""
        places = np.minimum(np.searchsorted(old, codes), len(old) - 1)
        codes[:] = np.where(old[places] == codes, new[places], codes)

    def _compact(self) -> None:
        """Remove the rows that no key has any more."""
        slots = self.all_slots()
        rows = self.take(slots)
        self.arrived.keep(rows.numbers)
        moved = empty(SLOT, len(self._slots) if self._one_slot else int(slots.max(initial=-1)) + 1)
        moved["first"][slots], moved["last"][slots] = rows.keys.first_row, rows.keys.end_row - 1
        moved["rows"] = self._slots["rows"][: len(moved)]
        rows.operands.wholes[-2:] = np.arange(self.rows), np.arange(1, self.rows + 1)
        self._use(moved, rows.operands.doubles, rows.operands.wholes)
        self._layout.forget_texts(rows.operands.doubles, rows.operands.wholes)
