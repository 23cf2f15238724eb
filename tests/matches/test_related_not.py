"""NOT that is related to events of the match: the matches of brute force, and plain examples."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, assume, event, given, settings

import elsinore as el
from elsinore.errors import ElsinoreError
from oracles.matches import TooMany, brute_force
from support.drawn import CASES, Drawn
from support.match_conditions import condition, relation, scopes
from support.matches import (
    STRATEGIES,
    USERS,
    can_be_planned,
    engine_rows,
    looking_up,
    oracle_rows,
    parsed,
    streams,
    units_of,
)

EXAMPLES = int(os.environ.get("ELSINORE_EXAMPLES", "120"))
PATTERNS = (
    "SEQ(A a, NOT C c, B b)",
    "SEQ(A a, B b, NOT C c)",
    "SEQ(NOT C c, B b)",
    "SEQ(A a, NOT C c, B+ b)",
    "SEQ(A+ a, NOT C c, B b, NOT D d)",
    "SEQ(A a, B? b, NOT C c, B e)",
    "(SEQ(A a, NOT C c, B b))+",
    "SEQ(A a, (SEQ(NOT C c, B b) OR B e), C f)",
    "SEQ(A a, NOT C c, B b, C f)",
    "SEQ(A a, NOT C c, B* b, NOT D d, C f)",
    "SEQ(A a, NOT C c, B b, NOT C d, A e)",
)


def drawn_query(drawn: Drawn) -> str:
    text = drawn.one(PATTERNS)
    begin = f"QUERY q RETURN EVENT_IDS(n) AS ids PATTERN {text} WHERE"
    pattern = parsed(f"{begin} [k];").queries[0].pattern
    whole = scopes(pattern)[0]
    window = drawn.one(("", "WITHIN 3", "WITHIN 5", "WITHIN 6 SLIDE 3"))
    end = f"STRATEGY {drawn.one(('SKIP TILL ANY MATCH', *STRATEGIES))} {window};"
    conditions: list[str] = []
    for number in range(drawn.number(1, 3)):
        is_related = number == 0 or drawn.whether()
        more = relation(drawn, whole, pattern) if is_related else condition(drawn, whole)
        if can_be_planned(f"{begin} {' AND '.join([*conditions, f'({more})'])} {end}"):
            conditions.append(f"({more})")
    return f"{begin} {' AND '.join(conditions or ['[k]'])} {end}"


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(CASES)
def test_matches_are_those_of_brute_force(drawn: Drawn) -> None:
    workload = parsed(drawn_query(drawn))
    (query,) = workload.queries
    events, ordered = streams(drawn, pattern=query.pattern), drawn.whether()
    (unit,) = units_of(workload)
    try:
        expected = oracle_rows(brute_force(query, events, ordered=ordered, users=USERS))
    except TooMany:
        assume(False)
    cuts, saves = drawn.cuts(len(events), 3), drawn.whether()
    with looking_up(drawn):
        (rows,) = engine_rows(unit, events, ordered=ordered, cuts=cuts, saves=saves)
    event(f"matches: {bool(rows)}")
    assert rows == expected


PAID = [
    {"time": 0, "type": "Pay", "id": 1},
    {"time": 10, "type": "Pay", "id": 2},
    {"time": 20, "type": "Ship", "id": 2},
    {"time": 95, "type": "Ship", "id": 1},
]


@pytest.mark.parametrize(
    ("where", "ids"),
    [
        ("s.id = p.id", []),
        ("s.id = p.id AND s.time - p.time <= 60 seconds", [1]),
        ("s.id = p.id AND s.time - p.time > 60 seconds", [2]),
        ("s.time - p.time <= 15 seconds", [1]),
    ],
)
def test_paid_and_not_shipped_in_time(where: str, ids: list[int]) -> None:
    text = f"RETURN p.id AS id PATTERN SEQ(Pay p, NOT Ship s) WHERE {where}"
    (table,) = el.Workload.parse(text).run(PAID).values()
    assert table["id"].to_pylist() == ids


def test_a_type_stands_for_each_not_of_it() -> None:
    text = "RETURN a.v AS v PATTERN SEQ(A a, NOT C c, B b, NOT C d, D e) WHERE C.v = a.v"
    events = [
        {"time": n, "type": kind, "v": v}
        for n, (kind, v) in enumerate([("A", 1), ("A", 7), ("B", 5), ("C", 7), ("D", 1)])
    ]
    (table,) = el.Workload.parse(text).run(events).values()
    assert table["v"].to_pylist() == [1]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("SEQ(A a, NOT SEQ(C c, D d), B b) WHERE c.x = a.x", "NOT of a single event"),
        ("SEQ(A a, NOT C c, B b, NOT D d) WHERE c.x = d.x", "stand under different NOTs"),
        ("SEQ(A a, NOT C c, B+ b) WHERE c.x > MAX(b[].x)", "single events"),
        ("(SEQ(A a, NOT C c, B b, D d))+ WHERE c.x = d.x", "repeated group"),
        ("SEQ(A a, NOT C c, B b) WHERE c.x = a.x WITHIN 5 COLLAPSED", "COLLAPSED"),
    ],
)
def test_other_relations_are_rejected_with_the_reason(text: str, part: str) -> None:
    pattern, _, rest = text.partition(" WHERE")
    with pytest.raises(ElsinoreError, match=part):
        el.Workload.parse(f"RETURN a[].x PATTERN {pattern} WHERE{rest}").explain()


def test_explain_names_the_relation() -> None:
    text = "RETURN p.id PATTERN SEQ(Pay p, NOT Ship s) WHERE s.id = p.id WITHIN 60"
    assert "s.id = p.id: " in el.Workload.parse(text).explain()
