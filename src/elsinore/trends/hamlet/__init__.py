"""HAMLET's shared graph: many queries' trends, aggregated together over single events."""

from elsinore.trends.hamlet.evaluator import HamletEvaluator

__all__ = ["HamletEvaluator"]
