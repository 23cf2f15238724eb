"""What the operator costs on Spark: processor seconds of the job against the same without it.

The whole job is scan, classification, shuffle, sort and operator, then the result. It is compared
with the same scan, classification, shuffle and sort, once with a function that hands every batch
back (identity), and once with one that only takes the batches, the least that any Python function
costs. Warm, in one session, in turn.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.in_process import EVENTS, events, workload
from benchmarks.measure import Row
from benchmarks.processes import cpu_seconds
from elsinore.language import parse_workload
from elsinore.operators import plan
from elsinore.runtime.options import RunOptions
from elsinore.spark.driver import Events, prepare, run
from elsinore.spark.session import local_session

RUNS = 3
COMMAND = "python -m benchmarks spark_overhead"


def main(quick: bool) -> list[Row]:
    """Measure; with `quick` a tenth of the events."""
    count = EVENTS // 10 if quick else EVENTS
    planned = plan(parse_workload(workload(1)))
    options = RunOptions()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "events.parquet")
        pq.write_table(events(count), path, row_group_size=1_000_000)
        spark = local_session("local[2]")
        try:
            frame = spark.read.parquet(path)

            def whole() -> None:
                result = run(planned, frame, options)["q0"]
                result.write.format("noop").mode("overwrite").save()
                spark.catalog.clearCache()

            def identity() -> None:
                ready = prepare(planned.units, Events(frame, options))
                ready.mapInArrow(_hand_back, ready.schema).write.format("noop").mode(
                    "overwrite"
                ).save()

            def take() -> None:
                ready = prepare(planned.units, Events(frame, options))
                ready.mapInArrow(_take, "rows bigint").write.format("noop").mode("overwrite").save()

            taken = _in_turn({"whole": whole, "identity": identity, "take": take})
        finally:
            spark.stop()
    seconds = {name: statistics.median(values) for name, values in taken.items()}
    against_identity = statistics.median(
        a / b for a, b in zip(taken["whole"], taken["identity"], strict=True)
    )
    against_take = statistics.median(
        a / b for a, b in zip(taken["whole"], taken["take"], strict=True)
    )
    return [
        Row(
            f"whole job, {count:,} events ({seconds['whole']:.1f} CPU s), against the identity "
            f"function ({seconds['identity']:.1f} CPU s)",
            f"{against_identity:.2f} times",
            "at most 1.35",
            against_identity <= 1.35,
        ),
        Row(
            f"whole job against a function that only takes batches ({seconds['take']:.1f} CPU s)",
            f"{against_take:.2f} times",
            "at most 1.35",
            against_take <= 1.35,
        ),
    ]


def _in_turn(runs: dict[str, Callable[[], None]]) -> dict[str, list[float]]:
    """Return the processor seconds of several runs in turn, after an uncounted one of each."""
    for run_once in runs.values():
        run_once()
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(RUNS):
        for name, run_once in runs.items():
            before = cpu_seconds()
            run_once()
            taken[name].append(cpu_seconds() - before)
    return taken


def _hand_back(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def _take(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield pa.RecordBatch.from_pydict({"rows": [sum(batch.num_rows for batch in batches)]})
