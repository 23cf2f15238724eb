"""Returning operators' statistics from Spark's workers to the driver, by accumulators."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, TypeAlias

from pyspark import TaskContext
from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from elsinore.operators import OperatorStatistics

PLANNING = -(1 << 31)  # the number of the driver's statistics, unlike any partition's
StatisticsAccumulator: TypeAlias = Accumulator[dict[int, OperatorStatistics]]
TypesAccumulator: TypeAlias = Accumulator[dict[int, dict[str, int]]]


class ByPartition(AccumulatorParam[dict[int, Any]]):
    """Collects counts by partition, such as the statistics of a unit's operators.

    Spark adds a task's counts whenever it succeeds, also if it is repeated (by speculation, because
    its results were lost or are needed twice). Equal counts of the same partition then replace one
    another, so nothing is counted twice.
    """

    def zero(self, value: dict[int, Any]) -> dict[int, Any]:  # noqa: ARG002
        """Return the value without counts."""
        return {}

    def addInPlace(  # noqa: N802 - the protocol
        self, value1: dict[int, Any], value2: dict[int, Any]
    ) -> dict[int, Any]:
        """Return the counts of all partitions of both values."""
        return value1 | value2


def accumulator(frame: DataFrame) -> Accumulator[dict[int, Any]] | None:
    """Return an accumulator of partitions' counts, such as one unit's statistics.

    None over Spark Connect, which has no accumulators.
    """
    try:
        context = frame.sparkSession.sparkContext
    except (PySparkException, AttributeError):
        return None
    return context.accumulator({}, ByPartition())


def count(
    accumulated: StatisticsAccumulator, statistics: OperatorStatistics, *, mapping: bool = False
) -> None:
    """Add statistics for this task's partition; `mapping`: the task before the shuffle."""
    accumulated.add({~partition() if mapping else partition(): statistics})


def partition() -> int:
    """Return the number of this task's partition."""
    task = TaskContext.get()
    return 0 if task is None else task.partitionId()


@dataclass(slots=True)
class TypesSeen:
    """The number of events of each type in a pass, if its tasks read all events.

    `accumulated` receives each task's counts by partition; None: events are not counted. `tasks` is
    the number of tasks that together read all events.
    """

    accumulated: TypesAccumulator | None
    tasks: int | None = None

    def types(self) -> list[str] | None:
        """Return the events' types, the most frequent first; None unless all events were read."""
        counted = {} if self.accumulated is None else self.accumulated.value
        if self.tasks is None or len(counted) != self.tasks:
            return None
        total: Counter[str] = Counter()
        for counts in counted.values():
            total.update(counts)
        return [name for name, _ in total.most_common()]


def total(accumulated: StatisticsAccumulator, nothing: OperatorStatistics) -> OperatorStatistics:
    """Return the sum of the statistics of all partitions; `nothing` if there are none."""
    counted = accumulated.value
    result = nothing
    for partition in sorted(counted):
        result = result.added(counted[partition])
    return result
