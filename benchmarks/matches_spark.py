"""Matches on Spark against a loop written by hand, in processor seconds of all processes.

`SEQ(A a, B+ b, C c)` per key under SKIP TILL NEXT MATCH, from Parquet files, on two cores in one
warm session. The rival is `groupBy(key).applyInPandas` with one pass in plain Python over the
events of each key. Both run in turn; results are compared.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.baselines import match_pandas
from benchmarks.in_process import KEYS, events
from benchmarks.matches import text
from benchmarks.measure import Row
from benchmarks.processes import cpu_seconds
from elsinore import Workload

COMMAND = "python -m benchmarks matches_spark"
EVENTS = 10_000_000
RUNS = 3
WITHIN = 60  # seconds


def main(quick: bool) -> list[Row]:
    """Measure; with `quick` a tenth of the events."""
    count = EVENTS // 10 if quick else EVENTS
    ours, hand = measure(count, RUNS)
    return [
        Row(
            f"{count:,} events, {KEYS:,} keys: {ours:.1f} CPU s, by hand {hand:.1f} CPU s",
            f"{ours / hand:.2f} times the CPU s",
            "at most 0.5",
            ours <= 0.5 * hand,
        )
    ]


def measure(count: int, runs: int) -> tuple[float, float]:
    """Return the processor seconds of Elsinore and of the loop.

    Raises AssertionError where results differ.
    """
    from elsinore.spark.session import local_session  # noqa: PLC0415

    workload = Workload.parse(text("next", within=WITHIN))
    with tempfile.TemporaryDirectory() as folder, local_session("local[2]") as spark:
        path = str(Path(folder) / "events.parquet")
        pq.write_table(events(count), path, row_group_size=1_000_000)

        def ours() -> pa.Table:
            return workload.run(spark.read.parquet(path))["q"].toArrow()

        def by_hand() -> pa.Table:
            return match_pandas.in_pandas(spark.read.parquet(path), WITHIN * 1_000_000).toArrow()

        ways = (ours, by_hand)
        _check(*(way() for way in ways))
        taken: tuple[list[float], ...] = ([], [])
        for _ in range(runs):
            for way, seconds in zip(ways, taken, strict=True):
                start = cpu_seconds()
                way()
                seconds.append(cpu_seconds() - start)
    return statistics.median(taken[0]), statistics.median(taken[1])


def _check(found: pa.Table, expected: pa.Table) -> None:
    names = expected.column_names
    left, right = (
        np.stack([np.asarray(table[name], dtype=np.float64) for name in names])
        for table in (found, expected)
    )
    if left.shape != right.shape or left.shape[1] == 0:
        raise AssertionError(f"{left.shape[1]} matches instead of {right.shape[1]}")
    left, right = (rows[:, np.lexsort(rows)] for rows in (left, right))
    if not np.array_equal(left, right):
        raise AssertionError("the engine and the loop disagree on a match")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--runs", type=int, default=RUNS)
    given = parser.parse_args()
    ours, hand = measure(given.events, given.runs)
    print(f"{ours:.1f} CPU s, by hand {hand:.1f} CPU s: {ours / hand:.2f} times")
