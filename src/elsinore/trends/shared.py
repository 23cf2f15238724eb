"""Which queries share what, and why others do not."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from elsinore.language.render import render
from elsinore.plan import Sharing
from elsinore.plan.alike import equal_states, shape, why_no_lanes
from elsinore.plan.explain.text import MOST_NAMES, path_in_words
from elsinore.plan.guarded import GuardedTemplate
from elsinore.plan.joined import have_one_order, why_not_joined
from elsinore.plan.paths import Path, goes_in_steps
from elsinore.plan.sharing import aggregated, loops, sharing_sets, why_not
from elsinore.plan.template import Template
from elsinore.plan.trends import TrendUnit
from elsinore.plan.unit import Partition
from elsinore.trends.counted import as_one, as_run, is_counted, run_together
from elsinore.trends.graph.pairs import ByPattern, by_pattern
from elsinore.trends.graph.program import Programs, joined_queries
from elsinore.trends.graph.stepped import stepping, sweeps
from elsinore.trends.graph.steps import MOST_LANES
from elsinore.trends.labels import Labels
from elsinore.trends.sharing.groups import groups_of, queries_through
from elsinore.words import listed


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
            return "of one shape and so lanes of one pass over the events"
        if self.whole:
            return "worked on once for all of them"
        return "one state for all of them" if self.merged else "where it pays"


@dataclass(frozen=True, slots=True)
class Block:
    """Pairs of queries: each of `left` with each of `right`, or all of `left` with one another."""

    left: tuple[str, ...]
    right: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many pairs they are."""
        if self.right:
            return len(self.left) * len(self.right)
        return len(self.left) * (len(self.left) - 1) // 2

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Return the pairs, one by one."""
        if self.right:
            return itertools.product(self.left, self.right)
        return itertools.combinations(self.left, 2)

    def words(self) -> str:
        """Return the pairs in words.

        >>> Block(("a", "b"), ("c",)).words(), Block(("a", "b")).words()
        ('a and b with c', 'a and b with one another')
        """
        with_whom = listed(self.right, MOST_NAMES) if self.right else "one another"
        return f"{listed(self.left, MOST_NAMES)} with {with_whom}"


@dataclass(frozen=True, slots=True)
class Apart:
    """Pairs of queries that share no bursts with one another, for one reason."""

    blocks: tuple[Block, ...]
    why: str

    @property
    def count(self) -> int:
        """How many pairs they are."""
        return sum(block.count for block in self.blocks)

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Return the pairs, one by one."""
        return itertools.chain.from_iterable(block.pairs() for block in self.blocks)


@dataclass(frozen=True, slots=True)
class Alike:
    """Queries of a unit that share, or do not, for the same reasons."""

    unit: TrendUnit
    first: int  # the place of one of them
    sets: frozenset[int]  # the unit's sharing groups and merged states that they are in
    names: tuple[str, ...]
    why: str  # why they go the way they go


Units = Sequence[tuple[Partition, TrendUnit]]  # all of a workload's


def shared_patterns(units: Units, *, record: bool = False) -> tuple[SharedPattern, ...]:
    """Return which queries may share which Kleene sub-patterns; `record`: in a run that records."""
    found = []
    for _, unit in units if record else _as_run(units):
        names = [template.query.name for template in unit.members]
        for pattern, queries in _sets(unit):
            if len(queries) > 1:
                told = tuple(names[query] for query in queries)
                found.append(SharedPattern(pattern, told, unit.path is Path.GRAPH))
        for pattern, queries in _merged(unit):
            told = tuple(names[query] for query in queries)
            if not any(one.pattern == pattern and {*told} <= {*one.queries} for one in found):
                found.append(SharedPattern(pattern, told, merged=True))
        for pattern, queries in _lanes(unit):
            told = tuple(names[query] for query in queries)
            if not any(one.whole and {*told} <= {*one.queries} for one in found):
                found.append(SharedPattern(pattern, told, lanes=True))
    return tuple(found)


def _as_run(units: Units) -> list[tuple[Partition, TrendUnit]]:
    """Return a plan's units as a run goes over them that records nothing."""
    found = []
    for places in run_together(units, Sharing.DYNAMIC, record=False):
        several = [units[place][1] for place in places]
        one = as_run(several[0]) if len(several) == 1 else as_one(several)
        found.append((units[places[0]][0], one))
    return found


def _sets(unit: TrendUnit) -> list[tuple[str, tuple[int, ...]]]:
    """Return the sharing sets of a unit: sub-patterns and queries."""
    if "sharing sets" not in unit.kept:
        unit.kept["sharing sets"] = _sharing_sets(unit)
    return cast("list[tuple[str, tuple[int, ...]]]", unit.kept["sharing sets"])


def _sharing_sets(unit: TrendUnit) -> list[tuple[str, tuple[int, ...]]]:
    """Work out the sharing sets of a unit."""
    if unit.path is Path.COARSE and not unit.exact:
        groups = groups_of(unit, Labels(unit.classes))
        return [(f"{group.type}+", group.queries) for group in groups]
    if unit.path is Path.SHARED:
        return [(f"{one.type}+", one.queries) for one in sharing_sets(unit.templates)]
    if unit.path is Path.GRAPH:
        whole = by_pattern(unit)
        return [
            (render(whole.patterns[queries[0]]), whole.queries(queries))
            for group in joined_queries(whole.unit)
            for queries, _ in group.common
            if group.covers(queries)
        ]
    return []


