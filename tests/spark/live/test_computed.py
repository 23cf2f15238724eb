"""Live streams on Spark of queries with values that SQL and functions of users compute."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from elsinore import Workload
from support.live import assert_same_rows

TEXT = """
    QUERY sums RETURN g, COUNT(*), SUM(length(B.city)) AS s PATTERN SEQ(A, B+)
      WHERE B.city RLIKE '^[a-c]' AND A.n * 4 IS NULL GROUP BY g WITHIN 10 SLIDE 5;
    QUERY pairs RETURN a.time AS at, priced(b.v, 2) AS price,
      CASE WHEN b.v > 4 THEN 'much' END AS much
      PATTERN SEQ(A a, B b) WHERE upper(a.city) = upper(b.city) AND rank(b.city) > 1
      STRATEGY SKIP TILL NEXT MATCH WITHIN 5;
"""
CITIES = ("ab", "AB", "c", "dd", None, "Ab", "Dd")
ALL = {"availableNow": True}


def priced(value: float, times: int) -> float:
    return value * times + 0.5


def rank(city: str) -> int:
    return len(city)


WORKLOAD = Workload.parse(TEXT, functions={"priced": priced, "rank": rank})
EVENTS = pa.table(
    {
        "time": [n // 4 for n in range(240)],
        "type": ["AAB"[n % 3] for n in range(240)],
        "g": [n // 4 % 2 for n in range(240)],
        "n": [n % 5 << 60 for n in range(240)],
        "v": [float(n % 9) for n in range(240)],
        "city": [CITIES[n % 7] for n in range(240)],
    }
)


def write_file(folder: Path, number: int) -> None:
    """Write a third of the events to a file of a folder, later than the files before."""
    folder.mkdir(exist_ok=True)
    path = folder / f"part-{number}.parquet"
    pq.write_table(EVENTS.slice(number * 80, 80), path)
    os.utime(path, (1_700_000_000 + number,) * 2)


def streamed(source: Any, spark: SparkSession, folder: Path, **options: Any) -> int:
    """Run a stream of all there is; return the number of events that were read."""
    run = WORKLOAD.stream(source, spark=spark, lateness=0, buckets=2, **options).start(
        folder / "out", checkpoint=folder / "checkpoint", trigger=ALL
    )
    assert run.await_termination(300)
    return sum(progress.events for progress in run.recent_progress)


def rows_of(folder: Path, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = ds.dataset(folder / "out" / name).to_table().to_pylist()
    return rows


def test_results_of_a_folder_are_those_of_a_batch_run(spark: SparkSession, tmp_path: Path) -> None:
    source = tmp_path / "in"
    write_file(source, 0)
    assert streamed(source, spark, tmp_path) == 80
    write_file(source, 1)
    write_file(source, 2)
    assert streamed(source, spark, tmp_path, end_on_idle="1 second") == 160
    for name, result in WORKLOAD.run(EVENTS).items():
        expected = result.to_pylist()
        assert expected
        found = [{column: row[column] for column in expected[0]} for row in rows_of(tmp_path, name)]
        assert_same_rows(found, expected, name)


def test_results_of_a_stream_of_spark_are_those_of_a_batch_run(
    spark: SparkSession, tmp_path: Path
) -> None:
    source = tmp_path / "in"
    for number in range(3):
        write_file(source, number)
    schema = spark.read.parquet(str(source)).schema
    frame = spark.readStream.schema(schema).option("maxFilesPerTrigger", 2).parquet(str(source))
    assert streamed(frame, spark, tmp_path) == 240
    expected = [row for row in WORKLOAD.run(EVENTS)["pairs"].to_pylist() if row["at"] < 54]
    assert expected
    found = [row for row in rows_of(tmp_path, "pairs") if row["at"] < 54]
    columns = list(expected[0])
    assert_same_rows([{column: row[column] for column in columns} for row in found], expected, "")
