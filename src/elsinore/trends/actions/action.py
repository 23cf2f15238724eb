"""The first stage: a pane's events in, the pane's action out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.plan import TrendUnit
from elsinore.plan.aggregates import SPREAD, FieldKind
from elsinore.plan.merged import ancestors, field_index
from elsinore.plan.panes import pane_length
from elsinore.trends.actions.matrices import Sources, Steps, act
from elsinore.trends.columns import addend_columns, order_columns, shift_of
from elsinore.trends.core.arrays import FOREVER
from elsinore.trends.updates import Update, Updates


def pane_of(unit: TrendUnit, span: int) -> tuple[int, int]:
    """Return the length and the origin of panes, both in microseconds.

    Every bound of a window is one of a pane. `span` is the length for queries without windows.
    """
    length = pane_length(unit.merged.windows)
    if length is None:
        return span, 0
    first, *others = (window.origin for window in unit.merged.windows if window is not None)
    return math.gcd(length, *(origin - first for origin in others)), first


@dataclass(frozen=True)
class ActionShape:
    """The cells of a unit's nodes, windows left out, and where each sum is found in each node."""

    unit: TrendUnit

    @cached_property
    def first_cell(self) -> NDArray[np.int64]:
        """[node + 1] -> its first cell, the number of trends."""
        return _starts([len(node.linear) for node in self.unit.merged.nodes])

    @cached_property
    def first_extreme(self) -> NDArray[np.int64]:
        """[node + 1] -> its first extreme."""
        return _starts([len(node.extremes) for node in self.unit.merged.nodes])

    @property
    def rows(self) -> int:
        """The rows of an action: one for trends that begin, and one per node."""
        return len(self.unit.merged.nodes) + 1

    @property
    def cells(self) -> int:
        """The number of linear sums of all nodes."""
        return int(self.first_cell[-1])

    @property
    def extremes(self) -> int:
        """The number of extremes of all nodes."""
        return int(self.first_extreme[-1])

    @cached_property
    def sources(self) -> Sources:
        """Return where each sum is found in each node."""
        nodes = self.unit.merged.nodes
        before = ancestors(nodes)

        def places(number: int, *, extreme: bool) -> list[list[int]]:
            first = self.first_extreme if extreme else self.first_cell
            found = []
            for signature in nodes[number].extremes if extreme else nodes[number].linear:
                index = (  # what does not come before a node has nothing to give it
                    field_index(nodes[j], signature, before[j]) if j in before[number] else None
                    for j in range(len(nodes))
                )
                found.append([-1 if i is None else int(first[j]) + i for j, i in enumerate(index)])
            return found

        cells = [places(number, extreme=False) for number in range(len(nodes))]
        extremes = [places(number, extreme=True) for number in range(len(nodes))]
        return Sources(
            count=_codes(self.first_cell[:-1]),
            node=_codes([number for number, held in enumerate(cells) for _ in held]),
            place=_table([row for held in cells for row in held], len(nodes)),
            extreme_node=_codes([number for number, held in enumerate(extremes) for _ in held]),
            extreme_place=_table([row for held in extremes for row in held], len(nodes)),
        )

    def identity(self, panes: int) -> tuple[NDArray[Any], ...]:
        """Return the actions of `panes` empty panes: cells, powers, extremes."""
        cells = np.zeros((panes, self.rows, self.cells))
        for node, cell in enumerate(self.first_cell[:-1]):
            cells[:, node + 1, cell] = 1.0
        powers = np.zeros(cells.shape, dtype=np.int32)
        return cells, powers, np.full((panes, self.rows, self.extremes), FOREVER)

    @cached_property
    def spreads(self) -> tuple[tuple[int, tuple[int, int, int]], ...]:
        """Attributes of `unit.squared`, and the cells of squares, deviations and present values."""
        squared, found = self.unit.squared, []
        for node, first in zip(self.unit.merged.nodes, self.first_cell, strict=False):
            for one in node.linear:
                if one.kind is FieldKind.SQUARE:
                    cells = (node.linear.index(replace(one, kind=kind)) for kind in SPREAD)
                    squares, deviations, present = (int(first) + cell for cell in cells)
                    place = squared.index(one.attribute or "")
                    found.append((place, (squares, deviations, present)))
        return tuple(found)

    @property
    def seeds(self) -> NDArray[np.int64]:
        """The cells that hold one empty trend when a window begins."""
        return self.first_cell[list(self.unit.merged.seeds)]

    def steps(self, classes: Sequence[Sequence[Update]], resets: Sequence[Sequence[int]]) -> Steps:
        """Return what classes of events do, as the kernel reads it; resets: nodes they empty."""
        flat = [update for updates in classes for update in updates]
        sums = [(update, number) for update in flat for number in range(len(update.sums))]
        terms = [source for update, number in sums for source in update.sums[number].sources]
        extremes = [(update, number) for update in flat for number in range(len(update.extremes))]
        compared = [source for u, number in extremes for source in u.extremes[number].sources]
        cell, extreme = self.first_cell, self.first_extreme
        return Steps(
            resets=_starts([len(emptied) for emptied in resets]),
            emptied=_codes([node for emptied in resets for node in emptied]),
            first_cell=cell,
            first_extreme=extreme,
            updates=_starts([len(updates) for updates in classes]),
            start=np.array([update.start for update in flat], dtype=np.uint8),
            node=_codes([update.node for update in flat]),
            sums=_starts([len(update.sums) for update in flat]),
            target=_codes([cell[update.node] + number for update, number in sums]),
            contribution=_codes([update.sums[number].contribution for update, number in sums]),
            terms=_starts([len(update.sums[number].sources) for update, number in sums]),
            term=_codes([cell[node] + number for node, number in terms]),
            extremes=_starts([len(update.extremes) for update in flat]),
            extreme_target=_codes([extreme[update.node] + number for update, number in extremes]),
            attribute=_codes([update.extremes[number].attribute for update, number in extremes]),
            compared=_starts([len(update.extremes[number].sources) for update, number in extremes]),
            compared_extreme=_codes(
                [-1 if number is None else extreme[node] + number for node, number in compared]
            ),
            compared_cell=_codes([cell[node] for node, _ in compared]),
        )


