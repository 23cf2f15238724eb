"""A unit's merged template as tables of structs: the effect of each class of events on lanes.

`engine_unit` decides which units have such tables: all except EXACT and those for which
`elsinore.plan.stored` gives a reason, such as conditions, NOT and strategies in ambiguous patterns,
NOT at an edge of a pattern under NOT, and trends with several anchors.

Classes are added as they occur, because there may be many more of them than occur: one for each
type and each combination of its local predicates.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import pyarrow as pa

from elsinore.model.kinds import Strategy
from elsinore.model.window import overlap_of
from elsinore.plan import Path, TrendUnit
from elsinore.plan.merged import Place
from elsinore.plan.trends import stored_unit
from elsinore.trends.engine.bounds import Bounds, is_range
from elsinore.trends.engine.constants import FOREVER, NO_STEPS, UNKNOWN
from elsinore.trends.engine.layout import ComparedSet, Layout
from elsinore.trends.engine.sharing.program import SharingTables, side_by_side
from elsinore.trends.engine.sharing.sets import sharing_sets
from elsinore.trends.engine.steps import Rows, StepTables, Update, Updates
from elsinore.trends.engine.tables import TABLES, Program, StoreShape

_lock = threading.RLock()  # of programs that operators share
TABLE_LIMIT = 2**22  # most classes of a table by class; more are numbered as they occur


def engine_unit(
    unit: TrendUnit, types: Mapping[str, pa.DataType] | None = None
) -> TrendUnit | None:
    """Return a unit with templates that the engine runs, or None if there are none.

    types: of the attributes that conditions between events read; None before the first event.
    """
    if unit.exact or unit.path is Path.SETS:
        return None
    if types is None or unit.path is Path.COARSE:
        return unit
    place = "engine", tuple(sorted(map(str, types.items())))
    if place not in unit.cache:
        unit.cache[place] = stored_unit(unit, lambda cut: is_range(cut, types))
    return cast("TrendUnit", unit.cache[place])


class ProgramBuilder:
    """The tables of a unit, to which classes of events are added."""

    def __init__(self, unit: TrendUnit, rows: int = 0) -> None:
        """Translate a unit; rows: of a pane's action, which are lanes instead of windows."""
        self.unit = unit
        self.updates = Updates(unit)
        sets = sharing_sets(self.updates)
        compared = {
            number: ComparedSet(each.members, each.ways, len(self.updates.addends(each.members)))
            for number, each in enumerate(() if rows else sets)
            if each.is_compared
        }
        self.layout = Layout(unit, rows, compared)
        self.bounds = Bounds(has_fine_lengths=unit.has_fine_lengths)
        self._rows: Rows = {name: [] for name in TABLES}
        self.steps = StepTables(self.updates, self.layout, self.bounds, self._rows)
        self._lanes = self._add_blocks()
        self._add_kinds(has_windows=not rows)
        self.sharing = SharingTables(self.updates, self.layout, sets, self._rows, self.steps)
        self.is_numbered = unit.classes.size > TABLE_LIMIT
        self._known = np.full(1 if self.is_numbered else unit.classes.size, UNKNOWN, np.int32)
        self._numbers: dict[int, int] = {}  # of classes that are too many for a table
        self._codes: list[int] = []
        self._class_codes: list[int] = []
        self._program: Program | None = None

    @property
    def most_reads(self) -> int:
        """The most reads of rows by one event."""
        return max(1, self.steps.most_reads, *(len(each.ways) for each in self.sharing.sets))

    def shape(self, row_values: int) -> StoreShape:
        """Return the sizes of the unit's state; row_values: columns that conditions read."""
        layout, unit = self.layout, self.unit
        rows = [block for block in layout.blocks if block.has_rows]
        row_cells = max((b.width * b.sums for b in rows), default=0)
        return StoreShape(
            cells=layout.cells,
            extremes=layout.extremes,
            lanes=self._lanes,
            blocks=len(layout.blocks),
            kinds=len(layout.overlaps),
            widest=layout.lanes,
            fields=max(unit.linear, 1),
            total_extremes=unit.extremes,
            closing=sum(overlap_of(template.query.window) for template in unit.templates) + 1,
            row_blocks=len(rows),
            row_cells=row_cells,
            gathered=max(row_cells, *layout.overlaps),  # of beginnings of windows
            row_extremes=max((b.width * b.extremes for b in rows), default=0),
            sets=len(self.sharing.sets),
            cohorts=len(self._rows["cohorts"]),
            units=len(self._rows["units"]),
            forms=self.sharing.most_forms,
            **self.sharing.sizes,
            row_values=row_values,
            negatives=len(self.updates.merged.negatives),
            windows=sum(layout.overlaps),
        )

    @classmethod
    def shared(cls, unit: TrendUnit) -> ProgramBuilder:
        """Return the tables of a unit, which all its operators share, in all threads."""
        with _lock:
            if "program" not in unit.cache:
                unit.cache["program"] = cls(unit)
            return cast("ProgramBuilder", unit.cache["program"])

    def tables(self) -> Program:
        """Return the tables of all classes added so far; they are not changed later."""
        with _lock:
            if self._program is None:
                self._program = Program(self._rows, self._known.copy())
            return self._program

    def codes(self, classes: Sequence[int]) -> list[int]:
        """Return the codes of the classes at places of the table of classes."""
        with _lock:
            return [self._class_codes[place] for place in classes]

    def numbers(self, codes: Any) -> Any:
        """Return the codes of events as indices of `Program.known`."""
        if not self.is_numbered:
            return codes
        with _lock:
            return self._numbered(codes)

    def _numbered(self, codes: Any) -> Any:
        unique, inverse = np.unique(codes, return_inverse=True)
        numbers = []
        for code in unique.tolist():
            if code >= 0 and code not in self._numbers:
                self._numbers[code] = len(self._codes)
                self._codes.append(code)
                self._program = None
            numbers.append(self._numbers.get(code, -1))
        if len(self._codes) > len(self._known):
            more = np.full(2 * len(self._codes) - len(self._known), UNKNOWN, np.int32)
            self._known = np.concatenate((self._known, more))
        return np.array(numbers, dtype=np.int64)[inverse]

    def add_classes(self, numbers: Sequence[int]) -> None:
        """Add the unknown classes at some places of `Program.known`."""
        with _lock:
            for number in numbers:
                if self._known[number] == UNKNOWN:
                    code = self._codes[number] if self.is_numbered else number
                    decoded = self.unit.classes.decode(code)
                    updates, resets = self.updates.updates(*decoded), self.updates.resets(*decoded)
                    self._known[number] = self._add_class(decoded[0], updates, resets)
                    if self._known[number] != NO_STEPS:
                        self._class_codes.append(code)
                    self._program = None

    def _add_class(self, type_name: str, updates: Sequence[Update], resets: Sequence[int]) -> int:
        if not updates and not resets:
            return NO_STEPS
        rows, sharing = self._rows, self.sharing
        steps, first_reset = len(rows["steps"]), len(rows["resets"])
        sections = sharing.sections(type_name, updates)
        shared_nodes = {update.node for section in sections.values() for update in section}
        self.steps.add_steps([update for update in updates if update.node not in shared_nodes])
        steps_end = len(rows["steps"])
        shared = sharing.add_sections(sections)
        changed = [*(update.node for update in updates), *resets]
        for block, places in itertools.groupby(sorted(map(self._place, resets)), lambda at: at[0]):
            overlap = self.layout.blocks[block].overlap
            for first, end in side_by_side([place for _, place in places]):
                rows["resets"].append((block, first * overlap, (end - first) * overlap))
        breaks = sharing.add_breaks(type_name, changed, updates)
        resets_end = len(rows["resets"])
        rows["classes"].append((steps, steps_end, first_reset, resets_end, *shared, *breaks))
        return len(rows["classes"]) - 1

    def _place(self, node: int) -> tuple[int, int]:
        """Return a node's block, and its place there."""
        return self.layout.block_of[node], self.layout.node_place[node]

    def _add_blocks(self) -> int:
        """Add the blocks; return the number of flags of emptied lanes."""
        flags = rows = 0
        watches = self._watches()
        for number, block in enumerate(self.layout.blocks):
            begin = len(self._rows["watches"])
            self._rows["watches"] += watches.get(number, [])
            resets = block.is_broken or any(
                self.updates.nodes[node].storage.resets for node in block.nodes
            )
            is_next = block.has_rows and block.strategy is Strategy.NEXT
            has_runs = block.has_rows and block.strategy is Strategy.ANY and not block.is_checked
            self._rows["blocks"].append(
                (
                    *(block.cell, block.width, block.sums, block.extreme, block.extremes),
                    *(flags if resets else -1, rows if block.has_rows else -1),
                    self.bounds.order(block.order, is_falling=block.is_falling),
                    *(has_runs, block.is_rising or block.is_falling, is_next, block.is_broken),
                    *(block.is_checked, block.is_anchor, block.merges),
                    *(self.steps.guard(block.closing), begin, len(self._rows["watches"])),
                )
            )
            flags += block.width if resets else 0
            rows += block.has_rows
        return flags

    def _watches(self) -> dict[int, list[tuple[int, int, int]]]:
        """Return for each block the places of the beginnings of negative matches."""
        watches: dict[int, list[tuple[int, int, int]]] = {}
        layout = self.layout
        for negative, ends in enumerate(self.updates.merged.negatives):
            (places,) = ends.extremes
            for node, number in places:
                block = layout.block_of[node]
                watch = negative, layout.extreme_of(node, number), layout.blocks[block].overlap
                watches.setdefault(block, []).append(watch)
        return watches

    def _add_kinds(self, *, has_windows: bool) -> None:
        """Add the kinds of windows, with their seeds and the results at their end.

        has_windows: False for a pane's action, whose rows are lanes instead of windows.
        """
        rows, updates, layout = self._rows, self.updates, self.layout
        for kind, window in enumerate(updates.windows):
            times = (FOREVER, 1, 0)
            if window is not None and has_windows:
                times = (window.within, window.step, window.origin)
            seeds, ends = len(rows["seeds"]), len(rows["ends"])
            nodes = [node for node, of_node in enumerate(updates.kind_of) if of_node == kind]
            seeded = [node for node in updates.merged.seeds if updates.kind_of[node] == kind]
            rows["seeds"] += [layout.cell_of(node, 0) for node in seeded]
            for query, template in enumerate(updates.unit.templates):
                if template.query.window == window:
                    self._add_end(query)
            blocks = {layout.block_of[node] for node in nodes}
            rows["kinds"].append(
                (
                    *times,
                    layout.overlaps[kind],
                    *layout.kinds[kind],
                    *(seeds, len(rows["seeds"]), ends, len(rows["ends"])),
                    *(min(blocks, default=0), max(blocks, default=-1) + 1),
                    sum(layout.overlaps[:kind]),
                )
            )

    def _add_end(self, query: int) -> None:
        """Add the results of a query at the end of a window."""
        ends = self.updates.merged.ends[query]
        fields = self._add_fields(ends.linear, self.layout.cell_of)
        extremes = self._add_fields(ends.extremes, self.layout.extreme_of)
        self._rows["ends"].append((query, *fields, *extremes, int(ends.pairs)))

    def _add_fields(
        self, fields: Sequence[Sequence[Place]], cell_of: Callable[[int, int], int]
    ) -> tuple[int, int]:
        rows, begin = self._rows, len(self._rows["fields"])
        for places in fields:
            first = len(rows["places"])
            rows["places"] += [cell_of(node, number) for node, number in places]
            rows["fields"].append((first, len(rows["places"])))
        return begin, len(rows["fields"])
