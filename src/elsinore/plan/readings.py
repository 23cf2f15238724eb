"""Ambiguous patterns: aggregates that would depend on how a trend is read."""

from __future__ import annotations

from elsinore.automata import Ambiguity
from elsinore.errors import QuerySemanticError
from elsinore.model import pattern as pt
from elsinore.model.expression import attributes
from elsinore.model.query import Query
from elsinore.plan.aggregates import Aggregation


def refuse_readings(
    query: Query, fields: Aggregation, events: tuple[pt.Event, ...], witness: Ambiguity
) -> None:
    """Refuse an aggregate over some, not all, of a type's variables: readings would disagree."""
    variables: dict[str, set[str]] = {}
    for event in pt.positive_events(query.pattern):
        variables.setdefault(event.type, set()).add(event.variable)
    types = {event.variable: event.type for event in pt.positive_events(query.pattern)}
    for entry in fields.linear + fields.extremes:
        if all(variables[types[name]] <= entry.variables for name in entry.variables):
            continue
        name = next(iter(sorted(entry.variables)))
        word = " ".join(letter.type for letter in witness.word)
        of_type, of_variables = (
            ", ".join(
                f"{letter.type} as {events[state - 1].variable}"
                for letter, state in zip(witness.word, run, strict=True)
            )
            for run in (witness.first, witness.second)
        )
        spans = [
            attribute.span
            for item in query.returns
            for attribute in attributes(item.expression)
            if attribute.variable == name
        ]
        raise QuerySemanticError(
            f"The pattern is ambiguous, so an aggregate over '{name}' alone has no one value: the "
            f"events {word} can be read as {of_type}, or as {of_variables}. Aggregate over the "
            f"type instead: {types[name]}.",
            span=next(iter(spans), None) or query.span,
            query=query.name,
        )
