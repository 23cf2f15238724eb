"""What SQL computes of single events is the same whether tasks read the files or Spark does."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

import elsinore as el
from elsinore.errors import InputError

START = datetime(2024, 2, 29, 23, 59)
UNUSUAL = {
    "n": pa.array([1, -2, None, 7, 2**31 - 1, -(2**31)], pa.int32()),
    "big": pa.array([2**53 + 1, -5, None, 0, 2**63 - 1, -(2**63)], pa.int64()),
    "small": pa.array([1, -128, None, 0, 127, 5], pa.int8()),
    "ulong": pa.array([1, 2**64 - 1, None, 0, 2**63, 5], pa.uint64()),
    "x": pa.array([1.5, -2.5, None, math.nan, math.inf, -math.inf]),
    "f": pa.array([0.1, -0.5, None, math.nan, 16777217.0, 3.0], pa.float32()),
    "ok": pa.array([True, False, None, True, False, True]),
    "number": pa.array(["7", " +8 ", None, "", "N/A", "2147483648"]),
    "txt": pa.array(["Ab/c", "De/f Ünïß ﬁ", None, "", "a\nb", "  x% "]),
    "part": pa.array(["b", "f", None, "", "\n", "x%"]),
    "written": pa.array(
        ["2024-01-31 10:15:30", "2024-02-30", None, "", "1969-12-31T23:59:59.5Z", "2024-02-29"]
    ),
    "at": pa.array(
        [
            *(datetime(2026, 1, 1, 0, 0, 1), datetime(2024, 2, 29, 23, 59, 59, 999999), None),
            *(datetime(1969, 12, 31, 23, 0, 0, 1), datetime(1900, 1, 1), datetime(2024, 12, 30)),
        ],
        pa.timestamp("us"),
    ),
    "zoned": pa.array(
        [
            *(datetime(2026, 1, 1, 0, 0, 1), datetime(2024, 2, 29, 23, 59, 59), None),
            *(datetime(1969, 12, 31, 23), datetime(1901, 5, 6, 7), datetime(2024, 12, 30, 12)),
        ],
        pa.timestamp("ms", "UTC"),
    ),
    "day": pa.array(
        [
            *(date(2024, 1, 31), date(2024, 2, 29), None),
            *(date(1969, 12, 31), date(1900, 3, 1), date(2023, 12, 31)),
        ]
    ),
    "money": pa.array(
        [Decimal("1.50"), Decimal("-99.99"), None, Decimal(0), Decimal("99999999.99"), Decimal(1)],
        pa.decimal128(10, 2),
    ),
}
VALUES = [
    "CASE WHEN a.n > 1 THEN 'A' ELSE 'B' END",
    "CASE WHEN a.ok THEN a.n WHEN a.x > 0 THEN a.big END",
    "CASE WHEN a.small <> 0 AND 10 / a.small > 5 THEN 1 WHEN a.ok IS NULL THEN 2 END",
    "coalesce(a.n, 0)",
    "coalesce(1 / a.small, 0)",
    "coalesce(CAST(a.number AS INT), -1)",
    "TRY_CAST(a.number AS BIGINT)",
    "CAST(a.x AS INT)",
    "CAST(a.f AS DOUBLE)",
    "CAST(a.n AS STRING)",
    "CAST(a.ok AS INT)",
    "CAST(a.money AS DOUBLE)",
    "CAST(a.money AS INT)",
    "CAST(a.ulong AS DOUBLE)",
    "CAST(a.n AS TINYINT)",
    "floor(a.x)",
    "round(CAST(a.money AS DOUBLE), 1)",
    "pmod(a.n, 3)",
    "sqrt(a.x)",
    "greatest(a.n, a.big)",
    "nullif(a.n, 1)",
    "abs(a.n + 1)",
    "upper(a.txt)",
    "length(a.txt)",
    "concat(a.txt, '-', a.part)",
    "substring(a.txt, 2, 3)",
    "split(a.txt, '/')[1]",
    "regexp_extract(a.txt, '([a-z]+)', 1)",
    "instr(a.txt, a.part)",
    "trim(a.txt)",
    "lower(a.kind)",
    "year(a.at)",
    "hour(a.zoned)",
    "date_trunc('month', a.at)",
    "date_trunc('hour', a.zoned)",
    "CAST(a.written AS TIMESTAMP)",
    "to_date(a.written)",
    "date_add(a.day, 3)",
    "datediff(a.day, a.at)",
    "date_format(a.zoned, 'yyyy-MM')",
    "unix_micros(a.zoned)",
    "last_day(a.day)",
]
CONDITIONS = [
    "upper(a.txt) = 'AB/C'",
    "a.txt RLIKE '^[a-zA-Z]+/'",
    "a.txt ILIKE '%E%'",
    "NOT contains(a.txt, a.part)",
    "CAST(a.number AS INT) > 7",
    "coalesce(a.ok, FALSE) OR length(a.txt) > 4",
    "year(a.zoned) = 2024 AND a.n > -5",
    "floor(a.x) < 2",
    "CAST(a.money AS DOUBLE) > 0.5",
]


def events(rows: int = 1_200) -> pa.Table:
    """Return events with unusual values of all columns, in any combination."""
    drawn = np.random.default_rng(3)
    columns: dict[str, Any] = {
        "time": pa.array([START + timedelta(seconds=n) for n in range(rows)], pa.timestamp("us")),
        "kind": pa.array(drawn.choice(["A", "B", "C"], rows)),
        "row": pa.array(range(rows)),
    }
    for name, values in UNUSUAL.items():
        columns[name] = values.take(pa.array(drawn.integers(0, len(values), rows)))
    return pa.table(columns)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("computed") / "events.parquet"
    pq.write_table(events(), path, row_group_size=250)
    return str(path)


def workload() -> el.Workload:
    """Return a query that returns every value, one for each condition, and one that counts."""
    returned = ", ".join(f"{text} AS v{n}" for n, text in enumerate(VALUES))
    texts = [f"QUERY all RETURN a.row AS row, {returned} PATTERN A a WITHIN 1 hour;"]
    texts += [
        f"QUERY c{n} RETURN a.row AS row PATTERN A a WHERE {text} WITHIN 1 hour;"
        for n, text in enumerate(CONDITIONS)
    ]
    texts.append(
        "QUERY trends RETURN COUNT(*) AS n, SUM(length(b.txt)) AS s PATTERN SEQ(A a, B b+) "
        "WHERE lower(a.part) <> 'x%' AND length(b[i].txt) >= length(b[i-1].txt) "
        "WITHIN 20 seconds SLIDE 10 seconds;"
    )
    return el.Workload.parse("\n".join(texts))


def rows_of(results: Any) -> dict[str, Counter[str]]:
    return {
        name: Counter(str(plain(row)) for row in result.to_arrow().to_pylist())
        for name, result in results.items()
    }


def plain(row: dict[str, Any]) -> list[Any]:
    """Return a row's values; floats to 15 digits, as libraries differ in the last one."""
    return [f"{v:.15g}" if isinstance(v, float) else v for v in row.values()]


