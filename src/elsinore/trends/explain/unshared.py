"""Which pairs of queries share nothing, and why: `explain` has a reason for each."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from elsinore.model.expression import Expression
from elsinore.plan import Sharing
from elsinore.plan.explain import MOST_NAMES, way_in_words
from elsinore.plan.guarded import GuardedTemplate
from elsinore.plan.paths import Path, Way
from elsinore.plan.trends import TrendUnit
from elsinore.plan.unit import Partition
from elsinore.trends.explain.shared import Shared, Units, burst_sets, lane_sets, merged_sets
from elsinore.words import listed

# what a query that is processed alone does, by its path
_WAYS = {
    "its own list of events": "keeps its own list of events",
    "an index over its own events": "keeps an index over its own events",
    "sums carried from event to event": "carries sums of its own from event to event",
    "trends built one by one": "has its trends built one by one",
}
_NEVER = "they could share, but that is switched off (sharing: never)"


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
        ('a and b with c', 'a with b')
        """
        if self.count == 1 and not self.right:
            return f"{self.left[0]} with {self.left[1]}"
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
    """Queries of a unit that share or do not share with others for equal reasons."""

    partition: Partition
    unit: TrendUnit
    first: int  # the place of one of them
    sets: frozenset[int]  # the unit's sharing groups and merged states that they are in, ...
    kept: frozenset[int]  # ... and those of them that they are in as they are to share
    names: tuple[str, ...]

    @property
    def why(self) -> Way:
        """How they are run, and why."""
        return self.unit.why[self.first]

    @property
    def template(self) -> GuardedTemplate:
        """The template of one of them."""
        return self.unit.members[self.first]


def apart(units: Units, sharing: Sharing = Sharing.DYNAMIC) -> tuple[Apart, ...]:
    """Return all pairs of queries that share nothing, by their reasons.

    Queries with the same reasons go together, so that a thousand do not take a million pairs.
    """
    by_reason: dict[str, list[Block]] = {}
    groups = [group for unit in units for group in _alike(*unit, sharing)]
    for left, right in itertools.combinations_with_replacement(groups, 2):
        block = Block(left.names, () if left is right else right.names)
        why = _why_not(left, right, sharing)
        if block.count and why is not None:
            by_reason.setdefault(why, []).append(block)
    return tuple(Apart(tuple(blocks), why) for why, blocks in by_reason.items())


def _alike(partition: Partition, unit: TrendUnit, sharing: Sharing) -> list[Alike]:
    """Return the queries of a unit, grouping those with the same reasons."""
    always = [*lane_sets(unit), *merged_sets(unit)]
    sets, kept = ([*always, *burst_sets(unit, mode)] for mode in (Sharing.DYNAMIC, sharing))
    within, still = (_sets_of(unit, several) for several in (sets, kept))
    places: dict[object, list[int]] = {}
    for query, template in enumerate(unit.members):
        reasons: object = (unit.why[query], template.loops())
        if unit.path is Path.GRAPH:
            reasons = (reasons, *map(likeness, _patterns_of(template)))
        places.setdefault((within[query], still[query], reasons), []).append(query)
    return [
        Alike(
            partition,
            unit,
            queries[0],
            within[queries[0]],
            still[queries[0]],
            tuple(unit.members[query].query.name for query in queries),
        )
        for queries in places.values()
    ]


def _sets_of(unit: TrendUnit, sets: Sequence[Shared]) -> list[frozenset[int]]:
    """Return for each query of a unit the numbers of the sets that it is in."""
    of_query: list[list[int]] = [[] for _ in unit.members]
    for number, (_, queries) in enumerate(sets):
        for query in queries:
            of_query[query].append(number)
    return list(map(frozenset, of_query))


def _why_not(left: Alike, right: Alike, sharing: Sharing) -> str | None:
    """Return why queries share nothing with others; None where they do."""
    unit = left.unit
    if left.partition != right.partition:
        return _differently_keyed(left.partition, right.partition)
    if unit is not right.unit:
        ways = ", ".join(
            f"{listed(side.names, MOST_NAMES)} by {way_in_words(side.why, len(side.names))}"
            for side in (left, right)
        )
        return f"they are processed in different ways, {ways}"
    if left.sets & right.sets:
        return _NEVER if sharing is Sharing.NEVER and not left.kept & right.kept else None
    if unit.exact:
        return "each is computed by itself, in integers of any size"
    if unit.path is Path.GRAPH:
        return f"{_each_by_itself(left, right)}; {_why_differ(left, right)}"
    if unit.path is not Path.COARSE:
        return _each_by_itself(left, right)
    common = sorted(left.template.loops() & right.template.loops())
    if not common:
        return (
            "they have no Kleene sub-pattern in common (equal states are nevertheless kept only "
            "once)"
        )
    return (
        f"in one of them the effect of a burst of {' or '.join(common)} events does not follow "
        "from their number, because some of them also lead to other states, or come from there"
    )


def _each_by_itself(*sides: Alike) -> str:
    """Return how queries are processed one by one, and why."""
    ways = dict.fromkeys(side.why for side in sides)
    methods = list(dict.fromkeys(_WAYS.get(way.method, way.method) for way in ways))
    if len(methods) == 1:
        reasons = ", and ".join(dict.fromkeys(way.reason for way in ways))
        return f"each {methods[0]}, because {reasons}"
    first, second = (f"{_WAYS.get(way.method, way.method)}, because {way.reason}" for way in ways)
    return f"one {first}; the other {second}"


def _patterns_of(template: GuardedTemplate) -> tuple[GuardedTemplate, ...]:
    """Return the templates of a query's patterns: those of both sides of AND."""
    return template.parts if template.sides > 1 else (template,)


def _why_differ(*sides: Alike) -> str:
    """Return why queries of the graph path have nothing in common, pattern by pattern of AND."""
    pairs = itertools.product(*(_patterns_of(side.template) for side in sides))
    return " and ".join(dict.fromkeys(difference(one, other) for one, other in pairs))


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


def likeness(template: GuardedTemplate) -> object:
    """Return what the reasons for which a query does not share with others depend on."""
    return (
        template.query.strategy,
        template.query.window,
        tuple((state.type, state.needs) for state in template.states),
        frozenset(
            (move.source, move.target, frozenset(move.conditions)) for move in template.moves
        ),
    )


def difference(left: GuardedTemplate, right: GuardedTemplate) -> str:
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


def _compares(template: GuardedTemplate, state: int) -> bool:
    """Return whether events in a state are repeated, or follow others on conditions."""
    return any(
        move.target == state and (move.conditions or move.source == state)
        for move in template.moves
    )


def _conditions_into(template: GuardedTemplate, state: int) -> frozenset[frozenset[Expression]]:
    """Return the conditions between an event of a state and those that it may follow."""
    return frozenset(frozenset(move.conditions) for move in template.moves if move.target == state)
