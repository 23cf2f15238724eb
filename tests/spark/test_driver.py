"""Spark gives what the driver in this process gives."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark")

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import elsinore.quantitative as qre
from elsinore.errors import InputError, QuerySemanticError
from elsinore.runtime.warnings import NoRowsWarning
from elsinore.workload import Workload

WORKLOADS = {
    "plain": "QUERY q RETURN COUNT(*) PATTERN SEQ(A, B+);",
    "windows": """QUERY q RETURN COUNT(*), SUM(B.v), AVG(B.w), MIN(A.v), MAX(B.w)
        PATTERN SEQ(A, B+) WITHIN 60 seconds SLIDE 20 seconds;""",
    "groups": """QUERY q RETURN g, COUNT(*), MAX(B.v) PATTERN SEQ(A, B+)
        GROUP BY g WITHIN 1 minute;""",
    "equivalence": """QUERY q RETURN COUNT(*), SUM(B.v), MIN(B.w) PATTERN SEQ(A, B+) WHERE [k]
        WITHIN 2 minutes;""",
    "groups and equivalence": """QUERY q RETURN g, COUNT(*), AVG(B.w), MAX(A.w), STDDEV(B.w)
        PATTERN SEQ(A+, B) WHERE [k] GROUP BY g WITHIN 2 minutes SLIDE 1 minute;""",
    "two attributes": """QUERY q RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE [k, s] GROUP BY g, b
        WITHIN 5 minutes;""",
    "predicates": """QUERY q RETURN g, COUNT(*), SUM(B.w) PATTERN SEQ(A, B+, C)
        WHERE A.v > 0 AND B.w / B.v < 1 AND (C.s = 'q' OR C.b) AND NOT B.s IS NULL
        GROUP BY g WITHIN 5 minutes;""",
    "cuts and choices": """
        QUERY one RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE B.v < 1 AND A.s = 'p' GROUP BY g;
        QUERY two RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE B.v <= 2 AND A.s != 'q' GROUP BY g;
        QUERY three RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE B.v > -1 AND A.s IN ('p', '')
            GROUP BY g;
        QUERY four RETURN COUNT(*) PATTERN B+ WHERE B.v != 1 AND 2 >= B.v GROUP BY g
            WITHIN 30 seconds;""",
    "several units": """
        QUERY one RETURN COUNT(*) PATTERN SEQ(A, B+) GROUP BY g WITHIN 1 minute;
        QUERY two RETURN k, LOG2(COUNT(*)) PATTERN SEQ(A+, C) GROUP BY k WITHIN 1 minute;
        QUERY three RETURN SUM(C.v) PATTERN SEQ(B+, C) WHERE [g] WITHIN 1 minute;""",
    "exact": """EXACT; QUERY q RETURN g, COUNT(*), SUM(B.v), AVG(B.v), MIN(B.w), VAR_POP(B.v)
        PATTERN SEQ(A, B+) WHERE [k] GROUP BY g;""",
    "neighbours": """QUERY q RETURN g, COUNT(*), SUM(B.w), MAX(B.v) PATTERN SEQ(A a, B b+)
        WHERE b[i].v >= b[i-1].v AND a.w < b[1].w GROUP BY g WITHIN 40 seconds SLIDE 20 seconds;""",
    "anchored": """QUERY q RETURN COUNT(*), MIN(B.w) PATTERN SEQ(A a, B b+)
        WHERE [g] AND b[i].v > a.v WITHIN 40 seconds;""",
    "not": """
        QUERY middle RETURN g, COUNT(*), AVG(B.v) PATTERN SEQ(A a, NOT C c, B b+)
            WHERE c.v > 0 AND a.s = 'p' GROUP BY g WITHIN 40 seconds;
        QUERY first RETURN g, COUNT(*) PATTERN SEQ(NOT SEQ(C, Z), A, B+) GROUP BY g
            WITHIN 40 seconds;
        QUERY last RETURN g, COUNT(*) PATTERN SEQ(A, B+, NOT C c) WHERE c.w > 1 GROUP BY g
            WITHIN 40 seconds SLIDE 20 seconds;
        QUERY nested RETURN g, COUNT(*) PATTERN SEQ(A x, NOT SEQ(C, NOT Z z, B), A y) WHERE z.v < 2
            GROUP BY g WITHIN 40 seconds;
        QUERY inside RETURN g, COUNT(*) PATTERN (SEQ(A, NOT C, B))+ GROUP BY g
            WITHIN 40 seconds;""",
    "not, exact": """EXACT; QUERY q RETURN g, COUNT(*), SUM(B.v) PATTERN SEQ(A, NOT C, B+)
        WHERE [k] GROUP BY g;""",
    "and": """QUERY q RETURN g, COUNT(*), LOG2(COUNT(*)) AS bits PATTERN SEQ(A, B+) AND C+
        GROUP BY g WITHIN 40 seconds;""",
    "strategies": """
        QUERY next RETURN g, COUNT(*), MAX(B.v) PATTERN SEQ(A, B+, C)
            STRATEGY SKIP TILL NEXT MATCH GROUP BY g WITHIN 40 seconds;
        QUERY held RETURN g, COUNT(*), SUM(B.v) PATTERN SEQ(A, NOT Z, B+)
            STRATEGY SKIP TILL NEXT MATCH GROUP BY g WITHIN 40 seconds;
        QUERY contiguous RETURN g, COUNT(*) PATTERN SEQ(A+, B+) STRATEGY CONTIGUOUS
            GROUP BY g WITHIN 40 seconds;""",
    "dead": """QUERY q RETURN g, COUNT(*) PATTERN SEQ(A, (B b OR C), NOT Z)
        WHERE b.v < 1 AND b.v > 2 GROUP BY g WITHIN 40 seconds;""",
    "no match": "QUERY q RETURN g, COUNT(*), MIN(A.v) PATTERN SEQ(A, B) WHERE A.v > 99 GROUP BY g;",
}


def events(count: int = 400, seed: int = 1) -> pa.Table:
    """Return events in no order, many simultaneous, with nulls and NaN."""
    chance = np.random.default_rng(seed)

    def some(values: list[Any]) -> list[Any]:
        return [values[place] for place in chance.integers(0, len(values), count)]

    return pa.table(
        {
            "time": pa.array(chance.integers(-100, 300, count), pa.int64()),
            "type": some(["A", "A", "B", "B", "B", "C", "Z"]),
            "g": pa.array(some(["x", "y", "z", None]), pa.string()),
            "k": pa.array(some([1, 2, 3, 4, 5, 6, 7, None]), pa.int64()),
            "v": pa.array(some([-2, -1, 0, 1, 2, 3, None]), pa.int64()),
            "w": pa.array(some([-1.5, 0.0, 0.25, 1.0, 7.5, math.nan, None]), pa.float64()),
            "s": pa.array(some(["p", "q", "", None]), pa.string()),
            "b": pa.array(some([True, False, None]), pa.bool_()),
        }
    )


def frame_of(spark: SparkSession, table: pa.Table) -> DataFrame:
    return spark.createDataFrame(table).repartition(3)


def rows_of(found: Any) -> list[tuple[Any, ...]]:
    found = getattr(found, "frame", found)
    if isinstance(found, pa.Table):
        return [tuple(row.values()) for row in found.to_pylist()]
    return [tuple(row) for row in found.collect()]


def place_of(row: tuple[Any, ...]) -> list[str]:
    """Return what tells a row from others: its group and its window."""
    return [repr(value) for value in row if not isinstance(value, float)]


def assert_same(found: DataFrame, expected: pa.Table) -> None:
    """Compare names, and rows, numbers to 12 digits; Spark's come in any order."""
    assert found.columns == expected.column_names
    rows, wanted = (sorted(rows_of(one), key=place_of) for one in (found, expected))
    assert len(rows) == len(wanted)
    for row, other in zip(rows, wanted, strict=True):
        for value, expected_value in zip(row, other, strict=True):
            if isinstance(expected_value, float):
                assert value == pytest.approx(expected_value, rel=1e-12), (row, other)
            else:
                assert value == expected_value, (row, other)
                assert type(value) is type(expected_value)


