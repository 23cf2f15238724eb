"""Equalities that are a key: the same results with the key as with the conditions."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, assume, event, given, settings

import elsinore as el
from elsinore.errors import ElsinoreError
from elsinore.language import parse_workload
from elsinore.operators.equality_keys import equality_keys, with_equality_keys
from oracles.matches import TooMany, brute_force
from oracles.reference import ReferenceEvent, reference
from support.drawn import CASES, Drawn
from support.matches import oracle_rows, streams

EXAMPLES = int(os.environ.get("ELSINORE_EXAMPLES", "30"))
SETTINGS = settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
PARTS = (
    ("A a", "B b"),
    ("A a", "B+ b"),
    ("A a", "B{2} b"),
    ("A a", "B+ b", "C c"),
    ("B+ b", "C c"),
    ("B{2,} b",),
    ("B b", "B+ d"),
    ("A a", "B b", "B+ d", "C c"),
)
STRATEGIES = ("SKIP TILL ANY MATCH", "SKIP TILL ANY MATCH", "SKIP TILL NEXT MATCH", "CONTIGUOUS")


def drawn_query(drawn: Drawn, returns: str) -> str:
    """Draw a query of which many have equalities of all their variables."""
    parts = drawn.one(PARTS)
    names = [part.split()[-1] for part in parts]
    repeated = [part.split()[-1] for part in parts if part[1] != " "]
    forms = [f"{one}.n = {other}.n" for one in names for other in names if one != other]
    forms += [f"{name}[i].n = {name}[i-1].n" for name in repeated] * 2
    forms += [
        f"{b}[1].n = {a}.n" for b in repeated for a in names if names.index(a) < names.index(b)
    ]
    forms += [f"{name}.v > 1" for name in names]
    where = " AND ".join(drawn.some(forms, most=5, least=1))
    window = drawn.one(("", "WITHIN 4", "WITHIN 6 SLIDE 3"))
    strategy = drawn.one(STRATEGIES)
    pattern = f"SEQ({', '.join(parts)})" if len(parts) > 1 else parts[0]
    return f"QUERY q RETURN {returns} PATTERN {pattern} WHERE {where} STRATEGY {strategy} {window};"


@SETTINGS
@given(CASES)
def test_matches_are_the_same_by_key(drawn: Drawn) -> None:
    (query,) = parse_workload(drawn_query(drawn, "EVENT_IDS(n) AS ids")).queries
    keyed = with_equality_keys(query)
    assume(keyed is not query)
    event(query.strategy.value)
    events = streams(drawn, pattern=query.pattern)
    try:
        expected = oracle_rows(brute_force(query, events))
        assert oracle_rows(brute_force(keyed, events)) == expected
    except TooMany:
        assume(False)


@SETTINGS
@given(CASES)
def test_trends_are_the_same_by_key(drawn: Drawn) -> None:
    (query,) = parse_workload(drawn_query(drawn, "COUNT(*) AS n")).queries
    keyed = with_equality_keys(query)
    assume(keyed is not query)
    happenings = streams(drawn, pattern=query.pattern)
    events = [ReferenceEvent(e.time, e.type, e.attributes) for e in happenings]
    try:
        expected = sorted(reference(query, events), key=repr)
    except ElsinoreError:
        assume(False)
    assert sorted(reference(keyed, events), key=repr) == expected


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("SEQ(A a, B b) WHERE b.k = a.k", ["k"]),
        ("SEQ(A a, B+ b, C c) WHERE b.k = a.k AND a.k = c.k", ["k"]),
        ("SEQ(A a, B+ b, C c) WHERE b[i].k = b[i-1].k AND b[1].k = a.k AND c.k = a.k", ["k"]),
        ("SEQ(A a, B b) WHERE b.k = a.k AND b.g = a.g", ["k", "g"]),
        # not all variables, or not when they are selected
        ("SEQ(A a, B b, C c) WHERE b.k = a.k", []),
        ("SEQ(A a, B b, C c) WHERE c.k = a.k AND c.k = b.k", []),
        ("SEQ(A+ a, B b) WHERE b.k = a.k", []),
        ("SEQ(A a, B+ b) WHERE b[1].k = a.k", []),
        # a variable that may be missing, and an event by itself, may have a null
        ("SEQ(A a, B? b) WHERE b.k = a.k", []),
        ("B+ b WHERE b[i].k = b[i-1].k", []),
        ("SEQ(A a, B b) WHERE b.k = a.g", []),
        ("SEQ(A a, B b) WHERE b.k = a.k STRATEGY CONTIGUOUS", []),
    ],
)
def test_equalities_of_all_variables_are_a_key(text: str, keys: list[str]) -> None:
    for returns in ("COUNT(*)", "EVENT_IDS(k)"):
        (query,) = parse_workload(f"RETURN {returns} PATTERN {text};").queries
        assert list(equality_keys(query)) == keys


def test_numbers_of_matches_are_not_counted_by_such_a_key() -> None:
    text = "RETURN MATCH_NUMBER() AS n PATTERN SEQ(A a, B b) WHERE b.k = a.k"
    events = [{"time": t, "type": "AABB"[t], "k": t % 2} for t in range(4)]
    (table,) = el.Workload.parse(text).run(events).values()
    assert table["n"].to_pylist() == [1, 2]


@pytest.mark.parametrize("clause", ["AFTER MATCH SKIP PAST LAST EVENT", "SUPPRESS 10 seconds"])
def test_clauses_that_work_key_by_key_are_about_the_whole_stream(clause: str) -> None:
    text = "RETURN a.k AS k PATTERN SEQ(A a, B b) WHERE {} STRATEGY SKIP TILL NEXT MATCH {}"
    events = [{"time": t, "type": "AABB"[t], "k": t % 2} for t in range(4)]
    found = []
    for where in ("b.k = a.k", "[k]"):
        (table,) = el.Workload.parse(text.format(where, clause)).run(events).values()
        found.append(table["k"].to_pylist())
    assert found == [[0], [0, 1]]


def test_explain_shows_the_key() -> None:
    text = "QUERY q RETURN COUNT(*) PATTERN SEQ(A a, B b) WHERE b.k = a.k"
    explained = el.Workload.parse(text).explain()
    assert "partitioned by k" in explained
    assert "b.k = a.k: the same as [k] (in q)." in explained
