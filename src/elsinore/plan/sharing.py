"""Sharing sets: which queries may share which Kleene sub-pattern (HAMLET, Definitions 4 and 5).

A Kleene sub-pattern E+ that occurs in several queries may be shared by those of them whose
aggregates go together: COUNT(*) with COUNT(*), MIN with the same MIN, MAX with the same MAX, and
COUNT(E), SUM and AVG over events of one type with one another. Grouping must be the same, as it is
within a unit; the windows of a unit overlap all, pane by pane.

How a set is worked on (`elsinore.trends`) may be finer than the set: the events of a burst must be
the same for all that share it, so local predicates on E tell its queries apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from elsinore.model.query import Query
from elsinore.plan.aggregates import FieldKind, Outcome
from elsinore.plan.template import Template, contributes

COUNTING = "COUNT(*)"

_LINEAR = {FieldKind.EVENTS, FieldKind.SUM, FieldKind.PRESENT}


@dataclass(frozen=True, slots=True)
class SharingSet:
    """Queries, by number in what was asked about, that may share the sub-pattern `type`+."""

    type: str
    queries: tuple[int, ...]
    family: str  # what they aggregate, in words: "COUNT(*)", "MIN(B.v)", "sums over B"


def sharing_sets(templates: Sequence[Template]) -> tuple[SharingSet, ...]:
    """Return the sharing sets of at least two queries, in order of types and of first queries.

    A query with several aggregates is in the set of each of them.
    """
    members: dict[tuple[str, str, object], list[int]] = {}
    for number, template in enumerate(templates):
        for type_name in loop_types(template):
            for family in families(template):
                key = (type_name, family, _grouping(template.query))
                members.setdefault(key, []).append(number)
    found = [
        SharingSet(type_name, tuple(queries), family)
        for (type_name, family, _), queries in members.items()
        if len(queries) > 1
    ]
    return tuple(sorted(found, key=lambda one: (one.type, one.queries, one.family)))


def why_not(one: Template, other: Template) -> str | None:
    """Return in a sentence why two queries do not share bursts; None where they do.

    "They" are named by their queries' names.
    """
    names = f"{one.query.name} and {other.query.name}"
    if _grouping(one.query) != _grouping(other.query):
        return (
            f"{names} split the stream differently: {_split(one.query)} against "
            f"{_split(other.query)}."
        )
    types = [name for name in loop_types(one) if name in loop_types(other)]
    if not types:
        return (
            f"{names} have no Kleene sub-pattern in common: {_loops(one)} against {_loops(other)}."
        )
    common = [family for family in families(one) if family in families(other)]
    if not common:
        return (
            f"{names} aggregate what cannot be worked on together: "
            f"{', '.join(families(one))} against {', '.join(families(other))}."
        )
    if not any(_predicates(one, name) & _predicates(other, name) for name in types):
        told = " and ".join(f"{name}+" for name in types)
        return f"{names} have different predicates on the events of {told}."
    return None


def reasons(templates: Sequence[Template]) -> Iterator[tuple[int, int, str]]:
    """Yield each pair of queries that do not share, with the reason."""
    for one, other in combinations(range(len(templates)), 2):
        reason = why_not(templates[one], templates[other])
        if reason is not None:
            yield one, other, reason


def loop_types(template: Template) -> tuple[str, ...]:
    """Return the types E of a query's Kleene sub-patterns E+, each once."""
    return tuple(dict.fromkeys(m.type for m in template.transitions if m.source == m.target))


def families(template: Template) -> tuple[str, ...]:
    """Return what a query aggregates, such that two queries with one in common may share.

    >>> from elsinore.language import parse_workload
    >>> from elsinore.plan.template import template
    >>> text = "QUERY q RETURN AVG(b.v), MIN(b.v) PATTERN SEQ(A a, B b+);"
    >>> families(template(parse_workload(text).queries[0]))
    ('sums over B', 'MIN(B.v)')
    """
    found: dict[str, None] = {}
    columns = template.aggregation.columns
    if any(column.outcome is not Outcome.EXTREME and 0 in column.fields for column in columns):
        found[COUNTING] = None
    for field in template.aggregation.linear[1:] + template.aggregation.extremes:
        over = sorted({move.type for move in template.transitions if contributes(field, move)})
        if field.kind in _LINEAR:
            found[f"sums over {', '.join(over)}"] = None
        else:
            name = "MIN" if field.kind is FieldKind.LEAST else "MAX"
            found[f"{name}({', '.join(f'{one}.{field.attribute}' for one in over)})"] = None
    return tuple(found)


def _predicates(template: Template, type_name: str) -> set[tuple[object, object]]:
    """Return by which predicates a query loops on events of a type."""
    return {
        (move.needs, move.lacks)
        for move in template.transitions
        if move.source == move.target and move.type == type_name
    }


def _grouping(query: Query) -> tuple[frozenset[str], frozenset[str]]:
    return frozenset(query.group_by), frozenset(query.equivalence)


def _split(query: Query) -> str:
    told = f"GROUP BY {', '.join(query.group_by)}" if query.group_by else "no GROUP BY"
    return f"{told} and [{', '.join(query.equivalence)}]" if query.equivalence else told


def _loops(template: Template) -> str:
    return ", ".join(f"{name}+" for name in loop_types(template)) or "none"
