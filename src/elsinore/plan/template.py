"""Templates: a query's pattern as an automaton whose runs are its trends (HAMLET, Section 3.1).

An unambiguous pattern keeps its Glushkov automaton, a state per place of an event in the pattern.
An ambiguous one, by which some sequence of events could be read in two ways, is determinized, so
that every trend is counted once.
"""

from __future__ import annotations

from dataclasses import dataclass

from elsinore.automata import Symbol, glushkov
from elsinore.errors import QuerySemanticError, UnsupportedError
from elsinore.model import pattern as pt
from elsinore.model.expression import Expression
from elsinore.model.kinds import Kind, Strategy
from elsinore.model.query import Query
from elsinore.plan.aggregates import Aggregation, Field, FieldKind, aggregation
from elsinore.plan.predicates import local_predicates

START = -1  # the source of a transition that begins a trend


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

    def takes(self, type_name: str, true: frozenset[Expression]) -> bool:
        """Return whether an event of this type and truth of predicates makes the transition."""
        return self.type == type_name and self.needs <= true and not self.lacks & true


@dataclass(frozen=True, slots=True)
class Template:
    """The automaton of one trend query; states are 0, 1, ..."""

    query: Query
    states: int
    labels: tuple[str, ...]  # [state] -> the types and variables of events that end there
    transitions: tuple[Transition, ...]
    accepting: frozenset[int]
    aggregation: Aggregation
    determinized: bool

    @property
    def predicates(self) -> dict[str, frozenset[Expression]]:
        """The local predicates that tell events apart, by type."""
        found: dict[str, frozenset[Expression]] = {}
        for transition in self.transitions:
            known = found.get(transition.type, frozenset())
            found[transition.type] = known | transition.needs | transition.lacks
        return found

    def moves(self, type_name: str, true: frozenset[Expression]) -> tuple[Transition, ...]:
        """Return the transitions that an event of this type and truth of predicates makes."""
        return tuple(move for move in self.transitions if move.takes(type_name, true))

    def start_types(self) -> frozenset[str]:
        """Return the types that begin trends: start(q) in the paper."""
        return frozenset(move.type for move in self.transitions if move.source == START)

    def end_types(self) -> frozenset[str]:
        """Return the types that end trends: end(q) in the paper."""
        return frozenset(move.type for move in self.transitions if move.target in self.accepting)

    def predecessor_types(self, type_name: str) -> frozenset[str]:
        """Return the types that may stand before `type_name` in a trend: pt(E, q) in the paper."""
        sources = {move.source for move in self.transitions if move.type == type_name}
        return frozenset(move.type for move in self.transitions if move.target in sources)


def contributes(field: Field, move: Transition) -> bool:
    """Return whether an event adds to a field when it makes a transition."""
    return field.kind is not FieldKind.TRENDS and bool(move.variables & field.variables)


def template(query: Query) -> Template:
    """Build the template of a trend query.

    Raises UnsupportedError for clauses whose engine does not exist yet and QuerySemanticError for
    an aggregate over a variable of an ambiguous pattern, with the two readings.
    """
    _refuse_unsupported(query)
    local = local_predicates(query)
    positions = glushkov(
        query.pattern, lambda event: Symbol(event.type, local[event.variable])
    )
    fields = aggregation(query)
    moves=[]
    for p,(e,sy) in enumerate(zip(positions.events, positions.symbols)):
        if p in positions.first: moves.append(Transition(START,p,e.type,sy.predicates,frozenset(),frozenset((e.variable,))))
    for a,b in sorted(positions.follow):
        e=positions.events[b]
        moves.append(Transition(a,b,e.type,positions.symbols[b].predicates,frozenset(),frozenset((e.variable,))))
    return Template(query,len(positions.events),tuple(e.type for e in positions.events),tuple(moves),positions.last,fields,False)


def _refuse_unsupported(query):
    pass
