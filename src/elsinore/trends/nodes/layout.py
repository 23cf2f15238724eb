"""Where everything stands in a key's slot: nodes of one shape side by side, lane by lane.

Nodes of the merged template have one *shape* where they differ in types and constants alone. They
are one *block*: row after row a sum of all of them, node after node, and of each node the windows
that are open at once. Queries of one shape are so lanes of one query, and what an event does to
many of them is one step (`elsinore.trends.core.step`). The rows of a pane's action are lanes, too
(`elsinore.trends.actions`).
"""

from __future__ import annotations

from dataclasses import dataclass

from elsinore.model.window import overlap_of
from elsinore.trends.lane_order import lane_order
from elsinore.trends.nodes.updates import Updates

MOST_GAINS = 512  # cells of a key to which gains are added sooner than events wait for one another


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Nodes of one shape, in the order of their lanes."""

    nodes: tuple[int, ...]
    overlap: int  # windows open at once
    cell: int  # its first cell
    sums: int  # rows of cells
    extreme: int
    extremes: int

    @property
    def width(self) -> int:
        """The lanes of a row."""
        return len(self.nodes) * self.overlap


@dataclass(frozen=True, slots=True, kw_only=True)
class KindLayout:
    """The cells and extremes of a kind of window: from the first ones to before the last ones."""

    cell: int
    last_cell: int
    extreme: int
    last_extreme: int

    @property
    def open(self) -> int:
        """The cells that are 1 while a window is open."""
        return self.cell


class Layout:
    """The blocks of a unit's nodes, and where each node's sums are."""

    def __init__(self, updates: Updates, rows: int | None = None) -> None:
        """Lay out a unit's nodes; rows: of actions, which are lanes then in place of windows."""
        self.overlaps = [rows or overlap_of(window) for window in updates.windows]
        self.are_windows = rows is None
        nodes = updates.merged.nodes
        self.blocks: list[Block] = []
        self.kinds: list[KindLayout] = []
        self.block_of = [0] * len(nodes)
        self.index_of = [0] * len(nodes)
        shapes = _shapes(updates)
        ranks = lane_order(updates.unit)
        members: dict[tuple[int, int], list[int]] = {}
        for node, shape in enumerate(shapes):
            members.setdefault((updates.kind_of[node], shape), []).append(node)
        read = _read_in_moments(updates)
        cell = extreme = last = 0
        for kind, overlap in enumerate(self.overlaps):
            first_cell, first_extreme = cell, extreme
            cell += overlap
            here = [several for (of, _), several in members.items() if of == kind]
            for several in sorted(here, key=read.isdisjoint):
                several.sort(key=ranks.__getitem__)
                for index, node in enumerate(several):
                    self.block_of[node], self.index_of[node] = len(self.blocks), index
                first = nodes[several[0]]
                block = Block(
                    nodes=tuple(several),
                    overlap=overlap,
                    cell=cell,
                    sums=len(first.linear),
                    extreme=extreme,
                    extremes=len(first.extremes),
                )
                self.blocks.append(block)
                cell += block.width * block.sums
                if not read.isdisjoint(several):
                    last = cell
                extreme += block.width * block.extremes
            self.kinds.append(
                KindLayout(
                    cell=first_cell, last_cell=cell, extreme=first_extreme, last_extreme=extreme
                )
            )
        self.cells, self.extremes = cell, extreme
        # cells up to the last one that events read or empty, those first that tell of open windows
        self.gained = range(self.overlaps[0], max(last, self.overlaps[0]))
        self.first_cells = [0] * len(nodes)  # of each node's first sum
        self.first_extremes = [0] * len(nodes)
        for block in self.blocks:
            for index, node in enumerate(block.nodes):
                self.first_cells[node] = block.cell + index * block.overlap
                self.first_extremes[node] = block.extreme + index * block.overlap
        self._widths = [block.width for block in self.blocks]

    @property
    def lanes(self) -> int:
        """The lanes of the widest block."""
        return max((block.width for block in self.blocks), default=0)

    @property
    def gains(self) -> bool:
        """Whether what the events of a moment add is added up apart (`core.gains`)."""
        return self.cells <= MOST_GAINS and self.extremes == 0

    def cell_of(self, node: int, number: int) -> int:
        """Return the first cell of one of a node's sums."""
        return self.first_cells[node] + number * self._widths[self.block_of[node]]

    def extreme_of(self, node: int, number: int | None) -> int:
        """Return the first entry of one of a node's extremes; -1 where it has none."""
        if number is None:
            return -1
        return self.first_extremes[node] + number * self._widths[self.block_of[node]]


def _read_in_moments(updates: Updates) -> set[int]:
    """Return the nodes that events read or empty: of the others totals alone are made."""
    nodes = updates.merged.nodes
    sources = {edge.source for node in nodes for edge in node.edges}
    return sources | {number for number, node in enumerate(nodes) if node.resets}


def _shapes(updates: Updates) -> list[int]:
    """Number the shapes of nodes: two are of one where their surroundings look alike.

    Colours are refined by those of a node's sources, types left out, until there are no more of
    them.
    """
    nodes = updates.merged.nodes
    numbers: dict[object, int] = {}
    sources = [[edge.source for edge in node.edges] for node in nodes]
    colours = [
        numbers.setdefault(
            (
                updates.kind_of[number],
                number in several and len({e.type for e in node.edges if e.source == number}),
                len(node.linear),
                tuple([signature.kind for signature in node.extremes]) if node.extremes else (),
                node.seed,
                bool(node.resets),
            ),
            len(numbers),
        )
        for number, (node, several) in enumerate(zip(nodes, sources, strict=True))
    ]
    count = len(numbers)
    while True:
        refined: dict[object, int] = {}
        coloured = [*colours, -1]  # the last is that of START
        colours = [
            refined.setdefault(
                (colour, coloured[several[0]])
                if len(several) == 1
                else (colour, *sorted([coloured[predecessor] for predecessor in several])),
                len(refined),
            )
            for colour, several in zip(colours, sources, strict=True)
        ]
        if len(refined) == count:
            return colours
        count = len(refined)
