"""Trends whose events are compared with those before them: sums by an index over each window."""

from elsinore.trends.index.closing import Closed, Closing
from elsinore.trends.index.evaluator import Indexes

__all__ = ["Closed", "Closing", "Indexes"]
