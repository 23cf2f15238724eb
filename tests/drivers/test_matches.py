"""Match queries give the same rows in process and on Spark, beside trend queries."""

from __future__ import annotations

import datetime as dt
import os
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import elsinore as el
from oracles.matches import Happening
from support.drawn import Drawn
from support.matches import ATTRIBUTES, USERS, as_arrow_value, queries, streams

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLES = int(os.environ.get("ELSINORE_EXAMPLES", "5"))

TEXT = """
QUERY rising
RETURN  g, k, a.s, COUNT(b[]) AS n, SUM(b[].n) AS total, b[].at, AVG(b[].v) / 2 AS half, c.at
PATTERN SEQ(A a, B+ b[], C c)
WHERE   [k] AND b[i].v >= b[i-1].v AND a.s != 'z'
GROUP BY g
STRATEGY SKIP TILL ANY MATCH
WITHIN  30 seconds;

QUERY own
RETURN  k, SPREAD(b[].v) AS spread, MIDDLE(b[].n + 1) AS middle, SUM(b[].v * b[].n) AS worth
PATTERN SEQ(A a, B+ b[], C c)
WHERE   [k] AND b[i].v > WEIGHTED(b[1..i-1].v, b[1..i-1].n) - 1
WITHIN  10 seconds;

QUERY whole
RETURN  k, MATCH_NUMBER() AS number, b[], EVENT_IDS(n) AS ids
PATTERN SEQ(A a, B+ b[])
WHERE   [k]
STRATEGY SKIP TILL NEXT MATCH
WITHIN  4 seconds;

QUERY once
RETURN  DISTINCT g, a.s, b[].s, b[b.LEN].v
PATTERN SEQ(A a, B+ b[])
GROUP BY g
WITHIN  4 seconds;

QUERY longest
RETURN  k, a.n, b[].n
PATTERN SEQ(A a, B+ b[])
WHERE   [k]
STRATEGY SKIP TILL NEXT MATCH
WITHIN  5 seconds
AFTER MATCH SKIP PAST LAST EVENT;

QUERY alert
RETURN  k, a.n, b.n AS m
PATTERN SEQ(A a, B b)
WHERE   [k]
STRATEGY SKIP TILL NEXT MATCH
WITHIN  5 seconds
SUPPRESS 4 seconds;

QUERY sliding
RETURN  a.n, b[].s
PATTERN SEQ(A a, NOT C x, B+ b[])
WHERE   [k]
STRATEGY SKIP TILL NEXT MATCH
WITHIN  10 seconds SLIDE 5 seconds;

QUERY sets
RETURN  k, a.n, b[].n, SPREAD(b[].v) AS spread
PATTERN SEQ(A a, NOT C x, B+ b[])
WHERE   [k] AND b[i].v >= b[i-1].v
WITHIN  10 seconds SLIDE 5 seconds
COLLAPSED;

QUERY counted
RETURN  g, COUNT(*) AS trends
PATTERN SEQ(A a, B+ b, C c)
WHERE   [k] AND b[i].v >= b[i-1].v AND a.s != 'z'
GROUP BY g;

QUERY few
RETURN  a.n
PATTERN SEQ(A a, B b)
LIMIT   3;
"""


def events() -> pa.Table:
    kinds = "ABBCABCBBCAABBBCBC" * 3
    count = len(kinds)
    start = dt.datetime(2026, 1, 31, 12, tzinfo=dt.UTC)
    return pa.table(
        {
            "at": pa.array([start + dt.timedelta(seconds=n) for n in range(count)]),
            "type": list(kinds),
            "g": ["p" if n % 5 else None for n in range(count)],
            "k": [n // 3 % 2 for n in range(count)],
            "n": list(range(count)),
            "v": [float(n * 7 % 5) if n % 11 else None for n in range(count)],
            "s": ["xyz"[n * n % 7 % 3] for n in range(count)],
        }
    )


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=repr)


def test_both_drivers_give_the_same_matches(spark: SparkSession) -> None:
    workload = el.Workload.parse(TEXT, aggregates=USERS)
    here = workload.run(events(), time="at")
    there = workload.run(spark.createDataFrame(events()), time="at")
    for name in (
        "rising",
        "own",
        "whole",
        "once",
        "longest",
        "alert",
        "sliding",
        "sets",
        "counted",
    ):
        rows = here[name].to_pylist()
        assert rows
        assert in_order(there[name].toArrow().to_pylist()) == in_order(rows)
    numbers = [(row["k"], row["number"]) for row in here["whole"].to_pylist()]
    for k in (0, 1):
        mine = sorted(number for key, number in numbers if key == k)
        assert mine == list(range(1, len(mine) + 1))
    assert {*here["whole"].to_pylist()[0]["b[]"][0]} == {*events().column_names}
    once = [repr(row) for row in here["once"].to_pylist()]
    assert len(once) == len(set(once))
    assert here["few"].num_rows == there["few"].count() == 3


