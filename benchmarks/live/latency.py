"""The latency of a result, from the watermark to the sink."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from benchmarks.live.events import workload
from benchmarks.live.feed import feeding
from elsinore.connectors.checkpoint import Checkpoint
from elsinore.connectors.places import FolderPlace
from elsinore.connectors.targets import EachBatch
from elsinore.local.stream import LocalStream, Pace
from elsinore.runtime.live import options_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RATE = 20_000  # events a second
FILE = 0.1  # seconds of events in a file
WINDOW = 1  # second
SECONDS = 30.0
WARM_UP = 10  # seconds that do not count
IDLE = 5.0  # seconds without files, after which the stream ends


def latencies(spark: SparkSession | None, *, every: float) -> float:
    """Return the median in seconds, of windows after the warm-up.

    The watermark passes the end of a window when a file of events that are not before it can be
    seen: its modification time, as files have their last event's time. every: seconds from one
    micro-batch to the next.
    """
    with tempfile.TemporaryDirectory() as name:
        folder, checkpoint = Path(name) / "events", Path(name) / "checkpoint"
        folder.mkdir()
        written: dict[int, float] = {}  # window's end in microseconds -> when its rows were written

        def note(results: dict[str, pa.Table], batch: int) -> None:  # noqa: ARG001 - of the sink
            for table in results.values():
                for end in table.column("window_end").cast(pa.int64()).unique().to_pylist():
                    written.setdefault(end, time.time())

        with feeding(str(folder), rate=RATE, seconds=SECONDS, every=FILE, clock=True):
            while not any(folder.glob("[!.]*")):
                time.sleep(0.01)
            place = FolderPlace(folder=str(folder))
            if spark is None:
                _in_process(place, checkpoint, note, every)
            else:
                _on_spark(place, checkpoint, note, every, spark)
        passed = _passed(folder)
    late = sorted(passed)[WARM_UP:]
    return statistics.median(written[end] - passed[end] for end in late if end in written)


def _passed(folder: Path) -> dict[int, float]:
    """Return when a file with events after the end of each window could be seen."""
    import pyarrow.parquet as pq  # noqa: PLC0415

    passed: dict[int, float] = {}
    for path in sorted(folder.glob("[!.]*")):
        last = pq.read_table(path, columns=["time"])["time"].cast(pa.int64())[-1].as_py()
        end = last // (WINDOW * 1_000_000) * (WINDOW * 1_000_000)
        passed.setdefault(end, path.stat().st_ctime)
    return passed


def _in_process(place: FolderPlace, checkpoint: Path, note: object, every: float) -> None:
    LocalStream(
        workload(window=WINDOW).live_planner(),
        place,
        options_of(),
        Checkpoint(checkpoint),
        EachBatch(note),  # type: ignore[arg-type]
        pace=Pace(every=every, end_on_idle=IDLE),
    ).run()


def _on_spark(
    place: FolderPlace, checkpoint: Path, note: object, every: float, spark: SparkSession
) -> None:
    stream = workload(window=WINDOW).stream(place, end_on_idle=f"{IDLE} seconds", spark=spark)
    run = stream.start(
        foreach_batch=note,  # type: ignore[arg-type]
        checkpoint=checkpoint,
        trigger={"processingTime": f"{every} seconds"},
    )
    run.await_termination()
