"""Over Spark Connect too, compiled kernels travel to the workers with the job.

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
import os, sys
import pyarrow as pa
from pyspark.sql import SparkSession
import elsinore as el
import elsinore.quantitative as qre
from elsinore.spark.java import use_java

use_java()
own = os.environ.pop("ELSINORE_CACHE_DIR", None)
os.environ["ELSINORE_CACHE_DIR"] = sys.argv[1]  # the server's and the workers'
builder = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false")
spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
del os.environ["ELSINORE_CACHE_DIR"]
if own is not None:
    os.environ["ELSINORE_CACHE_DIR"] = own

def kernels(batches):
    from elsinore.kernels import SHELF
    for _ in batches:
        pass
    yield pa.record_batch({"n": [len(SHELF.compiled)], "l": [len(SHELF.loaded)],
                           "folder": [os.environ["ELSINORE_CACHE_DIR"]]})

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
rows = spark.range(0, 8, 1, 4).mapInArrow(kernels, "n long, l long, folder string").collect()
print({row.folder for row in rows} == {sys.argv[1]}, sum(row.n for row in rows),
      max(row.l for row in rows) > 0)
"""


def test_workers_over_spark_connect_compile_nothing(tmp_path: Path) -> None:
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "kernels")],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == ["True", "True", "True 0 True"], done.stderr
