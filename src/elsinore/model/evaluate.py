"""The value of an expression for one event or a few, in SQL's three-valued logic (SEMANTICS 1).

Plain and slow: for the reference engine, for deciding what predicates can hold together, and for
tests of the fast ways.
"""

from __future__ import annotations

import math
import operator as op
from collections.abc import Callable
from typing import Any

from elsinore.model.expression import (
    Attribute,
    Binary,
    Call,
    Expression,
    InList,
    IsNull,
    Literal,
    Negative,
    Not,
    Operator,
)

Lookup = Callable[[Attribute], Any]

_COMPARE: dict[Operator, Callable[[Any, Any], bool]] = {
    Operator.EQ: op.eq,
    Operator.NE: op.ne,
    Operator.LT: op.lt,
    Operator.LE: op.le,
    Operator.GT: op.gt,
    Operator.GE: op.ge,
}


def evaluate(expression: Expression, lookup: Lookup) -> Any:
    """Return an expression's value; None where it is null or unknown.

    `lookup` gives the value of an attribute; NaN counts as null, as do comparisons of values of
    different kinds and divisions by zero.

    >>> slow = Binary(Operator.LT, Attribute("T", "speed"), Literal(10))
    >>> evaluate(slow, lambda attribute: 5), evaluate(slow, lambda attribute: None)
    (True, None)
    """
    match expression:
        case Literal(value):
            return value
        case Attribute():
            value = lookup(expression)
            return None if isinstance(value, float) and math.isnan(value) else value
        case Not(operand):
            truth = evaluate(operand, lookup)
            return None if truth is None else not truth
        case Negative(operand):
            number = evaluate(operand, lookup)
            return None if number is None else -number
        case IsNull(operand):
            return evaluate(operand, lookup) is None
        case InList(operand, choices):
            return _in_list(evaluate(operand, lookup), [choice.value for choice in choices])
        case Call("ABS", (operand,)):
            number = evaluate(operand, lookup)
            return None if number is None else abs(number)
        case Binary(Operator.AND | Operator.OR as junction, left, right):
            return _junction(junction, evaluate(left, lookup), evaluate(right, lookup))
        case Binary(operator, left, right):
            return _combine(operator, evaluate(left, lookup), evaluate(right, lookup))
        case _:
            raise TypeError(f"not an expression over single events: {expression}")


def is_true(expression: Expression, lookup: Lookup) -> bool:
    """Return whether an expression is true: neither false nor unknown."""
    return evaluate(expression, lookup) is True


def _junction(operator: Operator, left: bool | None, right: bool | None) -> bool | None:
    settling = operator is Operator.OR
    if left is settling or right is settling:
        return settling
    return None if left is None or right is None else not settling


def _combine(operator: Operator, left: Any, right: Any) -> Any:
    if left is None or right is None or not _alike(left, right):
        return None
    if operator in _COMPARE:
        return _COMPARE[operator](left, right)
    if operator is Operator.ADD:
        return left + right
    if operator is Operator.SUB:
        return left - right
    if operator is Operator.MUL:
        return left * right
    if right == 0:
        return None
    if operator is Operator.DIV:
        return left / right
    if isinstance(left, int) and isinstance(right, int):
        return left - right * int(_truncated(left, right))
    return math.fmod(left, right)


def _truncated(left: int, right: int) -> int:
    """Return the quotient of integers rounded toward zero, as SQL's remainder needs it."""
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _alike(left: Any, right: Any) -> bool:
    """Return whether two values are of kinds that can be compared."""
    numbers = (int, float)
    if isinstance(left, bool) or isinstance(right, bool):
        return isinstance(left, bool) and isinstance(right, bool)
    if isinstance(left, numbers) and isinstance(right, numbers):
        return True
    return type(left) is type(right)


def _in_list(value: Any, choices: list[Any]) -> bool | None:
    if value is None:
        return None
    if any(_alike(value, choice) and value == choice for choice in choices if choice is not None):
        return True
    return None if None in choices else False
