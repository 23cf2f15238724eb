"""The first stage: stretches of one key's events in one pane, each to an action.

Numbers are plain doubles here: a stretch ends, and the next begins, before they grow beyond a
double's range. A fold lets one act after the other, which is what both are together.
"""

# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.arrow import to_numpy
from elsinore.kernels import kernel
from elsinore.operators.panes import Stretches
from elsinore.plan import TrendUnit
from elsinore.trends.actions.shape import (
    ADDEND,
    AT_ONCE,
    ATTRIBUTE,
    BEFORE,
    CELLS,
    COMPARED,
    COMPARED_CELL,
    COMPARED_EXTREME,
    EMPTIED,
    EXTREMES,
    FIRST_CELL,
    FIRST_EXTREME,
    LEAST,
    LEAST_TARGET,
    OWN,
    RESETS,
    ROWS,
    START,
    SUMS,
    TARGET,
    TERM,
    TERMS,
    UPDATES,
    ActionShape,
)
from elsinore.trends.columns import addend_columns, order_columns
from elsinore.trends.core.addends import addend, rank_of
from elsinore.trends.core.arrays import FOREVER, Doubles, Ints
from elsinore.trends.core.recurrence import contributed, least_reached
from elsinore.trends.shifts import Shifts

Flags = NDArray[np.uint8]
Four = tuple[float, float, float, float]

FEW_CLASSES = 1 << 10
SPARE = 16  # stretches that there is room for beside one of each run
ENOUGH = 2.0**400  # the size of a number with which a stretch ends
LANES = 4  # rows that an update goes through at once
ONE, TWO, THREE = np.uint64(1), np.uint64(2), np.uint64(3)
HUGE = 2.0**500  # of values; products with numbers below ENOUGH, and sums of those, stay in range


class Columns(NamedTuple):
    """A batch's columns as kernels read them.

    `classes` are numbers of the code's; what has huge values is `alone`, with its whole moment.
    """

    times: Ints
    classes: Ints
    values: Doubles  # [attribute, event]
    present: Flags
    orders: Ints
    ordered: Flags
    alone: Flags


class Room(NamedTuple):
    """Room for what a stretch has come to, and for what waits until a moment ends."""

    work: Doubles
    best: Ints


class Made(NamedTuple):
    """Stretches: first and last row, [stretch, cell * rows + row] -> number, extremes likewise.

    `failed` are runs; `reached` is the number of stretches, and the run and the row to go on from
    where there was no more room for them.
    """

    rows_of: Ints
    numbers: Doubles
    extremes: Ints
    failed: Flags
    reached: Ints


def read_columns(
    shape: ActionShape, batch: pa.RecordBatch, begins: Ints, ends: Ints
) -> tuple[Ints, Columns, Doubles]:
    """Return the code of a batch's classes, its columns, and its shifts.

    A shift is what deviations are from, in all turns: [run, place in `unit.squared`], NaN where
    there is no value. A run's events are in the same windows.
    """
    codes = to_numpy(batch.column("class"))
    if batch.num_rows and codes.min() >= 0 and codes.max() < FEW_CLASSES:  # need no sorting
        kinds = np.flatnonzero(np.bincount(codes))
        classes = np.searchsorted(kinds, np.arange(kinds[-1] + 1))[codes]
    else:
        kinds, classes = np.unique(codes, return_inverse=True)
    times = np.ascontiguousarray(to_numpy(batch.column("time")), dtype=np.int64)
    runs = np.full(batch.num_rows, -1, np.int64)
    if shape.unit.squared:
        for run, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True)):
            runs[begin:end] = run
    shifts = Shifts(shape.unit)
    values, present = addend_columns(shape.unit, batch, runs, shifts, by_epoch=False)
    alone = np.zeros(batch.num_rows, np.uint8)
    if values.size and not (values.max() < HUGE and values.min() > -HUGE):  # NaN is huge too
        huge = ~(np.abs(values) < HUGE)
        moments = np.cumsum(np.diff(times, prepend=times[0]) != 0)
        alone[np.isin(moments, moments[huge.any(axis=0)])] = 1
    columns = Columns(times, classes, values, present, *order_columns(shape.unit, batch), alone)
    return shape.code(kinds.tolist()), columns, shifts.of_groups(len(begins))


