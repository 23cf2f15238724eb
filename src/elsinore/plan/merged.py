"""The merged template: the states of many queries, each kept once (HAMLET, Section 3.1).

Two states, of one query or of two, are merged if the same trends end in them: they have the same
window, and their incoming transitions have the same types, predicates and (merged) sources. So
queries share common prefixes of their patterns, at no cost at run time. States of one query must
also have the same variables of aggregates.

A merged state is a *node*. Beside the number of trends it has a sum for each *signature*: the set
of nodes before it whose events contribute. Queries with the same sum share it; a node has no sums
without contributing nodes before it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from elsinore.automata.positions import FREE, Ways
from elsinore.model.kinds import Strategy
from elsinore.model.window import Window
from elsinore.plan.aggregates import Field, FieldKind
from elsinore.plan.template import (
    ALL,
    AS_SUM,
    START,
    Events,
    Reads,
    Storage,
    Template,
    contributes,
)


@dataclass(frozen=True, slots=True)
class Signature:
    """A sum in a node: its kind and attribute, and the (node, event type)s that contribute."""

    kind: FieldKind
    attribute: str | None
    contributors: frozenset[tuple[int, str]]
    turn: int = 0  # of deviations and their squares


TRENDS = Signature(FieldKind.TRENDS, None, frozenset())


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge(Events):
    """Such an event goes from `source`, a node or START, to the node that has the edge."""

    source: int
    reads: Reads = ALL


@dataclass(frozen=True, slots=True)
class Node:
    """A state of the merged template; the first linear signature is the number of trends.

    `storage` is that of the merged states, and `closing` the ways of their ends.
    """

    window: Window | None
    edges: tuple[Edge, ...]
    linear: tuple[Signature, ...]
    extremes: tuple[Signature, ...]
    storage: Storage = AS_SUM
    strategy: Strategy = Strategy.ANY
    closing: Ways = FREE


Place = tuple[int, int]  # a node and the number of one of its signatures


@dataclass(frozen=True, slots=True)
class QueryEnds:
    """Where a query's fields are found: for each, the places to add up (or take the least of).

    Of `pairs` of trends, the one field, there are the numbers of those of the one pattern, of the
    other and of both.
    """

    linear: tuple[tuple[Place, ...], ...]
    extremes: tuple[tuple[Place, ...], ...]
    pairs: bool = False


@dataclass(frozen=True, slots=True)
class MergedTemplate:
    """All states of a unit's queries, and of its negative patterns; `ends[q]` is query q's."""

    nodes: tuple[Node, ...]
    ends: tuple[QueryEnds, ...]
    windows: tuple[Window | None, ...]  # those of the queries, each once; nodes are sorted by them
    negatives: tuple[QueryEnds, ...] = ()

    @property
    def seeds(self) -> tuple[int, ...]:
        """The nodes that are seeds."""
        return tuple(number for number, node in enumerate(self.nodes) if node.storage.is_seed)


def merge_templates(
    queries: Sequence[Template], negatives: Sequence[Template] = ()
) -> MergedTemplate:
    """Merge the states of all templates that the same trends end in."""
    templates = (*queries, *negatives)
    windows = tuple(dict.fromkeys(template.query.window for template in templates))
    place = nodes_of_states(templates)
    first = {node: state for state, node in reversed(place.items())}
    order = [first[node] for node in range(len(first))]
    entering = [_entering(template, q, place) for q, template in enumerate(templates)]
    edges = [tuple(entering[q][state]) for q, state in order]
    before = _ancestors(edges)
    signatures = [
        [_signature(templates[q], q, entry, place) for entry in _fields(templates[q])]
        for q in range(len(templates))
    ]
    sums: list[dict[Signature, None]] = [{TRENDS: None} for _ in order]
    for (q, _), node in place.items():
        for signature in signatures[q]:
            restricted = _restricted(signature, before[node])
            if restricted.contributors:
                sums[node][restricted] = None
    nodes = tuple(
        Node(
            window=templates[q].query.window,
            edges=edges[node],
            linear=tuple(s for s in sums[node] if not s.kind.is_extreme),
            extremes=tuple(s for s in sums[node] if s.kind.is_extreme),
            storage=templates[q].states[state].storage,
            strategy=templates[q].query.strategy,
            closing=_closing(templates[q]).get(state, FREE),
        )
        for node, (q, state) in enumerate(order)
    )
    ends = tuple(
        _ends(q, template, signatures[q], nodes, before, place)
        for q, template in enumerate(templates)
    )
    count = len(queries)
    return MergedTemplate(nodes, ends[:count], windows, ends[count:])


def nodes_of_states(templates: Sequence[Template]) -> dict[tuple[int, int], int]:
    """Return the node of each state, given by the number of its query and its own."""
    numbers = _partition(templates)
    windows = dict.fromkeys(template.query.window for template in templates)
    place = {window: number for number, window in enumerate(windows)}
    kind = [place[template.query.window] for template in templates]
    kinds = {number: kind[q] for (q, _), number in numbers.items()}
    node_of = {number: node for node, number in enumerate(sorted(kinds, key=kinds.__getitem__))}
    return {state: node_of[number] for state, number in numbers.items()}


def field_index(node: Node, signature: Signature, before: frozenset[int]) -> int | None:
    """Return the number of a signature in a node among its kind, None if nothing contributes."""
    if signature == TRENDS:
        return 0
    restricted = _restricted(signature, before)
    if not restricted.contributors:
        return None
    return (node.extremes if signature.kind.is_extreme else node.linear).index(restricted)


def ancestors(nodes: Sequence[Node]) -> list[frozenset[int]]:
    """Return for each node the nodes from which it is reached, itself included."""
    return _ancestors([node.edges for node in nodes])


def _partition(templates: Sequence[Template]) -> dict[tuple[int, int], int]:
    """Number the states: those in which the same trends end have one number.

    Two states of one query have different numbers though, if their events add to different fields:
    in `SEQ(A x*, A y)` the same trends end in both states, but only those of x count for COUNT(x).
    """
    numbers = _refined(templates, {})
    alike: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for state, number in numbers.items():
        alike.setdefault((state[0], number), []).append(state)
    apart: dict[tuple[int, int], frozenset[int]] = {}
    for states in alike.values():
        if len(states) > 1:
            adds = {(q, state): _fields_added_to(templates[q], state) for q, state in states}
            if len(set(adds.values())) > 1:
                apart |= {state: fields for state, fields in adds.items() if fields}
    return _refined(templates, apart) if apart else numbers


def _fields_added_to(template: Template, state: int) -> frozenset[int]:
    """Return the numbers of the fields to which an event adds when it takes the state."""
    return frozenset(
        number
        for number, entry in enumerate(_fields(template))
        for move in template.moves
        if move.target == state and contributes(template, entry, move)
    )


def _refined(
    templates: Sequence[Template], apart: Mapping[tuple[int, int], frozenset[int]]
) -> dict[tuple[int, int], int]:
    """Return a number for each state; equal if the same trends end in states and `apart` agrees.

    States differ if their windows do, or what empties them, or the multisets of their incoming
    (number of source, label): multisets, because every incoming transition adds its trends.
    """
    numbers: dict[object, int] = {}  # of the labels of transitions
    labels: list[Hashable] = []  # of all states, query after query
    incoming: list[list[tuple[int, int]]] = []  # [state] -> the places of sources there, labels
    for q, template in enumerate(templates):
        first, strategy = len(incoming), template.query.strategy
        sources, closing = {move.source for move in template.moves}, _closing(template)
        for number, state in enumerate(template.states):
            # each query removes what it extends
            owner = q if strategy is Strategy.NEXT and state.storage.rows is not None else -1
            is_broken = strategy is Strategy.CONTIGUOUS and number in sources
            storage = state.storage, closing.get(number, FREE), owner, is_broken
            labels.append((template.query.window, strategy, *storage, apart.get((q, number))))
            incoming.append([])
        for move in template.moves:
            target = template.states[move.target]
            guards = target.type, target.needs, target.lacks, move.reads
            label = numbers.setdefault(guards, len(numbers))
            source = START if move.source == START else first + move.source
            incoming[first + move.target].append((source, label))
    divided = coarsest_division(
        labels,
        lambda numbers, state: tuple(
            sorted([(numbers[source], label) for source, label in incoming[state]])
        ),
    )
    states = [
        (q, state)
        for q, source_template in enumerate(templates)
        for state in range(len(source_template.states))
    ]
    return dict(zip(states, divided, strict=True))


def coarsest_division(
    labels: Iterable[Hashable], surroundings: Callable[[Sequence[int], int], Hashable]
) -> list[int]:
    """Number the classes of states: two are in one if their labels and surroundings are equal.

    surroundings: of a state, given the numbers of all states, behind which that of `START` is -1.
    This is partition refinement: classes are divided until none has states that differ.

    >>> chain = lambda numbers, state: numbers[state - 1]  # each state follows the one before it
    >>> coarsest_division("aab", chain), coarsest_division("aaa", lambda numbers, state: 0)
    ([0, 1, 2], [0, 0, 0])
    """
    numbers = _numbered(labels)
    while True:
        known = [*numbers, -1]
        divided = _numbered(
            (number, surroundings(known, state)) for state, number in enumerate(numbers)
        )
        if max(divided, default=0) == max(numbers, default=0):
            return numbers
        numbers = divided


def _numbered(labels: Iterable[Hashable]) -> list[int]:
    """Return the number of each label; equal ones have one number, in order of first occurrence."""
    known: dict[Hashable, int] = {}
    return [known.setdefault(label, len(known)) for label in labels]


def _entering(template: Template, q: int, place: Mapping[tuple[int, int], int]) -> list[list[Edge]]:
    """Return the edges by which events take each state of a query."""
    entering: list[list[Edge]] = [[] for _ in template.states]
    for move in template.moves:
        source = START if move.source == START else place[q, move.source]
        of, reads = template.states[move.target], move.reads
        edge = Edge(type=of.type, needs=of.needs, lacks=of.lacks, source=source, reads=reads)
        entering[move.target].append(edge)
    return entering


def _closing(template: Template) -> dict[int, Ways]:
    """Return the ways of the ends of a template, by state."""
    return {end.source: end.ways for end in template.ends}


def _ancestors(edges: Sequence[tuple[Edge, ...]]) -> list[frozenset[int]]:
    result: list[frozenset[int]] = []
    for node, entering in enumerate(edges):
        before = {edge.source for edge in entering} - {START, node}
        if max(before, default=START) < node:  # as it mostly is: theirs are known
            result.append(frozenset((node,)).union(*[result[source] for source in before]))
            continue
        ancestors = {node}
        pending = [node]
        while pending:
            for edge in edges[pending.pop()]:
                if edge.source != START and edge.source not in ancestors:
                    ancestors.add(edge.source)
                    pending.append(edge.source)
        result.append(frozenset(ancestors))
    return result


def _fields(template: Template) -> tuple[Field, ...]:
    return template.aggregation.linear[1:] + template.aggregation.extremes


def _signature(
    template: Template, q: int, entry: Field, place: dict[tuple[int, int], int]
) -> Signature:
    contributors = frozenset(
        (place[q, move.target], template.states[move.target].type)
        for move in template.moves
        if contributes(template, entry, move)
    )
    return Signature(entry.kind, entry.attribute, contributors, entry.turn)


def _restricted(signature: Signature, before: frozenset[int]) -> Signature:
    contributors = frozenset(entry for entry in signature.contributors if entry[0] in before)
    return replace(signature, contributors=contributors)


def _ends(
    q: int,
    template: Template,
    signatures: Sequence[Signature],
    nodes: Sequence[Node],
    before: Sequence[frozenset[int]],
    place: dict[tuple[int, int], int],
) -> QueryEnds:
    accepting = [place[q, state] for state in sorted(template.accepting)]
    if template.sides > 1:
        sides = (sorted(e.source for e in template.ends if e.side == side) for side in range(3))
        trends = tuple(tuple((place[q, state], 0) for state in states) for states in sides)
        return QueryEnds(trends, (), pairs=True)

    def places(signature: Signature) -> tuple[Place, ...]:
        fields = ((node, field_index(nodes[node], signature, before[node])) for node in accepting)
        return tuple((node, field) for node, field in fields if field is not None)

    linear = (TRENDS, *(s for s in signatures if not s.kind.is_extreme))
    return QueryEnds(
        tuple(places(signature) for signature in linear),
        tuple(places(signature) for signature in signatures if signature.kind.is_extreme),
    )


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
