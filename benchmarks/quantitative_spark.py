"""Quantitative queries on Spark against a loop written by hand, in processor seconds.

The mean of each episode's measurements per patient, from Parquet files, on two cores in one warm
session. The rival is `groupBy(patient).applyInPandas` with a plain loop. Both run in turn; results
are compared. Processor seconds are those of all processes.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import elsinore.quantitative as qre
from benchmarks.baselines import episodes
from benchmarks.measure import Row
from benchmarks.processes import cpu_seconds
from benchmarks.streamqre import example
from elsinore.datasets import patients

COMMAND = "python -m benchmarks quantitative_spark"
EVENTS = 10_000_000
PATIENTS = 1_000
RUNS = 3
WARM = 100_000  # events of the runs before, which start workers and compile


def main(quick: bool) -> list[Row]:
    """Measure; with `quick` a tenth of the events."""
    count = EVENTS // 10 if quick else EVENTS
    ours, hand = measure(count, RUNS)
    return [
        Row(
            f"{count:,} items, {PATIENTS:,} keys: {ours:.1f} CPU s, by hand {hand:.1f} CPU s",
            f"{ours / hand:.2f} times the CPU s",
            "at most 0.5",
            ours <= 0.5 * hand,
        )
    ]


def measure(count: int, runs: int) -> tuple[float, float]:
    """Return the processor seconds of Elsinore and of the loop.

    Raises AssertionError where results differ.
    """
    from pyspark import cloudpickle  # noqa: PLC0415

    from elsinore.spark.session import local_session  # noqa: PLC0415

    module = example("patients")
    cloudpickle.register_pickle_by_value(module)  # workers lack the examples
    query = qre.iter_last(module.episode()).by("patient")
    with tempfile.TemporaryDirectory() as folder, local_session("local[2]") as spark:
        path = str(Path(folder) / "events.parquet")
        events = patients(count, seed=1, patients=PATIENTS)
        events = events.set_column(1, "type", events["type"].cast(pa.string()))
        pq.write_table(events.filter(events["patient"].is_valid()), path, row_group_size=1_000_000)
        few = str(Path(folder) / "few.parquet")
        pq.write_table(events.filter(events["patient"].is_valid()).slice(0, WARM), few)
        del events
        ways: tuple[Callable[[str], pa.Table], ...] = (
            lambda path: query.run(spark.read.parquet(path)).toArrow(),
            lambda path: episodes.in_pandas(spark.read.parquet(path)).toArrow(),
        )
        for way in ways:
            way(few)
        taken: tuple[list[float], ...] = ([], [])
        for run in range(runs):
            found = []
            for way, seconds in zip(ways, taken, strict=True):
                start = cpu_seconds()
                found.append(way(path))
                seconds.append(cpu_seconds() - start)
            if run == 0:
                _check(*found)
    return statistics.median(taken[0]), statistics.median(taken[1])


def _check(found: pa.Table, expected: pa.Table) -> None:
    by = [("patient", "ascending"), ("time", "ascending")]
    left, right = found.sort_by(by), expected.sort_by(by)
    for name in ("patient", "time"):
        if not pc.all(pc.equal(left[name], right[name].cast(left[name].type))).as_py():
            raise AssertionError(f"{name} differs")
    values = [table["value"].fill_null(np.nan).to_numpy() for table in (left, right)]
    if not len(values[0]) or not np.array_equal(*values, equal_nan=True):
        raise AssertionError("values differ")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--runs", type=int, default=RUNS)
    given = parser.parse_args()
    ours, hand = measure(given.events, given.runs)
    print(f"{ours:.1f} CPU s, by hand {hand:.1f} CPU s: {ours / hand:.2f} times")
