"""Templates: a match query as an automaton whose runs are its matches (SASE++, Section 2.2).

A state says which variable the latest event is bound to; an edge, what the next event must be and
which conditions it must satisfy against what was selected before. The states are the places of
events in the pattern; where copies that `{n,m}` makes cannot be told apart by what is bound, they
are one state.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from elsinore.automata import Nfa, Symbol, Transition, ambiguity
from elsinore.errors import QuerySemanticError, Span, UnsupportedError
from elsinore.matches.aggregates import Aggregates
from elsinore.matches.conditions import Condition, Conditions
from elsinore.matches.deadlines import Deadline, deadlines_of
from elsinore.matches.registers import Register
from elsinore.matches.relations import Relation, Relations
from elsinore.matches.returns import Column, ColumnKind, returned
from elsinore.matches.uncorrelated import uncorrelated
from elsinore.model import expression as ex
from elsinore.model import pattern as pt
from elsinore.model.check import variables_named
from elsinore.model.clock import Clock
from elsinore.model.expression import Call, Duration, Expression, walk
from elsinore.model.kinds import Strategy
from elsinore.model.query import Query
from elsinore.plan.guards import (
    FREE,
    NO_WAY,
    GuardedPositions,
    Ways,
    either,
    entered_at,
    guarded_positions,
)
from elsinore.plan.modes import HIGH, LAW, Uncertainty
from elsinore.plan.predicates import contradictions, local_predicates, place_of

MOST_WINDOWS = 1_000  # that a match may lie in, with SLIDE: each gives a row of its own
_POSITIONS = {
    *(ex.Reference.NTH, ex.Reference.FROM_LAST),
    *(ex.Reference.BACK, ex.Reference.RECENT),
}
START = -1  # the source of an edge that begins a match


@dataclass(frozen=True, slots=True)
class State:
    """The latest event of a match stands here: its type, its variable, its local predicates."""

    type: str
    variable: str
    needs: frozenset[Expression]


@dataclass(frozen=True, slots=True)
class Edge:
    """An event that fits `target` may follow one in `source`, or begin a match (START).

    Some of `ways` must be free of negative matches, and none of `unless`; `relations` are those of
    NOTs in `ways`. `checks` (numbers of conditions) are looked at when the event is selected,
    `late` for this event when the match is complete.
    """

    source: int
    target: int
    ways: Ways
    checks: tuple[int, ...] = ()
    late: tuple[int, ...] = ()
    unless: Ways = NO_WAY
    relations: tuple[Relation, ...] = ()


@dataclass(frozen=True, slots=True)
class End:
    """A match may end in `state` where no negative match of some way begins after it.

    Once all `deadlines` have passed none can; if there are none, once the window has.
    """

    state: int
    ways: Ways
    relations: tuple[Relation, ...] = ()
    deadlines: tuple[Deadline, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchTemplate:
    """The automaton of a match query, or of a pattern under NOT in one; states are 0, 1, ...

    `final` are the conditions of the whole match. `duplicates`: two runs may select the same events
    for the same variables; they are one match. `computed` are attributes that events do not have,
    `uncertain` what is known of times where they are intervals, `sets` the variables whose events
    are a set then: their order does not matter (`elsinore.matches.uncorrelated`).
    """

    query: Query
    states: tuple[State, ...]
    edges: tuple[Edge, ...]
    ends: tuple[End, ...]
    conditions: tuple[Condition, ...]
    final: tuple[int, ...]
    registers: tuple[Register, ...]
    negatives: tuple[MatchTemplate, ...]
    columns: tuple[Column, ...]
    duplicates: bool
    computed: tuple[tuple[str, Expression], ...] = ()
    uncertain: Uncertainty | None = None
    sets: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    is_negative: bool = False  # whether it is of a pattern under NOT

    @property
    def strategy(self) -> Strategy:
        """The selection strategy; a pattern under NOT has any match that it can have."""
        return Strategy.ANY if self.is_negative else self.query.strategy

    @property
    def ends_with_not(self) -> bool:
        """Whether a match may end with NOT."""
        return any(any(way for way in end.ways) for end in self.ends)

    @property
    def relates_negatives(self) -> bool:
        """Whether what a NOT forbids depends on the events of the match."""
        parts: tuple[Edge | End, ...] = (*self.edges, *self.ends)
        return any(part.relations for part in parts)

    @property
    def begins_with_not(self) -> bool:
        """Whether a match may begin with NOT."""
        return any(edge.source == START and any(edge.ways - FREE) for edge in self.edges)

    @property
    def depends_on_later(self) -> bool:
        """Whether events after its last one, up to the end of the window, may break a match."""
        return self.ends_with_not or any(n.depends_on_later for n in self.negatives)

    @property
    def depends_on_earlier(self) -> bool:
        """Whether events before its first one, from the start of the window, may break a match."""
        return self.begins_with_not or any(n.depends_on_earlier for n in self.negatives)

    @property
    def depends_on_window(self) -> bool:
        """Whether what matches a pattern under NOT depends on the window of the whole match.

        It does if that pattern begins or ends with NOT itself.
        """
        return any(n.depends_on_earlier or n.depends_on_later for n in self.negatives)

    @property
    def gathers(self) -> bool:
        """Whether collapsed rows are made of matches: sets alone would not tell what these are."""
        is_any = self.query.strategy is Strategy.ANY
        return self.query.collapsed and (self.uncertain is not None or not is_any)

    @property
    def is_local(self) -> bool:
        """Whether each match is one event and is returned with it."""
        return pt.is_single(self.query.pattern) and not self.waits

    @property
    def waits(self) -> bool:
        """Whether a match is returned only when its window has passed."""
        searches_by_window = self.depends_on_window and self.query.window is not None
        is_open = self.depends_on_later or searches_by_window
        is_longest = self.query.after_match is not None
        return is_open or self.query.collapsed or self.is_unsure or is_longest

    @property
    def decides_early(self) -> bool:
        """Whether a match that waits may be returned before its window has passed."""
        query = self.query
        selects = query.collapsed or query.after_match is not None or query.suppress is not None
        numbers = any(column.kind is ColumnKind.MATCH_NUMBER for column in self.columns)
        is_plain = not (selects or numbers or self.is_negative or self.depends_on_window)
        return is_plain and self.uncertain is None and any(end.deadlines for end in self.ends)

    @property
    def deadline_ticks(self) -> tuple[int, ...]:
        """How long after an event a match that has it may become final, if it does so early."""
        ticks = {deadline.ticks for end in self.ends for deadline in end.deadlines}
        return tuple(sorted({0, *ticks})) if self.decides_early else ()

    @property
    def is_unsure(self) -> bool:
        """Whether events that a NOT forbids make a match less probable, also later ones."""
        return self.uncertain is not None and bool(self.negatives)

    @property
    def predicates(self) -> dict[str, frozenset[Expression]]:
        """The local predicates that tell events apart, by type, those of negatives included."""
        by_type: dict[str, frozenset[Expression]] = {}
        for state in self.states:
            by_type[state.type] = by_type.get(state.type, frozenset()) | state.needs
        for negative in self.negatives:
            for name, predicates in negative.predicates.items():
                by_type[name] = by_type.get(name, frozenset()) | predicates
        return by_type

    @property
    def wanted(self) -> dict[str, dict[frozenset[Expression], None]]:
        """By type, the sets of local predicates of which one must hold for a state to be taken."""
        by_type: dict[str, dict[frozenset[Expression], None]] = {}
        for template in (self, *self.negatives):
            for state in template.states:
                by_type.setdefault(state.type, {})[state.needs] = None
            if template is not self:
                for name, needs in template.wanted.items():
                    by_type.setdefault(name, {}).update(needs)
        return by_type

    @property
    def has_fine_lengths(self) -> bool:
        """Whether conditions have constant lengths of time with parts of a microsecond."""
        conditions = (node for c in self.conditions for node in walk(c.expression))
        return any(
            isinstance(node, Duration) and node.nanoseconds % 1_000 for node in conditions
        ) or any(negative.has_fine_lengths for negative in self.negatives)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that conditions, registers and columns read, each once."""
        read: dict[str, None] = {}
        for condition in self.conditions:
            read.update(dict.fromkeys(condition.attributes))
        read.update((name, None) for r in self.registers for name in r.attributes)
        for column in self.columns:
            read.update(dict.fromkeys(column.attributes))
        for negative in self.negatives:
            read.update(dict.fromkeys(negative.attributes))
        if self.uncertain is not None:
            read[HIGH] = None
            if self.uncertain.by_event:
                read[LAW] = None
        return tuple(read)