@pytest.mark.filterwarnings("ignore:query q")
@pytest.mark.parametrize("name", WORKLOADS)
def test_results_are_those_of_the_driver_in_this_process(spark: SparkSession, name: str) -> None:
    workload = Workload.parse(WORKLOADS[name])
    table = events(150 if workload.exact else 400)
    expected = workload.run(table)
    actual = workload.run(frame_of(spark, table))
    assert list(actual) == list(expected)
    for query in expected:
        assert_same(actual[query], expected[query])
    if name != "no match":
        assert any(result.num_rows for result in expected.values())


def test_simultaneous_events_are_put_in_order_by_order_by(spark: SparkSession) -> None:
    workload = Workload.parse("QUERY q RETURN COUNT(*), SUM(B.v) PATTERN SEQ(A, B+) WHERE [k];")
    table = events(60)
    table = table.set_column(0, "time", pc.divide(table.column("time"), 100))
    table = table.append_column("turn", pa.array(np.random.default_rng(3).permutation(60)))
    expected = workload.run(table, order_by="turn")["q"]
    results = workload.run(frame_of(spark, table), order_by="turn")
    assert_same(results["q"], expected)
    assert rows_of(expected) != rows_of(workload.run(table)["q"])


def test_batches_may_end_anywhere(spark: SparkSession) -> None:
    # The last event of a batch may be of a group that no state has seen yet.
    workload = Workload.parse("""
        QUERY q RETURN g, COUNT(*) PATTERN SEQ(A, B+) WHERE A.v > 0 GROUP BY g WITHIN 1 minute;
        QUERY p RETURN g, COUNT(*) PATTERN SEQ(A, B+) WHERE A.v < 3 AND [k] GROUP BY g, s;
        QUERY r RETURN g, COUNT(*) PATTERN C WHERE C.v > 2 GROUP BY g;""")
    table = events(200)
    expected = workload.run(table)
    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = spark.conf.get(name)
    try:
        for rows in ("1", "3"):
            spark.conf.set(name, rows)
            actual = workload.run(frame_of(spark, table))
            for query in expected:
                assert_same(actual[query], expected[query])
    finally:
        spark.conf.set(name, before)


