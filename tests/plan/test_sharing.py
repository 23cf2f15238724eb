"""Sharing sets by Definitions 4 and 5 of the HAMLET paper, and panes."""

from __future__ import annotations

import pytest

from elsinore.language import parse_query
from elsinore.model.window import UNITS, Window, pane_length
from elsinore.plan.assembly import guarded_template

MINUTE = UNITS["minute"]


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
    template = guarded_template(parse_query("RETURN COUNT(*) PATTERN (SEQ(A, B+))+"))
    assert template.loops() == {"B"}
    assert template.predecessor_types("B") == {"A", "B"}
    assert template.predecessor_types("A") == {"B"}
