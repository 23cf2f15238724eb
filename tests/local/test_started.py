"""Streams in this process from Python: `workload.stream(..., engine="local")`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from elsinore import InputError, Workload
from support.live import assert_same_rows
from support.running import wait_for

WORKLOAD = Workload.parse(
    "QUERY q RETURN g, COUNT(*) PATTERN SEQ(A, B+) GROUP BY g WITHIN 10 SLIDE 5;"
)
ALL = {"availableNow": True}


def write(folder: Path, number: int, times: range) -> pa.Table:
    table = pa.table(
        {
            "time": list(times),
            "type": ["AB"[n % 2] for n in times],
            "g": [n % 3 for n in times],
        }
    )
    folder.mkdir(exist_ok=True)
    draft = folder / f".{number}.draft"
    pq.write_table(table, draft)
    draft.rename(folder / f"{number}.parquet")
    return table


def check(out: Path, tables: list[pa.Table]) -> None:
    expected = WORKLOAD.run(pa.concat_tables(tables))["q"].to_arrow()
    rows = ds.dataset(out / "q").to_table().select(expected.column_names)
    assert_same_rows(rows.to_pylist(), expected.to_pylist(), "q")


def test_a_folder_is_read_in_runs_that_continue_one_another(tmp_path: Path) -> None:
    tables = [write(tmp_path / "in", 0, range(40))]
    places = {"path": tmp_path / "out", "checkpoint": tmp_path / "checkpoint", "trigger": ALL}
    first = WORKLOAD.stream(tmp_path / "in", engine="local").start(**places)
    assert first.await_termination(60)
    tables.append(write(tmp_path / "in", 1, range(40, 90)))
    planned = WORKLOAD.stream(tmp_path / "in", engine="local", end_on_idle="1 second", buckets=2)
    last = planned.start(**places)
    assert last.await_termination(60)
    assert not last.is_active
    assert (first.progress.events, last.progress.events) == (40, 50)
    assert {name: change.name for name, change in last.changes.items()} == {"q": "UNCHANGED"}
    check(tmp_path / "out", tables)


def test_a_stream_runs_until_it_is_stopped(tmp_path: Path) -> None:
    write(tmp_path / "in", 0, range(40))
    seen: list[tuple[int, dict[str, pa.Table]]] = []
    progress: list[Any] = []
    running = WORKLOAD.stream(tmp_path / "in", engine="local").start(
        foreach_batch=lambda results, batch: seen.append((batch, results)),
        checkpoint=tmp_path / "checkpoint",
        trigger={"processingTime": "0.05 seconds"},
        on_progress=progress.append,
    )
    wait_for(lambda: len(progress) == 1)
    write(tmp_path / "in", 1, range(40, 90))
    wait_for(lambda: len(progress) == 2)
    assert running.is_active
    assert not running.await_termination(0.01)
    running.stop()
    assert running.await_termination()
    assert [one.events for one in running.recent_progress] == [40, 50]
    assert [batch for batch, _ in seen] == [0, 1]


def fail(results: dict[str, pa.Table], batch: int) -> None:
    raise ZeroDivisionError


def test_what_stops_a_stream_is_raised_where_it_is_awaited(tmp_path: Path) -> None:
    write(tmp_path / "in", 0, range(40))
    running = WORKLOAD.stream(tmp_path / "in", engine="local").start(
        foreach_batch=fail,
        checkpoint=tmp_path / "checkpoint",
        trigger=ALL,
    )
    with pytest.raises(ZeroDivisionError):
        running.await_termination(60)


def test_what_cannot_be_started_says_why(tmp_path: Path) -> None:
    write(tmp_path / "in", 0, range(4))
    planned = WORKLOAD.stream(tmp_path / "in", engine="local")
    checkpoint = tmp_path / "checkpoint"
    with pytest.raises(InputError, match="no trigger"):
        planned.start(tmp_path / "out", checkpoint=checkpoint, trigger={"once": True})
    with pytest.raises(InputError, match=r"needs workload.stream\(..., rejects=True\)"):
        planned.start(tmp_path / "out", checkpoint=checkpoint, rejects=tmp_path / "rejects")
    with pytest.raises(InputError, match="Functions receive results as foreach_batch"):
        planned.start(fail, checkpoint=checkpoint)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="to one place"):
        planned.start(checkpoint=checkpoint)
    with pytest.raises(InputError, match=r'stream\(engine="local"\) reads a folder'):
        WORKLOAD.stream([{"time": 1}], engine="local")
    with pytest.raises(InputError, match="engine= is 'flink'"):
        WORKLOAD.stream(tmp_path / "in", engine="flink")
