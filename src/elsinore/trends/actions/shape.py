"""What an action's numbers are, where the engine has them, and what they act on.

The row of a node j (`action_rows`) is what a stretch of events makes of one trend that ended in j
before it: in the cells of node p, how many trends it becomes that end in p, and what their events
in the stretch add to each sum. In the cells of p it is that of the one such j that leads to p. Row
0 is what begins in the stretch. Numbers lie cell after cell, rows side by side: those of cell c are
numbers[c * rows : (c + 1) * rows], and so with extremes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from elsinore.model.window import last_window
from elsinore.plan import Sharing, TrendUnit
from elsinore.plan.aggregates import SPREAD, FieldKind
from elsinore.plan.merged import ancestors, field_index
from elsinore.plan.panes import action_rows, pane_length
from elsinore.trends.core.arrays import Ints
from elsinore.trends.prepared import Prepared


class Places(NamedTuple):
    """Where an action's numbers and extremes are in a slot, and which cells are 1 at first."""

    numbers: Ints
    extremes: Ints
    ones: Ints


class Sources(NamedTuple):
    """Where what a row acts on is found in the sums of a window, as the fold reads it.

    [cell] -> the number of trends of its node; [cell, row] -> that of the row's node, or -1 where
    none leads to the cell's; and the same sum in the row's node, or -1: there is none, or it is the
    number of trends itself. Of extremes likewise.
    """

    counts: Ints
    leading: Ints
    same: Ints
    extreme_counts: Ints
    extreme_leading: Ints
    extreme_same: Ints


def pane_of(unit: TrendUnit) -> tuple[int, int] | None:
    """Return the length and the origin of panes, in ticks; None where no query has windows.

    Every bound of a window is one of a pane.
    """
    length = pane_length(unit.merged.windows)
    if length is None:
        return None
    first, *others = (window.origin for window in unit.merged.windows if window is not None)
    return math.gcd(length, *(origin - first for origin in others)), first


def pane_numbers(unit: TrendUnit, times: Ints) -> Ints:
    """Return the number of the pane that each time is in; 0 where no query has windows."""
    pane = pane_of(unit)
    if pane is None:
        return np.zeros(len(times), np.int64)
    length, origin = pane
    return last_window(times, length, origin)


@dataclass(frozen=True)
class ActionShape:
    """The cells of a unit's nodes, windows left out, and where each sum is found in each node."""

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
    def own_row(self) -> tuple[int, ...]:
        """[node] -> the row of the trends that end there."""
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

    @property
    def bytes(self) -> int:
        """The size of an action: its numbers, its extremes, what deviations are from."""
        return 8 * (self.rows * (self.cells + self.extremes) + len(self.unit.squared))

    @cached_property
    def spreads(self) -> tuple[tuple[int, int, tuple[int, int, int]], ...]:
        """Places in `unit.squared`, turns, and the cells of squares, deviations, present values."""
        found = []
        for node, first in zip(self.unit.merged.nodes, self.first_cell, strict=False):
            for one in node.linear:
                if one.kind is FieldKind.SQUARE and one.contributors:
                    here = [replace(one, kind=kind) for kind in SPREAD]
                    here[-1] = replace(here[-1], turn=0)
                    squares, deviations, present = (int(first) + node.linear.index(s) for s in here)
                    (event_type,) = {of for _, of in one.contributors}
                    place = self.unit.place(one.attribute or "", event_type, node.window)
                    found.append((place, one.turn, (squares, deviations, present)))
        return tuple(found)

    @property
    def seeds(self) -> Ints:
        """The cells that hold one empty trend when a window begins."""
        return self.first_cell[list(self.unit.merged.seeds)]

    @cached_property
    def prepared(self) -> Prepared:
        """The program of the unit's classes, with rows as lanes."""
        return Prepared(self.unit, Sharing.NEVER, self.rows)

    @cached_property
    def places(self) -> Places:
        """Where actions are in a slot, and the trends that rows begin with."""
        layout, lanes = self.prepared.layout, np.arange(self.rows)
        numbers: list[Ints] = []
        extremes: list[Ints] = []
        for number, node in enumerate(self.unit.merged.nodes):
            numbers += [layout.cell_of(number, n) + lanes for n in range(len(node.linear))]
            extremes += [layout.extreme_of(number, n) + lanes for n in range(len(node.extremes))]
        ones = [kind.open for kind in layout.kinds]
        ones += [layout.cell_of(number, 0) + row for number, row in enumerate(self.own_row)]
        return Places(_ints(numbers).reshape(-1), _ints(extremes).reshape(-1), _ints(ones))

    @cached_property
    def sources(self) -> Sources:
        """Where the sums and extremes that rows act on are found."""
        nodes = self.unit.merged.nodes
        before = ancestors(nodes)
        told: list[list[int]] = [[] for _ in Sources._fields]
        for number, node in enumerate(nodes):
            leading = {self.own_row[source]: source for source in before[number]}
            for signatures, first, (counts, of_rows, same) in (
                (node.linear, self.first_cell, told[:3]),
                (node.extremes, self.first_extreme, told[3:]),
            ):
                for signature in signatures:
                    counts.append(self.first_cell[number])
                    for row in range(self.rows):
                        source, place = leading.get(row, -1), None
                        if source >= 0 and signature.kind is not FieldKind.TRENDS:
                            place = field_index(nodes[source], signature, before[source])
                        of_rows.append(self.first_cell[source] if source >= 0 else -1)
                        same.append(-1 if place is None else first[source] + place)
        rows = (-1, self.rows)
        shapes = 2 * ((-1,), rows, rows)
        return Sources(*(_ints(one).reshape(s) for one, s in zip(told, shapes, strict=True)))


def _starts(counts: Sequence[int]) -> Ints:
    return np.concatenate(([0], np.cumsum(np.array(counts, dtype=np.int64)))).astype(np.int64)


def _ints(values: Sequence[Any]) -> Ints:
    return np.array(values, dtype=np.int64)
