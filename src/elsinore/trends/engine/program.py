"""A unit's merged template as tables of structs: what each class of events does to which lanes.

Classes are added as they occur, because there may be far more of them than occur: one for each
type and each combination of its local predicates.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np

from elsinore.automata.positions import FREE, NO_WAY, Ways
from elsinore.model.expression import Expression
from elsinore.model.kinds import Strategy
from elsinore.model.window import overlap_of
from elsinore.plan import TrendUnit
from elsinore.plan.template import ALL, START, Reads
from elsinore.trends.engine.bounds import Bounds
from elsinore.trends.engine.constants import NO_BLOCK, NO_GUARD, NO_STEPS, UNKNOWN
from elsinore.trends.engine.layout import ComparedSet, Layout
from elsinore.trends.engine.sharing.program import NO_WEIGHTS, SharingTables, Weights
from elsinore.trends.engine.sharing.sets import sharing_sets
from elsinore.trends.engine.step_runs import Run, StepRuns
from elsinore.trends.engine.store import StoreShape
from elsinore.trends.engine.tables import TABLES, Program
from elsinore.trends.engine.updates import Update, Updates, by_anchor
from elsinore.trends.engine.window_tables import add_kinds

_lock = threading.RLock()  # of what units keep, and of tables that classes are added to
TABLE_LIMIT = 2**22  # classes that are looked up in a table; more are numbered as they occur


class ProgramBuilder:
    """The tables of a unit, to which classes of events are added."""

    def __init__(self, unit: TrendUnit, rows: int = 0) -> None:
        """Translate a unit; rows: of a pane's action, which are lanes in place of windows."""
        self.unit = unit
        self.updates = Updates(unit)
        sets = sharing_sets(self.updates)
        compared = {n: ComparedSet(s.members, s.ways) for n, s in enumerate(sets) if s.is_compared}
        self.layout = Layout(self.updates, rows, None if rows else compared)
        self.bounds = Bounds(has_fine_lengths=unit.has_fine_lengths)
        self._reads: dict[Reads, int] = {}
        self._runs = StepRuns(self.layout, self._reads)
        self._guards: dict[tuple[Ways, Ways], int] = {}
        self._conditions: dict[tuple[Expression, ...], tuple[int, int]] = {}
        self.conditions: dict[Expression, int] = {}  # with their numbers
        self.lists: list[int] = []  # of numbers of conditions
        self.most_reads = max((len(one.ways) for one in sets), default=0)  # at once
        self._rows: dict[str, list[Any]] = {name: [] for name in TABLES}
        self._has_resets = [bool(node.resets) for node in self.updates.merged.nodes]
        self._lanes = self._add_blocks()
        add_kinds(self._rows, self.updates, self.layout, has_windows=not rows)
        self._add_reads()
        self.sharing = SharingTables(
            self.updates, self.layout, sets, self._rows, self._add_steps, self._add_reader
        )
        self.is_numbered = unit.classes.size > TABLE_LIMIT
        self._known = np.full(1 if self.is_numbered else unit.classes.size, UNKNOWN, np.int32)
        self._numbers: dict[int, int] = {}  # of classes that are too many for a table
        self._codes: list[int] = []
        self._class_codes: list[int] = []
        self._program: Program | None = None

    def shape(self, row_values: int) -> StoreShape:
        """Return the sizes of the unit's state; row_values: columns that conditions read."""
        layout, unit = self.layout, self.unit
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
            row_blocks=sum(block.has_rows for block in layout.blocks),
            row_cells=max(
                (b.width * b.sums for b in layout.blocks if b.has_rows),
                default=max(layout.overlaps),
            ),
            row_extremes=max(
                (b.width * b.extremes for b in layout.blocks if b.has_rows), default=0
            ),
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
        """Return the tables of a unit that all its operators share, in whatever threads."""
        with _lock:
            if "program" not in unit.kept:
                unit.kept["program"] = cls(unit)
            return cast("ProgramBuilder", unit.kept["program"])

    def tables(self) -> Program:
        """Return the tables with all classes that were added; they are never written to."""
        with _lock:
            if self._program is None:
                self._program = Program(self._rows, self._known.copy())
            return self._program

    def codes(self, classes: Sequence[int]) -> list[int]:
        """Return the codes of classes, given by their places in the table of classes."""
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
        """Add the classes at some places of `Program.known` that are unknown."""
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
        self._add_steps([update for update in updates if update.node not in shared_nodes])
        steps_end = len(rows["steps"])
        shared = sharing.add_sections(sections)
        changed = [*(update.node for update in updates), *resets]
        for block, index, count in self._ranges(resets):
            overlap = self.layout.blocks[block].overlap
            rows["resets"].append((block, index * overlap, count * overlap))
        rows["classes"].append(
            (
                steps,
                steps_end,
                first_reset,
                len(rows["resets"]),
                *shared,
                *sharing.add_breaks(type_name, changed, updates),
            )
        )
        return len(rows["classes"]) - 1

    def _add_steps(
        self, updates: Sequence[Update], weights: Weights = NO_WEIGHTS
    ) -> list[tuple[int, list[int]]]:
        """Add the steps of updates; return each with its nodes in the order of their lanes."""
        steps = []
        for run in self._runs.of([part for update in updates for part in by_anchor(update)]):
            self._add_step(run, weights)
            steps.append((len(self._rows["steps"]) - 1, [update.node for update in run.updates]))
        return steps

    def _add_step(self, run: Run, weights: Weights) -> None:
        rows, layout = self._rows, self.layout
        first = run.updates[0]
        block = layout.blocks[layout.block_of[first.node]]
        lane = layout.node_place[first.node] * block.overlap
        opened = layout.kinds[self.updates.kind_of[first.node]].open
        sums, extremes, begin = (len(rows[name]) for name in ("sums", "extremes", "reads"))
        reads: dict[tuple[int, int, int, int], int] = {}
        for number, sum_of in enumerate(first.sums):
            sources = len(rows["sources"])
            if number == 0 and first.starts is not None:
                read = -1
                if first.starts != ALL:
                    kept = self._reads.setdefault(first.starts, len(self._reads))
                    read = reads.setdefault((NO_BLOCK, kept, 0, block.overlap), len(reads))
                rows["sources"].append((opened if read < 0 else 0, block.overlap, read))
            self._add_sources(run, number, reads, is_extreme=False)
            target = block.cell + number * block.width + lane
            weight = weights.addends.get(sum_of.addend, -1)
            rows["sums"].append((target, sum_of.addend, sources, len(rows["sources"]), weight))
        for number, extreme in enumerate(first.extremes):
            sources = len(rows["sources"])
            self._add_sources(run, len(first.sums) + number, reads, is_extreme=True)
            target = block.extreme + number * block.width + lane
            least = weights.ranks.get(extreme.rank, -1)
            rows["extremes"].append((target, extreme.rank, sources, len(rows["sources"]), least))
        kind = self.updates.kind_of[first.node]
        for of_block, number, first_lane, lanes in reads:
            rows["reads"].append(self._read(of_block, kind, number, first_lane, lanes))
        self.most_reads = max(self.most_reads, len(reads))
        rows["steps"].append(
            (
                layout.block_of[first.node],
                lane,
                len(run.updates) * block.overlap,
                sums,
                len(rows["sums"]),
                extremes,
                len(rows["extremes"]),
                begin,
                len(rows["reads"]),
                int(any(s.reads.carries for part in first.sums for s in part.sources)),
            )
        )

    def _add_sources(
        self,
        run: Run,
        place: int,
        reads: dict[tuple[int, int, int, int], int],
        *,
        is_extreme: bool,
    ) -> None:
        """Add what a sum or an extreme of a step reads, and the reads of rows that it needs."""
        for term, shared in zip(run.terms[place], run.shared[place], strict=True):
            source = self.layout.blocks[term.block]
            period = source.overlap if shared else 0
            lane = term.node * source.overlap
            cell, read = term.row * source.width + lane, -1
            if term.reads >= 0:
                lanes = source.overlap if shared else len(run.updates) * source.overlap
                read = reads.setdefault((term.block, term.reads, lane, lanes), len(reads))
            else:
                cell += source.extreme if is_extreme else source.cell
            self._rows["sources"].append((cell, period, read))

    def _read(self, number: int, kind: int, reads: int, lane: int, lanes: int) -> tuple[int, ...]:
        """Return a read of a block, or of `NO_BLOCK`: of the windows of a kind."""
        asked, parts = list(self._reads)[reads], (0, 0)
        if number != NO_BLOCK:
            block = self.layout.blocks[number]
            parts = self.bounds.parts(
                asked.ranges,
                block.order,
                is_falling=block.is_falling,
                is_whole=block.is_rising or block.is_falling,
            )
        guard = self._guard(asked.free, asked.unless)
        listed = *self._listed(asked.conditions), *self._listed(asked.checks)
        return (number, kind, lane, lanes, *parts, *listed, guard)

    def _listed(self, conditions: tuple[Expression, ...]) -> tuple[int, int]:
        """Return the range of `lists` with the numbers of conditions."""
        if conditions not in self._conditions:
            begin = len(self.lists)
            self.lists += [
                self.conditions.setdefault(condition, len(self.conditions))
                for condition in conditions
            ]
            self._conditions[conditions] = begin, len(self.lists)
        return self._conditions[conditions]

    def _guard(self, free: Ways, unless: Ways = NO_WAY) -> int:
        """Return the number of a guard; NO_GUARD if NOT forbids nothing."""
        if free == FREE and not unless:
            return NO_GUARD
        if (free, unless) not in self._guards:
            self._guards[free, unless] = len(self._guards)
            self._rows["guards"].append((*self._add_ways(free), *self._add_ways(unless)))
        return self._guards[free, unless]

    def _add_ways(self, ways: Ways) -> tuple[int, int]:
        rows, begin = self._rows, len(self._rows["ways"])
        for way in sorted(ways, key=sorted):
            first = len(rows["negatives"])
            rows["negatives"] += sorted(way)
            rows["ways"].append((first, len(rows["negatives"])))
        return begin, len(rows["ways"])

    def _ranges(self, nodes: Sequence[int]) -> Iterator[tuple[int, int, int]]:
        """Yield nodes as (block, first index, number of nodes side by side)."""
        places = sorted((self.layout.block_of[n], self.layout.node_place[n]) for n in nodes)
        begin = 0
        for end in range(1, len(places) + 1):
            follows = end < len(places) and places[end] == (
                places[end - 1][0],
                places[end - 1][1] + 1,
            )
            if not follows:
                yield *places[begin], end - begin
                begin = end

    def _add_blocks(self) -> int:
        """Add the blocks; return how many flags of emptied lanes there are."""
        flags = rows = 0
        watches = self._watches()
        for number, block in enumerate(self.layout.blocks):
            begin = len(self._rows["watches"])
            self._rows["watches"] += watches.get(number, [])
            resets = block.is_broken or any(self._has_resets[node] for node in block.nodes)
            self._rows["blocks"].append(
                (
                    block.cell,
                    block.width,
                    block.sums,
                    block.extreme,
                    block.extremes,
                    flags if resets else -1,
                    rows if block.has_rows else -1,
                    self.bounds.order(block.order, is_falling=block.is_falling),
                    int(block.has_rows and block.strategy is Strategy.ANY and not block.is_checked),
                    int(block.is_rising or block.is_falling),
                    int(block.strategy is Strategy.NEXT and block.has_rows),
                    int(block.is_broken),
                    int(block.is_checked),
                    int(block.is_anchor),
                    int(block.merges),
                    self._guard(block.closing),
                    begin,
                    len(self._rows["watches"]),
                )
            )
            flags += block.width if resets else 0
            rows += block.has_rows
        return flags

    def _watches(self) -> dict[int, list[tuple[int, int, int]]]:
        """Return for each block where the beginnings of negative matches are found."""
        watches: dict[int, list[tuple[int, int, int]]] = {}
        layout = self.layout
        for negative, ends in enumerate(self.updates.merged.negatives):
            (places,) = ends.extremes
            for node, number in places:
                block = layout.block_of[node]
                watch = negative, layout.extreme_of(node, number), layout.blocks[block].overlap
                watches.setdefault(block, []).append(watch)
        return watches

    def _add_reader(self, block: int, reads: Reads) -> int:
        """Add what reads all lanes of a block; return its place."""
        lanes = self.layout.blocks[block].width
        self._rows["reads"].append(self._read(block, 0, self._reads[reads], 0, lanes))
        return len(self._rows["reads"]) - 1

    def _add_reads(self) -> None:
        """Number what events read, before a batch is looked at."""
        for node in self.updates.nodes:
            for edge in node.edges:
                if edge.reads != ALL:
                    reads = self._reads.setdefault(edge.reads, len(self._reads))
                    block = NO_BLOCK
                    if edge.source != START:
                        block = self.layout.block_of[edge.source]
                    self._read(block, 0, reads, 0, 0)
