"""The baseline for SEQ(A a, B+ b, C c) under SKIP TILL NEXT MATCH: `applyInPandas` per key."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame

SCHEMA = "key long, a double, n long, c double"


def matches(
    times: Sequence[int], types: Sequence[str], values: Sequence[float], within: int
) -> tuple[list[float], list[int], list[float]]:
    """Return a.v, the number of b and c.v of the matches of one key, in one pass over its events.

    Partial matches that have selected a B all end with the next C; the others wait for the next B.
    times and within: in the same unit.
    """
    first: list[float] = []
    count: list[int] = []
    last: list[float] = []
    waiting: list[tuple[int, float]] = []  # when they began, a.v
    growing: list[tuple[int, float, int]] = []  # and which B was their first
    number = 0
    for time, kind, value in zip(times, types, values, strict=True):
        if kind == "A":
            waiting.append((time, value))
        elif kind == "B":
            number += 1
            growing += [(began, given, number) for began, given in waiting]
            waiting = []
        elif kind == "C" and growing:
            for began, given, since in growing:
                if time - began <= within:
                    first.append(given)
                    count.append(number - since + 1)
                    last.append(value)
            growing = []
    return first, count, last


def in_pandas(frame: DataFrame, within: int) -> DataFrame:
    """Return the matches of all keys; `within` in microseconds."""
    from pyspark import cloudpickle  # noqa: PLC0415

    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers lack the benchmarks

    def of_key(events: pd.DataFrame) -> pd.DataFrame:
        import pandas as pd  # noqa: PLC0415

        events = events.sort_values("time")
        times = events["time"].astype("datetime64[us]").astype("int64").tolist()
        a, n, c = matches(times, events["type"].tolist(), events["v"].tolist(), within)
        return pd.DataFrame({"key": events["key"].iloc[0], "a": a, "n": n, "c": c})

    return frame.groupBy("key").applyInPandas(of_key, SCHEMA)
