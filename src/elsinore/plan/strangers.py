"""Predicates between events that no two events of a trend can be read for: refused, and why."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from elsinore.automata.nfa import closure
from elsinore.errors import QuerySemanticError
from elsinore.model import expression as ex
from elsinore.model import pattern as pt
from elsinore.model.check import variables_named
from elsinore.model.expression import Expression, Reference
from elsinore.model.query import Query
from elsinore.plan.between import Reading, goes_back, readings
from elsinore.plan.guards import GuardedPositions
from elsinore.plan.predicates import place_of


def refuse_strangers(
    query: Query, placed: dict[pt.Pattern, GuardedPositions], predicate: Expression
) -> None:
    """Refuse a predicate between events none of which can come after another as it asks."""
    if any(
        _applies(positions, list(readings(query, whole, predicate) or ()))
        for whole, positions in placed.items()
    ):
        return
    read = ex.attributes(predicate)
    names = list(dict.fromkeys(attribute.variable for attribute in read))
    first = next((a.variable for a in read if a.reference is Reference.FIRST), None)
    across = _across_rounds(query, placed, names)
    reason = f"{' and '.join(names)} are never neighbours in a trend of this pattern"
    remedy = "Compare events that follow one another, or an event that occurs once with later ones."
    if len(names) == 1:
        reason = f"Two events of {names[0]} are never neighbours in a trend of this pattern"
    elif across is not None:
        reason = (
            f"{across[1]} comes right after {across[0]} only where a repeated group begins anew, "
            "and a condition on two variables of a SEQ compares events of one round"
        )
        remedy = "Compare events that follow one another within a round."
    elif first is not None:
        stranger = next(name for name in names if name != first)
        reason = (
            f"No {stranger} stands before the first {first} as its neighbour or as a single event"
        )
    raise QuerySemanticError(
        f"{reason}, so the condition would never be looked at. {remedy}",
        span=place_of(predicate),
        query=query.name,
    )


def _across_rounds(
    query: Query, placed: dict[pt.Pattern, GuardedPositions], names: Sequence[str]
) -> tuple[str, str] | None:
    """Return which of two names stands right before the other from one round to the next."""
    if len(names) != 2:
        return None
    bound = {name: variables_named(query.pattern, name) for name in names}
    for whole, positions in placed.items():
        variable = [event.variable for event in positions.events]
        near = {(variable[p], variable[q]) for p, q in positions.follow}
        for before, after in (names, names[::-1]):
            for earlier, later in near.intersection(itertools.product(bound[before], bound[after])):
                if goes_back(whole, earlier, later):
                    return before, after
    return None


def _applies(positions: GuardedPositions, read: list[Reading]) -> bool:
    """Return whether a trend may hold two events that one of the readings is about."""
    variable = [event.variable for event in positions.events]
    near = {(reading.earlier, reading.later) for reading in read}
    if any((variable[p], variable[q]) in near for p, q in positions.follow):
        return True
    far: dict[str, set[str]] = {}
    for reading in read:
        if reading.anchored:
            far.setdefault(reading.earlier, set()).add(reading.later)
    return any(
        variable[place] in later
        for earlier, later in far.items()
        for place in closure(
            {q for p, q in positions.follow if variable[p] == earlier}, positions.follow
        )
    )
