"""Trend queries on all cores of this process, against one.

Windows are spread over threads where they do not overlap, otherwise keys; kernels hold no lock, and
ranges of rows are encoded in threads too. Wall time, warm, from an Arrow table, encoding included;
results are compared, sums to nine digits. What the machine can give is measured in turn with this:
two processes, each with half of the events, at once, against one of them alone with twice the time.
They share nothing but the machine, so threads can hardly do better. So are plain compiled loops,
two halves of a loop at once against the whole: one multiplies independent numbers, which two
threads on one physical core do no faster than one, and one reads memory all the time.
"""

from __future__ import annotations

import statistics
import time
from functools import partial

import numpy as np
import pyarrow as pa

from benchmarks.baselines.in_processes import Processes, Runs
from benchmarks.baselines.in_threads import NUMBERS, mixing, reading
from benchmarks.graph import ALONE, MIXTURES, keyed_events
from benchmarks.in_process import RETURNS, events, workload
from benchmarks.measure import Row, assert_same, in_turn, ratio
from elsinore.language import parse_workload
from elsinore.local import run
from elsinore.operators import plan
from elsinore.plan import Plan
from elsinore.runtime.options import RunOptions

EVENTS = 10_000_000
RUNS = 9
THREADS = 2
TIMES = 1.7  # as fast as one thread they are to be, or ...
OF_PROCESSES = 0.93  # ... so much of what processes are
COMMAND = "python -m benchmarks threads"
COUNTING = "QUERY q RETURN {what}COUNT(*) PATTERN SEQ(A a, B b+, C c) {clauses};"


def works(count: int) -> dict[str, tuple[Plan, pa.Table]]:
    """Return what is run, by what is said of it: by windows, at last by keys."""
    heavy = "nine in ten of them B"
    ten = events(count)

    def one(what: str, clauses: str) -> Plan:
        return plan(parse_workload(COUNTING.format(what=what, clauses=clauses)))

    return {
        "one query that counts": (workload(1, RETURNS["COUNT(*)"]), ten),
        "50 queries": (workload(50, RETURNS["COUNT(*)"]), ten),
        f"one query with `b[i].v >= b[i-1].v`, {heavy}": (
            plan(parse_workload(ALONE)),
            keyed_events(count, MIXTURES[heavy]),
        ),
        "one query that counts, no GROUP BY": (one("", "WITHIN 1 second"), ten),
        "one query that counts, one window": (one("key, ", "GROUP BY key WITHIN 1 day"), ten),
    }


def halves(count: int) -> Runs:
    """Return the runs of half the events in one thread, by what is said of them."""
    pa.set_cpu_count(1)
    return {
        what: partial(run, ready, table, RunOptions(threads=1))
        for what, (ready, table) in works(count // THREADS).items()
    }


def main(quick: bool) -> list[Row]:
    """Measure; with `quick` a tenth of the events."""
    pa.set_cpu_count(THREADS)
    count = EVENTS // 10 if quick else EVENTS
    numbers = np.ones(NUMBERS)
    loops = {
        f"{what} {threads}": partial(loop, threads)
        for what, loop in (("mixing", mixing), ("reading", partial(reading, numbers)))
        for threads in (1, THREADS)
    }
    processes = Processes(partial(halves, count), THREADS)
    rows = []
    for what, (ready, table) in works(count).items():
        runs = {
            f"run {threads}": partial(run, ready, table, RunOptions(threads=threads))
            for threads in (1, THREADS)
        }
        assert_same(runs[f"run {THREADS}"](), runs["run 1"]())
        beside = {
            f"processes {several}": partial(processes.run, what, several)
            for several in (1, THREADS)
        }
        seconds = in_turn(runs | beside | loops, RUNS)
        used = in_turn(runs, RUNS, time.process_time)
        times, mixed, read = (
            ratio(seconds[f"{one} 1"], seconds[f"{one} {THREADS}"])
            for one in ("run", "mixing", "reading")
        )
        apart = THREADS * ratio(seconds["processes 1"], seconds[f"processes {THREADS}"])
        speed = count / statistics.median(seconds[f"run {THREADS}"]) / 1e6
        more = ratio(used[f"run {THREADS}"], used["run 1"])
        rows.append(
            Row(
                f"{THREADS} threads instead of one: {what}, {count:,} events",
                f"{times:.2f} times as fast, {speed:.1f} M events/s, for {more:.2f} times the "
                f"processor time; {times / apart:.2f} of what {THREADS} processes give that share "
                f"nothing: {apart:.2f}; a loop that multiplies {mixed:.2f}, one that reads "
                f"{read:.2f}",
                f"at least {TIMES} times, or {OF_PROCESSES} of what {THREADS} processes give",
                times >= min(TIMES, OF_PROCESSES * apart),
            )
        )
    return rows
