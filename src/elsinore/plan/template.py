"""Templates as the engine runs them: states without guards, whose transitions say what they read.

`elsinore.plan.stored` makes them of guarded templates. Each trend of a query has one run, so adding
up over the states counts every trend once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from elsinore.model.expression import Binary, Expression, Negative, Operator
from elsinore.model.kinds import Strategy
from elsinore.model.query import Query
from elsinore.plan.aggregates import Aggregation, Field, FieldKind
from elsinore.plan.guards import FREE, NO_WAY, Ways

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

    def condition(self, operator: Operator | None = None) -> Expression:
        """Return the comparison as an expression, or with another operator."""
        earlier = self.previous
        if isinstance(self.shift, Negative):
            earlier = Binary(Operator.SUB, earlier, self.shift.operand)
        elif self.shift is not None:
            earlier = Binary(Operator.ADD, earlier, self.shift)
        return Binary(operator or self.operator, earlier, self.current)


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
    """The automaton of one trend query; states are 0, 1, ... (HAMLET, Section 3.1).

    Trends in a state with `resets` are those since the latest such event of an earlier time. A
    state in `seeds` holds one empty trend from a window's start: what may follow it begins trends.
    Under AND there are `sides`: the states in which trends of the one pattern, of the other, and of
    both may end (`elsinore.plan.taken_apart`). States with `rows` keep their events one by one. If
    a state has `closing`, one of these ways must be free after the trends that end in it.
    """

    query: Query
    states: int
    labels: tuple[str, ...]  # [state] -> the types and variables of events that end there
    transitions: tuple[Transition, ...]
    accepting: frozenset[int]
    aggregation: Aggregation
    resets: tuple[frozenset[Reset], ...] = ()  # [state], or nothing where no state has any
    seeds: frozenset[int] = frozenset()
    sides: tuple[frozenset[int], ...] = ()
    rows: tuple[Rows | None, ...] = ()  # [state], or nothing where no state has any
    closing: tuple[Ways, ...] = ()  # likewise

    @property
    def is_summed(self) -> bool:
        """Whether its states are sums, of which no event but a NOT's takes anything away."""
        reads_all = all(move.reads == ALL for move in self.transitions)
        return self.query.strategy is Strategy.ANY and reads_all and not any(self.rows)

    def reset_by(self, state: int) -> frozenset[Reset]:
        """Return the events that empty a state."""
        return self.resets[state] if self.resets else frozenset()

    def rows_of(self, state: int) -> Rows | None:
        """Return how the events of a state are kept one by one, if they are."""
        return self.rows[state] if self.rows else None

    def closing_of(self, state: int) -> Ways:
        """Return the ways of which one must be free after trends that end in a state."""
        return self.closing[state] if self.closing else FREE


def contributes(field: Field, move: Transition) -> bool:
    """Return whether an event adds to a field when it makes a transition."""
    if field.kind is FieldKind.BEGINNING:
        return move.source == START
    return field.kind is not FieldKind.TRENDS and bool(move.variables & field.variables)


def label(type_name: str, variable: str) -> str:
    """Return what events are called that end in a state: `Travel T`, or `Travel` for both."""
    return type_name if variable == type_name else f"{type_name} {variable}"
