"""Trends whose events are compared with earlier ones: sums from an index over each window."""

from elsinore.trends.index.closing import Closed, Closing
from elsinore.trends.index.evaluator import Indexes

__all__ = ["Closed", "Closing", "Indexes"]
