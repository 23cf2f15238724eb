"""The first stage: stretches of one key's events in one pane, each to an action.

The trend engine runs over them: each stretch is a key of its own, and the rows of an action are its
lanes. Where a window's lane begins with no trends, that of a row begins with one that ends in the
row's node.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.arrow import numbers_of, to_numpy
from elsinore.trends.actions.shape import ActionShape, Ints
from elsinore.trends.engine.constants import FOREVER, NO_SHARING, UNKNOWN
from elsinore.trends.engine.process import process, store_all_moments
from elsinore.trends.engine.store import Store
from elsinore.trends.engine.tables import Batch, Program, no_attributes
from elsinore.trends.values.columns import (
    addend_columns,
    great_addends,
    out_of_order,
    rank_columns,
)
from elsinore.trends.values.shifts import Shifts

MOST_BYTES = 2**24  # of slots: so many stretches are worked on at once


class Actions:
    """Computes the actions of runs of events."""

    def __init__(self, shape: ActionShape, *, ordered: bool) -> None:
        """Make it for actions of a shape; `ordered`: simultaneous events are in an order."""
        self._shape = shape
        self._ordered = ordered

    def actions_of(self, begins: Ints, ends: Ints, batch: pa.RecordBatch) -> NDArray[np.uint8]:
        """Return the actions [run, byte] of runs of rows, each of one key and pane."""
        shape = self._shape
        columns, shifts = self._read(batch, begins, ends)
        actions = np.empty(len(begins), shape.dtype)
        actions["shifts"] = shifts
        count = max(1, MOST_BYTES // shape.bytes_per_slot)
        for at in range(0, len(begins), count):
            some = slice(at, at + count)
            self._fill(actions[some], begins[some], ends[some], columns)
        return actions.view(np.uint8).reshape(len(begins), shape.dtype.itemsize)

    def _fill(
        self, actions: NDArray[Any], begins: Ints, ends: Ints, columns: dict[str, Any]
    ) -> None:
        """Fill in the actions of runs, each of which has a slot of its own."""
        shape, builder, count = self._shape, self._shape.builder, len(begins)
        store = Store(builder.shape(0), self._ordered, one_slot=False, mode=NO_SHARING)
        store.grow_slots(count)
        store.per_slot["slots"]["key"], store.per_slot["slots"]["edge"] = 0, FOREVER
        store.per_slot["stored.cells"][:, shape.places.ones] = 1.0
        event, end = int(begins.min()), int(ends.max())
        lengths = ends - begins
        before = lengths.cumsum() - lengths
        rows = np.repeat(begins - before, lengths) + np.arange(lengths.sum())
        slots = np.full(end, -1, np.int32)
        slots[rows] = np.repeat(np.arange(count, dtype=np.int32), lengths)
        codes = columns["codes"][:end]
        more = {"slots": slots, "keys": np.minimum(slots, 0), "groups": slots, "codes": codes}
        batch = Batch(columns | more)
        program = self._tables(store)
        while (event := process(program, store, batch, event)) < len(codes):
            if program.known[codes[event]] != UNKNOWN:
                raise out_of_order(batch.times[event])
            seen = np.unique(codes[event:])
            builder.add_classes(seen[seen >= 0].tolist())
            program = self._tables(store)
        store_all_moments(program, store)
        numbers = shape.places.numbers
        mantissas = store.per_slot["stored.cells"][:count, numbers]
        actions["mantissas"], actions["powers"] = mantissas, 0
        is_finite = np.isfinite(mantissas)
        powers = store.per_slot["stored.powers"][:count, numbers]
        np.copyto(actions["powers"], powers, where=is_finite, casting="unsafe")
        actions["ranks"] = store.per_slot["stored.extremes"][:count, shape.places.extremes]

    def _tables(self, store: Store) -> Program:
        """Return the tables with the classes that were added since."""
        program = self._shape.builder.tables()
        store.have_reads(self._shape.builder.most_reads)
        store.have_classes(len(program.classes))
        return program

    def _read(
        self, batch: pa.RecordBatch, begins: Ints, ends: Ints
    ) -> tuple[dict[str, Any], NDArray[np.float64]]:
        """Return a batch's columns, and its shifts.

        A shift is what deviations are from, in all turns: [run, place in `unit.squared`], NaN where
        there is no value. A run's events are in the same windows.
        """
        unit, builder = self._shape.unit, self._shape.builder
        runs = np.full(batch.num_rows, -1, np.int64)
        if unit.squared:
            for number, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True)):
                runs[begin:end] = number
        shifts = Shifts(unit)
        codes = np.ascontiguousarray(to_numpy(batch.column("class")), dtype=np.int64)
        columns = no_attributes() | {
            "times": numbers_of(batch, "time", np.int64),
            "codes": builder.numbers(codes),
            "ranks": rank_columns(builder.updates.ranks, batch),
        }
        if unit.addends:
            addends, present = addend_columns(unit, batch, runs, shifts, by_epoch=False)
            has_great = great_addends(addends)
            columns |= {"addends": addends, "present": present, "has_great": has_great}
        return columns, shifts.of_groups(len(begins))