def test_a_stream_is_refused_as_each_micro_batch_would_be_answered_by_itself(
    spark: SparkSession,
) -> None:
    stream = spark.readStream.format("rate").load().selectExpr("timestamp AS time", "'A' AS type")
    with pytest.raises(InputError, match=r"workload\.stream\(events\)\.start\("):
        Workload.parse("QUERY q RETURN COUNT(*) PATTERN A WITHIN 1 hour;").run(stream)
    with pytest.raises(InputError, match="FROM module:query"):
        qre.iterate(qre.atom(qre.event("A")), qre.count()).run(stream)
    with pytest.raises(InputError, match=r"Workload\.stream answers"):
        Workload.parse("QUERY q RETURN COUNT(*) PATTERN A WITHIN 1 hour;").live(stream)


def test_no_events_give_empty_results_with_the_same_columns(spark: SparkSession) -> None:
    workload = Workload.parse(WORKLOADS["groups and equivalence"])
    table = events()
    actual = workload.run(frame_of(spark, table.slice(0, 0)))["q"]
    assert rows_of(actual) == []
    assert actual.schema == workload.run(frame_of(spark, table))["q"].schema


MOMENT = dt.datetime(2024, 2, 29, 12, 0, 1)
TIMES = {
    "timestamps": [MOMENT.replace(tzinfo=dt.UTC) + dt.timedelta(seconds=n) for n in range(3)],
    "local timestamps": [MOMENT + dt.timedelta(seconds=n) for n in range(3)],
    "dates": [dt.date(2024, 2, 28) + dt.timedelta(days=n) for n in range(3)],
    "integers": [-1, 0, 1],
    "floats": [0.5, 1.000001, 86399.9],
}


@pytest.mark.parametrize("kind", TIMES)
@pytest.mark.parametrize("window", ["1 day", "1 hour"])
def test_windows_are_told_in_the_inputs_own_kind_of_time(
    spark: SparkSession, kind: str, window: str
) -> None:
    workload = Workload.parse(f"QUERY q RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN {window};")
    if kind == "dates":
        workload = Workload.parse(f"QUERY q RETURN COUNT(*) PATTERN B+ WITHIN {window};")
    times = TIMES[kind]
    table = pa.table({"time": times, "type": ["A", "B", "B"]})
    actual, expected = workload.run(frame_of(spark, table))["q"], workload.run(table)["q"]
    assert actual.columns == expected.column_names
    if kind == "timestamps":  # Spark hands out timestamps without a zone, in this machine's
        actual = actual.select(
            *(F.to_timestamp_ntz(name) if "window" in name else name for name in actual.columns)
        )
        wanted = [
            tuple(v.replace(tzinfo=None) if isinstance(v, dt.datetime) else v for v in row)
            for row in rows_of(expected)
        ]
        assert rows_of(actual) == wanted
    else:
        assert rows_of(actual) == rows_of(expected)


