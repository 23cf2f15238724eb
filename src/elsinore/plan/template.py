"""Templates as the engine runs them: states without guards, whose transitions say what they read.

`elsinore.plan.stored` makes them of guarded templates. Each trend of a query has one run, so adding
up over the states counts every trend once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from elsinore.automata.positions import FREE, NO_WAY, Ways
from elsinore.model.expression import Binary, Expression, Negative, Operator
from elsinore.model.kinds import Strategy
from elsinore.model.query import Query
from elsinore.plan.aggregates import Aggregation, Field, FieldKind
from elsinore.plan.guarded import Events

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
    has numbers of negatives (`elsinore.automata.positions`). `checks` hold between the event and
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition(Events):
    """Such an event takes state `target` after `source` (START: as a trend's first event).

    The event is bound to `variable`.
    """

    source: int
    target: int
    variable: str
    reads: Reads = ALL  # which events of the source it may follow


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Where trends end: what empties it, and how its events are kept.

    Trends in a state with `resets` are those since the latest such event of an earlier time. A seed
    holds one empty trend from a window's start: what may follow it begins trends. With `rows`, its
    events are kept one by one. One way in `closing` must be free after the trends that end in it.
    `label` has the types and variables of its events; it says nothing about its trends.
    """

    label: str = field(compare=False)
    resets: frozenset[Events] = frozenset()
    is_seed: bool = False
    rows: Rows | None = None
    closing: Ways = FREE


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """The automaton of one trend query (HAMLET, Section 3.1).

    Under AND there are `sides`: the states in which trends of the one pattern, of the other, and of
    both may end (`elsinore.plan.taken_apart`).
    """

    query: Query
    states: tuple[State, ...]
    transitions: tuple[Transition, ...]
    accepting: frozenset[int]
    aggregation: Aggregation
    sides: tuple[frozenset[int], ...] = ()

    @property
    def is_summed(self) -> bool:
        """Whether its states are sums, of which no event but a NOT's takes anything away."""
        reads_all = all(move.reads == ALL for move in self.transitions)
        has_rows = any(state.rows is not None for state in self.states)
        return self.query.strategy is Strategy.ANY and reads_all and not has_rows

    @property
    def is_pairwise(self) -> bool:
        """Whether an event follows all events of a state, or those that conditions on both select.

        Then neither a strategy, an anchor nor a NOT of several events looks at the rest of a trend.
        """
        others = (move.reads._replace(ranges=(), conditions=()) for move in self.transitions)
        is_free = all(state.closing == FREE for state in self.states)
        return self.query.strategy is Strategy.ANY and is_free and all(map(ALL.__eq__, others))


def contributes(entry: Field, move: Transition) -> bool:
    """Return whether an event adds to a field when it makes a transition."""
    if entry.kind is FieldKind.BEGINNING:
        return move.source == START
    return entry.kind is not FieldKind.TRENDS and move.variable in entry.variables


def label(type_name: str, variable: str) -> str:
    """Return what events are called that end in a state: `Travel T`, or `Travel` for both."""
    return type_name if variable == type_name else f"{type_name} {variable}"
