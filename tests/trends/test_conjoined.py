"""AND by sums per state: what its sides have in common with other queries is worked on once."""

from __future__ import annotations

import math
import os

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from elsinore.errors import InvalidWorkloadError
from elsinore.language import parse_workload
from elsinore.local import run
from elsinore.model.window import SECOND
from elsinore.operators import plan
from elsinore.plan import Granularity, Path, Sharing
from elsinore.runtime.options import RunOptions
from elsinore.trends.explain import MERGED, shared_patterns
from elsinore.trends.kind import trend_units
from elsinore.trends.shared import apart
from oracles.reference import ReferenceEvent
from support.trends import event_streams, table_of
from trends.test_against_reference import check

often = settings(
    max_examples=int(os.environ.get("ELSINORE_EXAMPLES", "12")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
SIDES = (
    "A a{n}+",
    "B b{n}+",
    "SEQ(A a{n}, B b{n}+)",
    "SEQ(A a{n}, B b{n})",
    "SEQ(A a{n}, NOT C c{n}, B b{n}+)",
    "SEQ(NOT C c{n}, A a{n}+)",
    "SEQ(NOT C c{n}, A a{n}, B b{n}*, NOT D d{n})",
    "SEQ(A a{n}+, NOT C c{n})",
    "SEQ(A a{n}+, A x{n}+)",
    "(A a{n} OR B b{n})+",
    "SEQ(A a{n}, (B b{n} OR SEQ(C c{n}, D d{n}))+)",
    "SEQ(A a{n}, B b{n}{{1,2}})",
)
CONDITIONS = ("", "a{n}.v > 0", "a{n}.v <= 1", "a{n}.w < 1", "b{n}.v > 0")
# on neighbours, by the part of a side that makes them such
COMPARED = {
    "B b{n}+": ("b{n}[i].v >= b{n}[i-1].v", "b{n}[i].v != b{n}[i-1].v", "b{n}[i].v < b{n}[i-1].w"),
    "A a{n}, B b{n}+": ("a{n}.v <= b{n}[1].v",),
    "A a{n}, B b{n})": ("a{n}.v <= b{n}.v",),
    "A a{n}+)": ("a{n}[i].v > a{n}[i-1].v",),
}
STRATEGIES = ("", "", "STRATEGY SKIP TILL NEXT MATCH", "STRATEGY CONTIGUOUS")
WINDOWS = ("", "WITHIN 4 seconds", "WITHIN 6 seconds SLIDE 2 seconds")


@st.composite
def texts(draw: st.DrawFn, *, compared: bool = False) -> str:
    """Draw two to four queries, most of them with AND, of a few sides.

    `compared`: neighbours may be compared, or events skipped as strategies have it.
    """
    sides = draw(st.lists(st.sampled_from(SIDES), min_size=1, max_size=3))
    window = draw(st.sampled_from(WINDOWS))
    strategy = draw(st.sampled_from(STRATEGIES)) if compared else ""
    hows = draw(st.lists(st.integers(0, 2), min_size=1, max_size=2))
    queries = []
    for number in range(draw(st.integers(2, 4))):
        chosen = draw(st.lists(st.sampled_from(sides), min_size=1, max_size=2))
        pattern = " AND ".join(side.format(n=n) for n, side in enumerate(chosen))
        conditions = [
            condition.format(n=n)
            for n, side in enumerate(chosen)
            if (condition := draw(st.sampled_from(CONDITIONS))) and f" {condition[0]}{{n}}" in side
        ]
        for n, side in enumerate(chosen if compared else ()):
            asked = [found for part, found in COMPARED.items() if part in side]
            if asked and (how := draw(st.sampled_from((None, *hows)))) is not None:
                several = asked[how % len(asked)]
                conditions.append(several[how % len(several)].format(n=n))
        if draw(st.booleans()):
            conditions.append("[k]")
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        end = draw(st.sampled_from((window, *WINDOWS)))
        queries.append(
            f"QUERY q{number} RETURN COUNT(*) PATTERN {pattern} {where} {strategy} {end};"
        )
    return "".join(queries)


@often
@given(
    texts(),
    event_streams(),
    st.sampled_from(Sharing),
    st.sampled_from(Granularity),
    st.booleans(),
)
def test_pairs_of_trends_are_those_of_every_trend_built(
    text: str,
    events: list[ReferenceEvent],
    sharing: Sharing,
    granularity: Granularity,
    exact: bool,
) -> None:
    workload = parse_workload(f"EXACT; {text}" if exact else text)
    options = RunOptions(sharing=sharing)
    results = run(plan(workload, granularity=granularity), table_of(events), options)
    for query in workload:
        check(query, events, results[query.name], exact=exact)


@often
@given(texts(compared=True), event_streams(), st.sampled_from(Sharing), st.booleans())
def test_pairs_of_trends_whose_neighbours_are_compared_are_those_of_every_trend_built(
    text: str, events: list[ReferenceEvent], sharing: Sharing, exact: bool
) -> None:
    workload = parse_workload(f"EXACT; {text}" if exact else text)
    try:
        ready = plan(workload)
    except InvalidWorkloadError:  # a condition that no neighbours are asked for
        assume(False)
        raise
    results = run(ready, table_of(events), RunOptions(sharing=sharing))
    for query in workload:
        check(query, events, results[query.name], exact=exact)


COUNTED = "QUERY {} RETURN COUNT(*) PATTERN {};"


@pytest.mark.parametrize(
    ("other", "nodes"),
    [("A+ AND C+", 3), ("A+", 2), ("SEQ(D, A+)", 4), ("SEQ(A a+, C) AND D", 4)],
)
def test_sides_that_are_equal_are_kept_once(other: str, nodes: int) -> None:
    text = COUNTED.format("q1", "A+ AND B+") + COUNTED.format("q2", other)
    units = trend_units(plan(parse_workload(text)).units)
    ((_, unit),) = units
    assert unit.path is Path.COARSE
    assert len(unit.merged.nodes) == nodes
    assert apart(units) == ()
    assert [one.pattern for one in shared_patterns(units)] == ["A+"]


RISING = "b[i].v >= b[i-1].v"


@pytest.mark.parametrize(
    ("pattern", "way"),
    [
        (f"SEQ(A, B b+) AND SEQ(C, D+) WHERE {RISING}", "an index"),
        (f"SEQ(A, B b+) AND SEQ(A, NOT C, B d) WHERE {RISING}", "an index"),
        (f"SEQ(A, B b+) AND SEQ(A, B b2+, B b3+) WHERE {RISING}", "an index"),
        ("SEQ(A, B b+) AND SEQ(C, D+) STRATEGY SKIP TILL NEXT MATCH", "sums carried"),
        (
            "SEQ(A, B b+) AND SEQ(A, B d) STRATEGY SKIP TILL NEXT MATCH",
            "trends built one by one",
        ),
        ("SEQ(A, B b+) AND SEQ(A, B d) STRATEGY CONTIGUOUS", "sums carried"),
    ],
)
def test_patterns_that_and_joins_go_the_way_that_each_can(pattern: str, way: str) -> None:
    ((_, unit),) = trend_units(
        plan(parse_workload(f"QUERY q RETURN COUNT(*) PATTERN {pattern};")).units
    )
    (why,) = unit.why
    assert unit.path is (Path.SETS if way.startswith("trends") else Path.GRAPH)
    assert why.method.startswith(way)
    reasons = "AND counts pairs of trends", "restricts which events may be skipped"
    assert any(reason in why.reason for reason in reasons)


def test_a_pattern_that_and_joins_is_worked_on_once_with_that_of_another_query() -> None:
    text = COUNTED.format("q1", "SEQ(A, B b+) AND SEQ(C, D) WHERE {0}")
    text += COUNTED.format("q2", "SEQ(A, B b+) AND SEQ(E, D) WHERE {0}")
    text += COUNTED.format("q3", "SEQ(E, NOT B, D) AND SEQ(C, E e+) WHERE e[i].v >= e[i-1].v")
    units = trend_units(plan(parse_workload(text.replace("{0}", RISING))).units)
    assert ("SEQ(A, B+)", ("q1", "q2")) in [
        (one.pattern, one.queries) for one in shared_patterns(units) if one.how == MERGED
    ]


def test_both_sides_may_be_one_state() -> None:
    ((_, unit),) = trend_units(plan(parse_workload(COUNTED.format("q", "A a+ AND A b+"))).units)
    assert len(unit.merged.nodes) == 1


@pytest.mark.parametrize("count", [5, 300, 700, 5000])
def test_pairs_of_very_many_trends_keep_their_size(count: int) -> None:
    """With n events of A and of B there are 2^n - 1 trends of each, and their product of pairs."""
    text = "QUERY q RETURN LOG2(COUNT(*)) AS bits PATTERN A+ AND B+;"
    text += "QUERY same RETURN LOG2(COUNT(*)) AS bits PATTERN A a+ AND A b+;"
    events = [ReferenceEvent(n * SECOND, "AB"[n % 2], {}) for n in range(2 * count)]
    results = run(plan(parse_workload(text)), table_of(events), RunOptions())
    one = count + math.log2(1 - 2.0**-count) if count < 50 else float(count)
    few = math.log2((2.0**count - 1) * (2.0**count - 2) / 2) if count < 50 else 2 * one - 1
    assert results["q"]["bits"].to_pylist() == [pytest.approx(2 * one, rel=1e-12)]
    assert results["same"]["bits"].to_pylist() == [pytest.approx(few, rel=1e-12)]
