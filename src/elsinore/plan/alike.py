"""Queries of one automaton: they ask the same of the events, and differ in what they add up.

Where the states of two queries are equal, and how trends begin, go on and end in them, whatever the
strategy and whatever stands under NOT or AND, the same trends end in each. So they are gone over
once, with the sums of all of the queries side by side, as the merged template does on the path that
keeps sums (`elsinore.plan.merged`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from elsinore.plan.guarded import GuardedState, GuardedTemplate

_OF_THE_QUERY = {"query", "aggregation", "warnings", "anchors", "states", "negatives"}
_COMPARED = tuple(
    entry.name for entry in fields(GuardedTemplate) if entry.name not in _OF_THE_QUERY
)


def shape(template: GuardedTemplate) -> object:
    """Return what two queries of one automaton agree in: all but names and aggregates.

    >>> from elsinore.language import parse_workload
    >>> from elsinore.plan.guarded import guarded_template
    >>> one, other = (guarded_template(query) for query in parse_workload('''
    ...     QUERY one RETURN COUNT(*) PATTERN SEQ(A x, B y+) STRATEGY CONTIGUOUS;
    ...     QUERY other RETURN SUM(b.v) PATTERN SEQ(A a, B b+) STRATEGY CONTIGUOUS;
    ... ''').queries)
    >>> shape(one) == shape(other)
    True
    """
    return (
        template.query.strategy,
        template.query.window,
        len(template.anchors),
        tuple(_state(state) for state in template.states),
        tuple(shape(negative) for negative in template.negatives),
        *(getattr(template, name) for name in _COMPARED),
    )


def lane_shape(template: GuardedTemplate) -> object:
    """Return what two queries agree in that differ at most in which events fit their states.

    Under NEXT and CONTIGUOUS they are lanes of one sweep (`elsinore.trends.graph.steps`).

    >>> from elsinore.language import parse_workload
    >>> from elsinore.plan.guarded import guarded_template
    >>> one, other = (guarded_template(query) for query in parse_workload('''
    ...     QUERY one RETURN COUNT(*) PATTERN SEQ(A x, B y+) STRATEGY CONTIGUOUS;
    ...     QUERY other RETURN COUNT(*) PATTERN SEQ(C c, D d+) WHERE d.v > 2 STRATEGY CONTIGUOUS;
    ... ''').queries)
    >>> lane_shape(one) == lane_shape(other), shape(one) == shape(other)
    (True, False)
    """
    return (
        template.query.strategy,
        template.query.window,
        len(template.states),
        *(getattr(template, name) for name in _COMPARED),
    )


def _state(state: GuardedState) -> object:
    return state.type, state.needs, state.anchor


def alike(templates: Sequence[GuardedTemplate]) -> list[tuple[int, ...]]:
    """Put queries, by number, of one automaton together, in the order of their first ones."""
    found: dict[object, list[int]] = {}
    for query, template in enumerate(templates):
        found.setdefault(shape(template), []).append(query)
    return [tuple(queries) for queries in found.values()]


def why_apart(one: GuardedTemplate, other: GuardedTemplate) -> str | None:
    """Return in what the automata of two queries differ; None where they do not."""
    if shape(one) == shape(other):
        return None
    if one.query.strategy is not other.query.strategy:
        return "their strategies differ"
    if one.query.window != other.query.window:
        return "their windows differ"
    if tuple(map(_state, one.states)) != tuple(map(_state, other.states)):
        return "the events that they ask for differ"
    if tuple(map(shape, one.negatives)) != tuple(map(shape, other.negatives)):
        return "what they forbid differs"
    if one.conditions != other.conditions:
        return "their conditions between events differ"
    return "what may follow what, or end a trend, differs"
