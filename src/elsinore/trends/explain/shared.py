"""Which queries share what; `elsinore.trends.explain.unshared` says why others do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from elsinore.language.render import render
from elsinore.model.kinds import Strategy
from elsinore.plan import Sharing
from elsinore.plan.merged import MergedTemplate, queries_through
from elsinore.plan.paths import Path
from elsinore.plan.template import ALL, START
from elsinore.plan.trends import TrendUnit, once_per_unit
from elsinore.plan.unit import Partition
from elsinore.trends.engine.layout import Layout
from elsinore.trends.engine.program import engine_unit
from elsinore.trends.engine.sharing.sets import sharing_sets
from elsinore.trends.engine.updates import Updates

BURSTS = "burst by burst, where it pays"
MERGED = "kept once for all of them"  # they have states in common (`elsinore.plan.merged`)
LANES = "whose patterns have the same shape: they are processed side by side"


@dataclass(frozen=True, slots=True)
class SharedPattern:
    """Queries of a unit that share a Kleene sub-pattern, and how they do."""

    pattern: str
    queries: tuple[str, ...]
    how: str = BURSTS


Units = Sequence[tuple[Partition, TrendUnit]]  # all of a workload's
Shared = tuple[str, tuple[int, ...]]  # a sub-pattern, and the queries that share it


def shared_patterns(units: Units, sharing: Sharing = Sharing.DYNAMIC) -> tuple[SharedPattern, ...]:
    """Return which queries may share which Kleene sub-patterns.

    Lanes are left out where all their queries share bursts, and states that are kept once where
    the same sub-pattern is shared already.
    """
    patterns: list[SharedPattern] = []
    for _, unit in units:
        names = [template.query.name for template in unit.members]
        bursts = [several for several in burst_sets(unit, sharing) if len(several[1]) > 1]
        merged: list[Shared] = []
        for pattern, queries in merged_sets(unit):
            known = (set(others) for name, others in (*bursts, *merged) if name == pattern)
            if not any(others.issuperset(queries) for others in known):
                merged.append((pattern, queries))
        lanes = [
            (pattern, queries)
            for pattern, queries in lane_sets(unit)
            if not any({*queries} <= {*others} for _, others in bursts)
        ]
        patterns += [
            SharedPattern(pattern, tuple(names[query] for query in queries), how)
            for how, sets in ((BURSTS, bursts), (MERGED, merged), (LANES, lanes))
            for pattern, queries in sets
        ]
    return tuple(patterns)


def burst_sets(unit: TrendUnit, sharing: Sharing) -> list[Shared]:
    """Return the sharing sets of a unit whose bursts can be shared: sub-patterns and queries."""
    return [] if sharing is Sharing.NEVER else _burst_sets(unit)


@once_per_unit
def _burst_sets(unit: TrendUnit) -> list[Shared]:
    engine = engine_unit(unit)
    return [
        (found.pattern, found.queries)
        for found in ([] if engine is None else sharing_sets(Updates(engine)))
        if found.is_compared
        or (
            sum(map(len, found.holders)) > 1
            and (found.is_repeated or any(_follows(unit.merged, n) for n in found.members))
        )
    ]


def _follows(merged: MergedTemplate, number: int) -> bool:
    """Return whether events of a node follow others; first events are only counted."""
    return any(edge.source != START for edge in merged.nodes[number].edges)


def merged_sets(unit: TrendUnit) -> list[Shared]:
    """Return the queries that have some states in common: sub-patterns and queries.

    States are merged however queries are to share (`elsinore.plan.merged`).
    """
    merged = _merged(unit)
    if merged is None:
        return []
    passing = queries_through(merged)
    nodes_of: dict[tuple[int, ...], list[int]] = {}
    for number, queries in enumerate(passing):
        if len(queries) > 1 and _is_repeated(merged, number):
            nodes_of.setdefault(tuple(sorted(queries)), []).append(number)
    if not is_summed(merged):
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

    On the path that keeps sums, such queries share bursts.
    """
    engine = engine_unit(unit)
    if engine is None or is_summed(engine.merged):
        return []
    passing = queries_through(engine.merged)
    sets = {
        tuple(sorted(set[int]().union(*(passing[node] for node in block.nodes))))
        for block in Layout(Updates(engine)).blocks
        if len(block.nodes) > 1 and not engine.merged.nodes[block.nodes[0]].seed
    }
    largest = [one for one in sorted(sets) if not any({*one} < {*other} for other in sets)]
    return [
        (render(unit.members[queries[0]].query.pattern), queries)
        for queries in largest
        if len(queries) > 1
    ]


def _merged(unit: TrendUnit) -> MergedTemplate | None:
    """Return the merged template by which a unit runs, None if it has none."""
    if unit.path is Path.COARSE:
        return unit.merged
    engine = engine_unit(unit)
    return None if engine is None else engine.merged


def is_summed(merged: MergedTemplate) -> bool:
    """Return whether no condition between events, nor any strategy, reads the states."""
    return all(n.rows is None and n.strategy is Strategy.ANY for n in merged.nodes)


def _is_repeated(merged: MergedTemplate, number: int) -> bool:
    """Return whether events of a node follow one another, or others on conditions."""
    return any(edge.source == number or edge.reads != ALL for edge in merged.nodes[number].edges)


def _pattern(merged: MergedTemplate, nodes: Sequence[int]) -> str:
    """Return nodes, in the order in which trends come to them, as a pattern.

    A node is left out if the same events lead to another one, or none, as in a seed.
    """
    entered = {frozenset(merged.nodes[number].edges): number for number in reversed(nodes)}
    entered.pop(frozenset(), None)
    names = []
    for number in sorted(entered.values()):
        edges = merged.nodes[number].edges
        loop = "+" if any(edge.source == number for edge in edges) else ""
        names.append(f"{' or '.join(dict.fromkeys(edge.type for edge in edges))}{loop}")
    return names[0] if len(names) == 1 else f"SEQ({', '.join(names)})"
