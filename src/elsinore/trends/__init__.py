"""Trends: aggregates over all matches of Kleene patterns, none of them built (HAMLET).

The names below are loaded on first use: `elsinore.trends.kind`, which planning asks, needs none of
the compiled engine.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elsinore.trends.buffered import BufferedTrends
    from elsinore.trends.operator import TrendOperator
    from elsinore.trends.operators import (
        TrendsOperator,
        bytes_per_key,
        load_operator,
        operator_of,
    )
    from elsinore.trends.partials import merge, result_columns, totals_fields
    from elsinore.trends.statistics import BurstRecord, SharingStatistics, TrendStatistics

__all__ = [
    "BufferedTrends",
    "BurstRecord",
    "SharingStatistics",
    "TrendOperator",
    "TrendStatistics",
    "TrendsOperator",
    "bytes_per_key",
    "load_operator",
    "merge",
    "operator_of",
    "result_columns",
    "totals_fields",
]

_HOMES = {
    "BufferedTrends": "buffered",
    "BurstRecord": "statistics",
    "SharingStatistics": "statistics",
    "TrendOperator": "operator",
    "TrendStatistics": "statistics",
    "merge": "partials",
    "result_columns": "partials",
    "totals_fields": "partials",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'elsinore.trends' has no attribute '{name}'")
    value = getattr(import_module(f"elsinore.trends.{_HOMES.get(name, 'operators')}"), name)
    globals()[name] = value
    return value
