"""Sharing groups: nodes on which a run of events of one type acts alike.

A *holder* is a node of the merged template, of whichever queries and window, that loops by events
of some classes, and of which the same events enter it from its other predecessors. If they change
none of those, and no node but its twins reads the holder at these events, what N make of its sums
is known from N and sums over the events alone (`elsinore.trends.sharing.clock`). Nodes whose loops
take the same classes of events are one *cohort*; the cohorts of one type of event are a *group*,
whose bursts are worked on once for all cohorts that have taken the same of its events
(`elsinore.trends.sharing.parts`).

A *twin* of a holder does not loop, but the same events enter it from the same nodes and add to its
sums alike: a state beside its accumulator, or the reverse (`elsinore.plan.accumulators`). So the
same is added to both.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from elsinore.model.window import Window, overlap_of
from elsinore.plan import TrendUnit
from elsinore.plan.merged import Edge, MergedTemplate, Node
from elsinore.plan.template import START
from elsinore.trends.nodes.labels import Label, Labels


@dataclass(frozen=True, slots=True)
class Cohort:
    """Nodes, in order, on which the events of a label act alike."""

    label: Label
    loop: Edge  # one that takes the label's events
    nodes: tuple[int, ...]
    twins: tuple[tuple[int, ...], ...]  # of each node


@dataclass(frozen=True, slots=True)
class Group:
    """Cohorts whose loops take events of one type; they differ in their local predicates."""

    type: str
    cohorts: tuple[Cohort, ...]
    queries: tuple[int, ...]  # the unit's queries whose trends pass through them
    heard: tuple[int, ...]  # all nodes that trends of these queries pass through


def groups_of(unit: TrendUnit, labels: Labels) -> list[Group]:
    """Return the sharing groups of a unit that have at least two holders.

    A node is a holder in each window that is open at once, and in one group at most.
    """
    nodes = unit.merged.nodes
    entering = [[(edge.source, labels.of(edge)) for edge in node.edges] for node in nodes]
    resetting = [
        [labels.of(reset) for reset in node.resets] if node.resets else () for node in nodes
    ]
    leaving: list[list[tuple[int, Label]]] = [[] for _ in nodes]
    for node, edges in enumerate(entering):
        for source, label in edges:
            if source not in {START, node}:
                leaving[source].append((node, label))
    twins = _twins(nodes, entering)
    found: dict[int, tuple[Label, list[int]]] = {}  # by the identity of the label
    for node, ways in enumerate(entering):
        told = [label for source, label in ways if source == node]
        for label in told:
            if told.count(label) == 1 and _composes(
                node, label, twins.get(node, ()), entering, leaving, resetting
            ):
                found.setdefault(id(label), (label, []))[1].append(node)
                break
    cohorts: dict[str, list[Cohort]] = {}
    for label, held in found.values():
        beside = tuple(twins.get(node, ()) for node in held)
        loop = next(e for e in nodes[held[0]].edges if (e.source, labels.of(e)) == (held[0], label))
        cohort = Cohort(label, loop, tuple(held), beside)
        cohorts.setdefault(label.type, []).append(cohort)
    shareable = {
        name: several
        for name, several in cohorts.items()
        if sum(overlap_of(nodes[node].window) for cohort in several for node in cohort.nodes) > 1
    }
    if not shareable:
        return []
    passing = queries_through(unit.merged)
    nodes_of: dict[int, list[int]] = {}
    for node, through in enumerate(passing):
        for query in through:
            nodes_of.setdefault(query, []).append(node)
    groups = []
    for name, several in shareable.items():
        held = [node for cohort in several for node in cohort.nodes]
        queries = sorted(set().union(*(passing[node] for node in held)))
        heard = sorted({node for query in queries for node in nodes_of[query]})
        groups.append(Group(name, tuple(several), tuple(queries), tuple(heard)))
    return groups


def _twins(
    nodes: Sequence[Node], entering: Sequence[Sequence[tuple[int, Label]]]
) -> dict[int, tuple[int, ...]]:
    """Return the twins of the nodes that have any."""
    looping = {n for n, ways in enumerate(entering) if any(source == n for source, _ in ways)}
    # a twin has its holder among its predecessors, as the holder itself has
    after = {
        number: [source for source, _ in ways if source != number and source in looping]
        for number, ways in enumerate(entering)
    }
    candidates = {
        node for number, several in after.items() if several for node in (number, *several)
    }
    alike: dict[object, list[int]] = {}
    for number in sorted(candidates):
        entered = {(source, id(label)) for source, label in entering[number]}  # kept by `Labels`
        alike.setdefault((frozenset(entered), len(entering[number])), []).append(number)
    found: dict[int, tuple[int, ...]] = {}
    for together in alike.values():
        if len(together) > 1:
            found |= _twins_among(together, nodes)
    return found


def _twins_among(together: Sequence[int], nodes: Sequence[Node]) -> dict[int, tuple[int, ...]]:
    """Return the twins of nodes that have the same edges."""
    found: dict[int, tuple[int, ...]] = {}
    windows: dict[Window | None, list[int]] = {}
    for number in together:
        windows.setdefault(nodes[number].window, []).append(number)
    for several in windows.values():
        looping = [n for n in several if any(edge.source == n for edge in nodes[n].edges)]
        if len(looping) == 1:
            holder = looping[0]
            found[holder] = tuple(
                n for n in several if n != holder and _add_alike(nodes, holder, n)
            )
    return found


def _add_alike(nodes: Sequence[Node], holder: int, twin: int) -> bool:
    """Return whether the same events add to the sums of a node and to those of another."""
    return all(
        ((twin, edge.type) in signature.contributors)
        == ((holder, edge.type) in signature.contributors)
        for signature in nodes[twin].linear + nodes[twin].extremes
        for edge in nodes[twin].edges
    )


def _composes(
    node: int,
    label: Label,
    twins: Sequence[int],
    entering: Sequence[Sequence[tuple[int, Label]]],
    leaving: Sequence[Sequence[tuple[int, Label]]],
    resetting: Sequence[Sequence[Label]],
) -> bool:
    """Return whether what events of a label do to a node is told by their number and sums."""
    read = set()
    for source, other in entering[node]:
        if other is label:
            read.add(source)
        elif other.meets(label):
            return False
    read.discard(START)
    for target, other in leaving[node]:
        if target not in twins and other.meets(label):
            return False
    if twins and any(other.meets(label) for twin in twins for _, other in leaving[twin]):
        return False
    for one in (*read, *twins):
        for other in resetting[one]:
            if other.meets(label):
                return False
    for source in read:
        if source != node:
            for _, other in entering[source]:
                if other.meets(label):
                    return False
    return True


def queries_through(merged: MergedTemplate) -> list[set[int]]:
    """Return for each node the queries some of whose trends pass through it."""
    passing: list[set[int]] = [set() for _ in merged.nodes]
    for query, ends in enumerate(merged.ends):
        pending = [node for node, _ in itertools.chain(*ends.linear)]
        while pending:
            node = pending.pop()
            if query not in passing[node]:
                passing[node].add(query)
                pending += [e.source for e in merged.nodes[node].edges if e.source != START]
    return passing
