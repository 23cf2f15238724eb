"""Many queries that share B+, as sums, in process, on one core, in processor time.

`SEQ(X_i, B+)` for k queries over bursts of about 20 B events, with an X event of one query between
two bursts. Without sharing, each B event is added to k sums; with sharing, to one.
"""

from __future__ import annotations

import statistics
import time

import numpy as np
import pyarrow as pa

from benchmarks.measure import Row, assert_same, in_turn, ratio
from elsinore.language import parse_workload
from elsinore.local import run
from elsinore.operators import plan
from elsinore.plan import Plan, Sharing
from elsinore.runtime.options import RunOptions

EVENTS = 5_000_000
BURST = 20
FEW, MANY = 10, 1_000
RUNS = 5
COMMAND = "python -m benchmarks sharing"
QUERY = "QUERY q{number} RETURN COUNT(*) PATTERN SEQ(X{number} x, B b+) WITHIN 1000 seconds;"


def events(count: int, queries: int) -> pa.Table:
    """Return events a millisecond apart: bursts of B, an X of a random query between them."""
    random = np.random.default_rng(3)
    kinds = np.zeros(count, dtype=np.int32)
    places = np.cumsum(random.poisson(BURST, count // BURST) + 1)
    places = places[places < count]
    kinds[places] = 1 + random.integers(0, queries, len(places))
    names = pa.array(["B", *(f"X{number}" for number in range(queries))])
    return pa.table(
        {
            "time": pa.array(np.arange(count) * 1_000).cast(pa.timestamp("us")),
            "type": pa.DictionaryArray.from_arrays(pa.array(kinds), names),
        }
    )


def workload(queries: int) -> Plan:
    """Return the plan of k queries."""
    return plan(parse_workload("\n".join(QUERY.format(number=n) for n in range(queries))))


def main(quick: bool) -> list[Row]:
    """Measure; with `quick` a tenth of the events."""
    pa.set_cpu_count(1)
    count = EVENTS // 10 if quick else EVENTS
    tables = {queries: events(count, queries) for queries in (FEW, MANY)}
    plans = {queries: workload(queries) for queries in (FEW, MANY)}
    options = RunOptions(threads=1)
    taken = in_turn(
        {
            str(queries): lambda queries=queries: run(plans[queries], tables[queries], options)
            for queries in (FEW, MANY)
        },
        RUNS,
        time.process_time,
    )
    small = events(count // 50, MANY)
    for queries, table in ((FEW, tables[FEW]), (MANY, small)):  # many without sharing: too long
        expected = run(plans[queries], table, RunOptions(sharing=Sharing.NEVER))
        for sharing in (Sharing.DYNAMIC, Sharing.ALWAYS):
            assert_same(run(plans[queries], table, RunOptions(sharing=sharing)), expected)
    speed = count / statistics.median(taken[str(FEW)]) / 1e6
    times = ratio(taken[str(MANY)], taken[str(FEW)])
    unshared = in_turn(
        {
            "shared": lambda: run(plans[MANY], small, RunOptions()),
            "never": lambda: run(plans[MANY], small, RunOptions(sharing=Sharing.NEVER)),
        },
        1,
        time.process_time,
    )
    gain = ratio(unshared["never"], unshared["shared"])
    return [
        Row(
            f"{FEW} queries `SEQ(X_i, B+)`, {count:,} events in bursts of about {BURST}",
            f"{speed:.1f} M events/s",
            "at least 15 M events/s",
            speed >= 15,
        ),
        Row(
            f"{MANY:,} queries instead of {FEW}",
            f"{times:.2f} times as long",
            "at most 3",
            times <= 3,
        ),
        Row(
            f"{MANY:,} queries, `sharing never` instead of `dynamic` ({count // 50:,} events)",
            f"{gain:.0f} times as long",
            "more than 1",
            gain > 1,
        ),
    ]
