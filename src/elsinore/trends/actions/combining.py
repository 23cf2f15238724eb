"""The first stage: stretches of one key's events in one pane, each to an action.

Numbers are plain doubles here: a stretch ends, and the next begins, before they grow beyond a
double's range. A fold lets one act after the other, which is what both are together.
"""

# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

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
from elsinore.trends.columns import addend_columns, order_columns, shift_of
from elsinore.trends.core.arrays import FOREVER
from elsinore.trends.updates import NOTHING, VALUE

Ints = NDArray[np.int64]
Doubles = NDArray[np.float64]
Flags = NDArray[np.uint8]

FEW_CLASSES = 1 << 10
SPARE = 16  # stretches that there is room for beside one of each run
ENOUGH = 2.0**400  # the size of a number with which a stretch ends
LANES = 4  # rows that an update goes through at once
ONE, TWO, THREE = np.uint64(1), np.uint64(2), np.uint64(3)
HUGE = 2.0**500  # of values; products with numbers below ENOUGH, and sums of those, stay in range


class EventColumns:
    """A batch's columns as kernels read them.

    `classes` are numbers of the code's; what has huge values is `alone`, with its whole moment.
    """

    def __init__(self, shape: ActionShape, batch: pa.RecordBatch, begins: Ints, ends: Ints) -> None:
        """Read a batch of which some runs are to be combined; `shifts` are [run, attribute]."""
        codes = batch.column("class").to_numpy()
        if batch.num_rows and codes.min() >= 0 and codes.max() < FEW_CLASSES:  # need no sorting
            kinds = np.flatnonzero(np.bincount(codes))
            self.classes = np.searchsorted(kinds, np.arange(kinds[-1] + 1))[codes]
        else:
            kinds, self.classes = np.unique(codes, return_inverse=True)
        self.code = shape.code(kinds.tolist())
        self.times = np.ascontiguousarray(batch.column("time").to_numpy(), dtype=np.int64)
        runs = np.full(batch.num_rows, -1, np.int64)
        if shape.unit.squared:
            for run, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True)):
                runs[begin:end] = run
        nothing = np.empty((len(shape.unit.squared), 0))
        self.values, self.present, shifts = addend_columns(shape.unit, batch, runs, nothing)
        self.shifts = np.ascontiguousarray(shift_of(shifts, np.arange(len(begins))).T)
        self.orders, self.ordered = order_columns(shape.unit, batch)
        self.alone = np.zeros(batch.num_rows, np.uint8)
        values = self.values
        if values.size and not (values.max() < HUGE and values.min() > -HUGE):  # NaN is huge too
            huge = ~(np.abs(values) < HUGE)
            moments = np.cumsum(np.diff(self.times, prepend=self.times[0]) != 0)
            self.alone[np.isin(moments, moments[huge.any(axis=0)])] = 1


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
        of = EventColumns(self._shape, batch, begins, ends)
        failed = np.zeros(len(begins), np.bool_)
        found: list[tuple[Ints, Doubles, Ints]] = []
        shape, rows, cells = self._shape, self._shape.rows, self._shape.cells
        work = np.zeros((2 * cells + 1) * (rows + LANES))
        best = np.full(2 * shape.extremes * rows, FOREVER)
        reached = np.zeros(3, np.int64)
        run, start = 0, int(begins[0]) if len(begins) else 0
        while run < len(begins):  # as often as there is no more room for stretches
            rest = begins[run:].copy()
            rest[0] = start
            room = len(rest) + SPARE
            rows_of = np.empty((room, 2), np.int64)
            numbers = np.empty((room, cells * rows))
            least = np.empty((room, shape.extremes * rows), np.int64)
            lost = np.zeros(len(rest), np.uint8)
            combine(
                of.code, rest, ends[run:], of.times, of.classes, of.values, of.present,
                of.orders, of.ordered, of.alone, not self._ordered,
                work, best, rows_of, numbers, least, lost, reached,
            )  # fmt: skip
            made, done, start = reached.tolist()
            found.append((rows_of[:made], numbers[:made], least[:made]))
            failed[run : run + len(lost)] |= lost.astype(np.bool_)
            run += done
        if not found:
            none = np.zeros(0, np.int64)
            return Stretches(none, none, np.zeros((0, self._shape.bytes), np.uint8), failed)
        bounds, numbers, least = map(np.concatenate, zip(*found, strict=True))
        first, last = bounds.T
        run_of = np.searchsorted(begins, first, side="right") - 1
        whole = ~failed[run_of]
        shifts = np.ascontiguousarray(of.shifts[run_of[whole]])
        parts = [part.view(np.uint8) for part in (numbers[whole], least[whole], shifts)]
        return Stretches(first[whole], last[whole], np.concatenate(parts, axis=1), failed)


