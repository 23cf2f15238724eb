"""What each class of events does to the nodes of the merged template, whatever runs it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from elsinore.model.expression import Expression
from elsinore.model.window import Window
from elsinore.plan import MergedTemplate, TrendUnit
from elsinore.plan.aggregates import Addend, FieldKind
from elsinore.plan.merged import Edge, Signature, ancestors, field_index
from elsinore.plan.template import START, Reset
from elsinore.trends.core.addends import NOTHING, ONE, VALUE
from elsinore.trends.nodes.labels import Labels


class Sum(NamedTuple):
    """What an update adds to one linear sum of its node: sums of predecessors and its own part."""

    sources: tuple[tuple[int, int], ...]  # (node, sum)
    contribution: int  # NOTHING, ONE, VALUE + 2a or VALUE + 2a + 1


class Extreme(NamedTuple):
    """What an update compares one extreme of its node with."""

    sources: tuple[tuple[int, int | None], ...]  # (node, extreme); None: it has no value there
    attribute: int  # a code of `rank_codes`, or -1


class Update(NamedTuple):
    """What one class of events does to one node; `sums[0]` is the number of trends."""

    node: int
    start: bool
    sums: tuple[Sum, ...]
    extremes: tuple[Extreme, ...]
    reads: frozenset[int]  # nodes: those of `sums[0]`


class Updates:
    """The updates and resets of all classes; `kind_of[node]` is its window's number."""

    def __init__(self, unit: TrendUnit) -> None:
        self.unit = unit
        self.merged: MergedTemplate = unit.merged
        self.before = ancestors(self.merged.nodes)
        self.labels = Labels(unit.classes)
        self.windows: tuple[Window | None, ...] = self.merged.windows
        kinds_of = {window: kind for kind, window in enumerate(self.windows)}
        self.kind_of = [kinds_of[node.window] for node in self.merged.nodes]
        # whether moments may be composed: nothing but the number of events is told of them
        self.composes = not (unit.summed or any(node.extremes for node in self.merged.nodes))
        self._summed = addend_codes(unit)
        self._ranked = rank_codes(unit)
        self.ranks = self._read_ranks()  # the codes of the ranks that the kernels read, ascending
        self._told: dict[tuple[int, ...], Update] = {}
        self._entering: dict[str, list[tuple[int, Edge]]] = {}  # by the type of event
        self._emptying: dict[str, list[tuple[int, Reset]]] = {}
        for number, node in enumerate(self.merged.nodes):
            for edge in node.edges:
                self._entering.setdefault(edge.type, []).append((number, edge))
            for reset in node.resets:
                self._emptying.setdefault(reset.type, []).append((number, reset))

    def _read_ranks(self) -> list[int]:
        read = {
            (signature.kind, signature.attribute)
            for node in self.merged.nodes
            for signature in node.extremes
        }
        return sorted(self._ranked[kind, name] for kind, name in read if name is not None)

    def updates(self, type_name: str, true: frozenset[Expression]) -> list[Update]:
        """Return what an event of a type does, given which of its predicates are true.

        Updates are ordered so that a node is read before it is changed, where that can be.
        """
        taken: dict[int, list[Edge]] = {}
        for node, edge in self._entering.get(type_name, ()):
            if edge.needs <= true and edge.lacks.isdisjoint(true):
                if node in taken:
                    taken[node].append(edge)
                else:
                    taken[node] = [edge]
        taken_updates = [self.update(node, edges) for node, edges in taken.items()]
        if len(taken_updates) < 2:
            return taken_updates
        return [update for several in rounds(taken_updates) for update in several]

    def resets(self, type_name: str, true: frozenset[Expression]) -> list[int]:
        """Return the nodes that an event of a type empties, given which predicates are true."""
        entries = self._emptying.get(type_name, ())
        return list(dict.fromkeys(node for node, reset in entries if reset.takes(type_name, true)))

    def update(self, node: int, edges: Sequence[Edge]) -> Update:
        """Return what an event does to a node that it enters by some edges, all of one type."""
        key = (node, *map(id, edges))  # edges are the template's own
        known = self._told.get(key)
        if known is None:
            known = self._told[key] = self._update(node, edges)
        return known

    def _update(self, node: int, edges: Sequence[Edge]) -> Update:
        merged = self.merged.nodes[node]
        sources = tuple([edge.source for edge in edges if edge.source != START])
        return Update(
            node,
            len(sources) < len(edges),
            tuple([self._sum(node, s, sources, edges[0].type) for s in merged.linear]),
            tuple([self._extreme(node, s, sources, edges[0].type) for s in merged.extremes]),
            frozenset(sources),
        )

    def _sum(
        self, node: int, signature: Signature, sources: tuple[int, ...], type_name: str
    ) -> Sum:
        if signature.kind is FieldKind.TRENDS:
            return Sum(tuple([(source, 0) for source in sources]), NOTHING)
        places = tuple(
            (source, place)
            for source in sources
            if (place := self._place(source, signature)) is not None
        )
        if (node, type_name) not in signature.contributors:
            return Sum(places, NOTHING)
        if signature.kind is FieldKind.EVENTS or signature.attribute is None:
            return Sum(places, ONE)
        window = self.merged.nodes[node].window
        addend = Addend.of(signature.kind, signature.attribute, window, signature.turn)
        return Sum(places, self._summed[addend])

    def _extreme(
        self, node: int, signature: Signature, sources: tuple[int, ...], type_name: str
    ) -> Extreme:
        places = tuple((source, self._place(source, signature)) for source in sources)
        if (node, type_name) not in signature.contributors or signature.attribute is None:
            return Extreme(places, -1)
        return Extreme(places, self._ranked[signature.kind, signature.attribute])

    def _place(self, node: int, signature: Signature) -> int | None:
        return field_index(self.merged.nodes[node], signature, self.before[node])


