"""What `explain` tells of sharing: which queries share what, which pairs stand apart, and why."""

from __future__ import annotations

import itertools
import os
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elsinore.errors import InvalidWorkloadError, QueryError
from elsinore.language import parse_workload
from elsinore.model import Query, Workload
from elsinore.operators import Sample, plan
from elsinore.operators.explain import explain_text
from elsinore.plan import Granularity, Plan
from elsinore.trends.explain import (
    BURSTS,
    MERGED,
    SharedPattern,
    Units,
    shared_patterns,
    sharing_text,
)
from elsinore.trends.kind import trend_units
from elsinore.trends.shared import apart
from elsinore.words import count, listed
from support.trends import Feature, trend_workloads

RISING = "QUERY {name} RETURN COUNT(*) PATTERN SEQ({first}, B b+) WHERE {key}b[i].v > b[i-1].v;"


def planned(*queries: str, granularity: Granularity = Granularity.AUTO) -> Plan:
    return plan(parse_workload("\n".join(queries)), granularity=granularity)


def units_of(*queries: str, granularity: Granularity = Granularity.AUTO) -> Units:
    return trend_units(planned(*queries, granularity=granularity).units)


def rising(name: str, first: str = "A", key: str = "") -> str:
    return RISING.format(name=name, first=first, key=key)


def test_queries_are_apart_by_the_ways_they_go() -> None:
    units = units_of(
        "QUERY q1 RETURN COUNT(*) PATTERN SEQ(A, B b+) WHERE b.v > 1;",
        "QUERY q2 RETURN COUNT(*) PATTERN SEQ(C, B+);",
        "QUERY q3 RETURN COUNT(*) PATTERN SEQ(A, NOT SEQ(X, Y), B+);",
        "QUERY q4 RETURN COUNT(*) PATTERN SEQ(A, NOT SEQ(X, Y), B+, C);",
        rising("q5"),
    )
    assert shared_patterns(units) == (SharedPattern("B+", ("q1", "q2")),)
    assert {pair: why for why, pairs in told(units).items() for pair in pairs}.keys() == {
        *(("q1", name) for name in ("q3", "q4", "q5")),
        *(("q2", name) for name in ("q3", "q4", "q5")),
        ("q3", "q4"),
        ("q3", "q5"),
        ("q4", "q5"),
    }
    (why,) = (why for why, pairs in told(units).items() if ("q3", "q4") in pairs)
    assert why == (
        "each keeps its own list of events, because NOT forbids more than single events; they "
        "differ in what precedes B in a trend"
    )


def may_share(units: Units) -> bool:
    """Return whether some queries may share bursts."""
    return any(one.how == BURSTS for one in shared_patterns(units))


def told(units: Units) -> dict[str, set[tuple[str, str]]]:
    """Return the pairs that are apart, in the order of their names, by their reasons."""
    return {one.why: {tuple(sorted(pair)) for pair in one.pairs()} for one in apart(units)}  # type: ignore[misc]


def _can_be_planned(query: Query, granularity: Granularity, *, exact: bool) -> bool:
    """Return whether a drawn query is one that some engine runs."""
    try:
        plan(Workload((query,), exact=exact), granularity=granularity)
    except (QueryError, InvalidWorkloadError):
        return False
    return True