class Actions:
    """Computes the actions of stretches of events."""

    def __init__(self, unit: TrendUnit, *, ordered: bool) -> None:
        """Make it for a unit; `ordered`: simultaneous events are in an order."""
        self._shape = ActionShape(unit)
        self._ordered = ordered

    def of(self, begins: Ints, ends: Ints, batch: pa.RecordBatch) -> Stretches:
        """Return the actions of runs of rows, each of one key and pane, whole moments, in order.

        A run whose numbers leave the range of doubles within a moment has none: `Stretches.failed`.
        """
        code, columns, shifts = read_columns(self._shape, batch, begins, ends)
        failed = np.zeros(len(begins), np.bool_)
        found: list[tuple[Ints, Doubles, Ints]] = []
        shape, rows, cells = self._shape, self._shape.rows, self._shape.cells
        room = Room(
            np.zeros((2 * cells + 1) * (rows + LANES)),
            np.full(2 * shape.extremes * rows, FOREVER),
        )
        run, start = 0, int(begins[0]) if len(begins) else 0
        while run < len(begins):  # as often as there is no more room for stretches
            rest = begins[run:].copy()
            rest[0] = start
            most = len(rest) + SPARE
            made = Made(
                np.empty((most, 2), np.int64),
                np.empty((most, cells * rows)),
                np.empty((most, shape.extremes * rows), np.int64),
                np.zeros(len(rest), np.uint8),
                np.zeros(3, np.int64),
            )
            combine(code, rest, ends[run:], columns, not self._ordered, room, made)
            count, done, start = made.reached.tolist()
            found.append((made.rows_of[:count], made.numbers[:count], made.extremes[:count]))
            failed[run : run + len(rest)] |= made.failed.astype(np.bool_)
            run += done
        if not found:
            none = np.zeros(0, np.int64)
            return Stretches(none, none, np.zeros((0, self._shape.bytes), np.uint8), failed)
        bounds, numbers, least = map(np.concatenate, zip(*found, strict=True))
        first, last = bounds.T
        run_of = np.searchsorted(begins, first, side="right") - 1
        whole = ~failed[run_of]
        shifts = np.ascontiguousarray(shifts[run_of[whole]])
        parts = [part.view(np.uint8) for part in (numbers[whole], least[whole], shifts)]
        return Stretches(first[whole], last[whole], np.concatenate(parts, axis=1), failed)


@kernel(borrows=True)
def combine(
    code: Ints,
    begins: Ints,
    ends: Ints,
    columns: Columns,
    by_time: bool,
    room: Room,
    into: Made,
) -> None:
    """Find the stretches of runs of rows: first and last row, numbers, extremes; failed runs.

    Rows begins[run] to ends[run] - 1 are a run's. A moment that is `alone` is a stretch. Events of
    one moment read what was there before it: what they add waits until the moment ends, and so do
    resets, which come before.
    """
    times, classes, alone = columns.times, columns.classes, columns.alone
    work, best = room.work, room.best
    rows = code[ROWS]
    stride = _stride(rows)
    cells, size_least = code[CELLS], code[EXTREMES] * rows
    made = 0
    for run in range(len(begins)):
        start = moment = begins[run]
        _identity(code, work, best)
        for event in range(begins[run], ends[run]):
            if made == len(into.rows_of):
                into.reached[0], into.reached[1], into.reached[2] = made, run, start
                return
            same_time = event + 1 < ends[run] and times[event + 1] == times[event]
            kind = classes[event]
            waits = 1 - code[code[AT_ONCE] + kind]
            if by_time and (same_time or event > moment):
                waits = 1
            greatest = _add(code, event, kind, columns, room, waits)
            if waits:
                if same_time and by_time:
                    continue
                greatest = _settle(code, classes, moment, event + 1, work, best)
            moment = event + 1
            if event + 1 < ends[run] and (
                same_time or not (greatest >= ENOUGH or alone[event] or alone[event + 1])
            ):
                continue
            into.rows_of[made, 0], into.rows_of[made, 1] = start, event
            finite = True
            for cell in range(cells):
                for row in range(rows):
                    number = work[cell * stride + row]
                    into.numbers[made, cell * rows + row] = number
                    finite &= np.isfinite(number)
            for place in range(size_least):
                into.extremes[made, place] = best[place]
            made += 1
            if not finite and _all_finite(columns.values, start, event + 1):
                into.failed[run] = 1
                break
            start = event + 1
            _identity(code, work, best)
    into.reached[0], into.reached[1], into.reached[2] = made, len(begins), 0


