"""Trends in numbers of any size: for EXACT, and for what the other engines do not cover."""

from elsinore.trends.sets.evaluator import SetEvents, SetsEvaluator, SetTotal

__all__ = ["SetEvents", "SetTotal", "SetsEvaluator"]
