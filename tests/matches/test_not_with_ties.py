"""What a NOT forbids lies strictly between the events around it: simultaneous events do not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from benchmarks.evaluations import ENGINE, EVALUATIONS, run_by

import elsinore as el
from support.small_arrays import interpret_evaluations


@pytest.fixture(scope="module", autouse=True)
def interpreted() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        interpret_evaluations(patch)
        yield


WAYS = (ENGINE, *EVALUATIONS)
CASES = [  # pattern, second of each event, whether it is a match
    ("SEQ(A a, NOT C c, B b)", {"A": 0, "C": 0, "B": 2}, True),
    ("SEQ(A a, NOT C c, B b)", {"A": 0, "C": 1, "B": 2}, False),
    ("SEQ(A a, NOT C c, B b)", {"A": 0, "C": 2, "B": 2}, True),
    ("SEQ(A a, NOT SEQ(C c, D d), B b)", {"A": 0, "C": 1, "D": 2, "B": 3}, False),
    ("SEQ(A a, NOT SEQ(C c, D d), B b)", {"A": 0, "C": 1, "D": 1, "B": 3}, True),
    ("SEQ(A a, NOT SEQ(C c, D d), B b)", {"A": 0, "C": 0, "D": 1, "B": 3}, True),
    ("SEQ(A a, NOT SEQ(C c, D d), B b)", {"A": 0, "C": 1, "D": 3, "B": 3}, True),
    ("SEQ(NOT C c, A a, B b)", {"C": 0, "A": 0, "B": 1}, True),
    ("SEQ(NOT C c, A a, B b)", {"C": 0, "A": 1, "B": 2}, False),
    ("SEQ(A a, B b, NOT C c)", {"A": 0, "B": 1, "C": 1}, True),
    ("SEQ(A a, B b, NOT C c)", {"A": 0, "B": 1, "C": 2}, False),
    ("SEQ(A a, NOT SEQ(C c, NOT D d), B b)", {"A": 0, "C": 1, "D": 1, "B": 2}, False),
    ("SEQ(A a, NOT SEQ(C c, NOT D d), B b)", {"A": 0, "C": 1, "D": 2, "B": 2}, True),
]


@pytest.mark.parametrize("window", ["", "WITHIN 4 seconds", "WITHIN 8 seconds SLIDE 8 seconds"])
@pytest.mark.parametrize(("pattern", "seconds", "is_match"), CASES)
def test_a_not_forbids_nothing_at_the_time_of_its_neighbours(
    pattern: str, seconds: dict[str, int], is_match: bool, window: str
) -> None:
    for strategy in ("SKIP TILL ANY MATCH", "SKIP TILL NEXT MATCH"):
        text = f"QUERY q RETURN EVENT_IDS(type) AS t PATTERN {pattern} STRATEGY {strategy} {window}"
        for order in (tuple(seconds), tuple(reversed(seconds))):  # of simultaneous events
            rows = sorted((seconds[kind], n, kind) for n, kind in enumerate(order))
            events = [{"time": float(second), "type": kind} for second, _, kind in rows]
            for evaluation in WAYS if not window else WAYS[:1]:
                found = run_by(evaluation, el.Workload.parse(text), events)["q"]["t"].to_pylist()
                assert found == [["A", "B"]] * is_match, (order, evaluation)


def test_a_not_at_the_end_changes_no_event_that_a_run_must_take() -> None:
    stream = [{"time": float(n), "type": kind, "n": n} for n, kind in enumerate("CBBBAB")]
    text = "QUERY q RETURN EVENT_IDS(n) AS ids PATTERN {} STRATEGY SKIP TILL NEXT MATCH"
    pattern = "SEQ(C a, (B b{2,} OR A c)+%s)"  # three B are one round, or two and a half
    with_not, without = (
        el.Workload.parse(text.format(pattern % end)).run(stream)["q"]["ids"].to_pylist()
        for end in (", NOT D d", "")
    )
    assert sorted(with_not) == sorted(without)
    assert [0, 1, 2, 3, 5] not in with_not  # the A can follow the third B


@pytest.mark.parametrize("evaluation", WAYS)
def test_events_of_either_round_are_skipped_by_neither(evaluation: str) -> None:
    """Two A are one round or two: only as two can a D follow, so it is not skipped."""
    text = (
        "QUERY m RETURN EVENT_IDS(n) AS ids PATTERN SEQ((SEQ(A a{1,2}, NOT C c)){2}, D d) "
        "STRATEGY SKIP TILL NEXT MATCH; "
        "QUERY t RETURN COUNT(*) AS n PATTERN SEQ((SEQ(A a{1,2}, NOT C c)){2}, D d) "
        "STRATEGY SKIP TILL NEXT MATCH"
    )
    workload = el.Workload.parse(text)
    for kinds, expected in (
        ("AADAD", [[0, 1, 2], [1, 3, 4]]),
        ("ACADAD", [[0, 2, 4, 5], [2, 4, 5]]),  # the C leaves the first two A one round
    ):
        events = [{"time": n, "type": kind, "n": n} for n, kind in enumerate(kinds)]
        results = run_by(evaluation, workload, events)
        assert sorted(results["m"]["ids"].to_pylist()) == expected, kinds
        assert results["t"]["n"].to_pylist() == [len(expected)]
