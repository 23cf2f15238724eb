"""Sharing sets by Definitions 4 and 5 of the HAMLET paper, and panes."""

from __future__ import annotations

import pytest

from elsinore.language import parse_workload
from elsinore.model.window import UNITS, Window
from elsinore.plan import Template
from elsinore.plan.panes import pane_length
from elsinore.plan.sharing import loops, obstacle
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


def test_the_inner_of_nested_kleene_patterns_loops() -> None:
    (q1,) = templates("RETURN COUNT(*) PATTERN (SEQ(A, B+))+")
    assert loops(q1) == {"B": {None}}
    assert q1.predecessor_types("B") == {"A", "B"}
    assert q1.predecessor_types("A") == {"B"}


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
