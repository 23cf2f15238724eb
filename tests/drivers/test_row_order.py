"""Events without times are ordered by their rows (`time="ROWS"`), in process and from files."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import elsinore as el
from elsinore.errors import InputError, QuerySemanticError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WORKLOAD = el.Workload.parse("""
QUERY pairs RETURN a.ROWS AS first, b.ROWS AS last, a.v AS v, b.v AS w
PATTERN SEQ(A a, B b) WITHIN 3 EVENTS;
QUERY runs RETURN b[1].ROWS AS first, b[b.LEN].ROWS AS last PATTERN B+ b WHERE b[i].v >= b[i-1].v
STRATEGY CONTIGUOUS AFTER MATCH SKIP PAST LAST EVENT;
QUERY trends RETURN k, COUNT(*) PATTERN SEQ(A, B+) GROUP BY k WITHIN 4 EVENTS SLIDE 2 EVENTS;
""")


def events(seed: int, rows: int) -> pa.Table:
    draws = random.Random(seed)
    return pa.table(
        {
            "type": [draws.choice("ABC") for _ in range(rows)],
            "k": [draws.randrange(3) for _ in range(rows)],
            "v": [draws.randrange(9) for _ in range(rows)],
        }
    )


def rows_of(results: Any) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each query, in an order of their own."""
    tables = {name: results[name].to_arrow() for name in ("pairs", "runs", "trends")}
    return {name: sorted(t.to_pylist(), key=str) for name, t in tables.items()}


@pytest.mark.parametrize(
    "made", [lambda t: t, pa.Table.to_pandas, pa.Table.to_pylist, pa.Table.to_pydict]
)
def test_rows_are_the_times_of_events_without_times(made: Callable[[pa.Table], Any]) -> None:
    table = events(1, 60)
    numbered = table.append_column("ROWS", [range(1, 61)])
    assert rows_of(WORKLOAD.run(made(table), time="ROWS")) == rows_of(
        WORKLOAD.run(numbered, time="`ROWS`")
    )


def test_no_events_have_no_rows() -> None:
    assert WORKLOAD.run([], time="ROWS")["pairs"].column_names == ["first", "last", "v", "w"]


def test_a_length_of_time_is_refused_and_events_are_counted_instead() -> None:
    query = "QUERY q RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN {};"
    for length in ("5 minutes", "5"):
        with pytest.raises(QuerySemanticError, match="Count events instead, as in WITHIN 100 EV"):
            el.Workload.parse(query.format(length)).run(events(1, 9), time="ROWS")
    once = "QUERY q RETURN a[1].v PATTERN A+ a STRATEGY CONTIGUOUS SUPPRESS 1 hour;"
    with pytest.raises(QuerySemanticError, match="AFTER MATCH SKIP PAST LAST EVENT"):
        el.Workload.parse(once).run(events(1, 9), time="ROWS")


def test_a_column_named_rows_is_not_overwritten() -> None:
    with pytest.raises(InputError, match='write time="`ROWS`"'):
        WORKLOAD.run([{"type": "A", "k": 1, "v": 2, "ROWS": 7}], time="ROWS")


def test_what_has_no_order_is_refused() -> None:
    frame = pd.DataFrame({"k": [1], "v": [2]})
    with pytest.raises(InputError, match="Name a column of times with time="):
        WORKLOAD.run({"A": frame, "B": frame}, time="ROWS")
    with pytest.raises(InputError, match="live stream have no order"):
        WORKLOAD.live(events(1, 1).schema, time="ROWS")
    with pytest.raises(InputError, match="leave one of them out"):
        WORKLOAD.run(events(1, 1), time="ROWS", order_by="v")


def test_spark_refuses_the_rows_of_a_data_frame(spark: SparkSession) -> None:
    frame = spark.createDataFrame(events(1, 9))
    with pytest.raises(InputError, match="run over the path of the files"):
        WORKLOAD.run(frame, time="ROWS")
    own = frame.withColumn("ROWS", frame.k)
    with pytest.raises(InputError, match='write time="`ROWS`"'):
        WORKLOAD.run(own, time="ROWS")


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_spark_numbers_rows_of_files_as_this_process_does(
    spark: SparkSession, tmp_path: Path, suffix: str
) -> None:
    folder = tmp_path / "größe 1%2F +x"
    folder.mkdir()
    for number, rows in enumerate((5, 400, 40)):  # Spark reads the largest file first
        part = events(number, rows)
        if number == 2:  # files with other columns are read apart
            part = part.append_column("w", part["v"])
        place = folder / f"part {number}.{suffix}"
        if suffix == "parquet":
            pq.write_table(part, place, row_group_size=7)
        else:
            pyarrow.csv.write_csv(part, place)
    here = WORKLOAD.run(folder, time="ROWS")
    there = WORKLOAD.run(folder, time="ROWS", spark=spark)
    assert rows_of(there) == rows_of(here)


def test_spark_numbers_the_rows_of_one_file_that_several_tasks_read(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = tmp_path / "events.parquet"
    pq.write_table(events(3, 3000), place, row_group_size=100)
    spark.conf.set("spark.sql.files.maxPartitionBytes", "4096")
    try:
        there = rows_of(WORKLOAD.run(place, time="ROWS", spark=spark))
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")
    assert there == rows_of(WORKLOAD.run(place, time="ROWS"))
