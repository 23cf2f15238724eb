"""What `explain` tells of sharing: which queries stand alone, which pairs apart, and why."""

from __future__ import annotations

import pytest

from elsinore.language import parse_workload
from elsinore.operators import plan
from elsinore.operators.explain import explain_text
from elsinore.plan import Granularity, Path, Plan
from elsinore.plan.explain.sharing import SharedSample, Units, alone, apart, may_share, sharing_text
from elsinore.trends.kind import trend_units
from elsinore.words import count, listed

RISING = "QUERY {name} RETURN COUNT(*) PATTERN SEQ({first}, B b+) WHERE {key}b[i].v > b[i-1].v;"


def planned(*queries: str, granularity: Granularity = Granularity.AUTO) -> Plan:
    return plan(parse_workload("\n".join(queries)), granularity=granularity)


def units_of(*queries: str, granularity: Granularity = Granularity.AUTO) -> Units:
    return trend_units(planned(*queries, granularity=granularity))


def rising(name: str, first: str = "A", key: str = "") -> str:
    return RISING.format(name=name, first=first, key=key)


def test_queries_that_keep_no_shared_graph_stand_alone_by_their_reasons() -> None:
    found = alone(
        units_of(
            "QUERY q1 RETURN COUNT(*) PATTERN SEQ(A, B+);",
            "QUERY q2 RETURN COUNT(*) PATTERN SEQ(C, B+);",
            "QUERY q3 RETURN COUNT(*) PATTERN SEQ(A, NOT SEQ(X, Y), B+);",
            rising("q4"),
        )
    )
    assert [(one.queries, one.path) for one in found] == [
        (("q1", "q2"), Path.COARSE),
        (("q3",), Path.GRAPH),
        (("q4",), Path.SHARED),
    ]


def test_queries_on_the_shared_graph_with_one_sub_pattern_are_not_apart() -> None:
    assert apart(units_of(rising("q1"), rising("q2", "C"))) == ()


def test_queries_that_are_keyed_otherwise_are_apart() -> None:
    (found,) = apart(units_of(rising("q1"), rising("q2", key="[k] AND ")))
    assert found.pairs == (("q1", "q2"),)
    assert "partitioned" in found.why


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ("COUNT(*) PATTERN SEQ(A, C c+) WHERE c[i].v > c[i-1].v", "no Kleene sub-pattern"),
        ("COUNT(*) PATTERN SEQ(A, B b+) WHERE b[i].v < b[i-1].v", "in different ways"),
        (
            "SUM(b.v) PATTERN SEQ(A, B b+) WHERE b[i].v > b[i-1].v",
            "one counts trends, the other adds up more",
        ),
        ("MIN(b.v) PATTERN SEQ(A, B b+) WHERE b[i].v > b[i-1].v", "their MIN and MAX differ"),
    ],
)
def test_queries_that_work_otherwise_on_a_burst_are_apart(other: str, why: str) -> None:
    (found,) = apart(units_of(rising("q1"), f"QUERY q2 RETURN {other};"))
    assert found.pairs == (("q1", "q2"),)
    assert why in found.why


def test_fine_granularity_leaves_no_sums_per_state() -> None:
    coarse = [f"QUERY q{n} RETURN COUNT(*) PATTERN SEQ({t}, B+);" for n, t in enumerate("AC")]
    assert alone(units_of(*coarse, granularity=Granularity.FINE)) == ()


@pytest.mark.parametrize(
    ("queries", "why"),
    [
        ((rising("q"),), "no other query is run there"),
        ((rising("q"), rising("other").replace(">", "<")), "it goes together with no other query"),
        ((rising("q"), rising("q1"), rising("q2")), None),
        (("QUERY q RETURN COUNT(*) PATTERN SEQ(A, B);",), "it has no Kleene sub-pattern"),
    ],
)
@pytest.mark.parametrize("sample", [None, SharedSample(5, 5, ())])
def test_a_query_of_the_shared_graph_that_shares_with_nobody_is_told_with_the_reason(
    queries: tuple[str, ...], why: str | None, sample: SharedSample | None
) -> None:
    found = units_of(*queries, granularity=Granularity.FINE)
    told = [one.why for one in alone(found) if "q" in one.queries]
    lines = "\n".join(sharing_text(found, sample))
    if why is None:
        assert told == []
    else:
        assert why in told[0]
        assert f"alone in the shared graph, as {why}" in lines


@pytest.mark.parametrize(
    ("queries", "expected"),
    [
        ((rising("q1"), rising("q2", "C")), True),
        ((rising("q1"), rising("q2", key="[k] AND ")), False),
        (
            (
                rising("q1"),
                "QUERY q2 RETURN COUNT(*) PATTERN SEQ(A, NOT X, B+);",
                "QUERY q3 RETURN COUNT(*) PATTERN SEQ(A, B+);",
            ),
            False,
        ),
    ],
)
def test_bursts_can_be_shared_where_several_queries_are_in_a_sharing_set(
    queries: tuple[str, ...], expected: bool
) -> None:
    assert may_share(units_of(*queries, granularity=Granularity.FINE)) is expected


def test_a_plan_of_sums_alone_has_nothing_to_tell_without_a_sample() -> None:
    assert sharing_text(units_of("QUERY q RETURN COUNT(*) PATTERN SEQ(A, B+);"), None) == []


@pytest.mark.parametrize(
    ("query", "told"),
    [
        (
            "QUERY q RETURN COUNT(*) PATTERN SEQ(A, B+);",
            "q: coarse path (sums per state), as no predicate asks for single predecessors",
        ),
        (
            rising("q"),
            (
                "q: shared path (the shared graph), as events are compared with their predecessors "
                "in a loop"
            ),
        ),
        (
            "QUERY q RETURN COUNT(*) PATTERN SEQ(A, NOT SEQ(X, Y), B+);",
            "q: graph path (its own graph of events), as NOT is about more than single events",
        ),
        (
            (
                "QUERY q RETURN COUNT(*) PATTERN SEQ(A a, C c, B b+) "
                "WHERE b[i].v > a.v AND b[i].v > c.v;"
            ),
            "q: sets path (one by one), as its events can be anchored in several ways",
        ),
    ],
)
def test_the_text_says_each_querys_path_and_why(query: str, told: str) -> None:
    assert told in [line.strip() for line in explain_text(planned(query)).splitlines()]


def test_numbers_and_names_stand_in_sentences() -> None:
    assert count(1, "burst", "bursts") == "1 burst"
    assert listed(["a"]) == "a"
    assert listed(["a", "b"], most=2) == "a and b"
