"""The stored events: the rows of each key, with the values that conditions read.

A row is converted once, when its event arrives. The rows of a key lie next to each other
(`elsinore.matches.engine.slots`), so that those of one key are searched where they are; those of
several keys are copied to stand one key after another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from elsinore.arrow import to_numpy, whole
from elsinore.errors import InputError
from elsinore.matches.arrays import Doubles, Ints, Keys, Shorts
from elsinore.matches.columns import ArrivedRows
from elsinore.matches.engine.codes import TIME
from elsinore.matches.engine.slots import (
    SLOT,
    Arena,
    count_added,
    list_between,
    make_room,
    place_rows,
    release_rows,
    room_needed,
)
from elsinore.matches.engine.tables import KEY
from elsinore.matches.operands import RESERVED, Laws, Layout, Operands, put_members
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
            np.zeros((layout.whole_rows + 1, 0), np.int64),
        )
        self._number = layout.whole_rows  # the row of integers with the numbers in `arrived`
        self._code: int | None = None  # of the one slot
        self.arrived = ArrivedRows()
        self.rows = 0

    def _use(self, slots_: Any, doubles: Doubles, integers: Ints) -> None:
        """Set the arrays of the arena."""
        arena = self._arena
        self._slots, self._doubles, self._integers = slots_, doubles, integers
        arena.slots, arena.doubles, arena.integers = slots_, doubles, integers

    @property
    def nbytes(self) -> int:
        """The memory that rows take, in bytes."""
        columns = len(self._doubles) + len(self._integers)
        return self.arrived.nbytes + 8 * columns * self._arena.top

    def append(self, table: pa.Table, classes: Ints) -> tuple[Shorts, Ints]:
        """Append the events of a batch; return the slots of their keys, and the rows these had.

        classes: the numbers of the events' classes. Raises InputError if a key's events are not in
        the order of their times.
        """
        arena, count = self._arena, table.num_rows
        codes = self._slots_of(to_numpy(table.column("key")))
        room = np.empty(count, np.int32)
        touched = np.sort(room[: count_added(arena, codes, room)])
        if self._one_slot and self.rows and touched[0] != 0:
            touched = np.concatenate([[np.int32(0)], touched])
        lengths = self._slots["end"][touched] - self._slots["first"][touched]
        top = arena.top
        self._grow(top + room_needed(arena, touched))
        make_room(arena, touched)
        order = np.empty(count, np.int64)
        is_apart = bool(lengths.any())  # else the new rooms are one after another
        targets = np.empty(count if is_apart else 0, np.int64)
        times = to_numpy(table.column("time"))
        first = self.arrived.append(table)
        placed = place_rows(
            arena, codes, times, classes, self._ordered, touched, first, order, targets
        )
        if placed < 0:
            raise InputError("A key's events are not in the order of their times.")
        self.rows += placed
        self._put_values(table, order[:placed], targets[:placed] if is_apart else top)
        return touched, lengths

    def all_slots(self) -> Shorts:
        """Return the slots of all keys that have rows."""
        slots_ = self._slots
        return np.flatnonzero(slots_["end"] > slots_["first"]).astype(np.int32)

    def slots_between(self, lowest: int, highest: int) -> Shorts:
        """Return the slots of keys that have an event from time `lowest` to `highest`."""
        room = np.empty(len(self._slots), np.int32)
        return room[: list_between(self._arena, lowest, highest, room)]

    def take(self, touched: Shorts, old: Ints | None = None) -> Rows:
        """Return the rows of some keys, of which the first `old` [key] are old; None: all."""
        first, end = self._slots["first"][touched], self._slots["end"][touched]
        keys = empty(KEY, len(touched))
        keys.end_row = np.cumsum(end - first)
        keys.first_row = keys.end_row - (end - first)
        keys.new_row = keys.end_row if old is None else keys.first_row + old
        count = int(keys.end_row[-1]) if len(keys) else 0
        doubles, integers = self._doubles, self._integers
        if count and np.array_equal(first[1:], end[:-1]):
            if count < integers.shape[1]:
                begin, stop = int(first[0]), int(end[-1])
                doubles = np.ascontiguousarray(doubles[:, begin:stop])
                integers = np.ascontiguousarray(integers[:, begin:stop])
        else:
            rows = np.arange(count) + np.repeat(first - keys.first_row, end - first)
            doubles, integers = doubles.take(rows, axis=1), integers.take(rows, axis=1)
        numbers = integers[self._number]
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
        arena = self._arena
        self.rows -= release_rows(arena, touched, least)
        if self._one_slot and len(self._slots):
            self._use(self._slots[-1:].copy(), self._doubles, self._integers)
        if arena.top > 4 * self.rows + FEW or self.arrived.rows > 2 * self.rows + FEW:
            self._compact()

    def table(self) -> pa.Table | None:
        """Return all rows with their original columns, key by key; None without rows."""
        if self.rows == 0:
            return None
        return self.arrived.table(self.take(self.all_slots()).numbers)

    def column(self, row: int) -> Ints:
        """Return integers of all rows, one key after another."""
        return np.asarray(self.take(self.all_slots()).operands.wholes[row])

    def last_times(self) -> Ints:
        """Return the time of the last row of each slot that has rows."""
        return np.asarray(self._integers[TIME, self._slots["end"][self.all_slots()] - 1])

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
        slots_ = self._slots
        if count > len(slots_):
            more = empty(SLOT, count if self._one_slot else max(count, 2 * len(slots_)))
            more[: len(slots_)] = slots_
            self._use(more, self._doubles, self._integers)
        return codes

    def _grow(self, rows: int) -> None:
        """Make room for so many rows of the arena."""
        capacity, top = self._integers.shape[1], self._arena.top
        if rows <= capacity:
            return
        size = max(rows, 2 * capacity)
        doubles = np.empty((len(self._doubles), size))
        integers = np.empty((len(self._integers), size), np.int64)
        doubles[:, :top], integers[:, :top] = self._doubles[:, :top], self._integers[:, :top]
        self._use(self._slots, doubles, integers)

    def _put_values(self, table: pa.Table, order: Ints, targets: Ints | int) -> None:
        """Convert the attributes of a batch, and put them into the arena, in rows `targets`.

        They are one after another if `targets` is the first of them.
        """
        layout, top = self._layout, self._arena.top
        attributes = {name: whole(table.column(column_of(name))) for name in layout.types}
        changed = layout.learn_texts(attributes)
        if changed is not None:
            for row in layout.text_rows:
                self._recode(self._integers[row, :top], *changed)
        if isinstance(targets, int):
            stop = targets + len(order)
            doubles = self._doubles[:, targets:stop]
            layout.convert(attributes, order, doubles, self._integers[:, targets:stop])
            return
        doubles = np.empty((len(self._doubles), len(order)))
        integers = np.empty((len(self._integers), len(order)), np.int64)
        layout.convert(attributes, order, doubles, integers)
        self._doubles[:, targets] = doubles
        self._integers[RESERVED : self._number, targets] = integers[RESERVED : self._number]

    @staticmethod
    def _recode(codes: Ints, old: Ints, new: Ints) -> None:
        """Replace old codes of texts by new ones."""
        places = np.minimum(np.searchsorted(old, codes), len(old) - 1)
        codes[:] = np.where(old[places] == codes, new[places], codes)

    def _compact(self) -> None:
        """Move the rows of keys closer together, and remove rows that no key has any more."""
        slots = self.all_slots()
        rows = self.take(slots)
        lengths = rows.keys.end_row - rows.keys.first_row
        rooms = lengths + lengths // 2
        limits = np.cumsum(rooms)
        used = int(slots[-1]) + 1 if len(slots) else 0
        moved = empty(SLOT, len(self._slots) if self._one_slot else used)
        moved["begin"][slots] = moved["first"][slots] = limits - rooms
        moved["end"][slots], moved["limit"][slots] = limits - rooms + lengths, limits
        targets = np.arange(self.rows) + np.repeat(limits - rooms - rows.keys.first_row, lengths)
        top = int(rooms.sum())
        doubles = np.empty((len(self._doubles), top))
        integers = np.empty((len(self._integers), top), np.int64)
        doubles[:, targets], integers[:, targets] = rows.operands.doubles, rows.operands.wholes
        integers[self._number, targets] = np.arange(self.rows)
        self._use(moved, doubles, integers)
        self._arena.top = top
        self.arrived.keep(rows.numbers)
        self._layout.forget_texts(rows.operands.doubles, rows.operands.wholes)