class PaneActions:
    """Computes the actions of panes from their events."""

    def __init__(self, unit: TrendUnit, *, ordered: bool) -> None:
        self.shape = ActionShape(unit)
        self._updates = Updates(unit)
        self._ordered = ordered

    def of(
        self,
        starts: NDArray[np.int64],
        batch: pa.RecordBatch,
        begun: tuple[NDArray[Any], ...] | None = None,
    ) -> tuple[NDArray[Any], ...]:
        """Return cells and powers [pane, row, cell], extremes [pane, row, extreme] and shifts.

        Those are [pane, attribute of `unit.squared`]: a pane's deviations are from its own.

        `begun` is what the first pane's earlier events did, where it has some.

        `starts`: [pane + 1] -> the rows of `batch` that are a pane's, in time order. The batch has
        the columns `time`, `class`, and `sum:<name>` and `rank:<name>` as the operator's have.
        """
        unit = self.shape.unit
        codes = batch.column("class").to_numpy()
        kinds, places = np.unique(codes, return_inverse=True)
        classes = places.astype(np.int32)
        told = [unit.classes.decode(code) if code >= 0 else None for code in kinds.tolist()]
        steps = self.shape.steps(
            [() if one is None else self._updates.updates(*one) for one in told],
            [() if one is None else self._updates.resets(*one) for one in told],
        )
        pane_of_row = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        shifts = np.empty((len(unit.squared), 0)) if begun is None else begun[3][:1].T
        values, present, shifts = addend_columns(unit, batch, pane_of_row, shifts)
        orders, ordered = order_columns(unit, batch)
        times = np.ascontiguousarray(batch.column("time").to_numpy(), dtype=np.int64)
        cells, powers, extremes = self.shape.identity(len(starts) - 1)
        if begun is not None:
            cells[0], powers[0], extremes[0] = (part[0] for part in begun[:3])
        for pane in range(len(starts) - 1):
            act(
                steps,
                starts[pane],
                starts[pane + 1],
                times,
                classes,
                values,
                present,
                orders,
                ordered,
                not self._ordered,
                cells[pane],
                powers[pane],
                extremes[pane],
            )
        shift_of_pane = shift_of(shifts, np.arange(len(starts) - 1)).T
        return cells, powers, extremes, np.ascontiguousarray(shift_of_pane)


def _table(rows: Sequence[Sequence[int]], width: int) -> NDArray[np.int32]:
    return np.array(rows, dtype=np.int32).reshape(len(rows), width)


def _codes(values: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int32]:
    return np.array(values, dtype=np.int32)


def _starts(lengths: Sequence[int]) -> NDArray[np.int64]:
    """Return where each of several consecutive runs begins, and the end of the last one."""
    return np.concatenate(([0], np.cumsum(np.array(lengths, dtype=np.int64)))).astype(np.int64)
