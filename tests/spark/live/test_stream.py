"""Live streams on Spark itself: from folders and DataFrames to files and functions."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from elsinore import Workload
from elsinore.errors import InputError, OutputError, StateError
from support.broker import Broker
from support.live import assert_same_rows
from support.topics import Topics

WORKLOAD = Workload.parse("""
    QUERY sums RETURN g, COUNT(*), SUM(B.v) PATTERN SEQ(A, B+) WHERE [k] GROUP BY g
      WITHIN 10 SLIDE 5;
    QUERY counts RETURN g, COUNT(*) PATTERN SEQ(A, B+) GROUP BY g WITHIN 10;
    QUERY pairs RETURN a.g, a.time, b.v PATTERN SEQ(A a, B b) WHERE [g] AND b.v > 8
      STRATEGY SKIP TILL NEXT MATCH WITHIN 5;
""")
LATENESS = 3


def events(rows: int = 600, *, seed: int = 1) -> pa.Table:
    """Return events of whole seconds, out of order by up to LATENESS."""
    random = np.random.default_rng(seed)
    times = np.sort(random.integers(0, 60, rows))
    table = pa.table(
        {
            "time": times,
            "type": random.choice(["A", "B"], rows),
            "g": random.integers(0, 3, rows),
            "k": random.integers(0, 20, rows),
            "v": random.integers(0, 10, rows).astype(float),
            "seq": np.arange(rows),
        }
    )
    arrival = np.argsort(times + random.integers(0, LATENESS + 1, rows), kind="stable")
    return table.take(pa.array(arrival))


def write_files(table: pa.Table, folder: Path, files: int, first: int = 0) -> None:
    """Write a table as files of a folder; sources read them in the order of their times."""
    folder.mkdir(exist_ok=True)
    size = -(-table.num_rows // files)
    for number in range(files):
        path = folder / f"part-{first + number:03}.parquet"
        pq.write_table(table.slice(number * size, size), path, row_group_size=50)
        seconds = 1_700_000_000 + first + number
        os.utime(path, (seconds, seconds))  # sources read files in the order of their times


def check_results(out: Path, table: pa.Table) -> None:
    """Check that the files of results are the rows of a batch run."""
    for name, result in WORKLOAD.run(table, order_by="seq").items():
        expected = result.to_arrow()
        rows = ds.dataset(out / name).to_table().select(expected.column_names)
        assert_same_rows(rows.to_pylist(), expected.to_pylist(), name)


def stream(source: Any, spark: SparkSession, **options: Any) -> Any:
    defaults = {"order_by": "seq", "lateness": LATENESS, "buckets": 2, "spark": spark}
    return WORKLOAD.stream(source, **defaults | options)


ALL = {"availableNow": True}


def test_a_folder_is_read_in_runs_that_continue_one_another(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = events()
    folder, out, checkpoint = (tmp_path / name for name in ("in", "out", "checkpoint"))
    write_files(table.slice(0, 300), folder, 2)
    run = stream(folder, spark, batch_rows=100).start(out, checkpoint=checkpoint, trigger=ALL)
    assert run.await_termination(300)
    assert [progress.events for progress in run.recent_progress] == [100, 100, 100]
    assert [progress.lag for progress in run.recent_progress] == [200, 100, 0]
    live = WORKLOAD.live(table, order_by="seq", lateness=LATENESS)
    live.push(table.slice(0, 300))
    assert live.statistics.open_windows == {"sums": 2, "counts": 1, "pairs": None}
    assert run.recent_progress[-1].open_windows == live.statistics.open_windows
    before = sum(path.stat().st_size for path in out.rglob("*.parquet"))
    assert before > 0
    write_files(table.slice(300), folder, 2, first=2)
    last = stream(folder, spark, end_on_idle="1 second")
    run = last.start(out, checkpoint=checkpoint, trigger=ALL)
    assert run.await_termination(300)
    assert (run.progress.events, run.progress.rejected, run.progress.late) == (300, 0, 0)
    check_results(out, table)
    assert run.recent_progress[-1].waiting == 0


def test_a_dataframe_streams_into_a_function(spark: SparkSession, tmp_path: Path) -> None:
    table = events()
    write_files(table, tmp_path / "in", 3)
    frame = (
        spark.readStream.schema(spark.read.parquet(str(tmp_path / "in")).schema)
        .option("maxFilesPerTrigger", 1)
        .parquet(str(tmp_path / "in"))
    )
    pieces: list[tuple[int, dict[str, pa.Table]]] = []
    run = stream(frame, spark).start(
        foreach_batch=lambda results, batch: pieces.append((batch, results)),
        checkpoint=tmp_path / "checkpoint",
        trigger=ALL,
    )
    assert run.await_termination(300)
    watermark = run.recent_progress[-1].watermark
    assert watermark == max(table["time"].to_pylist()) - LATENESS
    rows = [row for _, results in pieces for row in results["counts"].to_pylist()]
    expected = WORKLOAD.run(table, order_by="seq")["counts"].to_pylist()
    final = [row for row in expected if row["window_end"] <= watermark]
    assert_same_rows(rows, final, "counts")


def test_late_and_unusable_events_are_rejected_records(spark: SparkSession, tmp_path: Path) -> None:
    table = events()
    late = pa.table({name: [value] for name, value in table.slice(5, 1).to_pylist()[0].items()})
    no_time = late.set_column(0, "time", pa.array([None], pa.int64()))
    folder = tmp_path / "in"
    write_files(pa.concat_tables([table, no_time]), folder, 2)
    write_files(late, folder, 1, first=900)
    run = stream(folder, spark, batch_rows=table.num_rows + 1, rejects=True, end_on_idle=1).start(
        tmp_path / "out",
        checkpoint=tmp_path / "checkpoint",
        rejects=tmp_path / "rejected",
        trigger=ALL,
    )
    assert run.await_termination(300)
    assert run.progress.events == table.num_rows + 2
    assert (run.progress.rejected, run.progress.late) == (1, 1)
    rejected = ds.dataset(tmp_path / "rejected", format="json").to_table().to_pylist()
    assert sorted(row["reject_reason"].partition(":")[0] for row in rejected) == [
        "late",
        "null time",
    ]
    check_results(tmp_path / "out", table)


def test_late_events_of_a_dataframe_are_rejected_records(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = events(300)
    late = table.slice(5, 2)
    folder = tmp_path / "in"
    write_files(table, folder, 1)

    def run_once() -> Any:
        frame = spark.readStream.schema(spark.read.parquet(str(folder)).schema)
        frame = frame.option("maxFilesPerTrigger", 1).parquet(str(folder))
        run = stream(frame, spark, rejects=True).start(
            tmp_path / "out",
            checkpoint=tmp_path / "checkpoint",
            rejects=tmp_path / "rejected",
            trigger=ALL,
        )
        assert run.await_termination(300)
        return run.progress

    assert run_once().late == 0
    for number in (900, 901):  # in one run, and the first micro-batch of it is after a restart
        write_files(late.slice(number - 900, 1), folder, 1, first=number)
    assert run_once().late == 2
    rejected = ds.dataset(tmp_path / "rejected", format="json").to_table().to_pylist()
    assert [row["reject_reason"] for row in rejected] == ["late: before the watermark"] * 2
    values = sorted((json.loads(row["value"]) for row in rejected), key=lambda row: row["seq"])
    assert values == sorted(late.to_pylist(), key=lambda row: row["seq"])


def test_what_cannot_be_started_says_why(spark: SparkSession, tmp_path: Path) -> None:
    write_files(events(50), tmp_path / "in", 1)
    planned = stream(tmp_path / "in", spark)
    with pytest.raises(InputError, match="one place"):
        planned.start(checkpoint=tmp_path / "checkpoint")
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="Cannot write the checkpoint"):
        planned.start(tmp_path / "out", checkpoint=tmp_path / "file")
    with pytest.raises(InputError, match="not a stream"):
        stream(spark.range(3), spark)
    run = planned.start(tmp_path / "out", checkpoint=tmp_path / "checkpoint", trigger=ALL)
    assert run.await_termination(300)
    other = stream(tmp_path / "in", spark, time_unit="ms")
    with pytest.raises(StateError, match="made with time_unit='s'"):
        other.start(tmp_path / "out", checkpoint=tmp_path / "checkpoint")


def test_a_changed_workload_continues_the_queries_that_it_kept(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = events()
    folder, out, checkpoint = (tmp_path / name for name in ("in", "out", "checkpoint"))
    write_files(table.slice(0, 300), folder, 1)
    run = stream(folder, spark).start(out, checkpoint=checkpoint, trigger=ALL)
    assert run.await_termination(300)
    split = max(table["time"].to_pylist()[:300]) + 1
    write_files(table.slice(300), folder, 1, first=1)
    added = "QUERY added RETURN COUNT(*) PATTERN SEQ(B, A) WITHIN 10;"
    kept = [query for query in WORKLOAD if query.name != "counts"]
    changed = Workload(*kept, *Workload.parse(added))
    last = changed.stream(
        folder, order_by="seq", lateness=LATENESS, spark=spark, end_on_idle=1
    ).start(out, checkpoint=checkpoint, trigger=ALL)
    changes = {name: change.name for name, change in last.changes.items()}
    assert changes == {
        "sums": "UNCHANGED",
        "pairs": "UNCHANGED",
        "added": "ADDED",
        "counts": "REMOVED",
    }
    assert last.await_termination(300)
    for name, result in changed.run(table, order_by="seq").items():
        expected = result.to_arrow()
        rows = ds.dataset(out / name).to_table().select(expected.column_names).to_pylist()
        complete = expected.to_pylist()
        if name == "added":
            complete = [row for row in complete if row["window_start"] >= split]
        assert_same_rows(rows, complete, name)


def test_a_stream_goes_on_with_another_number_of_buckets(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = events(300)
    folder, out, checkpoint = (tmp_path / name for name in ("in", "out", "checkpoint"))
    kept = []
    for number, buckets in enumerate((2, 3, None)):
        write_files(table.slice(number * 100, 100), folder, 1, first=number)
        run = stream(
            folder, spark, buckets=buckets, end_on_idle=None if number < 2 else "1 second"
        ).start(out, checkpoint=checkpoint, trigger=ALL)
        assert run.await_termination(300)
        facts = json.loads((checkpoint / "elsinore" / "stream.json").read_text())
        kept.append((facts["buckets"], len(facts["generations"])))
    assert kept[:2] == [(2, 1), (3, 2)]
    assert kept[2][0] == 3
    check_results(out, table)


def test_an_event_that_cannot_be_used_stops_the_stream(spark: SparkSession, tmp_path: Path) -> None:
    table = events(50).to_pylist()
    table[20]["type"] = None
    write_files(pa.Table.from_pylist(table), tmp_path / "in", 1)
    run = stream(tmp_path / "in", spark).start(
        tmp_path / "out", checkpoint=tmp_path / "checkpoint", trigger=ALL
    )
    with pytest.raises(InputError, match="null type"):
        run.await_termination(300)


def test_outputs_need_what_the_stream_was_planned_with(spark: SparkSession, tmp_path: Path) -> None:
    write_files(events(20), tmp_path / "in", 1)
    planned, checkpoint = stream(tmp_path / "in", spark), tmp_path / "checkpoint"
    with pytest.raises(InputError, match=r"stream\(..., rejects=True\)"):
        planned.start(tmp_path / "out", checkpoint=checkpoint, rejects=tmp_path / "rejected")
    with pytest.raises(InputError, match=r'stream\(..., early="10 seconds"\)'):
        planned.start(tmp_path / "out", checkpoint=checkpoint, early=print)
    with pytest.raises(InputError, match=r"Workload\.live takes batches"):
        stream([{"time": 1, "type": "A"}], spark)
    assert not checkpoint.exists()


def test_topics_are_named_as_on_the_command_line(
    spark: SparkSession, kafka: Broker, tmp_path: Path
) -> None:
    topics, table = Topics(kafka), events(60)
    source, results = topics.make(), topics.make()
    topics.fill(source, [(0, None, json.dumps(row).encode()) for row in table.to_pylist()])
    run = stream(kafka.address(source), spark, end_on_idle="1 second").start(
        kafka.address(results), checkpoint=tmp_path / "checkpoint", trigger=ALL
    )
    assert run.await_termination(300)
    messages = topics.read(results, sum(run.progress.rows.values()))
    topics.close()
    keys = {tuple(json.loads(message.key())) for message in messages}
    for name in ("sums", "counts"):
        expected = WORKLOAD.run(table, order_by="seq")[name].to_pylist()
        windows = {(name, row["g"], row["window_start"]) for row in expected}
        assert windows
        assert windows == {key for key in keys if key[0] == name}


def test_a_stream_that_has_ended_begins_anew(spark: SparkSession, tmp_path: Path) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    write_files(events(), folder, 1)
    for first, seed in ((1, 2), (2, 3)):  # times begin at 0 again: nothing is late
        run = stream(folder, spark, end_on_idle=0.1).start(out, checkpoint=tmp_path / "checkpoint")
        assert run.await_termination(600)
        assert not run.is_active
        assert (run.progress.events, run.progress.late) == (600, 0)
        assert run.recent_progress[-1].waiting == 0
        write_files(events(seed=seed), folder, 1, first=first)
    rows = ds.dataset(out / "counts").to_table()
    results = [WORKLOAD.run(events(seed=s), order_by="seq")["counts"] for s in (1, 2)]
    expected = pa.concat_tables([result.to_arrow() for result in results])
    assert_same_rows(rows.to_pylist(), expected.to_pylist(), "counts")
