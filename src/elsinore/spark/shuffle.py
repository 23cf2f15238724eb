"""A pass's shuffle: events leave the JVM once, in columns, and are shuffled as blobs.

Spark evaluates the columns (whole-stage code generation) and passes them to Python workers in Arrow
batches, which pack them by key (`elsinore.runtime.columnar`). Spark shuffles the blobs to the
partitions that they name, and spills, fetches and retries as for any shuffle.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from elsinore.errors import InputError
from elsinore.runtime.columnar import MEMORY, TRAVELS, Layout, Packing, Stretches
from elsinore.spark.workers import shipped

TASK_MEMORY = "spark.elsinore.taskMemory"  # a session's setting
PARTITION_BYTES = 1 << 20  # least bytes of input per partition
MOST_BYTES = 1 << 26  # of input per partition; larger inputs get more partitions than cores
TASKS_PER_CORE = 2
SOME_CORES = 16  # assumed for Spark Connect, which does not report it
_DEFAULT_PARTITIONS = 200  # Spark's default setting
ROWS_AT_ONCE = "spark.sql.execution.arrow.maxRecordsPerBatch"
_UNITS = {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def layout_of(selected: StructType) -> Layout:
    """Return the layout of selected columns in blobs: `g0`, ... and `k0`, ... are the key's."""
    schema = to_arrow_schema(selected, timezone="UTC")
    keys = [field for field in schema if field.name[0] in "gk"]
    return Layout(pa.schema(keys), pa.schema([field for field in schema if field not in keys]))


def packed(
    selected: DataFrame, layout: Layout, partitions: int, stretches: Stretches | None
) -> DataFrame:
    """Return the blobs of events."""
    packing = Packing(
        layout=layout,
        partitions=partitions,
        stretches=stretches,
        rows_per_task=rows_at_once(selected.sparkSession),
    )
    return selected.mapInArrow(shipped(packing), from_arrow_schema(TRAVELS))


def repartitioned(blobs: DataFrame, partitions: int) -> DataFrame:
    """Return blobs repartitioned to their target partitions."""
    return blobs.repartitionById(partitions, "pid")


def partitions_for(frame: DataFrame, size: int | None = None) -> int:
    """Return the number of partitions for a pass's events, without reading them.

    It keeps all cores busy, limited by `PARTITION_BYTES` and `MOST_BYTES` per partition, and does
    not exceed the user's setting of Spark's shuffle partitions. `size` is the number of bytes of
    the input, if known.
    """
    spark = frame.sparkSession
    max_partitions = TASKS_PER_CORE * known_cores(spark)
    size = input_bytes(frame) if size is None else size
    if size is not None:
        max_partitions = min(
            max(1, -(-size // PARTITION_BYTES)), max(max_partitions, -(-size // MOST_BYTES))
        )
    configured = int(spark.conf.get("spark.sql.shuffle.partitions", None) or _DEFAULT_PARTITIONS)
    return max_partitions if configured == _DEFAULT_PARTITIONS else min(max_partitions, configured)


def known_cores(spark: SparkSession) -> int:
    """Return the number of tasks that a session runs at once, without running a job."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except (PySparkException, AttributeError):
        return SOME_CORES


def rows_at_once(spark: SparkSession) -> int:
    """Return the number of rows that Spark passes to a task at once; 0 if it limits bytes."""
    return max(0, int(spark.conf.get(ROWS_AT_ONCE) or 0))


def input_bytes(frame: DataFrame) -> int | None:
    """Return the approximate number of bytes of a frame's input; None if Spark does not know.

    The sizes of all leaves of the plan limit it: Spark estimates a join as the product of its
    sides, and an RDD as the maximum.
    """
    with suppress(PySparkException, Py4JError, AttributeError, TypeError):
        plan = frame._jdf.queryExecution().optimizedPlan()
        default = int(str(frame._jdf.sparkSession().sessionState().conf().defaultSizeInBytes()))
        leaves = plan.collectLeaves()
        read = [_plan_bytes(leaves.apply(number)) for number in range(leaves.size())]
        return min(_plan_bytes(plan), sum(read)) if max(read, default=0) < default else None
    return None


def _plan_bytes(plan: Any) -> int:
    return int(str(plan.stats().sizeInBytes()))


def task_memory(spark: SparkSession) -> int:
    """Return the bytes of events that a task merges in memory: the session's setting or a default.

    Raises InputError for a setting that is not a size.
    """
    text = spark.conf.get(TASK_MEMORY, None)
    if text is None:
        return MEMORY
    number, unit = text.strip().lower().removesuffix("b") or "0", "b"
    if number[-1] in _UNITS:
        number, unit = number[:-1], number[-1]
    if not number.isdigit() or int(number) == 0:
        raise InputError(f"{TASK_MEMORY} is '{text}'; a size is expected, such as 256m or 1g.")
    return int(number) * _UNITS[unit]
