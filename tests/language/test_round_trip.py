"""Rendered text is read back as the same nodes."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, given, settings

from elsinore.language import (
    parse_expression,
    parse_pattern,
    parse_query,
    parse_workload,
    render,
)
from elsinore.model import Expression, Kind, Literal, Pattern, Query, Workload
from support.queries import expressions, literals, match_queries, patterns, trend_queries, workloads


def drawn(number: int) -> settings:
    """Return how a test draws so many examples, or what the environment asks for."""
    examples = int(os.environ.get("ELSINORE_EXAMPLES", str(number)))
    return settings(suppress_health_check=list(HealthCheck), max_examples=examples)


@drawn(150)
@given(expressions())
def test_any_expression_is_read_back(expression: Expression) -> None:
    assert parse_expression(render(expression)) == expression


@drawn(200)
@given(literals)
def test_any_literal_is_read_back(literal: Literal) -> None:
    assert parse_expression(render(literal)) == literal


@drawn(100)
@given(patterns())
def test_any_pattern_is_read_back(pattern: Pattern) -> None:
    assert parse_pattern(render(pattern)) == pattern


@drawn(40)
@given(trend_queries())
def test_any_trend_query_is_read_back(query: Query) -> None:
    assert query.kind is Kind.TRENDS
    assert parse_query(render(query)) == query


@drawn(40)
@given(match_queries())
def test_any_match_query_is_read_back(query: Query) -> None:
    assert query.kind is Kind.MATCHES
    assert parse_query(render(query)) == query


@drawn(15)
@given(workloads())
def test_any_workload_is_read_back(workload: Workload) -> None:
    assert parse_workload(render(workload)) == workload
