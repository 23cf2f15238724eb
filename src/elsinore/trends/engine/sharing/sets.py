"""Which queries may share which sub-pattern: E+ (HAMLET, Definitions 4 and 5), or E.

A state is a *holder* of E events if a run of them has the same effect on each of its lanes: they
change neither its other predecessors nor states that read it. Its trend counts after the run follow
from its counts before, and from one number of the run. If it loops, as in E+, each event doubles
the count; otherwise, as for A in `(SEQ(A, B+))+` or for each type of a suffix, it adds the same
again. A *twin* of a looping holder does not loop, but the same events reach it from the same
states, so that the same is added to it: the accepting state beside an accumulator
(`elsinore.plan.stored`).

Holders with equal local predicates on E are a *cohort*: they take the same events.

If events are compared with earlier ones, states of E+ with the same comparison share them, and so
do states each with a comparison of its own, or with none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from types import MappingProxyType

from elsinore.automata.positions import FREE
from elsinore.language.render import render
from elsinore.model.expression import MIRRORED, Expression
from elsinore.model.kinds import Strategy
from elsinore.model.window import overlap_of
from elsinore.plan.aggregates import FieldKind
from elsinore.plan.merged import Edge, MergedTemplate, Node, queries_through
from elsinore.plan.template import ALL, START, Cut, Reads
from elsinore.trends.engine.layout import lane_order
from elsinore.trends.engine.steps import Update, Updates

Predicates = tuple[frozenset[Expression], frozenset[Expression]]  # that hold, that do not
MANY_CELLS = 16  # of the windows of one query, from which on sharing among them can pay


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingSet:
    """States that events of one type enter, and the queries whose trends pass through them.

    `holders` are cohorts of nodes, `twins` those of each holder; there are none if bursts have no
    closed form, as if events are compared with earlier ones (`ways`). `members` are these nodes
    with the number of their cohort; otherwise all looping nodes with the number of their way, or -1
    if they cannot share events. `query_nodes` are all nodes of the queries.
    """

    type: str
    ways: tuple[Reads, ...]
    is_repeated: bool  # whether all states loop, or none
    holders: tuple[tuple[int, ...], ...]
    twins: Mapping[int, tuple[int, ...]]  # of each holder
    members: dict[int, int]
    queries: tuple[int, ...]
    query_nodes: frozenset[int]

    @property
    def is_compared(self) -> bool:
        """Whether compared events can be shared."""
        return not self.holders and all(way >= 0 for way in self.members.values())

    @property
    def pattern(self) -> str:
        """The sub-pattern that the queries share."""
        loop = f"{self.type}{'+' if self.is_repeated else ''}"
        return " / ".join(f"{loop}{in_words(reads)}" for reads in self.ways)


def sharing_sets(updates: Updates) -> list[SharingSet]:
    """Return the sets of a unit in which at least two lanes can share bursts."""
    merged = updates.merged
    passing, order = queries_through(merged), lane_order(updates.unit)
    sets = []
    ways_of: dict[str, dict[Reads, list[int]]] = {}  # of one query each, by type
    for type_name, reads, is_repeated, nodes in _entered(merged):
        cohorts: dict[Predicates, list[int]] = {}
        twins: dict[int, tuple[int, ...]] = {}
        neighbours = _Neighbours(updates, type_name, is_repeated=is_repeated)
        can_share = is_repeated and all(map(neighbours.can_compare, nodes))
        if reads == ALL:
            for node in sorted(nodes, key=order.__getitem__):
                beside = neighbours.twins(node)
                if beside is not None:
                    cohorts.setdefault(_predicates(merged, node, type_name), []).append(node)
                    twins[node] = tuple(beside)
        members = {
            node: number
            for number, holders in enumerate(cohorts.values())
            for holder in holders
            for node in (holder, *twins[holder])
        } or dict.fromkeys(nodes, 0 if can_share and reads != ALL else -1)
        queries = set().union(*(passing[node] for node in members))
        if is_repeated and len(queries) < 2 and _cells(merged, members) < MANY_CELLS:
            if can_share:
                ways_of.setdefault(type_name, {})[reads] = nodes
            continue
        if not is_repeated and (len(queries) < 2 or len(twins) < 2):
            continue
        holders = tuple(map(tuple, cohorts.values()))
        sets.append(_set(passing, type_name, (reads,), members, holders, twins, is_repeated))
    for type_name, ways in ways_of.items():
        if len(ways) > 1:  # each query compares events in its own way
            ordered = tuple(sorted(ways, key=lambda reads: reads == ALL))
            members = {node: way for way, reads in enumerate(ordered) for node in ways[reads]}
            sets.append(_set(passing, type_name, ordered, members))
    return sets


def _set(
    passing: Sequence[AbstractSet[int]],
    type_name: str,
    ways: tuple[Reads, ...],
    members: dict[int, int],
    holders: tuple[tuple[int, ...], ...] = (),
    twins: Mapping[int, tuple[int, ...]] = MappingProxyType({}),
    is_repeated: bool = True,
) -> SharingSet:
    """Return a set with the queries that pass through its members, and all nodes of these."""
    queries = set[int]().union(*(passing[node] for node in members))
    query_nodes = (n for n, through in enumerate(passing) if not through.isdisjoint(queries))
    return SharingSet(
        type=type_name,
        ways=ways,
        is_repeated=is_repeated,
        holders=holders,
        twins=twins,
        members=members,
        queries=tuple(sorted(queries)),
        query_nodes=frozenset(query_nodes),
    )


def _entered(merged: MergedTemplate) -> list[tuple[str, Reads, bool, list[int]]]:
    """Return the nodes that events of a type enter, by type, comparison, and whether they loop.

    Nodes without a loop of events of the type do not count if these events are compared.
    """
    entered: dict[tuple[str, Reads, bool], dict[int, None]] = {}
    for number, node in enumerate(merged.nodes):
        if node.strategy is not Strategy.ANY or _is_under_not(node):
            continue
        loops = {edge.type for edge in node.edges if edge.source == number}
        for edge in node.edges:
            if edge.source == number and not edge.reads.carries:
                entered.setdefault((edge.type, edge.reads, True), {})[number] = None
            elif edge.type not in loops and edge.reads == ALL:
                entered.setdefault((edge.type, ALL, False), {})[number] = None
    return [(*key, list(nodes)) for key, nodes in entered.items()]


def _is_under_not(node: Node) -> bool:
    """Return whether trends of a negative pattern, whose beginnings matter, pass through a node."""
    return any(extreme.kind is FieldKind.BEGINNING for extreme in node.extremes)


def _predicates(merged: MergedTemplate, node: int, type_name: str) -> Predicates:
    edge = next(edge for edge in merged.nodes[node].edges if edge.type == type_name)
    return edge.needs, edge.lacks


def _cells(merged: MergedTemplate, members: dict[int, int]) -> int:
    """Return the number of cells of nodes, in all windows that can be open at a time."""
    nodes = (merged.nodes[node] for node in members)
    return sum(overlap_of(node.window) * len(node.linear) for node in nodes)


class _Neighbours:
    """The effects of events of one type on a state and its neighbours."""

    def __init__(self, updates: Updates, type_name: str, *, is_repeated: bool) -> None:
        self._updates = updates
        self._loops = int(is_repeated)  # of a holder
        self._nodes = updates.merged.nodes
        self._type = type_name
        self._targets: dict[int, list[int]] = {}
        for number, node in enumerate(self._nodes):
            for edge in node.edges:
                if edge.type == type_name and edge.source != START:
                    self._targets.setdefault(edge.source, []).append(number)

    def twins(self, node: int) -> list[int] | None:
        """Return the twins of a holder, or None for another state."""
        edges = self.edges(node)
        sources = [edge.source for edge in edges]
        if (
            sources.count(node) != self._loops
            or len({(edge.needs, edge.lacks) for edge in edges}) > 1
        ):
            return None
        if any(edge.reads != ALL for edge in edges) or self._is_reset(node):
            return None
        if self._nodes[node].storage.rows is not None:
            return None
        before = {source for source in sources if source not in {START, node}}
        if any(self.edges(source) or self._is_reset(source) for source in before):
            return None
        twins = list(dict.fromkeys(t for t in self._targets.get(node, ()) if t != node))
        if twins and not self._loops:
            return None
        return twins if all(self._is_twin(twin, node) for twin in twins) else None

    def can_compare(self, node: int) -> bool:
        """Return whether a looping state can share events, however these are compared.

        The sums that reach them from other states do not change during a burst, and no other events
        read single events of it. Snapshots do not support MIN and MAX.
        """
        state, edges = self._nodes[node], self.edges(node)
        resets, is_seed, rows = state.storage
        sources = {edge.source for edge in edges} - {START, node}
        onward = [
            edge
            for number, reader in enumerate(self._nodes)
            for edge in reader.edges
            if edge.source == node and number != node
        ]
        return (
            len({(edge.needs, edge.lacks) for edge in edges}) == 1
            and sum(edge.source == node for edge in edges) == 1
            and all(edge.reads == ALL for edge in edges if edge.source != node)
            and not any(self.edges(source) or self._is_reset(source) for source in sources)
            and all(edge.type != self._type and edge.reads == ALL for edge in onward)
            and not (resets or is_seed or state.extremes)
            and state.closing == FREE
            and len(edges) == len(state.edges)
            and not (rows is not None and (rows.holds_anchor or rows.is_anchor))
        )

    def edges(self, node: int) -> list[Edge]:
        """Return the edges by which events of the type enter a node."""
        return [edge for edge in self._nodes[node].edges if edge.type == self._type]

    def _is_reset(self, node: int) -> bool:
        return any(reset.type == self._type for reset in self._nodes[node].storage.resets)

    def _is_twin(self, twin: int, holder: int) -> bool:
        """Return whether the same is added to a state as to a holder."""
        edges, own = self.edges(holder), self.edges(twin)
        if (
            Counter(edges) != Counter(own)
            or self._nodes[twin].window != self._nodes[holder].window
            or self._nodes[twin].strategy is not Strategy.ANY
            or self._nodes[twin].storage.rows is not None
            or self._is_reset(twin)
            or self._targets.get(twin)
        ):
            return False
        return _adds_alike(
            self._updates.update(twin, own), self._updates.update(holder, edges), holder
        )


def _adds_alike(twin: Update, update: Update, holder: int) -> bool:
    """Return whether events add to each sum and extreme of a twin what they add to a holder's."""

    def row_of(sources: Sequence[tuple[int, int, Reads]]) -> int | None:
        return next((row for node, row, _ in sources if node == holder), None)

    for part in twin.sums:
        row = row_of(part.sources)
        if row is None or update.sums[row].addend != part.addend:
            return False
    for extreme in twin.extremes:
        row = row_of(extreme.sources)
        if row is None or update.extremes[row].rank != extreme.rank:
            return False
    return True


def in_words(reads: Reads) -> str:
    """Return a comparison with the previous event in words, after a space; "" without one."""
    ranges = [" AND ".join(map(_comparison, cuts)) for cuts in reads.ranges]
    parts = [" OR ".join(ranges)] if ranges else []
    parts += map(render, reads.conditions)
    return f" {' AND '.join(parts)}" if parts else ""


def _comparison(cut: Cut) -> str:
    """Return a cut as a comparison of the later event with the earlier one."""
    earlier = render(cut.previous)
    if cut.shift is not None:
        earlier += f" + {render(cut.shift)}"
    operator = MIRRORED.get(cut.operator, cut.operator).value
    text = f"{render(cut.current)} {operator} {earlier}"
    return text.replace("current.", "[i].").replace("previous.", "[i-1].")
