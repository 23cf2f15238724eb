"""HAMLET's shared graph: trends of many queries aggregated over single events, together."""

from elsinore.trends.benefit import CalibratedCost, CostModel, PaperCost
from elsinore.trends.hamlet.evaluator import HamletEvaluator

__all__ = ["CalibratedCost", "CostModel", "HamletEvaluator", "PaperCost"]
