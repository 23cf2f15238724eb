"""Bringing what operators count in Spark's workers back to the driver, by accumulators."""

from __future__ import annotations

from typing import TypeAlias

from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from elsinore.runtime.statistics import added
from elsinore.trends import OperatorStatistics

StatisticsAccumulator: TypeAlias = Accumulator[OperatorStatistics]


class Added(AccumulatorParam[OperatorStatistics]):
    """Adds up the statistics of a unit's operators, one a task."""

    def zero(self, value: OperatorStatistics) -> OperatorStatistics:  # noqa: ARG002 - the protocol
        """Return the statistics of an operator that has done nothing."""
        return OperatorStatistics()

    def addInPlace(  # noqa: N802 - the protocol
        self, value1: OperatorStatistics, value2: OperatorStatistics
    ) -> OperatorStatistics:
        """Return what both did together."""
        return added(value1, value2)


def accumulator(frame: DataFrame) -> StatisticsAccumulator | None:
    """Return an accumulator for one unit's statistics; None over Spark Connect, which has none.

    Spark adds a task's statistics once it has ended well. A task that is run again though it had
    ended well (by speculation, or because its results were lost) is counted again.
    """
    try:
        context = frame.sparkSession.sparkContext
    except (PySparkException, AttributeError):
        return None
    return context.accumulator(OperatorStatistics(), Added())
