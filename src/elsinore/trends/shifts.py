"""From which values deviations are taken: a *shift* for each group, type of events and epoch.

See `elsinore.plan.epochs`. A shift is near the values that are looked at from it: the median of the
first that come. Once chosen it stays, for sums of what came before are from it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from elsinore.plan import TrendUnit
from elsinore.plan.epochs import epoch_of, windows_in
from elsinore.trends.core.arrays import Codes, Doubles, Ints

MEDIAN_OF = 2**16  # values of which medians are found at once, at least...
FEW = 7  # ... of so many values each
_DENSE = 4  # numbers for each row up to which they are looked up in a table, and not sorted


class Shifts:
    """The shifts of a unit, by place in `unit.squared`, group (or key) and epoch.

    They are looked up by a number of 64 bits that is made of the three. Two that are billions of
    epochs apart may have the same, and then one shift: less exact, not wrong.
    """

    def __init__(self, unit: TrendUnit) -> None:
        self._squared = unit.squared
        self._asks = np.array(
            [[m.query.window == one.window for m in unit.members] for one in unit.squared]
        ).reshape(len(unit.squared), len(unit.members))
        self.load(np.zeros((2, 0), np.int64), np.zeros(0))

    def load(self, places: Ints, values: Doubles) -> None:
        """Take up what `saved` returned."""
        ids = _ids(*places)
        order = np.argsort(ids, kind="stable")
        self._ids, self._places, self._values = ids[order], places[:, order], values[order]

    @property
    def saved(self) -> tuple[Ints, Doubles]:
        """The cell (a group and a place) and the epoch of each shift, and the shifts."""
        return self._places, self._values

    @property
    def groups(self) -> Ints:
        """The group of each shift."""
        groups: Ints = self._places[0] // max(1, len(self._squared))
        return groups

    def keep(self, chosen: NDArray[np.bool_]) -> None:
        """Forget all others."""
        self._ids, self._values = self._ids[chosen], self._values[chosen]
        self._places = self._places[:, chosen]

    def forget(self, until: int | None) -> None:
        """Forget those of epochs whose windows end by then; None: all."""
        cells, epochs = self._places
        stays = np.zeros(len(cells), np.bool_)
        if until is not None:
            for place, one in enumerate(self._squared):
                mine = cells % len(self._squared) == place
                if one.window is not None:
                    last = (epochs[mine] + 1) * windows_in(one.window) - 1
                    stays[mine] = one.window.bounds(last)[1] > until
                else:
                    stays[mine] = True
        if not stays.all():
            self.keep(stays)

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
        found = np.zeros(len(values))
        rows: Any = slice(None) if usable.all() else np.flatnonzero(usable)
        cells = groups[rows].astype(np.int64) * len(self._squared) + places[rows]
        if len(cells) == 0:
            return found
        number, numbered = _numbered(cells, epochs[rows])
        ids = _ids(*numbered)
        shifts = self._of(ids)
        new = np.isnan(shifts)
        if new.any():
            shifts[new] = _medians(number, values[rows], new)
            order = np.argsort(ids[new], kind="stable")
            at = np.searchsorted(self._ids, ids[new][order])
            self._ids = np.insert(self._ids, at, ids[new][order])
            self._values = np.insert(self._values, at, shifts[new][order])
            self._places = np.insert(self._places, at, numbered[:, new][:, order], axis=1)
        found[rows] = shifts[number]
        return found

    def of_groups(self, count: int) -> Doubles:
        """Return the shifts [group, place] of the first groups in epoch 0, NaN where none."""
        cells = np.arange(count * len(self._squared))
        return self._of(_ids(cells, np.zeros_like(cells))).reshape(count, len(self._squared))

    def columns(self, query: Codes | Ints, group: Codes | Ints, window: Ints) -> Doubles:
        """Return the shifts [place, row] of totals: 0 where there is none, or it is not asked for.

        query: the number of each in the unit.
        """
        found = np.zeros((len(self._squared), len(query)))
        for place, one in enumerate(self._squared):
            cells = group.astype(np.int64) * len(self._squared) + place
            known = self._of(_ids(cells, epoch_of(one.window, window)))
            found[place] = np.where(self._asks[place][query], np.nan_to_num(known), 0.0)
        return found

    def _of(self, ids: NDArray[np.uint64]) -> Doubles:
        """Return shifts, NaN where there is none."""
        found = np.full(len(ids), np.nan)
        if len(self._ids):
            at = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
            np.copyto(found, self._values[at], where=self._ids[at] == ids)
        return found


def _ids(cells: Ints, epochs: Ints) -> NDArray[np.uint64]:
    """Return a number for each pair of numbers, in their order where both have 32 bits."""
    return (epochs.astype(np.uint64) << np.uint64(32)) + cells.astype(np.uint64)


def _numbered(cells: Ints, epochs: Ints) -> tuple[Ints, Ints]:
    """Return the number of each pair among those that occur, and these pairs as two rows.

    >>> number, pairs = _numbered(np.array([7, 5, 7]), np.array([1, 2, 1]))
    >>> number.tolist(), pairs.tolist()
    ([0, 1, 0], [[7, 5], [1, 2]])
    """
    cell, epoch = int(cells.min()), int(epochs.min())
    wide = int(cells.max()) - cell + 1
    size = wide * (int(epochs.max()) - epoch + 1)
    if size >= 2**63:
        pairs, number = np.unique(np.stack((epochs, cells)), axis=1, return_inverse=True)
        return number.reshape(-1), pairs[::-1]
    packed = (epochs - epoch) * wide + (cells - cell)
    if size <= _DENSE * len(cells):
        seen = np.zeros(size, np.bool_)
        seen[packed] = True
        kinds = np.flatnonzero(seen)
        number = packed if len(kinds) == size else (np.cumsum(seen) - 1)[packed]
    else:
        kinds, number = np.unique(packed, return_inverse=True)
    return number, np.stack((kinds % wide + cell, kinds // wide + epoch))


def _medians(number: Ints, values: Doubles, new: NDArray[np.bool_]) -> Doubles:
    """Return the median of the first values of each new pair, given the number of each value's."""
    if not new.all():
        rows = np.flatnonzero(new[number])
        number, values = (np.cumsum(new) - 1)[number[rows]], values[rows]
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
