"""Relations of a NOT to the match: `SEQ(A a, NOT C c) WHERE c.ref = a.id`.

Events between the two neighbours of the gap exclude the match if they fulfil the NOT's own
conditions and all conditions that relate them to variables of the match. A repeated variable of the
match means its event right after the gap, or else its latest one; a variable under NOT means each
of its events. Relations to events after the gap are checked when the match is complete.

A condition may limit the time of the event under a NOT at the end by that of an event of the match,
as `c.time - b.time <= 2 days`. Then the NOT is decided at its *deadline*, when the limit has
passed, which may be long before the window ends.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from elsinore.automata.positions import Ways
from elsinore.errors import QuerySemanticError
from elsinore.matches.conditions import Condition, Conditions
from elsinore.matches.registers import RegisterKind, Slot, slot_attribute, slot_of
from elsinore.model import expression as ex
from elsinore.model import pattern as pt
from elsinore.model.clock import Clock
from elsinore.model.expression import (
    MIRRORED,
    Attribute,
    Binary,
    Duration,
    Expression,
    Literal,
    Operator,
    Reference,
)
from elsinore.model.query import Query
from elsinore.operators.conditions.code import Moment
from elsinore.plan.predicates import place_of
from elsinore.plan.ranges import signed_terms
from elsinore.plan.related import positive_variables, related_negatives

_UNDER_NOT = {Reference.FIRST: RegisterKind.FIRST, Reference.LAST: RegisterKind.LATEST}


@dataclass(frozen=True, slots=True)
class Relation:
    """The conditions that relate the events of a NOT, by its number, to a match.

    They read the event after the gap as the previous event, and the event of a NOT of one event as
    the current event. If a NOT has several events, they read the registers `reads`, which contain
    the events of one match of the NOT after another. `is_late`: they are checked when the match is
    complete.
    """

    negative: int
    conditions: tuple[int, ...]
    is_late: bool
    reads: tuple[int, ...] = ()


class Relations:
    """The relations of a pattern's NOTs, resolved for its edges and ends."""

    def __init__(
        self, query: Query, whole: pt.Pattern, negatives: Sequence[pt.Pattern], owner: Conditions
    ) -> None:
        self._query, self._whole, self._owner = query, whole, owner
        self._negatives = negatives
        self._predicates: dict[int, list[Expression]] = {}
        for predicate in query.where if whole is query.pattern else ():
            for negative in related_negatives(query, predicate):
                number = negatives.index(negative)
                self._predicates.setdefault(number, []).append(predicate)
        self._is_repeated = any(
            isinstance(node, pt.Negation)
            for kleene in pt.walk(whole)
            if isinstance(kleene, pt.Kleene)
            for node in pt.walk(kleene)
        )

    def before(
        self, ways: Ways, later: str | None, *, begins: bool = False
    ) -> tuple[Relation, ...]:
        """Return the relations of the NOTs before an event bound to `later`; None: at the end.

        `begins`: the match begins with that event.
        """
        return tuple(
            self._relation(number, later, begins=begins)
            for number in sorted({number for way in ways for number in way})
            if number in self._predicates
        )

    def _relation(self, number: int, later: str | None, *, begins: bool) -> Relation:
        reads: dict[int, None] = {}
        conditions = [
            self._condition(predicate, self._negatives[number], reads, later, begins=begins)
            for predicate in self._predicates[number]
        ]
        is_late = any(condition.bound_finally for condition in conditions)
        if is_late and not begins and self._is_repeated:
            raise QuerySemanticError(
                "This NOT stands in a repeated group: relate it to events before the gap, or to "
                "the one right after it.",
                span=place_of(self._predicates[number][0]),
                query=self._query.name,
            )
        numbers = tuple(self._owner.number_of(condition) for condition in conditions)
        return Relation(number, numbers, is_late, tuple(reads))

    def _condition(
        self,
        predicate: Expression,
        negative: pt.Pattern,
        reads: dict[int, None],
        later: str | None,
        *,
        begins: bool,
    ) -> Condition:
        """Return a condition for the events of a NOT before one bound to `later`, or at the end.

        Events bound after that one are read when the match is complete. Registers of events under
        NOT are added to `reads`.
        """
        bound: set[int] = set()
        bound_finally: set[int] = set()
        owner = self._owner

        def slot(leaf: Attribute) -> Expression:
            variables = owner.variables(leaf.variable)
            if not variables and isinstance(negative, pt.Event):
                return slot_attribute(Slot(Moment.CURRENT, attribute=leaf.name))
            if not variables:
                under_not = positive_variables(self._query, leaf.variable, negative)
                kind = _UNDER_NOT.get(leaf.reference, RegisterKind.EACH)
                register = owner.registers.number(kind, under_not)
                reads[register] = None
                bound.add(register)
                return slot_attribute(Slot(Moment.BEFORE, register, leaf.name))
            is_first = leaf.reference is Reference.FIRST
            if later in variables and leaf.reference in {Reference.PLAIN, Reference.CURRENT}:
                return slot_attribute(Slot(Moment.PREVIOUS, attribute=leaf.name))
            kind = RegisterKind.FIRST if is_first else RegisterKind.LATEST
            register = owner.registers.number(kind, variables)
            is_known = later is None or (
                not begins
                and leaf.reference is not Reference.LAST
                and later not in variables
                and owner.is_earlier(variables, later)
            )
            (bound if is_known else bound_finally).add(register)
            moment = Moment.BEFORE if is_known else Moment.FINAL
            return slot_attribute(Slot(moment, register, leaf.name))

        resolved = ex.with_attributes(predicate, slot)
        return Condition(
            resolved, tuple(sorted(bound)), (), tuple(sorted(bound_finally)), predicate
        )


