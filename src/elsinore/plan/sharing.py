"""Kleene sub-patterns of a template, and how their events are compared with the ones before."""

from __future__ import annotations

from elsinore.model.kinds import Strategy
from elsinore.plan.template import START, Adjacent, Template


def loops(template: Template) -> dict[str, set[Adjacent | None]]:
    """Return E of each sub-pattern E+ of a query, with how neighbours of type E are compared.

    >>> from elsinore.language import parse_workload
    >>> from elsinore.plan.template import template
    >>> text = "QUERY q RETURN COUNT(*) PATTERN SEQ(A a, B b+);"
    >>> loops(template(parse_workload(text).queries[0]))
    {'B': {None}}
    """
    by_type: dict[str, set[Adjacent | None]] = {}
    for move in template.transitions:
        if move.source == move.target:
            by_type.setdefault(move.type, set()).add(move.adjacent)
    return by_type


def obstacle(template: Template) -> str | None:
    """Return why the shared graph cannot run a template; None where it can.

    While events of type E come, what a state with a loop of E adds to what went before must not
    change: no other state that the same events take may stand right before it.
    """
    if template.query.strategy is not Strategy.ANY:
        return f"{template.query.strategy.value} restricts which events may be skipped"
    if template.determinized:
        return "the pattern is ambiguous"
    types: dict[int, set[str]] = {}
    for move in template.transitions:
        types.setdefault(move.target, set()).add(move.type)
    looping = {
        move.target: move.type for move in template.transitions if move.source == move.target
    }
    for move in template.transitions:
        if move.adjacent is not None and move.source != move.target:
            return "conditions between events concern variables that are not repeated"
        loop = looping.get(move.target)
        if loop and move.source not in {START, move.target} and loop in types[move.source]:
            return f"{loop} events follow {loop} events of another state"
    return None
