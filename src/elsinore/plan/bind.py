"""Checking a query against the attributes that a stream has, before any event is read."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from elsinore.automata.regions import time_of
from elsinore.errors import (
    QueryError,
    QuerySemanticError,
    Span,
    choices_text,
    did_you_mean,
)
from elsinore.language import render
from elsinore.model import expression as ex
from elsinore.model.comparable import no_comparison, no_key
from elsinore.model.expression import (
    AGGREGATES,
    OF_MATCH,
    SCALARS,
    Attribute,
    Binary,
    Call,
    InList,
    Literal,
)
from elsinore.model.query import Query
from elsinore.model.schema import AttributeKind, Schema
from elsinore.model.wanted import kind_text, misplaced, places, plain_kind

STRING = AttributeKind.STRING
_ADDED_UP = {"SUM", "AVG"} | ex.SPREADS
_ORDERED = {
    AttributeKind.INTEGER,
    AttributeKind.NUMBER,
    AttributeKind.TIME,
    AttributeKind.BOOLEAN,
}
# what may be compared with what; the rest is left to the engine that reads it
_FAMILY = {
    AttributeKind.INTEGER: "a number",
    AttributeKind.NUMBER: "a number",
    AttributeKind.STRING: "text",
    AttributeKind.BOOLEAN: "a truth value",
    AttributeKind.TIME: "a time",
    AttributeKind.DURATION: "a length of time",
    AttributeKind.BYTES: "bytes",
    AttributeKind.CLOCK: "a time of day",
}

_BYTES_AS_TEXT = {AttributeKind.BYTES, AttributeKind.STRING}  # old writers of Parquet say so


def query_errors(query: Query, schema: Schema) -> Iterator[QueryError]:
    """Yield what is wrong with a query for events of a schema.

    An unknown attribute (with the nearest name there is), a sum of something that is no number, a
    comparison of a number with text, a key that is nested.
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
    expressions = [*query.where, *(item.expression for item in query.returns)]
    for expression in expressions:
        known = True
        for attribute in ex.attributes(expression):
            if attribute.name is not None and schema.kind(attribute.name) is None:
                known = False
                yield _unknown(query, attribute.name, attribute.variable, attribute.span, schema)
        if known:
            yield from _misuses(query, expression, schema)
            if expression in query.where:
                yield from _misplaced(query, expression, schema)


def _unknown(
    query: Query, name: str, variable: str | None, span: Span | None, schema: Schema
) -> QuerySemanticError:
    owner = "The events have" if variable is None else f"{variable} has"
    column, dot, _ = name.partition(".")
    if dot and schema.kind(column) is AttributeKind.NESTED:
        hint = (
            f" '{column}' is a struct, an array or a map, and queries read whole columns: give the "
            f"events a column with the part that is meant."
        )
    else:
        hint = did_you_mean(name, schema.names)
    return QuerySemanticError(
        f"{owner} no attribute '{name}'.{hint} Attributes: {choices_text(schema.names)}.",
        span=span,
        query=query.name,
        choices=schema.names,
    )


def _misplaced(query: Query, condition: ex.Expression, schema: Schema) -> Iterator[QueryError]:
    """Yield the attributes that stand where another kind of value is wanted, each once."""
    seen: set[tuple[ex.Expression, AttributeKind]] = set()
    for node, wanted in places(condition):
        kind = schema.kind(node.name) if isinstance(node, Attribute) and node.name else None
        message = None if kind is None else misplaced(node, kind, wanted)
        if message is not None and (node, wanted) not in seen:
            seen.add((node, wanted))
            yield QuerySemanticError(message, span=node.span, query=query.name)


