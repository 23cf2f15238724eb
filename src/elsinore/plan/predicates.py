"""A trend query's predicates: the local ones of each variable, and those that are refused.

Local predicates are rewritten so that they read the *type* instead of the variable: the same
condition on two variables of a type, or in two queries, is then one predicate and looked at once.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Sequence

from elsinore.automata import contradictory
from elsinore.automata.nfa import closure
from elsinore.automata.positions import GuardedPositions
from elsinore.errors import QuerySemanticError, Span, UnsupportedError
from elsinore.language import render
from elsinore.model import expression as ex
from elsinore.model import pattern as pt
from elsinore.model.check import variables_named
from elsinore.model.expression import Attribute, Expression, Reference
from elsinore.model.pattern import Pattern
from elsinore.model.query import Query
from elsinore.plan.between import Reading, goes_back, is_local, readings


def local_predicates(query: Query) -> dict[str, frozenset[Expression]]:
    """Return for each variable the local predicates its events must satisfy, over the type.

    Predicates without any attribute (constants) bind every variable; predicates between two
    events are left out.

    >>> from elsinore.model import *
    >>> slow = Binary(Operator.LT, Attribute("T", "speed"), Literal(10))
    >>> pattern, count = Kleene(Event("Travel", "T"), 1, None), ReturnItem(Call("COUNT", ()))
    >>> query = Query(name="q", returns=(count,), pattern=pattern, where=(slow,))
    >>> [attribute.variable for p in local_predicates(query)["T"] for attribute in ex.attributes(p)]
    ['Travel']
    """
    types = {event.variable: event.type for event in pt.events(query.pattern)}
    by_variable: dict[str, set[Expression]] = {variable: set() for variable in types}
    for predicate in query.where:
        if not is_local(predicate):
            continue
        names = {attribute.variable for attribute in ex.attributes(predicate)}
        variables = variables_named(query.pattern, names.pop()) if names else tuple(types)
        for variable in variables:
            by_variable[variable].add(over_type(predicate, types[variable]))
    return {variable: frozenset(predicates) for variable, predicates in by_variable.items()}


def over_type(predicate: Expression, type_name: str) -> Expression:
    """Return a local predicate that reads its attributes from `type_name`, spans left out."""
    return ex.with_attributes(predicate, lambda read: Attribute(type_name, read.name))


def contradictions(
    query: Query, local: dict[str, frozenset[Expression]], live: Collection[str]
) -> tuple[str, ...]:
    """Return a warning for each variable whose local conditions no event can satisfy.

    `local` is `local_predicates` of the query; `live` are variables known to be in some trend.
    """
    dead: dict[str, list[str]] = {}  # what is wrong -> the variables it is wrong with
    for event in dict.fromkeys(pt.events(query.pattern)):
        name = event.variable
        if name in live or not contradictory(local[name]):
            continue
        guilty = [p for p in query.where if is_local(p) and binds(query, p, name)]
        for suspect in tuple(guilty):  # leave out those without which the others contradict
            without = [p for p in guilty if p is not suspect]
            if contradictory(over_type(p, event.type) for p in without):
                guilty = without
        verdict = "is never true" if len(guilty) == 1 else "contradict each other"
        report = f"{' and '.join(map(render, guilty))} {verdict}."
        if name in pt.kleene_variables(query.pattern) and any(map(_with_itself, guilty)):
            report += f" The event before is {name}[i-1]."
        dead.setdefault(report, []).append(name)
    return tuple(
        f"no event can be {' or '.join(names)}: {report}" for report, names in dead.items()
    )


def _with_itself(predicate: Expression) -> bool:
    """Return whether an attribute is compared with itself, where neighbours may be meant."""
    match predicate:
        case ex.Binary(_, Attribute() as left, Attribute() as right):
            return (left.variable, left.name) == (right.variable, right.name)
    return False


def binds(query: Query, predicate: Expression, name: str) -> bool:
    """Return whether a local predicate is about a variable; one about none is about all."""
    read = ex.attributes(predicate)
    return not read or name in variables_named(query.pattern, read[0].variable)


def refuse_unreadable(query: Query, between: Iterable[Expression]) -> None:
    """Refuse predicates between events of other shapes than `readings` knows.

    Raises UnsupportedError for LIKE in them, QuerySemanticError for another shape and for events
    that are never in one trend: one of them is under NOT, or AND joins their patterns.
    """
    wholes = [
        frozenset(event.variable for event in pt.positive_events(whole))
        for whole in wholes_of(query.pattern)
    ]
    for predicate in between:
        for node in ex.walk(predicate):
            if isinstance(node, ex.Like):
                raise like_between_events(query, predicate, node)
        if readings(query, query.pattern, predicate) is None:
            first = _of_the_first(query, predicate)
            if first is not None:
                raise QuerySemanticError(first, span=place_of(predicate), query=query.name)
            raise QuerySemanticError(
                "A trend's predicate is about one event, about neighbours (T[i].x > T[i-1].x, "
                "T[1].x > R.x, B.x > A.x), or about a single event and all later ones of a "
                "variable (T[i].x > R.x). Write this one as several of these.",
                span=place_of(predicate),
                query=query.name,
            )
        names = dict.fromkeys(attribute.variable for attribute in ex.attributes(predicate))
        for bound in itertools.product(*(variables_named(query.pattern, name) for name in names)):
            if not any(whole.issuperset(bound) for whole in wholes):
                raise QuerySemanticError(
                    f"{' and '.join(bound)} are never in one trend: they stand under a NOT and "
                    "beside it, or in two patterns joined by AND. Compare events of one pattern.",
                    span=place_of(predicate),
                    query=query.name,
                )


def like_between_events(query: Query, predicate: Expression, like: ex.Like) -> UnsupportedError:
    """Return the error for a LIKE in a condition between events."""
    return UnsupportedError(
        "WHERE: LIKE in a condition between events is not supported yet. Write it as a "
        "condition of its own, joined to the others by AND.",
        span=like.span or place_of(predicate),
        query=query.name,
    )


def _of_the_first(query: Query, predicate: Expression) -> str | None:
    """Say what to write for a condition on `b[1]` alone or with other events of b."""
    read = ex.attributes(predicate)
    name = read[0].variable
    references = {attribute.reference for attribute in read}
    if {attribute.variable for attribute in read} != {name} or not (
        {Reference.FIRST} <= references <= {Reference.FIRST, Reference.PLAIN, Reference.CURRENT}
    ):
        return None
    refusal = (
        f"No condition of a trend query is about {name}[1] alone or with other events of {name}."
    )
    for node in pt.walk(query.pattern):
        match node:
            case pt.Kleene(pt.Event(type_name, variable)) if variable == name:
                first_variable = f"first_{name}"
                repeated = f"{type_name}*" if variable == type_name else f"{type_name}* {variable}"
                return (
                    f"{refusal} Give it a variable of its own, as in "
                    f"SEQ({type_name} {first_variable}, {repeated}), "
                    f"and write {render(_with_first(predicate, first_variable))}."
                )
    return f"{refusal} Write the first round out before the repeated group, its {name} named anew."


def _with_first(predicate: Expression, first_variable: str) -> Expression:
    """Return a predicate with `first_variable` for the first event of a variable."""

    def put(read: Attribute) -> Attribute:
        return Attribute(first_variable, read.name) if read.reference is Reference.FIRST else read

    return ex.with_attributes(predicate, put)


def wholes_of(pattern: Pattern) -> tuple[Pattern, ...]:
    """Return the patterns with separate trends: the parts of AND, and those under NOT."""
    negated = (node.pattern for node in pt.walk(pattern) if isinstance(node, pt.Negation))
    return (*joined_parts(pattern), *negated)


def joined_parts(pattern: Pattern) -> tuple[Pattern, ...]:
    """Return the parts of AND, or the pattern without AND."""
    return pattern.parts if isinstance(pattern, pt.Conjunction) else (pattern,)


def place_of(expression: Expression) -> Span | None:
    """Return an expression's place in the text, None if it is not from a text."""
    spans = [node.span for node in ex.walk(expression) if node.span is not None]
    if not spans:
        return None
    return Span(min(span.start for span in spans), max(span.stop for span in spans))


def refuse_strangers(
    query: Query, placed: dict[pt.Pattern, GuardedPositions], predicate: Expression
) -> None:
    """Refuse a predicate between events that can never follow one another as it requires."""
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
    """Return two names of which the first precedes the second only from one round to the next."""
    if len(names) != 2:
        return None
    variables = {name: variables_named(query.pattern, name) for name in names}
    for whole, positions in placed.items():
        variable = [event.variable for event in positions.events]
        near = {(variable[p], variable[q]) for p, q in positions.follow}
        for before, after in (names, names[::-1]):
            for earlier, later in near.intersection(
                itertools.product(variables[before], variables[after])
            ):
                if goes_back(whole, earlier, later):
                    return before, after
    return None


def _applies(positions: GuardedPositions, read: list[Reading]) -> bool:
    """Return whether a trend may contain two events to which one of the readings applies."""
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
