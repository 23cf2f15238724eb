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
from elsinore.numeric.pairs import PairNumbers
from elsinore.plan import TrendUnit
from elsinore.plan.epochs import epoch_of, epochs_at, turns_of, windows_in
from elsinore.trends.values import FOREVER, Codes, Doubles, Ints

MEDIAN_OF = 2**14  # values of which medians are found at once, at least...
FEW = 7  # ... of so many values each
ROOM = 64  # shifts that there is room for at first


class Rows(NamedTuple):
    """Values of events, each with its cell (below 0: none), its time, and whether it is known."""

    cells: Ints
    times: Ints
    values: Doubles
    present: NDArray[np.uint8]


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
        self._numbers: PairNumbers
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
        return np.stack([numbers.firsts[:count], numbers.seconds[:count]]), self._values[:count]

    @property
    def groups(self) -> Ints:
        """The group of each shift."""
        cells: Ints = self._numbers.firsts[: self._numbers.count]
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
        self._numbers = PairNumbers(places[0], places[1], room)
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
