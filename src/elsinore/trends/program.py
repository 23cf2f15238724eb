"""From the merged template to the arrays that the kernel reads (`kernels.Program`).

Cells are laid out window kind after window kind, node after node, sum after sum, and for each sum
the windows that are open at once side by side. Classes are compiled when they first occur: of the
many that predicates could make, few do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elsinore.model.expression import Expression
from elsinore.model.window import Window
from elsinore.plan import MergedTemplate, TrendUnit
from elsinore.plan.aggregates import FieldKind
from elsinore.plan.merged import Edge, Signature, ancestors, field_index
from elsinore.plan.template import START, Reset
from elsinore.trends.arrays import FOREVER, NOTHING, ONE, VALUE, Program
from elsinore.trends.labels import Labels


@dataclass(frozen=True, slots=True)
class Sum:
    """What an update adds to one linear sum of its node: sums of predecessors and its own part."""

    sources: tuple[tuple[int, int], ...]  # (node, sum)
    contribution: int  # NOTHING, ONE, VALUE + 2a or VALUE + 2a + 1


@dataclass(frozen=True, slots=True)
class Extreme:
    """What an update compares one extreme of its node with."""

    sources: tuple[tuple[int, int | None], ...]  # (node, extreme); None: it has no value there
    attribute: int  # 2a for the least and 2a + 1 for the greatest value of attribute a, or -1


@dataclass(frozen=True, slots=True)
class Update:
    """What one class of events does to one node; `sums[0]` is the number of trends."""

    node: int
    start: bool
    sums: tuple[Sum, ...]
    extremes: tuple[Extreme, ...]


@dataclass(frozen=True, slots=True)
class Sections:
    """What a class of events does, by sharing group (`elsinore.trends.lazy`).

    `parts[0]` are the updates of no group, `parts[1 + t]` those of group `ticks[t]`.
    """

    parts: tuple[tuple[Update, ...], ...]
    resets: tuple[tuple[int, bool], ...]  # nodes it empties, and whether only after the updates
    ticks: tuple[int, ...]
    settled: tuple[tuple[int, tuple[int, ...]], ...]  # groups, and which of their holders are read
    breaks: tuple[int, ...]  # groups whose burst such an event ends


class Layout:
    """Where everything stands in a key's cells.

    `cell[node]` and `extreme[node]` are a node's first, `lanes[node]` the width of each of its
    sums, `kind_of[node]` its window's number, `opening[kind]` a window's first entry in
    `State.opened`.
    """

    def __init__(self, unit: TrendUnit) -> None:
        self.unit = unit
        self.merged: MergedTemplate = unit.merged
        self.before = ancestors(self.merged.nodes)
        self.labels = Labels(unit.classes)
        self.windows: tuple[Window | None, ...] = self.merged.windows
        self.overlaps = [
            1 if window is None else _padded(window.overlap) for window in self.windows
        ]
        kinds_of = {window: kind for kind, window in enumerate(self.windows)}
        self.kind_of = [kinds_of[node.window] for node in self.merged.nodes]
        self.lanes = [self.overlaps[kind] for kind in self.kind_of]
        self.opening = starts(self.overlaps)[:-1].tolist()
        self.cell = starts(
            [len(node.linear) * m for node, m in zip(self.merged.nodes, self.lanes, strict=True)]
        )
        self.extreme = starts(
            [len(node.extremes) * m for node, m in zip(self.merged.nodes, self.lanes, strict=True)]
        )
        kinds = [kinds_of[template.query.window] for template in unit.templates]
        self.order = sorted(range(len(kinds)), key=lambda q: kinds[q])  # kernel's query -> unit's
        self.window_of = [kinds[q] for q in self.order]
        self.open_lanes = sum(self.overlaps)
        self.most_closed = sum(self.overlaps[kind] for kind in kinds)
        self.widest = max(len(t.aggregation.linear) for t in unit.templates)
        self.most_extremes = max(len(t.aggregation.extremes) for t in unit.templates)
        self._summed = {name: number for number, name in enumerate(unit.summed)}
        self._ranked = {name: number for number, name in enumerate(unit.ranked)}
        self._told: dict[tuple[int, ...], Update] = {}
        self._entering: dict[str, list[tuple[int, Edge]]] = {}  # by the type of event
        for number, node in enumerate(self.merged.nodes):
            for edge in node.edges:
                self._entering.setdefault(edge.type, []).append((number, edge))
        self._emptying: dict[str, list[tuple[int, Reset]]] = {}
        for number, node in enumerate(self.merged.nodes):
            for reset in node.resets:
                self._emptying.setdefault(reset.type, []).append((number, reset))
        self._first_cells: list[int] = self.cell.tolist()
        self._first_extremes: list[int] = self.extreme.tolist()

    def cell_of(self, node: int, number: int) -> int:
        """Return the first cell of one of a node's sums."""
        return self._first_cells[node] + number * self.lanes[node]

    def extreme_of(self, node: int, number: int | None) -> int:
        """Return the first entry of one of a node's extremes; -1 where it has none."""
        return -1 if number is None else self._first_extremes[node] + number * self.lanes[node]

    @property
    def cells(self) -> int:
        """The number of a key's cells."""
        return int(self.cell[-1])

    @property
    def extremes(self) -> int:
        """The number of a key's extremes."""
        return int(self.extreme[-1])

    def updates(self, type_name: str, true: frozenset[Expression]) -> list[Update]:
        """Return what an event of a type does, given which of its predicates are true.

        Updates are ordered so that a node is read before it is changed, where that can be.
        """
        taken: dict[int, list[Edge]] = {}
        for node, edge in self._entering.get(type_name, ()):
            if edge.takes(type_name, true):
                taken.setdefault(node, []).append(edge)
        return _readers_first({node: self.update(node, edges) for node, edges in taken.items()})

    def resets(self, type_name: str, true: frozenset[Expression]) -> list[int]:
        """Return the nodes that an event of a type empties, given which predicates are true."""
        entries = self._emptying.get(type_name, ())
        return list(dict.fromkeys(node for node, one in entries if one.takes(type_name, true)))

    def update(self, node: int, edges: Sequence[Edge]) -> Update:
        """Return what an event does to a node that it enters by some edges, all of one type."""
        key = (node, *map(id, edges))  # edges are the template's own
        if key not in self._told:
            self._told[key] = self._update(node, edges)
        return self._told[key]

    def _update(self, node: int, edges: Sequence[Edge]) -> Update:
        merged = self.merged.nodes[node]
        sources = tuple(edge.source for edge in edges if edge.source != START)
        return Update(
            node,
            len(sources) < len(edges),
            tuple(self._sum(node, s, sources, edges[0].type) for s in merged.linear),
            tuple(self._extreme(node, s, sources, edges[0].type) for s in merged.extremes),
        )

    def _sum(
        self, node: int, signature: Signature, sources: tuple[int, ...], type_name: str
    ) -> Sum:
        places = tuple(
            (source, place)
            for source in sources
            if (place := self._place(source, signature)) is not None
        )
        if (node, type_name) not in signature.contributors:
            return Sum(places, NOTHING)
        if signature.kind is FieldKind.EVENTS or signature.attribute is None:
            return Sum(places, ONE)
        value = VALUE + 2 * self._summed[signature.attribute]
        return Sum(places, value if signature.kind is FieldKind.SUM else value + 1)

    def _extreme(
        self, node: int, signature: Signature, sources: tuple[int, ...], type_name: str
    ) -> Extreme:
        places = tuple((source, self._place(source, signature)) for source in sources)
        if (node, type_name) not in signature.contributors or signature.attribute is None:
            return Extreme(places, -1)
        attribute = 2 * self._ranked[signature.attribute]
        return Extreme(places, attribute + (signature.kind is FieldKind.GREATEST))

    def _place(self, node: int, signature: Signature) -> int | None:
        return field_index(self.merged.nodes[node], signature, self.before[node])


