# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""From which values deviations are taken: a *shift* for each group, type of events and epoch.

See `elsinore.plan.epochs`. A shift is near the values that are looked at from it: the median of the
first that come. Once chosen it stays, for sums of what came before are from it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from elsinore.kernels import enter, kernel
from elsinore.plan import TrendUnit
from elsinore.plan.epochs import epoch_of, windows_in
from elsinore.trends.core.arrays import FOREVER, Codes, Doubles, Ints
from elsinore.trends.core.totals import mixed

MEDIAN_OF = 2**16  # values of which medians are found at once, at least...
FEW = 7  # ... of so many values each
ROOM = 64  # shifts that there is room for at first
SECONDS = 2e-6  # that finding one takes in plain Python, about


class Shifts:
    """The shifts of a unit, by cell (a place in `unit.squared` of a group, or key) and epoch."""

    def __init__(self, unit: TrendUnit) -> None:
        self._squared = unit.squared
        self._asks = np.array(
            [[m.query.window == one.window for m in unit.members] for one in unit.squared]
        ).reshape(len(unit.squared), len(unit.members))
        self.load(np.zeros((2, 0), np.int64), np.zeros(0))

    def load(self, places: Ints, values: Doubles) -> None:
        """Take up what `saved` returned."""
        self._count, self._places, self._values = len(values), places, values
        self._earliest = int(self._ends(*places).min(initial=FOREVER))
        self._make_room()

    @property
    def saved(self) -> tuple[Ints, Doubles]:
        """The cell and the epoch of each shift, and the shifts."""
        return self._places[:, : self._count], self._values[: self._count]

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

    def take(
        self,
        places: Ints,
        groups: NDArray[Any],
        epochs: Ints,
        values: Doubles,
        usable: NDArray[np.bool_],
    ) -> Doubles:
        """Return the shift of each row, 0 where it has none; choose those that there were none of.

        places: in `unit.squared`. usable: rows that have a finite value and are in an epoch.
        """
        rows: Any = slice(None) if usable.all() else np.flatnonzero(usable)
        cells = groups[rows].astype(np.int64) * len(self._squared) + places[rows]
        before, epochs, values = self._count, epochs[rows], values[rows]
        number = self._find(cells, epochs, add=True)
        if self._count > before:
            new = np.flatnonzero(number >= before)
            self._values[before : self._count] = _medians(number[new] - before, values[new])
            ends = self._ends(*self._places[:, before : self._count])
            self._earliest = min(self._earliest, int(ends.min()))
        if len(number) == len(usable):
            return self._values[number]
        found = np.zeros(len(usable))
        found[rows] = self._values[number]
        return found

    def of_groups(self, count: int) -> Doubles:
        """Return the shifts [group, place] of the first groups in epoch 0, NaN where none."""
        cells = np.arange(count * len(self._squared))
        return self._of(cells, np.zeros_like(cells)).reshape(count, len(self._squared))

    def columns(self, query: Codes | Ints, group: Codes | Ints, window: Ints) -> Doubles:
        """Return the shifts [place, row] of totals: 0 where there is none, or it is not asked for.

        query: the number of each in the unit.
        """
        found = np.zeros((len(self._squared), len(query)))
        for place, one in enumerate(self._squared):
            cells = group.astype(np.int64) * len(self._squared) + place
            known = self._of(cells, epoch_of(one.window, window))
            found[place] = np.where(self._asks[place][query], np.nan_to_num(known), 0.0)
        return found

    def _of(self, cells: Ints, epochs: Ints) -> Doubles:
        """Return shifts, NaN where there is none."""
        number = self._find(cells, epochs, add=False)
        return np.where(number < 0, np.nan, self._values[number])

    def _find(self, cells: Ints, epochs: Ints, *, add: bool) -> Ints:
        """Return the number of each shift, -1 where there is none; add: it has the next one."""
        number, row = np.empty(len(cells), np.int64), 0
        while True:
            told = self._table, self._places, self._count, cells, epochs, number
            row, self._count = enter(find, SECONDS * (len(cells) - row), *told, row, add)
            if row == len(cells):
                return number
            self._make_room()

    def _make_room(self) -> None:
        """Have room for as many shifts as there are, again."""
        places, values = self.saved
        room = max(ROOM, 2 * len(values))
        self._count, self._places, self._values = 0, np.empty((2, room), np.int64), np.zeros(room)
        self._values[: len(values)] = values
        self._table = np.full(1 << (2 * room - 1).bit_length(), -1, np.int32)
        self._find(places[0].copy(), places[1].copy(), add=True)

    def _ends(self, cells: Ints, epochs: Ints) -> Ints:
        """Return when the last windows of epochs end; FOREVER without WITHIN."""
        ends = np.full(len(cells), FOREVER)
        for place, one in enumerate(self._squared):
            if one.window is not None:
                mine = cells % len(self._squared) == place
                last = (epochs[mine] + 1) * windows_in(one.window) - 1
                ends[mine] = one.window.bounds(last)[1]
        return ends


@kernel
def find(
    table: Codes,
    places: Ints,
    count: int,
    cells: Ints,
    epochs: Ints,
    number: Ints,
    begin: int,
    add: bool,
) -> tuple[int, int]:
    """Find pairs of a cell and an epoch in a table (open addressing), in rows from one on.

    table: numbers, -1 where there is none; its length is a power of two, and half of it stays free.
    places: [0 and 1, number] -> pairs. number: [row] is filled; -1: there is none. add: a new pair
    has the next number. Returns the row where there is no room for one, or the end, and how many
    pairs there are.
    """
    mask = len(table) - 1
    for row in range(begin, len(cells)):
        at = mixed(0, cells[row], epochs[row]) & mask
        while table[at] >= 0 and (
            places[0, table[at]] != cells[row] or places[1, table[at]] != epochs[row]
        ):
            at = (at + 1) & mask
        if add and table[at] < 0:
            if count == places.shape[1]:
                return row, count
            places[0, count], places[1, count] = cells[row], epochs[row]
            table[at] = count
            count += 1
        number[row] = table[at]
    return len(cells), count


def _medians(number: Ints, values: Doubles) -> Doubles:
    """Return the median of the first values of each number; all numbers occur up to the highest."""
    counts = np.bincount(number)
    few = np.minimum(counts, max(FEW, MEDIAN_OF // len(counts)))
    kind = np.uint16 if len(counts) <= 2**16 else np.int64  # shorter ones are sorted by digits
    order = np.argsort(number.astype(kind), kind="stable")
    ranks = np.arange(int(few.max()))
    at = (np.cumsum(counts) - counts)[:, None] + np.minimum(ranks, few[:, None] - 1)
    picked = np.where(ranks < few[:, None], values[order[at]], np.inf)
    picked.sort(axis=1)
    medians: Doubles = picked[np.arange(len(few)), few // 2]
    return medians
