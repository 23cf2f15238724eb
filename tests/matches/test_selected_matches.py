"""AFTER MATCH and SUPPRESS: each run once, against brute force and on worked examples."""

from __future__ import annotations

import os
import time
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings

import elsinore as el
from elsinore.errors import ElsinoreError
from elsinore.matches.spec import spec_of
from oracles.matches import TooMany, brute_force
from oracles.selected import selected
from support.drawn import CASES, Drawn
from support.matches import USERS, engine_rows, oracle_rows, parsed, queries, streams, units_of
from support.small_arrays import with_small_arrays

EXAMPLES = int(os.environ.get("ELSINORE_EXAMPLES", "100"))
SKIPS = ("", "AFTER MATCH SKIP TO NEXT EVENT", "AFTER MATCH SKIP PAST LAST EVENT")


def can_be_assigned(rows: list[Any], choices: list[set[Any]]) -> bool:
    """Return whether each choice can have a row of its own, and each row is one's."""
    of_row: dict[int, int] = {}

    def place(choice: int, tried: set[int]) -> bool:
        for row, value in enumerate(rows):
            if value in choices[choice] and row not in tried:
                tried.add(row)
                if row not in of_row or place(of_row[row], tried):
                    of_row[row] = choice
                    return True
        return False

    return len(rows) == len(choices) and all(place(n, set()) for n in range(len(choices)))


def with_clauses(drawn: Drawn, text: str) -> str | None:
    """Return a query with clauses that select matches, if it is accepted."""
    skip = drawn.one(SKIPS)
    suppress = f"SUPPRESS {drawn.number(1, 4)}" if not skip or drawn.whether() else ""
    strategy = drawn.one(["SKIP TILL NEXT MATCH", "CONTIGUOUS"])
    text = text.replace("SKIP TILL ANY MATCH", strategy).replace(";", f" {skip} {suppress};")
    for slide in (" SLIDE 3", " SLIDE 6", " SLIDE 2"):
        text = text.replace(slide, "")
    try:
        units_of(parsed(text))
    except ElsinoreError:
        return None
    return text


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(CASES)
def test_matches_are_selected_as_brute_force_selects_them(drawn: Drawn) -> None:
    text = with_clauses(drawn, queries(drawn))
    assume(text is not None)
    assert text is not None
    workload = parsed(text)
    query = workload.queries[0]
    events = streams(drawn, most=12, pattern=query.pattern)
    (unit,) = units_of(workload)
    ordered, saves, cuts = drawn.whether(), drawn.whether(), drawn.cuts(len(events), 5)
    watermarks = drawn.whether()
    try:
        found = brute_force(query, events, ordered=ordered, users=USERS)
    except TooMany:
        assume(False)
    waits = spec_of(unit).templates[0].waits
    expected = selected(query, events, found, ordered=ordered, waits=waits)
    choices = [set(oracle_rows(choice)) for choice in expected]
    with pytest.MonkeyPatch.context() as patch:
        if drawn.whether():
            with_small_arrays(patch, drawn)
        (rows,) = engine_rows(
            unit, events, cuts=cuts, ordered=ordered, saves=saves, watermarks=watermarks
        )
    assert can_be_assigned(list(rows.elements()), choices), (rows, choices)


def table(values: str, seconds: list[int] | None = None) -> pa.Table:
    """Return events a second apart, whose types are letters."""
    times = seconds or list(range(len(values)))
    columns = {"time": times, "type": list(values), "n": list(range(len(values)))}
    return pa.table(columns)


def rows_of(text: str, events: pa.Table, **options: Any) -> list[tuple[Any, ...]]:
    result = el.Workload.parse(text).run(events, **options)
    (name,) = result
    columns = [column.to_pylist() for column in result[name].columns]
    return sorted(zip(*columns, strict=True))


STREAK = "RETURN b[1].n AS first, COUNT(b[]) AS events PATTERN B b+ STRATEGY CONTIGUOUS"


def test_each_streak_is_one_row() -> None:
    events = table("ABBBABBABA")
    assert rows_of(f"{STREAK} AFTER MATCH SKIP PAST LAST EVENT", events) == [(1, 3), (5, 2), (8, 1)]
    every = [(1, 3), (2, 2), (3, 1), (5, 2), (6, 1), (8, 1)]
    assert rows_of(f"{STREAK} AFTER MATCH SKIP TO NEXT EVENT", events) == every


def test_one_alert_an_hour_is_the_first_that_completes() -> None:
    text = """RETURN a.n AS first, c.n AS last PATTERN SEQ(A a, C c) STRATEGY SKIP TILL NEXT MATCH
        WITHIN 10 minutes SUPPRESS 1 hour"""
    at = [0, 60, 120, 600, 660, 3_719, 3_720, 3_721, 3_722]
    # c at 120 returns the match that began last; those that end up to 3720 are suppressed
    events = table("AACACACAC", at)
    assert rows_of(text, events) == [(1, 2), (7, 8)]


def test_a_suppressed_match_still_skips_events() -> None:
    text = f"{STREAK} AFTER MATCH SKIP PAST LAST EVENT SUPPRESS 3"
    assert rows_of(text, table("BBABBBABAB")) == [(0, 2), (3, 3), (9, 1)]


def test_a_live_stream_returns_what_a_run_returns() -> None:
    text = f"{STREAK} WITHIN 5 AFTER MATCH SKIP PAST LAST EVENT SUPPRESS 2"
    events = table("BBABBBBBBBBABABBB" * 5)
    workload = el.Workload.parse(text)
    expected = rows_of(text, events)
    live = workload.live(events.schema)
    found: list[tuple[Any, ...]] = []
    for begin in range(0, events.num_rows, 7):
        for _, rows in live.push(events.slice(begin, 7)):
            found += zip(*[column.to_pylist() for column in rows.columns], strict=True)
        live = workload.resume(live.save())
    for _, rows in live.end():
        found += zip(*[column.to_pylist() for column in rows.columns], strict=True)
    assert Counter(found) == Counter(expected)


@pytest.mark.parametrize(
    ("pattern", "more"),
    [
        ("B b+", "AFTER MATCH SKIP PAST LAST EVENT"),
        ("SEQ(B b+, B c+)", "AFTER MATCH SKIP PAST LAST EVENT"),
        ("B b+", "SUPPRESS 1000 seconds"),
        ("B b+", "AFTER MATCH SKIP PAST LAST EVENT SUPPRESS 5 seconds"),
    ],
)
@pytest.mark.parametrize("strategy", ["CONTIGUOUS", "SKIP TILL NEXT MATCH"])
def test_the_time_is_linear_in_the_number_of_equal_events(
    pattern: str, more: str, strategy: str
) -> None:
    text = f"RETURN COUNT(b[]) AS n PATTERN {pattern} STRATEGY {strategy} {more}"
    workload = el.Workload.parse(text)
    long, short = table("B" * 100_000), table("B" * 10_000)
    workload.run(short)

    def seconds(events: pa.Table, times: int) -> float:
        began = time.perf_counter()
        for _ in range(times):
            workload.run(events)
        return time.perf_counter() - began

    assert any(seconds(long, 1) < 2 * seconds(short, 10) for _ in range(3))
