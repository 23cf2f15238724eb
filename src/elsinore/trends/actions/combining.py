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
        huge = ~(np.abs(self.values) < HUGE)
        if huge.any():
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
        found: list[tuple[Ints, Ints, Doubles, Ints]] = []
        run, start = 0, int(begins[0]) if len(begins) else 0
        while run < len(begins):  # as often as there is no more room for stretches
            rest = begins[run:].copy()
            rest[0] = start
            first, last, numbers, least, lost, done, start = combine(
                of.code, rest, ends[run:], of.times, of.classes, of.values, of.present,
                of.orders, of.ordered, of.alone, not self._ordered,
            )  # fmt: skip
            found.append((first, last, numbers, least))
            failed[run : run + len(lost)] |= lost.astype(np.bool_)
            run += done
        if not found:
            none = np.zeros(0, np.int64)
            return Stretches(none, none, np.zeros((0, self._shape.bytes), np.uint8), failed)
        first, last, numbers, least = map(np.concatenate, zip(*found, strict=True))
        run_of = np.searchsorted(begins, first, side="right") - 1
        whole = ~failed[run_of]
        shifts = np.ascontiguousarray(of.shifts[run_of[whole]])
        parts = [part.view(np.uint8) for part in (numbers[whole], least[whole], shifts)]
        return Stretches(first[whole], last[whole], np.concatenate(parts, axis=1), failed)


@kernel
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
) -> tuple[Ints, Ints, Doubles, Ints, Flags, int, int]:
    """Return the stretches of runs of rows: first and last row, numbers, extremes; failed runs.

    Rows begins[run] to ends[run] - 1 are a run's. [stretch, cell * rows + row] -> number, and
    likewise extremes. A moment that is `alone` is a stretch. Events of one moment read what was
    there before it: what they add waits until the moment ends, and so do resets, which come before.
    The last two are the run and the row to go on from, where there was no more room for stretches.
    """
    rows = code[ROWS]
    size, size_least = code[CELLS] * rows, code[EXTREMES] * rows
    # what there is, what waits for the end of its moment, and room for two rows of numbers
    work = np.zeros(2 * size + 2 * rows)
    best = np.full(2 * size_least, FOREVER)
    made = 0
    room = len(begins) + SPARE
    first, last = np.empty(room, np.int64), np.empty(room, np.int64)
    numbers = np.empty((room, size))
    extremes = np.empty((room, size_least), np.int64)
    failed = np.zeros(len(begins), np.uint8)
    for run in range(len(begins)):
        start = moment = begins[run]
        if made == len(first):
            return first, last, numbers, extremes, failed, run, start
        _identity(code, work, best)
        for event in range(begins[run], ends[run]):
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
            first[made], last[made] = start, event
            finite = True
            for place in range(size):
                numbers[made, place] = work[place]
                finite &= np.isfinite(work[place])
            for place in range(size_least):
                extremes[made, place] = best[place]
            made += 1
            if not finite and _all_finite(values, start, event + 1):
                failed[run] = 1
                break
            start = event + 1
            if made == len(first) and start < ends[run]:
                return first, last, numbers, extremes, failed, run, start
            _identity(code, work, best)
    runs = len(begins)
    return first[:made], last[:made], numbers[:made], extremes[:made], failed, runs, 0


@kernel
def _all_finite(values: Doubles, first: int, stop: int) -> bool:
    for attribute in range(values.shape[0]):
        for event in range(first, stop):
            if not np.isfinite(values[attribute, event]):
                return False
    return True


@kernel
def _identity(code: Ints, work: Doubles, best: Ints) -> None:
    """Make the action of no events."""
    rows = code[ROWS]
    for place in range(code[CELLS] * rows):
        work[place] = 0.0
    for place in range(code[EXTREMES] * rows):
        best[place] = FOREVER
    for node in range(rows - 1):
        work[code[code[FIRST_CELL] + node] * rows + node + 1] = 1.0


@kernel
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
    rows, sums_of, targets, addends = code[ROWS], code[SUMS], code[TARGET], code[ADDEND]
    terms, term = code[TERMS], code[TERM]
    into = waits * code[CELLS] * rows
    fresh = 2 * code[CELLS] * rows
    total = fresh + rows
    greatest = 0.0
    for update in range(code[code[UPDATES] + kind], code[code[UPDATES] + kind + 1]):
        sums, end = code[sums_of + update], code[sums_of + update + 1]
        for row in range(rows):
            work[fresh + row] = 0.0
        work[fresh] = code[code[START] + update]
        for t in range(code[terms + sums], code[terms + sums + 1]):
            begin = code[term + t] * rows
            for row in range(rows):
                work[fresh + row] += work[begin + row]
        if code[EXTREMES] > 0:
            _compare(code, event, update, orders, ordered, work, best, waits)
        target = into + code[targets + sums] * rows
        for row in range(rows):
            number = work[target + row] + work[fresh + row]
            work[target + row] = number
            greatest = max(greatest, number)  # counts are not negative
        for summed in range(sums + 1, end):
            target = into + code[targets + summed] * rows
            what = code[addends + summed]
            factor = 1.0 if what != NOTHING else 0.0
            if what >= VALUE:
                attribute = (what - VALUE) >> 1
                if present[attribute, event] == 0:
                    factor = 0.0
                elif what & 1 == 0:
                    factor = values[attribute, event]
            for row in range(rows):
                number = work[fresh + row]
                work[total + row] = factor * number if number != 0.0 else 0.0
            for t in range(code[terms + summed], code[terms + summed + 1]):
                begin = code[term + t] * rows
                for row in range(rows):
                    work[total + row] += work[begin + row]
            for row in range(rows):
                number = work[target + row] + work[total + row]
                work[target + row] = number
                greatest = max(greatest, abs(number))
    return greatest


@kernel
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
    into = waits * code[EXTREMES] * rows
    fresh = 2 * code[CELLS] * rows
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
                if place >= 0 and work[cell * rows + row] != 0.0:
                    found = min(found, best[place * rows + row])
            best[target + row] = min(best[target + row], found)


@kernel
def _settle(code: Ints, classes: Ints, first: int, stop: int, work: Doubles, best: Ints) -> float:
    """End a moment of some events; return the size of the greatest number that they changed."""
    rows = code[ROWS]
    size, size_least = code[CELLS] * rows, code[EXTREMES] * rows
    for event in range(first, stop):
        kind = classes[event]
        for reset in range(code[code[RESETS] + kind], code[code[RESETS] + kind + 1]):
            node = code[code[EMPTIED] + reset]
            begin, end = code[code[FIRST_CELL] + node], code[code[FIRST_CELL] + node + 1]
            for place in range(begin * rows, end * rows):
                work[place] = 0.0
            begin, end = code[code[FIRST_EXTREME] + node], code[code[FIRST_EXTREME] + node + 1]
            for place in range(begin * rows, end * rows):
                best[place] = FOREVER
    greatest = 0.0
    for event in range(first, stop):
        kind = classes[event]
        for update in range(code[code[UPDATES] + kind], code[code[UPDATES] + kind + 1]):
            for number in range(code[code[SUMS] + update], code[code[SUMS] + update + 1]):
                begin = code[code[TARGET] + number] * rows
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
