"""Live streams: 20 trend queries that share B+, over 1,000 groups, on two cores.

`folder`: Parquet files that are there already, a million events in a micro-batch, read on Spark and
in this process. The rivals read the same files in the same run: the identity (the same source and
packing, buckets that only count bytes), Spark's own count by group and window, and events as rows
through `applyInPandasWithState` (`baselines/stream_rivals.py`). Results are compared with those of
a batch run, those of events as rows for the windows that both have.
`kafka`: messages in JSON from two partitions, with the broker on the same cores.
`moving`: keys that have ten events each and are never seen again.
`latency`: 20,000 events a second with the machine's times, windows of a second; from the moment at
which the file with the last event of a window can be seen to that at which its result is written.
`sustained`, with `--minutes`: events that another process adds meanwhile, at the rates that are the
targets, with micro-batches every 2 seconds. Its processor time includes that process.
Processor time is that of the whole process tree; the first two micro-batches are not counted.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.baselines import stream_rivals
from benchmarks.live import ways
from benchmarks.live.events import EVENTS_OF_A_KEY, workload, write_folder
from benchmarks.live.latency import latencies
from benchmarks.live.marks import Memory, Rate
from benchmarks.live.ways import Results
from benchmarks.measure import Row, assert_same
from benchmarks.processes import peak_memory, python_peak_megabytes
from elsinore.connectors.places import FolderPlace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COMMAND = "python -m benchmarks stream"
BATCH = 1_000_000  # events of a micro-batch
BATCHES = 12
ROWS_BATCHES = 5  # of these, for events as rows
GROWTH = 1.25  # of memory and state after the first half: more would mean that keys are kept
PARTS = ("folder", "kafka", "moving", "latency")
SUSTAINED = "sustained"
AS_IDENTITY = 1.8  # times the identity's processor time, at most


def main(quick: bool, parts: Sequence[str] = (), minutes: float | None = None) -> list[Row]:
    """Measure some parts; with `quick` a tenth of the events. minutes: also what is sustained."""
    from benchmarks.live.sustained import sustained  # noqa: PLC0415
    from elsinore.spark.session import local_session  # noqa: PLC0415

    batch = BATCH // 10 if quick else BATCH
    # first what runs in this process: processor time is that of all processes
    rows = [] if minutes is None else sustained(None, minutes)
    with local_session("local[2]") as spark:
        for part in parts or PARTS:
            if part != SUSTAINED:  # which `minutes` asks for
                rows += CASES[part](spark, batch)
        if minutes is not None:
            rows += sustained(spark, minutes)
    return rows


def from_folder(spark: SparkSession, batch: int) -> list[Row]:
    """Measure streams that read files of a micro-batch each, and their rivals."""
    queries = workload()
    with files(BATCHES, batch) as folder:
        place = FolderPlace(folder=str(folder))
        local, expected = ways.in_process(queries, place, batch)
        whole = {name: result.to_arrow() for name, result in queries.run(str(folder)).items()}
        assert_same(ordered(expected), ordered(whole))
        on_spark, rows = ways.on_spark(queries, place, spark, batch)
        assert_same(ordered(rows), ordered(expected))
        identity = ways.identity_on_spark(queries, place, spark, batch)
        count, _ = stream_rivals.windowed_count(spark, folder, batch)
        for file in sorted(folder.iterdir())[ROWS_BATCHES:]:  # the slowest gets the first files
            file.unlink()
        by_hand, rows = stream_rivals.events_as_rows(spark, folder, batch)
        assert_same(ordered(rows), ordered(those_of(expected, rows)))
    return [
        speed("a folder on Spark", on_spark.rate(), 400_000),
        speed("a folder in this process", local.rate(), 800_000),
        at_most("Spark against the identity", on_spark.rate(), identity.rate(), AS_IDENTITY),
        Row("Spark's own count by group and window", str(count.rate()), "-", True),
        at_most("Spark against events as rows", on_spark.rate(), by_hand.rate(), 1.0),
    ]


def from_kafka(spark: SparkSession, batch: int) -> list[Row]:
    """Measure streams that read messages in JSON, the broker on the same cores."""
    from benchmarks.live.kafka import Filler, topic_place  # noqa: PLC0415 - needs a client

    queries, size = workload(), batch // 4
    with topic_place() as place:
        filler = Filler(str(place.address))
        for number in range(BATCHES):
            filler.write(number * size, size)
        filler.close()
        local, expected = ways.in_process(queries, place, size, time_unit="us")
        on_spark, rows = ways.on_spark(queries, place, spark, size, time_unit="us")
        assert_same(ordered(rows), ordered(expected))
    return [
        speed("Kafka JSON on Spark", on_spark.rate(), 150_000),
        speed("Kafka JSON in this process", local.rate(), 200_000),
    ]


def moving_keys(spark: SparkSession, batch: int) -> list[Row]:
    """Measure the memory of streams whose keys come and go."""
    queries, rows = workload(), []
    with files(BATCHES, batch, moving=True) as folder:
        place = FolderPlace(folder=str(folder))
        keys = BATCHES * batch // EVENTS_OF_A_KEY
        local, on_spark = Memory(peak_memory), Memory(python_peak_megabytes)
        ways.in_process(queries, place, batch, local)
        ways.on_spark(queries, place, spark, batch, on_spark)
    for name, memory in (("in this process", local), ("on Spark, a worker", on_spark)):
        row = f"{keys:,} keys that come and go, {name}"
        rows.append(Row(row, str(memory), f"at most {GROWTH} times", memory.growth <= GROWTH))
    return rows


def latency(spark: SparkSession, batch: int) -> list[Row]:  # noqa: ARG001 - of all cases
    """Measure from the watermark to the sink."""
    local, on_spark = latencies(None, every=0.01), latencies(spark, every=1.0)
    return [
        Row(
            f"from the watermark to the sink, {name}",
            f"a median of {median:,.3f} s",
            f"under {most} s",
            median < most,
        )
        for name, median, most in (
            ("on Spark, micro-batches every second", on_spark, 4.0),
            ("in this process", local, 0.05),
        )
    ]


CASES = {"folder": from_folder, "kafka": from_kafka, "moving": moving_keys, "latency": latency}


@contextmanager
def files(count: int, rows: int, *, moving: bool = False) -> Iterator[Path]:
    """Lend a folder of files with so many events each."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "events"
        write_folder(folder, count, rows, moving=moving)
        yield folder


