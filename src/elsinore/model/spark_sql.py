"""Rendering expressions over one event as Spark's SQL."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from elsinore.model.expression import (
    Attribute,
    Binary,
    Call,
    Column,
    Duration,
    Expression,
    InList,
    IsNull,
    Like,
    Literal,
    Negative,
    Not,
)

_PLAIN = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)


def spark_sql(node: Expression, column: Callable[[str], str]) -> str:
    """Return an expression in Spark's SQL; `column` writes the name of an attribute.

    Numbers with a point are doubles, `x / y` is a division of doubles.

    >>> spark_sql(Call("COALESCE", (Attribute("", "x"), Literal(0.5))), plain_name)
    'coalesce(x, 0.5D)'
    """

    def write(part: Expression) -> str:
        return spark_sql(part, column)

    match node:
        case Literal(value):
            return _constant(value)
        case Duration(nanoseconds):
            return f"INTERVAL '{nanoseconds // 1_000}' MICROSECOND"
        case Attribute(_, str(name)):
            return column(name)
        case Not(operand):
            return f"(NOT {write(operand)})"
        case Negative(operand):
            return f"(- {write(operand)})"
        case IsNull(operand):
            return f"({write(operand)} IS NULL)"
        case InList(operand, choices):
            return f"({write(operand)} IN ({', '.join(map(write, choices))}))"
        case Like(operand, pattern):
            return f"({write(operand)} LIKE {_constant(pattern)})"
        case Binary(operator, left, right):
            return f"({write(left)} {operator.value} {write(right)})"
        case Call():
            return _call(node, write)
        case Column() | Attribute():
            raise TypeError(f"not an expression over one event: {node}")


def _call(node: Call, write: Callable[[Expression], str]) -> str:
    match node:
        case Call("CASE", arguments):
            *branches, default = arguments if len(arguments) % 2 else (*arguments, Literal(None))
            pairs = zip(branches[::2], branches[1::2], strict=True)
            whens = " ".join(f"WHEN {write(when)} THEN {write(then)}" for when, then in pairs)
            return f"(CASE {whens} ELSE {write(default)} END)"
        case Call("CAST" | "TRY_CAST" as name, (operand, Literal(kind))):
            return f"{name}({write(operand)} AS {kind})"
        case Call("ELEMENT", (operand, index)):
            return f"{write(operand)}[{write(index)}]"
        case Call(name, arguments):
            function_name = name if node.function is not None else name.lower()
            return f"{function_name}({', '.join(map(write, arguments))})"


def plain_name(name: str) -> str:
    """Return an attribute's name, in backticks if SQL would not parse it as a name without.

    >>> plain_name("user.id"), plain_name("odd name")
    ('user.id', '`odd name`')
    """
    return name if _PLAIN.fullmatch(name) else quoted(name)


def quoted(name: str) -> str:
    """Return a column's name in backticks.

    >>> quoted("a.b")
    '`a.b`'
    """
    return f"`{name.replace('`', '``')}`"


def _constant(value: bool | float | str | None) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case str():
            return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
        case int():
            return str(value)
        case _ if math.isfinite(value):
            return f"{value!r}D"
        case _:
            return f"CAST('{value}' AS DOUBLE)"
