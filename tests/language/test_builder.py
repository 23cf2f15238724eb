"""The Python builder makes the nodes that the text makes."""

from __future__ import annotations

import copy
import pickle
from datetime import datetime, timedelta, timezone

import numpy as np
import pytest

from elsinore.errors import QuerySemanticError, QuerySyntaxError
from elsinore.language import (
    column,
    count,
    event,
    function,
    log2_count,
    no,
    parse_expression,
    parse_pattern,
    parse_query,
    query,
    same,
    seq,
)
from elsinore.language.builder import QueryBuilder
from elsinore.language.patterns import PatternTerm
from elsinore.language.terms import Term
from elsinore.model import Query, ReturnItem, Strategy

R, T, P = event("Request", "R"), event("Travel", "T"), event("Pickup", "P")
a, b, c = event("A", "a"), event("B", "b"), event("C", "c")


def test_the_first_query_of_the_design() -> None:
    built = (
        query("q1")
        .match(seq(R, T.plus(), no(P)))
        .where(same("driver", "rider"), T.speed < 10)
        .group_by("district")
        .within("30 minutes", slide="5 minutes")
        .select("district", count().alias("trips"), T.duration.sum(), T.speed.avg())
    )
    assert built == parse_query(
        "QUERY q1 RETURN district, COUNT(*) AS trips, SUM(T.duration), AVG(T.speed) "
        "PATTERN SEQ(Request R, Travel T+, NOT Pickup P) "
        "WHERE [driver, rider] AND T.speed < 10 GROUP BY district "
        "WITHIN 30 minutes SLIDE 5 minutes"
    )


def test_variances_have_methods() -> None:
    built = (
        query("q")
        .match(T.plus())
        .select(T.v.variance(), T.v.stddev(), T.v.var_pop(), T.v.stddev_pop())
    )
    assert built == parse_query(
        "QUERY q RETURN VARIANCE(T.v), STDDEV(T.v), VAR_POP(T.v), STDDEV_POP(T.v) PATTERN Travel T+"
    )


def test_the_second_query_of_the_design() -> None:
    start, load, end = event("ReducerStart", "a"), event("LoadStd", "b"), event("ReducerEnd", "c")
    built = (
        query("q6")
        .match(seq(start, load.plus(), end))
        .where(same("task_id"), load.current.val >= load.previous.val)
        .strategy("skip till any match")
        .within("10 minutes")
        .select(start.task_id, load.all.count(), load.all.val.max())
    )
    assert built == parse_query(
        "QUERY q6 RETURN a.task_id, COUNT(b[]), MAX(b[].val) "
        "PATTERN SEQ(ReducerStart a, LoadStd+ b[], ReducerEnd c) "
        "WHERE [task_id] AND b[i].val >= b[i-1].val "
        "STRATEGY SKIP TILL ANY MATCH WITHIN 10 minutes"
    )


def test_a_variable_has_its_types_name_unless_another_is_given() -> None:
    assert event("Travel").node == parse_pattern("Travel")


@pytest.mark.parametrize(
    ("built", "text"),
    [
        (a.plus(), "A a+"),
        (a.star(), "A a*"),
        (a.optional(), "A a?"),
        (a.times(2), "A a{2}"),
        (a.times(2, 5), "A a{2,5}"),
        (a.times(2, None), "A a{2,}"),
        (seq(a, b.plus()).plus(), "(SEQ(A a, B b+))+"),
        (a | b | c, "A a OR B b OR C c"),
        (a | (b | c), "A a OR (B b OR C c)"),
        (a & b & c, "A a AND B b AND C c"),
        (seq(a, no(b | c)), "SEQ(A a, NOT (B b OR C c))"),
        (seq(a.node, b), "SEQ(A a, B b)"),
    ],
)
def test_patterns(built: PatternTerm, text: str) -> None:
    assert built.node == parse_pattern(text)