def test_values_and_conditions_are_the_same_whoever_reads(spark: SparkSession, file: str) -> None:
    queries, frame = workload(), spark.read.parquet(file)
    with queries.run(frame, type="kind", scan="spark") as results:
        expected = rows_of(results)
        schemas = {name: result.frame.schema for name, result in results.items()}
    with queries.run(frame, type="kind", scan="arrow") as results:
        actual = rows_of(results)
        assert {name: result.frame.schema for name, result in results.items()} == schemas
    assert all(expected.values())
    for name, rows in expected.items():
        assert actual[name] == rows, name


def test_tasks_read_the_files_by_default_and_skip_row_groups(
    spark: SparkSession, file: str
) -> None:
    queries = el.Workload.parse(
        "QUERY q RETURN a.row AS row PATTERN A a "
        "WHERE a.row >= 1100 AND upper(a.part) = 'B' WITHIN 1 hour;"
    )
    for nanos in ("false", "true"):  # as Elsinore sets it to read files of nanoseconds by path
        with (
            setting(spark, "spark.sql.legacy.parquet.nanosAsLong", nanos),
            queries.run(spark.read.parquet(file), type="kind") as results,
        ):
            rows = results["q"].to_arrow().num_rows
            (statistics,) = results.statistics
        assert rows > 0
        assert (statistics.row_groups, statistics.skipped_groups) == (5, 4)


