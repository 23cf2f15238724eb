"""Streams in this process: folder to files, restarted from the checkpoint at any moment."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings

from elsinore import Workload
from elsinore.connectors.checkpoint import Checkpoint
from elsinore.connectors.contract import Limit
from elsinore.connectors.files_sink import FilesSink
from elsinore.connectors.places import FolderPlace
from elsinore.errors import StateError
from elsinore.local.stream import LocalStream, Pace
from elsinore.runtime.live import options_of
from support.drawn import CASES, Drawn
from support.live import assert_same_rows

EXAMPLES = int(os.environ.get("ELSINORE_EXAMPLES", "15"))
TEXT = """
    QUERY counts RETURN g, COUNT(*) PATTERN SEQ(A, B+) GROUP BY g WITHIN 10 SLIDE 5;
    QUERY pairs RETURN a.g, a.time, b.v PATTERN SEQ(A a, B b) WHERE [g] AND b.v > 5
      STRATEGY SKIP TILL NEXT MATCH WITHIN 5;
"""


class Killed(BaseException):
    """What stops a stream where a crash would."""


class KilledSink(FilesSink):
    """Writes files, until it is killed before or after a drawn write."""

    def __init__(self, folder: Path, writes: int, *, before: bool) -> None:
        super().__init__(folder)
        self._left, self._before = writes, before

    def write(self, query: str, batch: int, rows: pa.Table) -> Path | None:
        self._left -= 1
        if self._left < 0 and self._before:
            raise Killed
        path = super().write(query, batch, rows)
        if self._left < 0:
            raise Killed
        return path


def stream_of(
    folder: Path,
    sink: FilesSink,
    *,
    rows: int = 20,
    workload: Workload | None = None,
    ends: bool = True,
    **options: Any,
) -> LocalStream:
    """Return a stream that reads what is there, in micro-batches of so many rows, and ends."""
    return LocalStream(
        (workload or Workload.parse(TEXT)).live_planner(),
        FolderPlace(folder=str(folder / "in"), order="name"),
        options_of(**{"order_by": "seq", "lateness": 2, **options}),
        Checkpoint(folder / "checkpoint"),
        sink,
        pace=Pace(every=0.0, once=True, end_on_idle=0.0 if ends else None, limit=Limit(rows=rows)),
    )


def drawn_events(drawn: Drawn, rows: int = 150) -> pa.Table:
    times = sorted(drawn.number(0, 50) for _ in range(rows))
    arrival = sorted(range(rows), key=lambda n: (times[n] + drawn.number(0, 2), n))
    table = pa.table(
        {
            "time": times,
            "type": [drawn.one("AB") for _ in range(rows)],
            "g": [drawn.number(0, 2) for _ in range(rows)],
            "v": [float(drawn.number(0, 9)) for _ in range(rows)],
            "seq": list(range(rows)),
        }
    )
    return table.take(pa.array(arrival))


def check_files(out: Path, table: pa.Table) -> None:
    for name, result in Workload.parse(TEXT).run(table, order_by="seq").items():
        expected = result.to_arrow()
        rows = ds.dataset(out / name).to_table().select(expected.column_names)
        assert_same_rows(rows.to_pylist(), expected.to_pylist(), name)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(CASES)
def test_each_result_is_there_once_wherever_a_stream_is_killed(
    tmp_path_factory: pytest.TempPathFactory, drawn: Drawn
) -> None:
    folder = tmp_path_factory.mktemp("stream")
    table = drawn_events(drawn)
    (folder / "in").mkdir()
    for number in range(3):
        part = table.slice(number * 50, 50)
        pq.write_table(part, folder / "in" / f"{number}.parquet", row_group_size=7)
    for _ in range(drawn.number(0, 5)):
        sink = KilledSink(folder / "out", drawn.number(0, 6), before=drawn.whether())
        try:
            stream_of(folder, sink, rows=drawn.number(7, 60)).run()
        except Killed:
            continue
        break
    else:
        stream_of(folder, FilesSink(folder / "out")).run()
    check_files(folder / "out", table)


class Recorder(FilesSink):
    """Writes files and keeps the rows of each micro-batch; is killed behind one of them."""

    def __init__(self, folder: Path, batches: int = 0) -> None:
        super().__init__(folder)
        self.rows: dict[int, dict[str, list[Any]]] = {}
        self._left = batches

    def write(self, query: str, batch: int, rows: pa.Table) -> Path | None:
        self.rows.setdefault(batch, {})[query] = rows.to_pylist()
        return super().write(query, batch, rows)

    def flush(self) -> None:
        self._left -= 1
        if not self._left:
            raise Killed


@settings(max_examples=-(-EXAMPLES // 3), deadline=None, suppress_health_check=list(HealthCheck))
@given(CASES)
def test_a_micro_batch_that_was_cut_off_is_the_same_when_it_is_replayed(
    tmp_path_factory: pytest.TempPathFactory, drawn: Drawn
) -> None:
    folder = tmp_path_factory.mktemp("stream")
    table = drawn_events(drawn)
    (folder / "in").mkdir()
    pq.write_table(table.slice(0, 75), folder / "in" / "0.parquet", row_group_size=7)
    batch = drawn.number(0, 2)
    cut = Recorder(folder / "out", batch + 1)
    with pytest.raises(Killed):
        stream_of(folder, cut, rows=drawn.number(14, 25)).run()
    pq.write_table(table.slice(75), folder / "in" / "1.parquet", row_group_size=7)
    again = Recorder(folder / "out")
    stream_of(folder, again, rows=drawn.number(7, 60)).run()
    assert cut.rows.get(batch) == again.rows.get(batch)
    check_files(folder / "out", table)


def test_the_end_of_a_stream_that_was_cut_off_is_replayed(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    table = drawn_events(Drawn(4))
    pq.write_table(table.slice(0, 75), tmp_path / "in" / "0.parquet")
    cut = Recorder(tmp_path / "out", 2)
    with pytest.raises(Killed):  # it has written what windows have if the stream ends here
        stream_of(tmp_path, cut).run()
    pq.write_table(table.slice(75), tmp_path / "in" / "1.parquet", row_group_size=1)
    again = Recorder(tmp_path / "out")
    stream_of(tmp_path, again).run()
    assert cut.rows[1] == again.rows[1]
    check_files(tmp_path / "out", table.slice(0, 75))


def test_a_stream_that_was_killed_in_its_first_micro_batch_begins_where_it_had_begun(
    tmp_path: Path,
) -> None:
    (tmp_path / "in").mkdir()
    pq.write_table(drawn_events(Drawn(5)), tmp_path / "in" / "0.parquet")
    with pytest.raises(Killed):
        stream_of(tmp_path, Recorder(tmp_path / "out", 1)).run()
    plan = Checkpoint(tmp_path / "checkpoint").batch_plan()
    assert plan is not None
    moved = plan | {"begin": {"file": 1, "unit": 0}, "end": {"file": 1, "unit": 0}}
    Checkpoint(tmp_path / "checkpoint").save_batch_plan(moved)
    stream = stream_of(tmp_path, FilesSink(tmp_path / "out"))
    stream.run()
    assert stream.progress.events == 0


def test_progress_says_what_each_micro_batch_did(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    table = drawn_events(Drawn(1))
    pq.write_table(table, tmp_path / "in" / "0.parquet", row_group_size=50)
    stream = stream_of(tmp_path, FilesSink(tmp_path / "out"), rows=50)
    stream.run()
    assert [progress.events for progress in stream.progress.recent] == [50, 50, 50, 0]
    assert [progress.lag for progress in stream.progress.recent] == [100, 50, 0, 0]
    assert [progress.open_windows["counts"] for progress in stream.progress.recent][2:] == [2, 0]
    last = stream.progress.recent[-2]
    assert last.watermark == last.greatest - 2 == max(table["time"].to_pylist()) - 2
    rows = Workload.parse(TEXT).run(table, order_by="seq")["counts"].num_rows
    assert stream.progress.rows["counts"] == rows


def test_a_checkpoint_of_the_other_engine_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    pq.write_table(drawn_events(Drawn(2)), tmp_path / "in" / "0.parquet")
    checkpoint = Checkpoint(tmp_path / "checkpoint")
    checkpoint.prepare()
    checkpoint.save_stream("spark", {"queries": {}})
    with pytest.raises(StateError, match="is of the engine spark"):
        stream_of(tmp_path, FilesSink(tmp_path / "out"))


@pytest.mark.parametrize(
    "changed",
    [
        {"time": "seq"},
        {"type": "g"},
        {"time_unit": "ms"},
        {"order_by": ()},
        {"time_interval": ("time", "seq")},
        {"time_granularity": "2 seconds"},
    ],
)
def test_events_of_a_checkpoint_cannot_be_read_in_another_way(
    tmp_path: Path, changed: dict[str, Any]
) -> None:
    (tmp_path / "in").mkdir()
    pq.write_table(drawn_events(Drawn(4)), tmp_path / "in" / "0.parquet")
    stream_of(tmp_path, FilesSink(tmp_path / "out"), ends=False).run()
    stream_of(tmp_path, FilesSink(tmp_path / "out"), ends=False)
    with pytest.raises(StateError, match=f"checkpoint was made with {next(iter(changed))}="):
        stream_of(tmp_path, FilesSink(tmp_path / "out"), ends=False, **changed)


def test_a_changed_workload_continues_the_queries_that_it_kept(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    table = drawn_events(Drawn(3))
    pq.write_table(table.slice(0, 75), tmp_path / "in" / "0.parquet")
    first = stream_of(tmp_path, FilesSink(tmp_path / "out"))
    first.stop()
    first.run()
    stream = LocalStream(
        Workload.parse(TEXT).live_planner(),
        FolderPlace(folder=str(tmp_path / "in")),
        options_of(order_by="seq", lateness=2),
        Checkpoint(tmp_path / "checkpoint"),
        FilesSink(tmp_path / "out"),
        pace=Pace(once=True),
    )
    stream.run()
    pq.write_table(table.slice(75), tmp_path / "in" / "1.parquet")
    changed = Workload.parse(TEXT + "QUERY added RETURN COUNT(*) PATTERN SEQ(B, A) WITHIN 10;")
    last = stream_of(tmp_path, FilesSink(tmp_path / "out"), workload=changed)
    changes = {name: change.name for name, change in last.changes.items()}
    assert changes == {"counts": "UNCHANGED", "pairs": "UNCHANGED", "added": "ADDED"}
    last.run()
    for name, result in Workload.parse(TEXT).run(table, order_by="seq").items():
        expected = result.to_arrow()
        rows = ds.dataset(tmp_path / "out" / name).to_table().select(expected.column_names)
        assert_same_rows(rows.to_pylist(), expected.to_pylist(), name)
    assert ds.dataset(tmp_path / "out" / "added").count_rows() > 0
