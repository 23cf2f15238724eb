"""Spark counts simultaneous events as a run in process does, however events reach its tasks."""

from __future__ import annotations

import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

import elsinore as el
from elsinore.runtime.warnings import SimultaneousEventsWarning

TEXT = """
QUERY sums RETURN g, COUNT(*) PATTERN SEQ(A a, B+ b) WHERE a.v > 3 GROUP BY g WITHIN 20 seconds;
QUERY rising RETURN g, COUNT(*) PATTERN B+ b WHERE b[i].v > b[i-1].v GROUP BY g WITHIN 20 seconds;
QUERY found RETURN b.v, c.v AS later PATTERN SEQ(B b, C c) WHERE [k] WITHIN 2 seconds;
"""
ROWS = 400
EVENTS = pa.table(
    {
        "time": [n * 5 // 12 for n in range(ROWS)],
        "type": ["ABBCABA"[(n * 7 + n // 5) % 7] for n in range(ROWS)],
        "g": ["xyx"[n % 3] for n in range(ROWS)],
        "k": [n % 2 for n in range(ROWS)],
        "v": [float(n * 13 % 11) for n in range(ROWS)],
    }
)


@pytest.mark.parametrize("combine", ["never", "always"])
@pytest.mark.parametrize("files", [False, True], ids=["data frame", "files"])
def test_ties_on_spark_are_those_in_process(
    spark: SparkSession, tmp_path: Path, files: bool, combine: str
) -> None:
    workload = el.Workload.parse(TEXT)
    in_process = workload.run(EVENTS)
    expected = {text for text in in_process.warnings if "same time" in text}
    assert [statistics.tied > 0 for statistics in in_process.statistics] == [True] * 3
    frame = spark.createDataFrame(EVENTS)
    if files:
        for number in range(4):
            part = EVENTS.slice(ROWS // 4 * number, ROWS // 4)
            pq.write_table(part, tmp_path / f"{number}.parquet", row_group_size=30)
        frame = spark.read.parquet(str(tmp_path))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with workload.run(frame, combine=combine) as results:
            rows = {name: result.to_arrow().num_rows for name, result in results.items()}
            actual = {text for text in results.warnings if "same time" in text}
            counts = [statistics.tied for statistics in results.statistics]
            combined = [statistics.combined for statistics in results.statistics]
    assert rows == {name: result.num_rows for name, result in in_process.items()}
    assert counts == [statistics.tied for statistics in in_process.statistics]
    assert actual == expected
    assert sum(w.category is SimultaneousEventsWarning for w in warned) == 1
    assert any(combined) == (files and combine == "always")


def test_an_order_leaves_no_ties_on_spark(spark: SparkSession) -> None:
    frame = spark.createDataFrame(EVENTS)
    with el.Workload.parse(TEXT).run(frame, order_by="v") as results:
        results.to_arrow()
        assert not any(statistics.tied for statistics in results.statistics)
