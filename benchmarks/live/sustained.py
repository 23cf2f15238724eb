"""Streams that run for minutes at a rate, while another process adds events."""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.live.events import workload
from benchmarks.live.feed import feeding
from benchmarks.live.kafka import topic_place
from benchmarks.live.marks import WARM_UP, Marks
from benchmarks.measure import Row
from elsinore.connectors.checkpoint import Checkpoint
from elsinore.connectors.contract import Limit
from elsinore.connectors.files_sink import FilesSink
from elsinore.connectors.places import FolderPlace, KafkaPlace
from elsinore.local.stream import LocalStream, Pace
from elsinore.runtime.live import StreamProgress, options_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVERY = 2.0  # seconds between micro-batches
BURST = 0.5  # seconds of events in a file
LATENESS = "1 second"
MOST = 4_000_000  # events of a micro-batch
CONSTANT = 1.25  # times as much lag or state in the last third as in the second one, at most


@dataclass(slots=True)
class Course:
    """Lag and state after each micro-batch of a stream that is fed at a rate."""

    rate: int
    begun: float = field(default_factory=time.time)
    marks: Marks = field(default_factory=Marks)
    lags: list[float] = field(default_factory=list)
    states: list[int] = field(default_factory=list)
    done: int = 0

    def note(self, progress: StreamProgress) -> None:
        """Note a micro-batch. The lag is in seconds of events that should have come by now."""
        self.marks.add(progress.events)
        self.done += progress.events
        self.lags.append(time.time() - self.begun - self.done / self.rate)
        self.states.append(progress.state_bytes)

    def row(self, what: str) -> Row:
        """Return the row of the results."""
        third = len(self.lags) // 3
        target = f"{self.rate:,} events/s, constant"
        if not third or len(self.marks.events) <= WARM_UP:
            figure = f"too few micro-batches to tell: {len(self.lags)}; {self.done:,} events"
            return Row(what, figure, target, False)
        lags = [statistics.median(self.lags[n * third : (n + 1) * third]) for n in (1, 2)]
        states = [statistics.median(self.states[n * third : (n + 1) * third]) for n in (1, 2)]
        constant = states[1] <= CONSTANT * states[0] and lags[1] <= CONSTANT * lags[0] + BURST
        figure = (
            f"{self.marks.rate()}; lag {lags[0]:.1f} s, then {lags[1]:.1f} s; "
            f"state {states[0] / 1e6:.2f} MB, then {states[1] / 1e6:.2f} MB"
        )
        kept_up = self.marks.rate().per_second >= 0.95 * self.rate
        return Row(what, figure, target, constant and kept_up)


def sustained(spark: SparkSession | None, minutes: float) -> list[Row]:
    """Measure a folder and a topic of Kafka, on Spark or without it in this process."""
    rows = []
    where = "in this process" if spark is None else "on Spark"
    of_folder, of_kafka = (800_000, 200_000) if spark is None else (400_000, 150_000)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "events"
        folder.mkdir()
        course = _course(FolderPlace(folder=str(folder)), str(folder), of_folder, minutes, spark)
        rows.append(course.row(f"{minutes:g} minutes from a folder {where}"))
    with topic_place() as topic:
        course = _course(topic, str(topic.address), of_kafka, minutes, spark)
        rows.append(course.row(f"{minutes:g} minutes from Kafka {where}"))
    return rows


def _course(
    place: FolderPlace | KafkaPlace,
    target: str,
    rate: int,
    minutes: float,
    spark: SparkSession | None,
) -> Course:
    options = {"time_unit": "us"} if isinstance(place, KafkaPlace) else {}
    with (
        tempfile.TemporaryDirectory() as name,
        feeding(target, rate=rate, seconds=60 * minutes, every=BURST),
    ):
        checkpoint, sink = Path(name) / "checkpoint", FilesSink(Path(name) / "out")
        if isinstance(place, FolderPlace):
            while not any(Path(target).glob("[!.]*")):  # whose schema is that of the events
                time.sleep(0.01)
        course = Course(rate)
        if spark is None:
            stream = LocalStream(
                workload().live_planner(),
                place,
                options_of(lateness=LATENESS, **options),
                Checkpoint(checkpoint),
                sink,
                pace=Pace(every=EVERY, limit=Limit(rows=MOST)),
            )
            timer = threading.Timer(60 * minutes, stream.stop)
            timer.start()
            stream.run(course.note)
            timer.cancel()
        else:
            running = (
                workload()
                .stream(place, lateness=LATENESS, batch_rows=MOST, spark=spark, **options)
                .start(
                    sink=sink,
                    checkpoint=checkpoint,
                    trigger={"processingTime": f"{EVERY} seconds"},
                    on_progress=course.note,
                )
            )
            running.await_termination(60 * minutes)
            running.stop()
    return course
