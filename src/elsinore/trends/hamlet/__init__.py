"""HAMLET's shared graph: trends of many queries aggregated over single events, together."""

from elsinore.trends.hamlet.evaluator import HamletEvaluator

__all__ = ["HamletEvaluator"]
