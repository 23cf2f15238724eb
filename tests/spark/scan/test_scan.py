"""What tasks read of files is what Spark reads of them: the same events, with the same values."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark")

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from elsinore.errors import InputError
from elsinore.language import parse_workload
from elsinore.operators import plan
from elsinore.plan import Unit
from elsinore.plan.modes import Scan
from elsinore.runtime.columnar import Layout
from elsinore.runtime.options import RunOptions
from elsinore.runtime.travelling import refuse_unusable
from elsinore.spark.driver import run
from elsinore.spark.events import Events
from elsinore.spark.passes import planned_layout, selected_events
from elsinore.spark.scan import files
from elsinore.spark.scan.conditions import NotSimpleError
from elsinore.spark.scan.source import task_of
from elsinore.spark.shuffle import layout_of
from elsinore.workload import Workload

ROWS = 300


def some(values: list[Any], seed: int, rows: int = ROWS) -> list[Any]:
    return [values[n] for n in np.random.default_rng(seed).integers(0, len(values), rows)]


def moments(rows: int = ROWS) -> pa.Array:
    """Return moments from before 1970 to after 2038, in no order."""
    chance = np.random.default_rng(9)
    return pa.array(chance.integers(-(2**40), 2**51, rows)).cast(pa.timestamp("us", "UTC"))


DAY = dt.date(2024, 2, 29)
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "byte": (pa.int8(), [-128, 0, 127, None]),
    "short": (pa.int16(), [-(2**15), 3, None]),
    "whole": (pa.int32(), [-(2**31), 3, None]),
    "long": (pa.int64(), [-(2**63), 2**62, 3, None]),
    "ubyte": (pa.uint8(), [0, 255, None]),
    "ushort": (pa.uint16(), [0, 2**16 - 1, None]),
    "uint": (pa.uint32(), [0, 2**32 - 1, None]),
    "ulong": (pa.uint64(), [0, 2**63, 2**64 - 1, None]),
    "single": (pa.float32(), [0.1, -0.0, math.nan, math.inf, None]),
    "real": (pa.float64(), [0.1, -0.0, math.nan, -math.inf, None]),
    "price": (pa.decimal128(12, 2), [Decimal("0.10"), Decimal("-99.99"), None]),
    "large": (pa.decimal128(30, 4), [Decimal("0.1000"), Decimal(10**20), None]),
    "text": (pa.string(), ["", "ä", "p", None]),
    "wide": (pa.large_string(), ["", "p", "q", None]),
    "coded": (pa.dictionary(pa.int32(), pa.string()), ["", "p", "q", None]),
    "bytes": (pa.binary(), [b"", b"\0p", None]),
    "truth": (pa.bool_(), [True, False, None]),
    "day": (pa.date32(), [DAY, dt.date(1960, 1, 1), None]),
    "moment": (pa.timestamp("us", "UTC"), [dt.datetime(2024, 2, 29, 23, 59, 59, 999999), None]),
    "millis": (pa.timestamp("ms", "Asia/Kathmandu"), [dt.datetime(1969, 12, 31, 23), None]),
    "local": (pa.timestamp("us"), [dt.datetime(2024, 3, 31, 2, 30), None]),
}


def every_type() -> pa.Table:
    columns = {"time": moments(), "type": pa.array(some(["A", "B", "C"], 0), pa.string())}
    for seed, (name, (kind, values)) in enumerate(VALUES.items()):
        plain = kind.value_type if pa.types.is_dictionary(kind) else kind
        columns[name] = pa.array(some(values, seed), plain).cast(kind)
    columns["nested"] = pa.array([{"time": n, "list": [n]} for n in range(ROWS)])
    return pa.table(columns)


def unit_of(text: str) -> tuple[Unit, ...]:
    return plan(parse_workload(text)).units


def travelling(
    frame: DataFrame, units: tuple[Unit, ...], options: RunOptions
) -> tuple[list[Any], list[Any]]:
    """Return what travels of a frame's events, as Spark reads them and as tasks do; sorted."""
    selected = selected_events(units, Events(frame, options))
    layout = layout_of(selected.schema)
    planned = planned_layout(units, Events(frame, options))
    assert planned is None or types_of(planned) == types_of(layout)
    task, _ = task_of(frame, units, options, layout)
    schema = pa.schema([*layout.keys, *layout.events])
    actual = [
        pa.Table.from_batches([batch]).select(schema.names)
        for number in range(len(task.splits))
        for batch in task.selected(task.splits[number])
    ]
    plain = [
        pa.table(
            {
                name: _plain(table.column(name)).cast(schema.field(name).type)
                for name in schema.names
            }
        )
        for table in actual
    ]
    read = pa.concat_tables(plain) if plain else schema.empty_table()
    return comparable(selected.toArrow().cast(schema)), comparable(read)


