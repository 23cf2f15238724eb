"""Comparisons of neighbours: 50 queries side by side, and one query alone.

`SEQ(X_i, B+)` with `b[i].v >= b[i-1].v` in one window of n events takes time n log n, where a scan
of all predecessors takes n * n. The same holds for one query with a range between neighbours, or
with a NOT beside such a condition (19 in 20 events are A or B, one is a C). Warm, in process, on
one core, from an Arrow table, encoding included. The rivals are the loops in
`baselines/neighbour_loops.py`; for queries that have something in common, the rival is to run each
of them alone. Results are compared.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa

from benchmarks.baselines.neighbour_loops import pairs, rising
from benchmarks.measure import Row, assert_same, in_turn, ratio
from elsinore.language import parse_workload
from elsinore.local import run
from elsinore.operators import plan
from elsinore.plan import Plan, Sharing
from elsinore.runtime.options import RunOptions

SIZES = (10_000, 30_000, 100_000, 300_000)
QUERIES = 50
RUNS = 3
COMMAND = "python -m benchmarks graph"
ON_ONE = RunOptions(threads=1)
KEYS = 1_000
WITHIN = 1_000  # seconds
WINDOWS = (10_000, 30_000, 100_000)  # events in one
ALONE = f"""QUERY q RETURN key, COUNT(*) PATTERN SEQ(A a, B b+, C c) WHERE b[i].v >= b[i-1].v
GROUP BY key WITHIN {WITHIN} seconds;"""
MIXTURES = {
    "a quarter of them B": (0.25, 0.25, 0.25, 0.25),
    "nine in ten of them B": (0.05, 0.9, 0.05, 0.0),
}
GUARDS = {  # a query's pattern, and how far from one another neighbours may be in `pairs`
    "`SEQ(A a, SEQ(NOT C c, B b)+)` and `b[i].v >= b[i-1].v`": (
        "SEQ(A a, SEQ(NOT C c, B b)+) WHERE b[i].v >= b[i-1].v",
        0.0,
    ),
    "`ABS(b[i].v - b[i-1].v) <= 5`": ("SEQ(A a, B b+) WHERE ABS(b[i].v - b[i-1].v) <= 5", 5.0),
}
RISING = "WHERE b[i].v >= b[i-1].v"
NEAR = "WHERE ABS(b[i].v - b[i-1].v) <= 5"
SEVERAL = {  # patterns of queries that have something in common
    "`SEQ(A, B+)` and `SEQ(A, B+, C)` with `b[i].v >= b[i-1].v`": (
        f"SEQ(A a, B b+) {RISING}",
        f"SEQ(A a, B b+, C c) {RISING}",
    ),
    "the same with `ABS(b[i].v - b[i-1].v) <= 5`": (
        f"SEQ(A a, B b+) {NEAR}",
        f"SEQ(A a, B b+, C c) {NEAR}",
    ),
    "10 queries with `b[i].v >= b[i-1].v` and thresholds that differ": tuple(
        f"SEQ(A a, B b+) {RISING} AND b.v < {10 * n}" for n in range(1, 11)
    ),
    "10 queries with ranges that differ": tuple(
        f"SEQ(A a, B b+) {NEAR[:-1]}{n}" for n in range(1, 11)
    ),
    "`b[i].v >= b[i-1].v` and `b[i].v <= b[i-1].v`": (
        f"SEQ(A a, B b+) {RISING}",
        f"SEQ(A a, B b+) {RISING.replace('>', '<')}",
    ),
}
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


def keyed_events(count: int, likely: tuple[float, ...]) -> pa.Table:
    """Return events a millisecond apart; A, B, C and D as likely as told, keys at random."""
    random = np.random.default_rng(7)
    kinds = random.choice(4, count, p=likely)
    return pa.table(
        {
            "time": pa.array(np.arange(count) * 1_000).cast(pa.timestamp("us")),
            "type": pa.array(np.array(list("ABCD"))[kinds]),
            "key": random.integers(0, KEYS, count),
            "v": random.random(count) * 100,
        }
    )


def alone(count: int) -> list[Row]:
    """Measure one query that compares neighbours, with many keys, against a loop by hand."""
    query_plan = plan(parse_workload(ALONE))
    rows = []
    for what, likely in MIXTURES.items():
        table = keyed_events(count, likely)
        seconds = in_turn(alone_and_loop(query_plan, table), RUNS)
        speed = count / statistics.median(seconds["engine"]) / 1e6
        times = ratio(seconds["engine"], seconds["loop"])
        rows.append(
            Row(
                f"one query with `b[i].v >= b[i-1].v`, {count:,} events, {KEYS:,} keys, {what}",
                f"{speed:.1f} M events/s; {times:.2f} times a loop by hand",
                "at least 3 M events/s",
                speed >= 3,
            )
        )
    return rows


def alone_and_loop(ready: Plan, table: pa.Table) -> dict[str, Callable[[], object]]:
    """Return the plan of `ALONE` over events, and the loop that counts the same.

    Raises AssertionError where their results differ.
    """
    found, within = run(ready, table, ON_ONE)["q"], WITHIN * 10**6
    starts = found.column("window_start").cast(pa.int64()).to_numpy() // within
    places = zip(found.column("key").to_pylist(), starts.tolist(), strict=True)
    counts = dict(zip(places, found.column("count(*)").to_pylist(), strict=True))
    expected = rising(table, within)
    if counts.keys() != expected.keys() or not all(
        math.isclose(counts[place], expected[place], rel_tol=1e-9) for place in counts
    ):
        raise AssertionError("the engine and the loop disagree")
    return {"engine": partial(run, ready, table, ON_ONE), "loop": partial(rising, table, within)}


def grown() -> list[Row]:
    """Measure how the time of one query with other guards grows with the events of a window."""
    tables = {size: keyed_events(size, (0.05, 0.9, 0.05, 0.0)) for size in WINDOWS}
    rows = []
    for what, (pattern, width) in GUARDS.items():
        query_plan = plan(parse_workload(f"QUERY q RETURN LOG2(COUNT(*)) PATTERN {pattern};"))
        few = tables[WINDOWS[0]]
        found = run(query_plan, few, ON_ONE)["q"].column("log2(count(*))")[0].as_py()
        if not math.isclose(found, pairs(few, width, width == 0.0), rel_tol=1e-9):
            raise AssertionError(f"{what}: the engine and the loop disagree")
        seconds = in_turn(
            {
                str(size): lambda table=table, query_plan=query_plan: run(query_plan, table, ON_ONE)
                for size, table in tables.items()
            },
            2 * RUNS,
        )
        least = [min(seconds[str(size)]) for size in WINDOWS]
        slope = np.polyfit(np.log(WINDOWS), np.log(least), 1)[0]
        text = ", ".join(f"{n:,}: {s * 1e3:.0f} ms" for n, s in zip(WINDOWS, least, strict=True))
        exponent = f"{slope:.2f}"
        rows.append(
            Row(f"exponent of n, {what} ({text})", exponent, "at most 1.25", bool(slope <= 1.25))
        )
    return rows


def together(count: int) -> list[Row]:
    """Measure queries of one workload against each of them run alone, one after the other."""
    table = keyed_events(count, (0.05, 0.9, 0.05, 0.0))
    rows = []
    for what, patterns in SEVERAL.items():
        texts = [
            f"QUERY q{n} RETURN key, COUNT(*) PATTERN {pattern} "
            f"GROUP BY key WITHIN {WITHIN} seconds;"
            for n, pattern in enumerate(patterns)
        ]
        query_plan = plan(parse_workload("\n".join(texts)))
        each = [plan(parse_workload(text)) for text in texts]
        apart = {name: found for one in each for name, found in run(one, table, ON_ONE).items()}
        assert_same(run(query_plan, table, ON_ONE), apart)
        taken = in_turn(
            {
                "together": lambda query_plan=query_plan: run(query_plan, table, ON_ONE),
                "alone": lambda each=each: [run(one, table, ON_ONE) for one in each],
            },
            RUNS,
        )
        times = ratio(taken["together"], taken["alone"])
        rows.append(
            Row(
                f"{what}, {count:,} events, {KEYS:,} keys",
                f"{times:.2f} times what each takes alone, added up",
                "at most 0.9",
                times <= 0.9,
            )
        )
    return rows


def main(quick: bool) -> list[Row]:
    """Measure; with `quick` only the smaller sizes."""
    pa.set_cpu_count(1)
    sizes = SIZES[:2] if quick else SIZES
    ready = workload()
    tables = {size: events(size) for size in sizes}
    seconds = in_turn(
        {str(size): lambda size=size: run(ready, tables[size], RunOptions()) for size in sizes},
        RUNS,
    )
    for table in tables.values():
        unshared = run(ready, table, RunOptions(sharing=Sharing.NEVER))
        assert_same(run(ready, table, RunOptions()), unshared)
    medians = [statistics.median(seconds[str(size)]) for size in sizes]
    slope = np.polyfit([math.log(size) for size in sizes], [math.log(m) for m in medians], 1)[0]
    text = ", ".join(f"{size:,}: {m:.2f} s" for size, m in zip(sizes, medians, strict=True))
    rows = [
        Row(
            f"exponent of n ({text})",
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
    count = 10**6 if quick else 10**7
    return [*rows, *alone(count), *together(count // 10), *grown()]