def table_of(events: list[Happening]) -> pa.Table:
    """Return a table of drawn events; their times are numbers, in seconds."""
    utc = {"t": pa.timestamp("us", "UTC")}  # Spark reads timestamps without a zone as UTC
    return pa.table(
        {
            "time": [event.time // 1_000_000 for event in events],
            "type": [event.type for event in events],
        }
        | {
            name: pa.array([as_arrow_value(event.attributes.get(name)) for event in events], kind)
            for name, kind in (ATTRIBUTES | utc).items()
        }
    )


def test_spark_gives_the_matches_of_drawn_queries(spark: SparkSession) -> None:
    """In process they are those of brute force (tests/matches)."""
    drawn, texts = Drawn(int(os.environ.get("ELSINORE_SEED", "1"))), []
    while len(texts) < EXAMPLES:
        text = queries(drawn, f"q{len(texts)}")
        try:
            assert el.Workload.parse(text, aggregates=USERS).plan
        except el.ElsinoreError:
            continue
        texts.append(text)
    workload = el.Workload.parse("\n".join(texts), aggregates=USERS)
    for _ in range(100):  # until a stream has some matches
        table = table_of(streams(drawn, most=14))
        here = workload.run(table)
        if sum(found.num_rows for found in here.tables.values()) > EXAMPLES:
            break
    else:
        pytest.fail("No drawn stream has enough matches.")
    there = workload.run(spark.createDataFrame(table))
    for name, found in here.tables.items():
        assert in_order(there[name].to_pylist()) == in_order(found.to_pylist()), name


UNCERTAIN = """
QUERY probable
RETURN  k, a.n, b[].n, CONFIDENCE() AS p, c.n
PATTERN SEQ(A a, B+ b[], C c)
WHERE   [k] AND b[i].v >= b[i-1].v
WITHIN  5 seconds
CONFIDENCE >= 0.25;

QUERY windows
RETURN  b[].n, 1 - CONFIDENCE() AS doubt
PATTERN SEQ(B+ b[], C c)
WITHIN  4 seconds SLIDE 2 seconds;
"""


def test_both_drivers_give_the_same_confidences(spark: SparkSession) -> None:
    workload = el.Workload.parse(UNCERTAIN)
    table = events().slice(0, 24)
    late = pc.add(table["at"], pa.scalar(2_000_000, pa.duration("us")))
    table = table.append_column("till", late)
    laws = [[[0.25, 0.5, 0.25], None, [0.5, 0.5]][n % 3] for n in range(len(table))]
    table = table.append_column("law", pa.array(laws))
    for options in (
        {"time_interval": ("at", "till"), "time_distribution": "law"},
        {"time": "at", "time_granularity": {"B": "3 seconds"}, "time_step": "500 ms"},
    ):
        here = workload.run(table, **options)
        there = workload.run(spark.createDataFrame(table), **options)
        for name in ("probable", "windows"):
            rows = here[name].to_pylist()
            assert rows
            assert in_order(there[name].toArrow().to_pylist()) == in_order(rows)


def test_a_query_has_as_many_matches_as_trends() -> None:
    text = TEXT.replace("WITHIN  30 seconds", "")
    results = el.Workload.parse(text, aggregates=USERS).run(events(), time="at")
    matches = results["rising"].group_by("g").aggregate([("n", "count")]).to_pylist()
    trends = {row["g"]: row["trends"] for row in results["counted"].to_pylist()}
    assert {row["g"]: row["n_count"] for row in matches} == trends


def test_a_window_with_too_many_matches_is_refused_before_they_are_made() -> None:
    stream = [{"time": n, "type": "B", "v": n} for n in range(60)]
    text = "RETURN COUNT(b[]) PATTERN B+ b[] WHERE b[i].v > b[i-1].v {};"
    with pytest.raises(el.InputError, match=r"1,152,921,504,606,846,976 matches.*LIMIT"):
        el.Workload.parse(text.format("")).run(stream)
    (table,) = el.Workload.parse(text.format("LIMIT 5")).run(stream).values()
    assert table.num_rows == 5


def test_matches_are_told_of_by_explain() -> None:
    told = el.Workload.parse(TEXT, aggregates=USERS).explain()
    assert "rising: matches, SKIP TILL ANY MATCH; 3 states" in told
    assert (
        "b[i].v >= b[i-1].v: neither; before the search, rules out what cannot be completed" in told
    )
