"""The coarse engine in process, on one core: against a plain Python loop, and with 50 queries."""

from __future__ import annotations

import itertools
import statistics

import numpy as np
import pyarrow as pa

from benchmarks.measure import Row, in_turn, ratio, seconds
from elsinore.language import parse_workload
from elsinore.local import run
from elsinore.operators import plan
from elsinore.runtime.options import RunOptions

EVENTS = 10_000_000
KEYS = 1_000
TYPES = "ABCD"
RUNS = 5
COMMAND = "python -m benchmarks in_process"

QUERY = """QUERY {name} RETURN key, COUNT(*), AVG(b.v)
PATTERN SEQ({first} a, {many} b+, {last} c) GROUP BY key WITHIN 1000 seconds;"""


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


def workload(queries: int) -> str:
    """Return one query, or many that differ in the types they begin, go on and end with."""
    names = (
        itertools.islice(itertools.product(TYPES, repeat=3), queries) if queries > 1 else ["ABC"]
    )
    return "\n".join(
        QUERY.format(name=f"q{number}", first=first, many=many, last=last)
        for number, (first, many, last) in enumerate(names)
    )


def dictionary_loop(table: pa.Table) -> dict[tuple[int, int], list[float]]:
    """Count the trends of SEQ(A a, B b+, C c), and sum and number of b.v, as one would by hand."""
    state: dict[tuple[int, int], list[float]] = {}
    times = table.column("time").cast(pa.int64()).to_pylist()
    columns = [table.column(name).to_pylist() for name in ("type", "key", "v")]
    for time, kind, key, value in zip(times, *columns, strict=True):
        place = (key, time // 1_000_000_000)
        cells = state.get(place)
        if cells is None:
            cells = state[place] = [0.0] * 7
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
    return {place: cells for place, cells in state.items() if cells[4]}


def main(quick: bool) -> list[Row]:
    """Measure; with `quick` a tenth of the events."""
    pa.set_cpu_count(1)
    count = EVENTS // 10 if quick else EVENTS
    table = events(count)
    options = RunOptions()
    one, fifty = plan(parse_workload(workload(1))), plan(parse_workload(workload(50)))
    taken = in_turn(
        {"one": lambda: run(one, table, options), "fifty": lambda: run(fifty, table, options)},
        RUNS,
    )
    by_hand = seconds(lambda: dictionary_loop(table))
    _check(run(one, table, options)["q0"], dictionary_loop(table))
    best = statistics.median(taken["one"])
    speed, times, many = count / best / 1e6, by_hand / best, ratio(taken["fifty"], taken["one"])
    return [
        Row(
            f"`SEQ(A a, B b+, C c)`, COUNT(*) and AVG, {count:,} events, {KEYS:,} keys, one core",
            f"{speed:.1f} M events/s",
            "at least 10 M events/s",
            speed >= 10,
        ),
        Row(
            "the same by a plain Python loop over dictionaries",
            f"{times:.1f} times as long",
            "at least 3",
            times >= 3,
        ),
        Row("50 queries instead of one", f"{many:.1f} times as long", "at most 6", many <= 6),
    ]


def _check(result: pa.Table, by_hand: dict[tuple[int, int], list[float]]) -> None:
    """Refuse to report the speed of a wrong answer."""
    starts = result.column("window_start").cast(pa.int64()).to_pylist()
    columns = [result.column(name).to_pylist() for name in ("key", "count(*)", "avg(b.v)")]
    found = {
        (key, start // 1_000_000_000): (trends, average)
        for start, key, trends, average in zip(starts, *columns, strict=True)
    }
    if found.keys() != by_hand.keys():
        raise AssertionError("the engine and the loop disagree on the groups")
    for place, cells in by_hand.items():
        wanted = (cells[4], cells[5] / cells[6])
        if not np.allclose(found[place], wanted, rtol=1e-9):
            raise AssertionError(f"{place}: {found[place]} instead of {wanted}")
