"""The lanes of a key's slot: nodes of one shape side by side.

Nodes of the merged template have one *shape* if they differ only in types and constants. They are
one *block*: it has a row of lanes for each sum, node after node, and for each node one lane per
window that can be open at once. So queries of one shape are lanes of one query, and what an event
does to many of them is one step. If events of nodes are read one by one, or by ranges of an
attribute's values, their blocks have rows of events, too (`elsinore.trends.engine.rows`).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from elsinore.automata.positions import FREE, Ways
from elsinore.model.expression import Expression
from elsinore.model.kinds import Strategy
from elsinore.model.window import overlap_of
from elsinore.plan import TrendUnit
from elsinore.plan.classes import comparison_with_number
from elsinore.plan.merged import Edge, MergedTemplate, Node, coarsest_division
from elsinore.plan.ranges import sides
from elsinore.plan.template import ALL, START, Cut, Reads, Template

FEWEST_SNAPSHOTS, MOST_SNAPSHOTS = 8, 64  # of a set whose events are compared


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Nodes of one shape, in the order of their lanes.

    If an event may follow only some of their events, each event has a row (`has_rows`), ordered by
    the expression `order`.
    """

    nodes: tuple[int, ...]
    overlap: int  # windows open at once
    cell: int  # its first cell
    sums: int
    extreme: int  # its first extreme
    extremes: int
    strategy: Strategy
    is_broken: bool = False  # CONTIGUOUS: whether each event ends the trends so far
    has_rows: bool = False
    is_checked: bool = False  # whether each row is checked, as conditions are not ranges
    is_anchor: bool = False  # whether its events are anchors
    merges: bool = False  # whether the rows of an anchor are one row, as no condition reads them
    closing: Ways = FREE
    order: Expression | None = None
    is_rising: bool = False  # whether all reads have only an upper bound
    is_falling: bool = False  # ... only a lower bound
    snapshots: int = 0  # the number of lanes of a block without nodes

    @property
    def width(self) -> int:
        """The lanes of a row."""
        return self.snapshots or len(self.nodes) * self.overlap


class KindLayout(NamedTuple):
    """The ranges of cells and extremes of a kind of window.

    The first `overlap` cells are 1 while a window is open.
    """

    cell: int
    last_cell: int
    extreme: int
    last_extreme: int


class ComparedSet(NamedTuple):
    """Nodes that share compared events, each with the number of its way to compare them.

    addends: the number of different addends of their sums.
    """

    members: Mapping[int, int]
    ways: tuple[Reads, ...]
    addends: int


class Layout:
    """The blocks of a unit's nodes, and the places of each node's sums."""

    def __init__(
        self, unit: TrendUnit, rows: int = 0, compared: Mapping[int, ComparedSet] | None = None
    ) -> None:
        """Lay out a unit's nodes; compared: sharing sets by their numbers.

        rows: of a pane's action, which are lanes instead of windows; 0 without panes.
        """
        nodes, windows = unit.merged.nodes, unit.merged.windows
        kind_of = [windows.index(node.window) for node in nodes]
        self.overlaps = [rows or overlap_of(window) for window in windows]
        self.blocks: list[Block] = []
        self.kinds: list[KindLayout] = []
        self.block_of = [0] * len(nodes)
        self.node_place = [0] * len(nodes)
        compared = compared or {}
        self.reader_blocks: dict[tuple[int, int], int] = {}  # of a set and a way to compare
        shapes, ranks = _shapes(nodes, kind_of, compared), lane_order(unit)
        members: dict[tuple[int, int], list[int]] = {}
        for node, shape in enumerate(shapes):
            members.setdefault((kind_of[node], shape), []).append(node)
        onward = _edges_from(nodes)
        cell = extreme = 0
        for kind, overlap in enumerate(self.overlaps):
            first_cell, first_extreme = cell, extreme
            cell += overlap
            for several in (nodes_of for (of, _), nodes_of in members.items() if of == kind):
                several.sort(key=ranks.__getitem__)
                for place, node in enumerate(several):
                    self.block_of[node], self.node_place[node] = len(self.blocks), place
                first = nodes[several[0]]
                stored = first.storage.rows
                cuts = [cut for n in several for edge in onward[n] for cut in edge.reads.cuts]
                order = None if stored is None else stored.order
                ends = set() if order is None else _ends_of(cuts, order)
                leads = any(onward[n] for n in several)
                is_checked = stored is not None and stored.is_checked
                is_summed = first.strategy is Strategy.ANY and not is_checked
                block = Block(
                    nodes=tuple(several),
                    overlap=overlap,
                    cell=cell,
                    sums=len(first.linear),
                    extreme=extreme,
                    extremes=len(first.extremes),
                    strategy=first.strategy,
                    has_rows=stored is not None,
                    is_checked=is_checked,
                    is_anchor=stored is not None and stored.is_anchor,
                    merges=stored is not None and _merges(first, onward[several[0]]),
                    closing=first.closing,
                    is_broken=first.strategy is Strategy.CONTIGUOUS and leads,
                    order=order,
                    is_rising=is_summed and ends == {True},
                    is_falling=is_summed and ends == {False},
                )
                self.blocks.append(block)
                cell += block.width * block.sums
                extreme += block.width * block.extremes
            self.kinds.append(KindLayout(first_cell, cell, first_extreme, extreme))
        self.cells, self.extremes = cell, extreme
        for number, one in compared.items():
            self._add_reader_blocks(number, one)

    def _add_reader_blocks(self, number: int, one: ComparedSet) -> None:
        """Add the blocks whose lanes are a set's snapshots, one for each way to compare."""
        lanes = sum(self.blocks[b].width for b in {self.block_of[n] for n in one.members})
        columns = min(max(2 * lanes, FEWEST_SNAPSHOTS), MOST_SNAPSHOTS)
        for node, way in one.members.items():
            if (number, way) not in self.reader_blocks and one.ways[way] != ALL:
                self.reader_blocks[number, way] = len(self.blocks)
                block = replace(
                    self.blocks[self.block_of[node]],
                    nodes=(),
                    cell=self.cells,
                    sums=1 + one.addends,
                    snapshots=columns,
                )
                self.blocks.append(block)
                self.cells += block.width * block.sums

    @property
    def lanes(self) -> int:
        """The lanes of the widest block."""
        return max((block.width for block in self.blocks), default=0)

    def cell_of(self, node: int, number: int) -> int:
        """Return the first cell of one of a node's sums."""
        block = self.blocks[self.block_of[node]]
        return block.cell + number * block.width + self.node_place[node] * block.overlap

    def extreme_of(self, node: int, number: int) -> int:
        """Return the first entry of one of a node's extremes."""
        block = self.blocks[self.block_of[node]]
        return block.extreme + number * block.width + self.node_place[node] * block.overlap


