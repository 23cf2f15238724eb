"""Rendered text is read back as the same nodes."""

from __future__ import annotations

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

SLOW = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=60)


@settings(SLOW, max_examples=300)
@given(expressions())
def test_any_expression_is_read_back(expression: Expression) -> None:
    assert parse_expression(render(expression)) == expression


@settings(SLOW, max_examples=200)
@given(literals)
def test_any_literal_is_read_back(literal: Literal) -> None:
    assert parse_expression(render(literal)) == literal


@settings(SLOW, max_examples=200)
@given(patterns())
def test_any_pattern_is_read_back(pattern: Pattern) -> None:
    assert parse_pattern(render(pattern)) == pattern


@SLOW
@given(trend_queries())
def test_any_trend_query_is_read_back(query: Query) -> None:
    assert query.kind is Kind.TRENDS
    assert parse_query(render(query)) == query


@SLOW
@given(match_queries())
def test_any_match_query_is_read_back(query: Query) -> None:
    assert query.kind is Kind.MATCHES
    assert parse_query(render(query)) == query


@settings(SLOW, max_examples=30)
@given(workloads())
def test_any_workload_is_read_back(workload: Workload) -> None:
    assert parse_workload(render(workload)) == workload
