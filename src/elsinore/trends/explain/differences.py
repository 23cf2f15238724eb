"""In what two queries differ that neither have states in common nor states of one shape."""

from __future__ import annotations

from elsinore.model.expression import Expression
from elsinore.plan.guarded import GuardedTemplate


def likeness(template: GuardedTemplate) -> object:
    """Return what the reasons for which a query does not share with others depend on."""
    return (
        template.query.strategy,
        template.query.window,
        tuple((state.type, state.needs) for state in template.states),
        frozenset(
            (move.source, move.target, template.conditions_of(move)) for move in template.moves
        ),
    )


def difference(left: GuardedTemplate, right: GuardedTemplate) -> str:
    """Return why two queries have no states in common, nor states of one shape."""
    if left.query.strategy is not right.query.strategy:
        return "their strategies differ"
    if left.query.window != right.query.window:
        return "their windows differ"
    pairs = [
        (here, there)
        for here, state in enumerate(left.states)
        for there, other in enumerate(right.states)
        if state.type == other.type and _compares(left, here) and _compares(right, there)
    ]
    if not pairs:
        return "they have no type in common whose events both compare or repeat"
    names = " and ".join(dict.fromkeys(left.states[here].type for here, _ in pairs))
    equal = [(h, t) for h, t in pairs if left.states[h].needs == right.states[t].needs]
    if not equal:
        return f"they have different conditions on single {names} events"
    if not any(_conditions_into(left, h) == _conditions_into(right, t) for h, t in equal):
        return f"they compare {names} events with preceding ones in different ways"
    return f"they differ in what precedes {names} in a trend"


def _compares(template: GuardedTemplate, state: int) -> bool:
    """Return whether events in a state are repeated, or follow others on conditions."""
    return any(
        move.target == state and (move.conditions or move.source == state)
        for move in template.moves
    )


def _conditions_into(template: GuardedTemplate, state: int) -> frozenset[frozenset[Expression]]:
    """Return the conditions between an event of a state and those that it may follow."""
    return frozenset(
        template.conditions_of(move) for move in template.moves if move.target == state
    )
