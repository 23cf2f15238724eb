"""A key that holds most of the events is cut by panes, and nothing else changes."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from pyspark.errors import PySparkAttributeError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from elsinore.language import parse_workload
from elsinore.local import run as run_in_process
from elsinore.operators import kind_for, plan
from elsinore.operators.panes import ActionSize
from elsinore.plan import Unit
from elsinore.runtime.options import RunOptions
from elsinore.spark import skew
from elsinore.spark.driver import Events, run, selected_events
from elsinore.spark.skew import Cut, cores_of, find_cut, is_cut, pays

WINDOWED = """QUERY q RETURN g, COUNT(*), SUM(B.v), AVG(B.w), MIN(A.v), MAX(B.w), LOG2(COUNT(*)),
    VARIANCE(B.w) PATTERN SEQ(A, B+, C) WHERE A.v != 1 GROUP BY g WITHIN 20 seconds SLIDE 5 seconds;
    QUERY long RETURN g, COUNT(*), COUNT(B) PATTERN (SEQ(A, B+))+ GROUP BY g WITHIN 1 minute;"""
GUARDED = """QUERY q RETURN g, COUNT(*), SUM(B.v), MIN(B.w) PATTERN SEQ(NOT C c, A, B+, NOT C n)
    WHERE c.v > 2 AND n.v > 1 GROUP BY g WITHIN 20 seconds SLIDE 5 seconds;"""
ENDLESS = "QUERY q RETURN COUNT(*), MAX(B.w) PATTERN SEQ(A, B+) GROUP BY g;"
KEYED = "QUERY q RETURN g, COUNT(*), SUM(B.v) PATTERN SEQ(A, B+) WHERE [k] GROUP BY g WITHIN 9;"
ODD = "QUERY q RETURN g, COUNT(*), MIN(B.v) PATTERN SEQ(A, B+) GROUP BY g WITHIN 97 seconds;"
ONE = "QUERY q RETURN COUNT(*), AVG(B.v) PATTERN SEQ(A, B+) WITHIN 10 seconds;"


def events(count: int = 600) -> pa.Table:
    """Return events of which four in five are of one group, some simultaneous."""
    random = np.random.default_rng(5)
    hot = random.random(count) < 0.8
    return pa.table(
        {
            "time": np.sort(random.integers(0, 120, count)),
            "type": np.array(list("ABC"))[random.integers(0, 3, count)],
            "g": np.where(hot, "hot", np.array(list("xyz"))[random.integers(0, 3, count)]),
            "k": np.where(hot, 7, random.integers(0, 4, count)),
            "v": random.integers(-3, 4, count),
            "w": np.where(random.random(count) < 0.1, np.nan, random.random(count)),
        }
    )


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let keys be cut that have too few events for it to pay."""
    monkeypatch.setattr(skew, "pays", lambda *_: True)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("text", [WINDOWED, GUARDED, ENDLESS, KEYED, ODD, ONE])
@pytest.mark.parametrize("order", [(), ("v",)], ids=["moments", "ordered"])
def test_cut_keys_give_the_same_results(
    spark: SparkSession, text: str, order: tuple[str, ...]
) -> None:
    table = events()
    frame = spark.createDataFrame(table.to_pandas())
    ready = plan(parse_workload(text))
    options = RunOptions(order_by=order, ordered=True, skew_events=100)
    found = find_cut(
        ready.units[0], selected_events((ready.units[0],), Events(frame, options)), 100
    )
    assert found is not None
    assert len(found.keys) == 1
    results = run(ready, frame, options)
    expected = run_in_process(ready, table, options)
    for name, frame_of in results.items():
        rows = [row.asDict() for row in frame_of.collect()]
        assert len(rows) == expected[name].num_rows > 0
        for row, same in zip(rows, expected[name].to_pylist(), strict=True):
            assert row == pytest.approx(same)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ntz"])
def test_times_are_keys_that_can_be_cut_in_any_time_zone(spark: SparkSession, kind: str) -> None:
    table = events()
    frame = spark.createDataFrame(table.to_pandas())
    hot = F.when(F.col("g") == "hot", F.lit("2024-10-27 02:30:00.25")).otherwise("2024-10-27")
    ready = plan(parse_workload(ENDLESS))
    zone = "spark.sql.session.timeZone"
    before = spark.conf.get(zone)
    try:
        spark.conf.set(zone, "Asia/Kathmandu")  # Python's is another
        timed = frame.withColumn("g", hot.cast(kind))
        options = RunOptions(skew_events=100)
        selected = selected_events((ready.units[0],), Events(timed, options))
        found = find_cut(ready.units[0], selected, 100)
        assert found is not None
        cut = selected.filter(is_cut(ready.units[0], selected, found)).count()
        assert cut == selected.filter(F.col("g0") != F.lit("2024-10-27").cast(kind)).count() > 100
    finally:
        spark.conf.set(zone, before or "UTC")


