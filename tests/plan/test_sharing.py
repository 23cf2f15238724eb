"""Sharing sets by Definitions 4 and 5 of the HAMLET paper, and panes."""

from __future__ import annotations

import pytest

from elsinore.language import parse_workload
from elsinore.model.window import UNITS, Window
from elsinore.plan import Template
from elsinore.plan.panes import pane_length
from elsinore.plan.sharing import loops, obstacle, sharing_sets, why_not
from elsinore.plan.template import template

MINUTE = UNITS["minute"]


def templates(*queries: str) -> list[Template]:
    """Return the templates of queries given as "RETURN ... PATTERN ...", named q1, q2, ..."""
    text = "\n".join(f"QUERY q{number} {query};" for number, query in enumerate(queries, start=1))
    return [template(query) for query in parse_workload(text)]


def shared_by(of: list[Template]) -> list[tuple[str, tuple[int, ...]]]:
    """Return the types and the queries of the sharing sets of some templates."""
    return [(one.type, one.queries) for one in sharing_sets(of)]


def test_a_pane_is_as_long_as_the_greatest_common_divisor_of_within_and_slide() -> None:
    windows = [Window(10 * MINUTE, 5 * MINUTE), Window(15 * MINUTE, 5 * MINUTE)]
    assert pane_length(windows) == 5 * MINUTE


@pytest.mark.parametrize(
    ("windows", "length"),
    [([], None), ([None], None), ([None, Window(6)], 6), ([Window(6), Window(4, 10)], 2)],
)
def test_panes_of_tumbling_windows_and_of_none(
    windows: list[Window | None], length: int | None
) -> None:
    assert pane_length(windows) == length


def test_queries_of_figure_4_share_b() -> None:
    q1, q2 = templates("RETURN COUNT(*) PATTERN SEQ(A, B+)", "RETURN COUNT(*) PATTERN SEQ(C, B+)")
    assert shared_by([q1, q2]) == [("B", (0, 1))]
    assert why_not(q1, q2) is None


def test_nested_kleene_patterns_share_b() -> None:
    q1, q2 = templates(
        "RETURN COUNT(*) PATTERN (SEQ(A, B+))+", "RETURN COUNT(*) PATTERN (SEQ(C, B+))+"
    )
    assert loops(q1) == {"B": {None}}
    assert shared_by([q1, q2]) == [("B", (0, 1))]
    assert q1.predecessor_types("B") == {"A", "B"}
    assert q1.predecessor_types("A") == {"B"}


def test_averages_share_with_sums_and_counts_of_events_of_the_type() -> None:
    found = templates(
        "RETURN AVG(b.v) PATTERN SEQ(A, B b+)",
        "RETURN SUM(b.w) PATTERN SEQ(C, B b+)",
        "RETURN COUNT(b) PATTERN SEQ(D, B b+)",
    )
    assert shared_by(found) == [("B", (0, 1, 2))]


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        ("MIN(b.v)", "MIN(b.v)", True),
        ("MIN(b.v)", "MIN(b.w)", False),
        ("MIN(b.v)", "MAX(b.v)", False),
        ("MAX(b.v)", "MAX(b.v)", True),
        ("COUNT(*)", "MIN(b.v)", False),
        ("COUNT(*)", "SUM(b.v)", False),
        ("COUNT(*)", "LOG2(COUNT(*))", True),
        ("COUNT(*), MIN(b.v)", "MIN(b.v)", True),
    ],
)
def test_aggregates_go_together_with_their_like(one: str, other: str, shared: bool) -> None:
    q1, q2 = templates(f"RETURN {one} PATTERN SEQ(A, B b+)", f"RETURN {other} PATTERN SEQ(C, B b+)")
    assert bool(shared_by([q1, q2])) is shared
    assert (why_not(q1, q2) is None) is shared


def test_windows_of_different_length_share() -> None:
    q1, q2 = templates(
        "RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10 minutes SLIDE 5 minutes",
        "RETURN COUNT(*) PATTERN SEQ(C, B+) WITHIN 15 minutes SLIDE 5 minutes",
    )
    assert why_not(q1, q2) is None


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        ("COUNT(*) PATTERN SEQ(A, B+)", "COUNT(*) PATTERN SEQ(A+, B)", "no Kleene sub-pattern"),
        ("COUNT(*) PATTERN SEQ(A, B+)", "COUNT(*) PATTERN SEQ(A, B)", "no Kleene sub-pattern"),
        (
            "SUM(b.v) PATTERN SEQ(A, B b+)",
            "COUNT(*) PATTERN SEQ(C, B b+)",
            "computes sums",
        ),
        ("MIN(b.v) PATTERN SEQ(A, B b+)", "COUNT(*) PATTERN SEQ(C, B b+)", "MIN and MAX differ"),
    ],
)
def test_a_pair_that_does_not_share_is_told_why(one: str, other: str, reason: str) -> None:
    q1, q2 = templates(f"RETURN {one}", f"RETURN {other}")
    assert reason in (why_not(q1, q2) or "")
    assert shared_by([q1, q2]) == []


def test_predicates_on_the_shared_type_hinder_nobody() -> None:
    q1, q2 = templates(
        "RETURN COUNT(*) PATTERN SEQ(A, B b+) WHERE b.v < 3",
        "RETURN COUNT(*) PATTERN SEQ(C, B x+)",
    )
    assert why_not(q1, q2) is None
    assert shared_by([q1, q2]) == [("B", (0, 1))]


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("RETURN COUNT(*) PATTERN SEQ(A, B+)", None),
        (
            "RETURN COUNT(*) PATTERN SEQ(A+, B+) STRATEGY CONTIGUOUS",
            "restricts which events may be skipped",
        ),
        ("RETURN COUNT(*) PATTERN SEQ(A a, B b, B+ c)", "follow B events of another state"),
        ("RETURN COUNT(*) PATTERN SEQ(B+ b, B+ c)", "ambiguous"),
    ],
)
def test_what_keeps_a_query_out_of_the_shared_graph_is_told(query: str, told: str | None) -> None:
    (found,) = templates(query)
    reason = obstacle(found)
    assert reason is None if told is None else told in (reason or "")