def test_text_in_iso_8601_is_a_time(spark: SparkSession) -> None:
    workload = Workload.parse("QUERY q RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 1 hour;")
    table = pa.table(
        {"time": ["2024-02-29T12:00:01Z", "2024-02-29T13:00:02+01:00"], "type": ["A", "B"]}
    )
    actual = workload.run(frame_of(spark, table))["q"].select("count(*)")
    assert rows_of(actual) == [(1.0,)]


def test_time_and_type_may_be_sql(spark: SparkSession) -> None:
    workload = Workload.parse("QUERY q RETURN COUNT(*) PATTERN SEQ(Low, High+) WITHIN 60 seconds;")
    table = events()
    options: dict[str, Any] = {
        "time": "time / 2.0D",
        "type": "CASE WHEN v > 0 THEN 'High' ELSE 'Low' END",
    }
    expected = workload.run(table, **options)["q"]
    assert expected.num_rows > 0
    assert_same(workload.run(frame_of(spark, table), **options)["q"], expected)


def test_unusable_events_are_set_aside_where_that_is_allowed(spark: SparkSession) -> None:
    workload = Workload.parse("QUERY q RETURN COUNT(*) PATTERN SEQ(A, B+);")
    table = pa.table({"time": [1, None, 3, 4], "type": ["A", "B", "B", None], "v": [1, 2, 3, 4]})
    results = workload.run(frame_of(spark, table), rejects=True)
    assert rows_of(results["q"].select("count(*)")) == [(1.0,)]
    assert results.rejected is not None
    assert sorted(rows_of(results.rejected.select("v", "reject_reason"))) == [
        (2, "null time"),
        (4, "null type"),
    ]


def test_a_column_with_the_name_of_the_reasons_stays(spark: SparkSession) -> None:
    table = pa.table({"time": [1, None], "type": ["A", "B"], "Reject_Reason": ["x", "y"]})
    results = Workload.parse("RETURN COUNT(*) PATTERN A").run(frame_of(spark, table), rejects=True)
    assert results.rejected is not None
    rows = rows_of(results.rejected.select("Reject_Reason", "reject_reason_2"))
    assert rows == [("y", "null time")]


def test_unusable_events_stop_the_run_where_it_is_not_allowed(spark: SparkSession) -> None:
    workload = Workload.parse("QUERY q RETURN COUNT(*) PATTERN SEQ(A, B+);")
    table = pa.table({"time": [1, None], "type": ["A", "B"]})
    with pytest.raises(InputError, match="null time"):
        workload.run(frame_of(spark, table))["q"].collect()


def test_spark_does_not_filter_before_it_looks_for_unusable_events(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "events.csv").write_text("time,type,k\n1,A,1\n2,,1\n3,B,1\n,B,\n")
    frame = spark.read.csv(str(tmp_path), header=True, inferSchema=True)
    workload = Workload.parse("QUERY q RETURN k, COUNT(*) PATTERN SEQ(A, B+) GROUP BY k;")
    for usable, reason in (("time > 0", "null type"), ("type > ''", "null time")):
        with pytest.raises(InputError, match=reason):
            workload.run(frame.filter(usable))["q"].collect()
    usable = frame.filter("time > 0 AND type > ''")
    assert rows_of(workload.run(usable)["q"].select("k", "count(*)")) == [(1, 1.0)]


def test_a_type_that_never_occurs_is_warned_of(spark: SparkSession) -> None:
    workload = Workload.parse("QUERY q RETURN COUNT(*) PATTERN SEQ(A, Bee+);")
    table = events()
    there, here = workload.run(frame_of(spark, table)).warnings, workload.run(table).warnings
    assert there == here
    assert len(there) == 2  # no Bee, and simultaneous events


