"""Which queries of a workload share which sub-patterns, and why other pairs share nothing.

Queries may share bursts; states are merged if equal trends end in them (`elsinore.plan.merged`);
and states of one shape are lanes that the engine processes side by side.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from elsinore.language.render import render
from elsinore.model.expression import Expression
from elsinore.model.kinds import Strategy
from elsinore.plan import Sharing
from elsinore.plan.explain import MOST_NAMES, way_in_words
from elsinore.plan.merged import MergedTemplate, queries_through
from elsinore.plan.paths import Path, Way
from elsinore.plan.template import ALL, START, Template
from elsinore.plan.trends import TrendUnit, once_per_unit
from elsinore.plan.unit import Partition
from elsinore.trends.engine.layout import Layout
from elsinore.trends.engine.program import engine_unit
from elsinore.trends.engine.sharing.sets import sharing_sets
from elsinore.trends.engine.steps import Updates
from elsinore.words import listed

Units = Sequence[tuple[Partition, TrendUnit]]  # all of a workload's
Shared = tuple[str, tuple[int, ...]]  # a sub-pattern, and the queries that share it

# how a query is processed alone, by its method
_WAYS = {
    "its own list of events": "keeps its own list of events",
    "an index over its own events": "keeps an index over its own events",
    "sums carried from event to event": "carries sums of its own from event to event",
    "trends built one by one": "has its trends built one by one",
}
_NEVER = "they could share, but that is switched off (sharing: never)"


@once_per_unit
def burst_sets(unit: TrendUnit) -> list[Shared]:
    """Return the sharing sets of a unit whose bursts can be shared: sub-patterns and queries."""
    engine = engine_unit(unit)
    if engine is None:
        return []
    has_sources = [any(e.source != START for e in node.edges) for node in unit.merged.nodes]
    return [
        (sharing_set.pattern, sharing_set.queries)
        for sharing_set in sharing_sets(Updates(engine))
        if sharing_set.is_compared
        or (
            sum(map(len, sharing_set.holders)) > 1
            and (sharing_set.is_repeated or any(has_sources[n] for n in sharing_set.members))
        )
    ]


def merged_sets(unit: TrendUnit) -> list[Shared]:
    """Return the queries that have merged states in common, whatever the mode of sharing.

    Each is a sub-pattern and its queries (`elsinore.plan.merged`).
    """
    engine = unit if unit.path is Path.COARSE else engine_unit(unit)
    if engine is None:
        return []
    merged = engine.merged
    passing = queries_through(merged)
    nodes_of: dict[tuple[int, ...], list[int]] = {}
    for number, (node, queries) in enumerate(zip(merged.nodes, passing, strict=True)):
        # events of the node follow one another, or other events under conditions
        is_repeated = any(e.source == number or e.reads != ALL for e in node.edges)
        if len(queries) > 1 and is_repeated:
            nodes_of.setdefault(tuple(sorted(queries)), []).append(number)
    if not _is_summed(merged):
        return [
            (
                _pattern(merged, [n for n, through in enumerate(passing) if {*queries} <= through]),
                queries,
            )
            for queries in nodes_of
        ]
    loops = {
        (f"{edge.type}+", queries): None
        for queries, nodes in nodes_of.items()
        for number in nodes
        for edge in merged.nodes[number].edges
        if edge.source == number
    }
    return list(loops)


@once_per_unit
def lane_sets(unit: TrendUnit) -> list[Shared]:
    """Return the queries with states of one shape, which are lanes, with the first one's pattern.

    There are none if states are sums: such queries share bursts.
    """
    engine = engine_unit(unit)
    if engine is None or _is_summed(engine.merged):
        return []
    passing = queries_through(engine.merged)
    sets = {
        tuple(sorted(set[int]().union(*(passing[node] for node in block.nodes))))
        for block in Layout(engine).blocks
        if len(block.nodes) > 1 and not engine.merged.nodes[block.nodes[0]].storage.is_seed
    }
    largest = [one for one in sorted(sets) if not any({*one} < {*other} for other in sets)]
    return [
        (render(unit.members[queries[0]].query.pattern), queries)
        for queries in largest
        if len(queries) > 1
    ]


def _is_summed(merged: MergedTemplate) -> bool:
    """Return whether all states are sums, without conditions between events or strategies."""
    return all(n.storage.rows is None and n.strategy is Strategy.ANY for n in merged.nodes)


def _pattern(merged: MergedTemplate, nodes: Sequence[int]) -> str:
    """Return nodes, in the order in which trends reach them, as a pattern.

    It omits seeds, and all but one of the nodes with the same incoming edges.
    """
    entered = {frozenset(merged.nodes[number].edges): number for number in reversed(nodes)}
    entered.pop(frozenset(), None)
    names = []
    for number in sorted(entered.values()):
        edges = merged.nodes[number].edges
        loop = "+" if any(edge.source == number for edge in edges) else ""
        names.append(f"{' or '.join(dict.fromkeys(edge.type for edge in edges))}{loop}")
    return names[0] if len(names) == 1 else f"SEQ({', '.join(names)})"


@dataclass(frozen=True, slots=True)
class Block:
    """Pairs of queries: each of `left` with each of `right`, or all of `left` with one another."""

    left: tuple[str, ...]
    right: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """The number of pairs."""
        if self.right:
            return len(self.left) * len(self.right)
        return len(self.left) * (len(self.left) - 1) // 2

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Return the pairs, one by one."""
        if self.right:
            return itertools.product(self.left, self.right)
        return itertools.combinations(self.left, 2)


