"""Latency: the share of a slide's work that remains when its last event arrives.

Operators are fed with batches of 50 events of one key and close windows at the end of each slide of
5,000. The figure is the share of a slide's processor time that is spent in the call with its last
event and in closing; the first slides are not counted. Encoding is not included.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from benchmarks.measure import Row
from benchmarks.papers.trend_systems import encoded_runs
from elsinore.datasets.columns import START, named_codes
from elsinore.language import parse_workload
from elsinore.operators import plan
from elsinore.plan import Sharing

COMMAND = "python -m benchmarks latency"
BATCH, SLIDE = 50, 5_000  # events, a millisecond apart
SLIDES, WARM_UP = 8, 2
MOST = 10.0  # percent
SHARE = 0.95  # of events that are of the Kleene type
RISING = "WHERE b[i].v >= b[i-1].v"
NEXT = "STRATEGY SKIP TILL NEXT MATCH"
CONTIGUOUS = "STRATEGY CONTIGUOUS"


@dataclass(frozen=True, slots=True)
class Case:
    """Queries `SEQ(X_i, B+)`: what they return, their condition, windows and strategy."""

    name: str
    returns: str = "COUNT(*)"
    where: str = ""
    window: str = "WITHIN 10 seconds SLIDE 5 seconds"
    strategy: str = ""
    queries: int = 50

    def text(self) -> str:
        """Return the workload."""
        return "\n".join(
            f"QUERY q{number} RETURN {self.returns} PATTERN SEQ(X{number} x, B b+) {self.where} "
            f"{self.strategy} {self.window};"
            for number in range(self.queries)
        )


CASES = (
    Case("sums"),
    Case("sums, COUNT and AVG", returns="COUNT(*), AVG(b.v)"),
    Case("ranges", where=RISING),
    Case("ranges, tumbling windows", where=RISING, window="WITHIN 5 seconds"),
    Case("ranges, COUNT and AVG", returns="COUNT(*), AVG(b.v)", where=RISING),
    Case("steps, NEXT", where=RISING, window="WITHIN 5 seconds", strategy=NEXT, queries=5),
    Case("steps, CONTIGUOUS", where=RISING, window="WITHIN 5 seconds", strategy=CONTIGUOUS,
         queries=5),
)  # fmt: skip


def events(queries: int) -> pa.Table:
    """Return the stream: events of the Kleene type and now and then of a query's first type."""
    random = np.random.default_rng(1)
    count = SLIDE * SLIDES
    kinds = np.where(random.random(count) < SHARE, 0, random.integers(1, queries + 1, count))
    return pa.table(
        {
            "time": pa.array(START + np.arange(count) * 1_000).cast(pa.timestamp("us")),
            "type": named_codes(kinds, ["B", *(f"X{number}" for number in range(queries))]),
            "v": np.round(random.random(count), 3),
        }
    )


def main(quick: bool) -> list[Row]:
    """Measure all cases; with `quick` only those that return COUNT alone."""
    pa.set_cpu_count(1)
    return [measure(case) for case in CASES if not quick or case.returns == "COUNT(*)"]


def measure(case: Case) -> Row:
    """Measure the share of the last call in the work of a slide."""
    shares, whole = [], 0.0
    query_plan = plan(parse_workload(case.text()))
    runs = encoded_runs(query_plan, events(case.queries), Sharing.DYNAMIC)
    for slide in range(SLIDES):
        spent: list[float] = []
        for begin in range(slide * SLIDE, (slide + 1) * SLIDE, BATCH):
            batches = [run.events.batch(begin, begin + BATCH) for run in runs]
            is_last = begin + BATCH == (slide + 1) * SLIDE
            until = START + (slide + 1) * SLIDE * 1_000
            start = time.process_time()
            for run, batch in zip(runs, batches, strict=True):
                run.outputs.extend(run.operator.process(batch))
                if is_last:
                    run.outputs.extend(run.operator.close(until))
            spent.append(time.process_time() - start)
        if slide >= WARM_UP:
            shares.append(100 * spent[-1] / sum(spent))
            whole += sum(spent)
    share = statistics.median(shares)
    return _row(case.name, share, whole, shares)


def _row(name: str, share: float, whole: float, shares: Sequence[float]) -> Row:
    nanoseconds = whole / (len(shares) * SLIDE) * 1e9
    return Row(
        name,
        f"{share:.1f} % of a slide's work in its last call; {nanoseconds:,.0f} ns an event",
        f"at most {MOST:g} %",
        share <= MOST,
    )