def match_template(
    query: Query,
    aggregates: Aggregates | None = None,
    attributes: tuple[str, ...] = (),
    uncertain: Uncertainty | None = None,
    clock: Clock | None = None,
) -> MatchTemplate:
    """Build the template of a match query; `aggregates` are those that the user defines.

    `attributes` are those that events have, where they are known; `uncertain` is what is known of
    times that are intervals; `clock` counts times.

    Raises QuerySemanticError for conditions that no event can be looked at for, and
    UnsupportedError for clauses that there is no engine for yet.
    """
    _refuse_unsupported(query)
    local = local_predicates(query)
    clock = clock or Clock()
    template = _template(
        query, query.pattern, local, aggregates, attributes, clock, is_negative=False
    )
    if uncertain is not None or is_uncertain(query) or query.collapsed:
        _refuse_positions(query)
    if template.relates_negatives:
        _refuse_unrelatable(template, is_uncertain=uncertain is not None or is_uncertain(query))
    if uncertain is not None or is_uncertain(query):
        _refuse_certain(query, template)
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


def is_uncertain(query: Query) -> bool:
    """Return whether a query asks how probable its matches are."""
    return query.confidence is not None or bool(confidences(query))


def confidences(query: Query) -> list[Call]:
    """Return where RETURN asks for CONFIDENCE()."""
    return [
        node
        for item in query.returns
        for node in walk(item.expression)
        if isinstance(node, Call) and node.name == "CONFIDENCE"
    ]


