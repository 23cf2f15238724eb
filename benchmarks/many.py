"""Ten thousand queries in one workload, `SEQ(X_i, B+)`: from text to results in a new process.

200,000 events, of which one in twenty is an X of some query. All figures are processor time. A
process's first run includes deriving the updates by each class of events. The baseline is a
loop over the queries of each event (`baselines/plain_loop.py`); its table of types is prepared, and
it is compiled by Numba beforehand.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import elsinore as el
from benchmarks.measure import Row, seconds

EVENTS = 200_000
QUERIES = 10_000
SPAN = 60  # seconds
RUNS = 3
COMMAND = "python -m benchmarks many"
QUERY = """QUERY q{number} RETURN LOG2(COUNT(*)) AS trends PATTERN SEQ(X{number} x, B b+)
WITHIN {span} seconds;"""
CHILD = "import sys; from benchmarks.many import measured; measured(int(sys.argv[1]), sys.argv[2])"


def kinds_of(count: int) -> NDArray[np.int32]:
    """Return the kinds of events a millisecond apart: 0 for B, 1 + q for X of query q."""
    random = np.random.default_rng(0)
    queries = random.integers(1, 1 + QUERIES, count)
    return np.where(random.random(count) < 0.05, queries, 0).astype(np.int32)


def table_of(count: int) -> pa.Table:
    """Return the events, their types a dictionary."""
    names = pa.array(["B", *(f"X{number}" for number in range(QUERIES))])
    return pa.table(
        {
            "time": pa.array(np.arange(count) * 1_000).cast(pa.timestamp("us")),
            "type": pa.DictionaryArray.from_arrays(pa.array(kinds_of(count)), names),
            "v": np.zeros(count),
        }
    )


def measured(count: int, place: str) -> None:
    """Parse, plan and run; write what that took, and the results, into a folder."""
    warnings.simplefilter("ignore", el.NoRowsWarning)  # of queries whose types no drawn event has
    table = table_of(count).drop_columns(["v"])
    table = table.set_column(1, "type", table.column("type").cast(pa.string()))
    text = "\n".join(QUERY.format(number=number, span=SPAN) for number in range(QUERIES))
    start = time.process_time()
    workload = el.Workload.parse(text)
    parsed = time.process_time()
    workload.planned()
    planned = time.process_time()
    results = workload.run(table, threads=1)
    took = [parsed - start, planned - parsed, time.process_time() - planned]
    took.append(seconds(lambda: workload.run(table, threads=1), time.process_time))
    logs = _logs([results[f"q{number}"].frame for number in range(QUERIES)], count)
    np.save(Path(place) / "logs.npy", logs)
    (Path(place) / "took.json").write_text(json.dumps(took))


def _logs(tables: list[pa.Table], count: int) -> NDArray[np.float64]:
    """Return the logarithms of the counts by window and query."""
    logs = np.full((_windows(count), len(tables)), -np.inf)
    for query, table in enumerate(tables):
        starts = table.column("window_start").cast(pa.int64()).to_numpy()
        logs[starts // (SPAN * 1_000_000), query] = table.column("trends").to_numpy()
    return logs


def _windows(count: int) -> int:
    return (count - 1) // (SPAN * 1_000) + 1


def in_new_process(count: int, place: Path) -> tuple[list[float], NDArray[np.float64]]:
    """Return what parsing, planning, a first and a second run took, and the results.

    Python's own files of bytecode are kept as in any installation.
    """
    environment = {n: v for n, v in os.environ.items() if n != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(place / "bytecode")
    subprocess.run(
        [sys.executable, "-c", CHILD, str(count), str(place)], env=environment, check=True
    )
    return json.loads((place / "took.json").read_text()), np.load(place / "logs.npy")


def main(quick: bool) -> list[Row]:
    """Measure; with `quick` a tenth of the events."""
    from benchmarks.baselines.plain_loop import plain_loop  # noqa: PLC0415 - loads Numba

    count = EVENTS // 10 if quick else EVENTS
    table = table_of(count)
    cuts = [np.inf] * QUERIES
    plain_loop(table.slice(0, 100), cuts, SPAN * 1_000_000)
    expected = plain_loop(table, cuts, SPAN * 1_000_000)
    by_hand, taken = [], []
    with tempfile.TemporaryDirectory() as folder:
        in_new_process(count, Path(folder))  # for the bytecode
        for _ in range(RUNS):
            by_hand.append(
                seconds(lambda: plain_loop(table, cuts, SPAN * 1_000_000), time.process_time)
            )
            took, logs = in_new_process(count, Path(folder))
            taken.append(took)
            if not np.allclose(logs, expected, rtol=1e-9):
                raise AssertionError("the results differ from those of the loop by hand")
    parse, plan, first, second = (statistics.median(each) for each in zip(*taken, strict=True))
    loop = statistics.median(by_hand)
    return [
        Row(
            f"{QUERIES:,} queries, from text to plan",
            f"{parse:.2f} s to parse, {plan:.2f} s to plan",
            "at most 6 s",
            parse + plan <= 6,
        ),
        Row(
            f"{count:,} events, the first run of the process",
            f"{first:.2f} s; the loop by hand {loop:.2f} s",
            "at most 2 s",
            first <= 2,
        ),
        Row("the same again", f"{second:.2f} s", "-", True),
    ]
