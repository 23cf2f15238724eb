"""Sharing sets by Definitions 4 and 5 of the HAMLET paper, and panes."""

from __future__ import annotations

import pytest

from elsinore.language import parse_workload
from elsinore.model.window import UNITS, Window
from elsinore.plan import Template
from elsinore.plan.panes import pane_length
from elsinore.plan.sharing import SharingSet, families, loop_types, reasons, sharing_sets, why_not
from elsinore.plan.template import template

MINUTE = UNITS["minute"]


def templates(*queries: str) -> list[Template]:
    """Return the templates of queries given as "RETURN ... PATTERN ...", named q1, q2, ..."""
    text = "\n".join(f"QUERY q{number} {query};" for number, query in enumerate(queries, start=1))
    return [template(query) for query in parse_workload(text)]


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
    assert sharing_sets([q1, q2]) == (SharingSet("B", (0, 1), "COUNT(*)"),)
    assert why_not(q1, q2) is None


def test_nested_kleene_patterns_share_b() -> None:
    q1, q2 = templates(
        "RETURN COUNT(*) PATTERN (SEQ(A, B+))+", "RETURN COUNT(*) PATTERN (SEQ(C, B+))+"
    )
    assert loop_types(q1) == ("B",)
    assert sharing_sets([q1, q2]) == (SharingSet("B", (0, 1), "COUNT(*)"),)
    assert q1.predecessor_types("B") == {"A", "B"}
    assert q1.predecessor_types("A") == {"B"}


def test_averages_share_with_sums_and_counts_of_events_of_the_type() -> None:
    found = templates(
        "RETURN AVG(b.v) PATTERN SEQ(A, B b+)",
        "RETURN SUM(b.w) PATTERN SEQ(C, B b+)",
        "RETURN COUNT(b) PATTERN SEQ(D, B b+)",
    )
    assert sharing_sets(found) == (SharingSet("B", (0, 1, 2), "sums over B"),)


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
def test_aggregates_go_together_by_families(one: str, other: str, shared: bool) -> None:
    q1, q2 = templates(f"RETURN {one} PATTERN SEQ(A, B b+)", f"RETURN {other} PATTERN SEQ(C, B b+)")
    assert bool(sharing_sets([q1, q2])) is shared
    assert (why_not(q1, q2) is None) is shared


def test_a_query_is_in_the_set_of_each_of_its_aggregates() -> None:
    (q1,) = templates("RETURN COUNT(*), AVG(b.v), MAX(b.v) PATTERN SEQ(A, B b+)")
    assert families(q1) == ("COUNT(*)", "sums over B", "MAX(B.v)")


def test_windows_of_different_length_share() -> None:
    q1, q2 = templates(
        "RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10 minutes SLIDE 5 minutes",
        "RETURN COUNT(*) PATTERN SEQ(C, B+) WITHIN 15 minutes SLIDE 5 minutes",
    )
    assert why_not(q1, q2) is None


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        (
            "RETURN COUNT(*) PATTERN SEQ(A, B+)",
            "RETURN COUNT(*) PATTERN SEQ(A+, B)",
            "q1 and q2 have no Kleene sub-pattern in common: B+ against A+.",
        ),
        (
            "RETURN COUNT(*) PATTERN SEQ(A, B+)",
            "RETURN COUNT(*) PATTERN SEQ(A, B)",
            "q1 and q2 have no Kleene sub-pattern in common: B+ against none.",
        ),
        (
            "RETURN MIN(b.v) PATTERN SEQ(A, B b+)",
            "RETURN COUNT(*) PATTERN SEQ(C, B b+)",
            "q1 and q2 aggregate what cannot be worked on together: MIN(B.v) against COUNT(*).",
        ),
        (
            "RETURN COUNT(*) PATTERN SEQ(A, B b+) WHERE b.v < 3",
            "RETURN COUNT(*) PATTERN SEQ(C, B b+)",
            "q1 and q2 have different predicates on the events of B+.",
        ),
        (
            "RETURN COUNT(*) PATTERN SEQ(A, B+) GROUP BY g",
            "RETURN COUNT(*) PATTERN SEQ(C, B+) WHERE [k]",
            "q1 and q2 split the stream differently: GROUP BY g against no GROUP BY and [k].",
        ),
    ],
)
def test_a_pair_that_does_not_share_is_told_why(one: str, other: str, reason: str) -> None:
    found = templates(one, other)
    assert why_not(*found) == reason
    assert list(reasons(found)) == [(0, 1, reason)]


def test_the_same_predicates_on_the_shared_type_do_not_hinder() -> None:
    q1, q2 = templates(
        "RETURN COUNT(*) PATTERN SEQ(A, B b+) WHERE b.v < 3",
        "RETURN COUNT(*) PATTERN SEQ(C, B x+) WHERE x.v < 3",
    )
    assert why_not(q1, q2) is None
