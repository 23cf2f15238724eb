"""What 64 bits have no room for is null for that event, wherever a query is run."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

import elsinore as el

GREAT = 2**62
EVENTS = pa.table(
    {
        "time": range(6),
        "type": ["A", "B", "A", "B", "B", "A"],
        "n": [GREAT, 3, 4, -GREAT, 5, None],
        "i": pa.array([2**31 - 1, 3, 4, -(2**31), 5, 6], pa.int32()),
        "d": pa.array([GREAT, 3, 4, -GREAT, 5, 6], pa.duration("us")),
    }
)
TEXT = """
    QUERY products RETURN a.n * 3 AS p, -a.n - a.n - 2 AS q, a.i * a.i * 3 AS r PATTERN A a
    WHERE a.n * 2 > 0 OR a.n * 2 IS NULL WITHIN 10;
    QUERY pairs RETURN a.time AS a, b.time AS b PATTERN SEQ(A a, B b)
    WHERE b.n * 4 > 0 AND (a.d * 3 IS NULL OR a.d * 3 < 20 us) WITHIN 10;
    QUERY trends RETURN COUNT(*) AS n PATTERN SEQ(A a, B b+) WHERE b.n * b.n > 0 WITHIN 10;
"""
EXPECTED: dict[str, list[dict[str, Any]]] = {
    "products": [
        {"p": None, "q": None, "r": None},
        {"p": 12, "q": -10, "r": 48},
        {"p": None, "q": None, "r": 108},
    ],
    "pairs": [{"a": 0, "b": 1}, {"a": 0, "b": 4}, {"a": 2, "b": 4}],
    "trends": [{"n": 4.0}],
}


def counted(rows: list[dict[str, Any]], name: str) -> Counter[str]:
    (columns, *_) = EXPECTED[name]
    return Counter(str({column: row[column] for column in columns}) for row in rows)


def test_values_without_room_are_null(spark: SparkSession, tmp_path: Path) -> None:
    workload = el.Workload.parse(TEXT)
    spark.createDataFrame(EVENTS).write.parquet(str(tmp_path / "events"))
    live = workload.live(EVENTS.schema, lateness=0)
    pieces = [*live.push(EVENTS.slice(0, 2)), *live.push(EVENTS.slice(2)), *live.end()]
    here = workload.run(EVENTS)
    on_spark = workload.run(spark.createDataFrame(EVENTS))
    of_files = workload.run(spark.read.parquet(str(tmp_path / "events")))
    for name, rows in EXPECTED.items():
        expected = counted(rows, name)
        assert counted(here[name].to_pylist(), name) == expected
        assert counted(on_spark[name].to_pylist(), name) == expected
        assert counted(of_files[name].to_pylist(), name) == expected
        found = [row for query, piece in pieces if query == name for row in piece.to_pylist()]
        assert counted(found, name) == expected
