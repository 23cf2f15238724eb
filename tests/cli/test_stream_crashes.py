"""`elsinore stream`, killed at drawn moments and started again: each result once, as in batch."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.streams import (
    TO_THE_END,
    check_files,
    check_messages,
    command,
    crash,
    events,
    write_files,
)

if TYPE_CHECKING:
    from support.topics import Topics

CRASHES = int(os.environ.get("ELSINORE_CRASHES", "6"))
SPARK_CRASHES = int(os.environ.get("ELSINORE_CRASHES", "1"))  # each start takes a JVM some seconds
LOCAL = ("--engine", "local", "--batch-rows", "10", *TO_THE_END)

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs process groups")


def test_files_of_the_local_engine(tmp_path: Path) -> None:
    table = events()
    write_files(table, tmp_path / "in", 4)
    out = tmp_path / "out"
    arguments = command(tmp_path, "--events", str(tmp_path / "in"), "--out", str(out), *LOCAL)
    crash(arguments, tmp_path, kills=CRASHES, seed=1, batch=0.1)
    check_files(out, table)


def test_messages_of_the_local_engine(tmp_path: Path, topics: Topics) -> None:
    table = events(seed=2)
    write_files(table, tmp_path / "in", 4)
    topic = topics.make()
    places = ("--events", str(tmp_path / "in"), "--out", topics.broker.address(topic))
    arguments = command(tmp_path, *places, *LOCAL)
    crash(arguments, tmp_path, kills=CRASHES, seed=2, batch=0.1)
    check_messages(topics.read_all(topic), table)


def test_files_of_spark(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    table = events(30 * (2 * SPARK_CRASHES + 1), seed=3)
    write_files(table, tmp_path / "in", 2)
    out = tmp_path / "out"
    places = ("--events", str(tmp_path / "in"), "--out", str(out))
    spark = ("--engine", "spark", "--master", "local[2]", "--buckets", "2", "--batch-rows", "30")
    arguments = command(tmp_path, *places, *spark, *TO_THE_END)
    crash(arguments, tmp_path, kills=SPARK_CRASHES, seed=3, batch=2.0, least=1)
    check_files(out, table)
