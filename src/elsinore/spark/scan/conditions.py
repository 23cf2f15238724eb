"""Simple conditions of a data frame's filter, as Arrow expressions that mean the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow.compute as pc

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "EqualTo": lambda column, value: column == value,
    "LessThan": lambda column, value: column < value,
    "LessThanOrEqual": lambda column, value: column <= value,
    "GreaterThan": lambda column, value: column > value,
    "GreaterThanOrEqual": lambda column, value: column >= value,
}
_SWAPPED = {
    "EqualTo": "EqualTo",
    "LessThan": "GreaterThan",
    "LessThanOrEqual": "GreaterThanOrEqual",
    "GreaterThan": "LessThan",
    "GreaterThanOrEqual": "LessThanOrEqual",
}
_WHOLE = {"byte", "short", "integer", "long"}
_FLOATING = {"float", "double"}


class NotSimpleError(Exception):
    """A data frame's plan is more than a scan of files with simple conditions."""


@dataclass(frozen=True, slots=True)
class Node:
    """An expression or an operator of Spark's plan, as its JSON has it."""

    kind: str
    fields: Mapping[str, Any]
    children: tuple[Node, ...]


def tree_of(flat: list[dict[str, Any]]) -> Node:
    """Return the tree that Spark writes as a list: each node before its children."""

    def build(place: int) -> tuple[Node, int]:
        fields = flat[place]
        place += 1
        children = []
        for _ in range(fields["num-children"]):
            child, place = build(place)
            children.append(child)
        return Node(fields["class"].rpartition(".")[2], fields, tuple(children)), place

    return build(0)[0]


def as_arrow(condition: Node, name_of: Callable[[Node], str]) -> Any:
    """Return a condition as an Arrow expression; `name_of` gives the name of an attribute's column.

    An event is kept where the expression is true, as in SQL. Unlike in SQL at large, and as in
    Spark, NaN equals itself and is greater than all else. Raises NotSimpleError where a
    condition is anything but comparisons of columns with constants, IN, IS NULL, AND, OR and NOT.
    """
    match condition.kind, condition.children:
        case "And", (left, right):
            return as_arrow(left, name_of) & as_arrow(right, name_of)
        case "Or", (left, right):
            return as_arrow(left, name_of) | as_arrow(right, name_of)
        case "Not", (operand,):
            return ~as_arrow(operand, name_of)
        case "IsNotNull", (operand,):
            return pc.field(name_of(operand)).is_valid()
        case "IsNull", (operand,):
            return pc.field(name_of(operand)).is_null()
        case "In", (operand, *choices):
            parts = [_compared("EqualTo", operand, choice, name_of) for choice in choices]
            found = parts[0]
            for part in parts[1:]:
                found = found | part
            return found
        case kind, (left, right) if kind in _COMPARE:
            if left.kind == "Literal":
                return _compared(_SWAPPED[kind], right, left, name_of)
            return _compared(kind, left, right, name_of)
        case _:
            raise NotSimpleError(condition.kind)


def _compared(kind: str, left: Node, right: Node, name_of: Callable[[Node], str]) -> Any:
    """Return a comparison of a column with a constant of the same type."""
    of = left.fields.get("dataType")
    if left.kind != "AttributeReference" or right.kind != "Literal":
        raise NotSimpleError(f"{left.kind} {kind} {right.kind}")
    if of != right.fields["dataType"] or right.fields["value"] is None:
        raise NotSimpleError(f"{of} {kind} {right.fields['dataType']}")
    column, value = pc.field(name_of(left)), right.fields["value"]
    if of in _WHOLE:
        return _COMPARE[kind](column, int(value))
    if of == "string":
        return _COMPARE[kind](column, str(value))
    if of in _FLOATING and str(value).lower() not in {"nan", "infinity", "-infinity"}:
        found = _COMPARE[kind](column, float(value))
        return found | pc.is_nan(column) if kind.startswith("Greater") else found
    raise NotSimpleError(f"a constant of type {of}")
