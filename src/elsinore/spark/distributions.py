"""Probabilities of events' possible times, on Spark (see `elsinore.runtime.distributions`)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from elsinore.errors import InputError, option
from elsinore.runtime.distributions import BETWEEN, NUMBERS
from elsinore.runtime.uncertain import SUM_TOLERANCE


def distributions(frame: DataFrame, column: Column) -> Column:
    """Return a column's lists of probabilities, scaled to a sum of 1; null if invalid.

    Raises InputError for a column of other values than lists of numbers or text.
    """
    kind = frame.select(column.alias("law")).schema["law"].dataType
    is_list = isinstance(kind, T.ArrayType) and isinstance(
        kind.elementType, T.NumericType | T.NullType
    )
    if isinstance(kind, T.StringType):
        parts = F.split(F.trim(column), BETWEEN)
        lists = F.when(column.rlike(NUMBERS), parts.cast("array<double>"))
    elif is_list or isinstance(kind, T.NullType):
        lists = column.cast("array<double>")
    else:
        raise InputError(
            f"{option('time_distribution')} names a column of {kind.simpleString()}: give it lists "
            "of probabilities, or text such as '0.25,0.5,0.25'."
        )
    total = F.aggregate(lists, F.lit(0.0), lambda summed, weight: summed + weight)
    good = F.forall(lists, lambda weight: weight.between(0.0, 1.0))
    scaled = F.transform(lists, lambda weight: weight / total)
    return F.when(good & (F.abs(total - 1.0) <= SUM_TOLERANCE), scaled)
