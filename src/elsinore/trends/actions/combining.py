"""The first stage: stretches of one key's events in one pane, each to an action.

The trend engine runs over them, with the rows of an action as lanes: where a window's lane begins
with no trends, that of a row begins with one that ends in the row's node. Numbers leave it as plain
doubles: a stretch ends, and the next begins, before they grow beyond a double's range. A fold lets
one act after the other, which is what both are together.
"""

# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.arrow import to_numpy
from elsinore.kernels import Store
from elsinore.kernels.pointers import pointed
from elsinore.operators.panes import Stretches
from elsinore.trends.actions.shape import ActionShape, Places
from elsinore.trends.core.arrays import ALONE, FOREVER, NEVER, Columns, Doubles, Ints
from elsinore.trends.core.numbers import LIMIT
from elsinore.trends.core.wide import wide_kernel
from elsinore.trends.keyed import occurring
from elsinore.trends.sums.moments import end_waiting
from elsinore.trends.sums.run import DONE, OF_NO_INTEREST, run
from elsinore.trends.sums.store import new_store
from elsinore.trends.values.columns import (
    addend_columns,
    event_by_event,
    out_of_order,
    ranks_by_event,
)
from elsinore.trends.values.shifts import Shifts

Flags = NDArray[np.uint8]

FEW_CLASSES = 1 << 10  # that are told by a table
SPARE = 16  # stretches that there is room for beside one of each run
FEW = 256  # events between looks at numbers: these grow from below 2**512 to not much above 2**768
ALL = 1 << 60  # events of a stretch
KEY = np.int64(0)  # of all events; its slot


class Made(NamedTuple):
    """Stretches: first and last row, and actions as doubles and, the same memory, whole numbers.

    `failed` are runs; `reached` is the number of stretches, and the run and the row to go on from
    where there was no more room for them, or for what waits.
    """

    rows_of: Ints
    numbers: Doubles
    words: Ints
    failed: Flags
    reached: Ints


class Actions:
    """Computes the actions of stretches of events."""

    def __init__(self, shape: ActionShape, *, ordered: bool) -> None:
        """Make it for actions of a shape; `ordered`: simultaneous events are in an order."""
        self._shape = shape
        self._ordered = ordered

    @cached_property
    def _store(self) -> Store:
        """What the engine keeps of one key, in whose slot an action comes to be."""
        prepared, ordered = self._shape.prepared, self._ordered
        store = new_store(
            prepared.updates,
            prepared.layout,
            prepared.shared,
            prepared.totals,
            gains=not ordered,
            record=False,
        )
        store["one_slot"], store["ordered"] = True, ordered
        store["key"], store["edge"] = KEY, FOREVER
        return store

    def of(self, begins: Ints, ends: Ints, batch: pa.RecordBatch) -> Stretches:
        """Return the actions of runs of rows, each of one key and pane, whole moments, in order.

        A run whose numbers leave the range of doubles within a moment has none: `Stretches.failed`.
        """
        shape, failed = self._shape, np.zeros(len(begins), np.bool_)
        if not len(begins):
            none = np.zeros(0, np.int64)
            return Stretches(none, none, np.zeros((0, shape.bytes), np.uint8), failed)
        columns, shifts = self._read(batch, begins, ends)
        pieces: list[tuple[Ints, Doubles]] = []
        turn, start = 0, int(begins[0])
        while turn < len(begins):  # as often as there is no more room
            remaining = begins[turn:].copy()
            remaining[0] = start
            most = len(remaining) + SPARE
            actions = np.empty((most, shape.bytes // 8))
            made = Made(
                np.empty((most, 2), np.int64),
                actions,
                actions.view(np.int64),
                np.zeros(len(remaining), np.uint8),
                np.zeros(3, np.int64),
            )
            header, ints, doubles = self._store.entered
            memory = header, ints, doubles, shape.prepared.words
            combine(*memory, columns, remaining, ends[turn:], shape.places, made)
            count, done, start = made.reached.tolist()
            pieces.append((made.rows_of[:count], actions[:count]))
            failed[turn : turn + len(remaining)] |= made.failed.astype(np.bool_)
            turn += done
            if count < most and done < len(remaining):
                self._make_room(columns)
        bounds, actions = (
            pieces[0] if len(pieces) == 1 else map(np.concatenate, zip(*pieces, strict=True))
        )
        if failed.any() or shape.unit.squared:
            run_of = np.searchsorted(begins, bounds[:, 0], side="right") - 1
            whole = ~failed[run_of]
            bounds, actions = bounds[whole], actions[whole]
            actions[:, actions.shape[1] - shifts.shape[1] :] = shifts[run_of[whole]]
        return Stretches(bounds[:, 0], bounds[:, 1], actions.view(np.uint8), failed)

    def _make_room(self, columns: Columns) -> None:
        """Have room for more that waits; raise InputError where no moment is of so many events."""
        room = self._store.length("run")
        if room > len(columns.times):
            raise out_of_order(columns.times[self._store["begin"]])
        self._store.grow(run=2 * room)

    def _read(self, batch: pa.RecordBatch, begins: Ints, ends: Ints) -> tuple[Columns, Doubles]:
        """Return a batch's columns as kernels read them, and its shifts.

        A shift is what deviations are from, in all turns: [run, place in `unit.squared`], NaN where
        there is no value. A run's events are in the same windows.
        """
        unit, prepared, rows = self._shape.unit, self._shape.prepared, batch.num_rows
        codes = np.ascontiguousarray(to_numpy(batch.column("class")), dtype=np.int64)
        occur = occurring(codes)
        known = np.array(prepared.places(occur.tolist()), np.int64)
        self._store.grow(class_number=prepared.classes)
        if len(occur) and occur[-1] < FEW_CLASSES:
            table = np.full(occur[-1] + 1, OF_NO_INTEREST)
            table[occur], known = known, table
        else:
            codes = np.where(codes < 0, -1, np.searchsorted(occur, codes))
        runs = np.full(rows, -1, np.int64)
        if unit.squared:
            for number, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True)):
                runs[begin:end] = number
        shifts, ranks = Shifts(unit), prepared.updates.ranks
        addends = addend_columns(unit, batch, runs, shifts, by_epoch=False)
        none = np.full(rows, KEY, np.int32)
        columns = Columns(
            np.ascontiguousarray(to_numpy(batch.column("time")), dtype=np.int64),
            none,
            none,
            codes,
            known,
            event_by_event(*addends),
            ranks_by_event(unit, batch, ranks) if ranks else np.empty(0, np.int64),
        )
        return columns, shifts.of_groups(len(begins))


