"""What each class of events does to nodes, as updates and as steps on ranges of lanes.

Updates of adjacent nodes that read adjacent nodes, or the same node, are one step.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from elsinore.automata.positions import FREE, NO_WAY, Ways
from elsinore.model.expression import Expression
from elsinore.model.kinds import Strategy
from elsinore.plan import TrendUnit
from elsinore.plan.aggregates import Addend, FieldKind
from elsinore.plan.merged import Edge, Signature, ancestors, field_index
from elsinore.plan.template import ALL, START, Events, Reads
from elsinore.trends.engine.bounds import Bounds
from elsinore.trends.engine.constants import (
    BEGINNING,
    NO_ADDEND,
    NO_BLOCK,
    NO_GUARD,
    NO_RANK,
    ONE,
    VALUE,
)
from elsinore.trends.engine.layout import Layout

Rows = dict[str, list[Any]]  # of each table of a program
ReadNumbers = dict[tuple[int, int, int, int], int]  # of (block, reads, first lane, lanes)


class Source(NamedTuple):
    """A sum or extreme of a predecessor, and which of its events an event may follow."""

    node: int
    row: int
    reads: Reads


class SumUpdate(NamedTuple):
    """The update of one sum of a node: its sources, and the code of the event's own addend."""

    sources: tuple[Source, ...]
    addend: int  # NO_ADDEND, ONE, or VALUE + a column of addends


class ExtremeUpdate(NamedTuple):
    """The update of one extreme of a node: its sources, and the event's own rank."""

    sources: tuple[Source, ...]
    rank: int  # a column of ranks, NO_RANK or BEGINNING


class Update(NamedTuple):
    """The update of one node by one class of events; `sums[0]` is the number of trends."""

    node: int
    starts: Reads | None  # the windows in which a trend may begin with the event; None: none
    sums: tuple[SumUpdate, ...]
    extremes: tuple[ExtremeUpdate, ...]


def by_anchor(update: Update) -> list[Update]:
    """Split an update into two if trends keep their anchors from some of its sources only.

    >>> apart = Source(0, 0, ALL._replace(carries=True))
    >>> both = Update(1, None, (SumUpdate((apart, Source(2, 0, ALL)), NO_ADDEND),), ())
    >>> [[source.node for source in one.sums[0].sources] for one in by_anchor(both)]
    [[2], [0]]
    """
    if not any(source.reads.carries for source in update.sums[0].sources):
        return [update]
    parts = []
    for carries in (False, True):
        sums = tuple(s._replace(sources=_some(s.sources, carries)) for s in update.sums)
        extremes = tuple(e._replace(sources=_some(e.sources, carries)) for e in update.extremes)
        starts = None if carries else update.starts
        if starts is not None or sums[0].sources:
            parts.append(Update(update.node, starts, sums, extremes))
    return parts


def _some(sources: Sequence[Source], carries: bool) -> tuple[Source, ...]:
    return tuple(source for source in sources if source.reads.carries == carries)


