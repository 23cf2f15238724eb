"""Pane actions: what the events of a pane do to the trends of one key that ended before it.

An event changes a key's sums linearly, and so do all events of a pane together: its *action* is
that linear map. Panes may be processed separately, in any order; `elsinore.trends.fold` then
applies their actions in the order of time.

Row j of an action (`action_rows`) is what becomes of one trend that ended in node j before the
pane: in the cells of node p, the number of trends that it becomes and that end in p, and what their
events in the pane add to each sum. Row 0 is for trends that begin in the pane. The engine computes
all rows at once: a run of events of one key and pane has a slot of its own, and rows are lanes.
Where a window's lane begins without trends, the lane of a row begins with one that ends in the
row's node. An action has, cell after cell, row 0 and those of the nodes that lead to the cell's
node p; not that of p itself if trends in p stay as they are (`stays`). Extremes follow likewise,
and then the shifts of deviations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.arrow import numbers_of, to_numpy
from elsinore.model.window import last_window, pane_length
from elsinore.plan import TrendUnit
from elsinore.plan.aggregates import SPREAD, FieldKind
from elsinore.plan.merged import Signature, ancestors, field_index
from elsinore.plan.panes import action_rows, stays
from elsinore.trends.engine.constants import FOREVER, NO_SHARING, UNKNOWN
from elsinore.trends.engine.process import process, store_all_moments
from elsinore.trends.engine.program import ProgramBuilder
from elsinore.trends.engine.store import Store, bytes_per_slot
from elsinore.trends.engine.tables import Batch, Program, no_attributes
from elsinore.trends.fold_sums import Folding
from elsinore.trends.values import (
    Ints,
    Shifts,
    addend_columns,
    great_addends,
    out_of_order,
    rank_columns,
)

NONE = -1  # no cell, number, extreme or rank (`Folding`)
MOST_BYTES = 2**24  # of the slots of runs that are processed at once


class Places(NamedTuple):
    """The places of an action's numbers and extremes in a slot, and the cells that begin with 1."""

    numbers: Ints
    extremes: Ints
    ones: Ints


def pane_numbers(unit: TrendUnit, times: Ints) -> Ints:
    """Return the number of the pane that each time is in; 0 if no query has windows.

    Every bound of a window is one of a pane.
    """
    length = pane_length(unit.merged.windows)
    if length is None:
        return np.zeros(len(times), np.int64)
    first, *origins = (window.origin for window in unit.merged.windows if window is not None)
    return last_window(times, math.gcd(length, *(o - first for o in origins)), first)


