"""From which values deviations are taken: a *shift* for each group, type of events and epoch.

See `elsinore.plan.epochs`. A shift is near the values that it is subtracted from: the median of the
first of a batch in the time that all windows of the epoch contain, or of the nearest to that time.
As each window contains these, one whose other values lie far from them has a great variance, and
one whose values are equal has none. A chosen shift stays: earlier sums are of deviations from it.
"""

from __future__ import annotations

from typing import NamedTuple

import cython
import numpy as np
from numpy.typing import NDArray

from elsinore.model.window import Window
from elsinore.plan import TrendUnit
from elsinore.plan.epochs import epoch_of, epochs_at, turns_of, windows_in
from elsinore.trends.values import FOREVER, Codes, Doubles, Ints

MEDIAN_OF = 2**14  # values of which medians are found at once, at least...
FEW = 7  # ... of so many values each
ROOM = 64  # shifts that there is room for at first
NEAR = cython.declare(cython.longlong, 8)  # cells in a row have places side by side
MIX_CELL = cython.declare(cython.ulonglong, 0xC2B2AE3D27D4EB4F)  # odd constants
MIX_EPOCH = cython.declare(cython.ulonglong, 0x165667B19E3779F9)
MIX_BOTH = cython.declare(cython.ulonglong, 0xBF58476D1CE4E5B9)


class Rows(NamedTuple):
    """Values of events, each with its cell (below 0: none), its time, and whether it is known."""

    cells: Ints
    times: Ints
    values: Doubles
    present: NDArray[np.uint8]


@cython.cclass
class ShiftNumbers:
    """Numbers the shifts: a hash table of pairs of a cell and an epoch, with open addressing."""

    count = cython.declare(cython.longlong, visibility="public")
    cells = cython.declare(object, visibility="public")  # [number], of which `count` are used
    epochs = cython.declare(object, visibility="public")
    cell: cython.longlong[::1]
    epoch: cython.longlong[::1]
    table: cython.int[::1]  # its length is a power of two, and half of it stays free

    def __init__(self, cells: Ints, epochs: Ints, room: int) -> None:
        self.count = len(cells)
        self.cells, self.epochs = np.empty(room, np.int64), np.empty(room, np.int64)
        self.cells[: len(cells)], self.epochs[: len(cells)] = cells, epochs
        self.cell, self.epoch = self.cells, self.epochs
        self.table = np.full(1 << (2 * room - 1).bit_length(), -1, np.int32)
        self.enter_all()

    def enter_all(self) -> None:
        """Fill the table with the pairs that are numbered."""
        number: cython.longlong
        with cython.nogil:
            for number in range(self.count):
                place: cython.Py_ssize_t = self.place_of(self.cell[number], self.epoch[number])
                self.table[place] = cython.cast(cython.int, number)

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def place_of(self, cell: cython.longlong, epoch: cython.longlong) -> cython.Py_ssize_t:
        """Return where the number of a pair stands in the table, or would."""
        mask: cython.Py_ssize_t = self.table.shape[0] - 1
        hashed: cython.ulonglong = cython.cast(cython.ulonglong, cell // NEAR) * MIX_CELL
        hashed ^= cython.cast(cython.ulonglong, epoch) * MIX_EPOCH
        hashed = (hashed ^ (hashed >> 29)) * MIX_BOTH
        place: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, (hashed >> 20) & mask) * NEAR
        place = (place + cell % NEAR) & mask
        number: cython.longlong = self.table[place]
        while number >= 0 and (self.cell[number] != cell or self.epoch[number] != epoch):
            place = (place + 1) & mask
            number = self.table[place]
        return place

    def find(
        self,
        cells: cython.const_longlong[::1],
        epochs: cython.const_longlong[::1],
        numbers: cython.longlong[::1],
        adds: cython.bint,
    ) -> None:
        """Write the number of each pair; -1 for cells below 0, and for unknown pairs unless added.

        adds: give each unknown pair the next number, for which there is room.
        """
        row: cython.Py_ssize_t
        with cython.nogil:
            for row in range(cells.shape[0]):
                numbers[row] = -1
                if cells[row] < 0:
                    continue
                place: cython.Py_ssize_t = self.place_of(cells[row], epochs[row])
                if self.table[place] < 0 and adds:
                    self.cell[self.count], self.epoch[self.count] = cells[row], epochs[row]
                    self.table[place] = cython.cast(cython.int, self.count)
                    self.count += 1
                numbers[row] = self.table[place]


