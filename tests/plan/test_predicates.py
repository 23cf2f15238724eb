"""Sorting predicates into those of one event and those between events."""

from __future__ import annotations

import pytest

from elsinore.language import parse_expression, parse_query
from elsinore.plan.predicates import contradictions, local_predicates, over_type


def local(where: str, pattern: str = "SEQ(A a, B b+)") -> dict[str, set[str]]:
    """Return the local predicates of each variable as text read back."""
    query = parse_query(f"RETURN COUNT(*) PATTERN {pattern} WHERE {where}")
    return {name: set(found) for name, found in local_predicates(query).items()}


def test_a_predicate_on_a_variable_binds_that_variable_only() -> None:
    assert local("a.v < 3 AND b.v > 5") == {
        "a": {parse_expression("A.v < 3")},
        "b": {parse_expression("B.v > 5")},
    }


def test_a_predicate_on_a_type_binds_all_its_variables() -> None:
    found = local("A.v < 3", "SEQ(A a, B b, A c)")
    assert found == {"a": {parse_expression("A.v < 3")}, "b": set(), "c": found["a"]}


def test_the_same_condition_on_two_variables_of_a_type_is_one_predicate() -> None:
    found = local("a.v < 3 AND c.v < 3", "SEQ(A a, A c)")
    assert found["a"] == found["c"] == {parse_expression("A.v < 3")}


def test_the_current_event_of_a_kleene_variable_is_that_event() -> None:
    assert local("b[i].v > 5") == local("b.v > 5")


def test_a_condition_without_attributes_binds_every_variable() -> None:
    assert local("1 = 2") == {name: {parse_expression("1 = 2")} for name in "ab"}


@pytest.mark.parametrize(
    "text",
    [
        "A.v < 3",
        "NOT A.v IN (1, 2) OR A.s IS NULL",
        "-A.v + ABS(A.w) * 2 > A.v % 3",
        "A.b AND TRUE",
    ],
)
def test_rewriting_over_a_type_changes_the_variable_and_nothing_else(text: str) -> None:
    found = over_type(parse_expression(text.replace("A.", "x.")), "A")
    assert found == parse_expression(text)


@pytest.mark.parametrize(
    "where", ["a.v < b.v", "b[i].v > b[i-1].v", "b[1].v > a.v", "b[i].v > a.v + 1"]
)
def test_predicates_between_events_are_no_local_ones(where: str) -> None:
    assert local(where) == {"a": set(), "b": set()}
    assert local(f"{where} AND a.v < 3") == {"a": {parse_expression("A.v < 3")}, "b": set()}


def told(pattern: str, where: str) -> tuple[str, ...]:
    """Return what is told of contradictions, no variable being known to be live."""
    query = parse_query(f"RETURN COUNT(*) PATTERN {pattern} WHERE {where}")
    return contradictions(query, local_predicates(query), ())


def test_contradictions_are_told_with_the_variable_and_no_more_conditions_than_it_takes() -> None:
    assert told("SEQ(A a, B b*, C)", "b.w > 1 AND b[i].v < 3 AND a.v > 9 AND b.v > 5") == (
        "no event can be b: b[i].v < 3 and b.v > 5 contradict each other.",
    )
    assert told("A a+", "a.v > a.v") == (
        "no event can be a: a.v > a.v is never true. The event before is a[i-1].",
    )
    assert told("SEQ(A a, A b)", "A.v < 3 AND b.v > 5") == (
        "no event can be b: A.v < 3 and b.v > 5 contradict each other.",
    )


def test_a_constant_that_is_not_true_is_told_once() -> None:
    assert told("SEQ(A a, NOT B b, C c)", "1 = 2") == (
        "no event can be a or b or c: 1 = 2 is never true.",
    )


def test_no_contradiction_is_told_where_there_is_none() -> None:
    assert told("SEQ(A a, A b)", "a.v < 3 AND b.v > 5 AND a.v > b.v AND b.v < a.v") == ()
