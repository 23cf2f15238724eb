"""Templates: a query's pattern as an automaton whose runs are its trends (HAMLET, Section 3.1).

An unambiguous pattern keeps its Glushkov automaton, a state per place of an event in the pattern.
An ambiguous one, by which some sequence of events could be read in two ways, is determinized, so
that every trend is counted once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from elsinore.automata import (
    Positions,
    Symbol,
    ambiguity,
    determinize,
    glushkov,
    minimize,
)
from elsinore.model.expression import Expression, Operator
from elsinore.model.pattern import Pattern
from elsinore.model.query import Query
from elsinore.plan.aggregates import Aggregation, Field, FieldKind, aggregation
from elsinore.plan.guards import FREE, NO_WAY, Ways
from elsinore.plan.predicates import contradictions, local_predicates
from elsinore.plan.readings import refuse_readings

START = -1  # the source of a transition that begins a trend


@dataclass(frozen=True, slots=True)
class Cut:
    """`previous operator current`, or with a shift `previous + shift operator current`.

    `previous` reads the earlier event only, `shift` and `current` the later one or none.
    """

    previous: Expression
    operator: Operator  # LT, LE, GT, GE or EQ
    current: Expression
    shift: Expression | None = None


class Reads(NamedTuple):
    """Which events of a transition's source an event may follow; by default all earlier ones.

    All cuts of one of `ranges` hold, if there are any, and all `conditions` between the two events.
    Between them, some way in `free` is free of negative matches, and none of `unless` is; a way
    consists of numbers of negatives (`elsinore.plan.guards`). `checks` hold between the event and
    the ANCHOR of the trend, if it has one; with `carries`, the trend keeps its anchor.
    """

    ranges: tuple[tuple[Cut, ...], ...] = ()
    conditions: tuple[Expression, ...] = ()
    free: Ways = FREE
    unless: Ways = NO_WAY
    checks: tuple[Expression, ...] = ()
    carries: bool = False

    @property
    def cuts(self) -> tuple[Cut, ...]:
        """The cuts of all ranges."""
        return tuple(cut for part in self.ranges for cut in part)

    @property
    def is_checked(self) -> bool:
        """Whether each earlier event is to be looked at by itself."""
        return bool(self.conditions or self.unless or self.checks) or self.free != FREE


ALL = Reads()


class Rows(NamedTuple):
    """How a state's events are kept one by one: in an order, or checked one by one.

    `holds_anchor`: for each event and anchor of its trends by itself; `is_anchor`: each event is
    the anchor of its trends from then on.
    """

    order: Expression | None
    is_checked: bool
    holds_anchor: bool = False
    is_anchor: bool = False


@dataclass(frozen=True, slots=True)
class Adjacent:
    """A comparison of an event with its predecessor in the trend: `current operator previous`.

    Both are names of attributes: `T[i].speed <= T[i-1].speed` is ("speed", LE, "speed").
    """

    current: str
    operator: Operator
    previous: str


@dataclass(frozen=True, slots=True)
class Transition:
    """An event of `type` takes state `target` after `source` (START: as a trend's first event).

    It must satisfy the predicates in `needs` and none of those in `lacks`. `variables` are those
    the event is bound to by it: one, or in an ambiguous pattern all it could be bound to.
    """

    source: int
    target: int
    type: str
    needs: frozenset[Expression]
    lacks: frozenset[Expression]
    variables: frozenset[str]
    adjacent: Adjacent | None = None  # what the event and the one before it must satisfy
    reads: Reads = ALL  # which events of the source it may follow

    def takes(self, type_name: str, true: frozenset[Expression]) -> bool:
        """Return whether an event of this type and truth of predicates makes the transition."""
        return self.type == type_name and self.needs <= true and not self.lacks & true


@dataclass(frozen=True, slots=True)
class Reset:
    """An event of `type` that satisfies the predicates in `needs`: it empties a state."""

    type: str
    needs: frozenset[Expression]

    @property
    def lacks(self) -> frozenset[Expression]:
        """The predicates that must not hold: none."""
        return frozenset()

    def takes(self, type_name: str, true: frozenset[Expression]) -> bool:
        """Return whether an event of this type and truth of predicates is one."""
        return self.type == type_name and self.needs <= true


@dataclass(frozen=True, slots=True)
class Template:
    """The automaton of one trend query; states are 0, 1, ...

    Trends in a state with `resets` are those since the latest such event of an earlier time. A
    state in `seeds` holds one empty trend from a window's start: what may follow it begins trends.
    Under AND there are `sides`: the states in which trends of the one pattern, of the other, and of
    both may end (`elsinore.plan.conjoined`). States with `rows` keep their events one by one. If a
    state has `closing`, one of these ways must be free after the trends that end in it.
    """

    query: Query
    states: int
    labels: tuple[str, ...]  # [state] -> the types and variables of events that end there
    transitions: tuple[Transition, ...]
    accepting: frozenset[int]
    aggregation: Aggregation
    determinized: bool
    warnings: tuple[str, ...] = ()
    resets: tuple[frozenset[Reset], ...] = ()  # [state], or nothing where no state has any
    seeds: frozenset[int] = frozenset()
    sides: tuple[frozenset[int], ...] = ()
    rows: tuple[Rows | None, ...] = ()  # [state], or nothing where no state has any
    closing: tuple[Ways, ...] = ()  # likewise

    @property
    def predicates(self) -> dict[str, frozenset[Expression]]:
        """The local predicates that tell events apart, by type."""
        by_type: dict[str, frozenset[Expression]] = {}
        for move in self.transitions:
            known = by_type.setdefault(move.type, move.needs)
            if move.lacks or move.needs is not known:
                by_type[move.type] = known | move.needs | move.lacks
        for reset in (reset for resets in self.resets for reset in resets):
            by_type[reset.type] = by_type.get(reset.type, frozenset()) | reset.needs
        return by_type

    def reset_by(self, state: int) -> frozenset[Reset]:
        """Return the events that empty a state."""
        return self.resets[state] if self.resets else frozenset()

    def rows_of(self, state: int) -> Rows | None:
        """Return how the events of a state are kept one by one, if they are."""
        return self.rows[state] if self.rows else None

    def closing_of(self, state: int) -> Ways:
        """Return the ways of which one must be free after trends that end in a state."""
        return self.closing[state] if self.closing else FREE

    def moves(self, type_name: str, true: frozenset[Expression]) -> tuple[Transition, ...]:
        """Return the transitions that an event of this type and truth of predicates makes."""
        return tuple(move for move in self.transitions if move.takes(type_name, true))

    def neighbours(self) -> frozenset[tuple[str | None, str]]:
        """Return the pairs of types that may be neighbours; None before those that begin."""
        types: dict[int, set[str | None]] = {state: {None} for state in (START, *self.seeds)}
        for move in self.transitions:
            types.setdefault(move.target, set()).add(move.type)
        return frozenset(
            (before, move.type)
            for move in self.transitions
            for before in types.get(move.source, set())
        )

    def start_types(self) -> frozenset[str]:
        """Return the types that begin trends: start(q) in the paper."""
        return frozenset(move.type for move in self.transitions if self.begins(move))

    def begins(self, move: Transition) -> bool:
        """Return whether an event that makes the transition is a trend's first."""
        return move.source == START or move.source in self.seeds

    def end_types(self) -> frozenset[str]:
        """Return the types that end trends: end(q) in the paper."""
        return frozenset(move.type for move in self.transitions if move.target in self.accepting)

    def predecessor_types(self, type_name: str) -> frozenset[str]:
        """Return the types that may stand before `type_name` in a trend: pt(E, q) in the paper."""
        sources = {move.source for move in self.transitions if move.type == type_name}
        return frozenset(move.type for move in self.transitions if move.target in sources)


def contributes(field: Field, move: Transition) -> bool:
    """Return whether an event adds to a field when it makes a transition."""
    if field.kind is FieldKind.BEGINNING:
        return move.source == START
    return field.kind is not FieldKind.TRENDS and bool(move.variables & field.variables)


def template(query: Query, whole: Pattern | None = None) -> Template:
    """Build the template of a trend query that has neither NOT nor AND nor another strategy.

    whole: one of the patterns that AND joins, where the template is to be of that alone.
    Predicates between events are left out (`elsinore.plan.paths` puts them back where it may).
    Raises QuerySemanticError for an aggregate over a variable of an ambiguous pattern, with the
    two readings.
    """
    local = local_predicates(query)
    positions = glushkov(
        whole or query.pattern, lambda event: Symbol(event.type, local[event.variable])
    )
    fields = aggregation(query)
    witness = ambiguity(positions.nfa)
    useful = positions.nfa.trim()
    if witness is None:
        built = _from_positions(query, positions, useful, fields)
    else:
        refuse_readings(query, fields, positions.events, witness)
        built = _from_letters(query, positions, fields)
    live = {positions.events[state - 1].variable for state in useful - {0}}
    return replace(built, warnings=contradictions(query, local, live))


def _from_positions(
    query: Query, positions: Positions, useful: frozenset[int], fields: Aggregation
) -> Template:
    """Take the useful states of the position automaton as they are: each trend has one run."""
    number = {state: place for place, state in enumerate(sorted(useful - {0}))}
    events = [positions.events[state - 1] for state in number]
    transitions = tuple(
        Transition(
            START if move.source == 0 else number[move.source],
            number[move.target],
            move.symbol.type,
            move.symbol.predicates,
            frozenset(),
            frozenset({positions.events[move.target - 1].variable}),
        )
        for move in positions.nfa.transitions
        if move.source in useful and move.target in useful
    )
    return Template(
        query=query,
        states=len(number),
        labels=tuple(label(event.type, event.variable) for event in events),
        transitions=transitions,
        accepting=frozenset(number[state] for state in positions.nfa.accepting & useful),
        aggregation=fields,
        determinized=False,
    )


def _from_letters(query: Query, positions: Positions, fields: Aggregation) -> Template:
    """Determinize, so that each trend has one run; an event is then bound to all it could be."""
    dfa = minimize(determinize(positions.nfa))
    needed: dict[str, frozenset[Expression]] = {}
    bound: dict[str, frozenset[str]] = {}
    for move in positions.nfa.transitions:
        name = move.symbol.type
        needed[name] = needed.get(name, frozenset()) | move.symbol.predicates
        variable = positions.events[move.target - 1].variable
        bound[name] = bound.get(name, frozenset()) | {variable}
    returned_to = any(target == 0 for target in dfa.moves.values())
    states = list(range(dfa.states)) if returned_to else list(range(1, dfa.states))
    number = {state: place for place, state in enumerate(states)}
    transitions: list[Transition] = []
    labels: dict[int, set[str]] = {}
    for (source, letter), target in dfa.moves.items():
        target_labels = (
            number[target],
            letter.type,
            letter.true,
            needed[letter.type] - letter.true,
        )
        labels.setdefault(number[target], set()).add(letter.type)
        if source == 0:
            transitions.append(Transition(START, *target_labels, bound[letter.type]))
        if source in number:
            transitions.append(Transition(number[source], *target_labels, bound[letter.type]))
    return Template(
        query=query,
        states=len(states),
        labels=tuple(" or ".join(sorted(labels.get(place, set()))) for place in range(len(states))),
        transitions=tuple(transitions),
        accepting=frozenset(number[state] for state in dfa.accepting),
        aggregation=fields,
        determinized=True,
    )


def label(type_name: str, variable: str) -> str:
    """Return what events are called that end in a state: `Travel T`, or `Travel` for both."""
    return type_name if variable == type_name else f"{type_name} {variable}"
