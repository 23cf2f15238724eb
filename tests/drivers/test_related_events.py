"""Conditions that relate events to one another: the same in process, on Spark and live."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import elsinore as el

TEXT = """
    QUERY limits RETURN a.n AS a, c.n AS c, c.time - b.time AS waited PATTERN SEQ(A a, B b, C c)
    WHERE c.time - b.time <= 20 seconds AND b.time - a.time >= 5 seconds WITHIN 1 minute;
    QUERY sums RETURN COUNT(*) AS n PATTERN SEQ(A a, B+ b)
    WHERE b[i].time - b[i-1].time <= 30 seconds WITHIN 10 minutes;
    QUERY keys RETURN k, COUNT(*) AS n PATTERN SEQ(A a, B b) WHERE b.k = a.k
    GROUP BY k WITHIN 5 minutes;
    QUERY equal RETURN a.n AS a, c.n AS c PATTERN SEQ(A a, B b, C c) WHERE c.k = a.k AND c.g = b.k
    WITHIN 2 minutes;
    QUERY missing RETURN a.n AS a, b.n AS b PATTERN SEQ(A a, B b, NOT C c)
    WHERE c.k = a.k AND c.time - b.time <= 40 seconds WITHIN 1 minute;
    QUERY gap RETURN a.n AS a, b.n AS b PATTERN SEQ(A a, NOT C c, B b)
    WHERE c.k = b.k AND c.g > a.k STRATEGY SKIP TILL NEXT MATCH WITHIN 2 minutes;
    QUERY listed RETURN a.n AS a, b.n AS b, array_contains(a.lists, b.k) AS known
    PATTERN SEQ(A a, NOT C c, B b) WHERE b.g IN a.lists AND c.k NOT IN b.lists WITHIN 1 minute;
    QUERY places RETURN b[2].n AS second, b[b.LEN-1].n AS last PATTERN B{3} b
    WHERE [k] AND b[i].time - b[i-2].time <= 3 minutes WITHIN 10 minutes;
    QUERY counted RETURN a.n AS a, b.n AS b PATTERN SEQ(A a, NOT C c, B b) WHERE [k]
    WITHIN 5 EVENTS;
    QUERY absent RETURN a.n AS a PATTERN SEQ(A a, NOT B b) WHERE [k] WITHIN 3 EVENTS;
    QUERY days RETURN k, COUNT(*) AS n PATTERN SEQ(A, B) GROUP BY k
    WITHIN 1 day ORIGIN '2024-01-01 Europe/Berlin';
"""


def events(unit: str) -> pa.Table:
    random = np.random.default_rng(3)
    size = 240
    seconds = np.cumsum(random.integers(1, 9, size))
    start = datetime(2024, 1, 1)
    times: object = [start + timedelta(seconds=int(second)) for second in seconds]
    if unit == "number":
        times = (seconds * 1_000).tolist()
    return pa.table(
        {
            "time": times,
            "type": random.choice(list("ABC"), size).tolist(),
            "k": random.integers(0, 6, size).tolist(),
            "g": random.integers(0, 6, size).tolist(),
            "n": list(range(size)),
            "lists": [random.integers(0, 6, 3).tolist() for _ in range(size)],
        }
    )


def counted(rows: list[dict[str, object]]) -> Counter[str]:
    return Counter(
        str({name: getattr(v, "total_seconds", lambda v=v: v)() for name, v in row.items()})
        for row in rows
    )


@pytest.mark.parametrize("unit", ["timestamp", "number"])
def test_results_are_the_same_on_all_drivers(unit: str, spark: SparkSession) -> None:
    table, options = events(unit), {"time_unit": "ms"} if unit == "number" else {}
    workload = el.Workload.parse(TEXT)
    expected = {
        name: counted(result.to_pylist()) for name, result in workload.run(table, **options).items()
    }
    assert all(expected.values())
    on_spark = workload.run(spark.createDataFrame(table), **options)
    live = workload.live(table.schema, lateness="0 seconds", **options)
    rows = [pair for begin in range(0, 240, 50) for pair in live.push(table.slice(begin, 50))]
    rows += live.end()
    for name, counts in expected.items():
        assert counted([row.asDict() for row in on_spark[name].collect()]) == counts, name
        found = [row for query, part in rows if query == name for row in part.to_pylist()]
        assert counted(found) == counts, name
