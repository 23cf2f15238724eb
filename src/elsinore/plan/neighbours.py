"""Warnings about events that can never be neighbours in a trend: their conditions contradict.

`B[i].v < B[i-1].v AND B[i].v > B[i-1].v` lets no B follow a B. Conditions between two events, and
those on either one, are checked as predicates of one event that has the attributes of both.
"""

from __future__ import annotations

from collections.abc import Mapping

from elsinore.automata import contradictory
from elsinore.automata.positions import GuardedPositions
from elsinore.language import render
from elsinore.model import pattern as pt
from elsinore.model.expression import Attribute, Binary, Expression
from elsinore.model.query import Query
from elsinore.plan.between import CURRENT, PREVIOUS, is_local, readings
from elsinore.plan.predicates import binds, over_type
from elsinore.plan.ranges import limits_time

LOOKS = 20  # each may take a solver some tens of milliseconds

# Conditions on two neighbours, each with the predicate of the text that it comes from.
Conditions = dict[Expression, Expression]


def impossible_neighbours(
    query: Query, placed: Mapping[pt.Pattern, GuardedPositions]
) -> tuple[str, ...]:
    """Return a warning for each pair of variables whose conditions let no event follow another.

    `placed` are the separate patterns (`wholes_of`). Pairs with a variable that no event satisfies,
    and pairs with one comparison that is surely satisfiable, are skipped. Of pairs with equal
    conditions the first is reported. At most `LOOKS` pairs are checked.
    """
    reports: dict[str, None] = {}
    looked_at: set[frozenset[Expression]] = set()
    for whole, positions in placed.items():
        variable = [event.variable for event in positions.events]
        near = dict.fromkeys((variable[p], variable[q]) for p, q in sorted(positions.follow))
        between = _between(query, whole)
        for earlier, later in near:
            pairwise = between.get((earlier, later), {})
            if not pairwise or (len(pairwise) == 1 and all(map(_is_satisfiable, pairwise))):
                continue
            of_earlier, of_later = _of_one(query, earlier, PREVIOUS), _of_one(query, later, CURRENT)
            everything = frozenset(pairwise | of_earlier | of_later)
            if everything in looked_at or len(looked_at) >= LOOKS:
                continue
            looked_at.add(everything)
            if contradictory(of_earlier) or contradictory(of_later):
                continue
            guilty = _guilty(query, pairwise | of_earlier | of_later)
            if guilty:
                verdict = "is never true" if len(guilty) == 1 else "contradict each other"
                name = f"another {later}" if earlier == later else earlier
                reason = f"{' and '.join(guilty)} {verdict}."
                reports[f"no event can be {later} right after {name}: {reason}"] = None
    return tuple(reports)


def _between(query: Query, whole: pt.Pattern) -> dict[tuple[str, str], Conditions]:
    """Return the conditions between an event and the next one, by their variables."""
    between: dict[tuple[str, str], Conditions] = {}
    for predicate in query.where:
        if not is_local(predicate):
            for reading in readings(query, whole, predicate) or ():
                if not reading.first:
                    conditions = between.setdefault((reading.earlier, reading.later), {})
                    conditions[reading.condition] = predicate
    return between


def _of_one(query: Query, variable: str, read_as: str) -> Conditions:
    local = (p for p in query.where if is_local(p) and binds(query, p, variable))
    return {over_type(predicate, read_as): predicate for predicate in local}


def _is_satisfiable(condition: Expression) -> bool:
    """Return whether a condition compares an attribute of each event, maybe with a length added."""
    match condition:
        case Binary(operator, Attribute(one), Attribute(other)):
            return operator.is_comparison and one != other
        case Binary(operator, left, right) if operator.is_comparison:
            return limits_time(left, right)
    return False


def _guilty(query: Query, conditions: Conditions) -> list[str]:
    """Return a smallest set of predicates that contradict one another, as text."""
    left = dict(conditions)
    if not contradictory(left):
        return []
    for condition in conditions:
        without = {kept: text for kept, text in left.items() if kept != condition}
        if contradictory(without):
            left = without
    return [render(predicate) for predicate in query.where if predicate in left.values()]
