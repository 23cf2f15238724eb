"""Which queries share what; `elsinore.trends.explain.unshared` tells why others do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from elsinore.language.render import render
from elsinore.plan import Sharing
from elsinore.plan.alike import equal_states, shape
from elsinore.plan.guarded import GuardedTemplate
from elsinore.plan.paths import Path
from elsinore.plan.sharing import sharing_sets
from elsinore.plan.trends import TrendUnit
from elsinore.plan.unit import Partition
from elsinore.trends.counted import as_one, as_run, is_counted, run_together
from elsinore.trends.graph.pairs import ByPattern, by_pattern
from elsinore.trends.graph.program import Programs, joined_queries
from elsinore.trends.graph.stepped import stepping, sweeps
from elsinore.trends.nodes.labels import Labels
from elsinore.trends.sharing.groups import groups_of, queries_through


@dataclass(frozen=True, slots=True)
class SharedPattern:
    """Queries of a unit that share a Kleene sub-pattern: its bursts, where that pays.

    Those whose pattern is one and `whole`, and that keep single events, share that at any rate;
    those that differ in other states than the `merged` one (`elsinore.plan.merged`) share that.
    Those that are `lanes` have patterns of one shape, the first one's (`elsinore.trends.graph`):
    what they have in common is `merged`, and the rest is a lane of each.
    """

    pattern: str
    queries: tuple[str, ...]
    whole: bool = False
    merged: bool = False
    lanes: bool = False

    @property
    def how(self) -> str:
        """In what way they share."""
        if self.lanes:
            return "whose patterns have the same shape: they are processed side by side"
        if self.whole:
            return "processed once for all of them"
        return "kept once for all of them" if self.merged else "burst by burst, where it pays"


Units = Sequence[tuple[Partition, TrendUnit]]  # all of a workload's


def shared_patterns(
    units: Units, sharing: Sharing = Sharing.DYNAMIC, *, record: bool = False
) -> tuple[SharedPattern, ...]:
    """Return which queries may share which Kleene sub-patterns; `record`: in a run that records."""
    patterns = []
    for _, unit in units if record else as_they_run(units, sharing):
        names = [template.query.name for template in unit.members]
        for pattern, queries in burst_sets(unit, sharing):
            if len(queries) > 1:
                members = tuple(names[query] for query in queries)
                patterns.append(SharedPattern(pattern, members, unit.path is Path.GRAPH))
        for pattern, queries in merged_sets(unit, sharing):
            members = tuple(names[query] for query in queries)
            if not any(
                known.pattern == pattern and {*members} <= {*known.queries} for known in patterns
            ):
                patterns.append(SharedPattern(pattern, members, merged=True))
        for pattern, queries in lane_sets(unit, sharing):
            members = tuple(names[query] for query in queries)
            if not any(known.whole and {*members} <= {*known.queries} for known in patterns):
                patterns.append(SharedPattern(pattern, members, lanes=True))
    return tuple(patterns)


def as_they_run(units: Units, sharing: Sharing) -> list[tuple[Partition, TrendUnit]]:
    """Return a plan's units as a run goes over them that records nothing."""
    running = []
    for places in run_together(units, sharing, record=False):
        several = [units[place][1] for place in places]
        merged_unit = as_run(several[0], sharing) if len(several) == 1 else as_one(several)
        running.append((units[places[0]][0], merged_unit))
    return running


def burst_sets(unit: TrendUnit, sharing: Sharing) -> list[tuple[str, tuple[int, ...]]]:
    """Return the sharing sets of a unit, or the queries that are one graph: what, and who."""
    if sharing is Sharing.NEVER:
        return []
    name = "sharing sets", sharing is Sharing.ALWAYS
    if name not in unit.kept:
        unit.kept[name] = _burst_sets(unit, mixed=sharing is Sharing.ALWAYS)
    return cast("list[tuple[str, tuple[int, ...]]]", unit.kept[name])


def _burst_sets(unit: TrendUnit, *, mixed: bool) -> list[tuple[str, tuple[int, ...]]]:
    """Work out the sharing sets; `mixed`: of queries too that compare events differently."""
    if unit.path is Path.COARSE and not unit.exact:
        groups = groups_of(unit, Labels(unit.classes))
        return [(f"{group.type}+", group.queries) for group in groups]
    if unit.path is Path.SHARED:
        sets = sharing_sets(unit.templates, mixed=mixed)
        return [(f"{sharing_set.type}+", sharing_set.queries) for sharing_set in sets]
    if unit.path is Path.GRAPH:
        whole = by_pattern(unit)
        return [
            (render(whole.patterns[queries[0]]), whole.queries(queries))
            for group in joined_queries(whole.unit)
            for queries, _ in group.common
            if group.covers(queries)
        ]
    return []


