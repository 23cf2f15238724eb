"""Trend queries over all cores in this process, against one.

Keys are spread over threads, whose kernels hold no lock, and so are ranges of rows to be encoded.
Wall time, warm, from an Arrow table, encoding included; results are compared, sums to nine digits.
"""

from __future__ import annotations

import statistics

import pyarrow as pa

from benchmarks.graph import ALONE, MIXTURES, keyed_events
from benchmarks.in_process import RETURNS, events, workload
from benchmarks.measure import Row, assert_same, in_turn, ratio
from elsinore.language import parse_workload
from elsinore.local import run
from elsinore.operators import plan
from elsinore.runtime.options import RunOptions

EVENTS = 10_000_000
RUNS = 5
THREADS = 2
COMMAND = "python -m benchmarks threads"


def main(quick: bool) -> list[Row]:
    """Measure; with `quick` a tenth of the events."""
    pa.set_cpu_count(THREADS)
    count = EVENTS // 10 if quick else EVENTS
    heavy = "nine in ten of them B"
    returns = RETURNS["COUNT(*)"]
    works = {
        "one query that counts": (workload(1, returns), events(count)),
        "50 queries": (workload(50, returns), events(count)),
        f"one query with `b[i].v >= b[i-1].v`, {heavy}": (
            plan(parse_workload(ALONE)),
            keyed_events(count, MIXTURES[heavy]),
        ),
    }
    rows = []
    for what, (ready, table) in works.items():
        one, all_cores = RunOptions(threads=1), RunOptions(threads=THREADS)
        assert_same(run(ready, table, all_cores), run(ready, table, one))
        taken = in_turn(
            {
                "one": lambda ready=ready, table=table, one=one: run(ready, table, one),
                "all": lambda ready=ready, table=table, many=all_cores: run(ready, table, many),
            },
            RUNS,
        )
        times = ratio(taken["one"], taken["all"])
        speed = count / statistics.median(taken["all"]) / 1e6
        rows.append(
            Row(
                f"{THREADS} threads instead of one: {what}, {count:,} events",
                f"{times:.2f} times as fast, {speed:.1f} M events/s",
                "at least 1.7 times",
                times >= 1.7,
            )
        )
    return rows
