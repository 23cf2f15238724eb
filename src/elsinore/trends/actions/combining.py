"""The first stage: stretches of one key's events in one pane, each to an action.

The trend engine runs over them: each stretch is a key of its own, and the rows of an action are its
lanes. Where a window's lane begins with no trends, that of a row begins with one that ends in the
row's node. An action's numbers are plain doubles: a stretch whose numbers grow beyond their range
is cut into shorter ones. A fold lets one act after the other, which is what both are together.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.arrow import to_numpy
from elsinore.operators.conditions.tables import Columns
from elsinore.operators.panes import Stretches
from elsinore.trends.actions.shape import ActionShape
from elsinore.trends.engine.constants import FOREVER, NO_SHARING, UNKNOWN
from elsinore.trends.engine.process import process, store_all_moments
from elsinore.trends.engine.store import Store
from elsinore.trends.engine.tables import Batch, Program
from elsinore.trends.values.columns import (
    addend_columns,
    great_addends,
    numbers_of,
    out_of_order,
    rank_columns,
)
from elsinore.trends.values.shifts import Shifts

Ints = NDArray[np.int64]
LIMIT = 2.0**512  # one unit of a power in the engine
MOST_BYTES = 2**24  # of slots: so many stretches are worked on at once
PIECE = 512  # events of a stretch that is cut: numbers that double with each fit a double


class Pieces(NamedTuple):
    """Stretches to work on: their runs, and their rows."""

    run: Ints
    begins: Ints
    ends: Ints

    def some(self, chosen: Any) -> Pieces:
        """Return some of the stretches."""
        return Pieces(*(column[chosen] for column in self))


class Actions:
    """Computes the actions of stretches of events."""

    def __init__(self, shape: ActionShape, *, ordered: bool) -> None:
        """Make it for actions of a shape; `ordered`: simultaneous events are in an order."""
        self._shape = shape
        self._ordered = ordered

    def actions_of(self, begins: Ints, ends: Ints, batch: pa.RecordBatch) -> Stretches:
        """Return the actions of runs of rows, each of one key and pane, whole moments, in order.

        A run whose numbers leave the range of doubles within a moment has none: `Stretches.failed`.
        """
        shape, failed = self._shape, np.zeros(len(begins), np.bool_)
        if not len(begins):
            none = np.zeros(0, np.int64)
            return Stretches(none, none, np.zeros((0, shape.bytes), np.uint8), failed)
        columns, shifts, is_finite = self._read(batch, begins, ends)
        times = numbers_of(batch, "time", np.int64)
        pending = Pieces(np.arange(len(begins)), begins, ends)
        done: list[tuple[Pieces, NDArray[np.float64]]] = []
        while len(pending.run):
            actions = self._actions(pending, columns)
            numbers = actions[:, : len(shape.places.numbers)]
            fits = np.asarray(np.isfinite(numbers).all(axis=1))
            done.append((pending.some(fits), actions[fits]))
            pending = pending.some(~fits)
            pending, whole = self._cut(pending, times)
            moments = zip(whole.begins, whole.ends, strict=True)
            infinite = np.array([not is_finite[b:e].all() for b, e in moments], np.bool_)
            failed[whole.run[~infinite]] = True
            if infinite.any():  # a value is infinite: so are the numbers
                of_infinite = whole.some(infinite)
                done.append((of_infinite, self._actions(of_infinite, columns)))
        pieces = Pieces(*map(np.concatenate, zip(*(p for p, _ in done), strict=True)))
        actions = np.concatenate([numbers for _, numbers in done])
        kept = np.flatnonzero(~failed[pieces.run])
        order = kept[np.argsort(pieces.begins[kept], kind="stable")]
        pieces, actions = Pieces(*(column[order] for column in pieces)), actions[order]
        if shape.unit.squared:
            actions[:, actions.shape[1] - shifts.shape[1] :] = shifts[pieces.run]
        return Stretches(pieces.begins, pieces.ends - 1, actions.view(np.uint8), failed)

    def _cut(self, pieces: Pieces, times: Ints) -> tuple[Pieces, Pieces]:
        """Return stretches as shorter ones of whole moments, and those that are single moments."""
        shorter: list[tuple[int, int, int]] = []
        whole: list[tuple[int, int, int]] = []
        for run, begin, end in zip(*(column.tolist() for column in pieces), strict=True):
            size = PIECE if end - begin > PIECE else (end - begin + 1) // 2
            edges = [begin]
            while edges[-1] < end:
                edge = min(edges[-1] + max(size, 1), end)
                if not self._ordered:
                    edge += int(np.searchsorted(times[edge:end], times[edge - 1], side="right"))
                edges.append(edge)
            into = whole if len(edges) == 2 else shorter
            into += [(run, b, e) for b, e in itertools.pairwise(edges)]
        first, second = (
            Pieces(*np.array(some, np.int64).reshape(-1, 3).T) for some in (shorter, whole)
        )
        return first, second

    def _actions(self, pieces: Pieces, columns: dict[str, Any]) -> NDArray[np.float64]:
        """Return the actions of stretches, numbers beyond the range of doubles as infinities."""
        count = max(1, MOST_BYTES // self._shape.bytes_per_slot)
        return np.concatenate(
            [
                self._actions_at_once(pieces.some(slice(at, at + count)), columns)
                for at in range(0, len(pieces.run), count)
            ]
        )

    def _actions_at_once(self, pieces: Pieces, columns: dict[str, Any]) -> NDArray[np.float64]:
        """Return the actions of stretches, each of which has a slot of its own."""
        shape, builder, count = self._shape, self._shape.builder, len(pieces.run)
        store = Store(builder.shape(0), self._ordered, one_slot=False, mode=NO_SHARING)
        store.grow_slots(count)
        store.per_slot["slots"]["key"], store.per_slot["slots"]["edge"] = 0, FOREVER
        store.per_slot["cells"][:, shape.places.ones] = 1.0
        event, end = int(pieces.begins.min()), int(pieces.ends.max())
        lengths = pieces.ends - pieces.begins
        before = lengths.cumsum() - lengths
        rows = np.repeat(pieces.begins - before, lengths) + np.arange(lengths.sum())
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
        actions = np.empty((count, shape.bytes // 8))
        numbers = len(shape.places.numbers)
        cells = store.per_slot["cells"][:count, shape.places.numbers]
        powers = store.per_slot["powers"][:count, shape.places.numbers]
        with np.errstate(over="ignore"):
            scaled = cells * np.where(powers == 0.0, 1.0, np.where(powers == 1.0, LIMIT, np.inf))
        actions[:, :numbers] = np.where(cells == 0.0, 0.0, scaled)
        extremes = store.per_slot["extremes"][:count, shape.places.extremes]
        actions.view(np.int64)[:, numbers : numbers + extremes.shape[1]] = extremes
        return actions

    def _tables(self, store: Store) -> Program:
        """Return the tables with the classes that were added since."""
        program = self._shape.builder.tables()
        store.have_reads(max(1, self._shape.builder.most_reads))
        store.have_classes(len(program.classes))
        return program

    def _read(
        self, batch: pa.RecordBatch, begins: Ints, ends: Ints
    ) -> tuple[dict[str, Any], NDArray[np.float64], NDArray[np.bool_]]:
        """Return a batch's columns, its shifts, and which rows have finite addends.

        A shift is what deviations are from, in all turns: [run, place in `unit.squared`], NaN where
        there is no value. A run's events are in the same windows.
        """
        unit, builder, rows = self._shape.unit, self._shape.builder, batch.num_rows
        runs = np.full(rows, -1, np.int64)
        if unit.squared:
            for number, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True)):
                runs[begin:end] = number
        shifts = Shifts(unit)
        addends, present = np.empty((0, rows)), np.empty((0, rows), np.uint8)
        if unit.addends:
            addends, present = addend_columns(unit, batch, runs, shifts, by_epoch=False)
        codes = np.ascontiguousarray(to_numpy(batch.column("class")), dtype=np.int64)
        columns = {
            "times": numbers_of(batch, "time", np.int64),
            "codes": builder.numbers(codes),
            "addends": addends,
            "present": present,
            "has_great": great_addends(addends),
            "ranks": rank_columns(builder.updates.ranks, batch),
            "orders": np.empty((rows, 0), np.int64),  # nothing is compared
            "ordered": np.empty((rows, 0), np.uint8),
            "lows": np.empty((rows, 0), np.int64),
            "highs": np.empty((rows, 0), np.int64),
            "values": Columns(np.empty((0, rows)), np.empty((0, rows), np.int64)),
        }
        is_finite = np.asarray(np.isfinite(addends).all(axis=0))
        return columns, shifts.of_groups(len(begins)), is_finite
