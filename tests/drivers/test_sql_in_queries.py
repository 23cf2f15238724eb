"""SQL over single events in queries: the same in process, on Spark and live, as with columns."""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import elsinore as el
from elsinore.errors import QuerySemanticError

TEXT = """
    QUERY local RETURN a.n AS n, lower(a.city) AS c, length(a.city) AS long PATTERN A a
    WHERE a.city RLIKE '(?i)^b' AND CAST(a.number AS INT) > :least WITHIN 1 minute;
    QUERY equal RETURN a.n AS a, b.n AS b PATTERN SEQ(A a, B b)
    WHERE upper(a.city) = upper(b.city) AND NOT array_contains(b.tags, 'x') WITHIN 30 seconds;
    QUERY trends RETURN COUNT(*) AS n, SUM(coalesce(CAST(b.number AS INT), 0)) AS s
    PATTERN SEQ(A a, B b+) WHERE length(b[i].city) >= length(b[i-1].city)
    WITHIN 20 seconds SLIDE 10 seconds;
    QUERY chosen RETURN CASE WHEN a.who.id > 2 THEN 'high' ELSE a.tags[0] END AS c, COUNT(b[]) AS n
    PATTERN SEQ(A a, B+ b) WHERE b[i].city ILIKE '%o%' AND year(b[i].at) = 2024
    STRATEGY SKIP TILL NEXT MATCH WITHIN 20 seconds;
"""
PLAIN = """
    QUERY local RETURN a.n AS n, a.lower AS c, a.long AS long PATTERN A a
    WHERE a.with_b AND a.whole > 3 WITHIN 1 minute;
    QUERY equal RETURN a.n AS a, b.n AS b PATTERN SEQ(A a, B b)
    WHERE a.upper = b.upper AND NOT b.has_x WITHIN 30 seconds;
    QUERY trends RETURN COUNT(*) AS n, SUM(b.known) AS s
    PATTERN SEQ(A a, B b+) WHERE b[i].long >= b[i-1].long WITHIN 20 seconds SLIDE 10 seconds;
    QUERY chosen RETURN a.label AS c, COUNT(b[]) AS n
    PATTERN SEQ(A a, B+ b) WHERE b[i].with_o AND b[i].in_2024
    STRATEGY SKIP TILL NEXT MATCH WITHIN 20 seconds;
"""


def made(size: int = 200) -> pa.Table:
    """Return events with what SQL computes of them in columns of their own."""
    drawn = random.Random(7)
    rows: list[dict[str, Any]] = []
    for n in range(size):
        city = drawn.choice(["Bonn", "bonn", "Rom", "Köln", "BÖN", "", None])
        number = drawn.choice(["1", " 7", "12", "N/A", "", None])
        tags = drawn.choice([["x", "y"], ["y"], [], None])
        who = drawn.choice([{"id": 1}, {"id": 3}, None])
        at = datetime(2023, 12, 31, 23, 59) + timedelta(seconds=n)
        whole = int(number) if number and number.strip().isdigit() else None
        rows.append(
            {
                "time": datetime(2024, 1, 1) + timedelta(seconds=n),
                "type": drawn.choice("AB"),
                "n": n,
                "city": city,
                "number": number,
                "tags": tags,
                "who": who,
                "at": at,
                "lower": city and city.lower(),
                "upper": city and city.upper(),
                "long": None if city is None else len(city),
                "with_b": None if city is None else city.lower().startswith("b"),
                "with_o": None if city is None else "o" in city.lower(),
                "whole": whole,
                # a cast that fails makes the whole value null, whatever is around it
                "known": 0 if number is None else whole,
                "has_x": None if tags is None else "x" in tags,
                "label": "high" if who and who["id"] > 2 else (tags[0] if tags else None),
                "in_2024": at.year == 2024,
            }
        )
    schema = pa.schema([("long", pa.int32()), ("whole", pa.int32()), ("known", pa.int32())])
    table = pa.Table.from_pylist(rows)
    for field in schema:
        at_place = table.column_names.index(field.name)
        table = table.set_column(at_place, field, table.column(field.name).cast(field.type))
    return table


