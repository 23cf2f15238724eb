"""Consistency classes of conditions on Kleene variables (SASE++, Section 5.2).

A condition is evaluated for an event against all events that were selected before it. It is
*true-value consistent* if it is true against any subset whenever it is true against all of them;
*false-value consistent* if it is false against any subset whenever it is false against all.

This is decided by rules: the maximum of a subset is never greater than that of all events, the
minimum never less, the count never greater; an aggregate of the user's declares by `monotone`
whether its value only grows, or only shrinks, with the events. Comparisons are traced to operands
that grow or shrink with the events; any other condition that depends on which events were selected
is consistent in neither way.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from elsinore.matches.aggregates import Aggregates
from elsinore.model import expression as ex
from elsinore.model.expression import BETWEEN_EVENTS, Attribute, Binary, Call, Expression, Operator
from elsinore.model.expression import Reference as At


class Consistency(Enum):
    """Whether the value of a condition against all selected events holds against any subset."""

    BOTH = "true and false value consistent"
    TRUE = "true value consistent"
    FALSE = "false value consistent"
    NEITHER = "neither"


class Trend(Enum):
    """How a value changes if fewer events are selected."""

    SAME = 0
    DOWN = 1  # it may shrink, never grow
    UP = 2
    ANY = 3


MONOTONE = {"increasing": Trend.DOWN, "decreasing": Trend.UP}
_OPPOSITE = {Trend.DOWN: Trend.UP, Trend.UP: Trend.DOWN}
_SELECTED = {At.PREVIOUS, At.FIRST, At.LAST, At.NTH, At.FROM_LAST, At.BACK, At.RECENT}
Leaf = Callable[[Expression], Trend | None]  # the trend of an operand; None for what has operands


def consistency(predicate: Expression, aggregates: Aggregates | None = None) -> Consistency:
    """Return the class of a condition; `aggregates` are those that the user defines.

    >>> from elsinore.language import parse_workload
    >>> def of(text):
    ...     query = f"QUERY q RETURN b[].v PATTERN SEQ(A a, B+ b, C c) WHERE {text};"
    ...     return consistency(parse_workload(query).queries[0].where[0]).name
    >>> of("b[i].v > MAX(b[1..i-1].v)"), of("c.v < MAX(b[].v)"), of("b[i].v > 5")
    ('TRUE', 'FALSE', 'BOTH')
    >>> of("b[i].v > AVG(b[1..i-1].v)")
    'NEITHER'
    """
    true, false = truth(predicate, lambda node: _of_query(node, aggregates or {}))
    if true and false:
        return Consistency.BOTH
    if true or false:
        return Consistency.TRUE if true else Consistency.FALSE
    return Consistency.NEITHER


def truth(node: Expression, leaf: Leaf) -> tuple[bool, bool]:
    """Return whether a condition stays true, and stays false, if fewer events are selected."""
    match node:
        case ex.Not(operand):
            true, false = truth(operand, leaf)
            return false, true
        case Binary(Operator.AND | Operator.OR, left, right):
            of_left, of_right = truth(left, leaf), truth(right, leaf)
            return of_left[0] and of_right[0], of_left[1] and of_right[1]
        case Binary(operator, left, right) if operator.is_comparison:
            first, second = _trend(left, leaf), _trend(right, leaf)
            if first is Trend.SAME and second is Trend.SAME:
                return True, True
            both = _sum(first, _OPPOSITE.get(second, second))  # what left - right does
            if operator in {Operator.LT, Operator.LE}:
                return both is Trend.DOWN, both is Trend.UP
            if operator in {Operator.GT, Operator.GE}:
                return both is Trend.UP, both is Trend.DOWN
            return False, False
        case _:
            same = all(_trend(child, leaf) is Trend.SAME for child in ex.children(node))
            same = same and leaf(node) in {None, Trend.SAME}
            return same, same


def _of_query(node: Expression, users: Aggregates) -> Trend | None:
    """Return the trend of an operand of a query; `users` are the user's aggregates."""
    match node:
        case Attribute(_, _, reference):
            return Trend.ANY if reference in _SELECTED else Trend.SAME
        case Call() if any(leaf.reference is At.RECENT for leaf in ex.attributes(node)):
            return Trend.ANY  # of fewer events, the last few are others
        case Call("MAX" | "COUNT", _):
            return Trend.DOWN
        case Call("MIN", _):
            return Trend.UP
        case Call(name, _) if name in users:
            return MONOTONE.get(users[name].monotone or "", Trend.ANY)
        case Call(name, _) if name not in BETWEEN_EVENTS:
            return Trend.ANY
        case _:
            return None


def _trend(node: Expression, leaf: Leaf) -> Trend:
    known = leaf(node)
    if known is not None:
        return known
    match node:
        case ex.Negative(operand):
            trend = _trend(operand, leaf)
            return _OPPOSITE.get(trend, trend)
        case Binary(Operator.ADD, left, right):
            return _sum(_trend(left, leaf), _trend(right, leaf))
        case Binary(Operator.SUB, left, right):
            trend = _trend(right, leaf)
            return _sum(_trend(left, leaf), _OPPOSITE.get(trend, trend))
        case Binary(Operator.MUL | Operator.DIV as operator, left, right):
            return _scaled(operator, left, right, leaf)
        case _:
            trends = {_trend(child, leaf) for child in ex.children(node)}
            return Trend.SAME if trends <= {Trend.SAME} else Trend.ANY


def _sum(left: Trend, right: Trend) -> Trend:
    if left is Trend.SAME or left is right:
        return right
    return left if right is Trend.SAME else Trend.ANY


def _scaled(operator: Operator, left: Expression, right: Expression, leaf: Leaf) -> Trend:
    """Return the trend of a product or a quotient: scaled by a constant, it stays or turns."""
    of_left, of_right = _trend(left, leaf), _trend(right, leaf)
    if of_left is Trend.SAME and of_right is Trend.SAME:
        return Trend.SAME
    if operator is Operator.MUL and of_right is not Trend.SAME:
        of_left, left, right = of_right, right, left
    match right:
        case ex.Literal(int() | float() as factor) if not isinstance(factor, bool) and factor > 0:
            return of_left
        case ex.Literal(int() | float() as factor) if not isinstance(factor, bool) and factor < 0:
            return _OPPOSITE.get(of_left, of_left)
        case _:
            return Trend.ANY
