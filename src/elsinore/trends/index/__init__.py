"""Trends whose events are compared with those before them: sums by an index over each window."""

from elsinore.trends.index.evaluator import Indexes, as_guarded, can_index

__all__ = ["Indexes", "as_guarded", "can_index"]
