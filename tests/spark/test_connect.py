"""Queries run over Spark Connect as they do over Spark.

Spark Connect takes a Spark of its own, and of Python what the dependency group `connect` names.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark")
for module in ("grpc", "grpc_status", "zstandard"):
    pytest.importorskip(module, reason="Spark Connect needs: pip install --group connect")

SCRIPT = """
import pyarrow as pa
from pyspark.sql import SparkSession
import elsinore as el
import elsinore.quantitative as qre
from elsinore.spark.java import use_java

use_java()
builder = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false")
spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()

events = {"time": list(range(60)), "type": ["A", "B", "B"] * 20, "k": [n % 4 for n in range(60)]}
workload = el.Workload.parse(
    "QUERY q RETURN k, COUNT(*) AS n PATTERN SEQ(A, B+) WHERE [k] GROUP BY k WITHIN 30 seconds;"
)
with workload.run(spark.createDataFrame(pa.table(events)), ordered=True) as results:
    found = [row.asDict() for row in results["q"].collect()]
print(found == workload.run(events)["q"].to_pylist() != [])
sums = qre.iterate1(qre.atom(qre.any, lambda item: item.time), qre.sum(0)).by("k")
rows = [row.asDict() for row in sums.run(spark.createDataFrame(pa.table(events))).collect()]
print(sorted(rows, key=lambda row: row["time"]) == sums.run(pa.table(events)).to_pylist())
"""


def test_queries_run_over_spark_connect(tmp_path: Path) -> None:
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == ["True", "True"], done.stderr
