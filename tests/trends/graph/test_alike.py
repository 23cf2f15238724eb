"""Queries of one automaton on the graph path: one graph, with the sums of all side by side."""

from __future__ import annotations

import itertools
import os
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from elsinore.errors import InvalidWorkloadError, QueryError
from elsinore.language import parse_workload
from elsinore.local import run
from elsinore.model import Attribute, Call, Conjunction, Query, ReturnItem, Workload
from elsinore.model import pattern as pt
from elsinore.operators import plan
from elsinore.plan import Path, Sharing
from elsinore.plan.alike import why_apart
from elsinore.plan.joined import joined
from elsinore.runtime.options import RunOptions
from elsinore.trends.explain.shared import SharedPattern, may_share, shared_patterns
from elsinore.trends.explain.shared_text import sharing_text
from elsinore.trends.explain.unshared import apart
from elsinore.trends.graph.program import Programs
from elsinore.trends.kind import spec_of, trend_units
from support.trends import Feature, streams_for, table_of, trend_queries
from trends.test_against_reference import check
from trends.test_everything import settled

GUARDS = (Feature.STRATEGIES, Feature.CONJUNCTION, Feature.NEGATION, Feature.ADJACENT)


def asking(query: Query, name: str, *functions: str) -> Query:
    """Return a query with the same pattern that asks for functions of each of its types."""
    types = sorted({event.type for event in pt.positive_events(query.pattern)})
    calls = [Call("COUNT", ())]
    if not isinstance(query.pattern, Conjunction):
        calls += [
            Call(function, (Attribute(kind, None if function == "COUNT" else "v"),))
            for function in functions
            for kind in types
        ]
    return replace(query, name=name, returns=tuple(map(ReturnItem, calls)))