@wide_kernel
def combine(
    headers: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    columns: Columns,
    begins: Ints,
    ends: Ints,
    places: Places,
    into: Made,
) -> None:
    """Find the stretches of runs of rows: first and last row, numbers, extremes; failed runs.

    Rows begins[turn] to ends[turn] - 1 are a run's. Where a stretch's numbers are beyond the range
    of doubles it is tried again with half as many events, down to a moment's.
    """
    header = headers[0]
    ints, doubles, program = pointed(ints), pointed(doubles), pointed(program)
    times, addends = columns.times, columns.addends
    events = Columns(
        pointed(times),
        pointed(columns.keys),
        pointed(columns.groups),
        pointed(columns.codes),
        pointed(columns.known),
        pointed(addends),
        pointed(columns.ranks),
    )
    made, most, turn = 0, ALL, 0
    while turn < len(begins):
        start, end = begins[turn], ends[turn]
        while start < end and made < len(into.rows_of):
            _begin(header, ints, doubles, places)
            stop = _act(header, ints, doubles, program, events, start, end, most)
            if stop < 0:
                break
            finite = _put(header, ints, doubles, places, into, made)
            is_moment = stop - start == 1 or (
                header.ordered == 0 and times[start] == times[stop - 1]
            )
            if not finite and not is_moment:
                most = min(most, stop - start) // 2
                continue
            if not finite and _all_finite(addends, start * header.addend, stop * header.addend):
                into.failed[turn] = 1
                start = end
                break
            into.rows_of[made, 0], into.rows_of[made, 1] = start, stop - 1
            made, start, most = made + 1, stop, min(2 * most, ALL)
        if start < end:
            into.reached[2] = start
            break
        turn += 1
    into.reached[0], into.reached[1] = made, turn


@wide_kernel(inline=True)
def _begin(header: Any, ints: Ints, doubles: Doubles, places: Places) -> None:
    """Make the slot the action of no events."""
    for place in range(np.uint64(header.cells), np.uint64(header.cells + header.cell)):
        doubles[place] = 0.0
    if ints[header.big] != 0:
        for place in range(np.uint64(header.powers), np.uint64(header.powers + header.cell)):
            doubles[place] = 0.0
        ints[header.big] = 0
    for place in range(np.uint64(header.extremes), np.uint64(header.extremes + header.extreme)):
        ints[place] = FOREVER
    for cell in places.ones:
        doubles[header.cells + cell] = 1.0
    ints[header.time] = NEVER


@wide_kernel(inline=True)
def _act(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    events: Columns,
    start: int,
    end: int,
    most: int,
) -> int:
    """Let events from `start` on act until some number has a power; return the first that does not.

    They are `most`, or a whole moment. Returns -1 where there is no room for one.
    """
    at, last = start, min(end, start + most)
    while at < last and ints[header.big] == 0:
        stop = min(at + FEW, last)
        while header.ordered == 0 and stop < end and events.times[stop] == events.times[stop - 1]:
            stop += 1
        header.begin, header.end = at, stop
        how = run(header, ints, doubles, program, events, ALONE)
        if ints[header.waiting] != 0:
            end_waiting(header, ints, doubles, program, KEY, ALONE)
        if how != DONE:
            return -1
        at = stop
    return at


@wide_kernel(inline=True)
def _put(header: Any, ints: Ints, doubles: Doubles, places: Places, into: Made, made: int) -> bool:
    """Write what the slot holds as a stretch's action; return whether all of it is finite."""
    big, finite = ints[header.big] != 0, True
    for place, cell in enumerate(places.numbers):
        number = doubles[header.cells + cell]
        if big and doubles[header.powers + cell] != 0.0:
            number *= LIMIT if doubles[header.powers + cell] == 1.0 else np.inf
        into.numbers[made, place] = number
        finite &= np.isfinite(number)
    numbers = len(places.numbers)
    for place, extreme in enumerate(places.extremes):
        into.words[made, numbers + place] = ints[header.extremes + extreme]
    return finite


@wide_kernel(inline=True)
def _all_finite(numbers: Doubles, first: int, stop: int) -> bool:
    finite = True
    for place in range(first, stop):
        finite &= np.isfinite(numbers[place])
    return finite
