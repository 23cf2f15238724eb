"""The order of nodes of one shape, which are lanes side by side."""

from __future__ import annotations

import itertools

from elsinore.model.expression import Expression
from elsinore.plan.classes import comparison_with_number
from elsinore.plan.merged import MergedTemplate
from elsinore.plan.template import START, Template
from elsinore.plan.trends import TrendUnit


def lane_order(unit: TrendUnit) -> list[tuple[int, int]]:
    """Return by what nodes of one shape are ordered: so that events change runs of lanes.

    Queries are ordered by the constants of their thresholds, and then by their types from the last
    to the first; a node goes with the first query whose trends pass through it, so that nodes and
    their predecessors are in one order.
    """
    nodes = unit.merged.nodes
    passed = [_backward(unit.merged, query) for query in range(len(unit.templates))]
    types = [
        (node.edges[0].type,)
        if len(node.edges) == 1
        else tuple(sorted({edge.type for edge in node.edges}))
        for node in nodes
    ]
    ranked = sorted(
        [
            (_thresholds(unit.templates[query]), [types[node] for node in several], query)
            for query, several in enumerate(passed)
        ]
    )
    order: dict[int, int] = {}
    for place, (*_, query) in enumerate(ranked):
        for node in passed[query]:
            order.setdefault(node, place)
    return [(order.get(node, len(ranked)), node) for node in range(len(nodes))]


def _backward(merged: MergedTemplate, query: int) -> list[int]:
    """Return the nodes that trends of a query pass through, those of their last events first."""
    ends = itertools.chain(*merged.ends[query].linear)
    reached = dict.fromkeys([node for node, _ in ends])
    pending = list(reached)
    for node in pending:
        for edge in merged.nodes[node].edges:
            if edge.source != START and edge.source not in reached:
                reached[edge.source] = None
                pending.append(edge.source)
    return pending


def _thresholds(
    template: Template,
) -> tuple[tuple[str, ...], tuple[tuple[str, float], ...]]:
    """Return the types of events that a query has conditions on, and the constants of these.

    Constants are those that attributes are compared with, by attribute and operator.
    """
    moves = [move for move in template.transitions if move.needs]
    if not moves:
        return (), ()
    predicates: set[Expression] = set().union(*(move.needs for move in moves))
    comparisons = (comparison_with_number(predicate) for predicate in predicates)
    return (
        tuple(sorted({move.type for move in moves})),
        tuple(
            sorted(
                (f"{comparison[0]} {comparison[1].value}", float(comparison[2]))
                for comparison in comparisons
                if comparison is not None
            )
        ),
    )
