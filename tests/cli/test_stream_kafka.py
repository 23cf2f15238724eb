"""`elsinore stream` from Kafka to files and to Kafka, on both engines."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from typer.testing import CliRunner

from elsinore.cli.app import app
from support.streams import TO_THE_END, check_files, check_messages, command, events

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from support.topics import Message, Topics

PARTITIONS = 3
FIELDS = {"time": "long", "type": "string", "g": "long", "k": "long", "v": "double", "seq": "long"}
AVRO = {
    "type": "record",
    "name": "Event",
    "fields": [{"name": name, "type": kind} for name, kind in FIELDS.items()],
}


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


def as_json(event: dict[str, Any]) -> bytes:
    return json.dumps(event).encode()


def as_avro(event: dict[str, Any]) -> bytes:
    fastavro = pytest.importorskip("fastavro")
    file = io.BytesIO()
    fastavro.schemaless_writer(file, AVRO, event)
    return file.getvalue()


def messages(table: pa.Table, encode: Any) -> list[Message]:
    """Return events as messages, in turn in each partition."""
    rows = table.to_pylist()
    return [(n % PARTITIONS, None, encode(row)) for n, row in enumerate(rows)]


def run(arguments: list[str]) -> str:
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.stderr
    return done.stderr


def test_json_becomes_files_and_malformed_messages_are_rejected(
    tmp_path: Path, topics: Topics, engine: list[str]
) -> None:
    table = events(300)
    topic = topics.make(PARTITIONS)
    good = messages(table, as_json)
    topics.fill(topic, good[:150])
    topics.fill(topic, [(1, None, b"{"), (2, None, b"\xff")])
    topics.fill(topic, [(0, None, None)])  # a tombstone is no event
    places = ["--source", topics.broker.address(topic), "--out", str(tmp_path / "out")]
    rejects = ["--rejects", str(tmp_path / "rejects")]
    arguments = command(tmp_path, *places, *rejects, "--batch-rows", "150", *engine)
    said = run([*arguments, "--trigger", "once"])
    assert "were inferred: time BIGINT, type STRING" in said
    # The first run has ended, and none of its windows; the columns are those that it inferred.
    topics.fill(topic, [(2, None, b'{"time": "soon"}'), *good[150:]])
    run([*arguments, *TO_THE_END])
    check_files(tmp_path / "out", table)
    rows = ds.dataset(tmp_path / "rejects", format="json").to_table().to_pylist()
    assert sorted((row["partition"], row["offset"]) for row in rows) == [(1, 50), (2, 50), (2, 51)]
    assert {row["value"] for row in rows} == {"{", '{"time": "soon"}', "\\xff"}


def test_avro_becomes_messages(tmp_path: Path, topics: Topics, engine: list[str]) -> None:
    table = events(300, seed=3)
    source, target = topics.make(PARTITIONS), topics.make()
    topics.fill(source, messages(table, as_avro))
    (tmp_path / "event.avsc").write_text(json.dumps(AVRO))
    places = ["--source", topics.broker.address(source), "--out", topics.broker.address(target)]
    avro = ["--messages", "avro", "--schema", str(tmp_path / "event.avsc")]
    run(command(tmp_path, *places, *avro, "--batch-rows", "150", *engine, *TO_THE_END))
    check_messages(topics.read_all(target), table)
