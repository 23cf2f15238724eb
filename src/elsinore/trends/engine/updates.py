"""The updates of nodes of the merged template by each class of events."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from elsinore.model.expression import Expression
from elsinore.plan import TrendUnit
from elsinore.plan.aggregates import Addend, FieldKind
from elsinore.plan.classes import comparison_with_number
from elsinore.plan.merged import Edge, MergedTemplate, Signature, ancestors, field_index
from elsinore.plan.template import ALL, START, Events, Reads, Template
from elsinore.trends.engine.constants import BEGINNING, NO_ADDEND, NO_RANK, ONE, VALUE


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

    @cached_property
    def lane_order(self) -> list[tuple[int, int]]:
        """The sort keys of nodes of one shape, so that events change adjacent lanes.

        Queries are ordered by the constants of their thresholds, then by their types from the last
        to the first. A node has the place of the first query whose trends pass through it, so that
        nodes and their predecessors have the same order.
        """
        templates = self.unit.templates
        passed = [_backward(self.merged, query) for query in range(len(templates))]
        types = [
            (node.edges[0].type,)
            if len(node.edges) == 1
            else tuple(sorted({edge.type for edge in node.edges}))
            for node in self.nodes
        ]
        ranked = sorted(
            (_thresholds(templates[query]), [types[node] for node in several], query)
            for query, several in enumerate(passed)
        )
        order: dict[int, int] = {}
        for place, (*_, query) in enumerate(ranked):
            for node in passed[query]:
                order.setdefault(node, place)
        return [(order.get(node, len(ranked)), node) for node in range(len(self.nodes))]

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


def addend_codes(unit: TrendUnit) -> dict[Addend, int]:
    """Return the codes of a unit's addends."""
    codes: dict[Addend, int] = {}
    for number, addend in enumerate(unit.addends):
        codes[addend] = VALUE + 2 * number
        codes.setdefault(Addend(FieldKind.PRESENT, addend.attribute), VALUE + 2 * number + 1)
    return codes


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
