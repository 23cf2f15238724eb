"""Named parameters: constants of WHERE and RETURN whose values are passed when queries run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import cast

from elsinore.model.computed import ComputedName
from elsinore.model.expression import (
    Attribute,
    Constant,
    Expression,
    InList,
    Literal,
    children,
    walk,
    with_children,
)
from elsinore.model.query import Query


def parameters_of(query: Query) -> frozenset[str]:
    """Return the names of a query's parameters that have no value yet."""
    return frozenset(
        constant.parameter
        for expression in query.expressions
        for constant in _literals(expression)
        if constant.parameter is not None
    )


def with_parameters(query: Query, values: Mapping[str, Constant]) -> Query:
    """Return a query with its parameters replaced by values.

    Raises QueryError if a value has the wrong type where its parameter is used.
    """
    if not parameters_of(query):
        return query
    return replace(
        query,
        where=tuple(_with_values(condition, values) for condition in query.where),
        returns=tuple(
            replace(item, expression=_with_values(item.expression, values))
            for item in query.returns
        ),
    )


def _literals(expression: Expression) -> Iterator[Literal]:
    for node in walk(expression):
        if isinstance(node, Literal):
            yield node
        elif isinstance(node, Attribute) and isinstance(node.name, ComputedName):
            yield from _literals(node.name.expression)
        elif isinstance(node, InList):
            yield from (choice for choice in node.choices if isinstance(choice, Literal))


def _with_values(node: Expression, values: Mapping[str, Constant]) -> Expression:
    if isinstance(node, Literal):
        return _value(node, values)
    if isinstance(node, Attribute) and isinstance(node.name, ComputedName):
        return replace(node, name=ComputedName.of(_with_values(node.name.expression, values)))
    if isinstance(node, InList):
        choices = tuple(cast("Literal", _value(choice, values)) for choice in node.choices)
        return replace(node, operand=_with_values(node.operand, values), choices=choices)
    return with_children(node, tuple(_with_values(part, values) for part in children(node)))


def _value(constant: Constant, values: Mapping[str, Constant]) -> Constant:
    if isinstance(constant, Literal) and constant.parameter is not None:
        return replace(values[constant.parameter], span=constant.span)
    return constant
