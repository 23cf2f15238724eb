"""Compiled kernels travel to the workers with the job."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import elsinore as el
from elsinore.kernels import FOLDER_VARIABLE
from elsinore.kernels.needed import NOTE

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

WORKLOAD = """
    QUERY near
    RETURN   R.rider, CONFIDENCE() AS chance
    PATTERN  SEQ(Request R, Pickup P)
    WHERE    [rider]
    WITHIN   30 minutes
    CONFIDENCE >= 0.1;
"""
UNCERTAIN = ("time", "time + 2")
EVENTS = [
    {"time": 60 * n, "type": kind, "rider": rider, "speed": speed}
    for rider in range(40)
    for n, (kind, speed) in enumerate(
        [("Request", None), ("Travel", 8.0), ("Travel", 6.0), ("Travel", 31.0), ("Pickup", None)]
    )
]


def workers(spark: "SparkSession") -> dict[int, tuple[list[str], list[str], str]]:
    """Return by process which kernels the workers have compiled and loaded, and their folder."""
    variable = FOLDER_VARIABLE

    def told(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from elsinore.kernels import SHELF

        for _ in batches:
            pass
        row = {
            "pid": os.getpid(),
            "compiled": SHELF.compiled,
            "loaded": SHELF.loaded,
            "folder": os.environ.get(variable, ""),
        }
        yield pa.RecordBatch.from_pylist([row])

    schema = "pid long, compiled array<string>, loaded array<string>, folder string"
    rows = spark.range(0, 16, 1, 8).mapInArrow(told, schema).collect()
    return {row["pid"]: (row["compiled"], row["loaded"], row["folder"]) for row in rows}


def test_workers_that_begin_with_an_empty_folder_compile_nothing(
    spark: "SparkSession", worker_folder: "Path"
) -> None:
    before = workers(spark)
    assert {folder for _, _, folder in before.values()} == {str(worker_folder)}
    frame = spark.createDataFrame(pa.Table.from_pylist(EVENTS))
    workload = el.Workload.parse(WORKLOAD)
    with workload.run(frame, time_interval=UNCERTAIN) as results:
        assert results["near"].count() == 40
    loaded = set()
    for process, (compiled, read, _) in workers(spark).items():
        known = len(before[process][0]) if process in before else 0
        assert compiled[known:] == []
        loaded |= set(read)
    engines = {name.rpartition(".")[0] for name in loaded}
    assert "elsinore.matches.worlds" in engines


def test_what_a_job_needs_is_noted_once(
    spark: "SparkSession", tmp_path: "Path", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "kernels"))
    trends = el.Workload.parse("QUERY q RETURN COUNT(*) AS trends PATTERN SEQ(Request R, X+);")
    matches = el.Workload.parse(WORKLOAD)
    frame = spark.createDataFrame(pa.Table.from_pylist(EVENTS))
    for _ in range(2):
        trends.run(frame).close()  # needs none
        matches.run(frame, time_interval=UNCERTAIN).close()
        assert len(list((tmp_path / "kernels").glob(f"*{NOTE}"))) == 1


def test_a_job_whose_rehearsal_fails_runs_all_the_same(
    spark: "SparkSession", monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ValueError

    monkeypatch.setattr("elsinore.spark.compiled.rehearse", fail)
    workload = el.Workload.parse("QUERY q RETURN COUNT(*) AS n PATTERN Request WITHIN 7 minutes;")
    frame = spark.createDataFrame(pa.Table.from_pylist(EVENTS))
    with workload.run(frame) as results:
        assert [row["n"] for row in results["q"].collect()] == [40]


def test_workers_load_the_modules_that_were_compiled_with_the_package(
    spark: "SparkSession",
) -> None:
    def loaded(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from importlib import import_module

        from elsinore.compiled_modules import compiled_sources

        for _ in batches:
            pass
        files = [str(import_module(name).__file__) for name, _ in compiled_sources()]
        yield pa.RecordBatch.from_pydict({"file": files})

    rows = spark.range(1).mapInArrow(loaded, "file string").collect()
    assert rows
    assert not [row.file for row in rows if row.file.endswith(".py")]
