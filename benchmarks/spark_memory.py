"""One group of 50 million shuffled events in Spark's Python workers: their memory is bounded.

All events have one key, so one task orders them all: what exceeds `spark.elsinore.taskMemory`
becomes sorted runs on local disk, which are mapped into memory and merged. What counts is a
worker's own memory (RssAnon), not pages of files that are mapped, which the system takes back when
it needs them. The events alone, as columns, are several times the limit.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from pathlib import Path

from benchmarks.measure import Row
from benchmarks.processes import cpu_seconds, python_workers
from benchmarks.spark import Stream, workload

COMMAND = "python -m benchmarks.spark_memory"
EVENTS = 50_000_000
LIMIT = 800  # MB
EVENT_BYTES = 28  # key, group, time, class and value
PAUSE = 0.05  # seconds between looks at the workers' memory


def main(quick: bool = False) -> list[Row]:
    """Measure; with `quick` a tenth of the events."""
    return [measured(EVENTS // 10 if quick else EVENTS, LIMIT)]


def measured(events: int, limit: int) -> Row:
    """Run one group of shuffled events; no worker's own memory may exceed so many MB."""
    from elsinore.spark.session import local_session  # noqa: PLC0415

    asked = workload(1)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "events.parquet")
        Stream(events=events, keys=1, shuffled=True).write(path)
        with local_session("local[2]") as spark:
            peak = _Peak()
            processor, wall = cpu_seconds(), time.perf_counter()
            with peak, asked.run(spark.read.parquet(path), combine="never") as results:
                rows = results["q0"].toArrow().num_rows
            processor, wall = cpu_seconds() - processor, time.perf_counter() - wall
    if rows != events // 1_000_000:
        raise AssertionError(f"{rows} windows of {events:,} events")
    size = events * EVENT_BYTES / 2**20
    return Row(
        f"{events:,} shuffled events of one group ({size:,.0f} MB as columns), a worker's own "
        f"memory at most; {processor:.1f} CPU s, {wall:.1f} s",
        f"{peak.megabytes:.0f} MB",
        f"at most {limit} MB",
        peak.megabytes <= limit,
    )


class _Peak:
    """The most memory that a worker had for itself while this was entered, looked at often."""

    def __init__(self) -> None:
        self.megabytes = 0.0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._done.wait(PAUSE):
            for worker in python_workers():
                try:
                    status = Path(f"/proc/{worker}/status").read_text()
                except OSError:
                    continue
                own = status.partition("RssAnon:")[2].split(maxsplit=1)
                if own:
                    self.megabytes = max(self.megabytes, int(own[0]) / 1024)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--limit", type=int, default=LIMIT, help="MB")
    given = parser.parse_args()
    found = measured(given.events, given.limit)
    print(f"{found.what}: {found.figure} ({found.target})")
