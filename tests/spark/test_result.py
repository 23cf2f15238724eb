"""Results of Spark do what those of this process do, and what Spark's data frames do."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import DataFrame, SparkSession

import elsinore as el

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
