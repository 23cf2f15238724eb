# ruff: noqa: ARG005 - a function of values need not read all of them
"""Quantitative queries on Spark have the values that they have in this process."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

pytest.importorskip("pyspark")

from pyspark.errors import PySparkException

import elsinore.quantitative as qre
from elsinore.datasets.patients import patients
from elsinore.errors import InputError, QuerySemanticError
from elsinore.spark.shuffle import TASK_MEMORY

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

B, M, E = (qre.event(name) for name in "BME")


def episodes() -> qre.Query:
    return qre.iter_last(
        qre.split(
            qre.atom(B),
            qre.iterate(qre.atom(M, lambda m: m.value), qre.mean()),
            qre.atom(E),
            lambda begin, mean, end: mean,
        )
    )


def longest() -> qre.Query:
    lengths = qre.split(
        qre.atom(B), qre.iterate(qre.atom(M), qre.count()), qre.atom(E), lambda b, n, e: n
    )
    return qre.sliding(lengths, 3, qre.top(2))


def rows(table: Any) -> list[Any]:
    actual = [(row["patient"], row["time"], row["value"]) for row in table.to_pylist()]
    return sorted(actual, key=lambda row: row[:2])


def test_each_key_is_one_stream(spark: "SparkSession") -> None:
    events = patients(3000, seed=4, patients=7)
    events = events.filter(events["patient"].is_valid())
    frame = spark.createDataFrame(events.to_pandas().astype({"patient": int})).repartition(5)
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 100)
    try:
        for query, value in ((episodes(), None), (longest(), "array<bigint>")):
            expected = query.by("patient").run(events)
            actual = query.by("patient").run(frame, value=value).toArrow()
            assert expected.num_rows > 200
            assert [row[2] for row in rows(actual)] == [row[2] for row in rows(expected)]
            assert [row[0] for row in rows(actual)] == [row[0] for row in rows(expected)]
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")


def test_keys_with_more_events_than_memory_are_sorted_on_disk(spark: "SparkSession") -> None:
    events = patients(6000, seed=4, patients=2)
    events = events.filter(events["patient"].is_valid())
    frame = spark.createDataFrame(events.to_pandas().astype({"patient": int})).repartition(4)
    spark.conf.set(TASK_MEMORY, "8k")  # of the 50 KB or more of a key: each blob is a run on disk
    try:
        actual = episodes().by("patient").run(frame).toArrow()
    finally:
        spark.conf.unset(TASK_MEMORY)
    expected = episodes().by("patient").run(events)
    assert expected.num_rows > 200
    assert [(r[0], r[2]) for r in rows(actual)] == [(r[0], r[2]) for r in rows(expected)]


def test_events_that_cannot_be_used_are_refused(spark: "SparkSession") -> None:
    frame = spark.createDataFrame([("1", "B", [1])], "time string, type string, k array<int>")
    with pytest.raises(InputError, match=r"are text, .*cast\(\"timestamp\"\)"):
        episodes().run(frame)
    with pytest.raises(QuerySemanticError, match="cannot be a key"):
        episodes().by("k").run(frame.withColumn("time", frame["time"].cast("int")))
    untimed = spark.createDataFrame([(None, "B", 1.0)], "time int, type string, value double")
    with pytest.raises(PySparkException, match="cannot be used: null time"):
        episodes().run(untimed).collect()
    untyped = spark.createDataFrame([(1, None, 1.0)], "time int, type string, value double")
    with pytest.raises(PySparkException, match="cannot be used: null type"):
        episodes().run(untyped).collect()


def test_a_column_that_is_missing_is_named_with_the_nearest(spark: "SparkSession") -> None:
    frame = spark.createDataFrame([(1, "B")], "time long, type string")
    with pytest.raises(QuerySemanticError, match="no attribute 'tim'"):
        episodes().run(frame, time="tim")
    with pytest.raises(QuerySemanticError, match="no attribute 'patient'"):
        episodes().by("patient").run(frame)


def test_queries_after_a_keyed_one_run_on_its_values(spark: "SparkSession") -> None:
    events = patients(600, seed=4, patients=3)
    events = events.filter(events["patient"].is_valid())
    frame = spark.createDataFrame(events.to_pandas().astype({"patient": int}))
    greatest = qre.iterate1(qre.atom(qre.item.value > 0, lambda item: item.value), qre.max())
    keyed = qre.apply(episodes(), lambda mean: 0.0 if mean is None else mean).by("patient")
    expected = (keyed >> greatest).run(events)["value"].to_pylist()
    assert len(set(expected)) > 3
    assert (keyed >> greatest).run(frame).toArrow()["value"].to_pylist() == expected


DAY = date(2024, 1, 1)
TIMES = {
    "long": lambda n: 10**16 + n,
    "short": lambda n: n - 50,
    "double": lambda n: 0.1 * n + 1e-9 * (n % 7),
    "decimal(20,9)": lambda n: Decimal(n) / 8,
    "timestamp": lambda n: datetime(2024, 1, 1, tzinfo=UTC) + timedelta(microseconds=n),
    "timestamp_ntz": lambda n: datetime(2024, 1, 1) + timedelta(microseconds=n),
    "date": lambda n: DAY + timedelta(days=n),
}


@pytest.mark.parametrize("kind", TIMES)
def test_order_is_that_of_exact_times_of_any_kind_and_types_need_not_be_there(
    spark: "SparkSession", tmp_path: Path, kind: str
) -> None:
    drawn = np.random.default_rng(3)
    numbers = drawn.permutation(100).tolist()
    rows = [(TIMES[kind](n), int(drawn.integers(0, 3)) or None, n) for n in numbers]
    frame = spark.createDataFrame(rows, f"at {kind}, time int, v long")
    if kind in {"long", "double", "timestamp"}:  # tasks read the files themselves
        frame.write.parquet(str(tmp_path / "events"))
        frame = spark.read.parquet(str(tmp_path / "events"))
    ordered = qre.iterate1(
        qre.atom(qre.any, lambda item: item.v), 7, lambda a, v: (31 * a + v) % 997
    )
    actual = ordered.by("time").run(frame, time="at")
    assert actual.columns == ["time", "at", "value"]
    assert actual.schema["at"].dataType == frame.schema["at"].dataType
    by_time = sorted(rows, key=lambda row: row[0])
    expected, last = {}, {}
    for at, key, v in by_time:
        last[key] = (31 * last.get(key, 7) + v) % 997
        expected[at] = key, last[key]
    shown = {row["at"]: (row["time"], row["value"]) for row in actual.collect()}
    if kind == "timestamp":  # which Spark shows in the zone of this machine
        shown = {at.astimezone(UTC): told for at, told in shown.items()}
    assert len(shown) == 100
    assert shown == expected
