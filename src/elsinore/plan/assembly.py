"""Building the guarded template of a query, state by state from the first positions on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from elsinore.automata import Ambiguity, Nfa, Symbol, Transition, ambiguity
from elsinore.automata.nfa import closure
from elsinore.automata.positions import (
    FREE,
    NO_WAY,
    GuardedPositions,
    Ways,
    either,
    entered_at,
    guarded_positions,
)
from elsinore.errors import QuerySemanticError
from elsinore.model import pattern as pt
from elsinore.model.expression import Expression
from elsinore.model.kinds import Strategy
from elsinore.model.query import Query
from elsinore.plan.aggregates import TRENDS, Aggregation, aggregation
from elsinore.plan.between import Reading, is_local, readings
from elsinore.plan.determinized import refuse_readings
from elsinore.plan.neighbours import impossible_neighbours
from elsinore.plan.predicates import (
    contradictions,
    joined_parts,
    local_predicates,
    refuse_strangers,
    refuse_unreadable,
    wholes_of,
)
from elsinore.plan.related import related_conditions
from elsinore.plan.template import (
    START,
    End,
    Move,
    Reads,
    State,
    Template,
    side_by_side,
    with_negatives,
)

COUNT_ONLY = Aggregation((TRENDS,), (), ())

# The positions that may come right after each, with the ways between the two.
Onward = dict[int, list[tuple[int, Ways]]]


@dataclass(frozen=True, slots=True)
class _Spot:
    """Positions, and the first events (`Reading.first`) before them.

    There are several positions only where an assignment of variables does not tell them apart.
    """

    positions: frozenset[int]
    first_events: frozenset[frozenset[str]]


def guarded_template(query: Query) -> Template:
    """Build the guarded template of a trend query.

    Raises QuerySemanticError for predicates that no pair of events of one trend can be read for,
    for AND of more than two patterns, and for an aggregate over a variable of an ambiguous pattern.
    """
    placed = {whole: guarded_positions(whole) for whole in wholes_of(query.pattern)}
    related = related_conditions(query, placed)
    apart = {id(condition) for conditions in related.values() for condition in conditions}
    between = [p for p in query.where if not is_local(p) and id(p) not in apart]
    refuse_unreadable(query, between)
    local = local_predicates(query)
    for predicate in between:
        refuse_strangers(query, placed, predicate)

    live: set[str] = set()

    def build(whole: pt.Pattern, fields: Aggregation) -> Template:
        positions = placed[whole]
        read = [r for predicate in between for r in readings(query, whole, predicate) or ()]
        nfa = _automaton(positions, local)
        useful = nfa.trim()
        live.update(positions.events[state - 1].variable for state in useful - {0})
        witness = ambiguity(nfa) if useful & nfa.accepting else None
        if query.strategy is Strategy.NEXT and useful:
            useful = frozenset(range(nfa.states))  # what can never end a trend may extend a run
        if witness is not None and whole is query.pattern:
            refuse_readings(query, fields, positions.events, witness)
        negatives = tuple(
            replace(build(negative, COUNT_ONLY), related=related.get(negative.variable, ()))
            if isinstance(negative, pt.Event)
            else build(negative, COUNT_ONLY)
            for negative in positions.negatives
        )
        return _assembled(query, positions, local, read, useful, negatives, fields, witness)

    def positive(pattern: pt.Pattern) -> Template:
        template = build(pattern, fields)
        return _without_idle(template) if query.strategy is Strategy.CONTIGUOUS else template

    fields = aggregation(query)
    parts = joined_parts(query.pattern)
    if len(parts) > 2:
        raise QuerySemanticError(
            "AND counts pairs of trends: it joins two patterns. Ask for the other pairs in "
            "queries of their own.",
            span=query.pattern.span or query.span,
            query=query.name,
        )
    templates = tuple(map(positive, parts))
    warnings = contradictions(query, local, live) + impossible_neighbours(query, placed)
    return replace(
        templates[0] if len(templates) == 1 else _conjunction(*templates), warnings=warnings
    )


def _automaton(positions: GuardedPositions, local: dict[str, frozenset[Expression]]) -> Nfa:
    symbols = [Symbol(event.type, local[event.variable]) for event in positions.events]
    moves = [Transition(0, symbols[p], p + 1) for p in sorted(positions.first)]
    moves += [Transition(p + 1, symbols[q], q + 1) for p, q in sorted(positions.follow)]
    accepting = frozenset(p + 1 for p in positions.last)
    return Nfa(len(symbols) + 1, tuple(moves), accepting)


class _MoveConditions:
    """The conditions of moves and their anchors, from the readings of the predicates."""

    def __init__(self, read: Iterable[Reading], onward: Onward, variable: Sequence[str]) -> None:
        self.anchors: dict[str, None] = {}
        self._near: dict[tuple[str, str], list[Reading]] = {}
        self._far: dict[str, list[Reading]] = {}
        beyond: dict[str, frozenset[str]] = {}
        for reading in read:
            if reading.anchored and reading.earlier not in beyond:
                beyond[reading.earlier] = _beyond(reading.earlier, onward, variable)
            if reading.anchored and reading.later in beyond[reading.earlier]:
                self.anchors[reading.earlier] = None
                self._far.setdefault(reading.later, []).append(reading)
            else:
                self._near.setdefault((reading.earlier, reading.later), []).append(reading)

    def between(
        self, earlier: str, later: str, first_events: frozenset[frozenset[str]]
    ) -> tuple[Expression, ...]:
        """Return the conditions on neighbours bound to `earlier` and `later`."""
        near = self._near.get((earlier, later), ())
        return tuple(dict.fromkeys(r.condition for r in near if r.first not in first_events))

    def checks(
        self, later: str, first_events: frozenset[frozenset[str]]
    ) -> tuple[tuple[str, Expression], ...]:
        """Return the conditions, with their anchors, on an event bound to `later`."""
        far = self._far.get(later, ())
        return tuple(
            dict.fromkeys((r.earlier, r.condition) for r in far if r.first not in first_events)
        )


def _beyond(earlier: str, onward: Onward, variable: Sequence[str]) -> frozenset[str]:
    """Return the variables that come after `earlier` in a trend with others in between."""
    places = [p for p, name in enumerate(variable) if name == earlier]
    second = {r for p in places for q, _ in onward.get(p, ()) for r, _ in onward.get(q, ())}
    later = closure(second, ((p, q) for p, after in onward.items() for q, _ in after))
    return frozenset(variable[p] for p in later)


def _assembled(
    query: Query,
    positions: GuardedPositions,
    local: dict[str, frozenset[Expression]],
    read: list[Reading],
    useful: frozenset[int],
    negatives: tuple[Template, ...],
    fields: Aggregation,
    witness: Ambiguity | None,
) -> Template:
    """Walk from the first positions on; make a state of each spot that is reached."""
    variable = [event.variable for event in positions.events]
    types = {event.variable: event.type for event in positions.events}
    # a run is an assignment of variables: under NEXT it is one run that an event extends or not
    is_next = query.strategy is Strategy.NEXT
    sites = positions.sites if is_next else tuple(range(len(variable)))
    firsts = frozenset(reading.first for reading in read if reading.first)
    onward: Onward = {}
    for (p, q), ways in sorted(positions.follow.items(), key=lambda entry: entry[0]):
        if p + 1 in useful and q + 1 in useful:
            onward.setdefault(p, []).append((q, ways))
    move_conditions = _MoveConditions(read, onward, variable)
    spots: dict[_Spot, int] = {}
    order: list[_Spot] = []

    def enter(first_events: frozenset[frozenset[str]], entered: frozenset[int]) -> int:
        name = variable[next(iter(entered))]
        names = frozenset(first for first in firsts if name in first)
        spot = _Spot(entered, first_events | names)
        if spot not in spots:
            spots[spot] = len(order)
            order.append(spot)
        return spots[spot]

    first = [(p, ways) for p, ways in sorted(positions.first.items()) if p + 1 in useful]
    moves = [
        Move(START, enter(frozenset(), entry.positions), Reads(free=entry.ways))
        for entry in entered_at(first, sites, query.pattern)
    ]
    for number, spot in enumerate(order):  # it grows while it is gone through
        before = variable[next(iter(spot.positions))]
        steps = [step for p in sorted(spot.positions) for step in onward.get(p, ())]
        for entered, ways, unless in entered_at(steps, sites, query.pattern, exactly=is_next):
            later = variable[next(iter(entered))]
            reads = Reads(
                conditions=move_conditions.between(before, later, spot.first_events),
                free=ways,
                unless=unless,
                checks=move_conditions.checks(later, spot.first_events),
            )
            moves.append(Move(number, enter(spot.first_events, entered), reads))
    states = tuple(
        State(type=types[name], needs=local[name], variable=name)
        for name in (variable[next(iter(spot.positions))] for spot in order)
    )
    ends = tuple(
        End(number, either(*ending))
        for number, spot in enumerate(order)
        if (ending := [positions.last[p] for p in spot.positions if p in positions.last])
    )
    return Template(
        query=query,
        states=states,
        moves=tuple(moves),
        ends=ends,
        anchors=tuple(move_conditions.anchors),
        negatives=negatives,
        aggregation=fields,
        ambiguous=witness is not None,
    )


def _without_idle(template: Template) -> Template:
    """Remove the negatives between neighbours if neighbours have no events in between.

    >>> from elsinore.language import parse_workload
    >>> text = "QUERY q RETURN COUNT(*) PATTERN SEQ(NOT C, A, NOT D, B) STRATEGY CONTIGUOUS;"
    >>> found = guarded_template(parse_workload(text).queries[0])
    >>> [negative.states[0].type for negative in found.negatives]
    ['C']
    >>> [move.reads.free == FREE for move in found.moves]
    [False, True]
    """
    steps = [
        replace(step, reads=step.reads._replace(free=FREE))
        for step in template.steps
        if step.reads.free != NO_WAY
    ]
    at_edges = [start.reads.free for start in template.starts] + [e.ways for e in template.ends]
    numbers = sorted({number for ways in at_edges for way in ways for number in way})
    free = replace(template, moves=(*template.starts, *steps))
    return with_negatives(free, [template.negatives[number] for number in numbers])


def _conjunction(left: Template, right: Template) -> Template:
    """Put the automata of the two patterns that AND joins side by side.

    If one of them has no trends, there are no pairs, and nothing ends.
    """
    negatives = tuple(dict.fromkeys(left.negatives + right.negatives))
    both = side_by_side(with_negatives(part, negatives) for part in (left, right))
    return replace(
        both,
        ends=both.ends if left.ends and right.ends else (),
        anchors=tuple(dict.fromkeys(left.anchors + right.anchors)),
        ambiguous=True,
        parts=(left, right),
    )
