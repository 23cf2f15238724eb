"""Twelve overlapping windows against one: sums, in process, on one core, in processor time."""

from __future__ import annotations

import time

import pyarrow as pa

from benchmarks.in_process import events
from benchmarks.measure import Row, in_turn, ratio
from elsinore.language import parse_workload
from elsinore.local import run
from elsinore.operators import plan
from elsinore.runtime.options import RunOptions

EVENTS = 5_000_000
RUNS = 5
COMMAND = "python -m benchmarks windows"
QUERY = """QUERY q RETURN key, COUNT(*), SUM(b.v) PATTERN SEQ(A a, B b+, C c) GROUP BY key
WITHIN 60 seconds{slide};"""


def main(quick: bool) -> list[Row]:
    """Measure; with `quick` a tenth of the events."""
    pa.set_cpu_count(1)
    table = events(EVENTS // 10 if quick else EVENTS)
    one = plan(parse_workload(QUERY.format(slide="")))
    twelve = plan(parse_workload(QUERY.format(slide=" SLIDE 5 seconds")))
    options = RunOptions(threads=1)
    taken = in_turn(
        {
            "one": lambda: run(one, table, options),
            "twelve": lambda: run(twelve, table, options),
        },
        RUNS,
        time.process_time,
    )
    _check(run(one, table, options)["q"].frame, run(twelve, table, options)["q"].frame)
    times = ratio(taken["twelve"], taken["one"])
    return [
        Row(
            f"WITHIN 60 SLIDE 5 instead of WITHIN 60, {table.num_rows:,} events",
            f"{times:.2f} times as long",
            "at most 4",
            times <= 4,
        )
    ]


def _check(tumbling: pa.Table, sliding: pa.Table) -> None:
    """Compare the windows that both have."""
    keys = ["key", "window_start", "window_end"]
    joined = tumbling.join(sliding, keys, join_type="left outer", right_suffix=" sliding")
    if joined.num_rows != tumbling.num_rows or joined.num_rows == 0:
        raise AssertionError("the sliding windows are not all there")
    for name in ("count(*)", "sum(b.v)"):
        one, other = (joined.column(n).to_numpy() for n in (name, f"{name} sliding"))
        if not (abs(one - other) <= 1e-9 * abs(one)).all():
            raise AssertionError(f"{name} differs between tumbling and sliding windows")