def _refuse_certain(query: Query, template: MatchTemplate) -> None:
    """Refuse what is not defined of uncertain times: skipping less than any event, NOT in NOT."""
    if template.strategy is not Strategy.ANY:
        raise QuerySemanticError(
            "Where times are uncertain, no event is the next one for certain: "
            f"{query.strategy.value} has no meaning there. Leave STRATEGY out.",
            span=query.places.get("STRATEGY", query.span),
            query=query.name,
        )
    for negative in template.negatives:
        if negative.negatives:
            raise UnsupportedError(
                "NOT inside of NOT is not supported where times are uncertain. Leave the inner one "
                "out, or give events exact times.",
                span=_inner_negation(query.pattern).span or query.span,
                query=query.name,
            )


def _inner_negation(pattern: pt.Pattern) -> pt.Pattern:
    """Return the first NOT that stands in another."""
    return next(
        inner
        for outer in pt.walk(pattern)
        if isinstance(outer, pt.Negation)
        for inner in pt.walk(outer.pattern)
        if isinstance(inner, pt.Negation)
    )


def _refuse_positions(query: Query) -> None:
    """Refuse events at a position where a match has no order of its own, or is one of many."""
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
    """Refuse NOTs that are related to the match where no engine heeds that."""
    query = template.query
    reason = None
    if query.collapsed:
        reason = "COLLAPSED: what this NOT forbids is different for each match of a row."
    elif is_uncertain:
        reason = "Where times are uncertain, a NOT cannot be related to other events."
    elif any(edge.unless and edge.relations for edge in template.edges):
        reason = (
            "This NOT decides which repetition an event continues: it cannot be related to others."
        )
    if reason is not None:
        parts: tuple[Edge | End, ...] = (*template.edges, *template.ends)
        relation = next(relation for part in parts for relation in part.relations)
        source = template.conditions[relation.conditions[0]].source
        raise UnsupportedError(reason, span=place_of(source), query=query.name)


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


