"""Trends: aggregates over all matches of Kleene patterns, none of them built (HAMLET)."""

from elsinore.trends.exact import ExactTrends
from elsinore.trends.operator import TrendOperator
from elsinore.trends.partials import merge, result_columns, totals_fields
from elsinore.trends.ranks import to_ranks
from elsinore.trends.statistics import OperatorStatistics

__all__ = [
    "ExactTrends",
    "OperatorStatistics",
    "TrendOperator",
    "merge",
    "result_columns",
    "to_ranks",
    "totals_fields",
]