@kernel(borrows=True)
def combine(
    code: Ints,
    begins: Ints,
    ends: Ints,
    times: Ints,
    classes: Ints,
    values: Doubles,
    present: Flags,
    orders: Ints,
    ordered: Flags,
    alone: Flags,
    by_time: bool,
    work: Doubles,
    best: Ints,
    rows_of: Ints,
    numbers: Doubles,
    extremes: Ints,
    failed: Flags,
    reached: Ints,
) -> None:
    """Find the stretches of runs of rows: first and last row, numbers, extremes; failed runs.

    Rows begins[run] to ends[run] - 1 are a run's. [stretch, cell * rows + row] -> number, and
    likewise extremes. A moment that is `alone` is a stretch. Events of one moment read what was
    there before it: what they add waits until the moment ends, and so do resets, which come before.
    `reached` is the number of stretches, and the run and the row to go on from where there was no
    more room for them. `work` and `best` are room for what there is, and what waits.
    """
    rows = code[ROWS]
    stride = _stride(rows)
    cells, size_least = code[CELLS], code[EXTREMES] * rows
    made = 0
    for run in range(len(begins)):
        start = moment = begins[run]
        _identity(code, work, best)
        for event in range(begins[run], ends[run]):
            if made == len(rows_of):
                reached[0], reached[1], reached[2] = made, run, start
                return
            same_time = event + 1 < ends[run] and times[event + 1] == times[event]
            kind = classes[event]
            waits = 1 - code[code[AT_ONCE] + kind]
            if by_time and (same_time or event > moment):
                waits = 1
            greatest = _add(code, event, kind, values, present, orders, ordered, work, best, waits)
            if waits:
                if same_time and by_time:
                    continue
                greatest = _settle(code, classes, moment, event + 1, work, best)
            moment = event + 1
            if event + 1 < ends[run] and (
                same_time or not (greatest >= ENOUGH or alone[event] or alone[event + 1])
            ):
                continue
            rows_of[made, 0], rows_of[made, 1] = start, event
            finite = True
            for cell in range(cells):
                for row in range(rows):
                    number = work[cell * stride + row]
                    numbers[made, cell * rows + row] = number
                    finite &= np.isfinite(number)
            for place in range(size_least):
                extremes[made, place] = best[place]
            made += 1
            if not finite and _all_finite(values, start, event + 1):
                failed[run] = 1
                break
            start = event + 1
            _identity(code, work, best)
    reached[0], reached[1], reached[2] = made, len(begins), 0


@kernel(borrows=True)
def _stride(rows: int) -> int:
    """Return how far apart cells lie, as many whole parts of `LANES` rows as hold all."""
    return (rows + LANES - 1) // LANES * LANES


@kernel(borrows=True)
def _all_finite(values: Doubles, first: int, stop: int) -> bool:
    for attribute in range(values.shape[0]):
        for event in range(first, stop):
            if not np.isfinite(values[attribute, event]):
                return False
    return True


@kernel(borrows=True)
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
def _add(
    code: Ints,
    event: int,
    kind: int,
    values: Doubles,
    present: Flags,
    orders: Ints,
    ordered: Flags,
    work: Doubles,
    best: Ints,
    waits: int,
) -> float:
    """Add what an event of a class does, of what there is, to that, or to what waits.

    Returns the size of the greatest number it changed.
    """
    stride = _stride(code[ROWS])
    into = waits * code[CELLS]
    greatest = 0.0
    for update in range(code[code[UPDATES] + kind], code[code[UPDATES] + kind + 1]):
        if code[EXTREMES] > 0:
            _compare(code, event, update, orders, ordered, work, best, waits)
        for part in range(0, stride, LANES):
            size = _update(code, event, update, values, present, work, into, stride, part)
            greatest = max(greatest, size)
    return greatest


