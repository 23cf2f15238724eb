"""What breaks on the way: results are complete or absent, and an error says what to do."""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from elsinore.errors import InputError
from elsinore.runtime.columnar import Layout, Merging, Packing
from elsinore.runtime.columnar.runs import LOCAL_DIRECTORIES
from elsinore.spark import passes, shuffle
from elsinore.spark.quiet import task_errors
from elsinore.spark.workers import shipped
from elsinore.workload import Workload


def dying(marker: Path) -> Callable[[Any], Any]:
    """Return what ships functions to workers; one kills itself, once, when it has given a batch."""

    def ship(function: Callable[[Any], Any]) -> Any:
        def call(batches: Any) -> Any:
            for batch in function(batches):
                yield batch
                try:
                    os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    continue
                os.kill(os.getpid(), signal.SIGKILL)

        return shipped(call)

    return ship


@pytest.mark.parametrize("stage", [shuffle, passes], ids=["map", "reduce"])
def test_a_worker_that_is_killed_in_either_stage_is_replaced(
    stage: ModuleType, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = [n % 7 for n in range(4000)]
    events = pa.table({"time": range(4000), "type": ["A", "B"] * 2000, "key": keys})
    workload = Workload.parse(
        "QUERY q RETURN key, COUNT(*) PATTERN SEQ(A, B) GROUP BY key WITHIN 100;"
    )
    frame = spark.createDataFrame(events).repartition(2)
    monkeypatch.setattr(stage, "shipped", dying(tmp_path / "died"))
    results = workload.run(frame, ordered=True)
    assert [row.asDict() for row in results["q"].collect()] == workload.run(events)["q"].to_pylist()
    assert results.statistics[0].events == 4000
    assert (tmp_path / "died").exists()


def test_a_disk_that_is_full_is_told_with_its_place_and_the_remedies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LOCAL_DIRECTORIES, str(tmp_path))
    events = pa.table({"key": np.arange(90_000) % 9, "time": np.arange(90_000)})
    layout = Layout(*(pa.schema([events.schema.field(name)]) for name in ("key", "time")))
    merging = Merging(layout, 1, memory=1 << 19)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    (blobs,) = Packing(layout=layout, partitions=1, blob_bytes=1 << 16)(events.to_batches())
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, before[1]))  # no file may be longer
    try:
        with pytest.raises(
            InputError, match=r"cannot be written to '.*spark\.local\.dir"
        ) as failure:
            merging.add(blobs.column("blob"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert str(tmp_path) in str(failure.value)
    assert list(tmp_path.iterdir()) == []


WORKER = """
  An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "tasks.py", line 62, in read
elsinore.errors.InputError: 'file:///e/b.parquet' cannot be read as Parquet: no such file

\tat org.apache.spark.api.python.BasePythonRunner"""
JVM = """An error occurred while calling o474.getResult.
Caused by: org.apache.spark.SparkException: [FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error \
while reading file file:///e/b.parquet. File does not exist. It is possible the underlying files \
have been updated.
\tat org.apache.spark.sql"""
DAMAGED = """An error occurred while calling o474.getResult.
: org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Encountered error while reading file \
file:///e/b.parquet.  SQLSTATE: KD001
\tat org.apache.spark.sql
Caused by: java.lang.RuntimeException: file:/e/b.parquet is not a Parquet file. Expected PAR1
\t... 38 more"""
OTHER_TYPE = """[FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH] Encountered error while \
reading file file:///e/b.parquet. Data type mismatches when reading Parquet column [v]. Expected"""
UNREAD = "Spark cannot read 'file:///e/b.parquet'"
TAKE_OUT = "Take the file out, or write it again."


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (WORKER, "'file:///e/b.parquet' cannot be read as Parquet: no such file"),
        (JVM, f"{UNREAD}: File does not exist. Read the events again, and run."),
        (
            DAMAGED,
            f"{UNREAD}: file:/e/b.parquet is not a Parquet file. Expected PAR1. {TAKE_OUT}",
        ),
        (DAMAGED.replace("Caused by", ""), f"{UNREAD}. {TAKE_OUT}"),
        (
            OTHER_TYPE,
            f"{UNREAD}: Data type mismatches when reading Parquet column [v]. {TAKE_OUT}",
        ),
    ],
    ids=["a worker", "the JVM", "damaged", "damaged, no cause", "another type"],
)
def test_a_file_that_cannot_be_read_is_told_in_a_line(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as failure, task_errors():
        raise PySparkException(text)
    assert str(failure.value).startswith(sentence)
    assert len(str(failure.value).splitlines()) == 1


def test_what_else_spark_fails_of_is_left_as_it_is() -> None:
    with pytest.raises(PySparkException, match="out of memory"), task_errors():
        raise PySparkException("out of memory")


@pytest.mark.parametrize(
    ("package", "sentence"),
    [
        ("raise ImportError('No module named elsinore')", "Spark's workers cannot import Elsinore"),
        ("__version__ = '0.0.7'", "Spark's workers have Elsinore 0.0.7, but the driver has"),
    ],
    ids=["none", "another version"],
)
def test_workers_that_lack_elsinore_say_so_in_one_sentence(
    spark: SparkSession, package: str, sentence: str
) -> None:
    def without(batches: object) -> object:
        import sys
        import types

        known = {name: sys.modules.pop(name) for name in list(sys.modules) if "elsinore" in name}
        finder = types.SimpleNamespace(find_spec=lambda name, *_: spec(name))

        def spec(name: str) -> object:
            from importlib.machinery import ModuleSpec

            loader = types.SimpleNamespace(
                create_module=lambda _: None, exec_module=lambda module: exec(package, vars(module))
            )
            return ModuleSpec(name, loader) if name == "elsinore" else None

        sys.meta_path.insert(0, finder)
        try:
            yield from call(batches)
        finally:
            sys.meta_path.remove(finder)
            sys.modules.update(known)

    call = shipped(iter)
    with pytest.raises(Exception, match=sentence) as failure:
        spark.range(1).mapInArrow(without, "id long").collect()
    assert sys.executable in str(failure.value)
    assert "PYSPARK_PYTHON" in str(failure.value)
