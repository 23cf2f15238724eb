"""What an action's numbers are, where the engine has them, and what they act on.

The row of a node j (`action_rows`) is what a stretch of events makes of one trend that ended in j
before it: in the cells of node p, how many trends it becomes that end in p, and what their events
in the stretch add to each sum. In the cells of p it is that of the one such j that leads to p. Row
0 is what begins in the stretch. The engine has all rows of a cell as lanes; an action has, cell
after cell, row 0 and those of the nodes that lead to it: not that of p itself where `stays` says
that it is one trend, which stays what it is. Extremes follow likewise, and then what deviations
are from.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from elsinore.model.window import last_window
from elsinore.plan import TrendUnit
from elsinore.plan.aggregates import SPREAD, FieldKind
from elsinore.plan.merged import ancestors, field_index
from elsinore.plan.panes import action_rows, pane_length, stays
from elsinore.trends.engine.program import ProgramBuilder
from elsinore.trends.engine.store import bytes_per_slot

Ints = NDArray[np.int64]


class Places(NamedTuple):
    """Where an action's numbers and extremes are in a slot, and which cells are 1 at first."""

    numbers: Ints
    extremes: Ints
    ones: Ints


class Sources(NamedTuple):
    """Where what a row acts on is found in the sums of a window, as the fold reads it.

    cells: [FIRST, cell] its number of row 0 in an action, the others following; [1, cell] the
    number of trends of its node; [2, cell] 1 if what it was is kept. numbers: [0, number] the
    number of trends of its row's node; [1, number] the same sum there, or the cell behind all,
    which is 0, if there is none, or it is the number of trends itself. Of extremes likewise, but -1
    for none.
    """

    cells: Ints
    numbers: Ints
    extremes: Ints
    ranks: Ints


FIRST = 0


def pane_of(unit: TrendUnit) -> tuple[int, int] | None:
    """Return the length and the origin of panes, in ticks; None where no query has windows.

    Every bound of a window is one of a pane.
    """
    length = pane_length(unit.merged.windows)
    if length is None:
        return None
    first, *origins = (window.origin for window in unit.merged.windows if window is not None)
    return math.gcd(length, *(origin - first for origin in origins)), first


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
        """[node] -> the row of the trends that end there, or 0: they have none."""
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
        places = self.places
        return 8 * (len(places.numbers) + len(places.extremes) + len(self.unit.squared))

    @cached_property
    def rows_of(self) -> tuple[dict[int, int], ...]:
        """[node] -> the rows that its cells have beside row 0, and the nodes that these are of."""
        nodes = self.unit.merged.nodes
        return tuple(
            {self.own_row[one]: one for one in sorted(several) if one != node or not stay}
            for node, (several, stay) in enumerate(zip(ancestors(nodes), stays(nodes), strict=True))
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
        """The cells that hold one empty trend when a window begins."""
        return self.first_cell[list(self.unit.merged.seeds)]

    @cached_property
    def builder(self) -> ProgramBuilder:
        """The program of the unit's classes, with rows as lanes."""
        return ProgramBuilder(self.unit, self.rows)

    @cached_property
    def bytes_per_slot(self) -> int:
        """The memory that an action takes while it is worked out."""
        return bytes_per_slot(self.builder.shape(0))

    @cached_property
    def places(self) -> Places:
        """Where actions are in a slot, and the trends that rows begin with."""
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
        ones = [kind.open for kind in layout.kinds]
        ones += [layout.cell_of(number, 0) + row for number, row in enumerate(self.own_row) if row]
        return Places(_ints(numbers), _ints(extremes), _ints(ones))

    @cached_property
    def sources(self) -> Sources:
        """Where the sums and extremes that rows act on are found."""
        nodes = self.unit.merged.nodes
        before = ancestors(nodes)
        of_fields: list[list[tuple[int, ...]]] = [[] for _ in Sources._fields]
        for number, (node, rows) in enumerate(zip(nodes, self.rows_of, strict=True)):
            stay = self.own_row[number] not in rows
            for signatures, first, none, (cells, entries) in (
                (node.linear, self.first_cell, self.cells, of_fields[:2]),
                (node.extremes, self.first_extreme, -1, of_fields[2:]),
            ):
                for signature in signatures:
                    cells.append((len(entries), self.first_cell[number], stay))
                    entries.append((-1, none))
                    for source in rows.values():
                        place = None
                        if signature.kind is not FieldKind.TRENDS:
                            place = field_index(nodes[source], signature, before[source])
                        same = none if place is None else first[source] + place
                        entries.append((self.first_cell[source], same))
        for cells, entries in (of_fields[:2], of_fields[2:]):
            cells.append((len(entries), -1, 0))
        widths = 3, 2, 3, 2
        return Sources(
            *(
                np.ascontiguousarray(_ints(numbers).reshape(-1, n).T)
                for numbers, n in zip(of_fields, widths, strict=True)
            )
        )


def _starts(counts: Sequence[int]) -> Ints:
    return np.concatenate(([0], np.cumsum(np.array(counts, dtype=np.int64)))).astype(np.int64)


def _ints(values: Sequence[Any]) -> Ints:
    return np.array(values, dtype=np.int64)
