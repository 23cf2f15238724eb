"""Conditions that relate the event of a NOT to others: `SEQ(A a, NOT C c) WHERE c.ref = a.id`.

An event in a gap excludes the trend or match if it fulfils the NOT's own conditions and all of
these. In match queries they may relate it to any variable (`elsinore.matches.relations`), in trend
queries to the two events around the gap.
"""

from __future__ import annotations

from collections.abc import Mapping

from elsinore.automata.nfa import closure
from elsinore.errors import QuerySemanticError
from elsinore.model import expression as ex
from elsinore.model import pattern as pt
from elsinore.model.check import variables_named
from elsinore.model.expression import Expression, Reference
from elsinore.model.query import Query
from elsinore.plan.between import is_local
from elsinore.plan.guards import GuardedPositions
from elsinore.plan.predicates import place_of, wholes_of

_REFERENCES = frozenset({Reference.PLAIN, Reference.CURRENT, Reference.FIRST, Reference.LAST})


def related_variables(query: Query, predicate: Expression) -> tuple[str, ...]:
    """Return the variables of NOTs whose events a condition relates to other events.

    They are several if it names the type of several NOTs: it relates the event of each of them.

    Raises QuerySemanticError if it relates more than a single event under NOT, or in another way
    than attribute by attribute.
    """
    if is_local(predicate):
        return ()
    single, nested = _negated(query.pattern)
    positive = {event.variable for event in pt.positive_events(query.pattern)}
    names = dict.fromkeys(attribute.variable for attribute in ex.attributes(predicate))
    kinds = {name: set(variables_named(query.pattern, name)) for name in names}
    for whole in wholes_of(query.pattern):
        own = {event.variable for event in pt.positive_events(whole)}
        if all(variables & own for variables in kinds.values()):
            return ()
    under_not = [name for name, variables in kinds.items() if not variables & positive]
    if not under_not:
        return ()  # of two patterns of AND or OR: planning says why they are never compared
    reason = None
    if len(under_not) != 1 or any(v & positive and not v <= positive for v in kinds.values()):
        reason = (
            f"{' and '.join(names)} are never in one match: they stand under different NOTs. "
            "Relate the event of one NOT to events of the match."
        )
    elif not kinds[under_not[0]] <= single:
        reason = (
            f"'{under_not[0]}' stands under {'a NOT in a NOT' if nested else 'NOT with others'}. "
            "Only a NOT of a single event can be related to other events."
        )
    elif any(
        attribute.reference not in _REFERENCES
        or (attribute.variable == under_not[0] and attribute.reference is not Reference.PLAIN)
        for attribute in ex.attributes(predicate)
    ) or any(
        isinstance(node, ex.Like)
        or (isinstance(node, ex.Call) and node.name not in ex.BETWEEN_EVENTS)
        for node in ex.walk(predicate)
    ):
        reason = (
            f"'{under_not[0]}' stands under NOT: compare its attributes with those of single "
            "events, such as a.x, b[1].x or b[b.LEN].x."
        )
    if reason is not None:
        raise QuerySemanticError(reason, span=place_of(predicate), query=query.name)
    return variables_named(query.pattern, under_not[0])


def _negated(pattern: pt.Pattern) -> tuple[set[str], bool]:
    """Return the variables that stand alone under a NOT, and whether some NOT stands in another."""
    outer = [node for node in pt.walk(pattern) if isinstance(node, pt.Negation)]
    inner = {
        id(node)
        for negation in outer
        for node in pt.walk(negation.pattern)
        if isinstance(node, pt.Negation)
    }
    single = {
        node.pattern.variable
        for node in outer
        if isinstance(node.pattern, pt.Event) and id(node) not in inner
    }
    return single, bool(inner)


def related_conditions(
    query: Query, placed: Mapping[pt.Pattern, GuardedPositions]
) -> dict[str, tuple[Expression, ...]]:
    """Return the conditions that relate events under NOT to others, by the variable under NOT.

    Raises QuerySemanticError where a trend query relates them to events that are not next to the
    gap.
    """
    positive = {event.variable for event in pt.positive_events(query.pattern)}
    by_variable: dict[str, tuple[Expression, ...]] = {}
    for predicate in query.where:
        for forbidden in related_variables(query, predicate):
            for attribute in ex.attributes(predicate):
                if attribute.reference is not Reference.PLAIN:
                    raise QuerySemanticError(
                        f"'{forbidden}' stands under NOT: in a trend query it is compared with the "
                        f"events around the gap, as {attribute.variable}.{attribute.name or 'x'}.",
                        span=place_of(predicate),
                        query=query.name,
                    )
                for variable in variables_named(query.pattern, attribute.variable):
                    if variable in positive:
                        _check_is_near(query, placed, predicate, forbidden, variable)
            by_variable[forbidden] = (*by_variable.get(forbidden, ()), predicate)
    return by_variable


def _check_is_near(
    query: Query,
    placed: Mapping[pt.Pattern, GuardedPositions],
    predicate: Expression,
    forbidden: str,
    other: str,
) -> None:
    """Refuse a condition if a trend may bind `other` elsewhere than next to a gap of the NOT."""
    for positions in placed.values():
        numbers = {
            number
            for number, negative in enumerate(positions.negatives)
            if isinstance(negative, pt.Event) and negative.variable == forbidden
        }
        if not numbers:
            continue
        places = {p for p, event in enumerate(positions.events) if event.variable == other}
        follow = positions.follow
        gaps: list[tuple[int | None, int | None]]
        gaps = [(p, q) for (p, q), ways in follow.items() if _names(ways, numbers)]
        gaps += [(None, q) for q, ways in positions.first.items() if _names(ways, numbers)]
        gaps += [(p, None) for p, ways in positions.last.items() if _names(ways, numbers)]
        for before, after in gaps:
            around = {positions.events[p].variable for p in (before, after) if p is not None}
            if other in around:
                continue
            earlier = closure(
                {before} if before is not None else set(), ((q, p) for p, q in follow)
            )
            later = closure({after} if after is not None else set(), follow)
            if places & (earlier | later):
                raise QuerySemanticError(
                    f"'{forbidden}' stands under NOT, and {other} is not always next to that gap: "
                    "in a trend query, what NOT forbids is compared with the events around it. "
                    "Return matches, which may relate it to any event.",
                    span=place_of(predicate),
                    query=query.name,
                )


def _names(ways: frozenset[frozenset[int]], numbers: set[int]) -> bool:
    return any(way & numbers for way in ways)