def _refuse_uncollapsible(template: MatchTemplate) -> None:
    """Refuse to return of a row what only each of its matches has."""
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
    for call in confidences(query):
        refuse(
            "each match has a CONFIDENCE() of its own, a row has none. CONFIDENCE >= 0.5 leaves "
            "the matches that are so probable.",
            span=call.span,
        )
    later = {template.states[e.target].variable for e in template.edges if e.source != START}
    for item in query.returns:
        for leaf in ex.attributes(item.expression):
            named = set(variables_named(query.pattern, leaf.variable))
            if leaf.reference is ex.Reference.PLAIN and named & later:
                refuse(
                    f"'{leaf.variable}' stands for a set of events: return {leaf.variable}[]."
                    f"{leaf.name or 'x'}, {leaf.variable}[1].{leaf.name or 'x'} or an aggregate.",
                    span=leaf.span,
                )


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
    spots: dict[frozenset[int], int] = {}
    order: list[frozenset[int]] = []

    def enter(spot: frozenset[int]) -> int:
        if spot not in spots:
            spots[spot] = len(order)
            order.append(spot)
        return spots[spot]

    # which events a run may skip depends on every position that its assignment may stand at
    exactly = query.strategy is Strategy.NEXT and not is_negative
    moves = [
        (START, enter(entry.positions), entry)
        for entry in entered_at(positions.first.items(), sites, whole)
    ]
    onward: dict[int, list[tuple[int, Ways]]] = {}
    for (p, q), ways in sorted(positions.follow.items(), key=lambda entry: entry[0]):
        onward.setdefault(p, []).append((q, ways))
    for number, spot in enumerate(order):  # it grows while it is gone through
        steps = [step for p in sorted(spot) for step in onward.get(p, ())]
        moves += [
            (number, enter(entry.positions), entry)
            for entry in entered_at(steps, sites, whole, exactly=exactly)
        ]
    states = tuple(_state(positions, spot, local) for spot in order)
    ending_ways = {
        number: either(*ending)
        for number, spot in enumerate(order)
        if (ending := [positions.last[p] for p in spot if p in positions.last])
    }
    pairs = {(states[p].variable, states[q].variable) for p, q, _ in moves if p != START}
    conditions = Conditions(
        query, whole, frozenset(pairs), is_negative=is_negative, aggregates=aggregates
    )
    relations = Relations(query, whole, positions.negatives, conditions)
    edges = []
    for source, target, entry in moves:
        before = None if source == START else states[source].variable
        later = states[target].variable
        checks, late = conditions.of_edge(before, later)
        related = relations.of_edge(entry.ways, later, begins=source == START)
        edges.append(Edge(source, target, entry.ways, checks, late, entry.unless, related))
    ends = []
    for number, ways in ending_ways.items():
        related = relations.of_end(ways)
        deadlines = deadlines_of(ways, related, conditions.all, clock)
        ends.append(End(number, ways, related, deadlines))
    final = conditions.of_match()
    conditions.refuse_unread()
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
        duplicates=_may_repeat(states, edges, tuple(ends)),
        computed=conditions.registers.computed,
        is_negative=is_negative,
    )


def _state(
    positions: GuardedPositions, spot: frozenset[int], local: dict[str, frozenset[Expression]]
) -> State:
    event = positions.events[min(spot)]
    return State(event.type, event.variable, local[event.variable])


def _may_repeat(states: tuple[State, ...], edges: list[Edge], ends: tuple[End, ...]) -> bool:
    """Return whether two runs may bind the same events to the same variables."""
    symbols = [Symbol(state.variable) for state in states]
    moves = tuple(Transition(e.source + 1, symbols[e.target], e.target + 1) for e in edges)
    nfa = Nfa(len(states) + 1, moves, frozenset(end.state + 1 for end in ends))
    return ambiguity(nfa) is not None
