"""Queries that differ in names alone have one template: what that must not change."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import elsinore as el
from elsinore.language import parse_workload
from elsinore.plan.modes import Granularity
from elsinore.plan.paths import Routes, route

PATTERNS = (
    "SEQ({0} {1}, {2} {3}+)",
    "SEQ({0}, {2}+)",
    "(SEQ({0} {1}+, {2} {3}))+",
    "SEQ({0} {1}*, {2} {3})",
    "SEQ({0} {1}, {0} {3}+)",
    "{0} {1}+ OR SEQ({0} {3}, {2} c)",
    "SEQ({0} {1}+, NOT {2} {3}, C c)",
)
CLAUSES = (
    "",
    " WHERE B.v > 1",
    " WHERE b.v > 1 AND b.v < 5",
    " WHERE b[i].v >= b[i-1].v",
    " WHERE b.v > 1 AND b.v < 0",
    " GROUP BY g",
)
RETURNS = ("COUNT(*)", "COUNT(b)", "AVG(B.v)", "MIN(b.v), VARIANCE(b.v)")
TYPES = st.lists(st.sampled_from(["A", "B", "C", "D", '"A"']), min_size=2, max_size=2, unique=True)
VARIABLES = st.lists(st.sampled_from(["a", "b", "d", "E"]), min_size=2, max_size=2, unique=True)
SHAPES = st.tuples(st.sampled_from(PATTERNS), st.sampled_from(CLAUSES), st.sampled_from(RETURNS))


def text_of(shape: tuple[str, str, str], types: list[str], variables: list[str]) -> str:
    pattern, clauses, returned = shape
    (one, other), (first, second) = types, variables
    named = pattern.format(one, first, other, second)
    return f"RETURN {returned} PATTERN {named}{clauses} WITHIN 10 seconds"


@settings(max_examples=60)
@given(SHAPES, st.lists(st.tuples(TYPES, VARIABLES), min_size=3, max_size=6))
def test_a_query_is_planned_as_if_it_stood_alone(
    shape: tuple[str, str, str], names: list[tuple[list[str], list[str]]]
) -> None:
    texts = [text_of(shape, *several) for several in names]
    valid = []
    for text in texts:
        try:
            query = parse_workload(text).queries[0]
            route(query, Granularity.AUTO, exact=False)
        except (el.QueryError, el.InvalidWorkloadError):
            continue
        valid.append(text)
    if not valid:
        return
    together = parse_workload("; ".join(f"QUERY q{n} {text}" for n, text in enumerate(valid)))
    for granularity in Granularity:
        routes = Routes(granularity, exact=False)
        for query in together:
            assert routes.of(query) == route(query, granularity, exact=False)


def test_queries_of_one_form_share_it_and_copies_with_other_clauses_do_not() -> None:
    first, second = parse_workload(
        "QUERY p RETURN COUNT(*) PATTERN SEQ(A, B+); QUERY q RETURN COUNT(*) PATTERN SEQ(C, B+)"
    )
    assert first.form_instance
    assert second.form_instance
    assert first.form_instance.form is second.form_instance.form
    assert (first.form_instance.names, second.form_instance.names) == (("A", "B"), ("C", "B"))
    assert replace(first, group_by=("g",)).form_instance is None


@pytest.mark.parametrize("attribute", ["v", "w"])
def test_an_attribute_that_is_missing_is_told_of_every_query_that_reads_it(attribute: str) -> None:
    text = "QUERY {} RETURN COUNT(*) PATTERN SEQ({} x, B b+) WHERE b.v > 1 WITHIN 10 seconds;"
    workload = el.Workload.parse("".join(text.format(f"q{n}", f"X{n}") for n in range(3)))
    events = {"time": [1, 2], "type": ["X0", "B"], attribute: [1.0, 2.0]}
    if attribute == "v":
        assert workload.run(events)["q0"].num_rows == 1
        return
    with pytest.raises(el.InvalidWorkloadError) as caught:
        workload.run(events)
    assert [error.query for error in caught.value.errors] == ["q0", "q1", "q2"]


def test_queries_of_one_form_return_together_what_each_returns_alone() -> None:
    text = "QUERY q{n} RETURN COUNT(*), SUM(b.v) PATTERN SEQ(X{n} x, B b+) WITHIN 4 seconds SLIDE 2"
    texts = [text.format(n=n) for n in range(8)]
    types = [f"X{n * 5 % 8}" if n % 3 else "B" for n in range(60)]
    events = {"time": list(range(60)), "type": types, "v": [float(n % 7) for n in range(60)]}
    together = el.Workload.parse(";".join(texts)).run(events)
    for n, alone in enumerate(texts):
        rows = el.Workload.parse(alone).run(events)[f"q{n}"].to_pylist()
        assert together[f"q{n}"].to_pylist() == rows


def test_a_window_that_cannot_be_is_told_of_each_query_at_its_place() -> None:
    text = "QUERY {} RETURN COUNT(*) PATTERN SEQ({} x, B b+) WITHIN 10;"
    workload = el.Workload.parse("".join(text.format(f"q{n}", f"X{n}") for n in range(3)))
    events = {"time": [datetime(2026, 1, 1)], "type": ["B"]}
    with pytest.raises(el.InvalidWorkloadError) as caught:
        workload.run(events)
    spans = [error.span for error in caught.value.errors]
    assert [error.query for error in caught.value.errors] == ["q0", "q1", "q2"]
    assert [span.start // len(text) for span in spans if span] == [0, 1, 2]
