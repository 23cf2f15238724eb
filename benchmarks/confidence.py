"""Matches with uncertain times, in process, on one core: intervals of 10 units, many thresholds.

`SEQ(A a, B+ b, C c)` with rising values, random types and an event every 3 units, so that three or
four intervals overlap. Thresholds range from none to 0.999. The rival is given the matches and
computes their confidences naively, world by world (SASE++, Section 4). Results are compared. Wall
time in seconds, warm.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.baselines.worlds import confidences
from benchmarks.measure import Row
from elsinore.workload import Workload

EVENTS = 60_000
FEW = 300  # events of which every match's worlds are looked at
INTERVAL = 10
STEP = 3
COMMAND = "python -m benchmarks confidence"
QUERY = """RETURN EVENT_IDS(n) AS events, CONFIDENCE() AS p PATTERN SEQ(A a, B{{1,3}} b, C c)
WHERE b[i].v >= b[i-1].v WITHIN {within} {threshold}"""


def events(count: int) -> pa.Table:
    """Return events with intervals; `n` tells them apart."""
    drawn = np.random.default_rng(7)
    low = np.cumsum(drawn.integers(0, 2 * STEP + 1, count))
    return pa.table(
        {
            "n": np.arange(count),
            "low": low,
            "high": low + INTERVAL - 1,
            "type": pa.array(np.array(list("ABC"))[drawn.integers(0, 3, count)]),
            "v": drawn.random(count),
        }
    )


def matches(table: pa.Table, within: int, threshold: float) -> tuple[pa.Table, float]:
    """Return the matches of a threshold, and how many seconds they took."""
    asked = f"CONFIDENCE >= {threshold}" if threshold else ""
    workload = Workload.parse(QUERY.format(within=within, threshold=asked))
    start = time.perf_counter()
    (found,) = workload.run(table, time_interval=("low", "high")).values()
    return found, time.perf_counter() - start


def naive(table: pa.Table, found: pa.Table, within: int) -> tuple[Any, float]:
    """Return the confidences of matches by their worlds, and how many seconds they took."""
    low, high = table["low"].to_numpy(), table["high"].to_numpy()
    start = time.perf_counter()
    values = confidences(found["events"], low, high, within)
    return values, time.perf_counter() - start


def main(quick: bool) -> list[Row]:
    """Measure; with `quick` a tenth of the events."""
    rows = []
    table, few = events(EVENTS // 10 if quick else EVENTS), events(FEW)
    warm = few.slice(0, 30)
    found, _ = matches(warm, 60, 0.5)
    naive(warm, found, 60)
    matches(table.slice(0, 3_000), 60, 0.5)
    for within in (30, 60):
        everything, seconds = matches(few, within, 0.0)
        values, by_worlds = naive(few, everything, within)
        np.testing.assert_allclose(everything["p"].to_numpy(), values, rtol=1e-9)
        rows.append(
            Row(
                f"W = {within}: all {len(everything):,} matches of {len(few)} events, "
                "confidences by worlds against the recurrence (search included)",
                f"{by_worlds:.2f} s against {seconds:.2f} s: {by_worlds / seconds:.0f} times",
                "the same confidences; more",
                by_worlds > seconds,
            )
        )
    for within in (30, 60):
        for threshold in (0.0, 0.7, 0.9, 0.99, 0.999):
            found, seconds = matches(table, within, threshold)
            rows.append(
                Row(
                    f"W = {within}, threshold {threshold}: {len(table):,} events, "
                    f"{len(found):,} matches",
                    f"{seconds:.2f} s, {len(table) / seconds:,.0f} events/s",
                    "told",
                    met=True,
                )
            )
    return rows