def _merged(unit: TrendUnit) -> list[tuple[str, tuple[int, ...]]]:
    """Return the queries that have some states in common: sub-patterns and queries."""
    if unit.path is Path.GRAPH:
        whole = by_pattern(unit)
        told = [
            (_pattern(group.template, states), whole.queries(queries))
            for group in joined_queries(whole.unit)
            for queries, states in group.common
            if not group.covers(queries) and group.keeps(states)
        ] + _equal(whole)
        return [(pattern, queries) for pattern, queries in told if len(queries) > 1]
    if unit.path is not Path.COARSE:
        return []
    found: dict[tuple[str, tuple[int, ...]], None] = {}
    for number, queries in enumerate(queries_through(unit.merged)):
        for edge in unit.merged.nodes[number].edges:
            if edge.source == number and len(queries) > 1:
                found[f"{edge.type}+", tuple(sorted(queries))] = None
    return list(found)


def _equal(whole: ByPattern) -> list[tuple[str, tuple[int, ...]]]:
    """Return the queries that have states in common in a sweep of which they are lanes."""
    unit = whole.unit
    found: dict[tuple[int, ...], list[int]] = {}
    for queries in _sweeps(unit):
        for state, row in enumerate(equal_states([unit.guarded[query] for query in queries])):
            having: dict[int, list[int]] = {}
            for query, number in zip(queries, row, strict=True):
                if state < len(unit.guarded[query].states):
                    having.setdefault(number, []).append(query)
            for several in having.values():
                if len({shape(unit.guarded[query]) for query in several}) > 1:
                    found.setdefault(tuple(several), []).append(state)
    return [
        (_pattern(unit.guarded[queries[0]], states), whole.queries(queries))
        for queries, states in found.items()
    ]


def _sweeps(unit: TrendUnit) -> list[list[int]]:
    """Return the queries that are lanes of one sweep, the one that has all states first.

    They are queries as they are `by_pattern`.
    """
    if "lanes" not in unit.kept:
        programs = Programs(unit, joined_queries(unit))
        told = {number: programs.program(number, ())[0] for number in stepping(programs)}
        unit.kept["lanes"] = [
            [query for number in numbers for query in programs.groups[number].queries]
            for numbers in sweeps(programs, told)
            if len(numbers) > 1
        ]
    return cast("list[list[int]]", unit.kept["lanes"])


def _lanes(unit: TrendUnit) -> list[tuple[str, tuple[int, ...]]]:
    """Return the queries that are lanes of one sweep, with the pattern that has all states."""
    if unit.path is not Path.GRAPH:
        return []
    whole = by_pattern(unit)
    told = [
        (render(whole.patterns[queries[0]]), whole.queries(queries))
        for queries in _sweeps(whole.unit)
    ]
    return [(pattern, queries) for pattern, queries in told if len(queries) > 1]


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
    told = shared_patterns(units, record=True)
    return any(not (one.whole or one.merged or one.lanes) for one in told)


def apart(units: Units) -> tuple[Apart, ...]:
    """Return the pairs of queries that share no bursts, by their reasons: all that there are.

    Queries of which the same is to be told go together, so that a thousand take no million pairs.
    """
    found: dict[str, list[Block]] = {}
    alike = [(key, _alike(unit)) for key, unit in _as_run(units)]
    for _, several in alike:
        for one in several:
            if len(one.names) > 1:
                why = _why_not(one, one)
                if why is not None:
                    found.setdefault(why, []).append(Block(one.names))
        for one, other in itertools.combinations(several, 2):
            why = _why_not(one, other)
            if why is not None:
                found.setdefault(why, []).append(Block(one.names, other.names))
    for (key, here), (other_key, there) in itertools.combinations(alike, 2):
        for one, other in itertools.product(here, there):
            if key != other_key:
                why = _differently_keyed(key, other_key)
            else:
                why = _different_ways(one, other)
            found.setdefault(why, []).append(Block(one.names, other.names))
    return tuple(Apart(tuple(blocks), why) for why, blocks in found.items())


def _alike(unit: TrendUnit) -> list[Alike]:
    """Return the queries of a unit, those of which the same is to be told together."""
    lanes = _lanes(unit)
    sets = [*lanes, *_sets(unit), *_merged(unit)]
    places: dict[object, list[int]] = {}
    of_sets: list[list[int]] = [[] for _ in unit.members]
    for number, (_, queries) in enumerate(sets):
        for query in queries:
            of_sets[query].append(number)
    within = list(map(frozenset, of_sets))
    for query, template in enumerate(unit.members):
        told: object = unit.why[query]
        if isinstance(template, Template):
            compared = frozenset((name, frozenset(how)) for name, how in loops(template).items())
            told = (told, compared)
            if unit.path is Path.SHARED:
                told = (told, aggregated(template.aggregation))
        elif unit.path is Path.GRAPH:
            own = tuple(number for number in range(len(lanes)) if number in within[query])
            steps = tuple(map(goes_in_steps, _patterns_of(unit, query)))
            if template.sides > 1 or not own:
                told = (told, shape(template))
            told = (told, own, steps)
        places.setdefault((within[query], told), []).append(query)
    names = [template.query.name for template in unit.members]
    return [
        Alike(
            unit,
            several[0],
            within[several[0]],
            tuple(names[q] for q in several),
            unit.why[several[0]],
        )
        for several in places.values()
    ]


