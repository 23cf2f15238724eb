"""Times in both drivers: nanoseconds stay nanoseconds, bare numbers are in the time's own unit."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import elsinore as el
from elsinore.errors import InputError, QuerySemanticError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RISE = "QUERY q RETURN COUNT(*) PATTERN SEQ(Tick T, Tick U) WHERE U.price > T.price {};"
NANOS = 1_700_000_000_000_000_000
TICKS = {"time": [NANOS, NANOS + 1], "type": ["Tick", "Tick"], "price": [1.0, 2.0]}


def local(query: str, columns: dict[str, Any], **options: Any) -> list[dict[str, Any]]:
    table: pa.Table = el.Workload.parse(query).run(columns, **options)["q"]
    return table.to_pylist()


def on_spark(
    spark: SparkSession, query: str, columns: dict[str, Any], **options: Any
) -> list[dict[str, Any]]:
    frame = spark.createDataFrame(pa.table(columns))
    found = el.Workload.parse(query).run(frame, **options)["q"]
    return [row.asDict() for row in found.collect()]


def both(spark: SparkSession, query: str, columns: dict[str, Any], **options: Any) -> list[Any]:
    """Return the rows, which are the same in both drivers."""
    rows = local(query, columns, **options)
    assert on_spark(spark, query, columns, **options) == rows
    return rows


def test_ticks_a_nanosecond_apart_rise(spark: SparkSession) -> None:
    rows = both(spark, RISE.format("WITHIN 2 ns"), TICKS, time_unit="ns")
    assert rows == [{"window_start": NANOS, "window_end": NANOS + 2, "count(*)": 1.0}]


def test_timestamps_keep_their_nanoseconds() -> None:
    times = pa.array(TICKS["time"], pa.timestamp("ns"))
    table = el.Workload.parse(RISE.format("WITHIN 2 ns")).run(TICKS | {"time": times})["q"]
    assert table.column("window_start").cast(pa.int64()).to_pylist() == [NANOS]
    assert table.column("count(*)").to_pylist() == [1.0]


def test_text_keeps_its_nanoseconds(spark: SparkSession) -> None:
    times = ["2024-01-01T00:00:00.000000001Z", "2024-01-01 01:00:00.000000002+01:00"]
    for run in (local, lambda *given: on_spark(spark, *given)):
        (row,) = run(RISE.format("WITHIN 1 second"), TICKS | {"time": times})
        assert row["count(*)"] == 1.0


def test_windows_finer_than_the_times_make_the_clock_finer(spark: SparkSession) -> None:
    query = RISE.format("WITHIN 1 s SLIDE 500 us").replace("Tick U", "Tick U+")
    times = {"time": [1, 2], "type": ["Tick", "Tick"], "price": [1.0, 2.0]}
    assert len(both(spark, query, times, time_unit="ms")) == 1998
    query = RISE.format("WITHIN 1500 ns SLIDE 500 ns")
    (row,) = both(spark, query, times, time_unit="us")
    assert (row["window_start"], row["window_end"]) == (1.0, 2.5)


def test_decimals_are_times_as_the_doubles_nearest_to_them(spark: SparkSession) -> None:
    texts = ["1700000000.000001", "1700000000.000002", "-0.5", None]
    times = pa.array([None if text is None else Decimal(text) for text in texts])
    columns = {"time": times, "type": ["Tick"] * 4, "price": [1.0, 2.0, 0.5, 3.0]}
    query = RISE.format("WITHIN 10")
    rows = both(spark, query, {name: column[:2] for name, column in columns.items()})
    assert rows == [
        {"window_start": 1_700_000_000.0, "window_end": 1_700_000_010.0, "count(*)": 1.0}
    ]
    assert both(spark, query, columns, rejects=True) == rows
    far = columns | {"time": pa.array([Decimal(n) * 10**20 for n in range(4)])}
    for run in (local, lambda *given: on_spark(spark, *given)):
        with pytest.raises(Exception, match="time out of range"):
            run(query, far)


def test_times_that_are_all_null_are_told_as_such() -> None:
    nothing = {"time": pa.nulls(2), "type": ["Tick"] * 2, "price": [1.0, 2.0]}
    with pytest.raises(InputError, match="2 with null time"):
        local(RISE.format("WITHIN 10"), nothing)


def test_text_that_is_no_time_is_told_with_what_reads_it() -> None:
    days = TICKS | {"time": ["01/02/2024", "02/02/2024"]}
    with pytest.raises(InputError, match=r"at least half of them are.*TO_TIMESTAMP\(time"):
        local(RISE.format("WITHIN 10 s"), days)


@pytest.mark.parametrize(
    "texts",
    [
        ["1", "yesterday", " 2", "+12"],
        ["1.5", "2e0", "12.25", "", "never"],
        ["2024-01-31T00:00:01", "yesterday", "2024-01-31 00:00:02"],
        ["900719925474", "x", "900719925475"],
    ],
)
def test_a_time_that_is_none_leaves_the_others(spark: SparkSession, texts: list[str]) -> None:
    number = len(texts)
    columns = {"time": texts, "type": ["Tick"] * number, "price": list(range(number))}
    query = RISE.format("WITHIN 10 s" if "-" in texts[0] else "WITHIN 10")
    rows = both(spark, query, columns, rejects=True)
    good = [row for row, text in enumerate(texts) if text[-1:].isdigit()]
    alone = {name: [column[row] for row in good] for name, column in columns.items()}
    if "-" not in texts[0]:
        alone["time"] = pa.array([float(t) if "." in texts[0] else int(t) for t in alone["time"]])
    assert rows == both(spark, query, alone)
    with pytest.raises(InputError, match=r"row [25] \(unparseable"):
        local(query, columns)


def test_times_among_which_one_is_none_are_numbers_to_queries(spark: SparkSession) -> None:
    columns = {"time": ["2", "soon", "10", "30"], "type": list("ABBB")}
    query = "QUERY q RETURN a.time, b.time, b.time - a.time AS d PATTERN SEQ(A a, B b) "
    rows = both(spark, query + "WHERE b.time > a.time WITHIN 20", columns, rejects=True)
    assert rows == [{"a.time": 2, "b.time": 10, "d": 8}]
    (told,) = el.Workload.parse(query).run(columns, rejects=True).rejected.to_pylist()
    assert told == {"time": "soon", "type": "B", "reject_reason": "unparseable time"}


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        (["1", "soon", "3"], "unparseable time"),
        (["1", "1e30", "3"], "time out of range"),
        (["1", None, "3"], "null time"),
        (["2024-01-01T00:00:00.000000001", "9999-12-31", "2024-01-02"], "time out of range"),
    ],
)
def test_what_is_wrong_with_a_time_in_text_is_told_alike(
    spark: SparkSession, texts: list[str | None], reason: str
) -> None:
    columns = {"time": texts, "type": ["Tick"] * 3, "price": [1.0, 2.0, 3.0]}
    workload = el.Workload.parse(RISE.format("WITHIN 10 s"))
    for events in (columns, spark.createDataFrame(pa.table(columns))):
        with pytest.raises(InputError, match=reason):
            workload.run(events)["q"].to_pylist()
        rejected = workload.run(events, rejects=True).rejected
        rejected = rejected if isinstance(rejected, pa.Table) else rejected.toArrow()
        assert rejected.column("reject_reason").to_pylist() == [reason]


FAILING = [  # time, type: SQL expressions that fail for some events
    ("TO_TIMESTAMP(at, 'dd/MM/yyyy HH:mm')", "kind"),
    ("TRY_TO_TIMESTAMP(at, 'd/M/yyyy H:mm')", "kind"),
    ("CAST(number AS BIGINT)", "kind"),
    ("seconds", "CASE CAST(number AS INT) WHEN 1 THEN 'A' ELSE 'B' END"),
    (
        "CAST(COALESCE(number, '7') AS DOUBLE)",
        "COALESCE(kind, CAST(CAST(number AS INT) AS STRING))",
    ),
    ("10 / (seconds - 2)", "CASE WHEN number = 'N/A' THEN 'A' ELSE kind END"),
    ("seconds + 9223372036854775800", "CASE WHEN CAST(number AS INT) > 1 THEN 'A' ELSE 'B' END"),
    ("seconds", "IF(10 / (seconds - 2) > 0, 'A', 'B')"),
]


@pytest.mark.parametrize(("time", "kind"), FAILING)
def test_events_for_which_the_time_or_the_type_fails_are_rejected(
    spark: SparkSession, time: str, kind: str
) -> None:
    columns = {
        "seconds": list(range(8)),
        "at": ["01/02/2024 10:00", "N/A", "31/02/2024 10:00", None, "1/2/2024 9:05"] * 2,
        "number": ["1", "N/A", None, " 2 ", "1", "2", "0x3", "1"],
        "kind": ["A", "B", None, "B", "A", "A", "B", "B"],
    }
    columns["at"] = columns["at"][:8]
    workload = el.Workload.parse(
        "QUERY q RETURN a.seconds AS s, b.seconds AS t PATTERN SEQ(A a, B b)"
    )
    options = {"time": time, "type": kind, "rejects": True}
    found = []
    for events in (columns, spark.createDataFrame(pa.table(columns))):
        results = workload.run(events, **options)
        rejected = results.rejected
        rejected = rejected if isinstance(rejected, pa.Table) else rejected.toArrow()
        bad = rejected.select(["seconds", "reject_reason"]).to_pylist()
        found.append([sorted(map(repr, bad)), sorted(map(repr, results["q"].to_pylist()))])
    assert found[0] == found[1]
    assert found[0][0]


def test_the_error_shows_how_to_read_times_of_another_format(spark: SparkSession) -> None:
    days = {"my day": ["01/02/2024", "02/02/2024", "N/A"], "type": ["Tick"] * 3, "price": [1, 2, 3]}
    workload = el.Workload.parse(RISE.format("WITHIN 1 week"))
    for events in (days, spark.createDataFrame(pa.table(days))):
        with pytest.raises(InputError) as caught:
            workload.run(events, time="my day")["q"].to_pylist()
        suggested = "TRY_TO_TIMESTAMP(`my day`, 'dd/MM/yyyy')"
        if events is days:  # on Spark, the command line adds this to the job's error
            assert f'time="{suggested}"' in str(caught.value)
        results = workload.run(events, time=suggested, rejects=True)
        assert results["q"].to_pylist()[0]["count(*)"] == 1.0


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_bare_numbers_are_in_the_unit_of_the_times(spark: SparkSession, unit: str) -> None:
    times = {"time": [1, 2, 3], "type": ["Tick"] * 3, "price": [1.0, 2.0, 3.0]}
    query = RISE.format("WITHIN 2 SLIDE 1 ORIGIN 1")
    assert both(spark, query, times, time_unit=unit) == [
        {"window_start": 1, "window_end": 3, "count(*)": 1.0},
        {"window_start": 2, "window_end": 4, "count(*)": 1.0},
    ]


def test_bare_numbers_are_refused_for_timestamps(spark: SparkSession) -> None:
    columns = TICKS | {"time": pa.array([1, 2], pa.timestamp("us"))}
    for run in (local, lambda *given: on_spark(spark, *given)):
        with pytest.raises(QuerySemanticError, match=r"WITHIN needs a unit.*'30 seconds'") as e:
            run(RISE.format("WITHIN 2"), columns)
        assert e.value.line == 1


def test_times_whose_windows_leave_64_bits_are_unusable(spark: SparkSession) -> None:
    columns = TICKS | {"time": [NANOS, 2**63 - 5]}
    with pytest.raises(InputError, match="1 with time out of range"):
        local(RISE.format("WITHIN 10 s"), columns, time_unit="ns")
    frame = spark.createDataFrame(pa.table(columns))
    workload = el.Workload.parse(RISE.format("WITHIN 10 s"))
    results = workload.run(frame, time_unit="ns", rejects=True)
    assert results.rejected is not None
    assert [row["time"] for row in results.rejected.collect()] == [2**63 - 5]


def test_windows_beyond_64_bits_of_nanoseconds_are_refused() -> None:
    with pytest.raises(QuerySemanticError, match=r"up to 72 years.*in nanoseconds"):
        local(RISE.format("WITHIN 5000 weeks"), TICKS, time_unit="ns")


@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize("written", ["00:00:05", "00:00:05Z", "01:00:05+01:00"])
def test_texts_beside_times_are_utc_unless_they_name_a_zone(
    spark: SparkSession, written: str, zone: str | None
) -> None:
    """Whatever the session's zone, on one event, between events, and in a match."""
    times = pa.array(range(10), pa.timestamp("s")).cast(pa.timestamp("us", zone))
    columns = {"time": times, "type": ["A"] * 10, "v": list(range(10))}
    moment = f"'1970-01-01T{written}'"
    workload = el.Workload.parse(f"""
        QUERY one   RETURN COUNT(*) AS n PATTERN A a WHERE a.time >= {moment};
        QUERY among RETURN COUNT(*) AS n PATTERN A a WHERE a.time IN ({moment});
        QUERY pairs RETURN COUNT(*) AS n PATTERN SEQ(A a, A b)
            WHERE a.time >= {moment} OR a.v > b.v;
        QUERY rows  RETURN b[].v AS n PATTERN A{{2}} b WHERE b[b.LEN].time >= {moment}
            STRATEGY CONTIGUOUS;
    """)
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        kind = "timestamp" if zone else "timestamp_ntz"
        rows = zip(times.to_pylist(), columns["type"], columns["v"], strict=True)
        frame = spark.createDataFrame(list(rows), f"time {kind}, type string, v long")
        for results in (workload.run(columns), workload.run(frame)):
            found = {name: results[name].to_pylist() for name in results}
            assert [found[name][0]["n"] for name in ("one", "among", "pairs")] == [5, 1, 10]
            assert len(found["rows"]) == 5
    finally:
        spark.conf.set("spark.sql.session.timeZone", str(before))
