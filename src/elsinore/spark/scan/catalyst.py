"""Converting expressions of Spark's plans, as JSON, to simple conditions.

The JSON lacks sets, and renders some constants in the session's time zone; these are read from the
plan's Java objects instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

from elsinore.model.expression import Operator
from elsinore.spark.scan.conditions import (
    Comparison,
    Condition,
    Conjunction,
    Disjunction,
    IsIn,
    Negation,
    NotSimpleError,
    NullTest,
    StartsWith,
)

_ORDERED = {
    "LessThan": Operator.LT,
    "LessThanOrEqual": Operator.LE,
    "GreaterThan": Operator.GT,
    "GreaterThanOrEqual": Operator.GE,
}
_SWAPPED = {
    "EqualTo": "EqualTo",
    "LessThan": "GreaterThan",
    "LessThanOrEqual": "GreaterThanOrEqual",
    "GreaterThan": "LessThan",
    "GreaterThanOrEqual": "LessThanOrEqual",
}
_TYPES = {
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_UNTOLD = {"nan", "infinity", "-infinity"}
MOST_CHOICES = 1_000  # of a set; they are fetched from Java one by one


@dataclass(frozen=True, slots=True)
class Node:
    """An expression or an operator of Spark's plan, from its JSON.

    `java` is the Java object of the expression, if known.
    """

    kind: str
    fields: Mapping[str, Any]
    children: tuple[Node, ...]
    java: Any = None


def tree_of(flat: list[dict[str, Any]], java: Any = None) -> Node:
    """Return the tree of Spark's JSON, a list with each node before its children."""

    def build(place: int, java: Any) -> tuple[Node, int]:
        fields = flat[place]
        place += 1
        children = []
        java_children = java.children() if java is not None and fields["num-children"] else None
        for number in range(fields["num-children"]):
            child, place = build(
                place, None if java_children is None else java_children.apply(number)
            )
            children.append(child)
        return Node(fields["class"].rpartition(".")[2], fields, tuple(children), java), place

    return build(0, java)[0]


def condition_of(node: Node, name_of: Callable[[Node], str]) -> Condition:
    """Return an expression as a condition; `name_of` returns the column of an attribute.

    Raises NotSimpleError for all but comparisons of columns with constants, IN, LIKE with a prefix,
    IS NULL, AND, OR and NOT.
    """
    match node.kind, node.children:
        case "And", (left, right):
            return Conjunction(condition_of(left, name_of), condition_of(right, name_of))
        case "Or", (left, right):
            return Disjunction(condition_of(left, name_of), condition_of(right, name_of))
        case "Not", (operand,):
            return Negation(condition_of(operand, name_of))
        case "IsNotNull", (operand,):
            return Negation(NullTest(name_of(operand)))
        case "IsNull", (operand,):
            return NullTest(name_of(operand))
        case "In", (operand, *choices):
            values = tuple(_constant(operand, choice) for choice in choices)
            return IsIn(name_of(operand), values)
        case "InSet", (operand,):
            return IsIn(name_of(operand), _set(node, operand))
        case "StartsWith", (operand, Node("Literal") as prefix):
            return StartsWith(name_of(operand), str(_constant(operand, prefix)))
        case "EqualNullSafe", (Node("AttributeReference") as operand, Node("Literal") as value):
            name = name_of(operand)
            return Conjunction(Negation(NullTest(name)), IsIn(name, (_constant(operand, value),)))
        case kind, (Node("Literal") as value, operand) if kind in _SWAPPED:
            return _comparison(_SWAPPED[kind], operand, value, name_of)
        case kind, (operand, value) if kind in _SWAPPED:
            return _comparison(kind, operand, value, name_of)
        case "AttributeReference", () if node.fields["dataType"] == "boolean":
            return IsIn(name_of(node), (pa.scalar(True),))
        case _:
            raise NotSimpleError(node.kind)


def _comparison(kind: str, left: Node, right: Node, name_of: Callable[[Node], str]) -> Condition:
    """Return a comparison of a column with a constant of the same type."""
    value = _constant(left, right)
    if kind == "EqualTo":
        return IsIn(name_of(left), (value,))
    return Comparison(name_of(left), _ORDERED[kind], value)


def _constant(column: Node, value: Node) -> pa.Scalar:
    type_name = column.fields.get("dataType")
    if column.kind != "AttributeReference" or value.kind != "Literal":
        raise NotSimpleError(f"a condition has a {value.kind} beside a {column.kind}")
    if type_name != value.fields["dataType"] or value.fields["value"] is None:
        raise NotSimpleError(f"{type_name} meets {value.fields['dataType']}")
    if type_name in {"date", "timestamp", "timestamp_ntz"}:
        return _scalar(type_name, value.java.value())
    return _scalar(type_name, value.fields["value"])


def _set(node: Node, operand: Node) -> tuple[pa.Scalar, ...]:
    """Return the constants of a long IN, which Spark represents as a set."""
    if operand.kind != "AttributeReference":
        raise NotSimpleError(f"a condition computes a {operand.kind}")
    constants_set = node.java.hset()
    if constants_set.size() > MOST_CHOICES:
        raise NotSimpleError(f"IN has {constants_set.size()} constants")
    values = constants_set.toSeq()
    constants = [values.apply(n) for n in range(constants_set.size())]
    if any(value is None for value in constants):
        raise NotSimpleError("IN has a null")
    return tuple(_scalar(operand.fields["dataType"], value) for value in constants)


def _scalar(type_name: Any, value: Any) -> pa.Scalar:
    """Return a constant of one of Spark's types from a Java number or a text."""
    kind = _TYPES.get(type_name)
    if type_name == "boolean":
        return pa.scalar(str(value).lower() == "true")
    if type_name == "string":
        return pa.scalar(str(value))
    if isinstance(type_name, str) and type_name.startswith("decimal("):
        precision, _, scale = type_name[8:-1].partition(",")
        return pa.scalar(Decimal(str(value)), pa.decimal128(int(precision), int(scale)))
    if kind is None:
        raise NotSimpleError(f"a constant of type {type_name}")
    if pa.types.is_floating(kind):
        if str(value).lower() in _UNTOLD:
            raise NotSimpleError(f"a constant is {value}")
        return pa.scalar(float(value), kind)
    ticks = pa.int32() if pa.types.is_date(kind) else pa.int64()
    if pa.types.is_temporal(kind):
        return pa.scalar(int(value), ticks).cast(kind)
    return pa.scalar(int(value), kind)
