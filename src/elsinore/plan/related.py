"""Conditions that relate the events of a NOT to others: `SEQ(A a, NOT C c) WHERE c.ref = a.id`.

Events in a gap exclude the trend or match if they fulfil the NOT's own conditions and all of these.
In match queries they may relate any number of events to any variable of the match
(`elsinore.matches.relations`), in trend queries a single event to the two around the gap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from elsinore.automata.nfa import closure
from elsinore.automata.positions import GuardedPositions
from elsinore.errors import QuerySemanticError
from elsinore.model import expression as ex
from elsinore.model import pattern as pt
from elsinore.model.check import variables_named
from elsinore.model.expression import Expression, Reference
from elsinore.model.query import Query
from elsinore.plan.between import is_local
from elsinore.plan.predicates import place_of, wholes_of

_REFERENCES = frozenset({Reference.PLAIN, Reference.CURRENT, Reference.FIRST, Reference.LAST})


def related_negatives(query: Query, predicate: Expression) -> tuple[pt.Pattern, ...]:
    """Return the patterns under NOT whose events a condition relates to other events.

    They are several if it names types of several NOTs: it relates the events of each.

    Raises QuerySemanticError if it relates events of two NOTs or of a NOT in a NOT, or in another
    way than attribute by attribute.
    """
    if is_local(predicate):
        return ()
    positive = {event.variable for event in pt.positive_events(query.pattern)}
    names = dict.fromkeys(attribute.variable for attribute in ex.attributes(predicate))
    kinds = {name: set(variables_named(query.pattern, name)) for name in names}
    for whole in wholes_of(query.pattern):
        of_whole = {event.variable for event in pt.positive_events(whole)}
        if all(variables & of_whole for variables in kinds.values()):
            return ()
    under_not = [name for name, variables in kinds.items() if not variables & positive]
    if not under_not:
        return ()  # of two patterns of AND or OR: planning says why they are never compared
    outer = _outer_negatives(query.pattern)
    of_negatives = {e.variable for negative in outer for e in pt.positive_events(negative)}
    related = tuple(
        negative
        for negative in outer
        if all(positive_variables(query, name, negative) for name in under_not)
    )
    inner = next((name for name in under_not if not kinds[name] <= of_negatives), None)
    reason = None
    if inner is not None:
        reason = (
            f"'{inner}' stands under a NOT in a NOT. Only the events of a NOT that stands in no "
            "other one can be related to other events."
        )
    elif not related or any(v & positive and not v <= positive for v in kinds.values()):
        reason = (
            f"{' and '.join(names)} are never in one match: they stand under different NOTs. "
            "Relate the events of one NOT to events of the match."
        )
    else:
        reason = _unreadable(query, predicate, under_not, related)
    if reason is not None:
        raise QuerySemanticError(reason, span=place_of(predicate), query=query.name)
    return related


def _unreadable(
    query: Query,
    predicate: Expression,
    under_not: Sequence[str],
    related: Sequence[pt.Pattern],
) -> str | None:
    """Return why a condition that relates events under NOT cannot be read, None if it can."""
    leaves = ex.attributes(predicate)
    is_single = all(isinstance(negative, pt.Event) for negative in related)
    named = " and ".join(f"'{name}'" for name in under_not)
    if any(
        leaf.reference not in _REFERENCES
        or (is_single and leaf.variable in under_not and leaf.reference is not Reference.PLAIN)
        for leaf in leaves
    ) or any(
        isinstance(node, ex.Like)
        or (isinstance(node, ex.Call) and node.name not in ex.BETWEEN_EVENTS)
        for node in ex.walk(predicate)
    ):
        return (
            f"{named}: what stands under NOT is compared attribute by attribute with single "
            "events, such as a.x, b[1].x or b[b.LEN].x."
        )
    repeated = {
        leaf.variable
        for leaf in leaves
        for negative in related
        if leaf.variable in under_not
        and leaf.reference in {Reference.PLAIN, Reference.CURRENT}
        and _is_repeated(query, leaf.variable, negative)
    }
    if len(repeated) > 1:
        first, second = sorted(repeated)[:2]
        return (
            f"{named}: both may stand for several events under NOT. Say which event of one of them "
            f"is compared, as {first}[1].x or {second}[{second}.LEN].x."
        )
    return None


def _is_repeated(query: Query, name: str, negative: pt.Pattern) -> bool:
    """Return whether a name may be bound to several events of a pattern under NOT."""
    variables = positive_variables(query, name, negative)
    return len(variables) > 1 or bool(pt.kleene_variables(negative).intersection(variables))


def positive_variables(query: Query, name: str, whole: pt.Pattern | None) -> tuple[str, ...]:
    """Return a name's variables in a pattern, by default the query's, without those under NOT."""
    positive = {event.variable for event in pt.positive_events(whole or query.pattern)}
    return tuple(v for v in variables_named(query.pattern, name) if v in positive)


def _outer_negatives(pattern: pt.Pattern) -> tuple[pt.Pattern, ...]:
    """Return the patterns under outermost NOTs, each once."""
    negations = [node for node in pt.walk(pattern) if isinstance(node, pt.Negation)]
    inner = {
        id(node)
        for negation in negations
        for node in pt.walk(negation.pattern)
        if isinstance(node, pt.Negation)
    }
    return tuple(dict.fromkeys(node.pattern for node in negations if id(node) not in inner))


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
        for negative in related_negatives(query, predicate):
            if not isinstance(negative, pt.Event):
                of_negative = {event.variable for event in pt.positive_events(negative)}
                read = {attribute.variable for attribute in ex.attributes(predicate)}
                name = min(
                    n for n in read if of_negative.intersection(variables_named(query.pattern, n))
                )
                raise QuerySemanticError(
                    f"'{name}' stands under NOT with others. Only a NOT of a single event can be "
                    "related to other events in a trend query. Return matches, which may relate "
                    "several.",
                    span=place_of(predicate),
                    query=query.name,
                )
            forbidden = negative.variable
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
