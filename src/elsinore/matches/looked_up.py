"""Which conditions between events the search looks up, instead of testing each event of a window.

An equality of two attributes (`c.ref = a.id`) is looked up by value. A limit of the time between
two events (`c.time - a.time <= 5 minutes`) ends a search where it is passed, as times rise
(`elsinore.matches.engine.orders`).
"""

from __future__ import annotations

from enum import Enum

from elsinore.matches.conditions import Condition
from elsinore.matches.registers import slot_of
from elsinore.model import expression as ex
from elsinore.model.expression import Attribute, Binary, Duration, Expression, Literal, Operator
from elsinore.operators.conditions.code import Moment
from elsinore.plan.ranges import signed_terms

_UPPER = {Operator.LT, Operator.LE}


class Lookup(Enum):
    """How the events that fulfil a condition are found."""

    VALUE = "looked up by value"
    LIMIT = "no event beyond the limit is looked at"


def lookup_of(condition: Condition) -> Lookup | None:
    """Return how a condition is looked up, or None if it is tested for each event."""
    match condition.expression:
        case Binary(Operator.EQ, Attribute() as left, Attribute() as right):
            return Lookup.VALUE if _is_of_two(left, right) else None
        case Binary(operator, left, right) if operator in ex.MIRRORED:
            return Lookup.LIMIT if _is_time_limit(operator, left, right) else None
    return None


def _is_of_two(current: Attribute, other: Attribute) -> bool:
    """Return whether one of two attributes is of the selected event, the other of one before."""
    moments = {slot_of(current).moment, slot_of(other).moment}
    return moments in ({Moment.CURRENT, Moment.PREVIOUS}, {Moment.CURRENT, Moment.BEFORE})


def _is_time_limit(operator: Operator, left: Expression, right: Expression) -> bool:
    """Return whether a comparison bounds the time of the selected event by that of another one."""
    terms = signed_terms(Binary(Operator.SUB, left, right))
    if terms is None:
        return False
    attributes = [(sign, term) for sign, term in terms if isinstance(term, Attribute)]
    has_length = any(
        isinstance(term, Duration) or (isinstance(term, Literal) and term.is_ticks)
        for _, term in terms
    )
    if not has_length or len(attributes) != 2 or not _is_of_two(*(a for _, a in attributes)):
        return False
    (sign, first), (other_sign, second) = attributes
    if first.name != second.name or sign == other_sign:
        return False
    if slot_of(first).moment is not Moment.CURRENT:
        sign = other_sign
    return (operator if sign > 0 else ex.MIRRORED[operator]) in _UPPER