@pytest.mark.usefixtures("always")
def test_panes_may_lie_in_several_batches(spark: SparkSession) -> None:
    table = events()
    ready = plan(parse_workload(ENDLESS))
    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = spark.conf.get(name)
    try:
        spark.conf.set(name, "3")
        options = RunOptions(ordered=True, skew_events=100)
        found = run(ready, spark.createDataFrame(table.to_pandas()), options)
        rows = [row.asDict() for row in found["q"].collect()]
    finally:
        spark.conf.set(name, before or "10000")
    for row, same in zip(
        rows, run_in_process(ready, table, RunOptions())["q"].to_pylist(), strict=True
    ):
        assert row == pytest.approx(same)


def test_a_key_with_no_more_than_its_share_is_not_cut(spark: SparkSession) -> None:
    table = events()
    even = table.set_column(
        table.column_names.index("g"), "g", pa.array([str(n % 10) for n in range(600)])
    )
    frame = spark.createDataFrame(even.to_pandas())
    unit = plan(parse_workload(WINDOWED)).units[0]
    options = RunOptions(skew_events=10)
    assert find_cut(unit, selected_events((unit,), Events(frame, options)), 10) is None


def test_a_small_key_is_not_cut_whatever_its_share(spark: SparkSession) -> None:
    frame = spark.createDataFrame(events().to_pandas())
    unit = plan(parse_workload(WINDOWED)).units[0]
    options = RunOptions(skew_events=1_000_000)
    assert (
        find_cut(unit, selected_events((unit,), Events(frame, options)), options.skew_events)
        is None
    )


def test_a_key_is_not_cut_into_more_panes_than_pay(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(skew, "cores_of", lambda _: 4)
    options = RunOptions(skew_events=100)
    unit = plan(parse_workload(ONE)).units[0]

    def found(count: int) -> Cut | None:
        frame = spark.createDataFrame(events(count).to_pandas())
        return find_cut(unit, selected_events((unit,), Events(frame, options)), options.skew_events)

    assert found(600) is None
    assert found(12_000) is not None


def test_keys_are_not_counted_where_cutting_them_could_not_pay(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []
    monkeypatch.setattr(skew, "_largest", lambda *given: looked.append(given[-1]) or (0, []))
    frame = spark.createDataFrame(events().to_pandas())
    unit = plan(parse_workload(ONE)).units[0]
    for cores, counted in ((2, []), (8, [100])):
        monkeypatch.setattr(skew, "cores_of", lambda _, cores=cores: cores)
        assert find_cut(unit, selected_events((unit,), Events(frame, RunOptions())), 100) is None
        assert looked == counted


def size_of(unit: Unit) -> ActionSize:
    panes = kind_for(unit).panes(unit)
    assert not isinstance(panes, str)
    return panes.size


def test_what_pays_depends_on_events_per_pane_and_on_the_size_of_an_action() -> None:
    sliding = "QUERY q RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 61 SLIDE 7;"
    small = size_of(plan(parse_workload(sliding)).units[0])
    large = size_of(plan(parse_workload(sliding.replace("A, B+", "A{1,9}, B{1,9}, C+"))).units[0])
    million = 1_000_000
    assert not pays(small, million, million, panes=million, cores=8)
    assert pays(small, million, million, panes=million // 20, cores=8)
    assert not pays(large, million, million, panes=million // 20, cores=8)
    assert pays(large, million, million, panes=million // 10_000, cores=64)
    assert not pays(small, million, 2 * million, panes=16, cores=2)  # the others keep a core busy


def test_panes_are_no_shorter_than_asked_for_whatever_the_windows(spark: SparkSession) -> None:
    cut = Cut((), length=97, part=30, origin=5)
    times = spark.range(5, 5 + 2 * 97).select(cut.pane(F.col("id")).alias("pane"))
    panes = times.groupBy("pane").count().orderBy("pane").collect()
    assert [tuple(row) for row in panes] == [
        (start + pane, size)
        for start in (5, 102)
        for pane, size in ((0, 30), (30, 30), (60, 30), (90, 7))
    ]


class ConnectedSession:
    """A session over Spark Connect, as far as a count of its cores sees it."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    @property
    def sparkContext(self) -> Any:  # noqa: N802 - Spark's name
        raise PySparkAttributeError(
            errorClass="JVM_ATTRIBUTE_NOT_SUPPORTED", messageParameters={"attr_name": "_jsc"}
        )

    def range(self, end: int) -> DataFrame:
        return self._spark.range(end)


def test_cores_are_counted_over_spark_connect_too(spark: SparkSession) -> None:
    assert cores_of(spark) == 2
    assert cores_of(cast("SparkSession", ConnectedSession(spark))) == 2
