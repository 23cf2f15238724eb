"""Checking a query against the schema of events before any event is read (name binding)."""

from __future__ import annotations

from collections.abc import Iterator

from elsinore.errors import (
    QueryError,
    QuerySemanticError,
    Span,
    choices_text,
    did_you_mean,
)
from elsinore.model import expression as ex
from elsinore.model.comparable import no_key
from elsinore.model.computed import columns_of
from elsinore.model.expression import Call
from elsinore.model.query import Query
from elsinore.model.schema import AttributeKind, Schema
from elsinore.model.types import mistakes
from elsinore.words import listed


def query_errors(query: Query, schema: Schema) -> Iterator[QueryError]:
    """Yield the errors of a query for events of a schema.

    Errors are unknown attributes (with the nearest name), type errors (`elsinore.model.types`), and
    keys of nested types.
    """
    for name in dict.fromkeys(query.group_by + query.equivalence):
        where = "GROUP BY" if name in query.group_by else "[ ]"
        span = query.places.get(where, query.span)
        if schema.kind(name) is None:
            yield _unknown(query, name, None, span, schema)
        elif (reason := no_key(schema.kind(name))) is not None:
            yield QuerySemanticError(f"{where} '{name}': {reason}", span=span, query=query.name)
    for item in query.returns:
        for node in ex.walk(item.expression):
            if isinstance(node, Call) and node.name == "EVENT_IDS":
                named = [part.name for part in node.arguments if isinstance(part, ex.Column)]
                for name in named or ["id"]:
                    if schema.kind(name) is None:
                        yield _unknown(query, name, None, node.span, schema)

    by_name = dict(schema.attributes)

    def kinds(read: ex.Attribute | ex.Column) -> AttributeKind | None:
        return None if read.name is None else by_name.get(read.name)

    for expression in query.expressions:
        known = True
        for attribute in ex.attributes(expression):
            if attribute.name is None or schema.kind(attribute.name) is not None:
                continue
            known = False
            for name in columns_of(attribute.name):
                if schema.kind(name) is None:
                    yield _unknown(query, name, attribute.variable, attribute.span, schema)
        if known:
            required = AttributeKind.BOOLEAN if expression in query.where else None
            for mistake in mistakes(expression, kinds, required):
                yield QuerySemanticError(
                    mistake.message, span=mistake.span or expression.span, query=query.name
                )


def _unknown(
    query: Query, name: str, variable: str | None, span: Span | None, schema: Schema
) -> QuerySemanticError:
    owner = "The events have" if variable is None else f"{variable} has"
    column, dot, _ = name.partition(".")
    if dot and schema.kind(column) is AttributeKind.NESTED:
        hint = (
            f" '{column}' has no such field: queries read fields of structs, not parts of arrays "
            "or maps. Give the events a column with the part that is meant."
        )
    else:
        hint = did_you_mean(name, schema.names)
    if name == "time" and not hint:  # of a run whose option `time` names another column
        time_kinds = {AttributeKind.TIME, AttributeKind.TICKS}
        times = [repr(column) for column, kind in schema.attributes if kind in time_kinds]
        hint = f" Times are in {listed(times)}." if times else ""
    return QuerySemanticError(
        f"{owner} no attribute '{name}'.{hint} Attributes: {choices_text(schema.names)}.",
        span=span,
        query=query.name,
        choices=schema.names,
    )
