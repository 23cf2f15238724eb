"""The registry of kinds of query: modules by name, imported when they are first asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from elsinore.errors import UnsupportedError
from elsinore.model.check import first_value_of_a_match
from elsinore.model.query import Query
from elsinore.operators.kind import Kind
from elsinore.plan import Unit
from elsinore.plan.predicates import place_of

MODULES = ["elsinore.trends.kind"]  # asked in this order whether a query is theirs


def kind_for(unit: Unit) -> Kind:
    """Return the kind that a unit's queries are of."""
    return kind_in(unit.kind)


def kind_in(module: str) -> Kind:
    """Return the kind that a module has.

    >>> kind_in("elsinore.trends.kind").name
    'trends'
    """
    kind: Kind = import_module(module).KIND
    return kind


def module_for(query: Query) -> str:
    """Return the module of the kind that claims a query.

    Raises UnsupportedError where none does.
    """
    for module in MODULES:
        if kind_in(module).claims(query):
            return module
    value = first_value_of_a_match(query)
    raise UnsupportedError(
        "RETURN: queries that return matches are not supported yet; aggregates over all "
        "trends, such as COUNT(*) or SUM(T.x), are.",
        span=(place_of(value) if value is not None else None) or query.span,
        query=query.name,
    )


@contextmanager
def registered(module: str) -> Iterator[Kind]:
    """Register a module's kind for a while, before all others."""
    MODULES.insert(0, module)
    try:
        yield kind_in(module)
    finally:
        MODULES.remove(module)
