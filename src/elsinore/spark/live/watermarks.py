"""The watermark before a micro-batch, for tasks that read a DataFrame.

Unlike `source`, a DataFrame does not record it with the micro-batch. Instead it is a local property
of the stream's thread, which Spark passes to tasks: one for the last micro-batch, which may be
replayed after a restart, and one for the next.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pyspark import TaskContext
from pyspark.sql import SparkSession

PROPERTY = "elsinore.watermarks"
BATCH = "streaming.sql.batchId"  # the property with the number of the micro-batch


def set_task_watermarks(spark: SparkSession, progress: Mapping[str, Any]) -> None:
    """Set the watermarks that tasks of this thread's jobs read, from `Checkpoint.progress`."""
    watermarks = {}
    if progress:
        batch = int(progress["batch"])
        watermarks = {batch: progress["before"], batch + 1: progress["watermark"]}
    spark.sparkContext.setLocalProperty(PROPERTY, json.dumps(watermarks))


def watermark_of_task() -> int | None:
    """Return the watermark in ticks before this task's micro-batch; None if there is none."""
    context = TaskContext.get()
    if context is None:
        return None
    task_watermarks = json.loads(context.getLocalProperty(PROPERTY) or "{}")
    watermark: int | None = task_watermarks.get(context.getLocalProperty(BATCH))
    return watermark
