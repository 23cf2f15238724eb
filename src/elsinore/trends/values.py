"""What events add to sums: columns of numbers, and deviations from a *shift* near the values.

There is a shift for each group, type of events and epoch (`elsinore.plan.epochs`): the median of
the first values of a batch in the time that all windows of the epoch contain, or of the nearest to
that time. As each window contains these, one whose other values lie far from them has a great
variance, and one whose values are equal has none. A chosen shift stays: earlier sums are of
deviations from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import cython
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.arrow import to_numpy
from elsinore.errors import InputError
from elsinore.model.window import Window
from elsinore.numeric.pairs import PairNumbers
from elsinore.plan import TrendUnit
from elsinore.plan.aggregates import Addend, FieldKind
from elsinore.plan.epochs import epoch_of, epochs_at, turns_of, windows_in
from elsinore.plan.trends import once_per_unit

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Doubles = NDArray[np.float64]

NEVER = np.int64(np.iinfo(np.int64).min)  # before all times
FOREVER = np.int64(np.iinfo(np.int64).max)  # after all times; also the least of no ranks
EDGE = {  # the ranks that read as none: inverted ones are compared for the greatest
    FieldKind.LEAST_EDGE: np.iinfo(np.int64).max,
    FieldKind.GREATEST_EDGE: np.iinfo(np.int64).min,
}
GREAT = 2.0**256  # addends from here on need powers
MEDIAN_OF = 2**14  # values of which medians are computed at once, ...
FEW = 7  # ... each of at least so many values
ROOM = 64  # the least number of shifts to allocate


class Rows(NamedTuple):
    """Values of events, each with its cell (below 0: none) and time, and whether it is not null."""

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
        self._values: Doubles  # [number], with room for more
        self.load(np.zeros((2, 0), np.int64), np.zeros(0))

    def load(self, places: Ints, values: Doubles) -> None:
        """Restore what `saved` returned."""
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
        """Remove all other shifts."""
        if not chosen.all():
            places, values = self.saved
            self.load(places[:, chosen], values[chosen])

    def forget(self, until: int | None) -> None:
        """Remove the shifts of epochs whose windows end by `until`; None: all."""
        if until is None:
            self.keep(np.zeros(self._numbers.count, np.bool_))
        elif self._earliest <= until:
            self.keep(self._ends(*self.saved[0]) > until)

    def cells(self, place: int, groups: Ints | Codes) -> Ints:
        """Return the cells of a place in `unit.squared` in groups; below 0 for such a group."""
        cells: Ints = groups.astype(np.int64) * len(self._squared) + place
        cells[groups < 0] = -1
        return cells

    def deviations(self, rows: Rows, window: Window | None) -> list[Doubles]:
        """Return the deviations of values in each turn, choosing shifts where there are none yet.

        It is 0 for a value in no epoch of the turn. A value that is not finite stays.
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
        """Return the shifts [group, place] of the first groups in epoch 0; NaN for none."""
        cells = np.arange(count * len(self._squared))
        shifts = self._find(cells, np.zeros_like(cells), np.nan)
        return shifts.reshape(count, len(self._squared))

    def columns(self, query: Codes | Ints, group: Codes | Ints, window: Ints) -> Doubles:
        """Return the shifts [place, row] of totals; 0 for none, and for other queries' windows.

        query: the number of each in the unit.
        """
        shifts = np.empty((len(self._squared), len(query)))
        for place, squared in enumerate(self._squared):
            cells = self.cells(place, group)
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
        """Return the numbers of rows' shifts, -1 for cells below 0, choosing new shifts."""
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
        """Allocate room for a number of shifts, beginning with these."""
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
    """Return the distances of times from the time that all windows of their epochs contain."""
    if window is None:
        return np.zeros(len(times), np.int64)
    first = epochs * windows_in(window)
    begin, _ = window.bounds(first + windows_in(window) - 1)
    _, end = window.bounds(first)
    distances: Ints = np.maximum(np.maximum(begin - times, times - end + 1), 0)
    return distances


