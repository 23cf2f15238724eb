# ruff: noqa: ARG005 - a function of values need not read all of them
"""Quantitative queries on Spark have the values that they have in this process."""

from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from pyspark.errors import PythonException

import elsinore.quantitative as qre
from elsinore.datasets.patients import patients
from elsinore.errors import InputError, QuerySemanticError

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
    """Not compiled: it has a window."""
    lengths = qre.split(
        qre.atom(B), qre.iterate(qre.atom(M), qre.count()), qre.atom(E), lambda b, n, e: n
    )
    return qre.sliding(lengths, 3, qre.top(2))


def rows(table: Any) -> list[Any]:
    found = [(row["patient"], row["time"], row["value"]) for row in table.to_pylist()]
    return sorted(found, key=lambda row: row[:2])


def test_each_key_is_one_stream_compiled_or_not(spark: "SparkSession") -> None:
    events = patients(3000, seed=4, patients=7)
    events = events.filter(events["patient"].is_valid())
    frame = spark.createDataFrame(events.to_pandas().astype({"patient": int})).repartition(5)
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 100)
    try:
        for query, value in ((episodes(), None), (longest(), "array<bigint>")):
            expected = query.by("patient").run(events, compiled=False)
            found = query.by("patient").run(frame, value=value).toArrow()
            assert expected.num_rows > 200
            assert [row[2] for row in rows(found)] == [row[2] for row in rows(expected)]
            assert [row[0] for row in rows(found)] == [row[0] for row in rows(expected)]
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")


def test_keys_with_more_events_than_memory_are_sorted_on_disk(spark: "SparkSession") -> None:
    events = patients(6000, seed=4, patients=2)
    events = events.filter(events["patient"].is_valid())
    frame = spark.createDataFrame(events.to_pandas().astype({"patient": int}))
    context = spark._jsc.sc()  # type: ignore[attr-defined]
    name = "spark.shuffle.spill.numElementsForceSpillThreshold"
    context.conf().set(name, "500")  # events held in memory, of about 3,000 of a key
    try:
        found = episodes().by("patient").run(frame).toArrow()
    finally:
        context.conf().remove(name)
    context.listenerBus().waitUntilEmpty()
    stages = context.statusStore()
    assert any(stages.lastStageAttempt(n).diskBytesSpilled() > 0 for n in _stages(spark))
    expected = episodes().by("patient").run(events)
    assert expected.num_rows > 200
    assert [(r[0], r[2]) for r in rows(found)] == [(r[0], r[2]) for r in rows(expected)]


def _stages(spark: "SparkSession") -> list[int]:
    """Return the stages of the last job."""
    jobs = spark._jsc.sc().statusStore().jobsList(None)  # type: ignore[attr-defined]
    latest = max((jobs.apply(n) for n in range(jobs.size())), key=lambda job: job.jobId())
    return [latest.stageIds().apply(n) for n in range(latest.stageIds().size())]


def test_events_that_cannot_be_used_are_refused(spark: "SparkSession") -> None:
    frame = spark.createDataFrame([("1", "B", [1])], "time string, type string, k array<int>")
    with pytest.raises(InputError, match=r"are text, .*cast\(\"timestamp\"\)"):
        episodes().run(frame)
    with pytest.raises(QuerySemanticError, match="cannot be a key"):
        episodes().by("k").run(frame.withColumn("time", frame["time"].cast("int")))
    untimed = spark.createDataFrame([(None, "B", 1.0)], "time int, type string, value double")
    with pytest.raises(PythonException, match="1 events have no time"):
        episodes().run(untimed).collect()


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
