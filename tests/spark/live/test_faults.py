"""Workers that are killed, and sinks that fail, in the middle of a micro-batch on Spark."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

from elsinore import Workload
from elsinore.spark.live import stream as stream_module
from elsinore.spark.live.processor import BucketProcessor
from elsinore.spark.live.source import ElsinoreSource, PackingReader
from support.streams import LATENESS, TEXT, check_files, events, write_files


def classes_that_die(marker: Path) -> dict[str, type]:
    """Return classes that work as those of a live stream, and die once.

    They are defined in a function so that workers receive them with their code.
    """

    def die(marker: Path, rows: Iterator[Any]) -> Iterator[Any]:
        """Yield rows; the first process of all that has yielded one kills itself."""
        for row in rows:
            yield row
            try:
                os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                continue
            os.kill(os.getpid(), signal.SIGKILL)

    class DyingReader(PackingReader):
        def read(self, partition: Any) -> Iterator[Any]:
            return die(marker, super().read(partition))

    class DyingSource(ElsinoreSource):
        def streamReader(self, schema: Any) -> PackingReader:  # noqa: N802
            return DyingReader(self.options["task"])

    class DyingProcessor(BucketProcessor):
        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:  # noqa: N802, N803
            return die(marker, super().handleInputRows(key, rows, timerValues))

    return {"ElsinoreSource": DyingSource, "BucketProcessor": DyingProcessor}


@pytest.mark.parametrize("name", ["ElsinoreSource", "BucketProcessor"])
def test_a_worker_that_is_killed_in_a_micro_batch_is_replaced(
    name: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = events(200, seconds=30)
    write_files(table, tmp_path / "in", 2)
    monkeypatch.setattr(stream_module, name, classes_that_die(tmp_path / "died")[name])
    planned = Workload.parse(TEXT).stream(
        tmp_path / "in",
        spark=spark,
        lateness=LATENESS,
        order_by="seq",
        buckets=2,
        batch_rows=100,
        end_on_idle=1,
    )
    run = planned.start(
        tmp_path / "out", checkpoint=tmp_path / "checkpoint", trigger={"availableNow": True}
    )
    assert run.await_termination(600)
    assert (tmp_path / "died").exists()
    check_files(tmp_path / "out", table)


def test_a_sink_that_fails_with_a_long_java_error_ends_the_stream_with_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Spark's search for interruptions in such a text would overflow the stack of its thread."""
    text = (
        "py4j.protocol.Py4JJavaError: An error occurred while calling o1.collect" + " at x" * 20_000
    )

    def fail(results: object, batch: int) -> None:
        raise OSError(text)

    write_files(events(200, seconds=30), tmp_path / "in", 2)
    run = (
        Workload.parse(TEXT)
        .stream(tmp_path / "in", spark=spark, lateness=LATENESS, order_by="seq", end_on_idle=1)
        .start(
            foreach_batch=fail,
            checkpoint=tmp_path / "checkpoint",
            trigger={"availableNow": True},
        )
    )
    with pytest.raises(OSError, match="An error occurred while calling o1"):
        run.await_termination(600)
    seen = run.query.exception()
    assert seen is not None
    assert "StackOverflowError" not in str(seen)
    assert len(str(seen)) < 10_000
