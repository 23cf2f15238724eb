"""NOT that is related to events of the match: the matches of brute force, and plain examples."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, event, given, settings

import elsinore as el
from elsinore.errors import ElsinoreError
from elsinore.matches.engine import negatives
from elsinore.matches.spec import spec_of
from elsinore.model.clock import Clock
from elsinore.model.time_values import Moment
from oracles.matches import Happening, TooMany, brute_force
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

EXAMPLES = int(os.environ.get("ELSINORE_EXAMPLES", "50"))
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

SEVERAL = (
    "SEQ(A a, NOT SEQ(C c, D d), B b)",
    "SEQ(NOT SEQ(C c, D d), B b)",
    "SEQ(A a, B b, NOT SEQ(C c, D d))",
    "SEQ(A a, NOT SEQ(C+ c, D d), B+ b)",
    "SEQ(A a, NOT C+ c, B b, NOT SEQ(A d, C e))",
    "SEQ(A+ a, NOT SEQ(C c, D? d, C e), B b)",
    "SEQ(A a, NOT (SEQ(C c, D d) OR B e), B b, C f)",
    "SEQ(A a, NOT SEQ(C c, NOT B e, D d), B b)",
    "SEQ(A a, NOT SEQ(C c, NOT B e), B b)",
    "SEQ(A a, B? b, NOT (SEQ(C c, D d))+, A e)",
    "(SEQ(A a, NOT SEQ(C c, D d), B b))+",
    "SEQ(A a, (SEQ(NOT SEQ(C c, D* d), B b) OR B e), C f)",
    "SEQ(A a, NOT C{2} c, B b, NOT C d)",
)

ENDING = (
    "SEQ(A a, B b, NOT C c)",
    "SEQ(A a, B+ b, NOT C c)",
    "SEQ(A+ a, B b, NOT C c)",
    "SEQ(A a, (SEQ(B b, NOT C c))?)",
    "SEQ(A a, NOT D d, B b, NOT C c)",
    "SEQ(A a, (SEQ(B b, NOT C c) OR SEQ(B b2, NOT SEQ(D d, E e))))",
)


def drawn_query(drawn: Drawn, patterns: Sequence[str]) -> str:
    text = drawn.one(patterns)
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
@pytest.mark.parametrize("patterns", [PATTERNS, SEVERAL], ids=["one", "several"])
@given(drawn=CASES)
def test_matches_are_those_of_brute_force(patterns: Sequence[str], drawn: Drawn) -> None:
    workload = parsed(drawn_query(drawn, patterns))
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


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(CASES)
def test_deadlines_of_the_last_not_change_no_match(drawn: Drawn) -> None:
    pattern = drawn.one(ENDING)
    limits = [
        f"c.t - {other}.t {drawn.one(('<', '<=', '='))} {drawn.one((0, 1, 2, 3))} seconds"
        for other in drawn.some("ab", least=1)
    ]
    further = ["", " AND c.n = a.n", " AND [k]"]
    if "E e" in pattern:
        further += [" AND d.n = a.n", " AND d.t - a.t <= 2 seconds AND d.n < e.n"]
    more = drawn.one(further)
    window = drawn.one(("", "WITHIN 3", "WITHIN 5", "WITHIN 6 SLIDE 3"))
    text = f"QUERY q RETURN EVENT_IDS(n) AS ids PATTERN {pattern}"
    end = f"STRATEGY {drawn.one(STRATEGIES)} {window};"
    workload = parsed(f"{text} WHERE {' AND '.join(limits)}{more} {end}")
    (query,) = workload.queries
    events = [
        Happening(e.time, e.type, {**e.attributes, "t": Moment(e.time * 1_000)})
        for e in streams(drawn, pattern=query.pattern)
    ]
    (unit,) = units_of(workload, clock=Clock(time_column="t"))
    assume(spec_of(unit).templates[0].decides_early)
    expected = oracle_rows(brute_force(query, events, ordered=False, users=USERS))
    cuts = sorted({event.time for event in events})
    cuts = [sum(e.time < time for e in events) for time in cuts[1:] if drawn.whether()]
    with looking_up(drawn):
        (rows,) = engine_rows(unit, events, cuts=cuts, saves=drawn.whether(), watermarks=True)
    event(f"matches: {bool(rows)}")
    assert rows == expected


@pytest.mark.parametrize("window", ["WITHIN 1 hour", "WITHIN 1 hour SLIDE 1 hour"])
@pytest.mark.parametrize("is_number", [False, True])
def test_a_live_match_is_returned_once_the_limit_of_its_last_not_has_passed(
    window: str, is_number: bool
) -> None:
    start = datetime(2024, 1, 1)
    rows = [
        {
            "time": minute * 60 if is_number else start + timedelta(minutes=minute),
            "type": kind,
            "id": key,
        }
        for minute, kind, key in [
            *((0, "A", 1), (1, "B", 1), (2, "A", 2), (3, "B", 2), (5, "C", 2), (6, "X", 0)),
            *((7, "X", 0), (8, "X", 0), (9, "X", 0), (70, "X", 0)),
        ]
    ]
    table = pa.Table.from_pylist(rows)
    workload = el.Workload.parse(f"""
        RETURN a.id AS id PATTERN SEQ(A a, B b, NOT C c)
        WHERE c.id = a.id AND b.id = a.id AND c.time - b.time <= 5 minutes {window};
    """)
    live = workload.live(table.schema, lateness="0 seconds")
    given = []
    for place, row in enumerate(rows):
        for _, batch in live.push(table.slice(place, 1)):
            given += [(row["time"], match["id"]) for match in batch.to_pylist()]
    assert given == [(rows[6]["time"], 1)]  # the limit is minute 6, and an event may be then
    assert not any(len(batch) for _, batch in live.end())
    (result,) = workload.run(table).values()
    assert [match["id"] for match in result.to_pylist()] == [1]


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


def test_a_live_match_waits_for_the_window_if_several_events_stand_under_its_last_not() -> None:
    """The latest deadline of one event is not that of the pattern."""
    events = [("A", 1), ("A", 2), ("C", 1), ("C", 2), ("D", 2), ("D", 1), ("X", 0)]
    times = [0, 1, 2, 3, 5, 9, 12]
    rows = [
        {"time": time, "type": kind, "id": id_}
        for time, (kind, id_) in zip(times, events, strict=True)
    ]
    table = pa.Table.from_pylist(rows)
    workload = el.Workload.parse("""
        RETURN a.id AS id PATTERN SEQ(A a, NOT SEQ(C c, D d))
        WHERE c.id = a.id AND d.id = a.id AND d.time - a.time <= 5 seconds WITHIN 10 seconds;
    """)
    live = workload.live(table.schema, lateness="0 seconds")
    given = []
    for place, row in enumerate(rows):
        for _, batch in live.push(table.slice(place, 1)):
            given += [(row["time"], match["id"]) for match in batch.to_pylist()]
    assert given == [(12, 1)]
    assert not any(len(batch) for _, batch in live.end())


ALL_TRIPS = [(0, 3), (0, 7), (4, 7)]
TRIPS = [
    {"time": n, "type": kind, "id": id_, "ref": ref}
    for n, (kind, id_, ref) in enumerate(
        [
            *(("A", 1, 0), ("X", 0, 1), ("Y", 0, 5), ("B", 5, 0)),
            *(("A", 2, 0), ("X", 0, 2), ("Y", 0, 7), ("B", 6, 0)),
        ]
    )
]


@pytest.mark.parametrize(
    ("pattern", "where", "times"),
    [
        ("SEQ(A a, NOT SEQ(X x, Y y), B b)", "x.ref = a.id", []),
        ("SEQ(A a, NOT SEQ(X x, Y y), B b)", "x.ref = a.id AND y.ref = b.id", [(0, 7), (4, 7)]),
        ("SEQ(A a, NOT SEQ(X x, Y y), B b)", "y.time - a.time <= 1 second", ALL_TRIPS),
        ("SEQ(A a, NOT SEQ(X x, Y y), B b)", "y.ref + x.ref = a.id + b.id", [(0, 7), (4, 7)]),
        ("SEQ(A a, NOT SEQ(X x, Y y), B b)", "y.ref = b.id AND y.ref > x.ref + 4", ALL_TRIPS),
        ("SEQ(A a, NOT X{2} x, B b)", "x.ref >= a.id", [(0, 3), (4, 7)]),
        ("SEQ(A a, NOT X{2} x, B b)", "x.ref = a.id", ALL_TRIPS),
        ("SEQ(A a, NOT SEQ(X+ x, Y y), B b)", "x[1].ref = a.id AND y.ref = 7", [(0, 3)]),
        (
            "SEQ(A a, NOT SEQ(X+ x, Y y), B b)",
            "x[x.LEN].ref = a.id + 1 AND y.ref > b.id",
            [(0, 3), (4, 7)],
        ),
        ("SEQ(NOT SEQ(X x, Y y), B b)", "y.ref = b.id", [(7,)]),
        ("SEQ(A a, NOT SEQ(X x, Y y))", "y.ref = a.id + 4", [(4,)]),
    ],
)
def test_several_events_under_not(pattern: str, where: str, times: list[tuple[int, ...]]) -> None:
    text = f"RETURN EVENT_IDS(time) AS times PATTERN {pattern} WHERE {where}"
    (table,) = el.Workload.parse(text).run(TRIPS).values()
    assert [tuple(ids) for ids in table["times"].to_pylist()] == times


def test_the_builder_relates_several_events_under_not() -> None:
    a, b, x, y = el.event("A", "a"), el.event("B", "b"), el.event("X", "x"), el.event("Y", "y")
    built = (
        el.query("q")
        .match(el.seq(a, el.no(el.seq(x, y)), b))
        .where(x.ref == a.id, y.ref == b.id)
        .select(el.event_ids("time").alias("times"))
    )
    (table,) = el.Workload(built).run(TRIPS).values()
    assert [tuple(ids) for ids in table["times"].to_pylist()] == [(0, 7), (4, 7)]


def test_too_many_listed_matches_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(negatives, "MOST_LISTED", 1_000)
    events = [{"time": n, "type": kind, "ref": 1} for n, kind in enumerate("A" + 10 * "X" + "YB")]
    text = "RETURN a.ref PATTERN SEQ(A a, NOT SEQ(X+ x, Y y), B b) WHERE y.ref = a.ref + 1"
    with pytest.raises(ElsinoreError, match="a pattern under NOT has more than 1,000 matches"):
        el.Workload.parse(text).run(events)


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
        ("SEQ(A a, NOT SEQ(C c, NOT E e, D d), B b) WHERE e.x = a.x", "a NOT in a NOT"),
        ("SEQ(A a, NOT SEQ(C+ c, D+ d), B b) WHERE c.x + d.x = a.x", "both may stand for several"),
        ("SEQ(A a, NOT SEQ(C c, D d), B+ b) WHERE d.x > MAX(b[].x)", "single events"),
        ("SEQ(A a, NOT SEQ(C c, D d), B b) WHERE c.x = a.x WITHIN 5 COLLAPSED", "COLLAPSED"),
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
    text = "RETURN p.id PATTERN SEQ(Pay p, NOT SEQ(Pick x, Ship s)) WHERE s.id = p.id WITHIN 60"
    explained = el.Workload.parse(text).explain()
    assert "s.id = p.id: " in explained
    assert "tested for the matches of the pattern under NOT, which are listed" in explained
    assert "each s" not in explained  # a partial match does not remember it
