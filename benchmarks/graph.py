"""The shared graph: 50 queries of which each compares a B event with the one before it.

`SEQ(X_i, B+)` with `b[i].v >= b[i-1].v` in one window of n events: n log n where a scan of all
predecessors would be n * n. Warm, in process, on one core.
"""

from __future__ import annotations

import math
import statistics

import numpy as np
import pyarrow as pa

from benchmarks.measure import Row, assert_same, in_turn
from elsinore.language import parse_workload
from elsinore.local import run
from elsinore.operators import plan
from elsinore.plan import Plan, Sharing
from elsinore.runtime.options import RunOptions

SIZES = (10_000, 30_000, 100_000, 300_000)
QUERIES = 50
RUNS = 3
COMMAND = "python -m benchmarks graph"
QUERY = """QUERY q{number} RETURN LOG2(COUNT(*)) AS trends, AVG(b.v)
PATTERN SEQ(X{number} x, B b+) WHERE b[i].v >= b[i-1].v WITHIN 10000 seconds;"""


def events(count: int) -> pa.Table:
    """Return one X of each query, then B events with values at random."""
    random = np.random.default_rng(11)
    kinds = np.zeros(count, dtype=np.int32)
    kinds[:QUERIES] = 1 + np.arange(QUERIES)
    names = pa.array(["B", *(f"X{number}" for number in range(QUERIES))])
    return pa.table(
        {
            "time": pa.array(np.arange(count) * 1_000).cast(pa.timestamp("us")),
            "type": pa.DictionaryArray.from_arrays(pa.array(kinds), names),
            "v": random.random(count),
        }
    )


def workload() -> Plan:
    """Return the plan of the queries."""
    return plan(parse_workload("\n".join(QUERY.format(number=n) for n in range(QUERIES))))


def main(quick: bool) -> list[Row]:
    """Measure; with `quick` only the smaller sizes."""
    pa.set_cpu_count(1)
    sizes = SIZES[:2] if quick else SIZES
    ready = workload()
    tables = {size: events(size) for size in sizes}
    taken = in_turn(
        {str(size): lambda size=size: run(ready, tables[size], RunOptions()) for size in sizes},
        RUNS,
    )
    for table in tables.values():
        alone = run(ready, table, RunOptions(sharing=Sharing.NEVER))
        assert_same(run(ready, table, RunOptions()), alone)
    medians = [statistics.median(taken[str(size)]) for size in sizes]
    slope = np.polyfit([math.log(size) for size in sizes], [math.log(m) for m in medians], 1)[0]
    told = ", ".join(f"{size:,}: {m:.2f} s" for size, m in zip(sizes, medians, strict=True))
    rows = [
        Row(
            f"exponent of n ({told})",
            f"{slope:.2f}",
            "at most 1.2",
            bool(slope <= 1.2),
        )
    ]
    if not quick:
        best = medians[sizes.index(100_000)]
        rows.insert(
            0,
            Row(
                f"100,000 events in one window, {QUERIES} queries",
                f"{best:.2f} s",
                "under 1.5 s",
                best < 1.5,
            ),
        )
    return rows
