"""The state of a unit: a slot with lanes for each key, and the totals of closed windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import cython
import numpy as np

from elsinore.operators.conditions.code import Program as Code
from elsinore.operators.conditions.tables import Columns, Conditions, Registers
from elsinore.structs import empty, struct
from elsinore.trends.engine.constants import (
    FOREVER,
    LEAF_ROWS,
    LEVELS,
    NEVER,
    NO_KEY,
    NO_MOMENT,
    Index,
)
from elsinore.trends.engine.numbers import Lanes
from elsinore.trends.engine.tables import RANGE

SLOT = struct(i8="time edge rows moment anchors", i4="key group touched scaled pending")
LEAF = struct(i4="begin count arriving level top")
RUN = struct(i8="newest", i4="begin count")
TOTAL = struct(i8="window", i4="query group")
GRAPHLET = struct(
    i8="left changed opened",
    f8="spread",
    i4="forms sharing alone pending snapshots columns first opening",
)
BURST = struct(i8="time events", f8="limit benefit", i4="queries before is_observed")
COUNTS = struct(
    f8="length observed taken ended put_in columns",
    i8="bursts considered graphlets shared splits merges graphlet_snapshots event_snapshots "
    "most_propagated",
)
RECORD = struct(i8="time events", f8="benefit", i4="number key queries")

FIRST_TOTALS = 64
FIRST_ROWS = 2**10  # of events
_ZEROS = (
    "stored.cells",
    "stored.powers",
    "added.cells",
    "added.powers",
    "snapshots",
    "rows.powers",
)
_BY_COLUMN = ("row_doubles", "row_integers")  # of each column the rows side by side


class StoreShape(NamedTuple):
    """The sizes of a unit's state: per slot, and per row of totals."""

    cells: int
    extremes: int
    lanes: int  # of all blocks
    blocks: int
    kinds: int
    widest: int  # lanes of the widest block
    fields: int
    total_extremes: int
    closing: int  # most totals of the open windows of a slot
    row_blocks: int  # blocks with rows of events
    row_cells: int  # of the widest of them
    gathered: int  # most lanes of a read
    row_extremes: int
    sets: int  # sharing sets
    cohorts: int
    form_places: int  # in forms: growths and weights of all cohorts
    leasts: int  # of all cohorts
    units: int
    forms: int  # most forms of a sharing set
    snapshots: int  # values of snapshots of compared events, of all sharing sets
    row_values: int  # columns that conditions read of earlier events
    negatives: int
    windows: int  # open at once, of all kinds