def addend_codes(unit: TrendUnit) -> dict[Addend, int]:
    """Return the codes of what fields add up."""
    codes: dict[Addend, int] = {}
    for number, addend in enumerate(unit.addends):
        codes[addend] = VALUE + 2 * number
        codes.setdefault(Addend(FieldKind.PRESENT, addend.attribute), VALUE + 2 * number + 1)
    return codes


def rank_codes(unit: TrendUnit) -> dict[tuple[FieldKind, str], int]:
    """Return the codes of what extremes compare: 2a for column a of ranks, 2a + 1 inverted.

    Columns are those of `TrendUnit.ranked` and then of `TrendUnit.edges`.
    """
    codes: dict[tuple[FieldKind, str], int] = {}
    for number, name in enumerate(unit.ranked):
        codes[FieldKind.LEAST, name] = 2 * number
        codes[FieldKind.GREATEST, name] = 2 * number + 1
    codes |= {edge: 2 * (len(unit.ranked) + n) for n, edge in enumerate(unit.edges)}
    return codes


def tangled(updates: Sequence[Update], resets: Sequence[int]) -> bool:
    """Return whether some node is changed before it is read, in whichever order."""
    changed: set[int] = set()
    for update in updates:
        if not changed.isdisjoint(update.reads):
            return True
        changed.add(update.node)
    emptied = changed.intersection(resets)
    return bool(emptied) and any(update.reads & emptied for update in updates)


def rounds(updates: Sequence[Update]) -> list[list[Update]]:
    """Order updates in rounds: none in a round reads what another of it changes.

    Each comes in a round before those of the nodes it reads, but for itself; where there is no such
    order the last round has what is left.
    """
    if len(updates) == 1:
        return [list(updates)]
    waiting = {update.node: update for update in updates}
    if not any(
        node in waiting and node != update.node for update in updates for node in update.reads
    ):
        return [list(updates)] if waiting else []
    readers: dict[int, int] = dict.fromkeys(waiting, 0)
    for update in updates:
        for node in update.reads - {update.node}:
            if node in readers:
                readers[node] += 1
    rounds_so_far: list[list[Update]] = []
    free = [update for update in updates if readers[update.node] == 0]
    while free:
        rounds_so_far.append(free)
        following: list[Update] = []
        for update in free:
            del waiting[update.node]
            for node in sorted(update.reads - {update.node}):
                if node in readers:
                    readers[node] -= 1
                    if readers[node] == 0:
                        following.append(waiting[node])
        free = following
    return [*rounds_so_far, list(waiting.values())] if waiting else rounds_so_far
