"""Trends of one query whose events are compared with those before them: sums by an index."""

from elsinore.trends.index.evaluator import IndexEvaluator, can_index

__all__ = ["IndexEvaluator", "can_index"]