ROUNDED = 2  # microseconds by which times that are doubles, and their sums, may be rounded
LONGEST = 2**60  # ticks; sums with times fit 64 bits


@dataclass(frozen=True, slots=True)
class Deadline:
    """Events of pattern `negative` under NOT break a match up to some ticks after another event.

    That event is in the register with the number `register`. If it is empty, no limit applies.
    """

    negative: int
    register: int
    ticks: int


def deadlines_of(
    ways: Ways, relations: Iterable[Relation], conditions: Sequence[Condition], clock: Clock
) -> tuple[Deadline, ...]:
    """Return the deadlines of the NOTs at an end, in the order of their numbers.

    Without a limit for each NOT there are none: matches are decided when the window ends.
    """
    deadlines = [
        Deadline(relation.negative, *bound)
        for relation in sorted(relations, key=lambda relation: relation.negative)
        for number in relation.conditions
        if (bound := _bound(conditions[number].expression, clock)) is not None
    ]
    negatives = {negative for way in ways for negative in way}
    return tuple(deadlines) if negatives == {d.negative for d in deadlines} else ()


def _bound(condition: Expression, clock: Clock) -> tuple[int, int] | None:
    """Return a register, and up to how many ticks after its event a condition may be true."""
    if not isinstance(condition, Binary) or condition.operator not in MIRRORED:
        return None
    terms = signed_terms(Binary(Operator.SUB, condition.left, condition.right)) or []
    events = {
        slot_of(term).moment: (sign, slot_of(term))
        for sign, term in terms
        if isinstance(term, Attribute) and term.name == clock.time_column
    }
    lengths = [
        _nanoseconds(sign, term, clock) for sign, term in terms if not isinstance(term, Attribute)
    ]
    if events.keys() != {Moment.CURRENT, Moment.BEFORE} or len(terms) != 2 + len(lengths):
        return None
    if None in lengths or events[Moment.CURRENT][0] == events[Moment.BEFORE][0]:
        return None
    sign, operator = events[Moment.CURRENT][0], condition.operator
    operator = operator if sign > 0 else MIRRORED[operator]
    if operator not in {Operator.LT, Operator.LE, Operator.EQ}:
        return None
    nanoseconds = -sign * sum(length for length in lengths if length is not None)
    ticks = nanoseconds * Fraction(clock.per_microsecond, 1_000)
    most = math.ceil(ticks) - 1 if operator is Operator.LT else math.floor(ticks)
    if clock.time_column in dict(clock.numeric_times):  # doubles are rounded to ticks
        most += ROUNDED * clock.per_microsecond
    return (events[Moment.BEFORE][1].register, most) if abs(most) < LONGEST else None


def _nanoseconds(sign: int, term: Expression, clock: Clock) -> Fraction | None:
    """Return a constant length of time; a number counts in the unit of a numeric time column."""
    unit = dict(clock.numeric_times).get(clock.time_column or "")
    match term:
        case Duration(nanoseconds):
            return Fraction(sign * nanoseconds)
        case Literal(int() | float() as value) if (
            unit is not None and not isinstance(value, bool) and math.isfinite(value)
        ):
            return sign * Fraction(value) * unit
        case _:
            return None
