"""Trends: aggregates over all matches of Kleene patterns, without building any of them (HAMLET).

The names below are loaded on first use: planning only needs `elsinore.trends.kind`, and nothing of
the compiled engine.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elsinore.trends.operators import (
        TrendsOperator,
        load_operator,
        operator_of,
    )
    from elsinore.trends.partials import totals_fields
    from elsinore.trends.statistics import BurstRecord, SharingStatistics, TrendStatistics

__all__ = [
    "BurstRecord",
    "SharingStatistics",
    "TrendStatistics",
    "TrendsOperator",
    "load_operator",
    "operator_of",
    "totals_fields",
]

_HOMES = {
    "BurstRecord": "statistics",
    "SharingStatistics": "statistics",
    "TrendStatistics": "statistics",
    "totals_fields": "partials",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'elsinore.trends' has no attribute '{name}'")
    value = getattr(import_module(f"elsinore.trends.{_HOMES.get(name, 'operators')}"), name)
    globals()[name] = value
    return value
