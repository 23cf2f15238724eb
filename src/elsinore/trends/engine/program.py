"""A unit's merged template as tables of structs: what each class of events does to which lanes.

Classes are added as they occur, because there may be far more of them than occur: one for each
type and each combination of its local predicates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from elsinore.model.window import overlap_of
from elsinore.plan import TrendUnit
from elsinore.plan.merged import Place
from elsinore.trends.engine import tables
from elsinore.trends.engine.store import StoreShape
from elsinore.trends.engine.tables import FOREVER, NO_RANK, NO_STEPS, UNKNOWN, Program
from elsinore.trends.nodes.layout import Layout
from elsinore.trends.nodes.updates import Update, Updates

_KINDS = {
    "classes": tables.EVENT_CLASS,
    "steps": tables.STEP,
    "sums": tables.SUM,
    "sources": tables.SOURCE,
    "extremes": tables.EXTREME,
    "resets": tables.RESET,
    "blocks": tables.BLOCK,
    "kinds": tables.WINDOW_KIND,
    "ends": tables.QUERY_END,
    "fields": tables.FIELD,
    "places": tables.CELL,
    "seeds": tables.CELL,
}
TABLE_LIMIT = 2**22  # classes that are looked up in a table; more are numbered as they occur


class Term(NamedTuple):
    """Lanes that a step reads: a row of a block from a node on, or one node's for all its nodes."""

    block: int
    row: int
    node: int  # its place in the block


class Run(NamedTuple):
    """Updates of nodes side by side that read nodes side by side: one step.

    `terms[s]` are those of sum s, then of extreme s, of the run's first node; `shared[s]` says for
    each of them whether all nodes read the same, None where there is but one node.
    """

    updates: list[Update]
    terms: list[list[Term]]
    shared: list[list[bool | None]]