@kernel(borrows=True, linked=True)
def _stride(rows: int) -> int:
    """Return how far apart cells lie, as many whole parts of `LANES` rows as hold all."""
    return (rows + LANES - 1) // LANES * LANES


@kernel(borrows=True, linked=True)
def _all_finite(values: Doubles, first: int, stop: int) -> bool:
    for attribute in range(values.shape[0]):
        for event in range(first, stop):
            if not np.isfinite(values[attribute, event]):
                return False
    return True


@kernel(borrows=True, linked=True)
def _identity(code: Ints, work: Doubles, best: Ints) -> None:
    """Make the action of no events."""
    rows = code[ROWS]
    stride = _stride(rows)
    for place in range(code[CELLS] * stride):
        work[place] = 0.0
    for place in range(code[EXTREMES] * rows):
        best[place] = FOREVER
    for node in range(code[BEFORE] - code[OWN]):
        work[code[code[FIRST_CELL] + node] * stride + code[code[OWN] + node]] = 1.0


@kernel(inline=True)
def _add(code: Ints, event: int, kind: int, columns: Columns, room: Room, waits: int) -> float:
    """Add what an event of a class does, of what there is, to that, or to what waits.

    Returns the size of the greatest number it changed. Rows know nothing of one another: four
    numbers at a time go through in registers.
    """
    stride = _stride(code[ROWS])
    into = waits * code[CELLS]
    greatest = 0.0
    for update in range(code[code[UPDATES] + kind], code[code[UPDATES] + kind + 1]):
        if code[EXTREMES] > 0:
            _compare(code, event, update, columns, room, waits)
        sums, end = code[code[SUMS] + update], code[code[SUMS] + update + 1]
        for part in range(0, stride, LANES):
            begins = np.float64(code[code[START] + update]) if part == 0 else 0.0
            fresh = _with_terms(code, sums, (begins, 0.0, 0.0, 0.0), room.work, stride, part)
            greatest = max(greatest, _enter(code, sums, fresh, room.work, into, stride, part))
            for summed in range(sums + 1, end):
                added = _added(code, summed, event, columns, fresh)
                added = _with_terms(code, summed, added, room.work, stride, part)
                size = _enter(code, summed, added, room.work, into, stride, part)
                greatest = max(greatest, size)
    return greatest


@kernel(inline=True)
def _with_terms(
    code: Ints, summed: int, numbers: Four, work: Doubles, stride: int, part: int
) -> Four:
    """Return numbers and what there is of a sum's predecessors, for the rows from `part` on.

    Places are unsigned, for those below zero would count from the end.
    """
    a0, a1, a2, a3 = numbers
    for t in range(code[code[TERMS] + summed], code[code[TERMS] + summed + 1]):
        place = np.uint64(code[code[TERM] + t]) * np.uint64(stride) + np.uint64(part)
        a0 += work[place]
        a1 += work[place + ONE]
        a2 += work[place + TWO]
        a3 += work[place + THREE]
    return a0, a1, a2, a3


@kernel(inline=True)
def _added(code: Ints, summed: int, event: int, columns: Columns, trends: Four) -> Four:
    """Return what an event adds to a sum over the trends that it ends, row by row."""
    factor = addend(columns, event, code[code[ADDEND] + summed])
    a0, a1, a2, a3 = trends
    return (
        contributed(a0, factor),
        contributed(a1, factor),
        contributed(a2, factor),
        contributed(a3, factor),
    )