def tangled(updates: Sequence[Update], resets: Sequence[int]) -> bool:
    """Return whether some node is changed before it is read, in whichever order."""
    changed: set[int] = set()
    for update in updates:
        if read_by(update) & changed:
            return True
        changed.add(update.node)
    return any(read_by(update) & changed.intersection(resets) for update in updates)


def read_by(update: Update) -> set[int]:
    """Return the nodes that an update reads."""
    return {source for source, _ in update.sums[0].sources}


def _readers_first(found: dict[int, Update]) -> list[Update]:
    """Order updates so that each comes before those of the nodes it reads, but for itself."""
    waiting = {node: read_by(update) - {node} for node, update in found.items()}
    ordered: list[Update] = []
    while waiting:
        read = set().union(*waiting.values())
        free = [node for node in waiting if node not in read]
        for node in free or list(waiting):
            ordered.append(found[node])
            del waiting[node]
    return ordered


def _padded(overlap: int) -> int:
    """Return the width that windows side by side are given, so that they are worked on by fours."""
    return overlap if overlap < 3 else -(-overlap // 4) * 4


def fixed_arrays(layout: Layout) -> dict[str, NDArray[Any]]:
    """Return what of a program does not depend on the classes that have occurred."""
    queries = [layout.merged.ends[q] for q in layout.order]
    linear_ends = [places for ends in queries for places in ends.linear]
    extreme_ends = [places for ends in queries for places in ends.extremes]
    kinds = range(len(layout.windows))
    first_nodes = starts([layout.kind_of.count(kind) for kind in kinds])
    seeds = layout.merged.seeds
    seed_kinds = [layout.kind_of[node] for node in seeds]
    return {
        "node_cell": ints(layout.cell),
        "node_extreme": ints(layout.extreme),
        "within": ints(
            [int(FOREVER) if window is None else window.within for window in layout.windows]
        ),
        "step": ints([1 if window is None else window.step for window in layout.windows]),
        "origin": ints([0 if window is None else window.origin for window in layout.windows]),
        "overlap": _codes(layout.overlaps),
        "openings": ints(layout.opening),
        "kind_cell": layout.cell[first_nodes],
        "kind_extreme": layout.extreme[first_nodes],
        "seeds": starts([seed_kinds.count(kind) for kind in kinds]),
        "seed_cell": ints([layout.cell_of(node, 0) for node in seeds]),
        "queries": starts([layout.window_of.count(kind) for kind in kinds]),
        "query_sums": starts([len(ends.linear) for ends in queries]),
        "end": starts([len(places) for places in linear_ends]),
        "end_cell": ints([layout.cell_of(*place) for places in linear_ends for place in places]),
        "query_extremes": starts([len(ends.extremes) for ends in queries]),
        "extreme_end": starts([len(places) for places in extreme_ends]),
        "extreme_end_cell": ints(
            [layout.extreme_of(*place) for places in extreme_ends for place in places]
        ),
    }


def assemble(
    layout: Layout, fixed: dict[str, NDArray[Any]], classes: Sequence[Sections]
) -> tuple[Program, list[int]]:
    """Lay out the updates of all known classes as the kernel's arrays.

    Also returns how many words the updates of each section take.
    """
    parts = [part for sections in classes for part in sections.parts]
    flat = [update for part in parts for update in part]
    sums = [(update, number) for update in flat for number in range(len(update.sums))]
    terms = [source for update, number in sums for source in update.sums[number].sources]
    extremes = [(update, number) for update in flat for number in range(len(update.extremes))]
    compared = [source for update, number in extremes for source in update.extremes[number].sources]
    words = [_words(layout, part) for part in parts]
    lengths = [len(part) for part in words]
    whole = starts([len(sections.parts) for sections in classes])
    resets = [reset for sections in classes for reset in sections.resets]
    program = Program(
        **fixed,
        resets=starts([len(sections.resets) for sections in classes]),
        emptied=_codes([node for node, _ in resets]),
        late=np.array([late for _, late in resets], dtype=np.uint8),
        words=np.array([word for part in words for word in part], dtype=np.uint32),
        acts=starts(lengths)[whole],
        updates=starts([len(part) for part in parts])[whole],
        node=_codes([update.node for update in flat]),
        lanes=_codes([layout.lanes[update.node] for update in flat]),
        opening=ints([layout.opening[layout.kind_of[update.node]] for update in flat]),
        start=np.array([update.start for update in flat], dtype=np.uint8),
        sums=starts([len(update.sums) for update in flat]),
        target=ints([layout.cell_of(update.node, number) for update, number in sums]),
        contribution=_codes([update.sums[number].contribution for update, number in sums]),
        terms=starts([len(update.sums[number].sources) for update, number in sums]),
        term=ints([layout.cell_of(*source) for source in terms]),
        term_node=_codes([node for node, _ in terms]),
        extremes=starts([len(update.extremes) for update in flat]),
        extreme_target=ints(
            [layout.extreme_of(update.node, number) for update, number in extremes]
        ),
        attribute=_codes([update.extremes[number].attribute for update, number in extremes]),
        compared=starts([len(update.extremes[number].sources) for update, number in extremes]),
        compared_extreme=ints([layout.extreme_of(*source) for source in compared]),
        compared_cell=ints([layout.cell_of(node, 0) for node, _ in compared]),
        compared_node=_codes([node for node, _ in compared]),
    )
    return program, lengths


def _words(layout: Layout, updates: Sequence[Update]) -> list[int]:
    """Return updates as the words that `kernels._act` and `kernels._act_wide` read."""
    words: list[int] = []
    for update in updates:
        kind = layout.kind_of[update.node]
        opening = layout.opening[kind] + 1 if update.start else 0
        body = [opening, layout.overlaps[kind], len(update.sums)]
        for number, part in enumerate(update.sums):
            body += [layout.cell_of(update.node, number), part.contribution, len(part.sources)]
            body += [layout.cell_of(*source) for source in part.sources]
        words += [len(body) + 1, *body]
    return words


def ints(values: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return whole numbers as the kernels read them."""
    return np.array(values, dtype=np.int64)


def _codes(values: Sequence[int]) -> NDArray[np.int32]:
    return np.array(values, dtype=np.int32)


def starts(lengths: Sequence[int]) -> NDArray[np.int64]:
    """Return where each of several consecutive runs begins, and the end of the last one."""
    return np.concatenate(([0], np.cumsum(np.array(lengths, dtype=np.int64)))).astype(np.int64)