@dataclass(frozen=True, slots=True)
class Apart:
    """Pairs of queries that share no bursts with one another, for one reason."""

    blocks: tuple[Block, ...]
    why: str

    @property
    def count(self) -> int:
        """The number of pairs."""
        return sum(block.count for block in self.blocks)

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Return the pairs, one by one."""
        return itertools.chain.from_iterable(block.pairs() for block in self.blocks)


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualQueries:
    """Queries of a unit that share, or do not share, with others for equal reasons."""

    partition: Partition
    unit: TrendUnit
    way: Way
    template: Template  # of one of them
    sets: frozenset[int]  # the merged states, lanes and (below 0) bursts that they share
    names: tuple[str, ...]


def apart(units: Units, sharing: Sharing = Sharing.DYNAMIC) -> tuple[Apart, ...]:
    """Return all pairs of queries that share nothing, by their reasons.

    Queries with equal reasons form one group, so that a thousand do not make a million pairs.
    """
    by_reason: dict[str, list[Block]] = {}
    groups = [group for unit in units for group in _equal_queries(*unit)]
    for left, right in itertools.combinations_with_replacement(groups, 2):
        block = Block(left.names, () if left is right else right.names)
        why = _why_not(left, right, sharing)
        if block.count and why is not None:
            by_reason.setdefault(why, []).append(block)
    return tuple(Apart(tuple(blocks), why) for why, blocks in by_reason.items())


def _equal_queries(partition: Partition, unit: TrendUnit) -> list[EqualQueries]:
    """Return the queries of a unit, grouped by the reasons for which they do not share."""
    sets = {~n: queries for n, (_, queries) in enumerate(burst_sets(unit))}
    sets |= {n: of for n, (_, of) in enumerate([*lane_sets(unit), *merged_sets(unit)])}
    shared: list[set[int]] = [set() for _ in unit.members]
    for number, queries in sets.items():
        for query in queries:
            shared[query].add(number)
    groups: dict[object, list[int]] = {}
    for query, template in enumerate(unit.members):
        reasons: object = (unit.why[query], template.loops())
        if unit.path is Path.GRAPH:
            reasons = (reasons, *map(_likeness, template.parts or (template,)))
        groups.setdefault((frozenset(shared[query]), reasons), []).append(query)
    return [
        EqualQueries(
            partition=partition,
            unit=unit,
            way=unit.why[queries[0]],
            template=unit.members[queries[0]],
            sets=frozenset(shared[queries[0]]),
            names=tuple(unit.members[query].query.name for query in queries),
        )
        for queries in groups.values()
    ]


def _why_not(left: EqualQueries, right: EqualQueries, sharing: Sharing) -> str | None:
    """Return why queries share nothing with others; None if they share."""
    unit = left.unit
    if left.partition != right.partition:
        return _differently_keyed(left.partition, right.partition)
    if unit is not right.unit:
        ways = ", ".join(
            f"{listed(side.names, MOST_NAMES)} by {way_in_words(side.way, len(side.names))}"
            for side in (left, right)
        )
        return f"they are processed in different ways, {ways}"
    common = left.sets & right.sets
    if common:
        return _NEVER if sharing is Sharing.NEVER and max(common) < 0 else None
    if unit.exact:
        return "each is computed by itself, in integers of any size"
    if unit.path is Path.GRAPH:
        return f"{_each_by_itself(left, right)}; {_why_differ(left, right)}"
    if unit.path is not Path.COARSE:
        return _each_by_itself(left, right)
    loops = sorted(left.template.loops() & right.template.loops())
    if not loops:
        return (
            "they have no Kleene sub-pattern in common (equal states are nevertheless kept only "
            "once)"
        )
    return (
        f"in one of them the effect of a burst of {' or '.join(loops)} events does not follow "
        "from their number, because some of them also lead to other states, or come from there"
    )


def _each_by_itself(*sides: EqualQueries) -> str:
    """Return how queries are processed alone, and why."""
    ways = dict.fromkeys(side.way for side in sides)
    methods = list(dict.fromkeys(_WAYS.get(way.method, way.method) for way in ways))
    if len(methods) == 1:
        reasons = ", and ".join(dict.fromkeys(way.reason for way in ways))
        return f"each {methods[0]}, because {reasons}"
    first, second = (f"{_WAYS.get(way.method, way.method)}, because {way.reason}" for way in ways)
    return f"one {first}; the other {second}"


def _why_differ(*sides: EqualQueries) -> str:
    """Return why queries of the graph path have nothing in common, pattern by pattern of AND."""
    pairs = itertools.product(*(side.template.parts or (side.template,) for side in sides))
    return " and ".join(dict.fromkeys(_difference(one, other) for one, other in pairs))


def _differently_keyed(left: Partition, right: Partition) -> str:
    """Return how two ways to partition a stream differ.

    >>> _differently_keyed(Partition(("g",)), Partition((), ("g",), ("g",)))
    'their events are partitioned alike, by g, but their results are by g and for the whole stream'
    >>> _differently_keyed(Partition(("g",)), Partition(("g",), (), ("g",)))
    'a null in g is a group for one of them and matches nothing for the other'
    """
    keys = [sorted(side.key) for side in (left, right)]
    if keys[0] != keys[1]:
        ways = " and ".join(f"by {listed(key)}" if key else "not at all" for key in keys)
        return f"their events are partitioned differently, {ways}"
    if left.group_by == right.group_by:
        null = listed(sorted({*left.required} ^ {*right.required}))
        return f"a null in {null} is a group for one of them and matches nothing for the other"
    groups = [
        f"by {listed(side.group_by)}" if side.group_by else "for the whole stream"
        for side in (left, right)
    ]
    return (
        f"their events are partitioned alike, by {listed(keys[0])}, but their results are "
        f"{' and '.join(groups)}"
    )


def _likeness(template: Template) -> object:
    """Return the parts of a template on which `_difference` depends."""
    return (
        template.query.strategy,
        template.query.window,
        tuple((state.type, state.needs) for state in template.states),
        frozenset(
            (step.source, step.target, frozenset(step.reads.conditions)) for step in template.steps
        ),
    )


def _difference(left: Template, right: Template) -> str:
    """Return why two queries have no states in common, nor states of one shape."""
    if left.query.strategy is not right.query.strategy:
        return "their strategies differ"
    if left.query.window != right.query.window:
        return "their windows differ"
    pairs = [
        (here, there)
        for here, state in enumerate(left.states)
        for there, other in enumerate(right.states)
        if state.type == other.type and _compares(left, here) and _compares(right, there)
    ]
    if not pairs:
        return "they have no type in common whose events both compare or repeat"
    names = " and ".join(dict.fromkeys(left.states[here].type for here, _ in pairs))
    equal = [(h, t) for h, t in pairs if left.states[h].needs == right.states[t].needs]
    if not equal:
        return f"they have different conditions on single {names} events"
    if not any(_conditions_into(left, h) == _conditions_into(right, t) for h, t in equal):
        return f"they compare {names} events with preceding ones in different ways"
    return f"they differ in what precedes {names} in a trend"


def _compares(template: Template, state: int) -> bool:
    """Return whether events in a state are repeated, or follow others on conditions."""
    return any(
        move.target == state and (move.reads.conditions or move.source == state)
        for move in template.moves
    )


def _conditions_into(template: Template, state: int) -> frozenset[frozenset[Expression]]:
    """Return the conditions between an event of a state and those that it may follow."""
    into = (step.reads.conditions for step in template.steps if step.target == state)
    return frozenset(map(frozenset, into))