def addend_columns(
    unit: TrendUnit,
    batch: pa.RecordBatch | pa.Table,
    groups: NDArray[Any],
    shifts: Shifts,
    *,
    by_epoch: bool = True,
) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """Return addends [column of `unit.addends`, row], nulls as 0, and where they are not null.

    groups: the group of each row. shifts: those of new groups and epochs are chosen; by_epoch: one
    for each epoch, otherwise one for all, epoch 0.
    """
    shape = len(unit.summed), batch.num_rows
    values, present = np.empty(shape), np.ones(shape, np.uint8)
    for row, name in enumerate(unit.summed):
        column = batch.column(f"sum:{name}")
        if column.null_count:
            present[row] = to_numpy(column.is_valid())
        values[row] = to_numpy(column, 0)
    if not unit.squared:
        return values, present
    of_addends, spreads = _spreads(unit)
    addends, times = values[of_addends], to_numpy(batch.column("time"))
    addends[[column for spread in spreads for pair in spread.columns for column in pair]] = 0.0
    offsets = np.array([of_type.offset for of_type in unit.classes.types], np.int64)
    types = np.searchsorted(offsets, to_numpy(batch.column("class")), side="right") - 1
    for place, (squared, spread) in enumerate(zip(unit.squared, spreads, strict=True)):
        chosen = np.flatnonzero(np.isin(types, spread.types))
        numbers, known = values[spread.attribute, chosen], present[spread.attribute, chosen]
        rows = Rows(shifts.cells(place, groups[chosen]), times[chosen], numbers, known)
        turns = shifts.deviations(rows, squared.window if by_epoch else None)
        for turn, (square, deviation) in enumerate(spread.columns):
            deviations = turns[turn if turn < len(turns) else 0]  # one epoch is for all turns
            with np.errstate(over="ignore"):
                addends[square, chosen] = deviations * deviations
            addends[deviation, chosen] = deviations
    return addends, present[of_addends]


class _Spread(NamedTuple):
    """Where values of an attribute in `unit.squared` are, and where their deviations go."""

    attribute: int  # in `unit.summed`
    types: list[int]  # in `unit.classes`
    columns: list[tuple[int, int]]  # [turn] -> squares and deviations, in `unit.addends`


@once_per_unit
def _spreads(unit: TrendUnit) -> tuple[list[int], list[_Spread]]:
    """Return the place in `unit.summed` of each addend, and of `unit.squared` the places."""
    of_addends = [unit.summed.index(addend.attribute) for addend in unit.addends]
    spreads = []
    for name, types, window in unit.squared:
        columns = [
            (
                unit.addends.index(Addend(FieldKind.SQUARE, name, window, turn)),
                unit.addends.index(Addend(FieldKind.DEVIATION, name, window, turn)),
            )
            for turn in range(turns_of(window))
        ]
        numbers = [n for n, of_type in enumerate(unit.classes.types) if of_type.type in types]
        spreads.append(_Spread(unit.summed.index(name), numbers, columns))
    return of_addends, spreads


def great_addends(addends: NDArray[np.float64]) -> bool:
    """Return whether products with some addends may exceed a double."""
    return bool((np.abs(addends) >= GREAT).any())


def rank_columns(read: Sequence[tuple[FieldKind, str]], batch: pa.RecordBatch) -> NDArray[np.int64]:
    """Return the ranks of events [event, column], of which the least is taken; FOREVER for null.

    They are inverted for the greatest. In a column of edges, the rank of the edge is 0.
    """
    ranks = np.empty((batch.num_rows, len(read)), np.int64)
    for place, (kind, name) in enumerate(read):
        column = batch.column(f"rank:{name}")
        of_events = to_numpy(column, 0)
        if kind in EDGE:
            of_events = np.where(of_events == EDGE[kind], 0, FOREVER)
        elif kind is FieldKind.GREATEST:
            of_events = ~of_events
        ranks[:, place] = np.where(to_numpy(column.is_valid()), of_events, FOREVER)
    return ranks


def out_of_order(time: int) -> InputError:
    """Return the error for an event that comes after a later event of its key."""
    return InputError(
        f"Events of a key are out of time order: time {time} came after a later one. "
        "Sort the input by time."
    )
