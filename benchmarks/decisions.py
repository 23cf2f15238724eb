"""Deciding burst by burst: regimes where sharing pays, where it does harm, and a mixture of both.

Queries `SEQ(X_i, B+)` whose predicates `b.v < t_i` agree on all events of a calm burst and differ
on most events of a restless one. Granularity `fine`, which keeps every event, as in the paper's
figures. `dynamic` is measured against `always` and `never` in one run; results are compared.
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
from elsinore.plan import Granularity, Plan, Sharing
from elsinore.runtime.options import RunOptions

EVENTS = 200_000
QUERIES = 60
BURST = 120  # the paper's average burst in the stock data
RUNS = 5
COMMAND = "python -m benchmarks decisions"
QUERY = """QUERY q{number} RETURN COUNT(*), SUM(b.v) PATTERN SEQ(X{number} x, B b+)
WHERE b.v < {cut} WITHIN 10 seconds;"""


def events(count: int, restless: float) -> pa.Table:
    """Return bursts of B, an X of each of a few queries between them.

    `restless` is the share of bursts whose values lie between the predicates' constants.
    """
    random = np.random.default_rng(17)
    bursts = count // (BURST + 4)
    kinds, values = [], []
    for _ in range(bursts):
        kinds += [1 + int(n) for n in random.integers(0, QUERIES, 4)] + [0] * BURST
        stirred = random.random() < restless
        values += [0.0] * 4
        values += (random.random(BURST) * QUERIES if stirred else np.zeros(BURST)).tolist()
    names = pa.array(["B", *(f"X{number}" for number in range(QUERIES))])
    return pa.table(
        {
            "time": pa.array(np.arange(len(kinds)) * 1_000).cast(pa.timestamp("us")),
            "type": pa.DictionaryArray.from_arrays(pa.array(kinds, pa.int32()), names),
            "v": values,
        }
    )


def workload() -> Plan:
    """Return the plan of the queries, every event kept."""
    text = "\n".join(QUERY.format(number=n, cut=n + 1) for n in range(QUERIES))
    return plan(parse_workload(text), granularity=Granularity.FINE)


def _deciding(ready: Plan, table: pa.Table) -> float:
    """Return the share of a run that decisions take."""
    began = time.perf_counter()
    sharing = run(ready, table, RunOptions()).statistics[0].sharing
    return sum(one.decision_seconds for one in sharing) / (time.perf_counter() - began)


def main(quick: bool) -> list[Row]:
    """Measure; with `quick` a tenth of the events."""
    pa.set_cpu_count(1)
    count = EVENTS // 10 if quick else EVENTS
    ready = workload()
    rows = []
    spent = []
    for name, restless in (("sharing pays", 0.0), ("sharing harms", 1.0), ("mixture", 0.5)):
        table = events(count, restless)
        taken = in_turn(
            {
                mode.value: lambda mode=mode, table=table: run(
                    ready, table, RunOptions(sharing=mode)
                )
                for mode in Sharing
            },
            RUNS,
        )
        alone = run(ready, table, RunOptions(sharing=Sharing.NEVER))
        for mode in (Sharing.DYNAMIC, Sharing.ALWAYS):
            assert_same(run(ready, table, RunOptions(sharing=mode)), alone)
        against = {mode: ratio(taken[mode], taken["dynamic"]) for mode in ("always", "never")}
        told = ", ".join(f"{mode} takes {times:.2f} times" for mode, times in against.items())
        least = min(against.values())
        target = 1.2 if name == "mixture" else 1 / 1.1
        rows.append(
            Row(
                f"{name}: {table.num_rows:,} events, {QUERIES} queries",
                f"{told} as long as dynamic",
                f"both at least {target:.2f}",
                least >= target,
            )
        )
        spent.append(statistics.median(_deciding(ready, table) for _ in range(RUNS)))
    rows.append(
        Row(
            "time spent on decisions, at most over the regimes",
            f"{100 * max(spent):.2f} % of the run",
            "at most 1 %",
            max(spent) <= 0.01,
        )
    )
    return rows
