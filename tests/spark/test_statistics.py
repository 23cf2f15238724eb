"""Statistics of operators that ran in Spark's workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pytest

import elsinore as el
from elsinore.spark import shuffle
from elsinore.spark.statistics import accumulator
from support.spark import rows_of_all

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WORKLOAD = """
    QUERY ab RETURN key, COUNT(*) PATTERN SEQ(A, B+) GROUP BY key WITHIN 10 seconds;
    QUERY b RETURN COUNT(*) PATTERN B+ WHERE [key] WITHIN 10 seconds;
"""
KEYS = 12
EVENTS = {
    "time": [time for time in range(40) for _ in range(KEYS)],
    "type": [("A", "B", "B", "C")[time % 4] for time in range(40) for _ in range(KEYS)],
    "key": [key for _ in range(40) for key in range(KEYS)],
}


def test_the_workers_statistics_are_added_up_once_results_are_computed(
    spark: SparkSession,
) -> None:
    workload = el.Workload.parse(WORKLOAD)
    frame = spark.createDataFrame(pa.table(EVENTS)).repartition(3)
    results = workload.run(frame)
    assert [one.events for one in results.statistics] == [0, 0]
    rows_of_all(results)
    here = workload.run(pa.table(EVENTS)).statistics
    for there, one in zip(results.statistics, here, strict=True):
        assert there.events == one.matched  # the others are dropped before the shuffle
        assert there.matched == one.matched
        assert there.totals >= one.totals  # more where partitions have parts of one group
        assert there.state_bytes > 0


def test_results_that_are_asked_for_twice_count_once(spark: SparkSession) -> None:
    results = el.Workload.parse(WORKLOAD).run(spark.createDataFrame(pa.table(EVENTS)))
    results["ab"].collect()
    once = results.statistics[0]
    results["ab"].count()
    assert results.statistics[0] == once


QUERIES = 12
SHARING = "".join(
    f"QUERY q{n} RETURN key, COUNT(*), SUM(B.v) PATTERN SEQ(X{n}, B+) GROUP BY key"
    " WITHIN 100 seconds;"
    for n in range(QUERIES)
)


def bursts(tie: bool) -> pa.Table:
    """Return events of keys that all have an X, then a burst of B's, in turn.

    `tie`: once a B comes with an X.
    """
    events = [
        (time, "B" if time % 10 else f"X{time // 10}", key, float(time % 7))
        for time in range(10 * QUERIES)
        for key in range(KEYS)
    ]
    if tie:
        events.append((10 * (QUERIES - 1), "B", 0, 1.0))
    columns = zip(*events, strict=True)
    return pa.table(dict(zip(("time", "type", "key", "v"), columns, strict=True)))


@pytest.mark.parametrize("tie", [False, True], ids=["no tie", "a tie"])
def test_queries_share_bursts_without_an_order_whether_events_are_simultaneous_or_not(
    spark: SparkSession, tie: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shuffle, "PARTITION_BYTES", 1)  # several partitions, so few events or not
    workload = el.Workload.parse(SHARING)
    table = bursts(tie)
    results = workload.run(spark.createDataFrame(table).repartition(3), record=True, ordered=True)
    here = workload.run(table, record=True)
    for name, rows in rows_of_all(results).items():
        expected = here[name].to_pylist()
        assert len(rows) == len(expected) > 0
        for row, other in zip(rows, expected, strict=True):
            assert row == pytest.approx(other, rel=1e-9)
    (one,) = results.statistics
    (shared,) = one.sharing
    assert shared.queries == tuple(f"q{n}" for n in range(QUERIES))
    assert shared.bursts == here.statistics[0].sharing[0].bursts
    assert shared.bursts == QUERIES * KEYS
    assert shared.shared_graphlets > shared.bursts / 2


class ConnectedFrame:
    """A data frame over Spark Connect, as far as statistics see it."""

    @property
    def sparkSession(self) -> Any:  # noqa: N802 - Spark's name
        return self

    @property
    def sparkContext(self) -> Any:  # noqa: N802 - Spark's name
        from pyspark.errors import PySparkAttributeError

        raise PySparkAttributeError(
            errorClass="JVM_ATTRIBUTE_NOT_SUPPORTED", messageParameters={"attr_name": "_jsc"}
        )


@pytest.mark.usefixtures("spark")
def test_over_spark_connect_there_are_none() -> None:
    assert accumulator(cast("DataFrame", ConnectedFrame())) is None
