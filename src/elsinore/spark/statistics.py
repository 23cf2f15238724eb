"""Bringing what operators count in Spark's workers back to the driver, by accumulators."""

from __future__ import annotations

from typing import TypeAlias

from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from elsinore.operators import OperatorStatistics

StatisticsAccumulator: TypeAlias = Accumulator[OperatorStatistics | None]


class Added(AccumulatorParam[OperatorStatistics | None]):
    """Adds up the statistics of a unit's operators, one a task; None before the first."""

    def zero(self, value: OperatorStatistics | None) -> None:
        """Return that no operator has done anything."""

    def addInPlace(  # noqa: N802 - the protocol
        self, value1: OperatorStatistics | None, value2: OperatorStatistics | None
    ) -> OperatorStatistics | None:
        """Return what both did together."""
        if value1 is None or value2 is None:
            return value1 or value2
        return value1.added(value2)


def accumulator(frame: DataFrame) -> StatisticsAccumulator | None:
    """Return an accumulator for one unit's statistics; None over Spark Connect, which has none.

    Spark adds a task's statistics once it has ended well. A task that is run again though it had
    ended well (by speculation, or because its results were lost) is counted again.
    """
    try:
        context = frame.sparkSession.sparkContext
    except (PySparkException, AttributeError):
        return None
    return context.accumulator(None, Added())
