"""Trends under SKIP TILL NEXT MATCH and CONTIGUOUS, step by step, against a loop by hand.

`SEQ(A, B+, C)` by key, with and without `b[i].v >= b[i-1].v`: one query, warm, in process, on one
core, from an Arrow table, encoding included. The rival is `baselines/step_loops.py`; all results
are compared.
"""

from __future__ import annotations

import statistics

import pyarrow as pa

from benchmarks.baselines.step_loops import stepped
from benchmarks.graph import KEYS, ON_ONE, RUNS, keyed_events
from benchmarks.measure import Row, in_turn, ratio
from elsinore.language import parse_workload
from elsinore.local import run
from elsinore.operators import plan

COMMAND = "python -m benchmarks steps"
EVENTS = 10_000_000
LIKELY = (0.15, 0.6, 0.15, 0.1)  # A, B, C, D
QUERY = """QUERY q RETURN key, COUNT(*) AS trends PATTERN SEQ(A a, B b+, C c) {where}
STRATEGY {strategy} GROUP BY key;"""


def main(quick: bool) -> list[Row]:
    """Measure; with `quick` a tenth of the events."""
    pa.set_cpu_count(1)
    count = EVENTS // 10 if quick else EVENTS
    table = keyed_events(count, LIKELY)
    rows = []
    for strategy in ("SKIP TILL NEXT MATCH", "CONTIGUOUS"):
        for where in ("", "WHERE b[i].v >= b[i-1].v"):
            ready = plan(parse_workload(QUERY.format(where=where, strategy=strategy)))
            found = run(ready, table, ON_ONE)["q"]
            keys, trends = found.column("key").to_pylist(), found.column("trends").to_pylist()
            asked = strategy == "CONTIGUOUS", bool(where)
            if dict(zip(keys, trends, strict=True)) != stepped(table, *asked):
                raise AssertionError(f"{strategy} {where}: the engine and the loop disagree")
            taken = in_turn(
                {
                    "steps": lambda ready=ready: run(ready, table, ON_ONE),
                    "loop": lambda asked=asked: stepped(table, *asked),
                },
                RUNS,
            )
            speed = count / statistics.median(taken["steps"]) / 1e6
            times = ratio(taken["steps"], taken["loop"])
            rows.append(
                Row(
                    f"`{strategy}`{', rising neighbours' * bool(where)}, {count:,} events, "
                    f"{KEYS:,} keys",
                    f"{speed:.1f} M events/s; {times:.2f} times a loop by hand",
                    "at least 5 M events/s",
                    speed >= 5,
                )
            )
    return rows
