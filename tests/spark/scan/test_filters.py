"""A data frame's filters keep the same events whoever reads, and skip what statistics exclude."""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark")

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_type

from elsinore.spark.scan.bounds import Statistics
from elsinore.spark.scan.conditions import NotSimpleError, as_arrow
from elsinore.spark.scan.files import FileColumn, RowGroupDecision, read, row_groups_in
from elsinore.spark.scan.relation import relation_of
from elsinore.spark.scan.skipping import Skipping

# Each column's type in Arrow and Spark, and its values as SQL writes them: edges, and like ones.
COLUMNS: dict[str, tuple[pa.DataType, str, list[str]]] = {
    "byte": (pa.int8(), "tinyint", ["-128", "0", "127"]),
    "long": (pa.int64(), "bigint", ["-9223372036854775808", "0", "9007199254740993"]),
    "single": (pa.float32(), "float", ["-Infinity", "-0.0", "0.1", "NaN"]),
    "real": (pa.float64(), "double", ["-1e300", "-0.0", "0.0", "0.1", "NaN"]),
    "price": (pa.decimal128(12, 2), "decimal(12,2)", ["-99.99", "0.10", "1.00"]),
    "large": (pa.decimal128(30, 4), "decimal(30,4)", ["-0.0001", "100000000000000000000.0"]),
    "text": (pa.string(), "string", ["", "abacus", "abalone", "abyss", "ä"]),
    "truth": (pa.bool_(), "boolean", ["true", "false"]),
    "day": (pa.date32(), "date", ["1960-01-01", "1970-01-01", "2024-02-29"]),
    "moment": (
        pa.timestamp("us", "UTC"),
        "timestamp",
        ["1969-12-31 23:59:59.999999Z", "2024-10-27 00:30:00Z", "2024-10-27 01:30:00Z"],
    ),
    "local": (pa.timestamp("us"), "timestamp_ntz", ["1969-12-31 23:00:00", "2024-03-31 02:30:00"]),
}
CONDITIONS = int(os.environ.get("ELSINORE_EXAMPLES", "25"))
GROUP, GROUPS = 4, 60
COMPARE = ["<", "<=", "=", "!=", ">=", ">"]


def some_events() -> pa.Table:
    """Return events whose row groups have one or two values of a column, and some nulls."""
    chance = np.random.default_rng(11)
    columns: dict[str, Any] = {"id": pa.array(range(GROUP * GROUPS), pa.int64())}
    for name, (kind, _, values) in COLUMNS.items():
        cells: list[str | None] = []
        for _ in range(GROUPS):
            few = [values[n] for n in chance.integers(0, len(values), 1 + chance.integers(0, 2))]
            few += [None] if chance.random() < 0.3 else []  # type: ignore[list-item]
            cells += [few[n] for n in chance.integers(0, len(few), GROUP)]
        if pa.types.is_decimal(kind):
            columns[name] = pa.array([c and Decimal(c) for c in cells], kind)
        else:
            columns[name] = pa.array(cells, pa.string()).cast(kind)
    return pa.table(columns)


def some_conditions(count: int) -> list[str]:
    chance = np.random.default_rng(12)

    def one() -> str:
        name, (_, kind, values) = list(COLUMNS.items())[chance.integers(0, len(COLUMNS))]
        constants = [f"cast('{value}' as {kind})" for value in values if value != "NaN"]
        constants = [c for c in constants if "Infinity" not in c]
        constant = constants[chance.integers(0, len(constants))]
        match chance.integers(0, 9):
            case 0:
                return f"{name} is {'not ' * int(chance.integers(0, 2))}null"
            case 1:
                return f"{name} in ({', '.join(constants)})"
            case 2:
                return f"not ({name} <=> {constant})"
            case 3 if name == "text":
                return "text like 'aba%'"
            case _:
                return (
                    f"{name} {['<', '<=', '=', '!=', '>=', '>'][chance.integers(0, 6)]} {constant}"
                )

    actual = []
    for _ in range(count):
        form = ["{}", "{}", "not ({})", "{} and {}", "{} or {}", "not ({} and {})"]
        actual.append(form[chance.integers(0, len(form))].format(one(), one()))
    many = ", ".join(str(n) for n in range(100, 130))
    return [*actual, "truth", "not truth", f"byte in ({many})", f"long not in ({many}, 0)"]


def kept(frame: DataFrame) -> tuple[list[int], int]:
    """Return which events tasks keep of a frame, and how many row groups they need not read."""
    relation = relation_of(frame)
    names = dict.fromkeys(["id", *sorted(relation.condition_reads)])
    columns = [FileColumn(n, to_arrow_type(relation.types[n], timezone="UTC")) for n in names]
    skipping = Skipping(
        condition=relation.condition,
        interests=None,
        required=(),
        time="id",
        type="id",
        strict=True,
        columns={column.name: column for column in columns},
    )

    def judge(uri: str, metadata: pq.FileMetaData, schema: pa.Schema) -> list[RowGroupDecision]:
        statistics = Statistics(uri, metadata, schema, skipping.columns)
        groups = range(metadata.num_row_groups)
        return [RowGroupDecision(not skipping.skips(statistics, n, usable=True)) for n in groups]

    selection = row_groups_in(relation.files, columns, judge)
    condition = None if relation.condition is None else as_arrow(relation.condition)
    tables = read(selection.groups, columns, frozenset(), condition)
    return sorted(n for table in tables for n in table.column("id").to_pylist()), selection.skipped


@pytest.mark.parametrize("writer", ["arrow", "spark"])
def test_filters_keep_what_spark_keeps(spark: SparkSession, tmp_path: Path, writer: str) -> None:
    path = str(tmp_path / "events.parquet")
    pq.write_table(some_events(), path, row_group_size=GROUP)
    if writer == "spark":  # whose statistics of texts are cut short here
        by_arrow, path = path, str(tmp_path / "by spark")
        ranges = spark.read.parquet(by_arrow).repartitionByRange(20, "text", "id")
        ranges.write.option("parquet.statistics.truncate.length", "2").parquet(path)
    before = spark.conf.get("spark.sql.session.timeZone")
    try:
        spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")  # has an hour twice
        frame = spark.read.parquet(path)
        conditions = some_conditions(CONDITIONS)
        lists = [f"collect_list(if({c}, id, null)) as c{n}" for n, c in enumerate(conditions)]
        expected = frame.selectExpr(*lists).collect()[0]
        total = read_by_tasks = 0
        for number, condition in enumerate(conditions):
            try:
                actual, skipped = kept(frame.filter(condition))
            except NotSimpleError:
                continue
            assert actual == sorted(expected[number]), condition
            read_by_tasks += 1
            total += skipped
    finally:
        spark.conf.set("spark.sql.session.timeZone", before or "UTC")
    assert read_by_tasks > 0.8 * len(conditions)
    assert total > len(conditions) / 4
