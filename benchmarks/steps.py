"""Trends under SKIP TILL NEXT MATCH and CONTIGUOUS, step by step, against a loop by hand.

`SEQ(A, B+, C)` by key, with and without `b[i].v >= b[i-1].v`: one query, warm, in process, on one
core, from an Arrow table, encoding included; and the same with SUM, AVG and MAX beside COUNT. The
rival is `baselines/step_loops.py`; results are compared. Then 50 queries of one shape,
`SEQ(X_i, B+)`, which are lanes of one sweep: beside one of them, and beside 50 separate runs.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa

from benchmarks.baselines.step_loops import stepped, summed
from benchmarks.graph import KEYS, ON_ONE, RUNS, keyed_events
from benchmarks.measure import Row, assert_same, in_turn, ratio
from elsinore.language import parse_workload
from elsinore.local import run
from elsinore.operators import plan
from elsinore.plan import Sharing
from elsinore.runtime.options import RunOptions

COMMAND = "python -m benchmarks steps"
EVENTS = 10_000_000
LIKELY = (0.15, 0.6, 0.15, 0.1)  # A, B, C, D
STRATEGIES = ("SKIP TILL NEXT MATCH", "CONTIGUOUS")
QUERIES = 50
ONE_OF_MANY = """QUERY q{number} RETURN key, COUNT(*) AS trends PATTERN SEQ(X{number} x, B b+)
STRATEGY {strategy} GROUP BY key;"""
QUERY = """QUERY q RETURN key, COUNT(*){more} PATTERN SEQ(A a, B b+, C c) {where}
STRATEGY {strategy} GROUP BY key;"""
RISING = "WHERE b[i].v >= b[i-1].v"
AGGREGATES = ", SUM(b.v), AVG(b.v), MAX(b.v)"


def main(quick: bool) -> list[Row]:
    """Measure; with `quick` a tenth of the events."""
    pa.set_cpu_count(1)
    count = EVENTS // 10 if quick else EVENTS
    table = keyed_events(count, LIKELY)
    asked = [(s, where) for s in STRATEGIES for where in ("", RISING)]
    return [
        *(beside_loop(table, *one, more) for more in ("", AGGREGATES) for one in asked),
        *(_lanes(strategy, count // 10) for strategy in STRATEGIES),
    ]


def beside_loop(
    table: pa.Table,
    strategy: str,
    where: str,
    more: str,
    clock: Callable[[], float] = time.perf_counter,
) -> Row:
    """Measure one query beside the loop."""
    query_plan = plan(parse_workload(QUERY.format(where=where, strategy=strategy, more=more)))
    by_hand = partial(summed if more else stepped, table, strategy == "CONTIGUOUS", bool(where))
    _assert_found(run(query_plan, table, ON_ONE)["q"], by_hand())
    seconds = in_turn(
        {"steps": lambda: run(query_plan, table, ON_ONE), "loop": by_hand}, RUNS, clock
    )
    speed = len(table) / statistics.median(seconds["steps"]) / 1e6
    times = ratio(seconds["steps"], seconds["loop"])
    return Row(
        f"`{strategy}`{', rising neighbours' * bool(where)}{', SUM, AVG and MAX too' * bool(more)}"
        f", {len(table):,} events, {KEYS:,} keys",
        f"{speed:.1f} M events/s; {times:.2f} times a loop by hand",
        "at most 2 times a loop",
        times <= 2,
    )


def _assert_found(found: pa.Table, by_hand: dict[int, object]) -> None:
    """Compare a query's results with what was found by hand, numbers to nine digits."""
    windows = ["window_start", "window_end"]
    keys, *columns = (column.to_numpy() for column in found.drop_columns(windows).columns)
    order = np.argsort(keys)
    expected = np.array(list(by_hand.values())).reshape(len(by_hand), -1)
    same = keys[order].tolist() == list(by_hand)
    if not (same and np.allclose(np.column_stack(columns)[order], expected, rtol=1e-9, atol=0)):
        raise AssertionError("the engine and the loop disagree")


def _lanes(strategy: str, count: int) -> Row:
    """Measure queries of one shape together, one of them, and all one by one."""
    random = np.random.default_rng(3)
    names = pa.array(["B", *(f"X{number}" for number in range(QUERIES))])
    kinds = np.where(random.random(count) < 0.5, 0, random.integers(1, QUERIES + 1, count))
    table = pa.table(
        {
            "time": pa.array(np.arange(count) * 1_000).cast(pa.timestamp("us")),
            "type": pa.DictionaryArray.from_arrays(pa.array(kinds.astype(np.int32)), names),
            "key": random.integers(0, KEYS, count),
        }
    )
    texts = [ONE_OF_MANY.format(number=n, strategy=strategy) for n in range(QUERIES)]
    one, many = plan(parse_workload(texts[0])), plan(parse_workload("\n".join(texts)))
    alone = RunOptions(threads=1, sharing=Sharing.NEVER)
    assert_same(run(many, table, ON_ONE), run(many, table, alone))
    seconds = in_turn(
        {
            "one": lambda: run(one, table, ON_ONE),
            "many": lambda: run(many, table, ON_ONE),
            "alone": lambda: run(many, table, alone),
        },
        RUNS,
    )
    times = ratio(seconds["many"], seconds["one"])
    return Row(
        f"`{strategy}`, {QUERIES} queries of one shape, {count:,} events, {KEYS:,} keys",
        f"{times:.1f} times one query; {ratio(seconds['alone'], seconds['many']):.1f} times as "
        "long one by one",
        f"at most {QUERIES // 5} times one",
        times <= QUERIES // 5,
    )