@kernel(inline=True)
def _update(
    code: Ints,
    event: int,
    update: int,
    values: Doubles,
    present: Flags,
    work: Doubles,
    into: int,
    stride: int,
    part: int,
) -> float:
    """Do what `_add` does of one update, for the `LANES` rows from `part` on.

    Rows know nothing of one another: four numbers at a time go through in registers. Places are
    unsigned, for those below zero would count from the end.
    """
    width, shift = np.uint64(stride), np.uint64(part)
    terms, term = code[TERMS], code[TERM]
    sums, end = code[code[SUMS] + update], code[code[SUMS] + update + 1]
    fresh0 = fresh1 = fresh2 = fresh3 = 0.0
    if part == 0:
        fresh0 = np.float64(code[code[START] + update])
    for t in range(code[terms + sums], code[terms + sums + 1]):
        place = np.uint64(code[term + t]) * width + shift
        fresh0 += work[place]
        fresh1 += work[place + ONE]
        fresh2 += work[place + TWO]
        fresh3 += work[place + THREE]
    target = np.uint64(into + code[code[TARGET] + sums]) * width + shift
    a0, a1 = work[target] + fresh0, work[target + ONE] + fresh1
    a2, a3 = work[target + TWO] + fresh2, work[target + THREE] + fresh3
    work[target], work[target + ONE], work[target + TWO], work[target + THREE] = a0, a1, a2, a3
    greatest = max(a0, a1, a2, a3)  # counts are not negative
    for summed in range(sums + 1, end):
        what = code[code[ADDEND] + summed]
        factor = 1.0 if what != NOTHING else 0.0
        if what >= VALUE:
            attribute = (what - VALUE) >> 1
            if present[attribute, event] == 0:
                factor = 0.0
            elif what & 1 == 0:
                factor = values[attribute, event]
        a0 = factor * fresh0 if fresh0 != 0.0 else 0.0
        a1 = factor * fresh1 if fresh1 != 0.0 else 0.0
        a2 = factor * fresh2 if fresh2 != 0.0 else 0.0
        a3 = factor * fresh3 if fresh3 != 0.0 else 0.0
        for t in range(code[terms + summed], code[terms + summed + 1]):
            place = np.uint64(code[term + t]) * width + shift
            a0 += work[place]
            a1 += work[place + ONE]
            a2 += work[place + TWO]
            a3 += work[place + THREE]
        target = np.uint64(into + code[code[TARGET] + summed]) * width + shift
        a0, a1 = work[target] + a0, work[target + ONE] + a1
        a2, a3 = work[target + TWO] + a2, work[target + THREE] + a3
        work[target], work[target + ONE], work[target + TWO], work[target + THREE] = a0, a1, a2, a3
        greatest = max(greatest, abs(a0), abs(a1), abs(a2), abs(a3))
    return greatest


@kernel(borrows=True)
def _compare(
    code: Ints,
    event: int,
    update: int,
    orders: Ints,
    ordered: Flags,
    work: Doubles,
    best: Ints,
    waits: int,
) -> None:
    """Compare the extremes of a node with those of its predecessors and the event's own values."""
    rows = code[ROWS]
    stride = _stride(rows)
    into = waits * code[EXTREMES] * rows
    fresh = 2 * code[CELLS] * stride
    sums = code[code[SUMS] + update]
    for row in range(rows):
        trends = np.float64(code[code[START] + update]) if row == 0 else 0.0
        for t in range(code[code[TERMS] + sums], code[code[TERMS] + sums + 1]):
            trends += work[code[code[TERM] + t] * stride + row]
        work[fresh + row] = trends
    for number in range(code[code[LEAST] + update], code[code[LEAST] + update + 1]):
        value = FOREVER
        what = code[code[ATTRIBUTE] + number]
        if what >= 0 and ordered[what >> 1, event] != 0:
            value = orders[what >> 1, event]
            if what & 1 == 1:
                value = ~value
        target = into + code[code[LEAST_TARGET] + number] * rows
        for row in range(rows):
            if work[fresh + row] == 0.0:
                continue
            found = value
            for p in range(code[code[COMPARED] + number], code[code[COMPARED] + number + 1]):
                place = code[code[COMPARED_EXTREME] + p]
                cell = code[code[COMPARED_CELL] + p]
                if place >= 0 and work[cell * stride + row] != 0.0:
                    found = min(found, best[place * rows + row])
            best[target + row] = min(best[target + row], found)


@kernel(borrows=True)
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
