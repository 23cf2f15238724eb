"""What a workload's query of Python is: a query or pipeline, keys, what it reads, what it gives."""

from __future__ import annotations

import dataclasses
import types as python
from collections.abc import Mapping
from typing import Any, Union, get_args, get_origin, get_type_hints

import pyarrow as pa

from elsinore.errors import QuerySemanticError, kind_of_value
from elsinore.model.query import PythonQuery
from elsinore.quantitative.machine.layout import attributes_read_of
from elsinore.quantitative.nodes import output, returned
from elsinore.quantitative.runnable import Chain, Keyed, Runnable
from elsinore.quantitative.value_types import type_of_values

SCALARS = {int: pa.int64(), float: pa.float64(), bool: pa.bool_(), str: pa.string()}


Stages = tuple[Runnable | Keyed, ...]


def resolved(query: PythonQuery) -> tuple[Runnable, tuple[str, ...], Stages]:
    """Return the query or pipeline that FROM names, the attributes it is run by, and what follows.

    What follows takes the values of all keys, as in `f.by(...) >> g`. Raises QuerySemanticError
    where it names something else.
    """
    target = query.target
    span = query.places.get("FROM", query.span)
    if target is not None and callable(target) and not isinstance(target, Runnable | Keyed | Chain):
        try:
            target = target()
        except Exception as error:
            raise QuerySemanticError(
                f"{query.source}() fails: {type(error).__name__}: {error}", span=span
            ) from error
    after: Stages = ()
    if isinstance(target, Chain):
        target, *later = target.stages
        after = tuple(later)
    if isinstance(target, Keyed) and isinstance(target.query, Runnable):
        return target.query, target.attributes, after
    if isinstance(target, Runnable):
        return target, (), after
    raise QuerySemanticError(
        f"{query.source} is {kind_of_value(target)}. Name a query of elsinore.quantitative, or a "
        "function without arguments that returns one.",
        span=span,
    )


def attributes_of(query: Runnable) -> set[str] | None:
    """Return the attributes that a query's functions may read of items; None: any.

    Those of conditions are not among them.
    """
    return attributes_read_of(query.stages[0])


def value_type(query: Runnable, types: Mapping[str, pa.DataType]) -> pa.DataType | None:
    """Return the type of a query's values for items with such attributes; None: it is not known.

    It is that of the instructions of functions, or what functions say that they return.
    """
    last = query.stages[-1]
    if len(query.stages) > 1:
        return _declared(output(last))
    return type_of_values(last, types, lambda function: _declared(returned(function)))


def _declared(kind: Any) -> pa.DataType | None:
    """Return the Arrow type of what a function says that it returns."""
    if kind in SCALARS:
        return SCALARS[kind]
    if isinstance(kind, pa.DataType):
        return kind
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        hints = get_type_hints(kind)
        return _struct({field.name: hints[field.name] for field in dataclasses.fields(kind)})
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in {Union, python.UnionType}:
        kinds = [a for a in arguments if a is not type(None)]
        return _declared(kinds[0]) if len(kinds) == 1 else None
    if origin in {list, set, frozenset} and arguments:
        inner = _declared(arguments[0])
        return None if inner is None else pa.list_(inner)
    if origin is tuple and arguments and Ellipsis not in arguments:
        return _struct({f"_{n}": part for n, part in enumerate(arguments, start=1)})
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        key, value = map(_declared, arguments)
        return None if key is None or value is None else pa.map_(key, value)
    return None


def _struct(fields: Mapping[str, Any]) -> pa.DataType | None:
    kinds = {name: _declared(kind) for name, kind in fields.items()}
    return None if None in kinds.values() else pa.struct(list(kinds.items()))
