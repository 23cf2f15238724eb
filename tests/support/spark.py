"""Helpers for tests of the Spark driver: results of several queries or runs, read by one job."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812


def rows_of_all(frames: Mapping[Any, DataFrame]) -> dict[Any, list[Any]]:
    """Return the rows of frames in their order, by the frames' names, as JSON has them.

    One job reads all: starting one costs more than the few rows that a test has.
    """
    names = list(frames)
    named_frames = [
        frame.select(
            F.lit(number),
            F.to_json(
                F.struct(*(f"`{column}`" for column in frame.columns)),
                {"ignoreNullFields": "false"},
            ),
        )
        for number, frame in enumerate(frames.values())
    ]
    rows: dict[Any, list[Any]] = {name: [] for name in names}
    for number, row in functools.reduce(DataFrame.union, named_frames).collect():
        rows[names[number]].append(json.loads(row))
    return rows
