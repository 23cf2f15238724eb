"""Guarded templates: the automaton of a query's pattern, with the conditions of its clauses.

Moves may require predicates between two events and the absence of negative matches in between, and
ends likewise (HAMLET, Sections 3.1 and 5). The engine runs templates without guards
(`elsinore.plan.template`), which `elsinore.plan.stored` makes of these.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from elsinore.automata.positions import NO_WAY, Ways
from elsinore.model import expression as ex
from elsinore.model.expression import Expression
from elsinore.model.kinds import Strategy
from elsinore.model.query import Query
from elsinore.plan.aggregates import Aggregation


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """The events of a type that satisfy the predicates in `needs` and none of those in `lacks`."""

    type: str
    needs: frozenset[Expression]
    lacks: frozenset[Expression] = frozenset()

    def takes(self, type_name: str, true: frozenset[Expression]) -> bool:
        """Return whether an event of this type and truth of predicates is one of them."""
        return self.type == type_name and self.needs <= true and self.lacks.isdisjoint(true)


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedState(Events):
    """The last event of a trend stands here, bound to `variable`."""

    variable: str


@dataclass(frozen=True, slots=True)
class Start:
    """A trend may begin in `target` where no negative match of some way ended before."""

    target: int
    ways: Ways


@dataclass(frozen=True, slots=True)
class Move:
    """An event that fits state `target` may follow one in state `source`.

    All of `conditions` must hold between the two, all of `checks` (anchor, condition) between the
    anchor's event, if the trend has one, and the later event. Some of `ways` must be free of
    negative matches that lie strictly between, and none of `unless`.
    """

    source: int
    target: int
    ways: Ways
    conditions: tuple[Expression, ...] = ()
    checks: tuple[tuple[str, Expression], ...] = ()
    unless: Ways = NO_WAY


@dataclass(frozen=True, slots=True)
class End:
    """A trend may end in `source` where no negative match of some way begins after it.

    `side` tells the patterns apart that AND joins.
    """

    source: int
    ways: Ways
    side: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedTemplate:
    """The automaton of a pattern with its guards; states are 0, 1, ...

    Conditions read their attributes from two events, `PREVIOUS` and `CURRENT` of
    `elsinore.plan.between`. `anchors` are variables whose event later ones are compared with: the
    trend remembers it.
    `negatives` are the patterns under NOT, each with `sides` 1 and no aggregates of its own. One of
    a single event may have conditions that relate it to the events around the gap (`related`), by
    their variables. Under AND there are two sides, and `parts` are the templates of its patterns.
    """

    query: Query
    states: tuple[GuardedState, ...]
    starts: tuple[Start, ...]
    moves: tuple[Move, ...]
    ends: tuple[End, ...]
    anchors: tuple[str, ...]
    negatives: tuple[GuardedTemplate, ...]
    aggregation: Aggregation
    sides: int
    ambiguous: bool  # whether some sequence of events may have two runs
    related: tuple[Expression, ...] = ()
    warnings: tuple[str, ...] = ()
    parts: tuple[GuardedTemplate, ...] = field(default=(), compare=False, repr=False)

    @property
    def accepting(self) -> frozenset[int]:
        """The states in which a trend may end."""
        return frozenset(end.source for end in self.ends)

    @property
    def conditions(self) -> tuple[Expression, ...]:
        """The conditions of its moves, each once."""
        conditions: dict[Expression, None] = {}
        for move in self.moves:
            conditions |= dict.fromkeys((*move.conditions, *(check for _, check in move.checks)))
        return tuple(conditions)

    @property
    def negatives_at_any_depth(self) -> list[GuardedTemplate]:
        """The templates under NOT, and those under NOT in them."""
        negatives = list(self.negatives)
        for negative in self.negatives:
            negatives += negative.negatives_at_any_depth
        return negatives

    @property
    def predicates(self) -> dict[str, frozenset[Expression]]:
        """The local predicates of states, by type, those of negatives included."""
        by_type: dict[str, frozenset[Expression]] = {}
        for state in self.states:
            known = by_type.get(state.type, frozenset())
            by_type[state.type] = known | state.needs | state.lacks
        for negative in self.negatives:
            for name, predicates in negative.predicates.items():
                by_type[name] = by_type.get(name, frozenset()) | predicates
        return by_type

    def neighbours(self) -> frozenset[tuple[str | None, str]]:
        """Return the pairs of types that may be neighbours; None before those that begin."""
        begins = {(None, self.states[start.target].type) for start in self.starts}
        return frozenset(begins) | {
            (self.states[move.source].type, self.states[move.target].type) for move in self.moves
        }

    def loops(self) -> frozenset[str]:
        """Return the type E of each Kleene sub-pattern E+ (HAMLET, Definition 4)."""
        loops = (move.source for move in self.moves if move.source == move.target)
        return frozenset(self.states[state].type for state in loops)

    def start_types(self) -> frozenset[str]:
        """Return the types that begin trends: start(q) in the paper."""
        return frozenset(self.states[start.target].type for start in self.starts)

    def end_types(self) -> frozenset[str]:
        """Return the types that end trends: end(q) in the paper."""
        return frozenset(self.states[end.source].type for end in self.ends)

    def predecessor_types(self, type_name: str) -> frozenset[str]:
        """Return the types that may stand before `type_name` in a trend: pt(E, q) in the paper."""
        return frozenset(
            before for before, after in self.neighbours() if after == type_name and before
        )

    @property
    def is_plain(self) -> bool:
        """Whether there are no conditions between events, and none on what lies between them."""
        has_guards = self.conditions or self.anchors or self.negatives
        return not has_guards and self.query.strategy is Strategy.ANY

    @property
    def compared(self) -> frozenset[str]:
        """The attributes that conditions read."""
        attributes = {
            attribute.name
            for condition in (*self.conditions, *self.related)
            for attribute in ex.attributes(condition)
            if attribute.name is not None
        }
        return frozenset(attributes).union(*(negative.compared for negative in self.negatives))

    def fits(self, type_name: str, true: frozenset[Expression]) -> frozenset[int]:
        """Return the states that an event of this type and truth of predicates may take."""
        return frozenset(
            number for number, state in enumerate(self.states) if state.takes(type_name, true)
        )