def nearest_values(
    numbers: cython.const_longlong[::1],
    first: cython.longlong,
    distances: cython.const_longlong[::1],
    values: cython.const_double[::1],
    samples: cython.double[:, ::1],
    counts: cython.longlong[::1],
    nearest: cython.longlong[::1],
) -> None:
    """Fill samples[n] with the first values of shift `first + n` that are nearest in time.

    distances: of each row from the time that all windows of its epoch contain. nearest[n] is the
    least distance so far, counts[n] how many values have it.
    """
    row: cython.Py_ssize_t
    with cython.nogil:
        for row in range(numbers.shape[0]):
            new: cython.longlong = numbers[row] - first
            if new < 0:
                continue
            if distances[row] < nearest[new]:
                nearest[new], counts[new] = distances[row], 0
            if distances[row] == nearest[new] and counts[new] < samples.shape[1]:
                samples[new, counts[new]] = values[row]
                counts[new] += 1


class Shifts:
    """The shifts of a unit, by cell (a place in `unit.squared` of a group, or key) and epoch."""

    def __init__(self, unit: TrendUnit) -> None:
        self._squared = unit.squared
        self._asks = np.array(
            [[m.query.window == squared.window for m in unit.members] for squared in unit.squared]
        ).reshape(len(unit.squared), len(unit.members))
        self._numbers: ShiftNumbers
        self._values: Doubles  # [number]; the others are room
        self.load(np.zeros((2, 0), np.int64), np.zeros(0))

    def load(self, places: Ints, values: Doubles) -> None:
        """Take up what `saved` returned."""
        self._make_room(places, values, 2 * len(values))
        self._earliest = int(self._ends(*places).min(initial=FOREVER))

    @property
    def saved(self) -> tuple[Ints, Doubles]:
        """The cell and the epoch of each shift, and the shifts."""
        numbers, count = self._numbers, self._numbers.count
        return np.stack([numbers.cells[:count], numbers.epochs[:count]]), self._values[:count]

    @property
    def groups(self) -> Ints:
        """The group of each shift."""
        cells: Ints = self._numbers.cells[: self._numbers.count]
        return cells // max(1, len(self._squared))

    def keep(self, chosen: NDArray[np.bool_]) -> None:
        """Forget all others."""
        if not chosen.all():
            places, values = self.saved
            self.load(places[:, chosen], values[chosen])

    def forget(self, until: int | None) -> None:
        """Forget those of epochs whose windows end by then; None: all."""
        if until is None:
            self.keep(np.zeros(self._numbers.count, np.bool_))
        elif self._earliest <= until:
            self.keep(self._ends(*self.saved[0]) > until)

    def cells(self, places: Ints, groups: Ints | Codes) -> Ints:
        """Return the cells of places in `unit.squared`, and groups; below 0 where one is so."""
        cells: Ints = groups.astype(np.int64)
        cells *= len(self._squared)
        cells += places
        cells[(places | groups) < 0] = -1
        return cells

    def deviations(self, rows: Rows, window: Window | None) -> list[Doubles]:
        """Return the deviations of values in each turn; choose shifts for those without.

        0 for a value that is in no epoch of the turn. A value that is not finite stays.
        """
        is_known = (rows.cells >= 0) & (rows.present != 0)
        is_finite = np.isfinite(rows.values)
        turns = []
        for turn in range(turns_of(window)):
            epochs, is_inside = epochs_at(window, rows.times, turn)
            is_counted = is_inside & is_known
            cells = np.where(is_counted & is_finite, rows.cells, -1)
            numbers = self._numbers_of(cells, epochs, rows, window)
            shifts = np.where(numbers < 0, 0.0, self._values[numbers])
            with np.errstate(invalid="ignore"):
                turns.append(np.where(is_counted, rows.values - shifts, 0.0))
        return turns

    def of_groups(self, count: int) -> Doubles:
        """Return the shifts [group, place] of the first groups in epoch 0, NaN where none."""
        cells = np.arange(count * len(self._squared))
        shifts = self._find(cells, np.zeros_like(cells), np.nan)
        return shifts.reshape(count, len(self._squared))

    def columns(self, query: Codes | Ints, group: Codes | Ints, window: Ints) -> Doubles:
        """Return the shifts [place, row] of totals: 0 where there is none, or it is not asked for.

        query: the number of each in the unit.
        """
        shifts = np.empty((len(self._squared), len(query)))
        for place, squared in enumerate(self._squared):
            cells = group.astype(np.int64) * len(self._squared) + place
            shifts[place] = self._find(cells, epoch_of(squared.window, window), 0.0)
            if not (asks := self._asks[place]).all():
                shifts[place][~asks[query]] = 0.0
        return shifts

    def _find(self, cells: Ints, epochs: Ints, default: float) -> Doubles:
        """Return the shifts of pairs of a cell and an epoch."""
        numbers = np.empty(len(cells), np.int64)
        self._numbers.find(cells, np.ascontiguousarray(epochs), numbers, False)
        return np.where(numbers < 0, default, self._values[numbers])

    def _numbers_of(self, cells: Ints, epochs: Ints, rows: Rows, window: Window | None) -> Ints:
        """Return the numbers of rows' shifts, -1 for cells below 0; choose those that are new."""
        before, numbers = self._numbers.count, np.empty(len(cells), np.int64)
        if before + len(cells) > len(self._values):
            self._make_room(*self.saved, 2 * before + len(cells))
        self._numbers.find(cells, epochs, numbers, True)
        if self._numbers.count > before:
            new = self._numbers.count - before
            few = min(max(FEW, MEDIAN_OF // new), len(cells))
            samples, counts = np.empty((new, few)), np.zeros(new, np.int64)
            distances = _distances(window, epochs, rows.times)
            arrays = samples, counts, np.full(new, FOREVER)
            nearest_values(numbers, before, distances, rows.values, *arrays)
            samples = samples[:, : int(counts.max())]
            samples[np.arange(samples.shape[1]) >= counts[:, None]] = np.inf
            samples.sort(axis=1)
            self._values[before : before + new] = samples[np.arange(new), counts // 2]
            ends = self._ends(*self.saved[0][:, before:])
            self._earliest = min(self._earliest, int(ends.min()))
        return numbers

    def _make_room(self, places: Ints, values: Doubles, room: int) -> None:
        """Make room for so many shifts, and put these first."""
        room = max(ROOM, room)
        self._numbers = ShiftNumbers(places[0], places[1], room)
        self._values = np.zeros(room)
        self._values[: len(values)] = values

    def _ends(self, cells: Ints, epochs: Ints) -> Ints:
        """Return when the last windows of epochs end; FOREVER without WITHIN."""
        ends = np.full(len(cells), FOREVER)
        for place, squared in enumerate(self._squared):
            if squared.window is not None:
                is_place = cells % len(self._squared) == place
                last = (epochs[is_place] + 1) * windows_in(squared.window) - 1
                ends[is_place] = squared.window.bounds(last)[1]
        return ends


def _distances(window: Window | None, epochs: Ints, times: Ints) -> Ints:
    """Return how far times are from the time that all windows of their epochs contain."""
    if window is None:
        return np.zeros(len(times), np.int64)
    first = epochs * windows_in(window)
    begin, _ = window.bounds(first + windows_in(window) - 1)
    _, end = window.bounds(first)
    distances: Ints = np.maximum(np.maximum(begin - times, times - end + 1), 0)
    return distances
