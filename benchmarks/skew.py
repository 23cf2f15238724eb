"""One group with 80 % of the events on Spark: cut by panes and folded, against left whole.

Both are forced. Whether a key is cut is decided by what is expected to pay on so many cores, and
that should be the one that is done sooner.
"""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measure import Row, in_turn, ratio
from elsinore.language import parse_workload
from elsinore.operators import kind_for, plan
from elsinore.runtime.options import RunOptions

EVENTS = 10_000_000
RUNS = 3
COMMAND = "python -m benchmarks skew"
QUERY = """QUERY q RETURN key, LOG2(COUNT(*)), AVG(b.v) PATTERN SEQ(A a, B b+, C c) GROUP BY key
WITHIN 100 seconds SLIDE 50 seconds;"""
CORES = 2
NEVER = 0  # no key is cut, however many events it has
NEARLY = 1.1  # one takes no longer than the other if it is that close


def events(count: int) -> pa.Table:
    """Return events a millisecond apart, four in five of one key."""
    random = np.random.default_rng(23)
    return pa.table(
        {
            "time": pa.array(np.arange(count) * 1_000).cast(pa.timestamp("us")),
            "type": np.array(list("ABC"))[random.integers(0, 3, count)],
            "key": np.where(random.random(count) < 0.8, 0, random.integers(1, 1_000, count)),
            "v": random.random(count),
        }
    )


def main(quick: bool) -> list[Row]:
    """Measure wall-clock seconds, warm; with `quick` a tenth of the events."""
    from elsinore.spark import skew  # noqa: PLC0415
    from elsinore.spark.driver import run  # noqa: PLC0415
    from elsinore.spark.session import local_session  # noqa: PLC0415

    count = EVENTS // 10 if quick else EVENTS
    ready = plan(parse_workload(QUERY))
    with tempfile.TemporaryDirectory() as folder, local_session(f"local[{CORES}]") as spark:
        path = str(Path(folder) / "events.parquet")
        pq.write_table(events(count), path)

        def rows(least: int) -> list[tuple[object, ...]]:
            results = run(ready, spark.read.parquet(path), RunOptions(skew_events=least))
            found = [tuple(row) for row in results["q"].collect()]
            spark.catalog.clearCache()
            return found

        cut, whole = count // 10, NEVER
        size = kind_for(ready.units[0]).panes(ready.units[0]).size
        chosen = skew.pays(size, 0.8 * count, count, CORES * skew.PANES_PER_CORE, CORES)
        with mock.patch.object(skew, "pays", return_value=True):
            taken = in_turn({"cut": lambda: rows(cut), "whole": lambda: rows(whole)}, RUNS)
            _check(rows(cut), rows(whole))
    times = ratio(taken["whole"], taken["cut"])
    sooner = times if chosen else 1 / times
    seconds = {name: statistics.median(values) for name, values in taken.items()}
    return [
        Row(
            f"{count:,} events, 80 % in one group, {CORES} cores: "
            f"cut {seconds['cut']:.1f} s, whole {seconds['whole']:.1f} s",
            f"whole takes {times:.2f} times as long; {'cut' if chosen else 'whole'} is chosen",
            "the sooner one is chosen",
            sooner * NEARLY >= 1,
        )
    ]


def _check(ones: list[tuple[object, ...]], others: list[tuple[object, ...]]) -> None:
    """Compare results, numbers to nine digits."""
    if len(ones) != len(others) or not ones:
        raise AssertionError("other groups or windows when keys are cut")
    for one, other in zip(ones, others, strict=True):
        for a, b in zip(one, other, strict=True):
            same = abs(a - b) <= 1e-9 * abs(a) if isinstance(a, float) else a == b
            if not same:
                raise AssertionError(f"{one} differs from {other}")
