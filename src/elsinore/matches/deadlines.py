"""Until when an event under a NOT at the end can break a match: `c.time - b.time <= 2 days`.

A condition that bounds the time of the event under NOT by that of an event of the match decides
the NOT once the bound has passed, which may be long before the window ends.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from elsinore.automata.positions import Ways
from elsinore.matches.conditions import Condition
from elsinore.matches.registers import slot_of
from elsinore.matches.relations import Relation
from elsinore.model.clock import Clock
from elsinore.model.expression import (
    MIRRORED,
    Attribute,
    Binary,
    Duration,
    Expression,
    Literal,
    Operator,
)
from elsinore.operators.conditions.code import Moment
from elsinore.plan.ranges import signed_terms

ROUNDED = 2  # microseconds by which times that are doubles, and their sums, may be off
LONGEST = 2**60  # ticks, to which times may be added without going beyond 64 bits


@dataclass(frozen=True, slots=True)
class Deadline:
    """An event of pattern `negative` under NOT breaks a match up to some ticks after an event.

    That event is the one in a register, given by its number. If there is none, no bound applies.
    """

    negative: int
    register: int
    ticks: int


def deadlines_of(
    ways: Ways, relations: Iterable[Relation], conditions: Sequence[Condition], clock: Clock
) -> tuple[Deadline, ...]:
    """Return the deadlines of the NOTs at an end, in the order of their numbers.

    There are none if some NOT has no bound: it is decided when the window ends.
    """
    found = [
        Deadline(relation.negative, *bound)
        for relation in sorted(relations, key=lambda relation: relation.negative)
        for number in relation.conditions
        if (bound := _bound(conditions[number].expression, clock)) is not None
    ]
    negatives = {negative for way in ways for negative in way}
    return tuple(found) if negatives == {deadline.negative for deadline in found} else ()


def _bound(condition: Expression, clock: Clock) -> tuple[int, int] | None:
    """Return a register and the ticks after its event up to which a condition can hold."""
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
