"""What an action's numbers are, and what classes of events do to them, as kernels read it.

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

import numpy as np

from elsinore.model.window import last_window
from elsinore.plan import TrendUnit
from elsinore.plan.aggregates import SPREAD, FieldKind
from elsinore.plan.merged import ancestors, field_index
from elsinore.plan.panes import action_rows, pane_length
from elsinore.trends.core.arrays import Ints
from elsinore.trends.updates import Update, Updates, tangled

# Where a code keeps its counts and, from RESETS on, where each of its tables begins.
ROWS, CELLS, EXTREMES = 0, 1, 2
RESETS = 3  # [class + 1] -> resets
EMPTIED = 4  # [reset] -> the node it empties
FIRST_CELL = 5  # [node + 1] -> cells, the number of trends first
FIRST_EXTREME = 6  # [node + 1] -> extremes
UPDATES = 7  # [class + 1] -> updates
START = 8  # [update] -> whether a trend may start there
SUMS = 9  # [update + 1] -> sums, the number of trends first
TARGET = 10  # [sum] -> cell
ADDEND = 11  # [sum] -> NOTHING, ONE, VALUE + 2a or VALUE + 2a + 1
TERMS = 12  # [sum + 1] -> terms
TERM = 13  # [term] -> cell of a predecessor's sum
LEAST = 14  # [update + 1] -> extremes
LEAST_TARGET = 15  # [extreme] -> place among extremes
ATTRIBUTE = 16  # [extreme] -> 2a or 2a + 1, or -1
COMPARED = 17  # [extreme + 1] -> predecessors
COMPARED_EXTREME = 18  # [predecessor] -> its extreme, or -1
COMPARED_CELL = 19  # [predecessor] -> cell of its number of trends
NODE_OF = 20  # [cell] -> its node
PLACE = 21  # [cell, row] -> the cell of the same sum in the row's node, or -1
NODE_OF_EXTREME = 22  # [extreme] -> its node
EXTREME_PLACE = 23  # [extreme, row] -> the same extreme in the row's node, or -1
AT_ONCE = 24  # [class] -> whether an event alone may change what it reads as it goes
OWN = 25  # [node] -> the row of the trends that end there
BEFORE = 26  # [node, row] -> the first cell of the row's node, or -1 where none leads here
TABLES = 27


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
    def _updates(self) -> Updates:
        return Updates(self.unit)

    def code(self, classes: Sequence[int]) -> Ints:
        """Return what some classes of events do, as the kernels read it; below 0: nothing."""
        known = [self.unit.classes.decode(number) if number >= 0 else None for number in classes]
        updates = [() if one is None else self._updates.updates(*one) for one in known]
        resets = [() if one is None else self._updates.resets(*one) for one in known]
        at_once = [
            not emptied and not tangled(several, ())
            for several, emptied in zip(updates, resets, strict=True)
        ]
        sources, rows = self._sources
        tables = [*self._steps(updates, resets), *sources, _ints(at_once), *rows]
        header = [self.rows, self.cells, self.extremes]
        begin = TABLES
        for table in tables:
            header.append(begin)
            begin += len(table)
        return np.concatenate([header, *tables]).astype(np.int64)

    def _steps(
        self, classes: Sequence[Sequence[Update]], resets: Sequence[Sequence[int]]
    ) -> list[Ints]:
        flat = [update for updates in classes for update in updates]
        sums = [(update, number) for update in flat for number in range(len(update.sums))]
        terms = [source for update, number in sums for source in update.sums[number].sources]
        extremes = [(update, number) for update in flat for number in range(len(update.extremes))]
        compared = [source for u, number in extremes for source in u.extremes[number].sources]
        cell, extreme = self.first_cell, self.first_extreme
        return [
            _starts([len(emptied) for emptied in resets]),
            _ints([node for emptied in resets for node in emptied]),
            cell,
            extreme,
            _starts([len(updates) for updates in classes]),
            _ints([update.start for update in flat]),
            _starts([len(update.sums) for update in flat]),
            _ints([cell[update.node] + number for update, number in sums]),
            _ints([update.sums[number].contribution for update, number in sums]),
            _starts([len(update.sums[number].sources) for update, number in sums]),
            _ints([cell[node] + number for node, number in terms]),
            _starts([len(update.extremes) for update in flat]),
            _ints([extreme[update.node] + number for update, number in extremes]),
            _ints([update.extremes[number].attribute for update, number in extremes]),
            _starts([len(update.extremes[number].sources) for update, number in extremes]),
            _ints([-1 if number is None else extreme[node] + number for node, number in compared]),
            _ints([cell[node] for node, _ in compared]),
        ]

    @cached_property
    def _sources(self) -> tuple[list[Ints], list[Ints]]:
        """Return where sums and extremes are found in nodes before; and what rows are of."""
        nodes = self.unit.merged.nodes
        before = ancestors(nodes)
        leading = [  # [node][row] -> the row's node, or -1
            [next((j for j in there if self.own_row[j] == row), -1) for row in range(self.rows)]
            for there in before
        ]

        def places(number: int, *, extreme: bool) -> list[list[int]]:
            first = self.first_extreme if extreme else self.first_cell
            found = []
            for signature in nodes[number].extremes if extreme else nodes[number].linear:
                index = (
                    field_index(nodes[j], signature, before[j]) if j >= 0 else None
                    for j in leading[number]
                )
                pairs = zip(leading[number], index, strict=True)
                found.append([-1 if i is None else int(first[j]) + i for j, i in pairs])
            return found

        cells = [places(number, extreme=False) for number in range(len(nodes))]
        extremes = [places(number, extreme=True) for number in range(len(nodes))]
        counts = [-1 if j < 0 else int(self.first_cell[j]) for rows in leading for j in rows]
        found = [
            _ints([number for number, sums in enumerate(cells) for _ in sums]),
            _ints([place for sums in cells for row in sums for place in row]),
            _ints([number for number, sums in enumerate(extremes) for _ in sums]),
            _ints([place for sums in extremes for row in sums for place in row]),
        ]
        return found, [_ints(self.own_row), _ints(counts)]


def _starts(counts: Sequence[int]) -> Ints:
    return np.concatenate(([0], np.cumsum(np.array(counts, dtype=np.int64)))).astype(np.int64)


def _ints(values: Sequence[int]) -> Ints:
    return np.array(values, dtype=np.int64)
