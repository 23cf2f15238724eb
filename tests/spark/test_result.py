"""Results of Spark do what those of this process do, and what Spark's data frames do."""

from __future__ import annotations

import pickle
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from pyspark.sql import DataFrame, SparkSession

import elsinore as el
from elsinore.spark import passes
from elsinore.spark.answers import Answer

EVENTS = [{"time": n, "type": "AB"[n % 2], "k": n % 2} for n in range(4)]
QUERIES = "QUERY q RETURN COUNT(*) AS trends PATTERN SEQ(A, B+) WITHIN 10 seconds"


def test_results_are_tables_on_both_engines(spark: SparkSession) -> None:
    workload = el.Workload.parse(QUERIES)
    here = workload.run(EVENTS)["q"]
    with workload.run(spark.createDataFrame(EVENTS)) as results:
        there = results["q"]
        assert isinstance(there.frame, DataFrame)
        assert repr(results) == "<Results of 1 query: q; on Spark, when asked for>"
        assert (
            repr(there) == "<q: rows of window_start, window_end, trends; on Spark, when asked for>"
        )
        assert there.to_pylist() == here.to_pylist()
        assert there.to_polars().equals(here.to_polars())
        assert there.to_pandas().equals(here.to_pandas())
        assert there._repr_html_() == here._repr_html_()
        assert there.filter("trends > 100").count() == 0
        assert there.unionAll(there).count() == 2 * there.count()
        assert there.join(results["q"], "window_start").count() == 1
        assert bool(there)


SEVERAL = """
    QUERY counts RETURN k, COUNT(*) AS trends, AVG(B.v) AS mean PATTERN SEQ(A, B+) GROUP BY k
        WITHIN 10 seconds SLIDE 5 seconds;
    QUERY least RETURN k, MIN(B.v) AS least, LOG2(COUNT(*)) AS bits PATTERN B+ GROUP BY k;
    QUERY found RETURN k, a.time AS begun, b[].v AS all PATTERN SEQ(A a, B b+)
        STRATEGY SKIP TILL NEXT MATCH GROUP BY k WITHIN 3 seconds;
    QUERY some RETURN DISTINCT a.v AS v PATTERN SEQ(A a, C c) STRATEGY SKIP TILL NEXT MATCH
        GROUP BY k WITHIN 9 seconds;
    QUERY parts RETURN COUNT(*) AS trends PATTERN SEQ(A, B+) WHERE [k] WITHIN 10 seconds;
    QUERY other RETURN COUNT(*) AS trends PATTERN SEQ(B, A+) WHERE [k] WITHIN 10 seconds;"""


def several(count: int = 600) -> pa.Table:
    chance = np.random.default_rng(4)
    return pa.table(
        {
            "time": pa.array(np.arange(count) * 250_000).cast(pa.timestamp("us", "UTC")),
            "type": np.array(list("ABC"))[chance.integers(0, 3, count)],
            "k": chance.integers(0, 5, count),
            "v": chance.integers(0, 9, count),
        }
    )


def in_order(rows: Any) -> list[str]:
    return sorted(map(repr, rows))


def test_results_of_a_pass_are_computed_by_one_job_and_alike_however_they_are_read(
    spark: SparkSession,
) -> None:
    workload = el.Workload.parse(SEVERAL)
    frame = spark.createDataFrame(several())
    context: Any = spark.sparkContext

    def jobs(queries: el.Workload, group: str) -> int:
        context.setJobGroup(group, "results of one pass")
        try:
            with queries.run(frame) as results:
                rows = results.to_arrow()
                assert all(
                    result.count() == rows[name].num_rows for name, result in results.items()
                )
                assert results["counts"].collect()
        finally:
            context._jsc.clearJobGroup()
        return len(context.statusTracker().getJobIdsForGroup(group))

    by_k = [query for query in workload if query.group_by]
    assert len(by_k) == 4
    assert jobs(el.Workload(*by_k), "four") == jobs(el.Workload(*by_k[:2]), "two") <= 3
    assert jobs(el.Workload(workload["counts"]), "one") <= 2  # one for each stage
    here = workload.run(several())
    with workload.run(frame) as results:
        for name, result in results.items():
            rows = result.to_arrow()
            assert rows.schema.equals(result.frame.toArrow().schema)
            assert in_order(rows.to_pylist()) == in_order(result.frame.toArrow().to_pylist())
            assert in_order(result.collect()) == in_order(result.frame.collect())
            assert result.count() == result.frame.count() == here[name].num_rows > 0
            assert result.schema == result.frame.schema


def test_results_too_large_to_be_fetched_together_are_read_one_by_one(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passes, "INLINE_BYTES", 2_000)
    workload = el.Workload.parse(SEVERAL)
    expected = workload.run(several())
    with workload.run(spark.createDataFrame(several()), ordered=True) as results:
        fetched = {name: cast("Answer", result).fetched() for name, result in results.items()}
        assert {rows is None for rows in fetched.values()} == {True, False}
        for name, result in results.items():
            assert result.count() == expected[name].num_rows
        assert results["counts"].to_pylist() == expected["counts"].to_pylist()


@pytest.mark.filterwarnings("ignore:toPandas attempted Arrow optimization")
def test_what_python_cannot_hold_and_what_spark_cannot_select_is_told(spark: SparkSession) -> None:
    late = pa.array([(253402300800 + n) * 10**6 for n in range(2)], pa.timestamp("us", "UTC"))
    far = spark.createDataFrame(pa.table({"time": late, "type": ["A", "B"]}))
    results = el.Workload.parse(QUERIES).run(far)
    assert results["q"].to_arrow().num_rows == 1
    row_by_row = ("collect", "first", "head", "take", "tail", "toLocalIterator")
    for action in row_by_row:
        arguments = (1,) if action in {"take", "tail"} else ()
        with pytest.raises(el.InputError, match="outside of the years 1 to 9999"):
            list(getattr(results["q"], action)(*arguments))
    with pytest.raises(el.InputError, match=r"the years 1678 to 2261, .* to_pandas\(\)"):
        results["q"].toPandas()
    assert results["q"].to_pandas().shape == (1, 3)
    nulls = spark.createDataFrame([(1, "A"), (None, "B")], "time long, type string")
    with pytest.raises(el.InputError, match=r"^An event cannot be used: null time\. Corr.*\)\.$"):
        el.Workload.parse(QUERIES).run(nulls)["q"].collect()
    with pytest.raises(el.InputError, match=r"^An event cannot be used: null time\."):
        el.Workload.parse(QUERIES).run(nulls)["q"].first()


def test_pandas_on_spark_is_worked_on_by_spark_and_results_say_why_they_are_not_pickled(
    spark: SparkSession,
) -> None:
    workload = el.Workload.parse(f"QUERY q RETURN A.v PATTERN A LIMIT {10**30}")
    spark.conf.set("spark.sql.ansi.enabled", "false")  # which pandas on Spark asks for
    try:
        frame = spark.createDataFrame([(1, "A", 3)], "time long, type string, v long")
        with workload.run(frame.pandas_api()) as results:
            assert isinstance(results["q"].frame, DataFrame)
            assert results["q"].to_pylist() == [{"A.v": 3}]
            assert results["q"].filter("`A.v` = 3").count() == 1
            with pytest.raises(TypeError, match="to_arrow"):
                pickle.dumps(results)
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