@settings(
    max_examples=int(os.environ.get("ELSINORE_EXAMPLES", "15")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(trend_queries("q", ("A", "B"), features=GUARDS), st.data())
def test_queries_of_one_automaton_find_what_every_trend_built_does(
    query: Query, data: st.DataObject
) -> None:
    assume(settled(query))
    wanted = ((), ("SUM", "MIN"), ("COUNT", "SUM"), ("MAX", "AVG"), ("VARIANCE",))
    queries = [
        asking(query, f"q{number}", *data.draw(st.sampled_from(wanted)))
        for number in range(data.draw(st.integers(2, 3)))
    ]
    try:
        ready = plan(Workload(tuple(queries)))
    except (QueryError, InvalidWorkloadError):
        assume(False)
        raise
    assume(all(spec_of(unit).path is Path.GRAPH for unit in ready.units))
    events = data.draw(streams_for(query, 8))
    shared = shared_patterns(trend_units(ready))
    assert {one.queries for one in shared} == {tuple(one.name for one in queries)}
    for sharing in (Sharing.DYNAMIC, Sharing.NEVER):
        results = run(ready, table_of(events), RunOptions(sharing=sharing))
        for one in queries:
            check(one, events, results[one.name], exact=False)


TEXT = """
    QUERY one RETURN COUNT(*) PATTERN SEQ(A a, B b+) STRATEGY {0};
    QUERY two RETURN SUM(y.v), COUNT(y) PATTERN SEQ(A x, B y+) STRATEGY {0};
"""


@pytest.mark.parametrize("strategy", ["SKIP TILL NEXT MATCH", "CONTIGUOUS"])
def test_next_and_contiguous_trends_of_one_pattern_are_worked_on_once(strategy: str) -> None:
    units = trend_units(plan(parse_workload(TEXT.format(strategy))))
    assert shared_patterns(units) == (SharedPattern("SEQ(A a, B b+)", ("one", "two"), whole=True),)
    assert not may_share(units)
    (unit,) = [unit for _, unit in units]
    program, chosen = Programs(unit, joined(unit.guarded)).program(0, [0])
    (counted, _), (summed, _) = chosen
    assert counted == [0]
    assert summed == list(range(program.linear.shape[1]))  # what is one is not kept twice
    assert apart(units) == ()
    lines = "\n".join(sharing_text(units, None))
    assert "SEQ(A a, B b+) of one and two, processed once for all of them" in lines


@pytest.mark.parametrize(
    ("strategy", "common"),
    [("CONTIGUOUS", "SEQ(A, B+)"), ("SKIP TILL NEXT MATCH", "A")],
)
def test_lanes_that_add_up_different_things_have_a_common_beginning_once(
    strategy: str, common: str
) -> None:
    text = f"""
        {TEXT.format(strategy)}
        QUERY three RETURN SUM(B.v) PATTERN SEQ(A, B+, C) STRATEGY {strategy};
        QUERY four RETURN MIN(B.w) PATTERN SEQ(A, B+, D) WHERE D.v > 0 STRATEGY {strategy};
        QUERY five RETURN COUNT(*) PATTERN SEQ(A, B+) AND SEQ(C, E+) STRATEGY {strategy};
    """
    units = trend_units(plan(parse_workload(text)))
    told = shared_patterns(units)
    names = ("one", "two", "three", "four", "five")
    assert (common, names) in [(one.pattern, one.queries) for one in told if one.merged]
    assert names in [one.queries for one in told if one.lanes]
    assert apart(units) == ()


@pytest.mark.parametrize("strategy", ["SKIP TILL NEXT MATCH", "CONTIGUOUS"])
@pytest.mark.parametrize(
    ("begins", "ends", "in_several"),
    [("A", "X{0}", False), ("X{0}", "C", True)],  # equal but for the end; but for the beginning
)
def test_each_pair_of_queries_that_add_up_different_things_shares_or_has_a_reason(
    strategy: str, begins: str, ends: str, in_several: bool
) -> None:
    text = "\n".join(
        f"QUERY q{n} RETURN SUM(b.v{n}) PATTERN SEQ({begins}, B b+, {ends}) STRATEGY {strategy};"
        for n in range(12)
    )
    units = trend_units(
        plan(parse_workload("\n".join(line.format(n) for n, line in enumerate(text.split("\n")))))
    )
    lanes = [{*one.queries} for one in shared_patterns(units) if one.lanes]
    assert (len(lanes) > 1) == in_several
    told = [{*pair} for block in apart(units) for pair in block.pairs()]
    for pair in itertools.combinations([f"q{n}" for n in range(12)], 2):
        assert any({*pair} <= names for names in lanes) != ({*pair} in told)


@pytest.mark.parametrize("strategy", ["SKIP TILL NEXT MATCH", "CONTIGUOUS"])
def test_explain_tells_that_lanes_with_little_in_common_do_not_go_side_by_side(
    strategy: str,
) -> None:
    text = """
        QUERY one RETURN COUNT(*) PATTERN SEQ(A, B+) STRATEGY {0};
        QUERY two RETURN SUM(D.v) PATTERN SEQ(C, D+) STRATEGY {0};
        QUERY three RETURN MIN(F.v), MAX(F.v) PATTERN SEQ(E, F+) STRATEGY {0};
    """
    units = trend_units(plan(parse_workload(text.format(strategy))))
    assert shared_patterns(units) == ()
    (block,) = apart(units)
    assert len({*block.pairs()}) == 3
    assert block.why.endswith(
        "they compute different things, with too little in common to process them side by side"
    )


@pytest.mark.parametrize("strategy", ["SKIP TILL NEXT MATCH", "CONTIGUOUS"])
def test_queries_of_one_shape_and_their_beginnings_are_lanes_of_one_pass(strategy: str) -> None:
    text = """
        QUERY one RETURN COUNT(*) PATTERN SEQ(A, B+, C) STRATEGY {0};
        QUERY two RETURN COUNT(*) PATTERN SEQ(C c, D d+, A a) WHERE d.v > 2 STRATEGY {0};
        QUERY three RETURN COUNT(*) PATTERN SEQ(X, B+) STRATEGY {0};
        QUERY four RETURN COUNT(*) PATTERN SEQ(A a, B b+) WHERE b[i].v > b[i-1].v STRATEGY {0};
        QUERY five RETURN COUNT(*) PATTERN SEQ(A, B*, C) STRATEGY {0};
        QUERY six RETURN COUNT(*) PATTERN SEQ(A, B+, C) STRATEGY {0} WITHIN 5 seconds;
    """
    units = trend_units(plan(parse_workload(text.format(strategy))))
    (lanes,) = shared_patterns(units)
    assert (lanes.pattern, lanes.queries) == ("SEQ(A, B+, C)", ("one", "two", "three"))
    assert lanes.how.startswith("whose patterns have the same shape")
    assert not may_share(units)
    reasons = {pair: block.why.split("; ")[-1] for block in apart(units) for pair in block.pairs()}
    assert len(reasons) == 12
    assert reasons["one", "four"] == "their conditions between events differ"
    assert (
        reasons["two", "five"] == "they differ in which events may follow which, or begin a trend"
    )
    assert reasons["three", "six"] == "their windows differ"


@pytest.mark.parametrize(
    ("strategy", "common"),
    [
        ("CONTIGUOUS", "SEQ(A, B+)"),
        ("SKIP TILL NEXT MATCH", "A"),  # what takes an event of B+ on differs
    ],
)
def test_lanes_with_a_common_beginning_have_it_as_one_state(strategy: str, common: str) -> None:
    text = """
        QUERY one RETURN COUNT(*) PATTERN SEQ(A, B+, C) STRATEGY {0};
        QUERY two RETURN COUNT(*) PATTERN SEQ(A, B+, D) STRATEGY {0};
        QUERY three RETURN COUNT(*) PATTERN SEQ(A, B+) STRATEGY {0};
        QUERY four RETURN COUNT(*) PATTERN SEQ(C c, B+) STRATEGY {0};
    """
    units = trend_units(plan(parse_workload(text.format(strategy))))
    told = shared_patterns(units)
    (merged,) = [one for one in told if one.merged]
    assert (merged.pattern, merged.queries) == (common, ("one", "two", "three"))
    (lanes,) = [one for one in told if one.lanes]
    assert lanes.queries == ("one", "two", "three", "four")
    lines = "\n".join(sharing_text(units, None))
    assert f"{common} of one, two and three, kept once for all of them" in lines
    assert apart(units) == ()


@pytest.mark.parametrize(
    ("strategy", "common"),
    [("CONTIGUOUS", "SEQ(A, B+)"), ("SKIP TILL NEXT MATCH", "SEQ(A, NOT X)")],
)
def test_lanes_with_an_equal_not_have_what_is_before_it_and_it_as_one_state(
    strategy: str, common: str
) -> None:
    text = """
        QUERY one RETURN COUNT(*) PATTERN SEQ(A, NOT X x, B+, C) WHERE x.v > 1 STRATEGY {0};
        QUERY two RETURN COUNT(*) PATTERN SEQ(A, NOT X x, B+, D) WHERE x.v > 1 STRATEGY {0};
    """
    units = trend_units(plan(parse_workload(text.format(strategy))))
    merged, lanes = shared_patterns(units)
    assert (merged.merged, merged.pattern, merged.queries) == (True, common, ("one", "two"))
    assert lanes.lanes


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ("SEQ(A, B+) STRATEGY SKIP TILL NEXT MATCH", "their strategies differ"),
        ("SEQ(A, B+) WITHIN 5 seconds", "their windows differ"),
        ("SEQ(A, C+)", "they look for different events"),
        ("SEQ(A, NOT SEQ(X, Y), B+)", "they forbid different things"),
        ("SEQ(A a, B b+) WHERE b[i].v > b[i-1].v", "their conditions between events differ"),
        ("SEQ(A a, B b*)", "they differ in which events may follow which, or end a trend"),
    ],
)
def test_explain_says_in_what_automata_differ(other: str, why: str) -> None:
    from elsinore.plan.assembly import guarded_template

    texts = (
        "QUERY one RETURN COUNT(*) PATTERN SEQ(A, B+);",
        (f"QUERY two RETURN COUNT(*) PATTERN {other};"),
    )
    one, two = (guarded_template(parse_workload(text).queries[0]) for text in texts)
    assert why_apart(one, two) == why
    assert why_apart(one, one) is None
