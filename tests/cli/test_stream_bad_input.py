"""What `elsinore stream` says of bad input; its checkpoint stays valid and nothing is lost."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from elsinore.cli.app import app
from support.broker import free_ports
from support.streams import (
    TO_THE_END,
    check_files,
    check_messages,
    command,
    events,
    write_files,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from support.topics import Topics

TABLE = events(120, seconds=30)
CAPSET_VERSION = 0x20080522
OVERRIDES = 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH


@pytest.fixture(params=["local", "spark"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Give the options of an engine; Spark's runs in the session of all tests, left running."""
    if request.param == "local":
        return ["--engine", "local"]
    spark: SparkSession = request.getfixturevalue("spark")

    @contextmanager
    def session(*_: Any, **__: Any) -> Iterator[SparkSession]:
        yield spark

    monkeypatch.setattr("elsinore.cli.stream_spark.local_session", session)
    return ["--engine", "spark", "--buckets", "2"]


def call(arguments: list[str]) -> Result:
    done = CliRunner().invoke(app, arguments)
    assert "Traceback" not in done.stderr, done.stderr
    assert "defect of Elsinore" not in done.stderr, done.stderr
    return done


def from_folder(folder: Path, *options: str) -> list[str]:
    """Return the command that reads the folder `in` to its end, into `out`."""
    places = ["--events", str(folder / "in"), "--out", str(folder / "out")]
    return command(folder, *places, *TO_THE_END, *options)


def refused(arguments: list[str], *parts: str, status: int = 1) -> None:
    """Check that a command fails and says some things."""
    done = call(arguments)
    assert done.exit_code == status, done.stderr
    for part in parts:
        assert part in done.stderr, done.stderr


def completed(arguments: list[str], folder: Path, table: pa.Table = TABLE) -> Result:
    """Check that a command ends and that all results are those of a batch run."""
    done = call(arguments)
    assert done.exit_code == 0, done.stderr
    check_files(folder / "out", table)
    return done


def rejected(folder: Path) -> list[dict[str, Any]]:
    """Return the rejected records."""
    rows: list[dict[str, Any]] = ds.dataset(folder, format="json").to_table().to_pylist()
    return rows


