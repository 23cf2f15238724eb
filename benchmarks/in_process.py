"""Sums in process: one query over 1,000 keys and 50 such queries, beside loops written by hand.

The rivals are what one would write without an engine: a loop over columns compiled by Numba, and a
plain Python loop over dictionaries. Warm, on one core (one thread), from an Arrow table whose types
are strings, encoding included. Processor time, medians of runs in turn. Results are compared.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa

from benchmarks.baselines.keyed_loop import (
    CELLS,
    ENDED,
    ENDED_NUMBER,
    ENDED_SUM,
    Doubles,
    keyed_loop,
)
from benchmarks.measure import Row, in_turn, ratio, seconds
from elsinore.language import parse_workload
from elsinore.local import run
from elsinore.operators import plan
from elsinore.plan import Plan
from elsinore.runtime.options import RunOptions

EVENTS = 10_000_000
KEYS = 1_000
TYPES = "ABCD"
MANY = 50
RUNS = 5
COMMAND = "python -m benchmarks in_process"
STEP = 1_000_000_000  # microseconds of a window

QUERY = """QUERY {name} RETURN key, {returns}
PATTERN SEQ({first} a, {many} b+, {last} c) GROUP BY key WITHIN 1000 seconds;"""
RETURNS = {"COUNT(*)": "COUNT(*)", "COUNT(*) and AVG": "COUNT(*), AVG(b.v)"}


def events(count: int = EVENTS) -> pa.Table:
    """Return events in time order, a millisecond apart; types and keys at random."""
    random = np.random.default_rng(7)
    return pa.table(
        {
            "time": pa.array(np.arange(count) * 1_000).cast(pa.timestamp("us")),
            "type": pa.array(np.array(list(TYPES))[random.integers(0, len(TYPES), count)]),
            "key": random.integers(0, KEYS, count),
            "v": random.random(count),
        }
    )


def queries(number: int) -> list[tuple[str, ...]]:
    """Return the types that one query begins, goes on and ends with, or so many queries."""
    if number == 1:
        return [("A", "B", "C")]
    return list(itertools.islice(itertools.product(TYPES, repeat=3), number))


def workload(number: int, returns: str) -> Plan:
    """Return one query, or many that differ in their types."""
    lines = (
        QUERY.format(name=f"q{place}", returns=returns, first=first, many=many, last=last)
        for place, (first, many, last) in enumerate(queries(number))
    )
    return plan(parse_workload("\n".join(lines)))


def dictionary_loop(table: pa.Table) -> dict[tuple[int, int], list[float]]:
    """Count the trends of SEQ(A a, B b+, C c), and sum and number of b.v, as one would by hand."""
    state: dict[tuple[int, int], list[float]] = {}
    times = table.column("time").cast(pa.int64()).to_pylist()
    columns = [table.column(name).to_pylist() for name in ("type", "key", "v")]
    for instant, kind, key, value in zip(times, *columns, strict=True):
        place = (instant // STEP, key)
        cells = state.get(place)
        if cells is None:
            cells = state[place] = [0.0] * CELLS
        if kind == "A":
            cells[0] += 1.0
        elif kind == "B":
            trends = cells[0] + cells[1]
            cells[2] += cells[2] + trends * value
            cells[3] += cells[3] + trends
            cells[1] += trends
        elif kind == "C":
            cells[4] += cells[1]
            cells[5] += cells[2]
            cells[6] += cells[3]
    return state


def main(quick: bool) -> list[Row]:
    """Measure; with `quick` a tenth of the events."""
    pa.set_cpu_count(1)
    count = EVENTS // 10 if quick else EVENTS
    table = events(count)
    options = RunOptions(threads=1)
    runs: dict[str, Callable[[], object]] = {}
    for what, returns in RETURNS.items():
        for number in (1, MANY):
            ready, told, average = workload(number, returns), queries(number), "AVG" in what
            by_hand = keyed_loop(table, told, STEP, average=average)
            found = run(ready, table, options)
            for query in range(number):
                check_cells(found[f"q{query}"], by_hand[:, :, query], average=average)
            if number == 1:
                single = by_hand
            runs[f"{what} {number}"] = partial(run, ready, table, options)
            runs[f"loop: {what} {number}"] = partial(keyed_loop, table, told, STEP, average=average)
    in_python = seconds(lambda: _compare(dictionary_loop(table), single), time.process_time)
    taken = in_turn(runs, RUNS, time.process_time)
    rows = []
    for what, target in zip(RETURNS, (20, 10), strict=True):
        one, loop = f"{what} 1", f"loop: {what} 1"
        speed = count / statistics.median(taken[one]) / 1e6
        rows.append(
            Row(
                f"`SEQ(A a, B b+, C c)`, {what}, {count:,} events, {KEYS:,} keys, one core",
                f"{speed:.1f} M events/s; the Numba loop takes "
                f"{ratio(taken[loop], taken[one]):.2f} times as long",
                f"at least {target} M events/s",
                speed >= target,
            )
        )
    times = in_python / statistics.median(taken[one])
    rows.append(
        Row(
            f"{what} by a plain Python loop over dictionaries",
            f"{times:.1f} times as long",
            "at least 3",
            times >= 3,
        )
    )
    for what in RETURNS:
        fifty, loop = f"{what} {MANY}", f"loop: {what} {MANY}"
        many = ratio(taken[fifty], taken[f"{what} 1"])
        rows.append(
            Row(
                f"{MANY} queries instead of one, {what}",
                f"{many:.1f} times as long; the Numba loop takes "
                f"{ratio(taken[loop], taken[fifty]):.2f} times as long as they",
                "at most 4",
                many <= 4,
            )
        )
    return rows


def check_cells(result: pa.Table, by_hand: Doubles, *, average: bool) -> None:
    """Refuse to report the speed of a wrong answer; by_hand: [window, key] -> cells."""
    windows, keys = np.nonzero(by_hand[:, :, ENDED])
    starts = result.column("window_start").cast(pa.int64()).to_numpy() // STEP
    order = np.lexsort((result.column("key").to_numpy(), starts))
    cells = by_hand[windows, keys]
    wanted = {"count(*)": cells[:, ENDED]}
    if average:
        wanted["avg(b.v)"] = cells[:, ENDED_SUM] / cells[:, ENDED_NUMBER]
    if len(order) != len(windows) or not (
        np.array_equal(starts[order], windows)
        and np.array_equal(result.column("key").to_numpy()[order], keys)
    ):
        raise AssertionError("the engine and the loop disagree on the groups")
    for name, column in wanted.items():
        if not np.allclose(result.column(name).to_numpy()[order], column, rtol=1e-9, atol=0.0):
            raise AssertionError(f"the engine and the loop disagree on {name}")


def _compare(by_hand: dict[tuple[int, int], list[float]], compiled: Doubles) -> None:
    """Refuse to measure loops by hand that disagree."""
    for (window, key), cells in by_hand.items():
        if not np.allclose(compiled[window, key, 0], cells[:CELLS], rtol=1e-9):
            raise AssertionError("the loops by hand disagree")
