"""Peak memory of Spark's Python workers while one group grows: it does not grow with the group.

All events have the same key, so one operator in one task sees them all. Sums have all of them in
one window and keep none. In fine mode, where events are compared with their neighbours, the events
of open windows are kept: here 10,000, however long the stream.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measure import Row
from benchmarks.processes import python_peak_megabytes

COMMAND = "python -m benchmarks memory"
QUERIES = {
    "coarse": """QUERY q RETURN COUNT(*), AVG(b.v), LOG2(COUNT(*))
PATTERN SEQ(A a, B b+, C c) GROUP BY key;""",
    "fine": """QUERY q RETURN COUNT(*), AVG(b.v), LOG2(COUNT(*))
PATTERN SEQ(A a, B b+, C c) WHERE b[i].v >= b[i-1].v GROUP BY key WITHIN 10 seconds;
QUERY r RETURN COUNT(*), MAX(b.v) PATTERN SEQ(C c, B b+) WHERE b[i].v >= b[i-1].v
GROUP BY key WITHIN 10 seconds SLIDE 5 seconds;""",
}
GROWTH = 1.10  # more than this from 1 M to 10 M events would mean that events are kept


def main(quick: bool) -> list[Row]:
    """Measure in a process of its own for each size."""
    sizes = (100_000, 1_000_000) if quick else (1_000_000, 10_000_000)
    return [_row(granularity, sizes) for granularity in QUERIES]


def _row(granularity: str, sizes: tuple[int, int]) -> Row:
    peaks = []
    for size in sizes:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.memory", granularity, str(size)],
            check=True,
            capture_output=True,
            text=True,
        )
        peaks.append(float(done.stdout.split()[-1]))
    growth = peaks[1] / peaks[0]
    told = f"{peaks[0]:.0f} MB at {sizes[0]:,} events, {peaks[1]:.0f} MB at {sizes[1]:,}"
    return Row(
        f"peak memory of a Python worker, one group, {granularity}: {told}",
        f"{growth:.2f} times",
        f"at most {GROWTH}",
        growth <= GROWTH,
    )


def measure(granularity: str, size: int) -> float:
    """Run one group of `size` events through Spark; return the workers' peak memory in MB."""
    from elsinore.language import parse_workload  # noqa: PLC0415
    from elsinore.operators import plan  # noqa: PLC0415
    from elsinore.runtime.options import RunOptions  # noqa: PLC0415
    from elsinore.spark.driver import run  # noqa: PLC0415
    from elsinore.spark.session import local_session  # noqa: PLC0415

    random = np.random.default_rng(5)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "events.parquet")
        table = pa.table(
            {
                "time": pa.array(np.arange(size) * 1_000).cast(pa.timestamp("us")),
                "type": np.array(list("ABC"))[random.integers(0, 3, size)],
                "key": np.zeros(size, dtype=np.int64),
                "v": random.random(size),
            }
        )
        pq.write_table(table, path)
        del table
        spark = local_session("local[2]")
        try:
            query_plan = plan(parse_workload(QUERIES[granularity]))
            results = run(query_plan, spark.read.parquet(path), RunOptions())
            windows = 1 if granularity == "coarse" else -(-size // 10_000)
            rows = {name: results[name].count() for name in results}
            if rows["q"] != windows:
                raise AssertionError(f"{windows} windows gave {rows['q']} rows")
            return python_peak_megabytes()
        finally:
            spark.stop()


if __name__ == "__main__":
    print(measure(sys.argv[1], int(sys.argv[2])))
