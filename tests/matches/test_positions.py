"""Events of a match by their position: b[2], b[i-2] and b[b.LEN-1]."""

from __future__ import annotations

import pytest

import elsinore as el
from elsinore.errors import ElsinoreError

PRICES = [{"time": n, "type": "B", "v": v} for n, v in enumerate((3, 1, 4, 1, 5))]


def rows(text: str) -> list[dict[str, object]]:
    (table,) = el.Workload.parse(text).run(PRICES).values()
    return table.to_pylist()


def test_values_at_a_position_are_null_where_there_are_fewer_events() -> None:
    found = rows(
        "RETURN b[2].v AS s, b[b.LEN-1].v AS l, b[4].v AS f PATTERN B{2,4} b STRATEGY CONTIGUOUS"
    )
    assert {"s": 1, "l": 3, "f": None} in found  # 3, 1
    assert {"s": 1, "l": 4, "f": 1} in found  # 3, 1, 4, 1
    assert len(found) == 4 + 3 + 2


@pytest.mark.parametrize(
    ("condition", "values"),
    [
        ("b[b.LEN].v > b[b.LEN-2].v", [[3, 1, 4], [4, 1, 5]]),
        ("b[2].v = 4", [[1, 4, 1]]),
        ("b[i].v >= b[i-2].v", [[3, 1, 4], [1, 4, 1], [4, 1, 5]]),
        ("b[i].time - b[i-2].time < 2", []),
        ("b[4].v > 100", [[3, 1, 4], [1, 4, 1], [4, 1, 5]]),  # it does not apply
    ],
)
def test_conditions_on_positions(condition: str, values: list[list[int]]) -> None:
    found = rows(f"RETURN b[].v AS v PATTERN B{{3}} b WHERE {condition} STRATEGY CONTIGUOUS")
    assert [row["v"] for row in found] == values


def test_the_builder_and_the_text_give_the_same_query() -> None:
    b = el.event("B", "b")
    query = (
        el.query("q")
        .match(b.times(3, None))
        .where(b.current.v > b.back(2).v, b.at(2).v < b.before_last(1).v)
        .select(b.at(3).v, b.at(1).v, b.before_last(0).v)
    )
    text = """QUERY q RETURN b[3].v, b[1].v, b[b.LEN].v PATTERN B{3,} b
        WHERE b[i].v > b[i-2].v AND b[2].v < b[b.LEN-1].v"""
    assert str(el.Workload(query)) == str(el.Workload.parse(text))
    with pytest.raises(ValueError, match="from 1 to 100, not 101"):
        b.at(101)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (
            "RETURN b[2].v PATTERN B+ b WITHIN 5 COLLAPSED",
            r"'b\[2\]': .* not supported in COLLAPSED",
        ),
        ("RETURN b[101].v PATTERN B+ b", "Positions go up to 100"),
        ("RETURN b[i-2].v PATTERN B+ b", "may be bound to several events"),
        (
            "RETURN a.v PATTERN SEQ(A a, B b) WHERE a[2].v > b.v",
            "bound to one event: write a.v without",
        ),
    ],
)
def test_other_positions_are_rejected(text: str, part: str) -> None:
    with pytest.raises(ElsinoreError, match=part):
        el.Workload.parse(text).explain()


def test_explain_says_what_is_remembered() -> None:
    text = "RETURN b[3].v PATTERN B+ b WHERE b[i].v > b[i-3].v"
    explained = el.Workload.parse(text).explain()
    assert "event 3 of b" in explained
    assert "the event 2 before the latest b" in explained
