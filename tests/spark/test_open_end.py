"""Open streams on Spark: results are final at the last event of all keys, in all partitions."""

from __future__ import annotations

from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

import elsinore as el
from drivers.test_open_end import (
    EVENTS,
    TEXT,
    TREND_CASES,
    TrendCase,
    final_rows,
    often,
    planned,
    rows_of,
)
from elsinore.plan.modes import Combine, End
from elsinore.runtime.options import RunOptions
from elsinore.spark.combining import panes_of
from spark.test_combining import results
from support.trends import table_of
from trends.test_against_reference import compare


@often
@given(TREND_CASES, st.randoms(use_true_random=False))
def test_tasks_of_spark_return_the_same_trends_of_an_open_stream(
    case: TrendCase, random: Random
) -> None:
    workload, events = case
    assume(events and not workload.exact)
    last_time = events[-1].time
    with TemporaryDirectory() as folder:
        path = Path(folder) / "events.parquet"
        pq.write_table(table_of(events), path, row_group_size=random.randint(1, 6))
        for unit in planned(workload).units:
            can_combine = not isinstance(panes_of(unit), str)
            combine = random.choice((Combine.NEVER, Combine.ALWAYS))
            options = RunOptions(
                end=End.OPEN,
                last_time=last_time,
                combine=combine if can_combine else Combine.NEVER,
            )
            ((rows,), _) = results((unit,), path, options, random.randint(1, 5))
            for number, name in zip(unit.queries, unit.names, strict=True):
                query = workload.queries[number]
                compare(
                    query, final_rows(query, events, last_time), rows[name], exact=False, unit=1
                )


@pytest.mark.parametrize("files", [False, True], ids=["data frame", "files"])
def test_on_spark_the_last_event_of_all_keys_counts(
    spark: SparkSession, tmp_path: Path, files: bool
) -> None:
    workload = el.Workload.parse(TEXT)
    expected = workload.run(EVENTS, end="open")
    frame = spark.createDataFrame(EVENTS)
    if files:
        for number in range(4):
            part = EVENTS.slice(30 * number, 30)
            pq.write_table(part, tmp_path / f"{number}.parquet", row_group_size=10)
        frame = spark.read.parquet(str(tmp_path))
    with workload.run(frame, end="open", combine="always") as actual:
        assert rows_of(actual) == rows_of(expected)
        assert dict(actual.open_windows) == dict(expected.open_windows)