@kernel(inline=True)
def _enter(
    code: Ints, summed: int, numbers: Four, work: Doubles, into: int, stride: int, part: int
) -> float:
    """Add numbers to a sum, for the rows from `part` on; return the size of the greatest."""
    place = np.uint64(into + code[code[TARGET] + summed]) * np.uint64(stride) + np.uint64(part)
    a0, a1 = work[place] + numbers[0], work[place + ONE] + numbers[1]
    a2, a3 = work[place + TWO] + numbers[2], work[place + THREE] + numbers[3]
    work[place], work[place + ONE], work[place + TWO], work[place + THREE] = a0, a1, a2, a3
    return max(abs(a0), abs(a1), abs(a2), abs(a3))


@kernel(borrows=True, linked=True)
def _compare(code: Ints, event: int, update: int, columns: Columns, room: Room, waits: int) -> None:
    """Compare the extremes of a node with those of its predecessors and the event's own values."""
    rows = code[ROWS]
    stride = _stride(rows)
    into = waits * code[EXTREMES] * rows
    fresh = 2 * code[CELLS] * stride
    sums = code[code[SUMS] + update]
    work, best = room.work, room.best
    for row in range(rows):
        trends = np.float64(code[code[START] + update]) if row == 0 else 0.0
        for t in range(code[code[TERMS] + sums], code[code[TERMS] + sums + 1]):
            trends += work[code[code[TERM] + t] * stride + row]
        work[fresh + row] = trends
    for number in range(code[code[LEAST] + update], code[code[LEAST] + update + 1]):
        value = rank_of(columns, event, code[code[ATTRIBUTE] + number])
        target = into + code[code[LEAST_TARGET] + number] * rows
        for row in range(rows):
            if work[fresh + row] == 0.0:
                continue
            found = value
            for p in range(code[code[COMPARED] + number], code[code[COMPARED] + number + 1]):
                place = code[code[COMPARED_EXTREME] + p]
                cell = code[code[COMPARED_CELL] + p]
                if place >= 0:
                    trends = work[cell * stride + row]
                    found = least_reached(found, best[place * rows + row], trends)
            best[target + row] = min(best[target + row], found)


@kernel(borrows=True, linked=True)
def _settle(code: Ints, classes: Ints, first: int, stop: int, work: Doubles, best: Ints) -> float:
    """End a moment of some events; return the size of the greatest number that they changed."""
    rows = code[ROWS]
    stride = _stride(rows)
    size, size_least = code[CELLS] * stride, code[EXTREMES] * rows
    for event in range(first, stop):
        kind = classes[event]
        for reset in range(code[code[RESETS] + kind], code[code[RESETS] + kind + 1]):
            node = code[code[EMPTIED] + reset]
            begin, end = code[code[FIRST_CELL] + node], code[code[FIRST_CELL] + node + 1]
            for place in range(begin * stride, end * stride):
                work[place] = 0.0
            begin, end = code[code[FIRST_EXTREME] + node], code[code[FIRST_EXTREME] + node + 1]
            for place in range(begin * rows, end * rows):
                best[place] = FOREVER
    greatest = 0.0
    for event in range(first, stop):
        kind = classes[event]
        for update in range(code[code[UPDATES] + kind], code[code[UPDATES] + kind + 1]):
            for number in range(code[code[SUMS] + update], code[code[SUMS] + update + 1]):
                begin = code[code[TARGET] + number] * stride
                for place in range(begin, begin + rows):
                    work[place] += work[size + place]
                    work[size + place] = 0.0
                    greatest = max(greatest, abs(work[place]))
            for number in range(code[code[LEAST] + update], code[code[LEAST] + update + 1]):
                begin = code[code[LEAST_TARGET] + number] * rows
                for place in range(begin, begin + rows):
                    best[place] = min(best[place], best[size_least + place])
                    best[size_least + place] = FOREVER
    return greatest
