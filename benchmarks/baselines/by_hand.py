"""Baselines for the trends of SEQ(A a, B b+, C c): plain loops over the events of a key.

The loop runs in pandas on Spark, and in polars in one process. The number of events per key and
window, computed by Spark alone, shows the least cost of grouping events.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import DataFrame

WINDOW_SECONDS = 1_000
WINDOW = WINDOW_SECONDS * 1_000_000
SCHEMA = "key long, window long, trends double, average double"


def count_trends(
    times: Iterable[int], types: Iterable[str], values: Iterable[float]
) -> list[tuple[int, float, float]]:
    """Return (window, trends, average of b.v over all trends) of events in time order.

    Sums of windows with many trends are infinite, their averages nan, as doubles have it.
    """
    rows = []
    window = None
    begun = going = going_b = going_v = done = done_b = done_v = 0.0
    for time, kind, value in zip(times, types, values, strict=True):
        if time // WINDOW != window:
            if done:
                rows.append((window, done, done_v / done_b))
            window = time // WINDOW
            begun = going = going_b = going_v = done = done_b = done_v = 0.0
        if kind == "A":
            begun += 1.0
        elif kind == "B":
            fresh = begun + going
            going_v += going_v + fresh * value
            going_b += going_b + fresh
            going += fresh
        else:
            done += going
            done_b += going_b
            done_v += going_v
    if done:
        rows.append((window, done, done_v / done_b))
    return [row for row in rows if row[0] is not None]


def in_pandas(frame: DataFrame) -> DataFrame:
    """Return the trends of each key and window, by `groupBy(key).applyInPandas`."""
    from pyspark import cloudpickle  # noqa: PLC0415

    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers lack the benchmarks

    def of_key(events: pd.DataFrame) -> pd.DataFrame:
        import pandas as pd  # noqa: PLC0415

        events = events.sort_values("time")
        times = events["time"].astype("int64") // 1_000
        columns = (times.tolist(), events["type"].tolist(), events["v"].tolist())
        key = events["key"].iloc[0]
        rows = [(key, *row) for row in count_trends(*columns)]
        return pd.DataFrame(rows, columns=["key", "window", "trends", "average"])

    return frame.select("time", "type", "key", "v").groupBy("key").applyInPandas(of_key, SCHEMA)


def in_polars(path: str) -> pa.Table:
    """Return the trends of each key and window of a Parquet file, in this process."""
    import polars as pl  # noqa: PLC0415

    events = pl.scan_parquet(path).select("time", "type", "key", "v").sort("key", "time").collect()
    rows: list[tuple[Any, ...]] = []
    for (key,), part in events.group_by("key", maintain_order=True):
        times = part["time"].dt.epoch("us").to_list()
        columns = (times, part["type"].to_list(), part["v"].to_list())
        rows += [(key, *row) for row in count_trends(*columns)]
    return pl.DataFrame(
        rows, schema=["key", "window", "trends", "average"], orient="row"
    ).to_arrow()


def events_per_window(frame: DataFrame) -> DataFrame:
    """Return the number of events of each key and window, computed by Spark alone."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    window = F.window("time", f"{WINDOW_SECONDS} seconds")
    return frame.groupBy("key", window).count()