class ProgramBuilder:
    """The tables of a unit, to which classes of events are added."""

    def __init__(self, unit: TrendUnit) -> None:
        self.unit = unit
        self.updates = Updates(unit)
        self.layout = Layout(self.updates)
        self._ranks = {code: place for place, code in enumerate(self.updates.ranks)}
        self._rows: dict[str, list[Any]] = {name: [] for name in _KINDS}
        self._has_resets = [bool(node.resets) for node in self.updates.merged.nodes]
        self._lanes = self._add_blocks()
        self._add_kinds()
        self.is_numbered = unit.classes.size > TABLE_LIMIT
        self._known = np.full(1 if self.is_numbered else unit.classes.size, UNKNOWN, np.int32)
        self._numbers: dict[int, int] = {}  # of classes that are too many for a table
        self._codes: list[int] = []
        self.class_count = 0

    @property
    def shape(self) -> StoreShape:
        """The sizes of the unit's state."""
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
        )

    def tables(self) -> Program:
        """Return the tables with all classes that were added."""
        filled = {name: tables.table(kind, self._rows[name]) for name, kind in _KINDS.items()}
        return Program(filled | {"known": self._known.copy()})

    def numbers(self, codes: Any) -> Any:
        """Return the codes of events as indices of `Program.known`."""
        if not self.is_numbered:
            return codes
        unique, inverse = np.unique(codes, return_inverse=True)
        numbers = []
        for code in unique.tolist():
            if code >= 0 and code not in self._numbers:
                self._numbers[code] = len(self._codes)
                self._codes.append(code)
            numbers.append(self._numbers.get(code, -1))
        if len(self._codes) > len(self._known):
            more = np.full(2 * len(self._codes) - len(self._known), UNKNOWN, np.int32)
            self._known = np.concatenate((self._known, more))
        return np.array(numbers, dtype=np.int64)[inverse]

    def add_classes(self, numbers: Sequence[int]) -> None:
        """Add the classes at some places of `Program.known` that are unknown."""
        for number in numbers:
            if self._known[number] != UNKNOWN:
                continue
            code = self._codes[number] if self.is_numbered else number
            decoded = self.unit.classes.decode(code)
            updates, resets = self.updates.updates(*decoded), self.updates.resets(*decoded)
            self._known[number] = self._add_class(updates, resets)
            self.class_count += 1

    def _add_class(self, updates: Sequence[Update], resets: Sequence[int]) -> int:
        if not updates and not resets:
            return NO_STEPS
        rows = self._rows
        steps, first_reset = len(rows["steps"]), len(rows["resets"])
        for run in self._runs(updates):
            self._add_step(run)
        for block, index, count in self._ranges(resets):
            overlap = self.layout.blocks[block].overlap
            rows["resets"].append((block, index * overlap, count * overlap))
        rows["classes"].append((steps, len(rows["steps"]), first_reset, len(rows["resets"])))
        return len(rows["classes"]) - 1

    def _runs(self, updates: Sequence[Update]) -> list[Run]:
        """Put updates of nodes side by side together where they read nodes side by side."""
        layout = self.layout
        ordered = sorted(updates, key=lambda u: (layout.block_of[u.node], layout.index_of[u.node]))
        runs: list[Run] = []
        for update in ordered:
            terms = self._terms(update)
            if not (runs and self._extends(runs[-1], update, terms)):
                runs.append(Run([update], terms, [[None] * len(several) for several in terms]))
        return runs

    def _terms(self, update: Update) -> list[list[Term]]:
        """Return what an update reads for each sum and extreme, in an order of their own."""
        layout = self.layout
        terms = []
        for part in (*update.sums, *update.extremes):
            places = [(node, row) for node, row in part.sources if row is not None]
            found = [Term(layout.block_of[n], row, layout.index_of[n]) for n, row in places]
            terms.append(sorted(found))
        return terms

    def _extends(self, run: Run, update: Update, terms: list[list[Term]]) -> bool:
        """Take an update into a run, if it is one with it."""
        last = run.updates[-1]
        layout, distance = self.layout, len(run.updates)
        if (
            layout.block_of[last.node] != layout.block_of[update.node]
            or layout.index_of[last.node] + 1 != layout.index_of[update.node]
            or update.start != last.start
            or [part.contribution for part in update.sums]
            != [part.contribution for part in last.sums]
            or [part.attribute for part in update.extremes]
            != [part.attribute for part in last.extremes]
            or list(map(len, terms)) != list(map(len, run.terms))
        ):
            return False
        shared: list[list[bool | None]] = []
        for of_first, mine, known in zip(run.terms, terms, run.shared, strict=True):
            shared.append([])
            for before, term, is_shared in zip(of_first, mine, known, strict=True):
                if before[:2] != term[:2]:
                    return False
                same, aside = term.node == before.node, term.node == before.node + distance
                if not (same and is_shared is not False) and not (aside and is_shared is not True):
                    return False
                shared[-1].append(same)
        run.updates.append(update)
        run.shared[:] = shared
        return True

    def _add_step(self, run: Run) -> None:
        rows, layout = self._rows, self.layout
        first = run.updates[0]
        block = layout.blocks[layout.block_of[first.node]]
        lane = layout.index_of[first.node] * block.overlap
        opened = layout.kinds[self.updates.kind_of[first.node]].open
        sums = len(rows["sums"])
        for number, part in enumerate(first.sums):
            sources = len(rows["sources"])
            if number == 0 and first.start:
                rows["sources"].append((opened, block.overlap))
            for term, shared in zip(run.terms[number], run.shared[number], strict=True):
                source = layout.blocks[term.block]
                cell = source.cell + term.row * source.width + term.node * source.overlap
                rows["sources"].append((cell, block.overlap if shared else 0))
            target = block.cell + number * block.width + lane
            rows["sums"].append((target, part.contribution, sources, len(rows["sources"])))
        extremes = len(rows["extremes"])
        for number, extreme in enumerate(first.extremes):
            sources, place = len(rows["sources"]), len(first.sums) + number
            for term, shared in zip(run.terms[place], run.shared[place], strict=True):
                source = layout.blocks[term.block]
                cell = source.extreme + term.row * source.width + term.node * source.overlap
                rows["sources"].append((cell, block.overlap if shared else 0))
            target = block.extreme + number * block.width + lane
            rank = self._ranks[extreme.attribute] if extreme.attribute >= 0 else NO_RANK
            rows["extremes"].append((target, rank, sources, len(rows["sources"])))
        rows["steps"].append(
            (
                layout.block_of[first.node],
                lane,
                len(run.updates) * block.overlap,
                sums,
                len(rows["sums"]),
                extremes,
                len(rows["extremes"]),
            )
        )

    def _ranges(self, nodes: Sequence[int]) -> Iterator[tuple[int, int, int]]:
        """Yield nodes as (block, first index, number of nodes side by side)."""
        places = sorted((self.layout.block_of[n], self.layout.index_of[n]) for n in nodes)
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
        flags = 0
        for block in self.layout.blocks:
            resets = any(self._has_resets[node] for node in block.nodes)
            self._rows["blocks"].append(
                (
                    block.cell,
                    block.width,
                    block.sums,
                    block.extreme,
                    block.extremes,
                    flags if resets else -1,
                )
            )
            flags += block.width if resets else 0
        return flags

    def _add_kinds(self) -> None:
        """Add the kinds of windows, with their seeds and what is given out at their end."""
        rows, layout, merged = self._rows, self.layout, self.updates.merged
        for kind, window in enumerate(self.updates.windows):
            times = (FOREVER, 1, 0)
            if window is not None:
                times = (window.within, window.step, window.origin)
            seeds, ends = len(rows["seeds"]), len(rows["ends"])
            rows["seeds"] += [
                layout.cell_of(seed, 0)
                for seed in merged.seeds
                if self.updates.kind_of[seed] == kind
            ]
            for query, template in enumerate(self.unit.templates):
                if template.query.window == window:
                    self._add_end(query)
            cells = layout.kinds[kind]
            rows["kinds"].append(
                (
                    *times,
                    layout.overlaps[kind],
                    cells.cell,
                    cells.last_cell,
                    cells.extreme,
                    cells.last_extreme,
                    seeds,
                    len(rows["seeds"]),
                    ends,
                    len(rows["ends"]),
                )
            )

    def _add_end(self, query: int) -> None:
        ends, rows = self.updates.merged.ends[query], self._rows
        fields = self._add_fields(ends.linear, self.layout.cell_of)
        extremes = self._add_fields(ends.extremes, self.layout.extreme_of)
        rows["ends"].append((query, *fields, *extremes, int(ends.pairs)))

    def _add_fields(
        self, fields: Sequence[Sequence[Place]], cell_of: Callable[[int, int], int]
    ) -> tuple[int, int]:
        rows = self._rows
        begin = len(rows["fields"])
        for places in fields:
            first = len(rows["places"])
            rows["places"] += [cell_of(node, number) for node, number in places]
            rows["fields"].append((first, len(rows["places"])))
        return begin, len(rows["fields"])