def depth(text: str) -> int:
    return len(text)


@contextmanager
def setting(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    before = spark.conf.get(name, None)
    spark.conf.set(name, value)
    try:
        yield
    finally:
        if before is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, before)


@pytest.mark.parametrize(
    ("condition", "changed", "reason"),
    [
        ("soundex(a.txt) = 'X'", {}, r"only Spark computes all of soundex\(txt\)"),
        ("depth(a.txt) > 3", {}, "a function of Python computes"),
        ("size(a.items) > 1", {}, "'items' is nested"),
        ("upper(a.who.name) = 'X'", {}, "'who.name' is a field of a struct"),
        ("length(a.txt) > 1", {"spark.sql.ansi.enabled": "false"}, "ansi.enabled is false"),
        (
            "length(a.txt) > 1",
            {"spark.sql.legacy.timeParserPolicy": "LEGACY"},
            "legacy.timeParserPolicy is set",
        ),
        (
            "hour(a.zoned) > 1",
            {"spark.sql.session.timeZone": "Asia/Tokyo"},
            "computed in the time zone Asia/Tokyo",
        ),
    ],
)
def test_what_spark_computes_in_another_way_is_left_to_it(
    spark: SparkSession, tmp_path: Path, condition: str, changed: dict[str, str], reason: str
) -> None:
    table = events(6)
    table = table.append_column("items", pa.array([[n] for n in range(6)]))
    table = table.append_column("who", pa.array([{"name": "x"}] * 6))
    pq.write_table(table, tmp_path / "events.parquet")
    queries = el.Workload.parse(
        f"QUERY q RETURN a.row AS row PATTERN A a WHERE {condition} WITHIN 1 hour;",
        functions={"depth": depth},
    )
    with ExitStack() as settings:
        for name, value in changed.items():
            settings.enter_context(setting(spark, name, value))
        frame = spark.read.parquet(str(tmp_path))
        with pytest.raises(InputError, match=f"cannot be read by the tasks themselves: .*{reason}"):
            queries.run(frame, type="kind", scan="arrow")["q"].to_arrow()


def test_texts_are_computed_in_tasks_in_any_time_zone(spark: SparkSession, file: str) -> None:
    queries = el.Workload.parse(
        "QUERY q RETURN a.row AS row PATTERN A a WHERE length(a.txt) > 3 WITHIN 1 hour;"
    )
    with setting(spark, "spark.sql.session.timeZone", "Asia/Tokyo"):
        frame = spark.read.parquet(file)
        assert queries.run(frame, type="kind", scan="arrow")["q"].to_arrow().num_rows > 0


def test_unusable_events_are_refused_as_ever(spark: SparkSession, tmp_path: Path) -> None:
    table = events(6)
    kinds = pa.array([None, *table.column("kind").to_pylist()[1:]])
    pq.write_table(table.set_column(1, "kind", kinds), tmp_path / "events.parquet")
    queries = el.Workload.parse(
        "QUERY q RETURN a.row AS row PATTERN A a WHERE length(a.txt) > 3 WITHIN 1 hour;"
    )
    frame = spark.read.parquet(str(tmp_path))
    with pytest.raises(InputError, match="null type"):
        queries.run(frame, type="kind", scan="arrow")["q"].to_arrow()
    with queries.run(frame, type="kind", scan="arrow", rejects=True) as results:
        assert results["q"].to_arrow().num_rows < 6