@cython.cclass
class Store:
    """The slots of keys: lanes, contributions of the latest timestamp, and open windows.

    - `stored`: the lanes of each slot, the sums of events before the latest timestamp; `added`: the
      contributions of the latest timestamp. `work`, `factors`: lanes for intermediate results.
    - `touched[slot, :slots[slot].touched]`: the blocks with contributions, in the lanes
      `ranges[slot, block]`; `emptied[slot, lane]`: lanes that the timestamp empties.
    - `first[slot, kind]` to `last[slot, kind]`: the open windows; `opened[slot, lane]`: the first
      moment of each.
    - `latest[slot, negative]`: the latest beginning of a negative's matches that have ended, as a
      moment; -1 without any.
    - `totals[:total_count]`, with `total_cells` and so on: a row for each (query, group, window);
      `places` is its hash table.
    - `leaves[slot, block]`, `runs[slot, block]`: the places of the rows of blocks with rows, in
      `row_orders`, `rows` and so on (`elsinore.trends.engine.rows`); each sum has the first
      `row_columns[row]` lanes, and 0 in the others.
    - `snapshots[slot]`: for each sharing set whose events are compared, the values of its
      snapshots, one after another (`elsinore.trends.engine.sharing.edges`).
    - `bursts[slot, set]`, `graphlets[slot, set]`: the current burst and its shared graphlet, in
      which a cohort takes part if `shares[slot, cohort]` is 1. The effect of a burst on each cohort
      is `forms[slot, form]` and `form_leasts[slot, form]`: first of earlier bursts, the first
      `marks[slot, unit]` of which have been put into the lanes of a unit, then of the current
      burst, and last of the latest timestamp (`elsinore.trends.engine.sharing.snapshots`).
      `counts[set]`: the statistics of all bursts of a set.
    """

    def __init__(
        self,
        shape: StoreShape,
        ordered: cython.bint,
        one_slot: cython.bint,
        mode: cython.int = 0,
    ) -> None:
        self.shape = shape
        self.ordered = ordered
        self.one_slot = one_slot
        self.matched = 0
        self.most_totals = shape.closing
        self.mode = mode
        self.counts = empty(COUNTS, shape.sets)
        self.separate = np.zeros(shape.cohorts)
        self.put_prices = np.zeros(shape.cohorts)
        self.composed = np.zeros((shape.forms + 1, shape.form_places))
        self.composed_powers = np.zeros((shape.forms + 1, shape.cohorts))
        self.composed_leasts = np.zeros((shape.forms + 1, shape.leasts), np.int64)
        self.chosen = np.zeros(shape.cohorts, np.uint8)
        self.stored, self.added, self.rows = Lanes(0, 0), Lanes(0, 0), Lanes(0, 0)
        self.work = Lanes(2, max(shape.widest, 1))
        self.factors = Lanes(2, max(shape.widest, 1))
        self.record_count = 0
        self.records = empty(RECORD, 0)
        self.grow_reads(1)
        self.seen = np.zeros(0, np.uint8)
        self.row = -1
        self.needs_rows = False
        self.low = NO_MOMENT
        self.high = FOREVER
        self.conditions = Conditions(Code(), (), ())
        self.registers = Registers(0, 0, 0)
        self.anchor_columns = np.zeros(shape.row_values, np.uint8)
        self.row_top = 0
        self.free = np.full(LEVELS, -1, np.int32)
        self._take_rows(_empty_rows(shape, FIRST_ROWS if shape.row_blocks else 0))
        self.per_slot = self._take(_empty_slots(shape, 0))
        self.total_count = 0
        self.per_total = self._take(_empty_totals(shape, FIRST_TOTALS))

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def _take(self, arrays: dict[str, Any]) -> dict[str, Any]:
        """Make arrays fields, and return them."""
        for name, array in arrays.items():
            owner, _, field = name.rpartition(".")
            to = getattr(self, owner) if owner else self
            setattr(to, field, array.T if name in _BY_COLUMN else array)
        return arrays

    def _take_rows(self, arrays: dict[str, Any]) -> None:
        self.per_row = self._take(arrays)
        self.earlier = Columns(self.row_doubles, self.row_integers)
        self.sorted_rows = np.zeros(len(arrays["row_next"]), np.int32)

    def grow_records(self, count: Index) -> None:
        """Make room for `count` more records of bursts."""
        records = empty(RECORD, self.record_count + count)
        records[: self.record_count] = np.asarray(self.records)[: self.record_count]
        self.records = records

    def grow_reads(self, count: Index) -> None:
        """Make room for what `count` reads of a step gather."""
        self.gathered = Lanes(count, self.shape.gathered, self.shape.row_extremes)

    def grow_classes(self, count: Index) -> None:
        """Make room in `seen` for each class of events: whether an event of it has come."""
        seen = np.zeros(count, np.uint8)
        seen[: len(self.seen)] = self.seen
        self.seen = seen

    def row_arrays(self) -> dict[str, Any]:
        """Return the arrays of rows of events, those in use only."""
        return {name: array[: self.row_top] for name, array in self.per_row.items()}

    def grow_rows(self, count: Index) -> None:
        """Make room for at least `count` rows of events."""
        size = len(self.row_orders)
        while size < count:
            size *= 2
        arrays = _empty_rows(self.shape, size)
        _copy(self.row_arrays(), arrays)
        self._take_rows(arrays)

    def total_arrays(self) -> dict[str, Any]:
        """Return the arrays with a row for each total, those in use only."""
        arrays = self.per_total.items()
        return {name: a[: self.total_count] for name, a in arrays if name != "places"}

    def grow_slots(self, count: Index) -> None:
        """Make at least `count` slots."""
        have = len(self.slots)
        if count > have:
            arrays = _empty_slots(self.shape, max(count, 2 * have))
            _copy(self.per_slot, arrays)
            self.per_slot = self._take(arrays)

    def grow_totals(self, expected: int) -> None:
        """Make room for an expected number of totals, at least for those of a closing slot.

        The expectation is an estimate by the first keys: it counts up to 16 times the present room.
        """
        rows = len(self.totals)
        while rows < max(self.total_count + self.most_totals, min(expected, 16 * len(self.totals))):
            rows *= 2
        self.set_totals(self.total_arrays(), rows)

    def set_totals(self, arrays: dict[str, Any], rows: int) -> None:
        """Replace the totals; `rows` is a power of two. `rebuild` of `totals` fills `places`."""
        taken = _empty_totals(self.shape, rows)
        _copy(arrays, taken)
        self.total_count = len(arrays["totals"])
        self.per_total = self._take(taken)

    def release(self, slots: Any) -> None:
        """Reset slots to their state before their first key."""
        empty = _empty_slots(self.shape, 1)
        for name, array in self.per_slot.items():
            array[slots] = empty[name][0]

    @property
    def nbytes(self) -> int:
        """The memory that the state takes."""
        parts = (self.per_slot, self.per_row, self.per_total)
        return sum(array.nbytes for arrays in parts for array in arrays.values())


