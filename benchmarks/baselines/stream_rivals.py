"""Spark's own streams over the events of `benchmarks.live`: a windowed count, and events as rows.

Events as rows are what a good engineer writes first: a function for each group and micro-batch that
goes over the events of the group, with one vector for all queries.
"""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

from benchmarks.live.events import QUERIES, WINDOW
from benchmarks.live.marks import Marks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LENGTH = WINDOW * 1_000_000  # microseconds
LATENESS = "1 second"
ROWS = "g long, start long, " + ", ".join(f"q{number} double" for number in range(QUERIES))
CODES = {f"X{number}": number for number in range(QUERIES)} | {"B": QUERIES}


def _events(spark: SparkSession, folder: Path) -> DataFrame:
    schema = "time timestamp, type string, g long, v double"
    reading = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    return reading.parquet(str(folder)).withWatermark("time", LATENESS)


def _run(answers: DataFrame, mode: str, rows: int) -> tuple[Marks, list[pa.Table]]:
    """Run a query over all that is there; each micro-batch has so many rows."""
    marks, tables = Marks(), []

    def note(frame: DataFrame, batch: int) -> None:  # noqa: ARG001 - Spark's
        tables.append(frame.toArrow())
        marks.add(rows)

    with tempfile.TemporaryDirectory() as checkpoint:
        query = (
            answers.writeStream.foreachBatch(note)
            .outputMode(mode)
            .option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
    return marks, tables


def windowed_count(spark: SparkSession, folder: Path, rows: int) -> tuple[Marks, list[pa.Table]]:
    """Count the events of each group and window; a micro-batch is a file of so many rows."""
    counts = _events(spark, folder).groupBy("g", F.window("time", f"{WINDOW} seconds"))
    return _run(counts.count(), "append", rows)


def events_as_rows(
    spark: SparkSession, folder: Path, rows: int
) -> tuple[Marks, dict[str, pa.Table]]:
    """Count trends with `applyInPandasWithState`; return them by query, for each group and window.

    A window ends, as Spark has it, a micro-batch after the watermark has passed its end.
    """
    answers = (
        _events(spark, folder)
        .groupBy("g")
        .applyInPandasWithState(_count, ROWS, "state binary", "append", "EventTimeTimeout")
    )
    marks, tables = _run(answers, "append", rows)
    table = pa.concat_tables(tables)
    start = table["start"].cast(pa.timestamp("us", "UTC"))
    by_query = {}
    for number in range(QUERIES):
        name = f"q{number}"
        some = np.flatnonzero(table[name].to_numpy() > 0)
        columns = {"window_start": start, "g": table["g"], "trends": table[name]}
        by_query[name] = pa.table(columns).take(pa.array(some))
    return marks, by_query


def _count(key: tuple[int], frames: Iterable[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
    """Add a micro-batch's events of a group to its open windows; yield the windows that ended."""
    windows: dict[int, tuple[Any, Any]] = pickle.loads(state.get[0]) if state.exists else {}
    if not state.hasTimedOut:
        frame = pd.concat(list(frames))  # pieces in any order, as tasks have read them
        times = frame["time"].astype("int64").to_numpy() // _unit(frame)
        order = np.argsort(times, kind="stable")
        codes = frame["type"].map(CODES).to_numpy()[order]
        starts = times[order] // LENGTH * LENGTH
        for start in np.unique(starts).tolist():
            begun, trends = windows.get(start) or (np.zeros(QUERIES), np.zeros(QUERIES))
            for code in codes[starts == start].tolist():
                if code == QUERIES:
                    trends = 2 * trends + begun
                else:
                    begun[code] += 1
            windows[start] = begun, trends
    watermark = state.getCurrentWatermarkMs() * 1_000
    ended = [start for start in windows if start + LENGTH <= watermark]
    if ended:
        found = {"g": key[0], "start": ended}
        values = np.array([windows.pop(start)[1] for start in ended])
        yield pd.DataFrame(found | {f"q{n}": values[:, n] for n in range(QUERIES)})
    if windows:
        state.update((pickle.dumps(windows),))
        end = (min(windows) + LENGTH) // 1_000
        state.setTimeoutTimestamp(max(end, state.getCurrentWatermarkMs() + 1))
    else:
        state.remove()


def _unit(frame: pd.DataFrame) -> int:
    """Return how many units of a frame's times are a microsecond."""
    return 1_000 if "[ns" in str(frame["time"].dtype) else 1
