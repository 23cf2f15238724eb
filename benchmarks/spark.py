"""Spark against what one would write by hand, in processor seconds of the whole process tree.

Trends of `SEQ(A a, B b+, C c)`, COUNT and AVG per key and window, on two cores in one warm session:
from Parquet files that the tasks read, from the same files read by Spark (like any computed
DataFrame), by `groupBy(key).applyInPandas` with a plain loop, by polars and the same loop in one
process, by Elsinore in this process, and Spark's own count of events per key and window, which is
the least that grouping costs. All run in turn; results are compared.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

import elsinore as el
from benchmarks.baselines import by_hand
from benchmarks.measure import Row
from benchmarks.processes import cpu_seconds, forget_python_peaks, python_peak_megabytes

EVENTS = 10_000_000
KEYS = 1_000
RUNS = 3
QUERY = """QUERY {name} RETURN key, COUNT(*) AS trends, AVG(b.v) AS average
PATTERN SEQ({first} a, {many} b+, {last} c) GROUP BY key WITHIN {window} seconds;"""
COMMAND = "python -m benchmarks spark"
ROW_GROUP = 1_000_000


@dataclass(frozen=True, slots=True)
class Taken:
    """Medians of several runs: seconds of processors and of time, and a worker's peak in MB."""

    processor: float
    wall: float
    peak: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """Events a millisecond apart; `share`: how many of them are of the first key."""

    events: int = EVENTS
    keys: int = KEYS
    share: float = 0.0
    shuffled: bool = False

    def write(self, path: str) -> None:
        """Write the events as a Parquet file, a row group at a time."""
        random = np.random.default_rng(7)
        moments = random.permutation(self.events) if self.shuffled else np.arange(self.events)
        writer = None
        for start in range(0, self.events, ROW_GROUP):
            table = self._part(random, moments[start : start + ROW_GROUP])
            writer = writer or pq.ParquetWriter(path, table.schema)
            writer.write_table(table)
        assert writer is not None
        writer.close()

    def _part(self, random: np.random.Generator, moments: NDArray[np.int64]) -> pa.Table:
        count = len(moments)
        key = random.integers(0, self.keys, count)
        if self.share:
            key[random.random(count) < self.share] = 0
        return pa.table(
            {
                "time": pa.array(moments * 1_000).cast(pa.timestamp("us", "UTC")),
                "type": pa.array(np.array(list("ABC"))[random.integers(0, 3, count)]),
                "key": key,
                "v": random.random(count),
            }
        )


def workload(queries: int) -> el.Workload:
    """Return one query, or many that differ in their types."""
    return el.Workload.parse(text_of(queries))


def text_of(queries: int) -> str:
    """Return the queries of a workload as text."""
    names = ["ABC", "ACB", "BAC", "BCA", "CAB", "CBA"]
    texts = [
        QUERY.format(
            name=f"q{n}",
            window=by_hand.WINDOW_SECONDS,
            **dict(zip(PARTS, names[n % 6], strict=True)),
        )
        for n in range(queries)
    ]
    return "\n".join(texts)


PARTS = ("first", "many", "last")


def main(quick: bool) -> list[Row]:
    """Measure; with `quick` a tenth of the events."""
    count = EVENTS // 10 if quick else EVENTS
    all_ways = ("files", "frame", "by hand", "polars", "local", "floor")
    one = measured(Stream(events=count), 1, all_ways)
    fifty = measured(Stream(events=count), 50, ("files",))
    small = measured(Stream(events=100_000), 1, ("files", "frame", "by hand"))
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


def measured(
    stream: Stream,
    queries: int,
    names: Sequence[str],
    runs: int = RUNS,
    warm: Stream | None = None,
) -> dict[str, Taken]:
    """Return what each way takes, in turn in one session.

    The first run of each way, over the stream `warm` if there is one, is not counted; its results
    are compared. Raises AssertionError where they differ: those of all queries, and of the first by
    hand.
    """
    from elsinore.spark.session import local_session  # noqa: PLC0415

    asked = workload(queries)
    with tempfile.TemporaryDirectory() as folder, local_session("local[2]") as spark:
        path = str(Path(folder) / "events.parquet")
        (warm or stream).write(path)

        def ours(scan: Any) -> Callable[[], list[pa.Table]]:
            def run() -> list[pa.Table]:
                with asked.run(spark.read.parquet(path), scan=scan) as results:
                    return [found.toArrow() for found in results.values()]

            return run

        def here() -> list[pa.Table]:
            return list(asked.run(pq.read_table(path)).tables.values())

        ways: dict[str, Callable[[], list[pa.Table]]] = {
            "files": ours("arrow"),
            "frame": ours("spark"),
            "by hand": lambda: [by_hand.in_pandas(spark.read.parquet(path)).toArrow()],
            "polars": lambda: [by_hand.in_polars(path)],
            "local": here,
            "floor": lambda: [by_hand.events_per_window(spark.read.parquet(path)).toArrow()],
        }
        _compare({name: ways[name]() for name in names if name != "floor"})  # warms them, too
        if "floor" in names:
            ways["floor"]()
        if warm is not None:
            stream.write(path)
        taken: dict[str, list[tuple[float, float, float]]] = {name: [] for name in names}
        for _ in range(runs):
            for name in names:
                forget_python_peaks()
                processor, wall = cpu_seconds(), time.perf_counter()
                ways[name]()
                wall = time.perf_counter() - wall
                taken[name].append((cpu_seconds() - processor, wall, python_peak_megabytes()))
    return {
        name: Taken(*(statistics.median(one) for one in zip(*several, strict=True)))
        for name, several in taken.items()
    }


def _compare(results: Mapping[str, list[pa.Table]]) -> None:
    """Compare the results of all ways with those of the first."""
    expected: list[pa.Table] = []
    for tables in results.values():
        told = [_of_windows(table) for table in tables]
        for one, other in zip(told, expected, strict=False):
            _check(one, other)
        expected = expected or told


def _of_windows(result: pa.Table) -> pa.Table:
    """Return a result with its windows by number, as the loop has them."""
    if "window_start" not in result.column_names:
        return result
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
    stream = Stream(
        events=given.events, keys=given.keys, share=given.share, shuffled=given.shuffled
    )
    for name, one in measured(stream, given.queries, given.ways, given.runs).items():
        peak = f", {one.peak:.0f} MB in a worker" if one.peak else ""
        print(f"{name}: {one.processor:.1f} CPU s, {one.wall:.1f} s{peak}")


if __name__ == "__main__":
    table()