@settings(
    max_examples=int(os.environ.get("ELSINORE_EXAMPLES", "15")),
    suppress_health_check=[HealthCheck.too_slow],
)
@given(
    trend_workloads(),
    trend_workloads(features=frozenset(Feature)),
    st.sampled_from(Granularity),
    st.booleans(),
)
def test_every_pair_of_queries_shares_or_is_apart_for_a_reason(
    one: Workload, other: Workload, granularity: Granularity, exact: bool
) -> None:
    queries = [replace(query, name=f"q{n}") for n, query in enumerate([*one, *other])]
    queries = [query for query in queries if _can_be_planned(query, granularity, exact=exact)]
    if not queries:
        return
    units = trend_units(plan(Workload(tuple(queries), exact=exact), granularity=granularity).units)
    sharing = {
        tuple(sorted(pair))
        for shared in shared_patterns(units)
        for pair in itertools.combinations(shared.queries, 2)
    }
    apart_ = [tuple(sorted(pair)) for several in apart(units) for pair in several.pairs()]
    assert len(apart_) == len(set(apart_)) == sum(several.count for several in apart(units))
    assert sharing.isdisjoint(apart_)
    names = [template.query.name for _, unit in units for template in unit.members]
    assert sharing.union(apart_) == {
        tuple(sorted(pair)) for pair in itertools.combinations(names, 2)
    }
    lines = "\n".join(sharing_text(units, None))
    for several in apart(units):
        assert several.why
        assert several.why in lines
    for shared in shared_patterns(units):
        assert f"{shared.pattern} of {listed(shared.queries, 20)}" in lines


@pytest.mark.parametrize("exact", [False, True])
def test_queries_share_a_state_that_is_one_whatever_they_add_up(exact: bool) -> None:
    text = "".join(
        f"QUERY q{n} RETURN {asked} PATTERN SEQ(A a, B b+);"
        for n, asked in enumerate(("COUNT(*)", "MAX(b.v)", "SUM(b.v)"))
    )
    units = trend_units(plan(Workload(parse_workload(text).queries, exact=exact)).units)
    assert shared_patterns(units) == (SharedPattern("B+", ("q0", "q1", "q2"), MERGED),)
    assert apart(units) == ()
    assert not may_share(units)
    assert "  B+ of q0, q1 and q2, kept once for all of them" in sharing_text(units, None)


def test_what_keeps_either_of_two_queries_apart_is_told() -> None:
    (found,) = apart(
        units_of(
            "QUERY q1 RETURN COUNT(*) PATTERN SEQ(A, B+) STRATEGY CONTIGUOUS;",
            "QUERY q2 RETURN COUNT(*) PATTERN SEQ(A, NOT SEQ(X, Y), B+);",
        )
    )
    assert found.why == (
        "one carries sums of its own from event to event, because CONTIGUOUS restricts which "
        "events may be skipped; the other keeps its own list of events, because NOT forbids more "
        "than single events; their strategies differ"
    )


def test_one_query_with_an_index_and_one_with_a_list_are_told_apart() -> None:
    (found,) = apart(
        units_of(
            "QUERY q1 RETURN MIN(B.v) PATTERN SEQ(A, NOT C, B+) WHERE B[i].v > B[i-1].v;",
            "QUERY q2 RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE B[i].v * B[i-1].v > 0;",
        )
    )
    assert found.why.startswith(
        "one keeps an index over its own events, because NOT depends on the events in between; the "
        "other keeps its own list of events, because "
    )


def test_queries_whose_events_are_compared_say_in_what_they_differ() -> None:
    forbidding = rising("q2").replace("b+)", "b+, NOT C)")
    units = units_of(rising("q1"), forbidding, rising("q3"))
    assert shared_patterns(units) == (SharedPattern("SEQ(A, B+)", ("q1", "q2", "q3"), MERGED),)
    (found, *_) = apart(units_of(rising("q1"), forbidding.replace(";", " WITHIN 9 seconds;")))
    assert found.why == (
        "each keeps an index over its own events, because a condition compares events with one "
        "another, and NOT depends on the events in between; their windows differ"
    )


def test_queries_of_one_shape_are_lanes_side_by_side() -> None:
    summed = [rising(f"q{n}", "ACDEF"[n]).replace("COUNT(*)", "AVG(b.v)") for n in range(5)]
    assert apart(units_of(*summed)) == ()


def test_queries_that_share_compared_bursts_are_listed_once() -> None:
    (found,) = shared_patterns(units_of(rising("q1"), rising("q2", "C")))
    assert (found.queries, found.how) == (("q1", "q2"), BURSTS)