class Updates:
    """The updates and resets of all classes of a unit whose queries have templates."""

    def __init__(self, unit: TrendUnit) -> None:
        self.unit = unit
        self.merged = unit.merged
        self.nodes = unit.merged.nodes
        self.windows = unit.merged.windows
        kinds = {window: kind for kind, window in enumerate(self.windows)}
        self.kind_of = [kinds[node.window] for node in self.nodes]
        self.ranks = self._ranks()  # (kind, attribute) of each column of ranks
        self._before = ancestors(self.nodes)
        self._addends = addend_codes(unit)
        self._entering: dict[str, list[tuple[int, Edge]]] = {}
        self._emptying: dict[str, list[tuple[int, Events]]] = {}
        for number, node in enumerate(self.nodes):
            for edge in node.edges:
                self._entering.setdefault(edge.type, []).append((number, edge))
            for reset in node.storage.resets:
                self._emptying.setdefault(reset.type, []).append((number, reset))

    def _ranks(self) -> list[tuple[FieldKind, str]]:
        read = dict.fromkeys(
            (signature.kind, signature.attribute)
            for node in self.nodes
            for signature in node.extremes
        )
        return [(kind, name) for kind, name in read if name is not None]

    def updates(self, type_name: str, true: frozenset[Expression]) -> list[Update]:
        """Return the updates by an event of a type that satisfies the local predicates `true`."""
        taken: dict[int, list[Edge]] = {}
        for node, edge in self._entering.get(type_name, ()):
            if edge.takes(type_name, true):
                taken.setdefault(node, []).append(edge)
        return [self.update(node, edges) for node, edges in taken.items()]

    def resets(self, type_name: str, true: frozenset[Expression]) -> list[int]:
        """Return the nodes that an event of a type with the predicates `true` empties."""
        entries = self._emptying.get(type_name, ())
        return list(dict.fromkeys(node for node, reset in entries if reset.takes(type_name, true)))

    def update(self, node: int, edges: Sequence[Edge]) -> Update:
        """Return the update of a node by an event that enters it along some edges."""
        merged = self.nodes[node]
        before = [edge for edge in edges if edge.source != START]
        starts = [edge.reads for edge in edges if edge.source == START]
        return Update(
            node,
            ALL if ALL in starts else next(iter(starts), None),
            tuple(
                SumUpdate(self._sources(before, sum_of), self._addend(node, sum_of, edges[0].type))
                for sum_of in merged.linear
            ),
            tuple(
                ExtremeUpdate(
                    self._sources(before, extreme),
                    self._rank(node, extreme, edges[0].type, starts=bool(starts)),
                )
                for extreme in merged.extremes
            ),
        )

    def _sources(self, edges: Sequence[Edge], signature: Signature) -> tuple[Source, ...]:
        sources = []
        for edge in edges:
            row = field_index(self.nodes[edge.source], signature, self._before[edge.source])
            if row is not None:
                sources.append(Source(edge.source, row, edge.reads))
        return tuple(sources)

    def _addend(self, node: int, signature: Signature, type_name: str) -> int:
        if (node, type_name) not in signature.contributors:
            return NO_ADDEND
        if signature.kind is FieldKind.EVENTS or signature.attribute is None:
            return ONE
        window = self.nodes[node].window
        return self._addends[Addend.of(signature.kind, signature.attribute, window, signature.turn)]

    def _rank(self, node: int, signature: Signature, type_name: str, *, starts: bool) -> int:
        if signature.kind is FieldKind.BEGINNING:
            return BEGINNING if starts else NO_RANK
        if (node, type_name) not in signature.contributors or signature.attribute is None:
            return NO_RANK
        return self.ranks.index((signature.kind, signature.attribute))

    def addends(self, nodes: Iterable[int]) -> set[int]:
        """Return the codes of the addends of nodes' sums."""
        updates = [self.update(node, self.nodes[node].edges) for node in nodes]
        return {part.addend for update in updates for part in update.sums} - {NO_ADDEND}


def addend_codes(unit: TrendUnit) -> dict[Addend, int]:
    """Return the codes of a unit's addends."""
    codes: dict[Addend, int] = {}
    for number, addend in enumerate(unit.addends):
        codes[addend] = VALUE + 2 * number
        codes.setdefault(Addend(FieldKind.PRESENT, addend.attribute), VALUE + 2 * number + 1)
    return codes


class Weights(NamedTuple):
    """The places of addends and of columns of ranks among those of a sharing set."""

    addends: Mapping[int, int]
    ranks: Mapping[int, int]


NO_WEIGHTS = Weights({}, {})


class Term(NamedTuple):
    """A source of a step: a row of a block from a node on, or one node for all the step's nodes."""

    block: int
    row: int
    reads: int  # the number of its reads; -1: the block's sums, of all events
    node: int  # its place in the block


class Run(NamedTuple):
    """Updates of adjacent nodes that are one step.

    `terms` are those of each sum, then of each extreme, of the run's first node; `shared` says for
    each term whether all nodes read the same node.
    """

    updates: list[Update]
    terms: list[list[Term]]
    shared: list[list[bool]]