def _why_not(one: Alike, other: Alike) -> str | None:
    """Return why queries of a unit share no bursts with others of it; None where they do."""
    unit = one.unit
    if unit.path is Path.SHARED:
        return why_not(unit.templates[one.first], unit.templates[other.first])
    if one.sets & other.sets:
        return None
    if unit.path is not Path.COARSE or unit.exact:
        what = " or ".join(dict.fromkeys(side.why.partition(": ")[0] for side in (one, other)))
        reasons = {side.why.partition(": ")[2]: None for side in (one, other)}
        reason = ", and ".join(reasons)
        if unit.exact:
            return "each is worked out by itself in integers of any size"
        if unit.path is not Path.GRAPH:
            return f"{what}: {reason}"
        differs = _why_differ((one, other))
        if _one_order(unit, one.first, other.first):
            return f"each keeps sums of its own over one order of events for both; {differs}"
        return f"each keeps {what}, as {reason}; {differs}"
    here, there = (loops(unit.templates[side.first]) for side in (one, other))
    common = sorted(here.keys() & there.keys())
    if not common:
        return "they have no Kleene sub-pattern in common, and share equal states at most"
    return (
        f"what a burst of {' or '.join(common)} does in one of them is not told by how many events "
        "it has: some of them lead to, or come from, other states at the same time"
    )


def _patterns_of(unit: TrendUnit, query: int) -> list[GuardedTemplate]:
    """Return the templates that tell a query of the graph path: of AND, those of its patterns."""
    whole = by_pattern(unit)
    return [whole.unit.guarded[place] for place in whole.places[query][:2]]


def _one_order(unit: TrendUnit, one: int, other: int) -> bool:
    """Return whether an index puts some events in one order for both of two queries."""
    whole = by_pattern(unit)
    return any(
        have_one_order(whole.unit.guarded[here], whole.unit.guarded[there])
        for here, there in itertools.product(whole.places[one], whole.places[other])
        if any({here, there} <= {*group.queries} for group in joined_queries(whole.unit))
    )


def _differ(one: GuardedTemplate, other: GuardedTemplate) -> str:
    """Return why two queries of the graph path have nothing in common."""
    steps = goes_in_steps(one) + goes_in_steps(other)
    if steps == 0:
        return why_not_joined(one, other)
    if steps == 1:
        same = one.query.strategy is other.query.strategy
        return (
            "only one of them is carried from event to event" if same else "their strategies differ"
        )
    first, second = sorted((one, other), key=lambda template: -len(template.states))
    return why_no_lanes(first, second) or (
        f"they add up different things, or with others would be more than {MOST_LANES} in one pass"
    )


def _different_ways(*sides: Alike) -> str:
    """Return why queries of two units that take the stream apart alike are not of one."""
    if all(side.unit.path is Path.GRAPH for side in sides):
        what = " or ".join(dict.fromkeys(side.why.partition(": ")[0] for side in sides))
        return f"each keeps {what}; {_why_differ(sides)}"
    told = " and ".join(
        f"{listed(side.names, MOST_NAMES)} on the {path_in_words(side.unit.path, side.why)}"
        for side in sides
    )
    return f"they go different ways, {told}"


def _why_differ(sides: Sequence[Alike]) -> str:
    """Return why queries of the graph path have nothing in common, pattern by pattern of AND."""
    two = [_patterns_of(side.unit, side.first) for side in sides]
    return " and ".join(dict.fromkeys(itertools.starmap(_differ, itertools.product(*two))))


def _differently_keyed(one: Partition, other: Partition) -> str:
    """Return in what two ways to take a stream apart differ.

    >>> _differently_keyed(Partition(("g",)), Partition((), ("g",), ("g",)))
    'their events are partitioned by g alike, but results are by g and by the whole stream'
    >>> _differently_keyed(Partition(("g",)), Partition(("g",), (), ("g",)))
    'a null in g is a group for one of them and matches nothing for the other'
    """
    keys = [sorted(side.key) for side in (one, other)]
    if keys[0] != keys[1]:
        ways = " and ".join(f"by {listed(key)}" if key else "by nothing" for key in keys)
        return f"their events are partitioned differently, {ways}"
    if one.group_by == other.group_by:
        null = listed(sorted({*one.required} ^ {*other.required}))
        return f"a null in {null} is a group for one of them and matches nothing for the other"
    groups = [
        listed(side.group_by) if side.group_by else "the whole stream" for side in (one, other)
    ]
    return (
        f"their events are partitioned by {listed(keys[0])} alike, but results are by "
        f"{' and by '.join(groups)}"
    )
