"""Warnings of events that the conditions on two of them keep from ever being neighbours."""

from __future__ import annotations

import pytest

import elsinore
from elsinore.language import parse_workload
from elsinore.plan import neighbours
from elsinore.plan.assembly import guarded_template


def told(pattern: str, where: str) -> tuple[str, ...]:
    """Return the warnings of a query, without its name."""
    text = f"QUERY q RETURN COUNT(*) PATTERN {pattern} WHERE {where}"
    return tuple(told.removeprefix("query q: ") for told in elsinore.Workload.parse(text).warnings)


@pytest.mark.parametrize(
    ("pattern", "where", "reason"),
    [
        (
            "SEQ(A, B+)",
            "B[i].v < B[i-1].v AND B.w > 3 AND B[i].v > B[i-1].v",
            "B right after another B: B[i].v < B[i-1].v and B[i].v > B[i-1].v",
        ),
        (
            "SEQ(A, B+)",
            "B[i].v + 1 < B[i-1].v AND B[i].v > B[i-1].v",
            "B right after another B: B[i].v + 1 < B[i-1].v and B[i].v > B[i-1].v",
        ),
        (
            "SEQ(A, B b)",
            "A.v > 5 AND b.v < 3 AND A.v < b.v + 1 AND A.w != b.w",
            "b right after A: A.v > 5 and b.v < 3 and A.v < b.v + 1",
        ),
        (
            "SEQ(A, NOT SEQ(C+, D), B)",
            "C[i].v = C[i-1].v AND C[i].v != C[i-1].v",
            "C right after another C: C[i].v = C[i-1].v and C[i].v != C[i-1].v",
        ),
    ],
)
def test_events_that_are_never_neighbours_are_told_of(
    pattern: str, where: str, reason: str
) -> None:
    assert told(pattern, where) == (f"no event can be {reason} contradict each other.",)


@pytest.mark.parametrize(
    ("pattern", "where"),
    [
        ("SEQ(A, B+)", "B[i].v <= B[i-1].v AND B[i].v >= B[i-1].v"),
        ("SEQ(A, B+)", "B[i].v < B[i-1].v AND B[i].w > B[i-1].w"),
        ("SEQ(A, B, C+)", "A.v < C.v AND A.v > C.v AND B.v < C.v"),  # A and C are no neighbours
        ("SEQ(A, B)", "A.v > B.v"),
        ("SEQ(A, B)", "A.v > 5 AND B.v < 3 AND A.v < B.w AND A.w < B.v"),
        ("SEQ(A, B+)", "(B[i].v < B[i-1].v) IS NULL AND (B[i].v > B[i-1].v) IS NULL"),
    ],
)
def test_nothing_is_told_where_events_may_be_neighbours(pattern: str, where: str) -> None:
    assert told(pattern, where) == ()


def test_of_a_variable_without_events_that_alone_is_told() -> None:
    (only,) = told("SEQ(A, B+)", "B.v < 3 AND B.v > 5 AND B[i].v < B[i-1].v AND A.v + B.v < 2")
    assert only.startswith("no events can match, for no event can be B: B.v < 3 and B.v > 5")


def test_a_sum_that_is_never_less_is_told_of_with_its_variable() -> None:
    assert told("SEQ(A, B b*, C)", "b.v + 1 < b.v") == (
        "no event can be b: b.v + 1 < b.v is never true.",
    )


def test_a_single_time_limit_takes_no_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes one some 15 milliseconds, for each of thousands of rules."""
    looks = []
    monkeypatch.setattr(neighbours, "contradictory", looks.append)
    text = "QUERY q RETURN COUNT(*) PATTERN SEQ(A a, B b) WHERE b.time - a.time <= 5 minutes"
    guarded_template(parse_workload(text).queries[0])
    assert not looks
