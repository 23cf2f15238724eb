"""One group of 50 million shuffled events in Spark's Python workers: their memory is bounded.

All events have one key and one window, so one task must put them all in order: whatever exceeds
`spark.elsinore.taskMemory` becomes sorted runs on local disk, which are merged. The figure is the
highest peak memory of any worker (VmHWM), including the interpreter, libraries and pages of mapped
files. The result is compared with the number of triples counted here.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.parquet as pq

import elsinore as el
from benchmarks.measure import Row
from benchmarks.processes import cpu_seconds, forget_python_peaks, python_peak_megabytes
from benchmarks.spark import Stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COMMAND = "python -m benchmarks spark_memory"
EVENTS = (3_000_000, 10_000_000, 50_000_000)
GROWTH = 1.25  # more than this from the fewest events on would mean that they are kept
EVENT_BYTES = 28  # key, group, time, class and value
QUERY = """QUERY triples RETURN key, COUNT(*) AS triples, MAX(b.v) PATTERN SEQ(A a, B b, C c)
GROUP BY key;"""


@dataclass(frozen=True, slots=True)
class Taken:
    """What a run took: a worker's peak in MB, processor seconds, seconds, MB on disk."""

    peak: float
    processor: float
    wall: float
    spilled: float


def main(quick: bool = False) -> list[Row]:
    """Measure; with `quick` a tenth of the events."""
    counts = [count // 10 if quick else count for count in EVENTS]
    found = list(measured(counts))
    growth = found[-1].peak / found[0].peak
    text = "; ".join(map(_told, counts, found))
    return [
        Row(
            f"one group of shuffled events, a worker's peak ({text})",
            f"{growth:.2f} times that of {counts[0]:,} events",
            f"at most {GROWTH}",
            growth <= GROWTH,
        )
    ]


def measured(counts: Sequence[int]) -> Iterator[Taken]:
    """Run one group of shuffled events, so many in turn, in one session; yield what each takes."""
    from elsinore.spark.session import local_session  # noqa: PLC0415

    with local_session("local[2]") as spark:
        for count in counts:
            yield _measured(spark, count)


def _measured(spark: SparkSession, events: int) -> Taken:
    asked = el.Workload.parse(QUERY)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "events.parquet")
        Stream(events=events, keys=1, shuffled=True).write(path)
        forget_python_peaks()
        processor, wall = cpu_seconds(), time.perf_counter()
        with asked.run(spark.read.parquet(path), combine="never") as results:
            (found,) = results["triples"].to_arrow().column("triples").to_pylist()
            spilled = results.statistics[0].spilled_bytes
        processor, wall = cpu_seconds() - processor, time.perf_counter() - wall
        peak = python_peak_megabytes()
        expected = triples(path, events)
    if abs(found - expected) > 1e-9 * expected:
        raise AssertionError(f"{found} triples and not {expected}")
    return Taken(peak, processor, wall, spilled / 1e6)


def triples(path: str, events: int) -> float:
    """Return how many triples of an A, a B and a C in this order there are."""
    kinds = np.zeros(events, np.int8)
    for batch in pq.ParquetFile(path).iter_batches(columns=["time", "type"]):
        codes = batch.column("type").dictionary_encode()
        numbers = np.array(["ABC".index(name) for name in codes.dictionary.to_pylist()], np.int8)
        moments = batch.column("time").cast("int64").to_numpy() // 1_000
        kinds[moments] = numbers[codes.indices.to_numpy()]
    before = np.cumsum(kinds == 0, dtype=np.float64)  # A's, then pairs of an A and a B
    before = np.cumsum(before * (kinds == 1))
    return float(before[kinds == 2].sum())


def _told(count: int, taken: Taken) -> str:
    size = count * EVENT_BYTES / 1e6
    return (
        f"{count:,} events, {size:,.0f} MB as columns: {taken.peak:.0f} MB, "
        f"{taken.spilled:,.0f} MB on disk, {taken.processor:.1f} CPU s, {taken.wall:.1f} s"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, nargs="+", default=EVENTS)
    given = parser.parse_args()
    for count, taken in zip(given.events, measured(given.events), strict=True):
        print(_told(count, taken), flush=True)
