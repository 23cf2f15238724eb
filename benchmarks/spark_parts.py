"""Where the time of a run on Spark goes: processor seconds of the parts of its two stages.

What a task does in Python is done here again, part by part, over the same splits: reading row
groups, computing classes, packing by key, merging, and the operator. Beside it stands what Spark
spends: processor seconds of the JVM and of its Python workers in a whole run, warm.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from benchmarks.processes import cpu_seconds
from benchmarks.spark import KEYS, Stream, text_of, workload
from elsinore.words import count

COMMAND = "python -m benchmarks.spark_parts"
EVENTS = 10_000_000


def main() -> None:
    """Measure the parts of one run and print them as a table in Markdown."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--keys", type=int, default=KEYS)
    parser.add_argument("--queries", type=int, default=1)
    given = parser.parse_args()
    print("\n".join(_lines(Stream(events=given.events, keys=given.keys), given.queries)))


def table(quick: bool) -> list[str]:
    """Return the table of one query; with `quick` a tenth of the events."""
    return _lines(Stream(events=EVENTS // 10 if quick else EVENTS, keys=KEYS), 1)


def _lines(stream: Stream, queries: int) -> list[str]:
    what = f"{stream.events:,} events, {stream.keys:,} keys, {count(queries, 'query', 'queries')}"
    lines = [f"| {what} | CPU s |", "|---|---|"]
    return lines + [f"| {name} | {each:.1f} |" for name, each in parts(stream, queries).items()]


def parts(stream: Stream, queries: int) -> dict[str, float]:
    """Return the processor seconds of each part of a run over a stream in a file."""
    from elsinore.language import parse_workload  # noqa: PLC0415
    from elsinore.operators import plan  # noqa: PLC0415
    from elsinore.plan.modes import Combine, Scan  # noqa: PLC0415
    from elsinore.runtime.options import RunOptions  # noqa: PLC0415
    from elsinore.spark.events import Events  # noqa: PLC0415
    from elsinore.spark.passes import selected_events  # noqa: PLC0415
    from elsinore.spark.scan.source import task_of  # noqa: PLC0415
    from elsinore.spark.session import local_session  # noqa: PLC0415
    from elsinore.spark.shuffle import layout_of  # noqa: PLC0415

    asked = workload(queries)
    with tempfile.TemporaryDirectory() as folder, local_session("local[2]") as spark:
        path = str(Path(folder) / "events.parquet")
        stream.write(path)
        frame = spark.read.parquet(path)
        found = {}
        for scan in ("arrow", "spark"):
            for _ in range(2):  # the first warms
                java, workers = cpu_seconds("java"), cpu_seconds("python")
                with asked.run(frame, scan=scan) as results:
                    for result in results.values():
                        result.toArrow()
            whose = "tasks read" if scan == "arrow" else "Spark reads"
            found[f"{whose}: JVM"] = cpu_seconds("java") - java
            found[f"{whose}: Python workers"] = cpu_seconds("python") - workers
        options = RunOptions(scan=Scan.ARROW, combine=Combine.NEVER)
        units = plan(parse_workload(text_of(queries))).units
        layout = layout_of(selected_events(units, Events(frame, options)).schema)
        task, _ = task_of(frame, units, options, layout)
        return found | _in_python(task)


def _in_python(task: object) -> dict[str, float]:
    """Return what each part of both stages takes in Python, all splits one after another."""
    from elsinore.operators import OperatorOptions, kind_for  # noqa: PLC0415
    from elsinore.runtime.columnar import Merging  # noqa: PLC0415
    from elsinore.spark.scan.files import read  # noqa: PLC0415
    from elsinore.spark.scan.tasks import ScanAndPack  # noqa: PLC0415

    assert isinstance(task, ScanAndPack)
    found = dict.fromkeys(["read", "classify", "pack", "merge", "operator"], 0.0)
    by_target: dict[int, list[pa.Array]] = {}
    for groups in task.splits:
        found["read"] += _spent(read(groups, task.columns, task.dictionary_columns, task.condition))
        start = time.process_time()
        events = list(task.selected(groups))
        found["classify"] += time.process_time() - start
        start = time.process_time()
        packed = list(task.packing(events))
        found["pack"] += time.process_time() - start
        for batch in packed:
            for target in set(batch.column("pid").to_pylist()):
                mine = batch.filter(pa.compute.equal(batch.column("pid"), target))
                by_target.setdefault(target, []).append(mine.column("blob"))
    found["classify"] -= found["read"]
    for blobs in by_target.values():
        start = time.process_time()
        merging = Merging(task.packing.layout, len(task.units[0].group_by))
        for blob in blobs:
            merging.add(blob)
        batches = list(merging.batches())
        found["merge"] += time.process_time() - start
        for unit in task.units:
            operator = kind_for(unit).operator(unit, OperatorOptions(one_slot=True))
            start = time.process_time()
            _ = [list(operator.process(_given(task, batch))) for batch in batches]
            _ = list(operator.close())
            found["operator"] += time.process_time() - start
    return {f"in Python: {name}": seconds for name, seconds in found.items()}


def _given(task: object, batch: object) -> pa.RecordBatch:
    """Return events as the operator of the first unit reads them."""
    from elsinore.runtime.columnar import SortedEvents  # noqa: PLC0415
    from elsinore.runtime.travelling import read_columns  # noqa: PLC0415
    from elsinore.spark.scan.tasks import ScanAndPack  # noqa: PLC0415

    assert isinstance(task, ScanAndPack)
    assert isinstance(batch, SortedEvents)
    return pa.RecordBatch.from_pydict(
        {
            "key": pa.array(batch.key),
            "group": pa.array(batch.group),
            "time": batch.events.column("time"),
            "class": batch.events.column("class0").cast(pa.int64()),
        }
        | read_columns(task.units, batch.events, task.units[0])
    )


def _spent(work: Iterable[object]) -> float:
    start = time.process_time()
    for _ in work:
        pass
    return time.process_time() - start


if __name__ == "__main__":
    main()
