"""Fields of structs are attributes: the same on every driver, in text and in the builder."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import elsinore as el
from elsinore.errors import ElsinoreError
from elsinore.runtime.files import read_events

COUNTRIES = ("DE", "DE", "DE", "FR", "DE", "DE", "DE", "DE")
EVENTS = pa.Table.from_pylist(
    [
        {
            "time": n,
            "type": "AB"[n % 2],
            "user": None if n == 6 else {"id": n // 4, "geo": {"cc": country}},
        }
        for n, country in enumerate(COUNTRIES)
    ]
)
QUERY = """
    QUERY pairs RETURN user.id AS id, a.time AS a, b.user.geo.cc AS cc PATTERN SEQ(A a, B b)
    WHERE [user.id] AND a.user.geo.cc = b.user.geo.cc WITHIN 3;
    QUERY counts RETURN user.id, COUNT(*) AS n PATTERN SEQ(A a, B+ b) WHERE b.user.geo.cc = 'DE'
    GROUP BY user.id WITHIN 100;
"""
PAIRS = [{"id": 0, "a": 0, "cc": "DE"}, *[{"id": 1, "a": 4, "cc": "DE"}] * 2]
COUNTS = [(0, 1.0), (1, 3.0)]


def check(pairs: list[dict[str, object]], counts: list[dict[str, object]]) -> None:
    assert sorted(pairs, key=str) == PAIRS
    assert sorted((row["user.id"], row["n"]) for row in counts) == COUNTS


def test_in_process(tmp_path: Path) -> None:
    workload = el.Workload.parse(QUERY)
    for events in (EVENTS, EVENTS.to_pylist(), pd.DataFrame(EVENTS.to_pylist())):
        results = workload.run(events)
        check(results["pairs"].to_pylist(), results["counts"].to_pylist())
    path = tmp_path / "events.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in EVENTS.to_pylist()))
    workload.check(read_events(path).schema)
    assert workload.run(str(path))["pairs"].num_rows == len(PAIRS)


def test_on_spark(spark: SparkSession) -> None:
    results = el.Workload.parse(QUERY).run(spark.createDataFrame(EVENTS))
    rows = {name: [row.asDict() for row in results[name].collect()] for name in results}
    check(rows["pairs"], rows["counts"])


def test_live() -> None:
    live = el.Workload.parse(QUERY).live(EVENTS.schema, lateness="0 seconds")
    actual: dict[str, list[dict[str, object]]] = {"pairs": [], "counts": []}
    for begin in range(0, len(EVENTS), 3):
        for name, table in live.push(EVENTS.slice(begin, 3)):
            actual[name] += table.to_pylist()
    for name, table in live.end():
        actual[name] += table.to_pylist()
    check(actual["pairs"], actual["counts"])


def test_a_column_with_a_dot_in_its_name_comes_first() -> None:
    events = EVENTS.append_column("user.id", pa.array([9] * len(EVENTS)))
    results = el.Workload.parse(QUERY).run(events)
    assert {row["id"] for row in results["pairs"].to_pylist()} == {9}


def test_the_builder_gives_the_same_query() -> None:
    a, b = el.event("A", "a"), el.event("B", "b")
    built = (
        el.query("q")
        .match(el.seq(a, b))
        .where(el.same("user.id"), a["user.geo.cc"] == b["user.geo.cc"])
        .select("user.id", a.time)
    )
    text = """QUERY q RETURN user.id, a.time PATTERN SEQ(A a, B b)
        WHERE [user.id] AND a.user.geo.cc = b.user.geo.cc"""
    assert str(el.Workload(built)) == str(el.Workload.parse(text))


def test_a_field_that_is_none_is_named_with_the_nearest() -> None:
    workload = el.Workload.parse("RETURN a.user.idd PATTERN SEQ(A a, B b) WHERE a.user.id = 1")
    with pytest.raises(ElsinoreError, match=r"'user.idd'"):
        workload.run(EVENTS)
