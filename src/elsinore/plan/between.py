"""Predicates between two events of a trend: the pairs of events that each of them compares.

There are three shapes: `T[i].x > T[i-1].x`, between neighbours bound to T; `T[1].x > R.x`, between
the first T and the R before it; `B.x > A.x`, between neighbours, or, if A is bound to one event
only (it is *anchored*), between that event and every later B. Pairs of variables that are in this
order only from one round of a repeated SEQ to the next are excluded: in (SEQ(A, B))+ a B is not
compared with the A of the next round. OR has no such order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from elsinore.model import expression as ex
from elsinore.model import pattern as pt
from elsinore.model.check import variables_named
from elsinore.model.expression import MIRRORED, Attribute, Expression, Operator, Reference
from elsinore.model.query import Query

PREVIOUS, CURRENT = "previous", "current"  # what a condition's attributes are read from
ANCHOR = "anchor"  # or, in templates of the engine that stores what events add
# comparisons that may be looked up in an order, and what they are from the other side
TURNED: dict[Operator, Operator] = {
    one: turned for one, turned in MIRRORED.items() if one is not Operator.NE
}


@dataclass(frozen=True, slots=True)
class Reading:
    """A predicate read for an event bound to `earlier` and a later one bound to `later`.

    `condition` reads its attributes from `PREVIOUS` and `CURRENT`. It is about neighbours, or with
    `anchored` about all later events; with `first`, about the first event only that is bound to
    one of those variables.
    """

    earlier: str
    later: str
    condition: Expression
    anchored: bool
    first: frozenset[str] = frozenset()


def is_local(predicate: Expression) -> bool:
    """Return whether a predicate is about one event at a time."""
    read = ex.attributes(predicate)
    return len({attribute.variable for attribute in read}) <= 1 and all(
        attribute.reference in {Reference.PLAIN, Reference.CURRENT} for attribute in read
    )


def readings(query: Query, whole: pt.Pattern, predicate: Expression) -> Iterator[Reading] | None:
    """Yield the readings of a predicate between events of one pattern; None for another shape.

    `whole` is the query's pattern, a part of AND, or a pattern under NOT.
    """
    read = ex.attributes(predicate)
    names = sorted({attribute.variable for attribute in read})
    references = {attribute.reference for attribute in read}
    firsts = {a.variable for a in read if a.reference is Reference.FIRST}
    if Reference.PREVIOUS in references and not firsts and len(names) == 1:
        return _of_neighbours(query, whole, predicate, names[0])
    if len(firsts) == 1 and Reference.PREVIOUS not in references and len(names) == 2:
        return _of_first(query, whole, predicate, next(iter(firsts)), names)
    if references <= {Reference.PLAIN, Reference.CURRENT} and len(names) == 2:
        return _of_two(query, whole, predicate, names)
    return None


def _of_neighbours(
    query: Query, whole: pt.Pattern, predicate: Expression, name: str
) -> Iterator[Reading]:
    variables = _positive_variables(query, whole, name)
    backward = {a for a in ex.attributes(predicate) if a.reference is Reference.PREVIOUS}
    condition = _between(predicate, backward)
    for earlier in variables:
        for later in variables:
            yield Reading(earlier, later, condition, anchored=False)


def _of_first(
    query: Query, whole: pt.Pattern, predicate: Expression, after: str, names: list[str]
) -> Iterator[Reading]:
    (before,) = set(names) - {after}
    earlier_read = {a for a in ex.attributes(predicate) if a.variable == before}
    condition = _between(predicate, earlier_read)
    firsts = frozenset(_positive_variables(query, whole, after))
    single = _single(whole)
    for earlier in _positive_variables(query, whole, before):
        for later in sorted(firsts):
            yield Reading(earlier, later, condition, anchored=earlier in single, first=firsts)


def _of_two(
    query: Query, whole: pt.Pattern, predicate: Expression, names: list[str]
) -> Iterator[Reading]:
    single = _single(whole)
    for before, after in (names, names[::-1]):
        earlier_read = {a for a in ex.attributes(predicate) if a.variable == before}
        condition = _between(predicate, earlier_read)
        for earlier in _positive_variables(query, whole, before):
            for later in _positive_variables(query, whole, after):
                if not goes_back(whole, earlier, later):
                    yield Reading(earlier, later, condition, anchored=earlier in single)


def goes_back(whole: pt.Pattern, earlier: str, later: str) -> bool:
    """Return whether `earlier` precedes `later` only from one round of a group to the next.

    SEQ determines the order; branches of an OR have no order.
    """
    return _puts_in_order(whole, later, earlier) and not _puts_in_order(whole, earlier, later)


def _puts_in_order(pattern: pt.Pattern, earlier: str, later: str) -> bool:
    """Return whether a SEQ of a pattern puts a variable before another.

    >>> a, b = pt.Event("A", "a"), pt.Event("B", "b")
    >>> _puts_in_order(pt.Sequence((a, b)), "a", "b"), _puts_in_order(pt.Sequence((a, b)), "b", "a")
    (True, False)
    >>> _puts_in_order(pt.Kleene(pt.Disjunction((a, b)), 1, None), "a", "b")
    False
    """
    if isinstance(pattern, pt.Negation):
        return False
    if isinstance(pattern, pt.Sequence):
        is_after = False
        for part in pattern.parts:
            names = {event.variable for event in pt.positive_events(part)}
            if is_after and later in names:
                return True
            is_after = is_after or earlier in names
    return any(_puts_in_order(part, earlier, later) for part in pt.children(pattern))


def _positive_variables(query: Query, whole: pt.Pattern, name: str) -> list[str]:
    positive = {event.variable for event in pt.positive_events(whole)}
    return [variable for variable in variables_named(query.pattern, name) if variable in positive]


def _single(whole: pt.Pattern) -> set[str]:
    kleene = pt.kleene_variables(whole)
    return {e.variable for e in pt.positive_events(whole) if e.variable not in kleene}


def _between(predicate: Expression, earlier: set[Attribute]) -> Expression:
    """Return a predicate that reads the earlier event as PREVIOUS and the later as CURRENT."""
    return ex.with_attributes(
        predicate, lambda read: Attribute(PREVIOUS if read in earlier else CURRENT, read.name)
    )
