"""Replacing SQL expressions over single events by attributes, computed before the engines run.

A call of an SQL function, CASE, CAST or an element of a list in WHERE or RETURN becomes an
attribute with a `ComputedName`: `upper(a.city)` is the attribute `upper(city)` of `a`. So
conditions on such values are planned, indexed and explained like those on columns of the events.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Self

from elsinore.errors import QueryError, QuerySemanticError
from elsinore.model.expression import (
    AGGREGATES,
    CONTAINS,
    Attribute,
    Binary,
    Call,
    Column,
    Expression,
    Literal,
    attributes,
    children,
    walk,
    with_attributes,
    with_children,
)
from elsinore.model.spark_sql import plain_name, spark_sql
from elsinore.model.sql_functions import SQL_FUNCTIONS

CASE, CAST, TRY_CAST, ELEMENT = "CASE", "CAST", "TRY_CAST", "ELEMENT"
FORMS = frozenset({CASE, CAST, TRY_CAST, ELEMENT})  # calls with another syntax than f(x)


class ComputedName(str):
    """The name of a computed attribute, with its SQL expression over one event.

    The text is the expression in Spark's SQL. Its attributes have no variable.
    """

    __slots__ = ("expression",)
    expression: Expression

    def __new__(cls, text: str, expression: Expression | None = None) -> Self:
        """Return a name; unpickling sets the expression later."""
        name_object = super().__new__(cls, text)
        if expression is not None:
            name_object.expression = expression
        return name_object

    @classmethod
    def of(cls, expression: Expression) -> ComputedName:
        """Return the name of an expression over one event.

        >>> ComputedName.of(Call("UPPER", (Attribute("", "city"),)))
        'upper(city)'
        """
        return cls(spark_sql(expression, plain_name), expression)


def is_sql(node: Expression) -> bool:
    """Return whether SQL computes a node: a call of a function, CASE, CAST or a list's element.

    >>> is_sql(Call("UPPER", ())), is_sql(Call("ABS", ())), is_sql(Call("COUNT", ()))
    (True, False, False)
    """
    return isinstance(node, Call) and (
        node.function is not None or node.name in FORMS or node.name.lower() in SQL_FUNCTIONS
    )


def has_sql(expression: Expression) -> bool:
    """Return whether SQL computes a part of an expression.

    It is called for every expression of every query, so it tests frequent nodes first.
    """
    pending = [expression]
    while pending:
        node = pending.pop()
        if isinstance(node, Attribute | Literal):
            continue
        if isinstance(node, Binary):
            pending += (node.left, node.right)
        elif is_sql(node):
            return True
        else:
            pending.extend(children(node))
    return False


def with_computed(expression: Expression, query: str, errors: list[QueryError]) -> Expression:
    """Replace each part of an expression that SQL computes by a computed attribute.

    Errors, which contain the name `query`, are added to `errors`.
    """
    if not has_sql(expression):
        return expression
    if _looks_into_another_event(expression):
        parts = (_computed_attribute(part, query, errors) for part in children(expression))
        return with_children(expression, tuple(parts))
    if is_sql(expression):
        return _computed_attribute(expression, query, errors)
    parts = (with_computed(part, query, errors) for part in children(expression))
    return with_children(expression, tuple(parts))


def _looks_into_another_event(node: Expression) -> bool:
    """Return whether a node is ARRAY_CONTAINS of one event's list and another event's value."""
    if not isinstance(node, Call) or node.name != CONTAINS or node.function is not None:
        return False
    events = {(read.variable, read.index.removesuffix("[i]")) for read in attributes(node)}
    return len(events) > 1


def _computed_attribute(expression: Expression, query: str, errors: list[QueryError]) -> Expression:
    """Return the computed attribute for an expression; attributes are returned unchanged."""
    if isinstance(expression, Attribute):
        return expression
    error = _mistake(expression, query)
    if error is not None:
        errors.append(error)
        return expression
    attribute = attributes(expression)[0]
    event_expression = with_attributes(expression, lambda leaf: Attribute("", leaf.name))
    if isinstance(event_expression, Call):
        event_expression = replace(event_expression, span=expression.span)
    return replace(attribute, name=ComputedName.of(event_expression), span=expression.span)


def with_functions(
    expression: Expression, functions: Mapping[str, Callable[..., object]]
) -> Expression:
    """Set the Python functions of calls in an expression; `functions` have upper-case names."""
    if not functions:
        return expression
    parts = tuple(with_functions(part, functions) for part in children(expression))
    expression = with_children(expression, parts)
    if isinstance(expression, Call) and expression.name.upper() in functions:
        return replace(expression, function=functions[expression.name.upper()])
    return expression


def columns_of(name: str) -> tuple[str, ...]:
    """Return the attributes of events that a computed name reads; other names are returned."""
    if not isinstance(name, ComputedName):
        return (name,)
    return tuple(
        dict.fromkeys(read.name for read in attributes(name.expression) if read.name is not None)
    )


def _mistake(node: Expression, query: str) -> QuerySemanticError | None:
    """Return the error for an expression that is not over a single event; None if it is."""
    reads = attributes(node)
    for part in walk(node):
        if isinstance(part, Call) and part.name in AGGREGATES:
            return QuerySemanticError(
                f"{_part_name(node)} is computed for each event, and {part.name} is known at the "
                "end. Return the aggregate, and compute with it in SQL over the results (--then, "
                "results.sql).",
                span=part.span or node.span,
                query=query,
            )
        if isinstance(part, Column):
            example = f"a.{part.name}" if not reads else f"{reads[0].variable}.{part.name}"
            return QuerySemanticError(
                f"Whose '{part.name}'? {_part_name(node)} is computed for each event: write "
                f"{example}.",
                span=part.span or node.span,
                query=query,
            )
        if isinstance(part, Attribute) and part.name is None:
            return QuerySemanticError(
                f"'{part.variable}' is an event: name one of its attributes.",
                span=part.span or node.span,
                query=query,
            )
    if not reads:
        return QuerySemanticError(
            f"{_part_name(node)} reads no event, so that it is one constant: write its value.",
            span=node.span,
            query=query,
        )
    places = {(read.variable, read.index) for read in reads}
    if len(places) > 1:
        first_place, second_place = list(
            dict.fromkeys(f"{read.variable}{read.index}" for read in reads)
        )[:2]
        return QuerySemanticError(
            f"{_part_name(node)} is computed for each event, and this one reads both {first_place} "
            f"and {second_place}. Call it for each of them, and compare or compute with the "
            "values.",
            span=node.span,
            query=query,
        )
    return None


def _part_name(node: Expression) -> str:
    """Return the name of a computed part for messages."""
    name = node.name if isinstance(node, Call) else "This"
    return "An element of a list" if name == ELEMENT else name
