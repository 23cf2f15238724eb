"""Sharing sets: which queries may share which Kleene sub-pattern (HAMLET, Definitions 4 and 5).

A Kleene sub-pattern E+ that occurs in several queries may be shared by those of them that compare
an E event with the one before in the same way and whose aggregates go together: COUNT(*) with
COUNT(*); COUNT(E), SUM and AVG with one another; MIN and MAX with the same MIN and MAX. Grouping is
the same within a unit; its windows overlap all, pane by pane. Local predicates on E hinder nobody:
where an event is taken by some queries and not by others it becomes a snapshot (Definition 9).

Where comparisons differ, an event whose predecessors are not the same for all would be a snapshot
too. The engine shares so where it is to share always. But predecessors are found by an index, one
for each comparison: for b events, c comparisons and s snapshots one graph looks up b * c * s
numbers, and a graph for each the sum of b * s_i over them, where no s_i is above s, as a snapshot
of one of them is one of the whole. What one graph saves is the beginning of a burst, once instead
of c times. So it never pays by more than that, and there is nothing to decide burst by burst.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from elsinore.model.kinds import Strategy
from elsinore.plan.aggregates import Aggregation, FieldKind
from elsinore.plan.template import START, Adjacent, Template, Transition


@dataclass(frozen=True, slots=True)
class Aggregated:
    """What of a query's aggregates decides with whom it may share."""

    sums: bool  # whether it adds up more than its trends
    extremes: frozenset[tuple[FieldKind, str | None]]

    @property
    def counts(self) -> bool:
        """Whether it is the number of trends alone."""
        return not (self.sums or self.extremes)


@dataclass(frozen=True, slots=True)
class SharingSet:
    """States with a loop of events of `type`, which may share the sub-pattern `type`+.

    They compare an event with the one before in one way, or in any of several `conditions`. Those
    of one group have equal local predicates: they take the same events.
    """

    type: str
    conditions: tuple[Adjacent | None, ...]
    members: tuple[tuple[int, int], ...]  # query, by number in what was asked about, and state
    groups: tuple[int, ...]  # of each member

    @property
    def queries(self) -> tuple[int, ...]:
        """The queries whose states they are."""
        return tuple(dict.fromkeys([query for query, _ in self.members]))

    @property
    def name(self) -> str:
        """The sub-pattern, such as Travel+, with how it compares an event with the one before."""
        how = self.conditions[0]
        if how is None or len(self.conditions) > 1:
            return f"{self.type}+"
        return f"{self.type}+ [i].{how.current} {how.operator.value} [i-1].{how.previous}"


def aggregated(aggregation: Aggregation) -> Aggregated:
    """Return what decides with whom a query of these aggregates may share."""
    extremes = frozenset((entry.kind, entry.attribute) for entry in aggregation.extremes)
    return Aggregated(len(aggregation.linear) > 1, extremes)


def loops(template: Template) -> dict[str, set[Adjacent | None]]:
    """Return E of each sub-pattern E+ of a query, with how neighbours of type E are compared.

    >>> from elsinore.language import parse_workload
    >>> from elsinore.plan.template import template
    >>> text = "QUERY q RETURN COUNT(*) PATTERN SEQ(A a, B b+);"
    >>> loops(template(parse_workload(text).queries[0]))
    {'B': {None}}
    """
    by_type: dict[str, set[Adjacent | None]] = {}
    for move in template.transitions:
        if move.source == move.target:
            by_type.setdefault(move.type, set()).add(move.adjacent)
    return by_type


def obstacle(template: Template) -> str | None:
    """Return why the shared graph cannot run a template; None where it can.

    While events of type E come, what a state with a loop of E adds to what went before must not
    change: no other state that the same events take may stand right before it.
    """
    if template.query.strategy is not Strategy.ANY:
        return f"{template.query.strategy.value} restricts which events may be skipped"
    if template.determinized:
        return "the pattern is ambiguous"
    types: dict[int, set[str]] = {}
    for move in template.transitions:
        types.setdefault(move.target, set()).add(move.type)
    looping = {
        move.target: move.type for move in template.transitions if move.source == move.target
    }
    for move in template.transitions:
        if move.adjacent is not None and move.source != move.target:
            return "conditions between events concern variables that are not repeated"
        loop = looping.get(move.target)
        if loop and move.source not in {START, move.target} and loop in types[move.source]:
            return f"{loop} events follow {loop} events of another state"
    return None


def sharing_sets(templates: Sequence[Template], *, mixed: bool = False) -> tuple[SharingSet, ...]:
    """Return the sharing sets of at least two queries of a unit, in order of types and queries.

    mixed: see `loop_sets`.
    """
    shared = [
        loop_set for loop_set in loop_sets(templates, mixed=mixed) if len(loop_set.queries) > 1
    ]
    return tuple(sorted(shared, key=lambda loop_set: (loop_set.type, loop_set.queries)))


def loop_sets(templates: Sequence[Template], *, mixed: bool = False) -> list[SharingSet]:
    """Put all states with a loop into sets that may share, which may be of a single one.

    mixed: those that compare events in different ways too, by snapshots at events (HAMLET,
    Definition 9).
    """
    by_key: dict[object, dict[tuple[int, int], Transition]] = {}
    for query, template in enumerate(templates):
        kind = aggregated(template.aggregation)
        for move in sorted(template.transitions, key=lambda move: move.target):
            if move.source == move.target:
                key = move.type, None if mixed else move.adjacent, kind
                by_key.setdefault(key, {})[query, move.target] = move
    return [_set_of(loops) for loops in by_key.values()]


def _set_of(loops: Mapping[tuple[int, int], Transition]) -> SharingSet:
    """Return the set of some states, given with their loops."""
    moves = list(loops.values())
    taken = [(move.needs, move.lacks) for move in moves]
    numbers = {conditions: number for number, conditions in enumerate(dict.fromkeys(taken))}
    return SharingSet(
        type=moves[0].type,
        conditions=tuple(dict.fromkeys([move.adjacent for move in moves])),
        members=tuple(loops),
        groups=tuple([numbers[conditions] for conditions in taken]),
    )


def why_not(left: Template, right: Template, *, mixed: bool = False) -> str | None:
    """Return why two queries of a unit share no sub-pattern; None where they do.

    mixed: by snapshots at events they may, whether or not they compare events in one way.
    """
    here, there = loops(left), loops(right)
    common = here.keys() & there.keys()
    if not common:
        return "they have no Kleene sub-pattern in common"
    if not mixed and not any(here[name] & there[name] for name in common):
        return (
            f"they compare {' or '.join(sorted(common))} events with preceding ones in different "
            "ways, and a common graph would need as many look-ups as separate graphs"
        )
    kind, other_kind = aggregated(left.aggregation), aggregated(right.aggregation)
    if kind.sums != other_kind.sums:
        return "one computes sums or numbers of events, the other does not"
    if kind.extremes != other_kind.extremes:
        return "their MIN and MAX differ"
    return None
