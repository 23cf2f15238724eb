"""Searches that would take too much time or memory are refused, with the number and the remedy."""

import pytest

import elsinore as el
from elsinore.errors import InputError, QuerySemanticError
from elsinore.matches import uncertain

UNCERTAIN = [
    {"lo": 10 * n, "hi": 10 * n + 1_000, "type": "AB"[n % 2], "v": float(n)} for n in range(40)
]


def found(clauses: str) -> int:
    workload = el.Workload.parse(f"QUERY q RETURN a.v, CONFIDENCE() AS p {clauses}")
    return workload.run(UNCERTAIN, time_interval=("lo", "hi"))["q"].num_rows


def test_a_match_that_would_be_returned_for_100_000_windows_is_refused() -> None:
    text = "QUERY q RETURN a.v PATTERN SEQ(A a, B b) WITHIN {} SLIDE 1"
    with pytest.raises(QuerySemanticError, match=r"up to 100,000 windows.* 1,000 .*SLIDE out"):
        el.Workload.parse(text.format(100_000)).explain()
    events = [{"time": 0, "type": "A", "v": 1.0}, {"time": 1, "type": "B", "v": 2.0}]
    assert el.Workload.parse(text.format(1_000)).run(events)["q"].num_rows == 999


def test_forty_events_of_a_thousand_possible_times_are_answered() -> None:
    assert found("PATTERN SEQ(A a, B b) WITHIN 500") == 400


@pytest.mark.parametrize(
    "clauses",
    [
        "PATTERN SEQ(A a, B b) WITHIN 5000",
        "PATTERN SEQ(A a, B b, A c) WITHIN 500",
        "PATTERN SEQ(A a, NOT A n, B b) WITHIN 500",
        "PATTERN SEQ(A a, NOT A n, B b)",
    ],
)
def test_more_possible_times_than_can_be_summed_up_are_refused(
    clauses: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uncertain, "MOST_SUMMED", 300_000)
    with pytest.raises(InputError, match=r"more than 300,000 possible times .*time_step"):
        found(clauses)