@dataclass(frozen=True)
class ActionShape:
    """The cells of a unit's nodes in one window, and the places of an action's numbers."""

    unit: TrendUnit

    @cached_property
    def first_cell(self) -> Ints:
        """[node + 1] -> its first cell, the number of trends."""
        return _starts([len(node.linear) for node in self.unit.merged.nodes])

    @cached_property
    def first_extreme(self) -> Ints:
        """[node + 1] -> its first extreme."""
        return _starts([len(node.extremes) for node in self.unit.merged.nodes])

    @cached_property
    def first_number(self) -> Ints:
        """[cell + 1] -> its number of row 0 in an action; those of its other rows follow."""
        nodes = zip(self.unit.merged.nodes, self.rows_of, strict=True)
        return _starts([1 + len(rows) for node, rows in nodes for _ in node.linear])

    @cached_property
    def own_row(self) -> tuple[int, ...]:
        """[node] -> the row of the trends that end there, or 0 for none."""
        return action_rows(self.unit.merged.nodes)

    @property
    def rows(self) -> int:
        """The rows of an action: one for trends that begin, and those of nodes."""
        return max(self.own_row, default=0) + 1

    @property
    def cells(self) -> int:
        """The number of linear sums of all nodes."""
        return int(self.first_cell[-1])

    @property
    def extremes(self) -> int:
        """The number of extremes of all nodes."""
        return int(self.first_extreme[-1])

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """An action: the engine's numbers (mantissas and powers), ranks and shifts."""
        numbers = (len(self.places.numbers),)
        return np.dtype(
            [
                ("mantissas", np.float64, numbers),
                ("ranks", np.int64, (len(self.places.extremes),)),
                ("shifts", np.float64, (len(self.unit.squared),)),
                ("powers", np.int16, numbers),
            ]
        )

    @cached_property
    def before(self) -> list[frozenset[int]]:
        """[node] -> the nodes that lead to it, itself included."""
        return ancestors(self.unit.merged.nodes)

    @cached_property
    def rows_of(self) -> tuple[dict[int, int], ...]:
        """[node] -> the rows of its cells other than row 0, with the node of each row."""
        kept = stays(self.unit.merged.nodes)
        return tuple(
            {self.own_row[one]: one for one in sorted(several) if one != node or not kept[node]}
            for node, several in enumerate(self.before)
        )

    @cached_property
    def spreads(self) -> tuple[tuple[int, int, tuple[int, int, int]], ...]:
        """Places in `unit.squared`, turns, and the cells of squares, deviations, present values."""
        spreads = []
        for node, first in zip(self.unit.merged.nodes, self.first_cell, strict=False):
            for one in node.linear:
                if one.kind is FieldKind.SQUARE and one.contributors:
                    here = [replace(one, kind=kind) for kind in SPREAD]
                    here[-1] = replace(here[-1], turn=0)
                    squares, deviations, present = (int(first) + node.linear.index(s) for s in here)
                    (event_type,) = {of for _, of in one.contributors}
                    place = self.unit.place(one.attribute or "", event_type, node.window)
                    spreads.append((place, one.turn, (squares, deviations, present)))
        return tuple(spreads)

    @property
    def seeds(self) -> Ints:
        """The cells that contain one empty trend when a window begins."""
        return self.first_cell[list(self.unit.merged.seeds)]

    @cached_property
    def builder(self) -> ProgramBuilder:
        """The engine's program for the unit, with rows as lanes."""
        return ProgramBuilder(self.unit, self.rows)

    @cached_property
    def bytes_per_slot(self) -> int:
        """The memory that an action takes while it is computed."""
        return bytes_per_slot(self.builder.shape(0))

    @cached_property
    def places(self) -> Places:
        """The places of an action in a slot, and of the trends with which rows begin."""
        layout = self.builder.layout
        numbers: list[int] = []
        extremes: list[int] = []
        for number, (node, rows) in enumerate(
            zip(self.unit.merged.nodes, self.rows_of, strict=True)
        ):
            for places, of, signatures in (
                (numbers, layout.cell_of, node.linear),
                (extremes, layout.extreme_of, node.extremes),
            ):
                for n in range(len(signatures)):
                    places += [of(number, n) + row for row in (0, *rows)]
        ones = [kind.cell for kind in layout.kinds]
        ones += [layout.cell_of(number, 0) + row for number, row in enumerate(self.own_row) if row]
        return Places(ints(numbers), ints(extremes), ints(ones))

    def folding(self) -> Folding:
        """Return the terms of sums and extremes after an action."""
        return Folding(self._sum_terms(), self._rank_terms())

    def _sum_terms(self) -> list[Ints]:
        terms: list[list[tuple[int, int]]] = []
        for node, signatures in enumerate(n.linear for n in self.unit.merged.nodes):
            trends = int(self.first_cell[node])
            for place, signature in enumerate(signatures):
                number = int(self.first_number[trends + place])
                terms.append([(NONE, number), *[(trends + place, NONE)] * self._stays(node)])
                for row, source in enumerate(self.rows_of[node].values(), start=1):
                    # what becomes of the trends' own sum, and what their number adds to it
                    terms[-1].append((int(self.first_cell[source]), number + row))
                    same = self._field(source, signature)
                    if place and same is not None:
                        of_trends = int(self.first_number[trends]) + row
                        terms[-1].append((int(self.first_cell[source]) + same, of_trends))
        return [_starts(list(map(len, terms))), *_columns(terms, 2)]

    def _rank_terms(self) -> list[Ints]:
        terms: list[list[tuple[int, int, int, int]]] = []
        rank = 0
        for node, signatures in enumerate(n.extremes for n in self.unit.merged.nodes):
            for place, signature in enumerate(signatures):
                kept = int(self.first_extreme[node]) + place if self._stays(node) else NONE
                terms.append([(NONE, NONE, rank, kept)])
                for row, source in enumerate(self.rows_of[node].values(), start=1):
                    same = self._field(source, signature)
                    before = NONE if same is None else int(self.first_extreme[source]) + same
                    trends = int(self.first_cell[source])
                    of_trends = int(self.first_number[self.first_cell[node]]) + row
                    terms[-1].append((trends, of_trends, rank + row, before))
                rank += 1 + len(self.rows_of[node])
        return [_starts(list(map(len, terms))), *_columns(terms, 4)]

    def _stays(self, node: int) -> bool:
        """Return whether trends that ended in a node stay as they are."""
        return self.own_row[node] not in self.rows_of[node]

    def _field(self, node: int, signature: Signature) -> int | None:
        """Return the number of a signature in a node, None if the node does not store it."""
        return field_index(self.unit.merged.nodes[node], signature, self.before[node])


class Actions:
    """Computes the actions of runs of events."""

    def __init__(self, shape: ActionShape, *, ordered: bool) -> None:
        """Prepare for actions of a shape; `ordered`: simultaneous events are in order."""
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
        """Compute the actions of runs, with a slot for each."""
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
        """Return the program with the classes that have been added."""
        program = self._shape.builder.tables()
        store.grow_reads(self._shape.builder.most_reads)
        store.grow_classes(len(program.classes))
        return program

    def _read(
        self, batch: pa.RecordBatch, begins: Ints, ends: Ints
    ) -> tuple[dict[str, Any], NDArray[np.float64]]:
        """Return a batch's columns, and the shifts of its deviations in all turns.

        Shifts are [run, place in `unit.squared`], NaN without values. A run's events are in the
        same windows.
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


def ints(values: Sequence[Any]) -> Ints:
    """Return whole numbers as an array."""
    return np.array(values, dtype=np.int64)


def _starts(counts: Sequence[int]) -> Ints:
    return np.concatenate(([0], np.cumsum(ints(counts)))).astype(np.int64)


def _columns(terms: Sequence[Sequence[tuple[int, ...]]], width: int) -> list[Ints]:
    """Return the columns of all terms, one after another."""
    every = ints([term for several in terms for term in several]).reshape(-1, width)
    return list(map(np.ascontiguousarray, every.T))
