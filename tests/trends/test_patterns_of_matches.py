"""Trend queries count the event sequences of the matches that brute force finds.

Patterns are drawn recursively, with NOT in every position, and conditions are on any variables, so
that many trends do not bind some of them.
"""

from __future__ import annotations

import datetime as dt
import os
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from hypothesis import HealthCheck, assume, given, settings

import elsinore as el
from elsinore.language import render
from elsinore.model import pattern as pt
from oracles.matches import Happening, TooMany, brute_force
from support.drawn import CASES, Drawn
from support.match_conditions import condition, scopes
from support.match_patterns import patterns
from support.matches import ATTRIBUTES, STRATEGIES, as_arrow_value, parsed, streams

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLES = int(os.environ.get("ELSINORE_EXAMPLES", "60"))
WINDOWS = ("", "", "WITHIN 6 seconds SLIDE 3 seconds", "WITHIN 5 seconds SLIDE 5 seconds")


def queries(drawn: Drawn, name: str = "q") -> tuple[pt.Pattern, str, str]:
    """Draw a pattern, and the text of a trend query and of a match query that have it."""
    pattern = patterns(drawn)
    whole, end = scopes(pattern)[0], f"STRATEGY {drawn.one(STRATEGIES)} {drawn.one(WINDOWS)};"
    variable = pt.positive_events(pattern)[0].variable
    begins = [
        f"QUERY {name} RETURN {what} PATTERN {render(pattern)}"
        for what in ("COUNT(*) AS n", f"COUNT({variable}[]) AS n, EVENT_IDS(n) AS ids")
    ]
    conditions: list[str] = []
    for _ in range(drawn.number(0, 4)):
        scope = whole if drawn.number(0, 2) else drawn.one(scopes(pattern))
        text = condition(drawn, scope)
        if any(f".{name}" in text for name in ("t", "d")):  # times have tests of their own
            continue
        more = [*conditions, f"({text})"]
        if all(can_be_planned(f"{begin} WHERE {' AND '.join(more)} {end}") for begin in begins):
            conditions = more
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    trends, matches = (f"{begin} {where} {end}" for begin in begins)
    return pattern, trends, matches


def can_be_planned(text: str) -> bool:
    try:
        _ = el.Workload.parse(text).plan
    except el.ElsinoreError:
        return False
    return True


def table(events: list[Happening]) -> pa.Table:
    arrays = {
        name: pa.array([as_arrow_value(event.attributes.get(name)) for event in events], kind)
        for name, kind in ATTRIBUTES.items()
    }
    times = pa.array([event.time for event in events], pa.timestamp("us"))
    return pa.table({"time": times, "type": [event.type for event in events], **arrays})


def counted(rows: list[dict[str, Any]]) -> Counter[Any]:
    return Counter({row["window_start"]: int(row["n"]) for row in rows})


def expected(matches: str, events: list[Happening]) -> Counter[Any]:
    """Return the number of different event sequences of the matches of each window."""
    (query,) = parsed(matches).queries
    try:
        found = brute_force(query, events)
    except TooMany:
        assume(False)
    sequences = {(match.window, tuple(event for event, _ in match.steps)) for match in found}
    starts = [None if window is None else window[0] for window, _ in sequences]
    return Counter(None if s is None else pa.scalar(s, pa.timestamp("us")).as_py() for s in starts)


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(CASES)
def test_the_number_of_trends_is_that_of_the_event_sequences_of_matches(drawn: Drawn) -> None:
    pattern, trends, matches = queries(drawn)
    assume(can_be_planned(trends) and can_be_planned(matches))
    events = streams(drawn, pattern=pattern)
    rows = el.Workload.parse(trends).run(table(events))["q"].to_pylist()
    assert counted(rows) == expected(matches, events)


def test_it_is_on_spark_too(spark: SparkSession) -> None:
    drawn = Drawn(1)
    cases = []
    while len(cases) < 6:
        pattern, trends, matches = queries(drawn, f"q{len(cases)}")
        if "WHERE" in trends and can_be_planned(trends) and can_be_planned(matches):
            cases.append((pattern, trends, matches))
    events = streams(drawn, most=7, pattern=cases[0][0])
    workload = el.Workload.parse("\n".join(trends for _, trends, _ in cases))
    results = workload.run(spark.createDataFrame(table(events)))
    assert sum(bool(expected(matches, events)) for _, _, matches in cases) >= 2
    for number, (_, trends, matches) in enumerate(cases):
        rows = results[f"q{number}"].toArrow().to_pylist()
        found = Counter({_naive(row["window_start"]): int(row["n"]) for row in rows})
        assert found == expected(matches, events), trends
        assert counted(workload.run(table(events))[f"q{number}"].to_pylist()) == found


def _naive(time: dt.datetime | None) -> dt.datetime | None:
    return None if time is None else time.replace(tzinfo=None)
