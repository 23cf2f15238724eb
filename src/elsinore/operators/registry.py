"""The registry of kinds of query: modules by name, imported on first use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import cast

from elsinore.errors import UnsupportedError
from elsinore.model.query import Query
from elsinore.operators.kind import Kind
from elsinore.operators.positions.kind import SUFFIX, PositionedKind, positions_of
from elsinore.plan import Unit

# In the order in which they may claim a query.
MODULES = ["elsinore.trends.kind", "elsinore.matches.kind", "elsinore.quantitative.kind"]


def kind_for(unit: Unit) -> Kind:
    """Return the kind of a unit's queries."""
    return kind_in(unit.kind)


def kind_in(module: str) -> Kind:
    """Return the kind of a module, or that kind over positions (`positions.kind`).

    >>> kind_in("elsinore.trends.kind").name
    'trends'
    """
    name, is_positioned, _ = module.partition(SUFFIX)
    kind: Kind = import_module(name).KIND
    return cast("Kind", PositionedKind(kind)) if is_positioned else kind


def module_for(query: Query) -> str:
    """Return the module of the kind that claims a query.

    Raises UnsupportedError if none does.
    """
    for module in MODULES:
        if kind_in(module).claims(query):
            return module if positions_of(query) is None else f"{module}{SUFFIX}"
    raise UnsupportedError(
        "RETURN: no registered kind of query computes such results.",
        span=query.places.get("RETURN", query.span),
        query=query.name,
    )


@contextmanager
def registered(module: str) -> Iterator[Kind]:
    """Register a module's kind within a `with` block, before all others."""
    MODULES.insert(0, module)
    try:
        yield kind_in(module)
    finally:
        MODULES.remove(module)
