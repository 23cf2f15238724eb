"""The performance contract of trends: all its rows, each compared with a hand-written loop.

Warm, in process, on one core, from an Arrow table, encoding included; results are compared.
Processor time, the least of several runs in turn. The loops are what a good engineer would write
for the one question that is asked, compiled by Numba for this processor: Elsinore's own binaries
run on every processor of a platform.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks import in_process, latency, startup, steps
from benchmarks.baselines import lane_loops
from benchmarks.baselines.keyed_loop import keyed_loop
from benchmarks.baselines.plain_loop import plain_loop
from benchmarks.graph import ALONE, MIXTURES, ON_ONE, alone_and_loop, keyed_events
from benchmarks.measure import Row, assert_same
from benchmarks.papers.trend_cases import CASES
from benchmarks.papers.trend_points import LARGE_BATCH
from benchmarks.papers.trend_points import run as feed
from benchmarks.papers.trend_systems import SYSTEMS, Elsinore
from benchmarks.regimes import BASE, WITHIN, Regime, check_logs, least_seconds
from elsinore.language import parse_workload
from elsinore.local import run
from elsinore.operators import plan
from elsinore.plan import Granularity, Sharing
from elsinore.runtime.options import RunOptions

COMMAND = "python -m benchmarks contract"
MANY = 1_000
AVERAGES = """QUERY q{number} RETURN LOG2(COUNT(*)) AS trends, AVG(b.v) AS average
PATTERN SEQ(X{number} x, B b+) WITHIN 10 seconds;"""
PUBLISHED = {  # cases of Figures 9 and 12, and their sizes
    "Figure 9": ("rides", {"rate": 20_000, "queries": 25, "minutes": 3}),
    "Figure 9, 10,000 events a minute": ("rides", {"rate": 10_000, "queries": 25, "minutes": 3}),
    "Figure 12": ("trades", {"rate": 4_000, "queries": 50, "minutes": 30}),
    "Figure 12, neighbours": (
        "trades",
        {"rate": 2_000, "queries": 50, "minutes": 30, "rising": True},
    ),
}


def main(quick: bool) -> list[Row]:
    """Measure all rows; with `quick` a tenth of the events, and nothing is compiled."""
    pa.set_cpu_count(1)
    parts = (one_query, bursts, thresholds, many, one_rising, fifty_rising, in_steps, published)
    rows = []
    for part in parts:
        for row in part(10 if quick else 1):
            print(f"  {row.what}: {row.figure}", file=sys.stderr, flush=True)
            rows.append(row)
    return [*rows, *latency.main(quick), first_run(), *([] if quick else [compiled()])]


def against_loop(
    what: str, engine: Callable[[], object], loop: Callable[[], object], events: int, most: float
) -> Row:
    """Measure the engine beside a loop."""
    seconds = least_seconds({"engine": engine, "loop": loop})
    ratio = seconds["engine"] / seconds["loop"]
    both = ", ".join(f"{seconds[name] / events * 1e9:.1f}" for name in ("engine", "loop"))
    return Row(
        what,
        f"{ratio:.2f} times the loop ({both} ns an event)",
        f"at most {most:g} times the loop",
        ratio <= most,
    )


def one_query(shrunk: int) -> Iterator[Row]:
    """Measure one query over many keys."""
    count = in_process.EVENTS // shrunk
    table, types = in_process.events(count), in_process.queries(1)
    for what, returns in in_process.RETURNS.items():
        ready, average = in_process.workload(1, returns), "AVG" in what
        loop = partial(keyed_loop, table, types, in_process.STEP, average=average)
        found = run(ready, table, ON_ONE)["q0"]
        in_process.check_cells(found, loop()[:, :, 0], average=average)
        yield against_loop(
            f"one query, {what}, {count:,} events, {in_process.KEYS:,} keys",
            partial(run, ready, table, ON_ONE),
            loop,
            count,
            1.5,
        )


def bursts(shrunk: int) -> Iterator[Row]:
    """Measure queries that share bursts of two lengths, in all kinds of windows."""
    for burst in (20, 200):
        for window in WITHIN:
            regime = replace(BASE, burst=burst, window=window, events=events_of(shrunk))
            yield of_regime(regime, 1.5)


def thresholds(shrunk: int) -> Iterator[Row]:
    """Measure queries whose predicates differ."""
    for window in ("one", "tumbling"):
        regime = replace(BASE, burst=20, predicate="differ", window=window)
        yield of_regime(replace(regime, events=events_of(shrunk)), 3.0)


def fifty_rising(shrunk: int) -> Iterator[Row]:
    """Measure queries of one shape that compare neighbours."""
    for window in ("tumbling", "sliding"):
        regime = replace(BASE, predicate="neighbours", window=window)
        yield of_regime(replace(regime, events=max(60_000, 300_000 // shrunk)), 2.0)


def events_of(shrunk: int) -> int:
    """Return the events of a regime: enough that what a run costs by itself is little."""
    return max(BASE.events // shrunk, 500_000)


def of_regime(regime: Regime, most: float) -> Row:
    """Measure all modes of a regime and its loop."""
    table, ready = regime.table(), regime.workload()
    loop = loop_of(regime, table)
    expected = run(ready, table, RunOptions(sharing=Sharing.NEVER))
    check_logs(regime, expected, loop())
    works: dict[str, Callable[[], object]] = {"loop": loop}
    for mode in Sharing:
        options = RunOptions(threads=1, sharing=mode)
        assert_same(run(ready, table, options), expected)
        works[mode.value] = partial(run, ready, table, options)
    taken = least_seconds(works)
    dynamic, better = taken["dynamic"], min(taken["always"], taken["never"])
    nanoseconds = {name: seconds / regime.events * 1e9 for name, seconds in taken.items()}
    return Row(
        regime.name,
        f"{dynamic / taken['loop']:.2f} times the loop, {dynamic / better:.2f} times the better "
        f"static mode ({', '.join(f'{name} {n:.0f}' for name, n in nanoseconds.items())} ns an "
        "event)",
        f"at most {most:g} times the loop, 1.25 times the better static mode",
        dynamic <= most * taken["loop"] and dynamic <= 1.25 * better,
    )


def loop_of(regime: Regime, table: pa.Table) -> Callable[[], np.ndarray]:
    """Return the loop that answers a regime's queries: logarithms of counts by window and query."""
    within, slide = regime.within, regime.slide
    if regime.predicate == "neighbours":
        return partial(lane_loops.rising, table, regime.queries, within, slide)
    if slide < within:
        return partial(lane_loops.counts, table, regime.queries, within, slide)
    return partial(plain_loop, table, regime.cuts, within)