def merged_sets(unit: TrendUnit, sharing: Sharing) -> list[tuple[str, tuple[int, ...]]]:
    """Return the queries that have some states in common: sub-patterns and queries.

    Sums per state are merged however queries are to share.
    """
    if unit.path is Path.GRAPH and sharing is not Sharing.NEVER:
        whole = by_pattern(unit)
        equal_sets = [
            (_pattern(group.template, states), whole.queries(queries))
            for group in joined_queries(whole.unit)
            for queries, states in group.common
            if not group.covers(queries) and group.keeps(states)
        ] + _equal(whole)
        return [(pattern, queries) for pattern, queries in equal_sets if len(queries) > 1]
    if unit.path is not Path.COARSE:
        return []
    equal_edges: dict[tuple[str, tuple[int, ...]], None] = {}
    for number, queries in enumerate(queries_through(unit.merged)):
        for edge in unit.merged.nodes[number].edges:
            if edge.source == number and len(queries) > 1:
                equal_edges[f"{edge.type}+", tuple(sorted(queries))] = None
    return list(equal_edges)


def _equal(whole: ByPattern) -> list[tuple[str, tuple[int, ...]]]:
    """Return the queries that have states in common in a sweep of which they are lanes."""
    unit = whole.unit
    states_of: dict[tuple[int, ...], list[int]] = {}
    for queries in _sweeps(unit):
        for state, row in enumerate(equal_states([unit.guarded[query] for query in queries])):
            having: dict[int, list[int]] = {}
            for query, number in zip(queries, row, strict=True):
                if state < len(unit.guarded[query].states):
                    having.setdefault(number, []).append(query)
            for several in having.values():
                if len({shape(unit.guarded[query]) for query in several}) > 1:
                    states_of.setdefault(tuple(several), []).append(state)
    return [
        (_pattern(unit.guarded[queries[0]], states), whole.queries(queries))
        for queries, states in states_of.items()
    ]


def _sweeps(unit: TrendUnit) -> list[list[int]]:
    """Return the queries that are lanes of one sweep, the one that has all states first.

    They are queries as they are `by_pattern`.
    """
    if "lanes" not in unit.kept:
        programs = Programs(unit, joined_queries(unit))
        ready_programs = {number: programs.program(number, ())[0] for number in stepping(programs)}
        unit.kept["lanes"] = [
            [query for number in numbers for query in programs.groups[number].queries]
            for numbers in sweeps(programs, ready_programs)
            if len(numbers) > 1
        ]
    return cast("list[list[int]]", unit.kept["lanes"])


def lane_sets(unit: TrendUnit, sharing: Sharing) -> list[tuple[str, tuple[int, ...]]]:
    """Return the queries that are lanes of one sweep, with the pattern that has all states."""
    if unit.path is not Path.GRAPH or sharing is Sharing.NEVER:
        return []
    whole = by_pattern(unit)
    lanes = [
        (render(whole.patterns[queries[0]]), whole.queries(queries))
        for queries in _sweeps(whole.unit)
    ]
    return [(pattern, queries) for pattern, queries in lanes if len(queries) > 1]


def _pattern(template: GuardedTemplate, states: Sequence[int]) -> str:
    """Return states of an automaton, in the order in which trends come to them, as a pattern."""
    loops = {move.source for move in template.moves if move.source == move.target}
    names = [
        f"{'' if template.states[n].variable else 'NOT '}{template.states[n].type}"
        f"{'+' if n in loops else ''}"
        for n in states
    ]
    return names[0] if len(names) == 1 else f"SEQ({', '.join(names)})"


def counted(units: Units) -> list[tuple[str, ...]]:
    """Return the queries of units of several that go by an index where a run lets them."""
    return [
        tuple(template.query.name for template in unit.templates)
        for _, unit in units
        if len(unit.templates) > 1 and is_counted(unit)
    ]


def may_share(units: Units) -> bool:
    """Return whether some queries may share bursts in a run that records them."""
    patterns = shared_patterns(units, record=True)
    return any(not (pattern.whole or pattern.merged or pattern.lanes) for pattern in patterns)
