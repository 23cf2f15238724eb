"""How far from zero integers, times and lengths of time in conditions can be."""

from __future__ import annotations

import math

import numpy as np

from elsinore.model.expression import (
    Attribute,
    Binary,
    Call,
    Duration,
    Expression,
    Literal,
    Negative,
    Operator,
)
from elsinore.trends.graph.codes import BOUND, Order
from elsinore.trends.graph.columns import ComparedColumns


def magnitude(expression: Expression, columns: ComparedColumns) -> int | None:
    """Return a bound of an expression's absolute values over the rows of columns, in their codes.

    None for what is not computed in integers, such as doubles and texts.

    >>> import pyarrow as pa
    >>> columns = ComparedColumns.of({"v": pa.array([4, -7, None])})
    >>> magnitude(Binary(Operator.ADD, Attribute("a", "v"), Literal(5)), columns)
    12
    """
    match expression:
        case Literal(bool()):
            return None
        case Literal(int(value)):
            return abs(value)
        case Literal(float(value)):
            return math.ceil(abs(value)) if math.isfinite(value) else None
        case Duration(nanoseconds):
            return abs(columns.length_code(nanoseconds))
        case Attribute(_, str(name)):
            return _greatest(name, columns)
        case Negative(operand) | Call("ABS", (operand,)):
            return magnitude(operand, columns)
        case Binary(operator, left, right) if operator.is_arithmetic:
            here, there = magnitude(left, columns), magnitude(right, columns)
            if here is None or there is None:
                scales = operator in {Operator.MUL, Operator.DIV} and here is not there
                return BOUND - 1 if scales else None  # what exceeds it is null
            if operator in {Operator.ADD, Operator.SUB}:
                return here + there
            return here * there if operator is Operator.MUL else max(here, there)
    return None


def _greatest(name: str, columns: ComparedColumns) -> int | None:
    order = columns.orders[name]
    if order not in {Order.WHOLE, Order.TIME, Order.DURATION}:
        return None
    codes = columns.compared[columns.names.index(name)]
    if not len(codes):
        return 0
    least, greatest = int(np.min(codes)), int(np.max(codes))
    if order is Order.WHOLE and columns.wholes is not None:  # codes are twice the ranks
        return max(abs(int(columns.wholes[code // 2])) for code in (least, greatest))
    return max(abs(least), abs(greatest))
