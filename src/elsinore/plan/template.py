"""Templates: the automaton of a trend query, with guards on its moves (HAMLET, Sections 3.1 and 5).

`elsinore.plan.assembly` builds a *guarded template* from a query. Its moves may require conditions
between two events, and that negative patterns have no matches in between. `elsinore.plan.stored`
makes a template of it that the engine runs: each trend has one run, the guards of a move say which
of the stored events of its source an event may follow, and states say how their events are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from elsinore.automata.positions import FREE, NO_WAY, Ways
from elsinore.model import expression as ex
from elsinore.model.expression import Binary, Expression, Negative, Operator
from elsinore.model.kinds import Strategy
from elsinore.model.query import Query
from elsinore.plan.aggregates import Aggregation, Field, FieldKind

START = -1  # the source of a move that begins a trend


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """The events of a type that satisfy the predicates in `needs` and none of those in `lacks`."""

    type: str
    needs: frozenset[Expression]
    lacks: frozenset[Expression] = frozenset()

    def takes(self, type_name: str, true: frozenset[Expression]) -> bool:
        """Return whether an event of this type and truth of predicates is one of them."""
        return self.type == type_name and self.needs <= true and self.lacks.isdisjoint(true)


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
    """The guards of a move: which events of its source an event may follow; by default all.

    All cuts of one of `ranges` must hold, if there are any, and all `conditions` between the two
    events. Some way in `free` must have no matches of its negative patterns between the two, and
    no way in `unless` may (`elsinore.automata.positions`). All `checks` (anchor, condition) must
    hold between the event and the anchor's event, if the trend has one; with `carries`, the trend
    keeps its anchor. Guarded templates have neither `ranges` nor `carries`.
    """

    ranges: tuple[tuple[Cut, ...], ...] = ()
    conditions: tuple[Expression, ...] = ()
    free: Ways = FREE
    unless: Ways = NO_WAY
    checks: tuple[tuple[str, Expression], ...] = ()
    carries: bool = False

    @property
    def cuts(self) -> tuple[Cut, ...]:
        """The cuts of all ranges."""
        return tuple(cut for part in self.ranges for cut in part)

    @property
    def is_checked(self) -> bool:
        """Whether each earlier event must be checked individually."""
        return bool(self.conditions or self.unless or self.checks) or self.free != FREE


ALL = Reads()


class Rows(NamedTuple):
    """How a state's events are stored one by one: ordered by a sort key, or in a list.

    `holds_anchor`: for each anchor of its trends, too; `is_anchor`: each event becomes the anchor
    of its trends.
    """

    order: Expression | None
    is_checked: bool
    holds_anchor: bool = False
    is_anchor: bool = False


class Storage(NamedTuple):
    """How the trends that end in a state are stored: as one sum, or with `rows` event by event.

    An event in `resets` empties the state: its trends are those since the latest such event of an
    earlier time. A seed contains one empty trend from the start of a window: the events that
    follow it begin trends.
    """

    resets: frozenset[Events] = frozenset()
    is_seed: bool = False
    rows: Rows | None = None


AS_SUM = Storage()


@dataclass(frozen=True, slots=True, kw_only=True)
class State(Events):
    """The last event of a trend is in `Events`, and bound to `variable`."""

    variable: str
    storage: Storage = AS_SUM


@dataclass(frozen=True, slots=True)
class Move:
    """An event of state `target` may follow one in state `source`; from START it begins a trend."""

    source: int
    target: int
    reads: Reads = ALL


@dataclass(frozen=True, slots=True)
class End:
    """A trend may end in `source` if no negative match of some way begins after it.

    `side` is the number of the pattern among those that AND joins.
    """

    source: int
    ways: Ways = FREE
    side: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """The automaton of a query's pattern; states are 0, 1, ...

    Conditions read their attributes from two events, `PREVIOUS` and `CURRENT` of
    `elsinore.plan.between`. `anchors` are variables whose event is compared with later ones: the
    trend remembers it. `negatives` are the patterns under NOT, each with one side and no aggregates
    of its own; in a template for the engine, ways have the numbers of the unit's negatives instead.
    A negative of a single event may have conditions that relate it to the events around the gap
    (`related`), by their variables.

    Under AND there are two sides, and `parts` are the templates of its patterns. In a template for
    the engine, trends of side 2 are those of both patterns (`elsinore.plan.taken_apart`).
    """

    query: Query
    states: tuple[State, ...]
    moves: tuple[Move, ...]
    ends: tuple[End, ...]
    aggregation: Aggregation
    sides: int = 1
    ambiguous: bool = False  # whether some sequence of events may have two runs
    anchors: tuple[str, ...] = ()
    negatives: tuple[Template, ...] = ()
    related: tuple[Expression, ...] = ()
    warnings: tuple[str, ...] = ()
    parts: tuple[Template, ...] = field(default=(), compare=False, repr=False)

    @property
    def starts(self) -> list[Move]:
        """The moves that begin a trend."""
        return [move for move in self.moves if move.source == START]

    @property
    def steps(self) -> list[Move]:
        """The moves between two events."""
        return [move for move in self.moves if move.source != START]

    @property
    def accepting(self) -> frozenset[int]:
        """The states in which a trend may end."""
        return frozenset(end.source for end in self.ends)

    @property
    def conditions(self) -> tuple[Expression, ...]:
        """The conditions of its moves, each once."""
        conditions: dict[Expression, None] = {}
        for move in self.moves:
            checks = (check for _, check in move.reads.checks)
            conditions |= dict.fromkeys((*move.reads.conditions, *checks))
        return tuple(conditions)

    @property
    def negatives_at_any_depth(self) -> list[Template]:
        """The templates under NOT, and those under NOT in them."""
        negatives = list(self.negatives)
        for negative in self.negatives:
            negatives += negative.negatives_at_any_depth
        return negatives

    @property
    def predicates(self) -> dict[str, frozenset[Expression]]:
        """The local predicates of states, by type, those of negatives included."""
        by_type: dict[str, frozenset[Expression]] = {}
        for template in (self, *self.negatives_at_any_depth):
            for state in template.states:
                known = by_type.get(state.type, frozenset())
                by_type[state.type] = known | state.needs | state.lacks
        return by_type

    @property
    def compared(self) -> frozenset[str]:
        """The attributes that conditions read."""
        return frozenset(
            attribute.name
            for template in (self, *self.negatives_at_any_depth)
            for condition in (*template.conditions, *template.related)
            for attribute in ex.attributes(condition)
            if attribute.name is not None
        )

    def neighbours(self) -> frozenset[tuple[str | None, str]]:
        """Return the pairs of types that may be neighbours; None before those that begin."""
        types = [*(state.type for state in self.states), None]  # START is the last
        return frozenset((types[move.source], self.states[move.target].type) for move in self.moves)

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

    def fits(self, type_name: str, true: frozenset[Expression]) -> frozenset[int]:
        """Return the states that an event of this type and truth of predicates may take."""
        return frozenset(
            number for number, state in enumerate(self.states) if state.takes(type_name, true)
        )

    @property
    def is_plain(self) -> bool:
        """Whether there are no conditions between events, and none on the events in between."""
        has_guards = self.conditions or self.anchors or self.negatives
        return not has_guards and self.query.strategy is Strategy.ANY

    @property
    def is_summed(self) -> bool:
        """Whether its states are sums from which only an event under NOT removes trends."""
        reads_all = all(move.reads == ALL for move in self.moves)
        has_rows = any(state.storage.rows is not None for state in self.states)
        return self.query.strategy is Strategy.ANY and reads_all and not has_rows

    @property
    def is_pairwise(self) -> bool:
        """Whether an event follows all events of a state, or those that conditions on both select.

        Then neither a strategy, an anchor nor a NOT of several events depends on the rest of a
        trend.
        """
        others = (move.reads._replace(ranges=(), conditions=()) for move in self.moves)
        is_free = all(end.ways == FREE for end in self.ends)
        return self.query.strategy is Strategy.ANY and is_free and all(map(ALL.__eq__, others))


def contributes(template: Template, entry: Field, move: Move) -> bool:
    """Return whether an event adds to a field when it makes a move."""
    if entry.kind is FieldKind.BEGINNING:
        return move.source == START
    variable = template.states[move.target].variable
    return entry.kind is not FieldKind.TRENDS and variable in entry.variables


def with_ways(template: Template, renumbered: Callable[[Ways], Ways]) -> Template:
    """Return a template with other ways in its guards."""

    def guards(reads: Reads) -> Reads:
        return reads._replace(free=renumbered(reads.free), unless=renumbered(reads.unless))

    return replace(
        template,
        moves=tuple(replace(move, reads=guards(move.reads)) for move in template.moves),
        ends=tuple(replace(end, ways=renumbered(end.ways)) for end in template.ends),
    )


def with_negatives(template: Template, negatives: Sequence[Template]) -> Template:
    """Return a template whose ways have the numbers of its negatives in a longer or shorter list.

    A shorter list has all that ways name.
    """
    place = {
        number: negatives.index(n) for number, n in enumerate(template.negatives) if n in negatives
    }

    def renumbered(ways: Ways) -> Ways:
        return frozenset(frozenset(place[number] for number in way) for way in ways)

    return replace(with_ways(template, renumbered), negatives=tuple(negatives))


def side_by_side(parts: Iterable[Template]) -> Template:
    """Return the states, moves and ends of several templates in one, each on a side of its own."""
    states: list[State] = []
    moves: list[Move] = []
    ends: list[End] = []
    parts = list(parts)
    for side, part in enumerate(parts):
        first = len(states)
        states += part.states
        for move in part.moves:
            source = START if move.source == START else move.source + first
            moves.append(Move(source, move.target + first, move.reads))
        ends += [End(end.source + first, end.ways, side) for end in part.ends]
    return replace(parts[0], states=tuple(states), moves=tuple(moves), ends=tuple(ends), sides=2)
