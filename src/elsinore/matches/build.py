"""Builds the template of a match query, and refuses what no engine evaluates.

The states are the positions of events in the pattern. Copies of a position that `{n,m}` makes are
one state if they bind the same variable and are followed by the same positions.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

from elsinore.automata import Nfa, Symbol, Transition, ambiguity
from elsinore.automata.positions import (
    GuardedPositions,
    Ways,
    either,
    entered_at,
    guarded_positions,
)
from elsinore.errors import QuerySemanticError, Span, UnsupportedError
from elsinore.matches.aggregates import Aggregates, no_function
from elsinore.matches.conditions import INDEXED, LATE, RANGES, Conditions
from elsinore.matches.dependence import uncorrelated
from elsinore.matches.registers import over
from elsinore.matches.relations import Relations, deadlines_of
from elsinore.matches.returns import returned
from elsinore.matches.template import START, Edge, End, MatchTemplate, State
from elsinore.model import expression as ex
from elsinore.model import pattern as pt
from elsinore.model.check import variables_named
from elsinore.model.clock import Clock
from elsinore.model.expression import Call, Expression, Reference
from elsinore.model.kinds import Strategy
from elsinore.model.query import Query
from elsinore.plan.modes import Uncertainty
from elsinore.plan.predicates import (
    contradictions,
    like_between_events,
    local_predicates,
    place_of,
)

MOST_WINDOWS = 1_000  # with SLIDE, that may contain a match: each has a row of its own
_POSITIONS = {Reference.NTH, Reference.FROM_LAST, Reference.BACK, Reference.RECENT}


def match_template(
    query: Query,
    aggregates: Aggregates | None = None,
    attributes: tuple[str, ...] = (),
    uncertain: Uncertainty | None = None,
    clock: Clock | None = None,
) -> MatchTemplate:
    """Build the template of a match query; `aggregates` are those that the user defines.

    `attributes` are those of events, if known; `uncertain` describes times that are intervals;
    `clock` counts times.

    Raises QuerySemanticError for conditions that apply to no event, and UnsupportedError for
    clauses that no engine evaluates.
    """
    _refuse_unsupported(query)
    local = local_predicates(query)
    template = _template(
        query, query.pattern, local, aggregates, attributes, clock or Clock(), is_negative=False
    )
    is_uncertain = uncertain is not None or query.confidence is not None
    is_uncertain = is_uncertain or any(_confidences(query))
    if is_uncertain or query.collapsed:
        _refuse_positions(query)
    if template.relates_negatives:
        _refuse_unrelatable(template, is_uncertain=is_uncertain)
    if is_uncertain:
        _refuse_certain(template)
    if query.collapsed:
        _refuse_uncollapsible(template)
    if template.depends_on_window and (query.after_match or query.suppress):
        clause = "AFTER MATCH" if query.after_match else "SUPPRESS"
        raise UnsupportedError(
            f"{clause} is not supported beside a pattern under NOT that begins or ends with NOT "
            "itself. Put the inner NOT between two events.",
            span=query.places.get(clause, query.span),
            query=query.name,
        )
    warnings = contradictions(query, local, ())
    sets = uncorrelated(query) if uncertain is not None and uncertain.sets else ()
    return replace(template, warnings=warnings, uncertain=uncertain, sets=sets)


def _template(
    query: Query,
    whole: pt.Pattern,
    local: dict[str, frozenset[Expression]],
    aggregates: Aggregates | None,
    attributes: tuple[str, ...],
    clock: Clock,
    *,
    is_negative: bool,
) -> MatchTemplate:
    positions = guarded_positions(whole)
    sites = positions.sites
    numbers: dict[frozenset[int], int] = {}  # of states, by their positions
    order: list[frozenset[int]] = []

    def enter(state: frozenset[int]) -> int:
        if state not in numbers:
            numbers[state] = len(order)
            order.append(state)
        return numbers[state]

    # which events a run may skip depends on every position that it may be at
    exactly = query.strategy is Strategy.NEXT and not is_negative
    moves = [
        (START, enter(entry.positions), entry)
        for entry in entered_at(positions.first.items(), sites, whole)
    ]
    onward = _onward(positions)
    for number, state in enumerate(order):  # `enter` appends to it
        steps = [step for p in sorted(state) for step in onward.get(p, ())]
        moves += [
            (number, enter(entry.positions), entry)
            for entry in entered_at(steps, sites, whole, exactly=exactly)
        ]
    events = [positions.events[min(state)] for state in order]
    states = tuple(State(event.type, event.variable, local[event.variable]) for event in events)
    ending_ways = {
        number: either(*ending)
        for number, state in enumerate(order)
        if (ending := [positions.last[p] for p in state if p in positions.last])
    }
    pairs = {(states[p].variable, states[q].variable) for p, q, _ in moves if p != START}
    conditions = Conditions(query, whole, frozenset(pairs), aggregates)
    if is_negative:
        _refuse_prefixes(query, conditions)
    for predicate in conditions.predicates:
        _refuse_unreadable(query, conditions, predicate)
    relations = Relations(query, whole, positions.negatives, conditions)
    edges = []
    for source, target, entry in moves:
        before = None if source == START else states[source].variable
        later = states[target].variable
        checks, late = conditions.of_edge(before, later)
        related = relations.before(entry.ways, later, begins=source == START)
        edges.append(Edge(source, target, entry.ways, checks, late, entry.unless, related))
    ends = []
    for number, ways in ending_ways.items():
        related = relations.before(ways, None)
        deadlines = deadlines_of(ways, related, conditions.all, clock)
        ends.append(End(number, ways, related, deadlines))
    final = conditions.of_match()
    conditions.refuse_unapplied()
    columns = () if is_negative else returned(query, conditions.registers, attributes)
    return MatchTemplate(
        query=query,
        states=states,
        edges=tuple(edges),
        ends=tuple(ends),
        conditions=conditions.all,
        final=final,
        registers=conditions.registers.all,
        negatives=tuple(
            _template(query, negative, local, aggregates, (), clock, is_negative=True)
            for negative in positions.negatives
        ),
        columns=columns,
        duplicates=_has_duplicates(states, edges, ends),
        computed=conditions.registers.computed,
        is_negative=is_negative,
    )


def _onward(positions: GuardedPositions) -> dict[int, list[tuple[int, Ways]]]:
    """Return the positions that follow each position, and in which ways."""
    onward: dict[int, list[tuple[int, Ways]]] = {}
    for (p, q), ways in sorted(positions.follow.items(), key=lambda entry: entry[0]):
        onward.setdefault(p, []).append((q, ways))
    return onward


def _has_duplicates(states: tuple[State, ...], edges: list[Edge], ends: list[End]) -> bool:
    """Return whether two runs may bind the same events to the same variables."""
    symbols = [Symbol(state.variable) for state in states]
    moves = tuple(Transition(e.source + 1, symbols[e.target], e.target + 1) for e in edges)
    nfa = Nfa(len(states) + 1, moves, frozenset(end.state + 1 for end in ends))
    return ambiguity(nfa) is not None


# --- refusals


def _confidences(query: Query) -> Iterator[Call]:
    """Yield the calls of CONFIDENCE() in RETURN."""
    for item in query.returns:
        for node in ex.walk(item.expression):
            if isinstance(node, Call) and node.name == "CONFIDENCE":
                yield node


def _inner_negation(pattern: pt.Pattern) -> pt.Pattern:
    """Return the first NOT inside of another."""
    return next(
        inner
        for outer in pt.walk(pattern)
        if isinstance(outer, pt.Negation)
        for inner in pt.walk(outer.pattern)
        if isinstance(inner, pt.Negation)
    )


def _refuse_unsupported(query: Query) -> None:
    if isinstance(query.pattern, pt.Conjunction):
        raise QuerySemanticError(
            "AND counts pairs of trends; a match is of one pattern. Ask for the matches of each of "
            "its patterns in a query of its own.",
            span=query.pattern.span or query.span,
            query=query.name,
        )
    window = query.window
    if window is not None and window.slide is not None and window.overlap > MOST_WINDOWS:
        raise QuerySemanticError(
            f"Each match would be returned for up to {window.overlap:,} windows, with a row for "
            f"each; up to {MOST_WINDOWS:,} are. Leave SLIDE out: a window that is relative to the "
            "match returns it once. Or make SLIDE longer.",
            span=query.places.get("SLIDE", window.span or query.span),
            query=query.name,
        )


def _refuse_prefixes(query: Query, conditions: Conditions) -> None:
    """Refuse conditions under NOT that read more than one event or neighbours."""
    for predicate in conditions.predicates:
        for leaf in ex.attributes(predicate):
            if leaf.reference in LATE | INDEXED - {Reference.CURRENT, Reference.PREVIOUS}:
                raise QuerySemanticError(
                    f"'{leaf.variable}' stands under NOT: conditions there are about one "
                    "event or neighbours, not about aggregates of what was selected so far.",
                    span=leaf.span or place_of(predicate),
                    query=query.name,
                )


def _refuse_unreadable(query: Query, conditions: Conditions, predicate: Expression) -> None:
    """Refuse a condition between events if an operand has no value when it is evaluated."""
    leaves = ex.attributes(predicate)
    aggregated: set[int] = set()
    for node in ex.walk(predicate):
        if isinstance(node, ex.Like):
            raise like_between_events(query, predicate, node)
        if not isinstance(node, Call) or node.name in ex.BETWEEN_EVENTS:
            continue
        problem: object = over(node)
        if not conditions.is_aggregate(node.name):
            problem = no_function(node.name, conditions.registers.aggregates)
        if isinstance(problem, str):
            raise QuerySemanticError(problem, span=node.span, query=query.name)
        aggregated.update(id(leaf) for leaf in ex.attributes(node))
    for leaf in leaves:
        if leaf.reference in RANGES and id(leaf) not in aggregated:
            raise QuerySemanticError(
                f"'{leaf.variable}{leaf.index}' stands for several events: "
                "say what of them is compared, as in MAX(b[].x).",
                span=leaf.span,
                query=query.name,
            )
    for indexed, other in itertools.product(leaves, leaves):
        if (
            indexed.reference in INDEXED
            and other.reference not in LATE
            and other.variable != indexed.variable
            and conditions.is_always_later(other.variable, indexed.variable)
        ):
            name = indexed.variable
            raise QuerySemanticError(
                f"'{other.variable}' is not bound yet when {name}[i] is taken: it comes later in "
                f"the pattern. Compare it with {name}[{name}.LEN], or with an aggregate such as "
                f"MAX({name}[].x).",
                span=other.span or place_of(predicate),
                query=query.name,
            )


def _refuse_certain(template: MatchTemplate) -> None:
    """Refuse what is undefined if times are uncertain: NEXT and CONTIGUOUS, NOT in NOT."""
    query = template.query
    if template.strategy is not Strategy.ANY:
        raise QuerySemanticError(
            "Where times are uncertain, no event is the next one for certain: "
            f"{query.strategy.value} has no meaning there. Leave STRATEGY out.",
            span=query.places.get("STRATEGY", query.span),
            query=query.name,
        )
    if any(negative.negatives for negative in template.negatives):
        raise UnsupportedError(
            "NOT inside of NOT is not supported where times are uncertain. Leave the inner one "
            "out, or give events exact times.",
            span=_inner_negation(query.pattern).span or query.span,
            query=query.name,
        )


def _refuse_positions(query: Query) -> None:
    """Refuse events at a position if a match has no fixed order, or is one of many in a row."""
    for expression in query.expressions:
        for leaf in ex.attributes(expression):
            if leaf.reference in _POSITIONS:
                why = "in COLLAPSED" if query.collapsed else "where times are uncertain"
                raise UnsupportedError(
                    f"'{leaf.variable}{leaf.index}': positions are not supported {why}. Use "
                    f"{leaf.variable}[1] or {leaf.variable}[{leaf.variable}.LEN].",
                    span=leaf.span or query.span,
                    query=query.name,
                )


def _refuse_unrelatable(template: MatchTemplate, *, is_uncertain: bool) -> None:
    """Refuse a NOT with relations to the match if no engine evaluates them."""
    query = template.query
    if query.collapsed:
        reason = "COLLAPSED: what this NOT forbids is different for each match of a row."
    elif is_uncertain:
        reason = "Where times are uncertain, a NOT cannot be related to other events."
    elif any(edge.unless and edge.relations for edge in template.edges):
        reason = (
            "This NOT decides which repetition an event continues: it cannot be related to others."
        )
    else:
        return
    parts: tuple[Edge | End, ...] = (*template.edges, *template.ends)
    relation = next(relation for part in parts for relation in part.relations)
    source = template.conditions[relation.conditions[0]].source
    raise UnsupportedError(reason, span=place_of(source), query=query.name)


def _refuse_uncollapsible(template: MatchTemplate) -> None:
    """Refuse columns of rows in collapsed form that differ between the matches of a row."""
    query = template.query

    def refuse(message: str, span: Span | None = None) -> None:
        where = span or query.places.get("COLLAPSED", query.span)
        raise UnsupportedError(f"COLLAPSED: {message}", span=where, query=query.name)

    if template.depends_on_window:
        refuse(
            "a pattern under NOT that begins or ends with NOT itself is judged match by match, and "
            "a row has many. Put the inner NOT between two events.",
            span=_inner_negation(query.pattern).span,
        )
    for call in _confidences(query):
        refuse(
            "each match has a CONFIDENCE() of its own, a row has none. CONFIDENCE >= 0.5 leaves "
            "the matches that are so probable.",
            span=call.span,
        )
    later = {template.states[e.target].variable for e in template.edges if e.source != START}
    for item in query.returns:
        for leaf in ex.attributes(item.expression):
            named = set(variables_named(query.pattern, leaf.variable))
            if leaf.reference is Reference.PLAIN and named & later:
                refuse(
                    f"'{leaf.variable}' stands for a set of events: return {leaf.variable}[]."
                    f"{leaf.name or 'x'}, {leaf.variable}[1].{leaf.name or 'x'} or an aggregate.",
                    span=leaf.span,
                )