@cython.nogil
def touch(store: Store, slot: Index, block: Index, begin: Index, end: Index) -> cython.void:
    """Mark lanes of a block as having something to store at the end of the timestamp."""
    if store.ranges[slot, block].end == 0:
        store.touched[slot, store.slots[slot].touched] = block
        store.slots[slot].touched += 1
        store.ranges[slot, block].begin = begin
        store.ranges[slot, block].end = end
    else:
        store.ranges[slot, block].begin = min(store.ranges[slot, block].begin, begin)
        store.ranges[slot, block].end = max(store.ranges[slot, block].end, end)


def bytes_per_slot(shape: StoreShape) -> int:
    """Return the memory of a slot with few rows of events."""
    parts = (_empty_slots(shape, 1), *(_empty_rows(shape, LEAF_ROWS),) * shape.row_blocks)
    return sum(array.nbytes for arrays in parts for array in arrays.values())


def _copy(arrays: dict[str, Any], to: dict[str, Any]) -> None:
    for name, array in arrays.items():
        if name not in _ZEROS or array.any():  # memory that is never written is not allocated
            to[name][: len(array)] = array


def _empty_slots(shape: StoreShape, count: int) -> dict[str, Any]:
    slots = empty(SLOT, count)
    slots["time"], slots["edge"], slots["key"], slots["group"] = NEVER, NEVER, NO_KEY, NO_KEY
    leaves = np.zeros((count, shape.row_blocks), LEAF)
    leaves["level"] = -1
    graphlets = np.zeros((count, shape.sets), GRAPHLET)
    graphlets["left"] = NEVER
    graphlets["changed"] = graphlets["opened"] = graphlets["opening"] = NO_MOMENT
    return {
        "slots": slots,
        "stored.cells": np.zeros((count, shape.cells)),
        "stored.powers": np.zeros((count, shape.cells)),
        "stored.extremes": np.full((count, shape.extremes), FOREVER, np.int64),
        "added.cells": np.zeros((count, shape.cells)),
        "added.powers": np.zeros((count, shape.cells)),
        "added.extremes": np.full((count, shape.extremes), FOREVER, np.int64),
        "emptied": np.zeros((count, shape.lanes), np.uint8),
        "touched": np.zeros((count, shape.blocks), np.int32),
        "ranges": np.zeros((count, shape.blocks), RANGE).view(np.recarray),
        "first": np.zeros((count, shape.kinds), np.int64),
        "last": np.full((count, shape.kinds), -1, np.int64),
        "leaves": leaves.view(np.recarray),
        "runs": np.zeros((count, shape.row_blocks, LEVELS), RUN).view(np.recarray),
        "graphlets": graphlets.view(np.recarray),
        "shares": np.zeros((count, shape.cohorts), np.uint8),
        "marks": np.zeros((count, shape.units), np.uint8),
        "forms": np.zeros((count, shape.forms + 2, shape.form_places)),
        "form_leasts": np.zeros((count, shape.forms + 2, shape.leasts), np.int64),
        "snapshots": np.zeros((count, shape.snapshots)),
        "bursts": np.zeros((count, shape.sets), BURST).view(np.recarray),
        "latest": np.full((count, shape.negatives), NO_MOMENT, np.int64),
        "opened": np.zeros((count, shape.windows), np.int64),
    }


def _empty_rows(shape: StoreShape, rows: int) -> dict[str, Any]:
    return {
        "row_orders": np.zeros(rows, np.int64),
        "row_moments": np.zeros(rows, np.int64),
        "row_anchors": np.zeros(rows, np.int64),
        "row_ordered": np.zeros(rows, np.uint8),
        "row_taken": np.zeros(rows, np.uint8),
        "rows.cells": np.zeros((rows, shape.row_cells)),
        "rows.powers": np.zeros((rows, shape.row_cells)),
        "rows.extremes": np.zeros((rows, shape.row_extremes), np.int64),
        "row_columns": np.zeros(rows, np.int32),
        "row_next": np.zeros(rows, np.int32),
        # of each column the rows side by side
        "row_doubles": np.zeros((shape.row_values, rows)).T,
        "row_integers": np.zeros((shape.row_values, rows), np.int64).T,
    }


def _empty_totals(shape: StoreShape, rows: int) -> dict[str, Any]:
    return {
        "totals": empty(TOTAL, rows),
        "total_cells": np.zeros((rows, shape.fields)),
        "total_powers": np.zeros((rows, shape.fields)),
        "total_extremes": np.full((rows, shape.total_extremes), FOREVER, np.int64),
        "places": np.full(2 * rows, -1, np.int32),
    }
