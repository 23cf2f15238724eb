"""Events of a match by their position: b[2], b[i-2], b[b.LEN-1] and b[i-3..i-1]."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

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


Values = list[int | None]
RUN: Values = [4, 6, 5, None, 9, 2, 7, 7, None, None, 3, 8, 1]
Condition = Callable[[int | None, list[int]], bool]  # of an event and values before it


def of_latest(values: Values, farthest: int, nearest: int) -> list[int] | None:
    """Return the values from so many to so many from the end on; None if there is no event."""
    end = len(values) - nearest + 1
    events = values[max(len(values) - farthest, 0) : max(end, 0)]
    return [value for value in events if value is not None] if events else None


@pytest.mark.parametrize(
    ("condition", "latest", "holds"),
    [
        (
            "b[i].v >= AVG(b[i-2..i-1].v)",
            (2, 1),
            lambda v, last: last and v and v >= sum(last) / len(last),
        ),
        ("b[i].v < MAX(b[i-3..i-2].v)", (3, 2), lambda v, last: last and v and v < max(last)),
        ("SUM(b[i-2..i-1].v) < 12", (2, 1), lambda _, last: last and sum(last) < 12),
        ("COUNT(b[i-3..i-1].v) < 3", (3, 1), lambda _, last: len(last) < 3),
        ("COUNT(b[i-3..i-2].v) < 2", (3, 2), lambda _, last: len(last) < 2),
        ("MIN(b[i-1..i-1].v) >= 4", (1, 1), lambda _, last: last and min(last) >= 4),
        (
            "b[i].v <= MEDIAN(b[i-3..i-1].v)",
            (3, 1),
            lambda v, last: last and v and v <= median(last),
        ),
    ],
)
def test_aggregates_of_the_latest_events(
    condition: str, latest: tuple[int, int], holds: Condition
) -> None:
    longest = []
    for begin in range(len(RUN)):
        end = begin + 1
        while end < len(RUN):
            before = of_latest(RUN[begin:end], *latest)
            if before is not None and not holds(RUN[end], before):
                break
            end += 1
        longest.append(RUN[begin:end])
    events = [{"time": n, "type": "B", "v": v} for n, v in enumerate(RUN)]
    text = f"""RETURN b[].v AS v PATTERN B+ b WHERE {condition}
        STRATEGY CONTIGUOUS AFTER MATCH SKIP TO NEXT EVENT"""
    (table,) = el.Workload.parse(text).run(events).values()
    assert table["v"].to_pylist() == longest


def test_sums_of_the_latest_events_are_exact() -> None:
    large = 2**60
    values = [large, large + 1, 2 * large + 1, 3 * large + 2]
    events = [{"time": n, "type": "B", "v": v} for n, v in enumerate(values)]
    text = """RETURN b[].v AS v PATTERN B{2,} b STRATEGY CONTIGUOUS
        WHERE b[i].v = SUM(b[i-2..i-1].v) OR COUNT(b[i-2..i-1]) < 2"""
    (table,) = el.Workload.parse(text).run(events).values()
    assert values in table["v"].to_pylist()
    events[2]["v"] = 2 * large + 2  # as a double, it is the same
    (table,) = el.Workload.parse(text).run(events).values()
    assert max(map(len, table["v"].to_pylist())) == 2


def test_the_builder_and_the_text_give_the_same_query() -> None:
    b = el.event("B", "b")
    query = (
        el.query("q")
        .match(b.times(3, None))
        .where(
            b.current.v > b.back(2).v,
            b.at(2).v < b.before_last(1).v,
            b.current.v > b.recent(3).v.avg(),
            b.recent(3, 2).count() < 2,
        )
        .select(b.at(3).v, b.at(1).v, b.before_last(0).v)
    )
    text = """QUERY q RETURN b[3].v, b[1].v, b[b.LEN].v PATTERN B{3,} b
        WHERE b[i].v > b[i-2].v AND b[2].v < b[b.LEN-1].v
        AND b[i].v > AVG(b[i-3..i-1].v) AND COUNT(b[i-3..i-2]) < 2"""
    assert str(el.Workload(query)) == str(el.Workload.parse(text))
    with pytest.raises(ValueError, match="from 1 to 100, not 101"):
        b.at(101)
    with pytest.raises(ValueError, match="not 2 and 3"):
        b.recent(2, 3)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (
            "RETURN b[2].v PATTERN B+ b WITHIN 5 COLLAPSED",
            r"'b\[2\]': .* not supported in COLLAPSED",
        ),
        ("RETURN b[101].v PATTERN B+ b", "Positions go up to 100"),
        ("RETURN b[1].v PATTERN B+ b WHERE b[i].v > AVG(b[i-1..i-3].v)", "Positions go up to 100"),
        ("RETURN b[1].v PATTERN B+ b WHERE b[i].v > b[i-3..i-1].v", "stands for several events"),
        ("RETURN AVG(b[i-3..i-1].v) PATTERN B+ b", "is over all events of a variable"),
        (
            "RETURN COUNT(*) PATTERN B+ b WHERE b[i].v > AVG(b[i-3..i-1].v)",
            "It takes a match query",
        ),
        (
            "RETURN b[1].v PATTERN B+ b WHERE b[i].v > AVG(b[i-3..i-1].v) WITHIN 5 COLLAPSED",
            "not supported in COLLAPSED",
        ),
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
    text = "RETURN b[1].v PATTERN B+ b WHERE b[i].v > MIN(b[i-4..i-2].v)"
    explained = el.Workload.parse(text).explain()
    assert "b[i].v > MIN(b[i-4..i-2].v): neither" in explained
    assert "least b.v, of the latest 4 but the latest 1" in explained