def types_of(layout: Layout) -> list[tuple[str, pa.DataType]]:
    return [(field.name, field.type) for field in (*layout.keys, *layout.events)]


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_dictionary(column.type):
        return pc.cast(column, column.type.value_type)
    return column


def comparable(table: pa.Table) -> list[Any]:
    columns = [
        column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
        for column in table.columns
    ]
    return sorted(zip(*(map(repr, column.to_pylist()) for column in columns), strict=True))


KEYED = "QUERY q RETURN {0}, COUNT(*), MIN(B.{0}) PATTERN SEQ(A, B+) WHERE [{0}] GROUP BY {0};"
READS = """
    QUERY q RETURN COUNT(*), SUM(B.whole), AVG(B.single), SUM(B.price), MAX(A.real), MIN(B.day)
        PATTERN SEQ(A, B+) WHERE B.long > 1 AND A.real <= 0.1 AND B.price != 0.1 AND A.truth
        AND B.text != 'p' AND (A.coded = 'q' OR A.byte IN (0, 127)) AND [uint] AND B.ulong > 2
        GROUP BY truth;
    QUERY r RETURN COUNT(*) PATTERN SEQ(A, C+) WHERE [uint] AND C.wide = 'p' AND C.single > 0
        GROUP BY truth;"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("types") / "of all types.parquet"
    pq.write_table(every_type(), path, row_group_size=70)
    return str(path)


def test_events_travel_alike_whatever_the_types_of_keys_and_attributes(
    spark: SparkSession, file: str
) -> None:
    frame = spark.read.parquet(file)
    keys = [name for name in VALUES if name not in {"bytes", "large"}]
    units = unit_of(
        READS + "".join(KEYED.format(name).replace("QUERY q", f"QUERY {name}_key") for name in keys)
    )
    for unit in units:
        expected, actual = travelling(frame, (unit,), RunOptions())
        assert actual == expected, unit.names
        assert actual


@pytest.mark.parametrize("name", ["moment", "local", "day", "whole", "single", "millis"])
def test_times_are_the_same_in_any_time_zone(spark: SparkSession, file: str, name: str) -> None:
    before = spark.conf.get("spark.sql.session.timeZone")
    try:
        spark.conf.set("spark.sql.session.timeZone", "Asia/Kathmandu")
        frame = spark.read.parquet(file)
        units = unit_of("QUERY q RETURN local, COUNT(*) PATTERN SEQ(A, B+) GROUP BY local;")
        options = RunOptions(time=name, time_unit="ms", allow_rejects=True, order_by=("text",))
        expected, actual = travelling(frame, units, options)
    finally:
        spark.conf.set("spark.sql.session.timeZone", before or "UTC")
    assert actual == expected != []


@pytest.mark.parametrize(
    "written",
    [
        {"use_dictionary": False},
        {"version": "1.0", "use_deprecated_int96_timestamps": True},
        {"data_page_version": "2.0", "compression": "zstd", "store_schema": False},
    ],
    ids=["plain", "int96", "v2"],
)
def test_encodings_make_no_difference(
    spark: SparkSession, tmp_path: Path, written: dict[str, Any]
) -> None:
    path = str(tmp_path / "written.parquet")
    pq.write_table(every_type(), path, row_group_size=100, **written)
    units = unit_of(KEYED.format("text"))
    expected, actual = travelling(spark.read.parquet(path), units, RunOptions())
    assert actual == expected != []


NARROWED: dict[str, Callable[[DataFrame], DataFrame]] = {
    "columns": lambda frame: frame.select("type", "time", "text", "whole"),
    "names": lambda frame: frame.select(
        F.col("moment").alias("time"), "type", F.col("wide").alias("text"), "whole"
    ).filter("time is not null"),
    "numbers": lambda frame: frame.filter(
        "(whole > 0 and 127 > byte) or whole != 3 or short is null"
    ),
    "texts": lambda frame: frame.filter(F.col("wide").isin("p", "") & (F.col("text") >= "p")),
    "nan is the greatest": lambda frame: frame.filter("real > 0.0D and single >= cast(0 as float)"),
    "without a sign": lambda frame: frame.filter("ulong >= 9223372036854775808"),
    "twice": lambda frame: frame.filter("real <= 0.1D").select("*").filter("long = 3"),
}


@pytest.mark.parametrize("name", NARROWED)
def test_projections_and_simple_filters_are_read_too(
    spark: SparkSession, file: str, name: str
) -> None:
    frame = NARROWED[name](spark.read.parquet(file))
    units = unit_of(KEYED.format("text"))
    expected, actual = travelling(frame, units, RunOptions())
    assert actual == expected != []


LEFT_TO_SPARK: dict[str, tuple[Callable[[DataFrame], DataFrame], str]] = {
    "computed": (lambda frame: frame.withColumn("text", F.upper("text")), "computes"),
    "limited": (lambda frame: frame.limit(9), "Limit"),
    "made": (lambda frame: in_memory(frame.sparkSession), "comes from"),
    "added": (lambda frame: frame.union(frame), "Union"),
    "timed by text": (
        lambda frame: frame.select("type", "text", F.col("wide").alias("time")),
        "time is string",
    ),
    "matched": (lambda frame: frame.filter("text rlike 'p.a'"), "RLike"),
}


def in_memory(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(every_type().select(["time", "type", "text"]))


@pytest.mark.parametrize("name", LEFT_TO_SPARK)
def test_what_tasks_might_read_otherwise_is_left_to_spark(
    spark: SparkSession, file: str, name: str
) -> None:
    change, reason = LEFT_TO_SPARK[name]
    frame = change(spark.read.parquet(file))
    units = unit_of(KEYED.format("text"))
    options = RunOptions(scan=Scan.ARROW)
    layout = layout_of(selected_events(units, Events(frame, options)).schema)
    with pytest.raises(NotSimpleError, match=reason):
        task_of(frame, units, options, layout)


def test_folders_keep_their_partition_columns_and_files_may_be_empty(
    spark: SparkSession, tmp_path: Path
) -> None:
    # other tests of the session may have had it read as text
    spark.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "true")
    root = tmp_path / "a folder"
    table = every_type().select(["time", "type", "text", "whole"])
    for number, (day, region) in enumerate(
        [("2024-02-29", "a%20b"), ("2024-03-01", "ä"), ("__HIVE_DEFAULT_PARTITION__", "c")]
    ):
        part = root / f"day={day}" / f"region={region}"
        part.mkdir(parents=True)
        pq.write_table(table.slice(number * 90, 90), part / "one.parquet", row_group_size=40)
    pq.write_table(table.slice(0, 0), root / "day=2024-02-29" / "region=c" / "none.parquet") if (
        (root / "day=2024-02-29" / "region=c").mkdir() is None
    ) else None
    frame = spark.read.parquet(str(root)).filter("day is null or whole > 0")
    units = unit_of(
        "QUERY q RETURN region, day, COUNT(*), MAX(B.day) PATTERN SEQ(A, B+) GROUP BY region, day;"
    )
    expected, actual = travelling(frame, units, RunOptions())
    assert actual == expected != []
    frame = spark.read.parquet(str(root)).filter("day = date'2024-03-01'")
    expected, actual = travelling(frame, units, RunOptions())
    assert actual == expected != []
    layout = layout_of(selected_events(units, Events(frame, RunOptions())).schema)
    assert task_of(frame, units, RunOptions(), layout)[1].unopened == 3  # of four files


def test_a_column_of_another_type_is_refused_with_the_files_name(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = every_type().select(["time", "type", "text", "whole"])
    pq.write_table(table, tmp_path / "a.parquet")
    pq.write_table(table.drop_columns(["text"]), tmp_path / "b.parquet")
    frame = spark.read.schema("time timestamp, type string, text string, whole int").parquet(
        str(tmp_path)
    )
    units = unit_of(KEYED.format("text"))
    expected, actual = travelling(frame, units, RunOptions())
    assert actual == expected != []  # a column that a file lacks is null, as Spark has it
    changed = table.set_column(2, "text", pa.array(range(ROWS)))
    pq.write_table(changed, tmp_path / "b.parquet")
    layout = layout_of(selected_events(units, Events(frame, RunOptions())).schema)
    with pytest.raises(InputError, match=r"b\.parquet' has int64 in column 'text'.* have string"):
        task_of(frame, units, RunOptions(), layout)


def test_a_column_without_any_value_is_read(spark: SparkSession, tmp_path: Path) -> None:
    table = pa.table({"time": [1, 2, 3, 4], "type": ["A", "B", "B", "C"], "user": pa.nulls(4)})
    pq.write_table(table, tmp_path / "events.parquet")
    workload = Workload.parse(
        """QUERY summed RETURN COUNT(*) AS n, SUM(B.user) AS s PATTERN SEQ(A, B+, C);
        QUERY keyed RETURN COUNT(*) AS n PATTERN SEQ(A, B+, C) WHERE [user];"""
    )
    results = workload.run(spark.read.parquet(str(tmp_path)))
    assert [row.asDict() for row in results["summed"].collect()] == [
        {"window_start": None, "window_end": None, "n": 3, "s": None}
    ]
    assert results["keyed"].count() == 0


def test_a_damaged_page_stops_the_job_with_the_files_name(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "damaged.parquet"
    pq.write_table(
        every_type(), path, compression="none", use_dictionary=False, write_page_checksum=True
    )
    content = bytearray(path.read_bytes())
    place = pq.ParquetFile(path).metadata.row_group(0).column(0).data_page_offset
    content[place + 200] ^= 0xFF
    path.write_bytes(bytes(content))
    results = run(
        plan(parse_workload(KEYED.format("whole"))), spark.read.parquet(str(path)), RunOptions()
    )
    with pytest.raises(Exception, match=r"damaged\.parquet' is damaged: .*Take the file out"):
        results["q"].collect()


def test_what_reading_holds_does_not_grow_with_the_number_of_row_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "BATCH_ROWS", 20_000)
    path = str(tmp_path / "events.parquet")
    times = np.random.default_rng(1).permutation(400_000)
    pq.write_table(pa.table({"time": times}), path, row_group_size=20_000)
    column = files.FileColumn("time", pa.int64())
    before, rows, held = pa.total_allocated_bytes(), 0, []
    for table in files.read(
        files.row_groups_in([path], [column]).groups, [column], frozenset(), None
    ):
        rows += table.num_rows
        held.append(pa.total_allocated_bytes() - before)
    assert rows == len(times)
    assert max(held) < 2 * held[0]


def test_a_large_row_group_is_not_held_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "BATCH_ROWS", 20_000)
    monkeypatch.setattr(files, "BUFFER_BYTES", 1 << 14)
    path = str(tmp_path / "events.parquet")
    times = np.random.default_rng(1).permutation(400_000)
    pq.write_table(pa.table({"time": times}), path, use_dictionary=False)
    column = files.FileColumn("time", pa.int64())
    most, table = {}, None
    for large in (1 << 30, 1 << 10):
        monkeypatch.setattr(files, "LARGE_GROUP", large)
        del table
        before, held, read = pa.total_allocated_bytes(), [0], []
        groups = files.row_groups_in([path], [column]).groups
        for table in files.read(groups, [column], frozenset(), None):
            held.append(pa.total_allocated_bytes() - before)
            read.append(table.column("time").to_numpy().copy())
        assert np.array_equal(np.concatenate(read), times)
        most[large] = max(held)
    assert 3 * most[1 << 10] < most[1 << 30], most


def test_unusable_events_are_refused_or_left_out(spark: SparkSession, file: str) -> None:
    frame = spark.read.parquet(file).withColumnRenamed("time", "t").withColumnRenamed("day", "time")
    units = unit_of(KEYED.format("text"))
    layout = layout_of(selected_events(units, Events(frame, RunOptions())).schema)
    task, _ = task_of(frame, units, RunOptions(), layout)
    with pytest.raises(InputError, match=re.escape("An event cannot be used: null time.")):
        list(task.selected(task.splits[0]))


def test_an_unusable_time_is_told_by_what_its_column_holds() -> None:
    times = pa.array(["2024-01-31", "12345", "2024-02-01"])
    ticks, types = pa.array([1, None, 2]), pa.array(["A"] * 3)
    with pytest.raises(InputError, match=r"^An event cannot be used: unparseable time\."):
        refuse_unusable(times, ticks, types)


def test_whole_runs_are_the_same_whoever_reads(spark: SparkSession, file: str) -> None:
    workload = Workload.parse(READS)
    pattern = Path(file).parent / "*.parquet"
    by_spark = workload.run(spark.read.parquet(file), scan="spark", ordered=True)
    by_tasks = workload.run(pattern, spark=spark, scan="arrow", ordered=True)
    for name in by_spark:
        expected = [tuple(map(str, row)) for row in by_spark[name].collect()]
        assert [tuple(map(str, row)) for row in by_tasks[name].collect()] == expected != []


def test_where_no_row_group_matters_nothing_is_read(spark: SparkSession, file: str) -> None:
    workload = Workload.parse("QUERY q RETURN COUNT(*) PATTERN SEQ(A, B+) GROUP BY text;")
    frame = spark.read.parquet(file).filter("byte > 127Y or moment < timestamp'1960-01-01'")
    with workload.run(frame, scan="arrow") as results:
        assert results["q"].collect() == []
        (statistics,) = results.statistics
    assert statistics.row_groups == statistics.skipped_groups == 5
