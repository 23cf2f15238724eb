"""NOT related to the events around its gap, in trend queries, compared with brute force."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import elsinore as el
from elsinore.errors import ElsinoreError
from elsinore.local import run
from elsinore.model import (
    Attribute,
    Binary,
    Event,
    Negation,
    Operator,
    Query,
    Window,
    Workload,
)
from elsinore.model import pattern as pt
from elsinore.model.window import SECOND
from elsinore.operators import plan
from elsinore.runtime.options import RunOptions
from oracles.reference import ReferenceEvent
from support.drawn import CASES, Drawn
from support.live import check_live_is_batch
from support.trends import Feature, table_of, trend_cases
from trends.test_against_reference import check
from trends.test_everything import settled

FEATURES = (Feature.NEGATION, Feature.STRATEGIES, Feature.ADJACENT)
often = settings(
    max_examples=int(os.environ.get("ELSINORE_EXAMPLES", "12")),
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
WINDOW = Window(5 * SECOND)  # of queries drawn without one where streams need one
TRIES = 4  # conditions drawn for a query: most of some patterns are refused
OPERATORS = (Operator.EQ, Operator.EQ, Operator.LT, Operator.GE, Operator.NE)


def names_under_not(query: Query) -> list[str]:
    """Return the variables and types of the single events under NOT."""
    return [
        name
        for node in pt.walk(query.pattern)
        if isinstance(node, Negation) and isinstance(node.pattern, Event)
        for name in (node.pattern.variable, node.pattern.type)
    ]


def related(drawn: Drawn, query: Query) -> Query | None:
    """Return a query with one or two conditions that relate an event under NOT to others.

    None if the query has no such event, or several drawn conditions are refused.
    """
    negated = names_under_not(query)
    positive = [event.variable for event in pt.positive_events(query.pattern)]
    for _ in range(TRIES if negated else 0):
        where = query.where
        for _ in range(drawn.number(1, 2)):
            name = drawn.one(("k", "v", "time"))
            left = Attribute(drawn.one(negated), name)
            right = Attribute(drawn.one(positive), name)
            where += (Binary(drawn.one(OPERATORS), left, right),)
        changed = replace(query, where=where)
        try:
            plan(Workload((changed,)))
        except ElsinoreError:
            continue
        if settled(changed):
            return changed
    return None


def related_of(drawn: Drawn, queries: Sequence[Query]) -> Query:
    """Return the first of some queries, in a drawn order, that can have related conditions."""
    for query in drawn.some(queries, least=len(queries)):
        changed = related(drawn, query)
        if changed is not None:
            return changed
    assume(False)
    raise AssertionError


@often
@given(trend_cases(exact=None, features=FEATURES), CASES, st.booleans())
def test_trends_are_those_of_brute_force(
    case: tuple[Workload, list[ReferenceEvent]], drawn: Drawn, exact: bool
) -> None:
    workload, events = case
    query = related_of(drawn, workload.queries)
    results = run(plan(Workload((query,), exact)), table_of(events), RunOptions())
    check(query, events, results[query.name], exact=exact)


@often
@given(trend_cases(exact=None, features=FEATURES), CASES)
def test_live_is_batch(case: tuple[Workload, list[ReferenceEvent]], drawn: Drawn) -> None:
    workload, events = case
    windows = [replace(query, window=query.window or WINDOW) for query in workload.queries]
    check_live_is_batch(el.Workload(related_of(drawn, windows)), table_of(events), drawn)


EVENTS = [
    {"time": n, "type": kind, "k": k}
    for n, (kind, k) in enumerate([("A", 1), ("C", 2), ("B", 1), ("C", 1), ("B", 3)])
]


@pytest.mark.parametrize(
    ("pattern", "where", "count"),
    [
        ("SEQ(A a, NOT C c, B b)", "c.k = a.k", 1),
        ("SEQ(A a, NOT C c, B b)", "c.k = b.k", 2),
        ("SEQ(A a, NOT C c, B b)", "c.k = a.k AND b.time - c.time > 2 seconds", 2),
        ("SEQ(B b, NOT C c)", "c.k = b.k", 1),
        ("SEQ(B b, NOT C c)", "c.time - b.time <= 1 second", 1),
        ("SEQ(NOT C c, B b)", "c.k < b.k", 1),
        ("SEQ(A a, (SEQ(NOT C c, B b))+)", "c.k = b.k", 3),
        ("SEQ(A a, NOT C c, B b, NOT C d)", "C.k = b.k", 1),
        ("SEQ(A a, NOT C c, B b, NOT C d)", "C.k > b.k", 1),
    ],
)
def test_examples(pattern: str, where: str, count: int) -> None:
    text = f"QUERY q RETURN COUNT(*) AS n PATTERN {pattern} WHERE {where}"
    for exact in ("", "EXACT; "):
        rows = el.Workload.parse(exact + text).run(pa.Table.from_pylist(EVENTS))["q"].to_pylist()
        assert [row["n"] for row in rows] == [count]


@pytest.mark.parametrize(
    ("pattern", "where", "message"),
    [
        ("SEQ(A a, B b, NOT C c)", "c.k = a.k", "a is not always next to that gap"),
        ("SEQ(A a, NOT SEQ(C c, D d), B b)", "c.k = a.k", "Only a NOT of a single event"),
        ("SEQ(A a+, NOT C c, B b)", "c.k = a[1].k", "compared with the events around the gap"),
        ("SEQ(A a, NOT C c, B b, NOT C d)", "C.k = a.k", "'d' stands under NOT, and a is not"),
    ],
)
def test_other_relations_are_rejected_with_the_reason(
    pattern: str, where: str, message: str
) -> None:
    workload = el.Workload.parse(f"RETURN COUNT(*) PATTERN {pattern} WHERE {where}")
    with pytest.raises(ElsinoreError, match=message):
        workload.run([*EVENTS, {"time": 9, "type": "D", "k": 0}])
