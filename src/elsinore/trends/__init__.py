"""Trends: aggregates over all matches of Kleene patterns, none of them built (HAMLET)."""

from elsinore.trends.buffered import BufferedTrends
from elsinore.trends.exact import ExactTrends
from elsinore.trends.operator import TrendOperator
from elsinore.trends.operators import (
    TrendsOperator,
    bytes_per_key,
    load_operator,
    operator_of,
)
from elsinore.trends.partials import merge, result_columns, totals_fields
from elsinore.trends.ranks import to_ranks
from elsinore.trends.statistics import BurstRecord, OperatorStatistics, SharingStatistics

__all__ = [
    "BufferedTrends",
    "BurstRecord",
    "ExactTrends",
    "OperatorStatistics",
    "SharingStatistics",
    "TrendOperator",
    "TrendsOperator",
    "bytes_per_key",
    "load_operator",
    "merge",
    "operator_of",
    "result_columns",
    "to_ranks",
    "totals_fields",
]