def many(_: int) -> Iterator[Row]:
    """Measure very many queries that return an average, beside a loop over all of them."""
    regime = replace(BASE, queries=MANY, events=BASE.events // 5, burst=20, window="tumbling")
    table, within = regime.table(), regime.within
    query_plan = plan(parse_workload("".join(AVERAGES.format(number=n) for n in range(MANY))))
    loop = partial(lane_loops.sums, table, MANY, within, within)
    found, (logs, averages) = run(query_plan, table, ON_ONE), loop()
    for query in range(MANY):
        rows = found[f"q{query}"]
        windows = rows.column("window_start").cast(pa.int64()).to_numpy() // within
        for column, expected in (("trends", logs), ("average", averages)):
            if not np.allclose(rows.column(column).to_numpy(), expected[windows, query], 1e-9):
                raise AssertionError(f"the loop disagrees on {column} of query {query}")
    seconds = least_seconds({"engine": partial(run, query_plan, table, ON_ONE), "loop": loop})
    times = seconds["loop"] / seconds["engine"]
    yield Row(
        f"{MANY:,} queries, COUNT and AVG, {regime.events:,} events, bursts of {regime.burst}",
        f"{times:.1f} times faster than the loop "
        f"({seconds['engine'] / regime.events * 1e9:.0f} ns an event)",
        "at least 5 times faster",
        times >= 5,
    )


def one_rising(shrunk: int) -> Iterator[Row]:
    """Measure one query that compares neighbours, over many keys."""
    count, ready = in_process.EVENTS // shrunk, plan(parse_workload(ALONE))
    for what, likely in MIXTURES.items():
        works = alone_and_loop(ready, keyed_events(count, likely))
        yield against_loop(
            f"one query with `b[i].v >= b[i-1].v`, {count:,} events, 1,000 keys, {what}",
            works["engine"],
            works["loop"],
            count,
            2.0,
        )


def in_steps(shrunk: int) -> Iterator[Row]:
    """Measure trends under NEXT and CONTIGUOUS."""
    table = keyed_events(steps.EVENTS // shrunk, steps.LIKELY)
    for strategy in steps.STRATEGIES:
        for where in ("", steps.RISING):
            yield steps.beside_loop(table, strategy, where, "", clock=time.process_time)


def published(shrunk: int) -> Iterator[Row]:
    """Measure the authors' workloads; Figure 9's without a comparison beside running sums, too."""
    for name, (case_name, sizes) in PUBLISHED.items():
        case = CASES[case_name](**{**sizes, "minutes": sizes["minutes"] if shrunk == 1 else 20})
        for granularity in Granularity:
            taken: dict[str, float] = {}
            for _ in range(3):
                for mode in Sharing:
                    fed = feed(Elsinore(case, mode, granularity), case, LARGE_BATCH)
                    seconds = len(case.times) / fed.speed
                    taken[mode.value] = min(taken.get(mode.value, seconds), seconds)
            dynamic, better = taken["dynamic"], min(taken["always"], taken["never"])
            told, targets = [f"{dynamic / better:.2f} times the better static mode"], ["1.25"]
            met = dynamic <= 1.25 * better
            if case_name == "rides" and granularity is Granularity.AUTO:
                runs = (feed(SYSTEMS["running sums"](case), case, LARGE_BATCH) for _ in range(4))
                sums = min(len(case.times) / one.speed for one in runs)
                told.append(f"{dynamic / sums:.2f} times running sums")
                targets.append("1.5")
                met &= dynamic <= 1.5 * sums
            told.append(f"{dynamic / len(case.times) * 1e9:.0f} ns an event")
            what = f"{name}, {granularity.value}"
            yield Row(what, "; ".join(told), f"at most {', '.join(targets)}", met)


def first_run() -> Row:
    """Measure the first run after installation, in a process of its own."""
    query = next(iter(startup.QUERIES.values()))
    with tempfile.TemporaryDirectory() as bytecode:
        _, cpu, _ = startup.fresh(query, startup.MANY, Path(bytecode))
    return Row(
        f"the first run, {startup.MANY:,} events from a list of dictionaries",
        f"{cpu:.1f} s of processor time",
        "at most 3 s",
        cpu <= 3,
    )


def compiled() -> Row:
    """Measure compiling all modules, as an installation from a clone does."""
    from building.compiling import compile_modules  # noqa: PLC0415 - needs Cython

    before = os.times()
    with tempfile.TemporaryDirectory() as place:
        compile_modules(Path(place) / "lib", Path(place) / "scratch", checked=False)
    after = os.times()
    cpu = sum(after[:4]) - sum(before[:4])
    return Row("compiling all modules", f"{cpu:.0f} s of processor time", "at most 60 s", cpu <= 60)