def _misuses(query: Query, expression: ex.Expression, schema: Schema) -> Iterator[QueryError]:
    for node in ex.walk(expression):
        if isinstance(node, Call) and len(node.arguments) == 1:
            argument = node.arguments[0]
            if not isinstance(argument, Attribute) or argument.name is None:
                continue
            kind = schema.kind(argument.name)
            if kind is AttributeKind.NULL:
                continue
            if node.name in _ADDED_UP and kind is not None and not kind.is_numeric:
                yield QuerySemanticError(
                    f"{node.name} needs a number; '{argument.name}' is {kind_text(kind)}.",
                    span=argument.span,
                    query=query.name,
                )
            if kind is not None and node.name not in AGGREGATES | SCALARS | OF_MATCH.keys():
                if not (kind.is_numeric or kind is AttributeKind.BOOLEAN):
                    yield QuerySemanticError(
                        f"{node.name} is taken of numbers; '{argument.name}' is {kind_text(kind)}.",
                        span=argument.span,
                        query=query.name,
                    )
                continue
            if node.name in {"MIN", "MAX"} and kind is not None and kind not in _ORDERED:
                yield QuerySemanticError(
                    f"{node.name} is for numbers, times and truth values; '{argument.name}' is "
                    f"{kind_text(kind)}.",
                    span=argument.span,
                    query=query.name,
                )
        elif isinstance(node, Binary) and node.operator.is_comparison:
            yield from _mismatch(query, node, node.left, node.right, schema)
        elif isinstance(node, InList):
            misfits = (
                error
                for choice in node.choices
                for error in _mismatch(query, node, node.operand, choice, schema)
            )
            yield from itertools.islice(misfits, 1)  # one mistake, however many choices


def _mismatch(
    query: Query, node: ex.Expression, left: ex.Expression, right: ex.Expression, schema: Schema
) -> Iterator[QueryError]:
    left_kind, right_kind = _kind(left, schema), _kind(right, schema)
    refusal = _incomparable(left, right, left_kind, right_kind)
    if refusal is not None:
        part, reason = refusal
        yield QuerySemanticError(reason, span=part.span or node.span, query=query.name)
        return
    if left_kind is None or right_kind is None or _FAMILY.get(left_kind) == _FAMILY.get(right_kind):
        return
    if {left_kind, right_kind} == _BYTES_AS_TEXT or AttributeKind.NULL in {left_kind, right_kind}:
        return  # a column without values may be compared with anything
    times = {left_kind, right_kind} == {AttributeKind.TIME, AttributeKind.STRING}
    if times and (isinstance(left, Literal) or isinstance(right, Literal)):
        text = left if isinstance(left, Literal) else right
        if not isinstance(text, Literal) or time_of(str(text.value)) is not None:
            return  # a constant of text is read as a time
        yield QuerySemanticError(
            f"'{text.value}' is not a time. Write one as in '2024-01-31T12:00:00'.",
            span=text.span or node.span,
            query=query.name,
        )
        return
    spans = [part.span for part in (left, right) if part.span is not None]
    span = spans[0].until(spans[-1]) if spans else node.span
    yield QuerySemanticError(
        f"This puts {kind_text(left_kind)} beside {kind_text(right_kind)}: they cannot be compared."
        f"{_as_the_other(left, right_kind)}{_as_the_other(right, left_kind)}",
        span=span,
        query=query.name,
    )


def _as_the_other(node: ex.Expression, wanted: AttributeKind) -> str:
    """Return how a constant is written as the kind of value that it is compared with.

    >>> _as_the_other(Literal("5"), AttributeKind.NUMBER), _as_the_other(Literal(5), STRING)
    (' Write 5 without quotes.', " Write '5' in quotes.")
    """
    if not isinstance(node, Literal):
        return ""
    value = node.value
    if wanted is AttributeKind.BOOLEAN:
        return " A truth value stands by itself, or after NOT, or beside TRUE and FALSE."
    if wanted is AttributeKind.TIME:
        return " A time is written as in '2024-01-31T12:00:00'."
    if wanted is STRING and isinstance(value, int | float):
        return f" Write '{render(node)}' in quotes."
    digits = str(value).strip().lstrip("+").rstrip(".")  # as a number is written here
    if wanted.is_numeric and digits.lstrip("-").replace(".", "", 1).isdecimal():
        return f" Write {digits} without quotes."
    return ""


def _incomparable(
    left: ex.Expression,
    right: ex.Expression,
    left_kind: AttributeKind | None,
    right_kind: AttributeKind | None,
) -> tuple[ex.Expression, str] | None:
    """Return the side of a comparison that cannot be compared, and why; None if both can be."""
    events = {
        (part.variable, part.reference) for side in (left, right) for part in ex.attributes(side)
    }
    for side, kind in ((left, left_kind), (right, right_kind)):
        reason = no_comparison(kind, within_an_event=len(events) <= 1)
        if reason is not None:
            return side, reason
    return None


def _kind(expression: ex.Expression, schema: Schema) -> AttributeKind | None:
    """Return what an expression gives, None where it is not known or null."""
    if isinstance(expression, Attribute):
        return None if expression.name is None else schema.kind(expression.name)
    return plain_kind(expression)
