"""From which values deviations are taken: a *shift* for each group, type of events and epoch.

See `elsinore.plan.epochs`. A shift is near the values that are looked at from it: the median of the
first of a batch in the time that all windows of the epoch hold, or of the nearest to that time. As
each window holds these, one whose other values lie far from them has a great variance, and one
whose values are equal has none. Once chosen it stays, for sums of what came before are from it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from elsinore.kernels import enter
from elsinore.plan import TrendUnit
from elsinore.plan.epochs import Epochs, epoch_of, windows_in
from elsinore.trends.values.arrays import FOREVER, Codes, Doubles, Ints
from elsinore.trends.values.deviating import (
    Lookup,
    Rows,
    Samples,
    deviate,
    enter_pairs,
    find,
    number_rows,
    sample,
)

MEDIAN_OF = 2**14  # values of which medians are found at once, at least...
FEW = 7  # ... of so many values each
ROOM = 64  # shifts that there is room for at first
MORE = 8  # times as much room is made at most
SECONDS = 2e-6  # that finding one takes in plain Python, about


class Shifts:
    """The shifts of a unit, by cell (a place in `unit.squared` of a group, or key) and epoch."""

    def __init__(self, unit: TrendUnit) -> None:
        self._squared = unit.squared
        self._asks = np.array(
            [[m.query.window == squared.window for m in unit.members] for squared in unit.squared]
        ).reshape(len(unit.squared), len(unit.members))
        self._count: int  # how many there are; the others are room
        self._values: Doubles
        self._lookup: Lookup
        self.load(np.zeros((2, 0), np.int64), np.zeros(0))

    def load(self, places: Ints, values: Doubles) -> None:
        """Take up what `saved` returned."""
        self._make_room(places, values, 2 * len(values))
        self._earliest = int(self._ends(*places).min(initial=FOREVER))

    @property
    def saved(self) -> tuple[Ints, Doubles]:
        """The cell and the epoch of each shift, and the shifts."""
        pairs = self._lookup.pairs[: 2 * self._count]
        return pairs.reshape(-1, 2).T, self._values[: self._count]

    @property
    def groups(self) -> Ints:
        """The group of each shift."""
        groups: Ints = self.saved[0][0] // max(1, len(self._squared))
        return groups

    def keep(self, chosen: NDArray[np.bool_]) -> None:
        """Forget all others."""
        if not chosen.all():
            places, values = self.saved
            self.load(places[:, chosen], values[chosen])

    def forget(self, until: int | None) -> None:
        """Forget those of epochs whose windows end by then; None: all."""
        if until is None:
            self.keep(np.zeros(self._count, np.bool_))
        elif self._earliest <= until:
            self.keep(self._ends(*self.saved[0]) > until)

    def cells(self, places: Ints, groups: Ints | Codes) -> Ints:
        """Return the cells of places in `unit.squared`, and groups; below 0 where one is so."""
        cells: Ints = groups.astype(np.int64)
        cells *= len(self._squared)
        cells += places
        cells[(places | groups) < 0] = -1
        return cells

    def deviate(
        self, rows: Rows, epochs: Epochs, squares: Ints, deviations: Ints, into: Doubles
    ) -> None:
        """Fill rows of `into` with deviations, and their squares; choose shifts there were none of.

        squares, deviations: the row of each turn. What is in no epoch adds nothing, and a value
        that is not finite is its own deviation.
        """
        times = rows.times.view()
        times.flags.writeable = False  # as what Arrow lends: kernels are compiled for one of both
        number = self._numbers(rows._replace(times=times), epochs)
        taking = SECONDS * number.size
        enter(deviate, taking, number, self._values, rows.values, squares, deviations, into)

    def of_groups(self, count: int) -> Doubles:
        """Return the shifts [group, place] of the first groups in epoch 0, NaN where none."""
        cells = np.arange(count * len(self._squared))
        shifts = np.empty(len(cells))
        self._find(cells, np.zeros_like(cells), np.nan, shifts)
        return shifts.reshape(count, len(self._squared))

    def columns(self, query: Codes | Ints, group: Codes | Ints, window: Ints) -> Doubles:
        """Return the shifts [place, row] of totals: 0 where there is none, or it is not asked for.

        query: the number of each in the unit.
        """
        shifts = np.empty((len(self._squared), len(query)))
        for place, squared in enumerate(self._squared):
            cells = group.astype(np.int64)
            cells *= len(self._squared)
            cells += place
            self._find(cells, epoch_of(squared.window, window), 0.0, shifts[place])
            if not (asks := self._asks[place]).all():
                shifts[place][~asks[query]] = 0.0
        return shifts

    def _find(self, cells: Ints, epochs: Ints, none: float, found: Doubles) -> None:
        """Find shifts; `none` where there is none."""
        arguments = self._lookup, self._values, cells, epochs, none, found
        enter(find, SECONDS * len(cells), *arguments)

    def _numbers(self, rows: Rows, epochs: Epochs) -> Ints:
        """Return the number [turn * rows + row] of each row's shift; choose what there is none of.

        `NO_EPOCH` or `NO_SHIFT` where a row has none.
        """
        size, place, before = epochs.turns * len(rows.cells), 0, self._count
        number = np.empty(size, np.int64)
        while place < size:
            arguments = self._lookup, rows, epochs, number, place, self._count
            place, self._count = enter(number_rows, SECONDS * (size - place), *arguments)
            if place < size:
                expected = self._count * size // max(1, place)  # if new ones go on to come so often
                room = max(2 * self._count, min(MORE * self._count, expected))
                self._make_room(*self.saved, room)
        if self._count > before:
            self._choose(rows, epochs, number, before)
        return number

    def _choose(self, rows: Rows, epochs: Epochs, number: Ints, before: int) -> None:
        """Choose the shifts from number `before` on, of rows that have these numbers."""
        new = self._count - before
        few = min(max(FEW, MEDIAN_OF // new), len(rows.cells))
        samples = Samples(np.empty((few, new)), np.zeros(new, np.int64), np.full(new, FOREVER))
        arguments = self._lookup.pairs, rows, epochs, number, before, samples
        enter(sample, SECONDS * len(number), *arguments)
        self._values[before : self._count] = _medians(samples)
        ends = self._ends(*self.saved[0][:, before:])
        self._earliest = min(self._earliest, int(ends.min()))

    def _make_room(self, places: Ints, values: Doubles, room: int) -> None:
        """Have room for so many shifts, with those that there are."""
        room, self._count = max(ROOM, room), len(values)
        self._values, pairs = np.empty(room), np.empty(2 * room, np.int64)
        self._values[: self._count] = values
        pairs[: 2 * self._count] = places.T.reshape(-1)
        table = np.full(1 << (2 * room - 1).bit_length(), -1, np.int32)
        self._lookup = Lookup(table, pairs)
        enter(enter_pairs, SECONDS * self._count, self._lookup, self._count)

    def _ends(self, cells: Ints, epochs: Ints) -> Ints:
        """Return when the last windows of epochs end; FOREVER without WITHIN."""
        ends = np.full(len(cells), FOREVER)
        for place, squared in enumerate(self._squared):
            if squared.window is not None:
                single = len(self._squared) == 1
                mine = slice(None) if single else cells % len(self._squared) == place
                last = (epochs[mine] + 1) * windows_in(squared.window) - 1
                ends[mine] = squared.window.bounds(last)[1]
        return ends


def _medians(samples: Samples) -> Doubles:
    """Return the median of each pair's values."""
    medians: Doubles = samples.values[0].copy()
    several = np.flatnonzero(samples.taken > 1)
    if len(several):
        taken = samples.taken[several]
        places = np.arange(int(taken.max()))
        values = samples.values[: len(places), several].T
        values = np.where(places < taken[:, None], values, np.inf)
        values.sort(axis=1)
        medians[several] = values[np.arange(len(several)), taken // 2]
    return medians
