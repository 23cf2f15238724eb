"""The reference evaluator of expressions, one event at a time, in SQL's three-valued logic.

None is null, and the truth value unknown. NaN counts as null, whether it is read from an
attribute or computed. This is the plain and slow evaluator: `elsinore.runtime` computes the same

"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from elsinore.model.expression import (
    CONTAINS,
    Attribute,
    Binary,
    Call,
    Duration,
    Expression,
    InList,
    IsNull,
    Like,
    Literal,
    Negative,
    Not,
    Operator,
    like_regex,
)
from elsinore.model.time_values import MICROSECOND, Moment, Span, arithmetic

Value = bool | int | float | Decimal | str | Moment | Span
Lookup = Callable[[Attribute], Value | None]

COMPARE: dict[Operator, Callable[[Any, Any], bool]] = {
    Operator.EQ: operator.eq,
    Operator.NE: operator.ne,
    Operator.LT: operator.lt,
    Operator.LE: operator.le,
    Operator.GT: operator.gt,
    Operator.GE: operator.ge,
}
_COMPUTE: dict[Operator, Callable[[float, float], float]] = {
    Operator.ADD: operator.add,
    Operator.SUB: operator.sub,
    Operator.MUL: operator.mul,
}


def is_null(value: Value | None) -> bool:
    """Return whether a value counts as null: None and NaN do.

    >>> is_null(None), is_null(float("nan")), is_null(0)
    (True, True, False)
    """
    return value is None or value != value  # noqa: PLR0124 - only NaN differs from itself


def is_true(expression: Expression, lookup: Lookup) -> bool:
    """Return whether a condition is true: neither false nor unknown. Raises errors of `evaluate`.

    >>> slow = Binary(Operator.LT, Attribute("T", "speed"), Literal(10))
    >>> is_true(slow, lambda attribute: 5), is_true(slow, lambda attribute: None)
    (True, False)
    """
    return evaluate(expression, lookup) is True


def evaluate(expression: Expression, lookup: Lookup) -> Value | None:
    """Return the value of an expression whose attributes have the values that `lookup` returns.

    As in SQL, the result is null for: a comparison, a sum or any other operation on null; a
    division by zero; NaN; a comparison of two kinds of values (text with a number; checked queries
    have none). `/` returns a quotient of doubles, `%` a remainder with the dividend's sign; AND, OR
    and NOT follow Kleene. Integers are computed without bounds.

    Raises TypeError for aggregates and grouping attributes, which have no value for single events.

    >>> half = Binary(Operator.DIV, Attribute("T", "fare"), Literal(2))
    >>> evaluate(half, lambda attribute: 5)
    2.5
    >>> evaluate(Binary(Operator.OR, Literal(None), Literal(True)), lambda attribute: None)
    True
    """
    value = _evaluate(expression, lookup)
    return None if is_null(value) else value


def _evaluate(expression: Expression, lookup: Lookup) -> Value | None:
    match expression:
        case Literal(value):
            return value
        case Duration(nanoseconds):
            return Span(nanoseconds, nanoseconds % MICROSECOND != 0)
        case Attribute(_, str()):
            return lookup(expression)
        case Not(operand):
            truth = _truth(evaluate(operand, lookup))
            return None if truth is None else not truth
        case Negative(operand):
            negated = evaluate(operand, lookup)
            if isinstance(negated, Span):
                return Span(-negated.nanoseconds, negated.fine)
            number = _number(negated)
            return None if number is None else -number
        case IsNull(operand):
            return evaluate(operand, lookup) is None
        case InList(operand, choices):
            element = evaluate(operand, lookup)
            verdicts = [
                compare(Operator.EQ, element, evaluate(choice, lookup)) for choice in choices
            ]
            return True if True in verdicts else None if None in verdicts else False
        case Like(operand, pattern):
            text = evaluate(operand, lookup)
            if not isinstance(text, str):
                return None
            return re.fullmatch(like_regex(pattern), text, re.DOTALL) is not None
        case Call("ABS", (operand,)):
            magnitude = evaluate(operand, lookup)
            if isinstance(magnitude, Span):
                return Span(abs(magnitude.nanoseconds), magnitude.fine)
            number = _number(magnitude)
            return None if number is None else abs(number)
        case Call("LOG2", (operand,)):
            number = _number(evaluate(operand, lookup))
            return None if number is None or number <= 0 else math.log2(number)
        case Call(name, (listed, operand)) if name == CONTAINS:
            return _contains(evaluate(listed, lookup), evaluate(operand, lookup))
        case Binary(Operator.AND | Operator.OR as joined):
            return _and_or(joined, expression, lookup)
        case Binary(operation, left, right):
            left_value, right_value = evaluate(left, lookup), evaluate(right, lookup)
            if operation.is_comparison:
                return compare(operation, left_value, right_value)
            if isinstance(left_value, Moment | Span) or isinstance(right_value, Moment | Span):
                return arithmetic(operation, left_value, right_value)
            return _compute(operation, _number(left_value), _number(right_value))
        case _:
            raise TypeError(f"not an expression over single events: {expression}")


def _contains(values: Any, value: Value | None) -> bool | None:
    """Return whether a list has a value; None if the list, the value or an element is unknown."""
    if values is None or value is None:
        return None
    verdicts = [
        None if is_null(member) else compare(Operator.EQ, value, member) for member in values
    ]
    return True if True in verdicts else None if None in verdicts else False


def _and_or(joined: Operator, expression: Expression, lookup: Lookup) -> bool | None:
    """Return the AND or OR of all operands of a chain; the decisive truth value wins over null."""
    decisive = joined is Operator.OR
    unknown = False
    pending = [expression]  # no recursion: a WHERE may chain thousands of conditions
    while pending:
        node = pending.pop()
        if isinstance(node, Binary) and node.operator is joined:
            pending += (node.right, node.left)
            continue
        truth = _truth(evaluate(node, lookup))
        if truth is decisive:
            return decisive
        unknown = unknown or truth is None
    return None if unknown else not decisive


def _truth(value: Value | None) -> bool | None:
    return value if isinstance(value, bool) else None


def _number(value: Value | None) -> int | float | None:
    """Return an operand of arithmetic as a number: a decimal as the nearest double."""
    if isinstance(value, Decimal):
        return float(value)
    return None if isinstance(value, bool) or not isinstance(value, int | float) else value


def _kind(value: Value) -> type:
    """Return the type by which values are comparable: `float` for all numbers."""
    return float if _number(value) is not None else type(value)


def compare(operation: Operator, left: Value | None, right: Value | None) -> bool | None:
    """Return the result of a comparison; None (unknown) for null and for values of two kinds.

    >>> compare(Operator.LT, 2, 2.5), compare(Operator.LT, 2, "3"), compare(Operator.LT, 2, None)
    (True, None, None)
    >>> compare(Operator.EQ, Decimal("0.1"), 0.1)  # exactly
    False
    """
    if left is None or right is None or _kind(left) is not _kind(right):
        return None
    return COMPARE[operation](left, right)


def _compute(operation: Operator, left: float | None, right: float | None) -> float | None:
    if left is None or right is None:
        return None
    if operation in {Operator.DIV, Operator.MOD} and right == 0:
        return None
    if isinstance(left, int) and isinstance(right, int) and operation is not Operator.DIV:
        if operation is Operator.MOD:
            remainder = abs(left) % abs(right)
            return -remainder if left < 0 else remainder
        return _COMPUTE[operation](left, right)
    left, right = _double(left), _double(right)
    if operation is Operator.DIV:
        return left / right
    if operation is Operator.MOD:
        return None if math.isinf(left) else math.fmod(left, right)
    return _COMPUTE[operation](left, right)


def _double(number: float) -> float:
    """Return the nearest double, infinite beyond a double's range."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
