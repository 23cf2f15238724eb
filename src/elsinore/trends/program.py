"""From the merged template to the arrays that the kernel reads (`kernels.Program`).

Cells are laid out window kind after window kind, node after node, sum after sum, and for each sum
the windows that are open at once side by side. Classes are compiled when they first occur: of the
many that predicates could make, few do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from elsinore.model.expression import Expression
from elsinore.model.window import Window
from elsinore.plan import MergedTemplate, Unit
from elsinore.plan.aggregates import FieldKind
from elsinore.plan.merged import Signature, ancestors, field_index
from elsinore.plan.template import START
from elsinore.trends.kernels import FOREVER, NOTHING, ONE, VALUE, Program


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


class Layout:
    """Where everything stands in a key's cells.

    `cell[node]` and `extreme[node]` are a node's first, `lanes[node]` the width of each of its
    sums, `kind_of[node]` its window's number.
    """

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.merged: MergedTemplate = unit.merged
        self.before = ancestors(self.merged.nodes)
        self.windows: tuple[Window | None, ...] = self.merged.windows
        self.overlaps = [1 if window is None else window.overlap for window in self.windows]
        self.kind_of = [self.windows.index(node.window) for node in self.merged.nodes]
        self.lanes = [self.overlaps[kind] for kind in self.kind_of]
        self.cell = _starts(
            [len(node.linear) * m for node, m in zip(self.merged.nodes, self.lanes, strict=True)]
        )
        self.extreme = _starts(
            [len(node.extremes) * m for node, m in zip(self.merged.nodes, self.lanes, strict=True)]
        )
        kinds = [self.windows.index(template.query.window) for template in unit.templates]
        self.order = sorted(range(len(kinds)), key=lambda q: kinds[q])  # kernel's query -> unit's
        self.window_of = [kinds[q] for q in self.order]
        self.open_lanes = sum(self.overlaps)
        self.most_closed = sum(self.overlaps[kind] for kind in kinds)
        self.widest = max(len(t.aggregation.linear) for t in unit.templates)
        self.most_extremes = max(len(t.aggregation.extremes) for t in unit.templates)

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
        found = {}
        for number, node in enumerate(self.merged.nodes):
            edges = [edge for edge in node.edges if edge.takes(type_name, true)]
            if edges:
                sources = tuple(edge.source for edge in edges if edge.source != START)
                found[number] = Update(
                    number,
                    len(sources) < len(edges),
                    tuple(self._sum(number, s, sources, type_name) for s in node.linear),
                    tuple(self._extreme(number, s, sources, type_name) for s in node.extremes),
                )
        return _readers_first(found)

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
        value = VALUE + 2 * self.unit.summed.index(signature.attribute)
        return Sum(places, value if signature.kind is FieldKind.SUM else value + 1)

    def _extreme(
        self, node: int, signature: Signature, sources: tuple[int, ...], type_name: str
    ) -> Extreme:
        places = tuple((source, self._place(source, signature)) for source in sources)
        if (node, type_name) not in signature.contributors or signature.attribute is None:
            return Extreme(places, -1)
        attribute = 2 * self.unit.ranked.index(signature.attribute)
        return Extreme(places, attribute + (signature.kind is FieldKind.GREATEST))

    def _place(self, node: int, signature: Signature) -> int | None:
        return field_index(self.merged.nodes[node], signature, self.before[node])


def tangled(updates: Sequence[Update]) -> bool:
    """Return whether some node is changed before it is read, in whichever order."""
    changed: set[int] = set()
    for update in updates:
        sources = {source for source, _ in update.sums[0].sources}
        if sources & changed:
            return True
        changed.add(update.node)
    return False


def _readers_first(found: dict[int, Update]) -> list[Update]:
    """Order updates so that each comes before those of the nodes it reads, but for itself."""
    waiting = {
        node: {source for source, _ in update.sums[0].sources if source != node}
        for node, update in found.items()
    }
    ordered: list[Update] = []
    while waiting:
        read = set().union(*waiting.values())
        free = [node for node in waiting if node not in read]
        for node in free or list(waiting):
            ordered.append(found[node])
            del waiting[node]
    return ordered


def assemble(layout: Layout, classes: Sequence[Sequence[Update]]) -> Program:
    """Lay out the updates of all known classes as the kernel's arrays."""
    flat = [update for updates in classes for update in updates]
    sums = [(update, number) for update in flat for number in range(len(update.sums))]
    terms = [source for update, number in sums for source in update.sums[number].sources]
    extremes = [(update, number) for update in flat for number in range(len(update.extremes))]
    compared = [source for update, number in extremes for source in update.extremes[number].sources]

    def cell(node: int, number: int) -> int:
        return int(layout.cell[node]) + number * layout.lanes[node]

    def extreme(node: int, number: int | None) -> int:
        return -1 if number is None else int(layout.extreme[node]) + number * layout.lanes[node]

    queries = [layout.merged.ends[q] for q in layout.order]
    linear_ends = [places for ends in queries for places in ends.linear]
    extreme_ends = [places for ends in queries for places in ends.extremes]
    nodes_of = [layout.kind_of.count(kind) for kind in range(len(layout.windows))]
    first_nodes = _starts(nodes_of)
    words = [_words(layout, cell, updates) for updates in classes]
    plain = all(overlap == 1 for overlap in layout.overlaps)
    return Program(
        words=np.array([word for part in words for word in part], dtype=np.uint32),
        acts=_starts([len(part) for part in words]) if plain else _ints([]),
        updates=_starts([len(updates) for updates in classes]),
        node=_codes([update.node for update in flat]),
        lanes=_codes([layout.lanes[update.node] for update in flat]),
        opening=_starts(layout.overlaps)[_codes([layout.kind_of[u.node] for u in flat])],
        start=np.array([update.start for update in flat], dtype=np.uint8),
        sums=_starts([len(update.sums) for update in flat]),
        target=_ints([cell(update.node, number) for update, number in sums]),
        contribution=_codes([update.sums[number].contribution for update, number in sums]),
        terms=_starts([len(update.sums[number].sources) for update, number in sums]),
        term=_ints([cell(node, number) for node, number in terms]),
        term_node=_codes([node for node, _ in terms]),
        extremes=_starts([len(update.extremes) for update in flat]),
        extreme_target=_ints([extreme(update.node, number) for update, number in extremes]),
        attribute=_codes([update.extremes[number].attribute for update, number in extremes]),
        compared=_starts([len(update.extremes[number].sources) for update, number in extremes]),
        compared_extreme=_ints([extreme(node, number) for node, number in compared]),
        compared_cell=_ints([cell(node, 0) for node, _ in compared]),
        compared_node=_codes([node for node, _ in compared]),
        node_cell=_ints(layout.cell),
        node_extreme=_ints(layout.extreme),
        within=_ints(
            [int(FOREVER) if window is None else window.within for window in layout.windows]
        ),
        step=_ints([1 if window is None else window.step for window in layout.windows]),
        origin=_ints([0 if window is None else window.origin for window in layout.windows]),
        overlap=_codes(layout.overlaps),
        openings=_starts(layout.overlaps)[:-1],
        kind_cell=layout.cell[first_nodes],
        kind_extreme=layout.extreme[first_nodes],
        queries=_starts([layout.window_of.count(kind) for kind in range(len(layout.windows))]),
        query_sums=_starts([len(ends.linear) for ends in queries]),
        end=_starts([len(places) for places in linear_ends]),
        end_cell=_ints([cell(node, number) for places in linear_ends for node, number in places]),
        query_extremes=_starts([len(ends.extremes) for ends in queries]),
        extreme_end=_starts([len(places) for places in extreme_ends]),
        extreme_end_cell=_ints(
            [extreme(node, number) for places in extreme_ends for node, number in places]
        ),
    )


def _words(layout: Layout, cell: Callable[[int, int], int], updates: Sequence[Update]) -> list[int]:
    """Return updates as the words that `kernels._act` reads."""
    words: list[int] = []
    openings = _starts(layout.overlaps)
    for update in updates:
        opening = int(openings[layout.kind_of[update.node]]) + 1 if update.start else 0
        body = [opening, len(update.sums)]
        for number, part in enumerate(update.sums):
            body += [cell(update.node, number), part.contribution, len(part.sources)]
            body += [cell(*source) for source in part.sources]
        words += [len(body) + 1, *body]
    return words


def _ints(values: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


def _codes(values: Sequence[int]) -> NDArray[np.int32]:
    return np.array(values, dtype=np.int32)


def _starts(lengths: Sequence[int]) -> NDArray[np.int64]:
    """Return where each of several consecutive runs begins, and the end of the last one."""
    return np.concatenate(([0], np.cumsum(np.array(lengths, dtype=np.int64)))).astype(np.int64)
