"""A long search comes back to Python from time to time, where Ctrl-C is seen."""

import signal
import threading
import time

import pytest

import elsinore as el
from elsinore.matches.engine import pattern
from elsinore.matches.engine.codes import Status
from elsinore.matches.engine.tables import Program, Search

HEAVY = "RETURN COUNT(b[]) AS n PATTERN B+ b WHERE SUM(b[].v) >= {least}"


def stream(size: int) -> list[dict[str, object]]:
    return [{"time": n, "type": "B", "v": 1} for n in range(size)]


def test_a_search_that_tries_much_is_interrupted_by_ctrl_c() -> None:
    workload = el.Workload.parse(HEAVY.format(least=1000))
    # ready and compiled: Ctrl-C then comes during the search
    workload.run(stream(16))
    alarm = threading.Timer(0.5, signal.raise_signal, (signal.SIGINT,))
    alarm.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        workload.run(stream(31))  # some minutes of work
    assert time.monotonic() - began < 60


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The beginnings at which a search paused."""
    places: list[int] = []
    scan = pattern.scan

    def noted(program: Program, search: Search) -> None:
        scan(program, search)
        if search.status == Status.PAUSED:
            places.append(search.begin)

    monkeypatch.setattr(pattern, "scan", noted)
    return places


def test_a_search_that_was_paused_finds_the_same_matches(pauses: list[int]) -> None:
    size = 25
    (table,) = el.Workload.parse(HEAVY.format(least=size - 1)).run(stream(size)).values()
    assert sorted(table["n"].to_pylist()) == [size - 1] * size + [size]
    assert pauses, "a search of 33 million steps was not paused"


@pytest.mark.parametrize("strategy", ["SKIP TILL ANY MATCH", "SKIP TILL NEXT MATCH"])
def test_pausing_at_every_step_changes_no_match(
    monkeypatch: pytest.MonkeyPatch, pauses: list[int], strategy: str
) -> None:
    workload = el.Workload.parse(
        f"""RETURN EVENT_IDS(v) AS ids PATTERN SEQ(A a, B+ b, (SEQ(A c, B* d))?)
        WHERE b[i].v >= AVG(b[1..i-1].v) STRATEGY {strategy} WITHIN 7"""
    )
    events = [{"time": n, "type": "ABBCBAB"[n % 7], "v": n * 7 % 11} for n in range(24)]
    (expected,) = workload.run(events).values()
    assert not pauses
    monkeypatch.setattr(pattern, "PAUSE_STEPS", 1)
    (paused,) = workload.run(events).values()
    assert len(pauses) > 10
    assert paused.num_rows > 0
    assert paused.to_pylist() == expected.to_pylist()
