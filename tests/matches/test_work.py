"""A search gives up when it has tried too much in a run, however many events matches begin with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from benchmarks.evaluations import ENGINE, EVALUATIONS, run_by

import elsinore as el
from elsinore.matches.engine import pattern as work
from support.small_arrays import interpret_evaluations

HEAVY = "QUERY heavy RETURN COUNT(b[]) AS n PATTERN {} WHERE SUM(b[].v) >= {} {}"
WAYS = (ENGINE, *EVALUATIONS)


@pytest.fixture(autouse=True, scope="module")
def interpreted() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        interpret_evaluations(patch)
        yield


def events(size: int) -> list[dict[str, object]]:
    return [{"time": float(n), "type": "B", "v": 1} for n in range(size)]


@pytest.mark.parametrize("evaluation", WAYS)
def test_the_limit_is_of_all_beginnings_together(
    monkeypatch: pytest.MonkeyPatch, evaluation: str
) -> None:
    """Each of 20 events begins some 60 partial matches within the window, none of them a match."""
    workload = el.Workload.parse(HEAVY.format("B+ b", 1000, "WITHIN 5 seconds"))
    assert run_by(evaluation, workload, events(20))["heavy"].num_rows == 0
    monkeypatch.setattr(work, "STEPS_AT_FIRST", 400)
    monkeypatch.setattr(work, "STEPS_EACH", 5)
    with pytest.raises(el.InputError, match=r"heavy: more than 500 partial matches were tried"):
        run_by(evaluation, workload, events(20))


@pytest.mark.parametrize("pattern", ["B+ b", "(B b OR B b)+"])
def test_it_is_of_one_beginning_too(monkeypatch: pytest.MonkeyPatch, pattern: str) -> None:
    monkeypatch.setattr(work, "STEPS_AT_FIRST", 5_000)
    monkeypatch.setattr(work, "STEPS_EACH", 10)
    with pytest.raises(el.InputError, match=r"5,700 partial matches.*Make the window shorter"):
        el.Workload.parse(HEAVY.format(pattern, 1000, "")).run(events(70))


def test_a_run_may_try_more_for_more_events_and_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "STEPS_AT_FIRST", 5_000)
    monkeypatch.setattr(work, "STEPS_EACH", 1_000)
    workload = el.Workload.parse(HEAVY.format("B+ b", 1000, "WITHIN 8 seconds"))
    assert workload.run(events(200))["heavy"].num_rows == 0
    workload = el.Workload.parse(HEAVY.format("B+ b", 1, "WITHIN 11 seconds"))
    assert workload.run(events(24))["heavy"].num_rows > 20_000


def test_the_limit_under_not_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "STEPS_AT_FIRST", 5_000)
    monkeypatch.setattr(work, "STEPS_EACH", 10)
    stream = [{"time": -1.0, "type": "A", "v": 1}, *events(40), {"time": 99.0, "type": "C", "v": 1}]
    text = "QUERY q RETURN a.v PATTERN SEQ(A a, NOT SEQ(B+ b, B c), C d) WHERE c.v > b[1].v"
    with pytest.raises(el.InputError, match=r"under NOT has too many matches.*Make the window"):
        el.Workload.parse(text).run(stream)


def test_a_long_repetition_is_counted_before_it_is_listed() -> None:
    """Its 400 states make each event cost much, which plain Python must not be left to do."""
    query = el.Workload.parse("QUERY q RETURN COUNT(a[]) PATTERN A{400} a;")
    table = [{"time": float(n), "type": "A"} for n in range(420)]
    with pytest.raises(el.InputError, match="a window has more than 9,000,000,000,000,000,000"):
        query.run(table)
