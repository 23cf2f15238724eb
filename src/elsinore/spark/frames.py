"""Combining several DataFrames of events, each of one type, into one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from elsinore.runtime.frames import refuse_conflicts
from elsinore.runtime.type_from import COLUMN


def union_by_type(frames: Mapping[str, DataFrame]) -> DataFrame:
    """Return the events of several frames (see `elsinore.runtime.frames.union_by_type`)."""
    refuse_conflicts(
        (name, field.name, None if field.dataType == T.NullType() else field.dataType)
        for name, frame in frames.items()
        for field in frame.schema
        if field.name != COLUMN
    )
    frames_with_types = [frame.withColumn(COLUMN, F.lit(name)) for name, frame in frames.items()]
    return reduce(
        lambda left, right: left.unionByName(right, allowMissingColumns=True), frames_with_types
    )
