"""Times in whole seconds for 1,000 keys: nearly two in three events share theirs with others.

Part of `benchmarks regimes`: events a millisecond apart, and the same events with times cut to
seconds, each beside a compiled loop by hand that gives the same results
(`baselines/keyed_loop.py`). Warm, one core, encoding included; the least processor time of runs in
turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import pyarrow as pa

from benchmarks.baselines.keyed_loop import keyed_loop
from benchmarks.in_process import MANY, RETURNS, STEP, check_cells, events, queries, workload
from benchmarks.measure import Row, in_turn
from elsinore.local import run
from elsinore.runtime.options import RunOptions

EVENTS = 1_000_000
RUNS = 5
MOST = 1.3
SECOND = 10**6


def in_whole_seconds(table: pa.Table) -> pa.Table:
    """Return events whose times are cut to seconds."""
    times = table.column("time").combine_chunks().cast(pa.int64()).to_numpy() // SECOND * SECOND
    place = table.schema.get_field_index("time")
    return table.set_column(place, "time", pa.array(times).cast(table.schema.field(place).type))


def rows_of_tied_keys(quick: bool) -> list[Row]:
    """Measure; with `quick` a tenth of the events."""
    table = events(EVENTS // 10 if quick else EVENTS)
    streams = {"apart": table, "tied": in_whole_seconds(table)}
    rows = []
    for what, returns in RETURNS.items():
        for number in (1, MANY):
            ready, told, average = workload(number, returns), queries(number), "AVG" in what
            works: dict[str, Callable[[], object]] = {}
            for name, stream in streams.items():
                loop = partial(keyed_loop, stream, told, STEP, average=average, ties=name == "tied")
                engine = partial(run, ready, stream, RunOptions(threads=1))
                by_hand, found = loop(), engine()
                for query in range(number):
                    check_cells(found[f"q{query}"], by_hand[:, :, query], average=average)
                works |= {name: engine, f"loop {name}": loop}
            taken = {
                name: min(times) for name, times in in_turn(works, RUNS, time.process_time).items()
            }
            times = taken["tied"] / taken["apart"]
            loops = [f"{taken[f'loop {name}'] / taken[name]:.2f}" for name in ("tied", "apart")]
            rows.append(
                Row(
                    f"times in whole seconds, 1,000 keys, {number} queries, {what}, "
                    f"{table.num_rows:,} events",
                    f"{times:.2f} times as long as without ties; the Numba loop takes {loops[0]} "
                    f"times as long, without ties {loops[1]} times",
                    f"at most {MOST}",
                    times <= MOST,
                )
            )
    return rows