def ordered(tables: Results) -> Results:
    """Return results in the order of windows and groups, and times as numbers."""
    columns = ("window_start", "g", "trends")
    rows = {}
    for name, table in tables.items():
        start = table.column("window_start").cast(pa.int64())
        some = pa.table([start, *(table.column(column) for column in columns[1:])], names=columns)
        rows[name] = some.sort_by([(column, "ascending") for column in columns[:2]])
    return rows


def those_of(expected: Results, some: Results) -> Results:
    """Return the rows of windows that some other results have."""
    windows = pa.concat_tables(some.values())["window_start"].unique()
    if not len(windows):
        raise AssertionError("no window has ended")
    return {
        name: table.filter(pc.is_in(table["window_start"], value_set=windows))
        for name, table in expected.items()
    }


def speed(what: str, rate: Rate, target: int) -> Row:
    """Return the row of a rate of events."""
    return Row(what, str(rate), f"at least {target:,} events/s", rate.per_second >= target)


def at_most(what: str, rate: Rate, rival: Rate, most: float) -> Row:
    """Return the row of a stream's processor time beside a rival's."""
    times = rate.microseconds / rival.microseconds
    figure = f"{times:.2f} times the processor time (rival: {rival})"
    return Row(what, figure, f"at most {most} times", times <= most)