def counted(rows: list[dict[str, Any]]) -> Counter[str]:
    return Counter(
        str({name: v for name, v in row.items() if "window" not in name}) for row in rows
    )


EVENTS = made()
COLUMNS = ["time", "type", "n", "city", "number", "tags", "who", "at"]


def test_results_are_those_of_columns_with_the_values(spark: SparkSession) -> None:
    expected = {
        name: (counted(result.to_pylist()), result.frame.schema.types)
        for name, result in el.Workload.parse(PLAIN).run(EVENTS).items()
    }
    assert all(rows for rows, _ in expected.values())
    workload = el.Workload.parse(TEXT).bind({"least": 3})
    events = EVENTS.select(COLUMNS)
    here = workload.run(events)
    on_spark = workload.run(spark.createDataFrame(events))
    live = workload.live(events.schema, lateness="0 seconds")
    rows = [pair for begin in range(0, 200, 50) for pair in live.push(events.slice(begin, 50))]
    rows += live.end()
    for name, (counts, types) in expected.items():
        assert (counted(here[name].to_pylist()), here[name].frame.schema.types) == (counts, types)
        assert counted(on_spark[name].to_pylist()) == counts, name
        pieces = [piece.to_pylist() for query, piece in rows if query == name]
        assert counted([row for piece in pieces for row in piece]) == counts, name


def test_only_columns_that_are_read_are_converted() -> None:
    frame = EVENTS.select(COLUMNS).to_pandas()
    results = el.Workload.parse(TEXT).bind({"least": 3}).run(frame)
    assert counted(results["equal"].to_pylist()) == counted(
        el.Workload.parse(PLAIN).run(EVENTS)["equal"].to_pylist()
    )


def test_nothing_is_computed_of_no_events() -> None:
    for result in el.Workload.parse(TEXT).bind({"least": 3}).run(EVENTS.slice(0, 0)).values():
        assert result.num_rows == 0


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("upper(a.cty) = 'X'", "a has no attribute 'cty'. Did you mean 'city'?"),
        ("soundex(a.city) = 'X'", "The query uses 'SOUNDEX(`city`)', which is not computed in"),
        ("upper(a.tags) = 'X'", "it does not accept a list"),
        ("concat(a.city, b.city) = 'X'", "this one reads both a and b"),
        ("upper(city) = 'X'", "Whose 'city'?"),
        ("upper('x') = 'X'", "reads no event"),
        ("uper(a.city) = 'X'", "Did you mean 'UPPER'?"),
        ("upper(a.city)", "A condition is true or false, and this is text"),
        ("length(a.city) > 'X'", "This puts a number beside text"),
        ("LENGTH(a.city AS INT) > 3", "AS stands in CAST"),
    ],
)
def test_a_mistake_is_reported_at_its_place(condition: str, message: str) -> None:
    query = f"QUERY q RETURN a.n PATTERN SEQ(A a, B b) WHERE {condition}"
    with pytest.raises(el.ElsinoreError) as raised:
        el.Workload.parse(query).run(EVENTS.select(COLUMNS))
    assert message in str(raised.value)
    assert "^^^" in str(raised.value)


def test_values_of_aggregates_are_not_computed_with() -> None:
    with pytest.raises(QuerySemanticError, match="known at the end"):
        el.Workload.parse("QUERY q RETURN round(AVG(a.n), 1) PATTERN A a+")


def test_what_queries_compute_is_shown_by_explain() -> None:
    explained = el.Workload.parse(
        "QUERY q RETURN COUNT(*) PATTERN SEQ(A a, B b) WHERE upper(a.city) = upper(b.city) "
        "WITHIN 1 minute"
    ).explain()
    assert "before the operators (Spark, or DuckDB in process): upper(city)." in explained
    assert "partitioned by upper(city)" in explained
    assert "UPPER(a.city) = UPPER(b.city): the same as [upper(city)]" in explained
