"""Constant durations converted to the units of numeric time columns.

In `b.time - a.time <= 5 minutes`, 5 minutes is 300 if the column `time` counts seconds, and
300,000,000 if it counts microseconds. Engines then compute with plain numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from elsinore.model.expression import (
    Attribute,
    Binary,
    Column,
    Duration,
    Expression,
    Literal,
    Operator,
    attributes,
    children,
    walk,
    with_children,
)
from elsinore.model.query import Query
from elsinore.model.schema import AttributeKind
from elsinore.model.types import DURATION, NUMBER, TICK_SPAN, TICKS, kind_of

Units = Mapping[str, int]  # attributes that are numeric times: the nanoseconds of their unit


def has_durations(query: Query) -> bool:
    """Return whether a query has a constant duration in its conditions or columns."""
    return any(isinstance(node, Duration) for whole in query.expressions for node in walk(whole))


def durations_as_numbers(query: Query, units: Units) -> Query:
    """Return a query with its durations beside numeric times converted to numbers of their units.

    >>> from elsinore.language import parse_workload, render
    >>> text = "RETURN a.x PATTERN SEQ(A a, B b) WHERE b.time - a.time <= 5 minutes;"
    >>> query = durations_as_numbers(parse_workload(text).queries[0], {"time": 1_000_000})
    >>> render(query.where[0])
    'b.time - a.time <= 300000'
    """
    if not units or not has_durations(query):
        return query
    return replace(
        query,
        where=tuple(_in_units(condition, units) for condition in query.where),
        returns=tuple(
            replace(item, expression=_in_units(item.expression, units)) for item in query.returns
        ),
        is_valid=True,
        instance_of=None,
    )


def _in_units(node: Expression, units: Units) -> Expression:
    parts = tuple(_in_units(child, units) for child in children(node))
    if parts != children(node):
        node = with_children(node, parts)
    match node:
        case Binary(operator, left, right) if operator is not Operator.MUL:
            left_kind, right_kind = _kind(left, units), _kind(right, units)
            if left_kind in {TICKS, TICK_SPAN} and right_kind is DURATION:
                return replace(node, right=_as_number(right, _unit(left, units)))
            if right_kind in {TICKS, TICK_SPAN} and left_kind is DURATION:
                return replace(node, left=_as_number(left, _unit(right, units)))
    return node


def _kind(node: Expression, units: Units) -> AttributeKind | None:
    """Return the kind of an expression, assuming that all other attributes are numbers."""

    def kinds(read: Attribute | Column) -> AttributeKind | None:
        return TICKS if read.name in units else NUMBER

    return kind_of(node, kinds)


def _unit(node: Expression, units: Units) -> int:
    return next(units[read.name] for read in attributes(node) if read.name and read.name in units)


def _as_number(node: Expression, unit: int) -> Expression:
    """Return an expression with its constant durations replaced by numbers of a unit."""
    if isinstance(node, Duration):
        number = Fraction(node.nanoseconds, unit)
        whole = number.denominator == 1
        value = int(number) if whole else float(number)
        return Literal(value, node.span, is_ticks=True)
    return with_children(node, tuple(_as_number(child, unit) for child in children(node)))
