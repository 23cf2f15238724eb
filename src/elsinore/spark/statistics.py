"""Bringing what operators count in Spark's workers back to the driver, by accumulators."""

from __future__ import annotations

from typing import TypeAlias

from pyspark import TaskContext
from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from elsinore.operators import OperatorStatistics

PLANNING = -(1 << 31)  # where no partition's statistics are: those of the driver itself
StatisticsAccumulator: TypeAlias = Accumulator[dict[int, OperatorStatistics]]


class ByPartition(AccumulatorParam[dict[int, OperatorStatistics]]):
    """Keeps the statistics of a unit's operators, one a partition.

    Spark adds what a task counted once it has ended well, and again where it is run again though it
    had ended well (by speculation, because its results were lost, or because they are asked for
    twice): the partition's statistics are then replaced by the same.
    """

    def zero(self, value: dict[int, OperatorStatistics]) -> dict[int, OperatorStatistics]:  # noqa: ARG002
        """Return that no operator has done anything."""
        return {}

    def addInPlace(  # noqa: N802 - the protocol
        self, value1: dict[int, OperatorStatistics], value2: dict[int, OperatorStatistics]
    ) -> dict[int, OperatorStatistics]:
        """Return the statistics of both's partitions."""
        return value1 | value2


def accumulator(frame: DataFrame) -> StatisticsAccumulator | None:
    """Return an accumulator for one unit's statistics; None over Spark Connect, which has none."""
    try:
        context = frame.sparkSession.sparkContext
    except (PySparkException, AttributeError):
        return None
    return context.accumulator({}, ByPartition())


def count(
    accumulated: StatisticsAccumulator, statistics: OperatorStatistics, *, mapping: bool = False
) -> None:
    """Add what has been counted for this task's partition; `mapping`: before the shuffle."""
    task = TaskContext.get()
    partition = 0 if task is None else task.partitionId()
    accumulated.add({~partition if mapping else partition: statistics})


def total(accumulated: StatisticsAccumulator, nothing: OperatorStatistics) -> OperatorStatistics:
    """Return what the operators of all partitions have counted; `nothing` where none has."""
    counted = accumulated.value
    result = nothing
    for partition in sorted(counted):
        result = result.added(counted[partition])
    return result
