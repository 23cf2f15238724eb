"""Spark against what one would write by hand, in processor seconds of the whole process tree.

Trends of `SEQ(A a, B b+, C c)`, COUNT and AVG per key and window, on two cores in one warm session:
from Parquet files that the tasks read, from the same read by Spark (as any computed data frame is),
by `groupBy(key).applyInPandas` with a plain loop, by polars and the same loop in one process, in
this process, and Spark's own count of events per key and window, the least that grouping costs.
All are taken in turn and the results compared.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import elsinore as el
from benchmarks.baselines import by_hand
from benchmarks.measure import Row
from benchmarks.processes import cpu_seconds, python_peak_megabytes

EVENTS = 10_000_000
KEYS = 1_000
RUNS = 3
QUERY = """QUERY {name} RETURN key, COUNT(*) AS trends, AVG(b.v) AS average
PATTERN SEQ({first} a, {many} b+, {last} c) GROUP BY key WITHIN {window} seconds;"""
COMMAND = "python -m benchmarks spark"
ROW_GROUP = 1_000_000


@dataclass(frozen=True, slots=True)
class Taken:
    """Medians of several runs."""

    processor: float
    wall: float


def events(count: int, keys: int, *, share: float = 0.0, shuffled: bool = False) -> pa.Table:
    """Return events a millisecond apart; `share`: how many are of the first key."""
    random = np.random.default_rng(7)
    key = random.integers(0, keys, count)
    if share:
        key[random.random(count) < share] = 0
    table = pa.table(
        {
            "time": pa.array(np.arange(count) * 1_000).cast(pa.timestamp("us", "UTC")),
            "type": pa.array(np.array(list("ABC"))[random.integers(0, 3, count)]),
            "key": key,
            "v": random.random(count),
        }
    )
    return table.take(random.permutation(count)) if shuffled else table


def workload(queries: int) -> el.Workload:
    """Return one query, or many that differ in their types."""
    names = ["ABC", "ACB", "BAC", "BCA", "CAB", "CBA"]
    texts = [
        QUERY.format(
            name=f"q{n}",
            window=by_hand.WINDOW_SECONDS,
            **dict(zip(PARTS, names[n % 6], strict=True)),
        )
        for n in range(queries)
    ]
    return el.Workload.parse("\n".join(texts))


PARTS = ("first", "many", "last")


def main(quick: bool) -> list[Row]:
    """Measure; with `quick` a tenth of the events."""
    count = EVENTS // 10 if quick else EVENTS
    one = _measured(count, KEYS, 1, ("files", "frame", "by hand", "polars", "local", "floor"))
    fifty = _measured(count, KEYS, 50, ("files",))
    small = _measured(100_000, KEYS, 1, ("files", "frame", "by hand"))
    files, by_frame, hand = one["files"], one["frame"], one["by hand"]
    shown = ", ".join(f"{n} {t.processor:.1f} CPU s / {t.wall:.1f} s" for n, t in one.items())
    speed = count / files.wall / 1e6
    return [
        Row(
            f"{count:,} events, {KEYS:,} keys: {shown}; files against by hand",
            f"{files.processor / hand.processor:.2f} times the CPU s",
            "at most 0.4",
            files.processor <= 0.4 * hand.processor,
        ),
        Row(
            "the same, any data frame against by hand",
            f"{by_frame.processor / hand.processor:.2f} times the CPU s",
            "at most 0.75",
            by_frame.processor <= 0.75 * hand.processor,
        ),
        Row("events a second from files", f"{speed:.1f} M", "at least 4 M", speed >= 4),
        Row(
            "50 queries instead of one, from files",
            f"{fifty['files'].processor / files.processor:.2f} times the CPU s",
            "at most 2",
            fifty["files"].processor <= 2 * files.processor,
        ),
        Row(
            f"100,000 events, warm: files {small['files'].wall:.2f} s, frame "
            f"{small['frame'].wall:.2f} s, by hand {small['by hand'].wall:.2f} s",
            f"{small['files'].wall / small['by hand'].wall:.2f} times the time",
            "at most 1.3",
            small["files"].wall <= 1.3 * small["by hand"].wall,
        ),
    ]


def _measured(
    count: int,
    keys: int,
    queries: int,
    names: tuple[str, ...],
    *,
    share: float = 0.0,
    shuffled: bool = False,
    runs: int = RUNS,
) -> dict[str, Taken]:
    """Return what each way takes; raises AssertionError where results differ."""
    from elsinore.spark.session import local_session  # noqa: PLC0415

    asked = workload(queries)
    with tempfile.TemporaryDirectory() as folder, local_session("local[2]") as spark:
        path = str(Path(folder) / "events.parquet")
        pq.write_table(
            events(count, keys, share=share, shuffled=shuffled), path, row_group_size=ROW_GROUP
        )

        def ours(scan: Any) -> Callable[[], pa.Table]:
            def run() -> pa.Table:
                with asked.run(spark.read.parquet(path), scan=scan) as results:
                    tables = [found.toArrow() for found in results.values()]
                return _of_windows(tables[0])

            return run

        ways: dict[str, Callable[[], pa.Table]] = {
            "files": ours("arrow"),
            "frame": ours("spark"),
            "by hand": lambda: by_hand.in_pandas(spark.read.parquet(path)).toArrow(),
            "polars": lambda: by_hand.in_polars(path),
            "local": lambda: _of_windows(asked.run(pq.read_table(path))["q0"]),
            "floor": lambda: by_hand.events_per_window(spark.read.parquet(path)).toArrow(),
        }
        first = {name: ways[name]() for name in names}  # warm, and compared
        for name in names:
            if name != "floor":
                _check(first[name], first[names[0]])
        del first
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
        for _ in range(runs):
            for name in names:
                processor, wall = cpu_seconds(), time.perf_counter()
                ways[name]()
                taken[name].append((cpu_seconds() - processor, time.perf_counter() - wall))
        print(f"peak memory of a Python worker: {python_peak_megabytes():.0f} MB")
    return {
        name: Taken(*(statistics.median(one) for one in zip(*pairs, strict=True)))
        for name, pairs in taken.items()
    }


def _of_windows(result: pa.Table) -> pa.Table:
    """Return a result with its windows by number, as the loop has them."""
    starts = result.column("window_start").cast(pa.int64()).to_numpy()
    windows = pa.array(starts // by_hand.WINDOW)
    return pa.table(
        {"key": result.column("key"), "window": windows}
        | {name: result.column(name) for name in ("trends", "average")}
    )


def _check(found: pa.Table, expected: pa.Table) -> None:
    """Compare results in any order, numbers to nine digits; beyond doubles nothing is said."""
    by = [("key", "ascending"), ("window", "ascending")]
    one, other = found.sort_by(by), expected.sort_by(by)
    for name in ("key", "window", "trends", "average"):
        a, b = one.column(name).to_numpy(), other.column(name).to_numpy()
        told = np.isfinite(b) & np.isfinite(a) if name == "average" else np.ones(len(b), bool)
        if len(a) != len(b) or not np.allclose(a[told], b[told], rtol=1e-9, equal_nan=True):
            raise AssertionError(f"{name} differs")


def table() -> None:
    """Measure one point of the table in RESULTS.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--keys", type=int, default=KEYS)
    parser.add_argument("--queries", type=int, default=1)
    parser.add_argument("--share", type=float, default=0.0, help="of the first key")
    parser.add_argument("--shuffled", action="store_true", help="files not ordered by time")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("ways", nargs="*", default=["files", "frame", "by hand", "floor"])
    given = parser.parse_args()
    taken = _measured(
        given.events,
        given.keys,
        given.queries,
        tuple(given.ways),
        share=given.share,
        shuffled=given.shuffled,
        runs=given.runs,
    )
    for name, one in taken.items():
        print(f"{name}: {one.processor:.1f} CPU s, {one.wall:.1f} s")


if __name__ == "__main__":
    table()
