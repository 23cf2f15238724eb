"""The state of a unit: a slot with lanes for each key, the totals of closed windows, and saving.

Rows of events are in pieces of memory with spare room, between pieces that were freed. Only rows in
use are saved, piece after piece; in a loaded store they are packed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import cython
import numpy as np
from numpy.typing import NDArray

from elsinore.operators.conditions.code import Program as Code
from elsinore.operators.conditions.tables import Columns, Conditions, Registers
from elsinore.structs import as_bytes, empty, struct
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
from elsinore.trends.engine.tables import RANGE, Program, StoreShape

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
_POWERS = ("stored.powers", "added.powers", "rows.powers")  # not read where no slot is scaled
_ZEROS = ("stored.cells", "added.cells", "snapshots", *_POWERS)
_BY_COLUMN = ("row_doubles", "row_integers")  # of each column the rows side by side
_NOT_SAVED = ("runs", "row_next")  # `runs` are saved with their places: few are in use
_SNAPSHOTS = ("snapshots",)  # of events that are compared
_FORMS = ("marks", "forms", "form_leasts")  # of bursts whose values are not put in
Ints = NDArray[np.int64]


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
        self, shape: StoreShape, ordered: cython.bint, one_slot: cython.bint, mode: cython.int = 0
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


class Pieces(NamedTuple):
    """The pieces of rows in use: first those of leaves, then those of runs."""

    begins: Ints
    counts: Ints  # rows in use
    sizes: Ints  # rows that a piece has room for

    def rows(self) -> Ints:
        """Return the rows in use of all pieces."""
        ends = self.counts.cumsum()
        return np.repeat(self.begins - ends + self.counts, self.counts) + np.arange(
            self.counts.sum()
        )


def save_store(program: Program, store: Store) -> dict[str, NDArray[Any]]:
    """Return the state as plain arrays."""
    slots = store.per_slot["slots"]
    used = np.flatnonzero(slots["key"] != NO_KEY)
    saved: dict[str, NDArray[Any]] = {
        "used": used,
        "size": np.array([len(slots), store.matched]),
    }
    skipped: tuple[str, ...] = _NOT_SAVED
    if not slots["scaled"][used].any():
        skipped += _POWERS
    graphlets = store.per_slot["graphlets"][used]
    if not (graphlets["forms"].any() or graphlets["sharing"].any()):
        skipped += _FORMS
    if not graphlets["columns"].any():
        skipped += _SNAPSHOTS
    arrays = {name: array[used] for name, array in store.per_slot.items()}
    if store.shape.row_blocks:
        runs = store.per_slot["runs"][used].reshape(-1)
        places = np.flatnonzero(runs["count"])
        saved["run_places"], arrays["run_parts"] = places, runs[places]
        rows = _pieces(program, store, arrays["leaves"], places, runs[places]).rows()
        arrays |= {name: array[rows] for name, array in store.row_arrays().items()}
    arrays |= store.total_arrays() | {"counts": np.asarray(store.counts)}
    for name, array in arrays.items():
        if name not in skipped and array.size:
            saved[name] = as_bytes(array) if array.dtype.names else array
    return saved


def load_store(program: Program, store: Store, saved: dict[str, NDArray[Any]]) -> None:
    """Restore an empty store to what `save_store` returned, but for the places of totals."""
    used = saved["used"]
    store.matched = int(saved["size"][1])
    store.grow_slots(int(saved["size"][0]))
    _fill(store.per_slot, saved, used)
    _fill({"counts": np.asarray(store.counts)}, saved, slice(None))
    if "run_places" in saved:
        _load_rows(program, store, saved, used)
    count, room = (len(saved["totals"]) if "totals" in saved else 0), len(store.totals)
    while room < count + store.most_totals:
        room *= 2
    store.set_totals(store.total_arrays(), room)
    store.total_count = count
    _fill(store.total_arrays(), saved, slice(0, count))


def _load_rows(program: Program, store: Store, saved: dict[str, NDArray[Any]], used: Ints) -> None:
    """Restore rows, packing their pieces."""
    leaves, places = store.per_slot["leaves"][used], saved["run_places"]
    parts = saved["run_parts"].reshape(-1).view(RUN) if len(places) else np.zeros(0, RUN)
    pieces = _pieces(program, store, leaves, places, parts)
    begins = pieces.sizes.cumsum() - pieces.sizes
    has_leaf = leaves["level"] >= 0
    count = int(has_leaf.sum())
    leaves["begin"][has_leaf], parts["begin"] = begins[:count], begins[count:]
    store.per_slot["leaves"][used] = leaves
    runs = np.zeros((len(used), store.shape.row_blocks, LEVELS), RUN)
    runs.reshape(-1)[places] = parts
    store.per_slot["runs"][used] = runs
    top = int(pieces.sizes.sum())
    store.grow_rows(2 * top)
    store.row_top = top
    _fill(store.row_arrays(), saved, pieces._replace(begins=begins).rows())


def _pieces(
    program: Program, store: Store, leaves: NDArray[Any], places: Ints, parts: NDArray[Any]
) -> Pieces:
    """Return the pieces of leaves, and of runs at places in [slot, block with rows, level]."""
    blocks = np.asarray(program.blocks)
    is_rising = blocks["is_rising"][blocks["rows"] >= 0] != 0
    rows, level = places // LEVELS % store.shape.row_blocks, places % LEVELS
    has_leaf = leaves["level"] >= 0
    leaves = leaves[has_leaf]
    return Pieces(
        np.concatenate([leaves["begin"], parts["begin"]]).astype(np.int64),
        np.concatenate(
            [leaves["count"] + leaves["arriving"], parts["count"] * np.where(is_rising[rows], 1, 2)]
        ).astype(np.int64),
        LEAF_ROWS << np.concatenate([leaves["level"], level]).astype(np.int64),
    )


def _fill(arrays: dict[str, NDArray[Any]], saved: dict[str, NDArray[Any]], rows: Any) -> None:
    for name, array in arrays.items():
        if name in saved:
            values = saved[name]
            if array.dtype.names:
                values = values.reshape(-1).view(array.dtype).reshape(-1, *array.shape[1:])
            array[rows] = values