def test_tasks_that_read_files_count_types_as_they_read(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = pa.table({"time": range(7), "type": list("ABABBXB"), "v": range(7)})
    pq.write_table(table, tmp_path / "events.parquet", row_group_size=3)
    workload = Workload.parse("QUERY q RETURN MIN(A.v) AS v PATTERN SEQ(A X, NOT Bee, B+);")
    results = workload.run(spark.read.parquet(str(tmp_path / "events.parquet")))
    context: Any = spark.sparkContext
    results["q"].collect()
    context.setJobGroup("warnings", "what is told of types")
    try:
        told = results.warnings
    finally:
        context._jsc.clearJobGroup()
    assert len(told) == 2  # no Bee, and a variable that is named as a type
    assert told == workload.run(table).warnings
    assert context.statusTracker().getJobIdsForGroup("warnings") == []


@pytest.mark.parametrize("asked", ["collect", "count", "to_arrow"])
def test_rows_that_are_not_there_are_told_as_in_process(
    spark: SparkSession, tmp_path: Path, asked: str
) -> None:
    path = str(tmp_path / "events.parquet")
    pq.write_table(pa.table({"time": range(4), "type": list("ABAB")}), path)
    workload = Workload.parse("""
        QUERY absent RETURN COUNT(*) PATTERN SEQ(A, Bee);
        QUERY never RETURN COUNT(*) PATTERN A WHERE A.time > A.time WITHIN 2 s SLIDE 3 s;""")
    with pytest.warns(NoRowsWarning) as here:
        in_process = workload.run(path)
    results = workload.run(spark.read.parquet(path))
    with pytest.warns(NoRowsWarning) as there:
        getattr(results["absent"], asked)()
    assert [str(one.message) for one in there] == [str(one.message) for one in here]
    assert {one.filename for one in there} == {__file__}
    assert results.warnings == in_process.warnings
    assert workload.warnings == results.warnings[: len(workload.warnings)] != ()


def test_rows_that_spark_read_no_types_for_are_told_by_their_conditions(
    spark: SparkSession,
) -> None:
    workload = Workload.parse("QUERY q RETURN COUNT(*) PATTERN A WHERE A.v > A.v;")
    with pytest.warns(NoRowsWarning, match="no event can be A"):
        workload.run(frame_of(spark, events()))["q"].count()


def test_closed_results_let_go_of_what_spark_keeps(spark: SparkSession) -> None:
    context: Any = spark.sparkContext
    workload = Workload.parse(WORKLOADS["cuts and choices"])
    before = context._jsc.getPersistentRDDs().size()
    with workload.run(frame_of(spark, events())) as results:
        rows = rows_of(results["one"])
        assert context._jsc.getPersistentRDDs().size() > before
    assert context._jsc.getPersistentRDDs().size() == before
    assert sorted(rows_of(results["one"]), key=repr) == sorted(rows, key=repr)


def test_a_run_starts_no_job_and_one_query_keeps_nothing(spark: SparkSession) -> None:
    context: Any = spark.sparkContext
    frame = frame_of(spark, events())
    before = context._jsc.getPersistentRDDs().size()
    context.setJobGroup("a run", "events in")
    try:
        results = Workload.parse(WORKLOADS["groups and equivalence"]).run(frame)
        assert list(context.statusTracker().getJobIdsForGroup("a run")) == []
        assert rows_of(results["q"])
        assert list(context.statusTracker().getJobIdsForGroup("a run")) != []
    finally:
        context._jsc.clearJobGroup()
    assert context._jsc.getPersistentRDDs().size() == before


def test_rows_are_in_order_where_that_is_asked_for(spark: SparkSession) -> None:
    workload = Workload.parse(WORKLOADS["groups"])
    table = events()
    actual = rows_of(workload.run(frame_of(spark, table), ordered=True)["q"])
    assert actual == rows_of(workload.run(table)["q"])


def test_spark_may_refuse_to_keep_anything(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AnalysisException("[NOT_SUPPORTED_WITH_SERVERLESS] PERSIST TABLE is not supported")

    frame = frame_of(spark, events())
    monkeypatch.setattr(type(frame), "persist", refuse)
    results = Workload.parse(WORKLOADS["cuts and choices"]).run(frame)
    assert rows_of(results["one"])
    results.close()


def test_an_unknown_attribute_is_refused_before_anything_runs(spark: SparkSession) -> None:
    workload = Workload.parse("QUERY q RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE B.vv > 1;")
    with pytest.raises(QuerySemanticError, match="no attribute 'vv'"):
        workload.run(frame_of(spark, events()))


def test_an_unknown_time_column_is_refused(spark: SparkSession) -> None:
    workload = Workload.parse("QUERY q RETURN COUNT(*) PATTERN SEQ(A, B+);")
    with pytest.raises(InputError, match=r"no column 'tme'.*Did you mean 'time'"):
        workload.run(frame_of(spark, events()), time="tme")


def test_two_columns_of_one_name_are_refused_before_anything_runs(spark: SparkSession) -> None:
    workload = Workload.parse("QUERY q RETURN COUNT(*) PATTERN SEQ(A, B+);")
    frame = frame_of(spark, events()).selectExpr("*", "time AS time")
    with pytest.raises(InputError, match=r"^Two columns of the events are named 'time'\. Rename"):
        workload.run(frame)


def test_what_spark_finds_wrong_is_told_in_one_line_and_not_logged(
    spark: SparkSession, capfd: pytest.CaptureFixture[str]
) -> None:
    workload = Workload.parse("QUERY q RETURN COUNT(*) PATTERN SEQ(A, B+);")
    with pytest.raises(InputError, match=r"'nofunction.time.'.*UNRESOLVED_ROUTINE") as raised:
        workload.run(frame_of(spark, events()), time="nofunction(time)")
    assert "\n" not in str(raised.value)
    assert "stacktrace" not in capfd.readouterr().err


def test_files_of_any_format_are_read_in_a_users_session(
    spark: SparkSession, tmp_path: Path
) -> None:
    workload = Workload.parse("QUERY q RETURN COUNT(*) AS n PATTERN SEQ(A, B+);")
    (tmp_path / "trips.csv").write_text("time,type\n1,A\n2,B\n3,B\n")
    results = workload.run(tmp_path / "trips.csv", spark=spark)
    assert [row.n for row in results["q"].collect()] == [3.0]
    with pytest.raises(InputError, match=r"Did you mean 'trips\.csv'"):
        workload.run(tmp_path / "trip.csv", spark=spark)
    with pytest.raises(InputError, match=r"Spark cannot read 'file:///no/such'.*PATH_NOT_FOUND"):
        workload.run("file:///no/such", spark=spark)


def test_columns_may_have_any_name_and_be_decimals(spark: SparkSession) -> None:
    workload = Workload.parse("""
        QUERY q RETURN `the g.`, COUNT(*), SUM(B.`v.`) PATTERN SEQ(A, B+) WHERE B.`v.` > 0.5
        GROUP BY `the g.`;""")
    table = events().select(["time", "type", "g"])
    table = table.rename_columns(["the time", "type", "the g."])
    table = table.append_column(
        "v.", pa.array([Decimal(n % 5) / 4 for n in range(400)], pa.decimal128(10, 2))
    )
    expected = workload.run(table, time="the time")["q"]
    assert_same(workload.run(frame_of(spark, table), time="the time")["q"], expected)


@pytest.mark.parametrize(
    ("condition", "lost"),
    [
        ("T.u = 18446744073709551615", True),
        ("T.u IN (1, 2)", True),
        ("T.u % 10 > T.k", True),
        ("T.k = 1", False),
        ("T.u = T.k", True),
        ("T.u IS NULL", False),
        ("T[i].u > T[i-1].u", False),
    ],
)
def test_whole_numbers_that_lose_digits_in_doubles_are_warned_of(
    spark: SparkSession, tmp_path: Path, condition: str, lost: bool
) -> None:
    workload = Workload.parse(f"QUERY q RETURN COUNT(*) PATTERN T+ WHERE {condition};")
    for greatest in (2**53, 2**64 - 1):
        table = pa.table(
            {
                "time": [1, 2],
                "type": ["T", "T"],
                "u": pa.array([greatest, None], pa.uint64()),
                "k": [1, 1],
            }
        )
        place = tmp_path / f"{greatest}.parquet"
        pq.write_table(table, place)
        told = workload.run(spark.read.parquet(str(place))).warnings
        expected = lost and greatest > 2**53
        assert any(f"beyond 2^53, up to {greatest}" in one for one in told) == expected