def test_a_broker_that_is_not_there_is_named(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    place = f"kafka:trips@127.0.0.1:{port}"
    out = ["--out", str(tmp_path / "out"), "--engine", "local"]
    soon = ["--kafka-option", "socket.timeout.ms=1000"]
    refused(
        command(tmp_path, "--source", place, *out, *soon), f"127.0.0.1:{port}", "gives no answer"
    )
    never = ["--kafka-option", "socket.timeout.ms=soon"]
    refused(command(tmp_path, "--source", place, *out, *never), "not a number of milliseconds")


def test_a_topic_that_is_not_there_is_named(tmp_path: Path, topics: Topics) -> None:
    write_files(TABLE, tmp_path / "in")
    topics.make(name="arrivals")
    wrong = topics.broker.address("arrival")
    said = "has no topic 'arrival'. Did you mean 'arrivals'? Create it first."
    local = ["--engine", "local"]
    refused(command(tmp_path, "--source", wrong, "--out", str(tmp_path / "o"), *local), said)
    refused(command(tmp_path, "--events", str(tmp_path / "in"), "--out", wrong, *local), said)


@contextmanager
def ordinary_permissions() -> Iterator[None]:
    """Let permissions of folders apply to root, too, within the block."""
    if os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(CAPSET_VERSION, 0)
    before = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; low and high bits
    if libc.capget(header, before):
        pytest.skip("capabilities cannot be read here")
    without = (ctypes.c_uint32 * 6)(*before)
    without[0] &= ~OVERRIDES
    if libc.capset(header, without):
        pytest.skip("capabilities cannot be dropped here")
    try:
        yield
    finally:
        assert libc.capset(header, before) == 0


def test_a_checkpoint_that_may_not_be_written_is_named(tmp_path: Path, engine: list[str]) -> None:
    write_files(TABLE, tmp_path / "in")
    (tmp_path / "checkpoint").mkdir(mode=0o500)
    arguments = from_folder(tmp_path, *engine)
    with ordinary_permissions():
        refused(arguments, "Cannot write the checkpoint", "Permission denied")
    (tmp_path / "checkpoint").chmod(0o700)
    completed(arguments, tmp_path)


def test_a_checkpoint_of_another_version_is_refused(tmp_path: Path, engine: list[str]) -> None:
    write_files(TABLE, tmp_path / "in")
    own = tmp_path / "checkpoint" / "elsinore"
    own.mkdir(parents=True)
    (own / "stream.json").write_text(json.dumps({"version": 99, "engine": engine[1]}))
    refused(from_folder(tmp_path, *engine), "has version 99", "a new checkpoint")


def test_a_checkpoint_of_the_other_engine_is_refused(tmp_path: Path, engine: list[str]) -> None:
    write_files(TABLE, tmp_path / "in")
    own = tmp_path / "checkpoint" / "elsinore"
    own.mkdir(parents=True)
    other = {"local": "spark", "spark": "local"}[engine[1]]
    (own / "stream.json").write_text(json.dumps({"version": 1, "engine": other}))
    refused(from_folder(tmp_path, *engine), f"is of the engine {other}")


def test_a_checkpoint_of_another_workload_continues_by_name(tmp_path: Path) -> None:
    write_files(TABLE, tmp_path / "in")
    local = ["--engine", "local", "--trigger", "once"]
    places = ["--events", str(tmp_path / "in"), "--out", str(tmp_path / "out")]
    assert call(command(tmp_path, *places, *local)).exit_code == 0
    other = "QUERY other RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 5 seconds;"
    done = call(command(tmp_path, *places, *local, text=other))
    assert done.exit_code == 0
    for line in ("sums is removed", "pairs is removed", "other is added"):
        assert line in done.stderr


@pytest.mark.parametrize("name", ["state", "stream.json", "folder.log", "begun.json"])
def test_a_damaged_checkpoint_is_refused(tmp_path: Path, name: str) -> None:
    write_files(TABLE, tmp_path / "in")
    arguments = from_folder(tmp_path, "--engine", "local")
    completed(arguments, tmp_path)
    path = tmp_path / "checkpoint" / "elsinore" / name
    path.write_bytes(b"\0" * 20 + b"\n" + path.read_bytes()[7:])
    refused(arguments, str(path) if name != "state" else "state")


def test_a_file_that_does_not_fit_the_schema_stops_the_stream(
    tmp_path: Path, engine: list[str]
) -> None:
    write_files(TABLE.slice(0, 60), tmp_path / "in")
    pq.write_table(TABLE.slice(60).drop_columns(["v"]), tmp_path / "in" / "500.parquet")
    arguments = from_folder(tmp_path, "--batch-rows", "60", *engine)
    refused(arguments, "has no column 'v'", "500.parquet")
    write_files(TABLE.slice(60), tmp_path / "in", first=600)
    completed([*arguments, "--rejects", str(tmp_path / "rejects")], tmp_path)
    (row,) = rejected(tmp_path / "rejects")
    assert "has no column 'v'" in row["reject_reason"]


def test_a_schema_that_fits_no_message_is_refused(tmp_path: Path, topics: Topics) -> None:
    topic = topics.make()
    topics.fill(topic, [(0, None, b'{"time": "soon", "type": "A"}')])
    source = ["--source", topics.broker.address(topic), "--schema", "time BIGINT, type STRING"]
    out = ["--out", str(tmp_path / "out"), "--engine", "local"]
    text = "QUERY q RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 5 seconds;"
    arguments = command(tmp_path, *source, *out, text=text)
    refused([one for one in arguments if one not in ("--order-by", "seq")], "time", "schema")


@pytest.mark.parametrize("values", [[True] * 120, [[1]] * 120])
def test_a_time_column_of_another_type_is_refused(
    tmp_path: Path, engine: list[str], values: list[Any]
) -> None:
    table = TABLE.set_column(0, "time", pa.array(values))
    write_files(table, tmp_path / "in")
    refused(from_folder(tmp_path, *engine), "time")


def test_a_text_that_is_no_time_is_rejected(tmp_path: Path, engine: list[str]) -> None:
    texts = [f"2026-01-01T00:00:{time:02}" for time in TABLE.column("time").to_pylist()]
    usable = TABLE.set_column(0, "time", pa.array(texts))
    bad = usable.slice(0, 1).set_column(0, "time", pa.array(["soon"]))
    write_files(pa.concat_tables([usable.slice(0, 60), bad, usable.slice(60)]), tmp_path / "in")
    arguments = from_folder(tmp_path, *engine)
    refused(arguments, "soon")
    completed([*arguments, "--rejects", str(tmp_path / "rejects")], tmp_path, usable)
    (row,) = rejected(tmp_path / "rejects")
    assert "soon" in row["value"]


def test_a_sink_that_fails_loses_nothing(tmp_path: Path, engine: list[str]) -> None:
    write_files(TABLE, tmp_path / "in")
    arguments = from_folder(tmp_path, "--batch-rows", "60", *engine)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "pairs").write_text("in the way")
    refused(arguments, "Cannot write", "out/pairs")
    (tmp_path / "out" / "pairs").unlink()
    completed(arguments, tmp_path)