@pytest.mark.parametrize(
    ("built", "text"),
    [
        ((a.x < 1) & (a.y >= 2.5) | ~(a.z == "s"), "a.x < 1 AND a.y >= 2.5 OR NOT a.z = 's'"),
        ((a.x != True) & (a.y > b.y), "a.x != TRUE AND a.y > b.y"),  # noqa: E712
        (a.x <= None, "a.x <= NULL"),
        (1 + a.x * 2 - 3 / a.y, "1 + a.x * 2 - 3 / a.y"),
        ((5 - a.x) % 2 - (a.x - 1), "(5 - a.x) % 2 - (a.x - 1)"),
        (2 * a.x % (7 % a.y), "2 * a.x % (7 % a.y)"),
        (-a.x, "-a.x"),
        (abs(a.x) + a.y.abs(), "ABS(a.x) + ABS(a.y)"),
        (a.x.is_null(), "a.x IS NULL"),
        (a.x.is_not_null(), "a.x IS NOT NULL"),
        (a.x.is_in([1, "two"]), "a.x IN (1, 'two')"),
        (~a.x.is_in([1]), "a.x NOT IN (1)"),
        (a.x.between(1, 2), "a.x BETWEEN 1 AND 2"),
        (a["odd name"] < a["count"], 'a."odd name" < a."count"'),
        (b.current.v > b.earlier.v.max(), "b[i].v > MAX(b[1..i-1].v)"),
        (b.last["v"] > 2 * b.all.v.avg(), "b[b.LEN].v > 2 * AVG(b[].v)"),
        (b.first.v < b.all.v.min(), "b[1].v < MIN(b[].v)"),
        (b.all.v.sum() / b.all.v.count(), "SUM(b[].v) / COUNT(b[].v)"),
        (b.earlier.count() < 3, "COUNT(b[1..i-1]) < 3"),
        (function("slope", b.all.v, 2) > 0, "SLOPE(b[].v, 2) > 0"),
        (log2_count(), "LOG2(COUNT(*))"),
        (count(a), "COUNT(a)"),
        (count(b.all), "COUNT(b[])"),
        (column("district"), "district"),
        (a.x < np.int64(3), "a.x < 3"),
        (a.x < np.float64(0.5), "a.x < 0.5"),
    ],
)
def test_expressions(built: Term, text: str) -> None:
    assert built.node == parse_expression(text)


def test_every_clause() -> None:
    built = (
        query("q")
        .match(seq(a, b.plus()))
        .where(a.x < 1)
        .where((b.x < 2) & (b.y < 3), same("k"))
        .strategy(Strategy.NEXT)
        .group_by("g")
        .group_by("h")
        .within(timedelta(hours=1), slide=1.5, origin="2024-01-01T00:00:00")
        .confidence(0.5)
        .collapsed()
        .limit(3)
        .select("g", b.all.alias("all"), b.all)
    )
    assert built == parse_query(
        "QUERY q RETURN g, b[] AS all, b[] PATTERN SEQ(A a, B b+) "
        "WHERE [k] AND a.x < 1 AND b.x < 2 AND b.y < 3 STRATEGY SKIP TILL NEXT MATCH "
        "GROUP BY g, h WITHIN 1 hour SLIDE 1.5 ORIGIN '2024-01-01T00:00:00' "
        "CONFIDENCE >= 0.5 COLLAPSED LIMIT 3"
    )


@pytest.mark.parametrize(
    ("origin", "microseconds"),
    [
        (0.1, 100_000),
        (-2, -2_000_000),
        (datetime(1970, 1, 2), 86_400_000_000),
        (datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))), 0),
    ],
)
def test_an_origin_is_a_moment_or_a_number_of_seconds(
    origin: float | datetime, microseconds: int
) -> None:
    built = query("q").within(5, origin=origin)
    assert built.window is not None
    assert built.window.origin == microseconds


def small(builder: QueryBuilder) -> Query:
    return builder.match(a).select(count())


def test_a_builder_is_never_changed() -> None:
    base = query("q")
    wide, narrow = base.within("1 hour"), base.within("1 minute")
    assert small(wide) != small(narrow)
    assert small(base).window is None


def test_what_is_wrong_is_refused() -> None:
    with pytest.raises(QuerySemanticError, match="call match"):
        query("q").select(count())
    with pytest.raises(QuerySyntaxError, match="Did you mean 'minutes'"):
        query("q").within("30 minuts")
    with pytest.raises(QuerySyntaxError, match="not a length of time"):
        query("q").within("soon")
    with pytest.raises(QuerySyntaxError, match="fraction"):
        query("q").within(1e-10)
    with pytest.raises(QuerySyntaxError, match="not a timestamp"):
        query("q").within(5, origin="now")
    with pytest.raises(QuerySemanticError, match="Did you mean 'SKIP TILL NEXT MATCH'"):
        query("q").strategy("skip till nxt match")
    with pytest.raises(QuerySemanticError, match="Did you mean 'a'"):
        query("q").match(a).where(event("A", "aa").x < 1).select(count())


def test_a_condition_is_neither_true_nor_false() -> None:
    with pytest.raises(TypeError, match="Join conditions by &"):
        bool(a.x < 1)
    with pytest.raises(TypeError, match=r"not .*list"):
        _ = a.x < [1]
    assert (a.x < datetime(2024, 1, 1)).node == (a.x < "2024-01-01T00:00:00").node
    with pytest.raises(TypeError):
        hash(a.x)


def test_terms_can_be_copied_and_pickled() -> None:
    for term in (a, b.all, a.x, a.plus()):
        for other in (copy.deepcopy(term), pickle.loads(pickle.dumps(term))):
            assert repr(other) == repr(term)
    with pytest.raises(AttributeError):
        _ = a.__wrapped__


def test_an_alias_makes_a_column() -> None:
    assert count().alias("trips") == ReturnItem(count().node, "trips")
