"""A compiled hash table that numbers pairs of integers 0, 1, ..."""

from __future__ import annotations

import cython
import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
NEAR = cython.declare(cython.longlong, 8)  # consecutive first values hash to adjacent entries
MIX_FIRST = cython.declare(cython.ulonglong, 0xC2B2AE3D27D4EB4F)  # odd constants
MIX_SECOND = cython.declare(cython.ulonglong, 0x165667B19E3779F9)
MIX_BOTH = cython.declare(cython.ulonglong, 0xBF58476D1CE4E5B9)


@cython.cclass
class PairNumbers:
    """Numbers pairs in the order of arrival: a hash table with open addressing."""

    count = cython.declare(cython.longlong, visibility="public")
    firsts = cython.declare(object, visibility="public")  # [number], of which `count` are used
    seconds = cython.declare(object, visibility="public")
    first: cython.longlong[::1]
    second: cython.longlong[::1]
    table: cython.int[::1]  # its length is a power of two, and at least half of it is free

    def __init__(self, firsts: Ints, seconds: Ints, room: int) -> None:
        self.count = len(firsts)
        self.firsts, self.seconds = np.empty(room, np.int64), np.empty(room, np.int64)
        self.firsts[: len(firsts)], self.seconds[: len(firsts)] = firsts, seconds
        self.first, self.second = self.firsts, self.seconds
        self.table = np.full(1 << (2 * room - 1).bit_length(), -1, np.int32)
        self.enter_all()

    def enter_all(self) -> None:
        """Insert all numbered pairs into the table."""
        number: cython.longlong
        with cython.nogil:
            for number in range(self.count):
                place: cython.Py_ssize_t = self.place_of(self.first[number], self.second[number])
                self.table[place] = cython.cast(cython.int, number)

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def place_of(self, first: cython.longlong, second: cython.longlong) -> cython.Py_ssize_t:
        """Return the table entry with the number of a pair, or the free one for it."""
        mask: cython.Py_ssize_t = self.table.shape[0] - 1
        hash_value: cython.ulonglong = cython.cast(cython.ulonglong, first // NEAR) * MIX_FIRST
        hash_value ^= cython.cast(cython.ulonglong, second) * MIX_SECOND
        hash_value = (hash_value ^ (hash_value >> 29)) * MIX_BOTH
        place: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, (hash_value >> 20) & mask) * NEAR
        place = (place + first % NEAR) & mask
        number: cython.longlong = self.table[place]
        while number >= 0 and (self.first[number] != first or self.second[number] != second):
            place = (place + 1) & mask
            number = self.table[place]
        return place

    def find(
        self,
        firsts: cython.const_longlong[::1],
        seconds: cython.const_longlong[::1],
        numbers: cython.longlong[::1],
        adds: cython.bint,
    ) -> None:
        """Write the number of each pair; -1 if its first is below 0, or if it has no number.

        adds: number new pairs; the arrays must have room for them.
        """
        row: cython.Py_ssize_t
        with cython.nogil:
            for row in range(firsts.shape[0]):
                numbers[row] = -1
                if firsts[row] < 0:
                    continue
                place: cython.Py_ssize_t = self.place_of(firsts[row], seconds[row])
                if self.table[place] < 0 and adds:
                    self.first[self.count], self.second[self.count] = firsts[row], seconds[row]
                    self.table[place] = cython.cast(cython.int, self.count)
                    self.count += 1
                numbers[row] = self.table[place]
