"""A key that holds most of the events is cut by panes, and nothing else changes."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from pyspark.errors import PySparkAttributeError
from pyspark.sql import DataFrame, SparkSession

from elsinore.language import parse_workload
from elsinore.local import run as run_in_process
from elsinore.plan import plan
from elsinore.runtime.options import RunOptions
from elsinore.spark.driver import Events, prepare, run
from elsinore.spark.skew import cores_of, find_cut

WINDOWED = """QUERY q RETURN g, COUNT(*), SUM(B.v), AVG(B.w), MIN(A.v), MAX(B.w), LOG2(COUNT(*))
    PATTERN SEQ(A, B+, C) WHERE A.v != 1 GROUP BY g WITHIN 20 seconds SLIDE 5 seconds;
    QUERY long RETURN g, COUNT(*), COUNT(B) PATTERN (SEQ(A, B+))+ GROUP BY g WITHIN 1 minute;"""
ENDLESS = "QUERY q RETURN COUNT(*), MAX(B.w) PATTERN SEQ(A, B+) GROUP BY g;"
KEYED = "QUERY q RETURN g, COUNT(*), SUM(B.v) PATTERN SEQ(A, B+) WHERE [k] GROUP BY g WITHIN 9;"
ONE = "QUERY q RETURN COUNT(*), AVG(B.v) PATTERN SEQ(A, B+) WITHIN 10 seconds;"


def events(count: int = 600) -> pa.Table:
    """Return events of which four in five are of one group, some simultaneous."""
    random = np.random.default_rng(5)
    hot = random.random(count) < 0.8
    return pa.table(
        {
            "time": np.sort(random.integers(0, 120, count)),
            "type": np.array(list("ABC"))[random.integers(0, 3, count)],
            "g": np.where(hot, "hot", np.array(list("xyz"))[random.integers(0, 3, count)]),
            "k": np.where(hot, 7, random.integers(0, 4, count)),
            "v": random.integers(-3, 4, count),
            "w": np.where(random.random(count) < 0.1, np.nan, random.random(count)),
        }
    )


@pytest.mark.parametrize("text", [WINDOWED, ENDLESS, KEYED, ONE])
@pytest.mark.parametrize("order", [(), ("v",)], ids=["moments", "ordered"])
def test_cut_keys_give_the_same_results(
    spark: SparkSession, text: str, order: tuple[str, ...]
) -> None:
    table = events()
    frame = spark.createDataFrame(table.to_pandas())
    ready = plan(parse_workload(text))
    options = RunOptions(order_by=order, skew_events=100)
    found = find_cut(ready.units[0], prepare(ready.units[0], Events(frame, options)), 100)
    assert found is not None
    assert len(found.keys) == 1
    results = run(ready, frame, options)
    expected = run_in_process(ready, table, options)
    for name, frame_of in results.items():
        rows = [row.asDict() for row in frame_of.collect()]
        assert len(rows) == expected[name].num_rows > 0
        for row, same in zip(rows, expected[name].to_pylist(), strict=True):
            assert row == pytest.approx(same)


def test_panes_may_lie_in_several_batches(spark: SparkSession) -> None:
    table = events()
    ready = plan(parse_workload(ENDLESS))
    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = spark.conf.get(name)
    try:
        spark.conf.set(name, "3")
        found = run(ready, spark.createDataFrame(table.to_pandas()), RunOptions(skew_events=100))
        rows = [row.asDict() for row in found["q"].collect()]
    finally:
        spark.conf.set(name, before or "10000")
    for row, same in zip(
        rows, run_in_process(ready, table, RunOptions())["q"].to_pylist(), strict=True
    ):
        assert row == pytest.approx(same)


def test_a_key_with_no_more_than_its_share_is_not_cut(spark: SparkSession) -> None:
    table = events()
    even = table.set_column(
        table.column_names.index("g"), "g", pa.array([str(n % 10) for n in range(600)])
    )
    frame = spark.createDataFrame(even.to_pandas())
    unit = plan(parse_workload(WINDOWED)).units[0]
    options = RunOptions(skew_events=10)
    assert find_cut(unit, prepare(unit, Events(frame, options)), 10) is None


def test_a_small_key_is_not_cut_whatever_its_share(spark: SparkSession) -> None:
    frame = spark.createDataFrame(events().to_pandas())
    unit = plan(parse_workload(WINDOWED)).units[0]
    options = RunOptions()
    assert find_cut(unit, prepare(unit, Events(frame, options)), options.skew_events) is None


class ConnectedSession:
    """A session over Spark Connect, as far as a count of its cores sees it."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    @property
    def sparkContext(self) -> Any:  # noqa: N802 - Spark's name
        raise PySparkAttributeError(
            errorClass="JVM_ATTRIBUTE_NOT_SUPPORTED", messageParameters={"attr_name": "_jsc"}
        )

    def range(self, end: int) -> DataFrame:
        return self._spark.range(end)


def test_cores_are_counted_over_spark_connect_too(spark: SparkSession) -> None:
    assert cores_of(spark) == 2
    assert cores_of(cast("SparkSession", ConnectedSession(spark))) == 2