def test_queries_that_are_keyed_otherwise_are_apart() -> None:
    (found,) = apart(units_of(rising("q1"), rising("q2", key="[k] AND ")))
    assert list(found.pairs()) == [("q1", "q2")]
    assert found.why == "their events are partitioned differently, not at all and by k"


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (
            "COUNT(*) PATTERN A+ WHERE [k]",
            "alike, by k, but their results are by k and for the whole",
        ),
        ("k, COUNT(*) PATTERN A+ WHERE [k] GROUP BY k", "a null in k is a group for one of them"),
        ("k, COUNT(*) PATTERN A+ WHERE [v] GROUP BY k", "differently, by k and by k and v"),
    ],
)
def test_queries_of_one_key_may_be_apart_for_their_results(other: str, why: str) -> None:
    (found,) = apart(
        units_of("QUERY q1 RETURN k, COUNT(*) PATTERN A+ GROUP BY k;", f"QUERY q2 RETURN {other};")
    )
    assert why in found.why


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ("MIN(c.v) PATTERN SEQ(A, C c+) WHERE c[i].v > c[i-1].v", "no type in common"),
        ("MIN(b.v) PATTERN SEQ(A, B b+) WHERE b[i].v < b[i-1].v", "in different ways"),
        ("SUM(b.v) PATTERN SEQ(A, B b+) WHERE b[i].v > b[i-1].v", None),
        ("MIN(b.v) PATTERN SEQ(A, B b+) WHERE b[i].v > b[i-1].v", None),
    ],
)
def test_queries_share_states_whatever_they_add_up(other: str, why: str | None) -> None:
    told = apart(units_of(rising("q1"), f"QUERY q2 RETURN {other};"))
    assert [why is not None and why in one.why for one in told] == [True] * (why is not None)


@pytest.mark.parametrize(
    ("queries", "expected"),
    [
        (("SEQ(A, B+)", "SEQ(C, B+)"), True),
        (("SEQ(A, B+)", "SEQ(C, B)"), False),
        (("SEQ(A, B+)", "SEQ(C, NOT SEQ(X, Y), B+)"), False),
    ],
)
def test_bursts_can_be_shared_where_several_queries_are_in_a_sharing_set(
    queries: tuple[str, ...], expected: bool
) -> None:
    texts = [f"QUERY q{n} RETURN COUNT(*) PATTERN {text};" for n, text in enumerate(queries)]
    assert may_share(units_of(*texts)) is expected


def test_a_plan_of_sums_alone_has_nothing_to_tell_without_a_sample() -> None:
    assert sharing_text(units_of("QUERY q RETURN COUNT(*) PATTERN SEQ(A, B+);"), None) == []


def test_a_sample_of_queries_that_cannot_share_has_no_heading_without_text() -> None:
    units = units_of("QUERY q RETURN COUNT(*) PATTERN SEQ(A, B+);")
    assert sharing_text(units, Sample(events=3, total=3, statistics=())) == []


@pytest.mark.parametrize(
    ("query", "told"),
    [
        (
            "QUERY q RETURN COUNT(*) PATTERN SEQ(A, B+);",
            "q: coarse path (sums per state), because no condition compares one event with another",
        ),
        (
            rising("q"),
            (
                "q: graph path (an index over its own events), because a condition compares "
                "events with one another"
            ),
        ),
        (
            "QUERY q RETURN COUNT(*) PATTERN SEQ(A, NOT SEQ(X, Y), B+);",
            "q: graph path (its own list of events), because NOT forbids more than single events",
        ),
        (
            "QUERY q RETURN COUNT(*) PATTERN SEQ(A a+, NOT N, A b+);",
            (
                "q: sets path (trends built one by one), because the pattern is ambiguous; "
                "determinized, because the pattern is ambiguous and a trend counts once"
            ),
        ),
    ],
)
def test_the_text_says_each_querys_path_and_why(query: str, told: str) -> None:
    assert told in [line.strip() for line in explain_text(planned(query)).splitlines()]


def test_numbers_and_names_stand_in_sentences() -> None:
    assert count(1, "burst", "bursts") == "1 burst"
    assert listed(["a"]) == "a"
    assert listed(["a", "b"], most=2) == "a and b"
