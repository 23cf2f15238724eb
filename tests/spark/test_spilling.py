"""One group that is larger than the memory allowed goes through sorted runs on local disk."""

from __future__ import annotations

import resource
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

import elsinore as el
from elsinore.runtime.columnar import Layout, Merging, Packing, blobs
from elsinore.spark import passes
from elsinore.spark.shuffle import ROWS_AT_ONCE, TASK_MEMORY
from elsinore.spark.workers import shipped

EVENTS = 20_000
MEMORY = 1 << 16
LAYOUT = Layout(
    pa.schema([("k", pa.int64())]), pa.schema([("time", pa.int64()), ("v", pa.float64())])
)


def shuffled_blobs(events: int, rows_per_task: int = 0) -> Iterator[pa.RecordBatch]:
    """Yield the blobs of events of one key, one for each moment, in no order."""
    chance = np.random.default_rng(3)
    times = chance.permutation(events)
    table = pa.table({"k": np.zeros(events, np.int64), "time": times, "v": times / 2})
    packing = Packing(
        layout=LAYOUT,
        partitions=1,
        chunk_rows=2_000,
        blob_bytes=1 << 12,
        rows_per_task=rows_per_task,
    )
    return packing(table.to_batches(max_chunksize=1_000))


@pytest.fixture
def little_memory(spark: SparkSession) -> Iterator[SparkSession]:
    """Give the session, whose tasks merge a few thousand events in memory."""
    before = spark.conf.get(ROWS_AT_ONCE)
    spark.conf.set(TASK_MEMORY, str(MEMORY))
    spark.conf.set(ROWS_AT_ONCE, "500")
    yield spark
    spark.conf.unset(TASK_MEMORY)
    spark.conf.set(ROWS_AT_ONCE, str(before))


def test_a_group_of_many_times_the_memory_has_the_same_results(
    little_memory: SparkSession, tmp_path: Path
) -> None:
    chance = np.random.default_rng(5)
    events = pa.table(
        {
            "time": chance.permutation(EVENTS),
            "type": np.array(list("ABC"))[chance.integers(0, 3, EVENTS)],
            "v": chance.random(EVENTS),
        }
    )
    pq.write_table(events, tmp_path / "events.parquet", row_group_size=EVENTS // 4)
    workload = el.Workload.parse(
        "QUERY q RETURN COUNT(*), MAX(b.v) PATTERN SEQ(A a, B+ b, C c) WITHIN 100;"
    )
    frame = little_memory.read.parquet(str(tmp_path / "events.parquet"))
    results = workload.run(frame, ordered=True)
    assert results["q"].to_arrow().to_pylist() == workload.run(events)["q"].to_pylist()
    assert results.statistics[0].spilled_bytes > 4 * MEMORY


def test_what_merging_holds_does_not_grow_with_the_number_of_runs() -> None:
    merging = Merging(LAYOUT, 1, memory=MEMORY)
    for batch in shuffled_blobs(60_000):
        merging.add(batch.column("blob"))
    assert merging.spilled_bytes > 15 * MEMORY
    rows, held = [], []
    tracemalloc.start()
    before = pa.total_allocated_bytes()
    for batch in merging.batches():
        rows.append(batch.times.astype(np.int32))
        _, peak = tracemalloc.get_traced_memory()
        held.append(pa.total_allocated_bytes() - before + peak - 4 * sum(map(len, rows)))
        tracemalloc.reset_peak()
    tracemalloc.stop()
    assert np.concatenate(rows).tolist() == list(range(60_000))
    assert max(held) < 1.5 * MEMORY


def test_runs_that_follow_one_another_in_time_are_read_one_after_another() -> None:
    merging = Merging(LAYOUT, 1, memory=MEMORY)
    times = np.arange(40_000)
    table = pa.table({"k": np.zeros(len(times), np.int64), "time": times, "v": times / 2})
    for batch in Packing(layout=LAYOUT, partitions=1, chunk_rows=2_000)(table.to_batches()):
        merging.add(batch.column("blob"))
    actual = list(merging.batches())
    assert np.concatenate([batch.times for batch in actual]).tolist() == times.tolist()
    assert len(actual) < 80  # blocks of a quarter of the memory each, not of a share of every run


def test_rows_that_a_task_is_given_at_once_hold_few_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    rows_per_task, task_bytes = 100, 1 << 14
    monkeypatch.setattr(blobs, "TASK_BYTES", task_bytes)
    rows = pa.Table.from_batches(shuffled_blobs(20_000, rows_per_task)).combine_chunks()
    merging = Merging(LAYOUT, 1)
    for batch in rows.to_batches(max_chunksize=rows_per_task):
        assert pa.compute.binary_length(batch.column("blob")).to_numpy().sum() < 1.5 * task_bytes
        merging.add(batch.column("blob"))
    assert sum(len(batch.key) for batch in merging.batches()) == 20_000


def test_a_disk_that_is_full_while_a_task_spills_fails_the_run_with_the_remedy(
    little_memory: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def on_a_full_disk(function: Callable[[Any], Any]) -> Any:
        def call(batches: Any) -> Any:
            before = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 14, before[1]))  # no file is longer
            try:
                yield from function(batches)
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, before)

        return shipped(call)

    monkeypatch.setattr(passes, "shipped", on_a_full_disk)
    times = np.random.default_rng(2).permutation(EVENTS)
    events = little_memory.createDataFrame(pa.table({"time": times, "type": ["A", "B"] * 10_000}))
    results = el.Workload.parse("QUERY q RETURN COUNT(*) PATTERN SEQ(A, B);").run(events)
    with pytest.raises(Exception, match="cannot be written to") as failure:
        results["q"].collect()
    assert "Make room there, name another disk with Spark's spark.local.dir" in str(failure.value)