class StepTables:
    """Adds steps and their reads to the tables of a program (`rows`)."""

    def __init__(self, updates: Updates, layout: Layout, bounds: Bounds, rows: Rows) -> None:
        self._updates, self._layout, self._bounds, self._rows = updates, layout, bounds, rows
        self._reads: dict[Reads, int] = {}  # with their numbers
        self._guards: dict[tuple[Ways, Ways], int] = {}
        self._listed: dict[tuple[Expression, ...], tuple[int, int]] = {}
        self.conditions: dict[Expression, int] = {}  # with their numbers
        self.lists: list[int] = []  # of numbers of conditions
        self.most_reads = 0  # of a step
        for node in updates.nodes:  # bounds are known before the first batch
            for edge in node.edges:
                if edge.reads != ALL:
                    self._number(edge.reads)
                    block = NO_BLOCK if edge.source == START else layout.block_of[edge.source]
                    self._read(block, 0, edge.reads, 0, 0)

    def add_steps(
        self, updates: Sequence[Update], weights: Weights = NO_WEIGHTS
    ) -> list[tuple[int, list[int]]]:
        """Add the steps of updates; return each with its nodes in the order of their lanes."""
        layout = self._layout
        steps = []
        runs: list[Run] = []
        parts = [part for update in updates for part in by_anchor(update)]
        for update in sorted(
            parts, key=lambda u: (layout.block_of[u.node], layout.node_place[u.node])
        ):
            terms = self._terms(update)
            if not (runs and self._extends(runs[-1], update, terms)):
                runs.append(Run([update], terms, [[False] * len(several) for several in terms]))
        for run in runs:
            self._add_step(run, weights)
            steps.append((len(self._rows["steps"]) - 1, [update.node for update in run.updates]))
        return steps

    def _number(self, reads: Reads) -> int:
        return self._reads.setdefault(reads, len(self._reads))

    def _terms(self, update: Update) -> list[list[Term]]:
        """Return the terms of each sum and extreme of an update, sorted."""
        parts: list[SumUpdate | ExtremeUpdate] = [*update.sums, *update.extremes]
        return [sorted(self._term(source) for source in part.sources) for part in parts]

    def _term(self, source: Source) -> Term:
        block, reads = self._layout.block_of[source.node], -1
        of_block = self._layout.blocks[block]
        if of_block.has_rows and (of_block.strategy is not Strategy.ANY or source.reads != ALL):
            reads = self._number(source.reads)
        return Term(block, source.row, reads, self._layout.node_place[source.node])

    def _extends(self, run: Run, update: Update, terms: list[list[Term]]) -> bool:
        """Append an update to a run, if they are one step; return whether they are."""
        last = run.updates[-1]
        layout, distance = self._layout, len(run.updates)
        if (
            layout.block_of[last.node] != layout.block_of[update.node]
            or layout.node_place[last.node] + 1 != layout.node_place[update.node]
            or update.starts != last.starts
            or [part.addend for part in update.sums] != [part.addend for part in last.sums]
            or [part.rank for part in update.extremes] != [part.rank for part in last.extremes]
            or list(map(len, terms)) != list(map(len, run.terms))
        ):
            return False
        pairs = [list(zip(*both, strict=True)) for both in zip(run.terms, terms, strict=True)]
        for first, term in itertools.chain(*pairs):
            if first[:3] != term[:3] or term.node - first.node not in {0, distance}:
                return False
        shared = [[term.node == first.node for first, term in several] for several in pairs]
        if distance > 1 and shared != run.shared:
            return False
        run.updates.append(update)
        run.shared[:] = shared
        return True

    def _add_step(self, run: Run, weights: Weights) -> None:
        rows, layout, first = self._rows, self._layout, run.updates[0]
        number, kind = layout.block_of[first.node], self._updates.kind_of[first.node]
        block = layout.blocks[number]
        lane = layout.node_place[first.node] * block.overlap
        sums, extremes, begin = (len(rows[name]) for name in ("sums", "extremes", "reads"))
        reads: ReadNumbers = {}
        parts: list[SumUpdate | ExtremeUpdate] = [*first.sums, *first.extremes]
        for place, part in enumerate(parts):
            sources = len(rows["sources"])
            if place == 0 and first.starts is not None:
                cell, read = layout.kinds[kind].cell, -1
                if first.starts != ALL:
                    key = NO_BLOCK, self._number(first.starts), 0, block.overlap
                    cell, read = 0, reads.setdefault(key, len(reads))
                rows["sources"].append((cell, block.overlap, read))
            self._add_sources(run, place, reads)
            end = len(rows["sources"])
            if isinstance(part, SumUpdate):
                target = block.cell + place * block.width + lane
                weight = weights.addends.get(part.addend, -1)
                rows["sums"].append((target, part.addend, sources, end, weight))
            else:
                target = block.extreme + (place - len(first.sums)) * block.width + lane
                least = weights.ranks.get(part.rank, -1)
                rows["extremes"].append((target, part.rank, sources, end, least))
        known = list(self._reads)
        for of_block, place, first_lane, lanes in reads:
            rows["reads"].append(self._read(of_block, kind, known[place], first_lane, lanes))
        self.most_reads = max(self.most_reads, len(reads))
        ends = (len(rows[name]) for name in ("sums", "extremes", "reads"))
        ranges = (edge for pair in zip((sums, extremes, begin), ends, strict=True) for edge in pair)
        carries = any(s.reads.carries for part in first.sums for s in part.sources)
        rows["steps"].append(
            (number, lane, len(run.updates) * block.overlap, *ranges, int(carries))
        )

    def _add_sources(self, run: Run, place: int, reads: ReadNumbers) -> None:
        """Add the sources of a sum or an extreme of a step, and the reads of rows they need."""
        is_extreme = place >= len(run.updates[0].sums)
        for term, shared in zip(run.terms[place], run.shared[place], strict=True):
            source = self._layout.blocks[term.block]
            period = source.overlap if shared else 0
            lane = term.node * source.overlap
            cell, read = term.row * source.width + lane, -1
            if term.reads >= 0:
                lanes = source.overlap if shared else len(run.updates) * source.overlap
                read = reads.setdefault((term.block, term.reads, lane, lanes), len(reads))
            else:
                cell += source.extreme if is_extreme else source.cell
            self._rows["sources"].append((cell, period, read))

    def add_reader(self, block: int, reads: Reads) -> int:
        """Add a read of all lanes of a block; return its place."""
        lanes = self._layout.blocks[block].width
        self._rows["reads"].append(self._read(block, 0, reads, 0, lanes))
        return len(self._rows["reads"]) - 1

    def _read(self, number: int, kind: int, reads: Reads, lane: int, lanes: int) -> tuple[int, ...]:
        """Return a read of a block, or for NO_BLOCK of the beginnings of windows of a kind."""
        parts = (0, 0)
        if number != NO_BLOCK:
            block = self._layout.blocks[number]
            parts = self._bounds.parts(
                reads.ranges,
                block.order,
                is_falling=block.is_falling,
                is_whole=block.is_rising or block.is_falling,
            )
        listed = (
            *self._list(reads.conditions),
            *self._list(tuple(check for _, check in reads.checks)),
        )
        guard = self.guard(reads.free, reads.unless)
        return (number, kind, lane, lanes, *parts, *listed, guard)

    def _list(self, conditions: tuple[Expression, ...]) -> tuple[int, int]:
        """Return the range of `lists` that contains the numbers of conditions."""
        if conditions not in self._listed:
            begin = len(self.lists)
            self.lists += [self.conditions.setdefault(c, len(self.conditions)) for c in conditions]
            self._listed[conditions] = begin, len(self.lists)
        return self._listed[conditions]

    def guard(self, free: Ways, unless: Ways = NO_WAY) -> int:
        """Return the number of a guard; NO_GUARD without NOT."""
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
