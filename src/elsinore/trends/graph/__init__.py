"""The graph: every event of a window with its predecessors, whatever the guards."""

from elsinore.trends.graph.codes import Order
from elsinore.trends.graph.columns import ComparedColumns
from elsinore.trends.graph.evaluator import GraphEvaluator

__all__ = ["ComparedColumns", "GraphEvaluator", "Order"]
