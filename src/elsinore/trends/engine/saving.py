"""A store as plain arrays, and back: slots, totals and rows of events in use.

Rows are in pieces of memory with spare room, between pieces that were freed. Only rows in use are
saved, piece after piece; in a loaded store they are packed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from elsinore.trends.engine.constants import LEAF_ROWS, LEVELS, NO_KEY
from elsinore.trends.engine.store import RUN, Store
from elsinore.trends.engine.tables import Program
from elsinore.trends.engine.windows import rebuild

_NOT_SAVED = ("runs", "row_next")  # `runs` are saved with their places: few are in use
_POWERS = ("stored.powers", "added.powers", "rows.powers")  # not read where no slot is scaled
_SNAPSHOTS = ("snapshots",)  # of events that are compared
_FORMS = ("marks", "forms", "form_leasts")  # of bursts whose values are not put in
Ints = NDArray[np.int64]


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
            saved[name] = _as_bytes(array) if array.dtype.names else array
    return saved


def load_store(program: Program, store: Store, saved: dict[str, NDArray[Any]]) -> None:
    """Restore an empty store to what `save_store` returned."""
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
    rebuild(store)


def _load_rows(
    program: Program, store: Store, saved: dict[str, NDArray[Any]], used: NDArray[np.int64]
) -> None:
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
    program: Program,
    store: Store,
    leaves: NDArray[Any],
    places: NDArray[np.int64],
    parts: NDArray[Any],
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


def _as_bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    """Return structs as bytes, one row for each along the first axis."""
    plain = np.ascontiguousarray(array).view(np.ndarray)
    return plain.view(np.uint8).reshape(len(array), -1)


def _fill(arrays: dict[str, NDArray[Any]], saved: dict[str, NDArray[Any]], rows: Any) -> None:
    for name, array in arrays.items():
        if name in saved:
            values = saved[name]
            if array.dtype.names:
                values = values.reshape(-1).view(array.dtype).reshape(-1, *array.shape[1:])
            array[rows] = values
