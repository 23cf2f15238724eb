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
from elsinore.plan.aggregates import SPREAD, Addend, FieldKind
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


def addend_columns(
    unit: TrendUnit,
    batch: pa.RecordBatch | pa.Table,
    groups: NDArray[Any],
    shifts: Shifts,
    *,
    by_epoch: bool = True,
) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """Return addends [column of `unit.addends`, row], nulls as 0, and where they are not null.

    `groups`: the group of each row, however events are grouped. `shifts` are chosen where there are
    none yet; by_epoch: one for each epoch, not one for all, 0.
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
    of_addends, deviated = _places(unit)
    addends, times = values[of_addends], to_numpy(batch.column("time"))
    types = _types_of(unit, to_numpy(batch.column("class")))
    for column in deviated:
        cells = shifts.cells(column.places_of_types[types], groups)
        rows = Rows(cells, times, values[column.attribute], present[column.attribute])
        turns = shifts.deviations(rows, column.window if by_epoch else None)
        for turn, places in enumerate(zip(column.squares, column.deviations, strict=True)):
            deviations = turns[turn if turn < len(turns) else 0]  # one epoch is for all turns
            with np.errstate(over="ignore"):
                addends[places[0]], addends[places[1]] = deviations * deviations, deviations
    return addends, present[of_addends]


def great_addends(addends: NDArray[np.float64]) -> bool:
    """Return whether products with some addends may exceed a double."""
    return bool((np.abs(addends) >= GREAT).any())


class _Deviated(NamedTuple):
    """An attribute that is looked at from shifts in windows of a kind, and where it is."""

    attribute: int  # in `unit.summed`
    places_of_types: NDArray[np.int64]  # in `unit.squared`, -1 for none; the last is of no type
    window: Window | None
    squares: list[int]  # [turn] -> place in `unit.addends`, ...
    deviations: list[int]  # ... and that of what they are the squares of


@once_per_unit
def _places(unit: TrendUnit) -> tuple[NDArray[np.int64], list[_Deviated]]:
    """Return the place in `unit.summed` of each addend, and what is looked at from shifts."""
    of_addends = np.array([unit.summed.index(addend.attribute) for addend in unit.addends])
    pairs = dict.fromkeys((addend.attribute, addend.window) for addend in unit.squared)
    deviated = []
    for name, window in pairs:
        squares, deviations = (
            [
                unit.addends.index(Addend(kind, name, window, turn))
                for turn in range(turns_of(window))
            ]
            for kind in SPREAD[:2]
        )
        attribute, types = unit.summed.index(name), _places_of_types(unit, name, window)
        deviated.append(_Deviated(attribute, types, window, squares, deviations))
    return of_addends, deviated


def _types_of(unit: TrendUnit, classes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places of rows' types in `unit.classes`; -1: of no interest."""
    offsets = [of_type.offset for of_type in unit.classes.types]
    return np.searchsorted(np.array(offsets, dtype=np.int64), classes, side="right") - 1


def _places_of_types(unit: TrendUnit, attribute: str, window: Window | None) -> NDArray[np.int64]:
    """Return the place in `unit.squared` of each type, -1 for none; the last is of no type."""
    place = {
        event_type: number
        for number, squared in enumerate(unit.squared)
        if (squared.attribute, squared.window) == (attribute, window)
        for event_type in squared.types
    }
    return np.array([*(place.get(squared.type, -1) for squared in unit.classes.types), -1])


def rank_columns(read: Sequence[tuple[FieldKind, str]], batch: pa.RecordBatch) -> NDArray[np.int64]:
    """Return the ranks of events [event, column], of which the least is taken; FOREVER for none.

    They are inverted for the greatest; 0 for a rank that stands for none, in a column of edges.
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
    """Return what is raised where an event comes after a later one of its key."""
    return InputError(
        f"Events of a key are out of time order: time {time} came after a later one. "
        "Sort the input by time."
    )
