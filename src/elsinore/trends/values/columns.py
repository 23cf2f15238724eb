"""Columns of a batch as arrays: what events add up, and what extremes are taken of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.arrow import to_numpy
from elsinore.errors import InputError
from elsinore.model.window import Window
from elsinore.plan import TrendUnit
from elsinore.plan.aggregates import SPREAD, Addend, FieldKind
from elsinore.plan.epochs import turns_of
from elsinore.plan.trends import once_per_unit
from elsinore.trends.values import FOREVER
from elsinore.trends.values.shifts import Rows, Shifts

EDGE = {  # the ranks that read as none: inverted ones are compared for the greatest
    FieldKind.LEAST_EDGE: np.iinfo(np.int64).max,
    FieldKind.GREATEST_EDGE: np.iinfo(np.int64).min,
}
GREAT = 2.0**256  # addends from here on need powers


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