def test_messages_that_the_broker_refuses_are_sent_again(tmp_path: Path, topics: Topics) -> None:
    write_files(TABLE.slice(0, 60), tmp_path / "in")
    topic = topics.make()
    options = [
        "--engine",
        "local",
        "--trigger",
        "once",
        "--kafka-option",
        "message.timeout.ms=2000",
    ]
    places = ["--events", str(tmp_path / "in"), "--out", topics.broker.address(topic)]
    arguments = command(tmp_path, *places, *options)
    topics.limit(topic, 10)  # bytes of a message
    refused(arguments, "could not be delivered", "sent again")
    topics.limit(topic, 1_000_000)
    write_files(TABLE.slice(60), tmp_path / "in", first=1)
    done = call([*arguments, "--end-on-idle", "1 second"])
    assert done.exit_code == 0, done.stderr
    check_messages(topics.read_all(topic), TABLE)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Give a folder on a file system of its own, which has room for 128 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=128k", "elsinore", str(folder)]
    if shutil.which("mount") is None:
        pytest.skip("needs the command mount")
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_under_the_checkpoint_loses_nothing(tmp_path: Path, small_disk: Path) -> None:
    write_files(TABLE.slice(0, 60), tmp_path / "in")
    (tmp_path / "checkpoint").symlink_to(small_disk)
    arguments = from_folder(tmp_path, "--batch-rows", "20", "--engine", "local")
    without_end = [one for one in arguments if one not in TO_THE_END[2:]]
    assert call(without_end).exit_code == 0
    write_files(TABLE.slice(60), tmp_path / "in", first=1)
    filler = small_disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(4096)):
            pass
    refused(arguments, "No space left on device", "make room")
    before = (small_disk / "elsinore" / "state").read_bytes()
    os.truncate(filler, filler.stat().st_size - len(before))  # less than a state and its draft
    refused(arguments, "No space left on device", "The checkpoint is valid: make room")
    assert not list((small_disk / "elsinore").glob(".*"))
    filler.unlink()
    completed(arguments, tmp_path)


def test_outputs_that_are_read_are_refused(tmp_path: Path) -> None:
    write_files(TABLE, tmp_path / "in")
    source = str(tmp_path / "in")
    out = ["--out", str(tmp_path / "out")]
    rejects = ["--rejects", f"{source}/rejects"]
    refused(command(tmp_path, "--events", source, *out, *rejects), "the same or nested", status=2)
    refused(command(tmp_path, "--events", source, "--out", source), "the same or nested", status=2)
    topic = "kafka:trips@localhost:9092"
    refused(command(tmp_path, "--source", topic, "--out", topic), "read again", status=2)
    other = ["--source", topic, *out, "--rejects", topic]
    refused(command(tmp_path, *other), "Name a folder", status=2)


def test_a_clock_that_jumps_changes_no_result(
    tmp_path: Path, engine: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(TABLE.slice(0, 60), tmp_path / "in")
    arguments = command(
        tmp_path, "--events", str(tmp_path / "in"), "--out", str(tmp_path / "out"), *engine
    )
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 5 * 3600)
    assert call([*arguments, "--trigger", "once"]).exit_code == 0
    write_files(TABLE.slice(60), tmp_path / "in", first=1)
    monkeypatch.setattr(time, "time", lambda: real() - 5 * 3600)
    completed([*arguments, *TO_THE_END], tmp_path)


def test_an_event_far_in_the_future_is_rejected(tmp_path: Path, engine: list[str]) -> None:
    times = TABLE.column("time").to_numpy() + int(time.time()) - 3600
    table = TABLE.set_column(0, "time", pa.array(times))
    future = table.slice(0, 1).set_column(0, "time", pa.array([int(times[0]) + 10**8]))
    write_files(pa.concat_tables([table.slice(0, 20), future, table.slice(20)]), tmp_path / "in")
    rejects = ["--ahead", "1 hour", "--rejects", str(tmp_path / "rejects")]
    completed(from_folder(tmp_path, *rejects, *engine), tmp_path, table)
    (row,) = rejected(tmp_path / "rejects")
    assert "ahead of the clock" in row["reject_reason"]
