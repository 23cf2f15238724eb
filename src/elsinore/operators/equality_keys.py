"""Rewriting equalities between all variables of a pattern to keys: `b.k = a.k` becomes `[k]`.

An engine then compares an event only with those of its key, and keys are partitioned over tasks.
An equality that is weaker than a key remains a condition.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from elsinore.model import expression as ex
from elsinore.model import pattern as pt
from elsinore.model.expression import Attribute, Binary, Call, Expression, Operator, Reference
from elsinore.model.kinds import Kind, Strategy
from elsinore.model.query import Query

_EACH = frozenset({Reference.PLAIN, Reference.CURRENT})


def with_equality_keys(query: Query) -> Query:
    """Replace equalities of a query by equivalent keys.

    >>> from elsinore.language import parse_workload
    >>> text = "RETURN COUNT(*) PATTERN SEQ(A a, B+ b) WHERE b.k = a.k AND b.v > 1;"
    >>> keyed = with_equality_keys(parse_workload(text).queries[0])
    >>> keyed.equivalence, len(keyed.where)
    (('k',), 1)
    """
    implied = equality_keys(query)
    if not implied:
        return query
    replaced = {id(condition) for conditions in implied.values() for condition in conditions}
    return replace(
        query,
        equivalence=(*query.equivalence, *implied),
        where=tuple(condition for condition in query.where if id(condition) not in replaced),
        is_valid=True,
        instance_of=query.form_instance,
    )


def equality_keys(query: Query) -> Mapping[str, list[Expression]]:
    """Return the attributes that can become keys, each with the conditions that it replaces.

    Conditions must make an attribute equal in all events of a match: each variable after the first,
    and those under NOT, equal an earlier one when an event is selected. There are none with
    CONTIGUOUS and with clauses that work per key, as a key would change the result.
    """
    parts = _parts(query.pattern)
    if parts is None or _depends_on_keys(query):
        return {}
    by_name: dict[str, list[Binary]] = {}
    for condition in query.where:
        match condition:
            case Binary(Operator.EQ, Attribute() as left, Attribute() as right) if (
                left.name is not None and left.name == right.name
            ):
                by_name.setdefault(left.name, []).append(condition)
    known = {*query.equivalence, *query.group_by}
    return {
        name: list(used)
        for name, conditions in by_name.items()
        if name not in known and (used := _Equalities(parts, conditions).used) is not None
    }


def _depends_on_keys(query: Query) -> bool:
    """Return whether a clause or the strategy works per key."""
    is_of_events = query.kind in {Kind.TRENDS, Kind.MATCHES}
    if not is_of_events or query.collapsed or query.strategy is Strategy.CONTIGUOUS:
        return True
    counts_events = query.window is not None and query.window.events
    if query.after_match is not None or query.suppress is not None or counts_events:
        return True
    return any(
        isinstance(node, Call) and node.name == "MATCH_NUMBER"
        for item in query.returns
        for node in ex.walk(item.expression)
    )


def _parts(pattern: pt.Pattern) -> list[pt.Pattern] | None:
    """Return the members of a sequence of events, repeated events and negated events, or None.

    At least two events must be selected: a single one may have a null.
    """
    parts: list[pt.Pattern] = [pattern]
    if isinstance(pattern, pt.Sequence):
        parts = list(pattern.parts)
    least_events = 0
    for part in parts:
        match part:
            case pt.Event():
                least_events += 1
            case pt.Kleene(pt.Event(), count, _) if count >= 1:
                least_events += count
            case pt.Negation(pt.Event()):
                pass
            case _:
                return None
    return parts if least_events >= 2 else None


class _Equalities:
    """The equalities of one attribute, and whether they make all events of a match equal."""

    def __init__(self, parts: list[pt.Pattern], conditions: list[Binary]) -> None:
        self._repeated = {
            part.pattern.variable
            for part in parts
            if isinstance(part, pt.Kleene) and isinstance(part.pattern, pt.Event)
        }
        self._order = [event.variable for part in parts for event in pt.positive_events(part)]
        self._negated = {
            part.pattern.variable
            for part in parts
            if isinstance(part, pt.Negation) and isinstance(part.pattern, pt.Event)
        }
        self._conditions = conditions
        self._used: dict[int, Binary] = {}
        complete = all(self._equals_earlier(variable) for variable in self._order)
        complete = complete and all(
            self._negated_equals_neighbor(variable) for variable in self._negated
        )
        self.used = list(self._used.values()) if complete else None

    def _equals_earlier(self, variable: str) -> bool:
        """Return whether all events of a variable are equal to all earlier ones."""
        place = self._order.index(variable)
        is_each = variable not in self._repeated or self._use(self._within(variable))
        if place == 0:
            return is_each
        earlier = self._order[:place]
        of_all_events = [c for c, first in self._between(variable, earlier) if not first]
        if self._use(of_all_events):
            self._use([c for c, _ in self._between(variable, earlier)])
            return True
        return is_each and self._use([c for c, _ in self._between(variable, earlier)])

    def _negated_equals_neighbor(self, variable: str) -> bool:
        """Return whether an event of a variable under NOT equals one of a positive variable."""
        equalities = [
            condition
            for condition in self._conditions
            for left, right in self._sides(condition)
            if (left.variable, left.reference) == (variable, Reference.PLAIN)
            and right.variable in self._order
            and right.reference in _EACH
        ]
        return self._use(equalities)

    def _use(self, conditions: list[Binary]) -> bool:
        self._used.update((id(condition), condition) for condition in conditions)
        return bool(conditions)

    def _sides(self, condition: Binary) -> Iterator[tuple[Attribute, Attribute]]:
        left, right = condition.left, condition.right
        if isinstance(left, Attribute) and isinstance(right, Attribute):
            yield left, right
            yield right, left

    def _within(self, variable: str) -> list[Binary]:
        """Return the equalities of adjacent events of a repeated variable."""
        return [
            condition
            for condition in self._conditions
            for left, right in self._sides(condition)
            if left.variable == right.variable == variable
            and (left.reference, right.reference) == (Reference.CURRENT, Reference.PREVIOUS)
        ]

    def _between(self, variable: str, earlier: list[str]) -> list[tuple[Binary, bool]]:
        """Return the equalities with earlier variables, and whether each is of one event only."""
        return [
            (condition, left.reference is Reference.FIRST or right.variable in self._repeated)
            for condition in self._conditions
            for left, right in self._sides(condition)
            if left.variable == variable
            and left.reference in _EACH | {Reference.FIRST}
            and right.variable in earlier
            and right.reference in _EACH
            and (right.variable not in self._repeated or right.variable == earlier[-1])
        ]