def _edges_from(nodes: Sequence[Node]) -> list[list[Edge]]:
    """Return the edges that lead on from each node."""
    onward: list[list[Edge]] = [[] for _ in nodes]
    for node in nodes:
        for edge in node.edges:
            if edge.source != START:
                onward[edge.source].append(edge)
    return onward


def _merges(node: Node, onward: Sequence[Edge]) -> bool:
    """Return whether later events read only the anchors of a node's rows."""
    return (
        node.storage.rows is not None
        and node.storage.rows.holds_anchor
        and not node.storage.rows.is_anchor
        and node.strategy is Strategy.ANY
        and all(e.reads._replace(checks=(), carries=False) == ALL for e in onward)
    )


def _is_alone(node: Node) -> bool:
    """Return whether a node has a block of its own: its rows are taken, or hold anchors."""
    rows = node.storage.rows
    return rows is not None and (node.strategy is Strategy.NEXT or rows.holds_anchor)


def _ends_of(cuts: list[Cut], order: Expression) -> set[bool]:
    """Return the sides on which cuts bound ranges: True for above, False for below."""
    return {is_high for cut in cuts for _, is_high in sides(cut, order)}


def _shapes(
    nodes: Sequence[Node], kind_of: Sequence[int], compared: Mapping[int, ComparedSet]
) -> list[int]:
    """Number the shapes of nodes: two nodes have one shape if their surroundings are equal.

    Types do not count. Nodes of one shape are read by the same ranges, and share compared events in
    one set.
    """
    set_of = {node: number for number, one in compared.items() for node in one.members}
    onward = _edges_from(nodes)
    reads: dict[Reads, int] = {}
    labels = (
        (
            kind_of[number],
            len({edge.type for edge in node.edges if edge.source == number}),
            len(node.linear),
            tuple(signature.kind for signature in node.extremes),
            node.storage.is_seed,
            bool(node.storage.resets),
            node.strategy,
            node.strategy is Strategy.CONTIGUOUS and bool(onward[number]),
            number if _is_alone(node) else -1,
            set_of.get(number, -1),
            node.storage.rows,
            node.closing,
            frozenset(edge.reads for edge in onward[number] if edge.reads != ALL),
        )
        for number, node in enumerate(nodes)
    )
    return coarsest_division(
        labels,
        lambda numbers, node: tuple(
            sorted(
                (numbers[edge.source], reads.setdefault(edge.reads, len(reads)))
                for edge in nodes[node].edges
            )
        ),
    )


def lane_order(unit: TrendUnit) -> list[tuple[int, int]]:
    """Return the sort keys of nodes of one shape, so that events change adjacent lanes.

    Queries are ordered by the constants of their thresholds, then by their types from the last to
    the first. A node has the place of the first query whose trends pass through it, so that nodes
    and their predecessors have the same order.
    """
    templates, nodes = unit.templates, unit.merged.nodes
    passed = [_backward(unit.merged, query) for query in range(len(templates))]
    types = [tuple(sorted({edge.type for edge in node.edges})) for node in nodes]
    ranked = sorted(
        (_thresholds(templates[query]), [types[node] for node in several], query)
        for query, several in enumerate(passed)
    )
    order: dict[int, int] = {}
    for place, (*_, query) in enumerate(ranked):
        for node in passed[query]:
            order.setdefault(node, place)
    return [(order.get(node, len(ranked)), node) for node in range(len(nodes))]


def _backward(merged: MergedTemplate, query: int) -> list[int]:
    """Return the nodes that trends of a query pass through, those of their last events first."""
    ends = itertools.chain(*merged.ends[query].linear)
    reached = dict.fromkeys([node for node, _ in ends])
    pending = list(reached)
    for node in pending:
        for edge in merged.nodes[node].edges:
            if edge.source != START and edge.source not in reached:
                reached[edge.source] = None
                pending.append(edge.source)
    return pending


def _thresholds(
    template: Template,
) -> tuple[tuple[str, ...], tuple[tuple[str, float], ...]]:
    """Return the types of events that a query's local predicates restrict, and the constants.

    Constants are those that attributes are compared with, by attribute and operator.
    """
    states = [state for state in template.states if state.needs]
    if not states:
        return (), ()
    predicates: set[Expression] = set().union(*(state.needs for state in states))
    comparisons = (comparison_with_number(predicate) for predicate in predicates)
    return (
        tuple(sorted({state.type for state in states})),
        tuple(
            sorted(
                (f"{comparison[0]} {comparison[1].value}", float(comparison[2]))
                for comparison in comparisons
                if comparison is not None
            )
        ),
    )
