"""Checks of a query's conditions and keys against the attributes of events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from elsinore.errors import QuerySemanticError, did_you_mean
from elsinore.language import render
from elsinore.model.comparable import no_key
from elsinore.model.expression import Expression, attributes
from elsinore.model.schema import AttributeKind, Schema
from elsinore.model.types import mistakes
from elsinore.quantitative.regex import VALUE


def errors(
    conditions: Sequence[Expression], keys: Sequence[str], schema: Schema
) -> Iterator[QuerySemanticError]:
    """Yield errors of conditions and keys: missing attributes, and values of different types.

    The attributes that functions read are not checked.
    """
    kinds = dict(schema.attributes)
    for name in dict.fromkeys(str(read.name) for part in conditions for read in attributes(part)):
        if name not in kinds:
            yield missing_attribute(name, schema.names, "a condition")
    try:
        check_keys(keys, schema)
    except QuerySemanticError as error:
        yield error
    for part in conditions:
        for mistake in mistakes(
            part, lambda read: kinds.get(read.name or ""), AttributeKind.BOOLEAN
        ):
            yield QuerySemanticError(f"The condition '{render(part)}': {mistake.message}")


def check_keys(keys: Sequence[str], schema: Schema) -> None:
    """Raise QuerySemanticError if an attribute of keys is missing, or cannot be a key."""
    for name in keys:
        kind = schema.kind(name)
        if kind is None:
            raise missing_attribute(name, schema.names, "by")
        if name == VALUE:
            raise QuerySemanticError(
                f"by '{name}': the result's column of values has this name. Rename the attribute."
            )
        if (reason := no_key(kind)) is not None:
            raise QuerySemanticError(f"by '{name}': {reason}")


def missing_attribute(name: str, names: Sequence[str], reader: str) -> QuerySemanticError:
    """Return the error for an attribute that `reader` reads and the events do not have."""
    quoted = name.startswith("'")
    constant = " If all events have one type, use the predicate qre.any." if quoted else ""
    return QuerySemanticError(
        f"{reader}: the events have no attribute '{name}'.{did_you_mean(name, names)} "
        f"Attributes: {', '.join(names)}.{constant}",
        choices=names,
    )
