"""Fingerprints of queries: a state is loaded for a query with the fingerprint it was saved with.

A fingerprint is a digest of the query's combinators with their parameters: conditions of
predicates, rates, sizes, initial values, and functions. A user's function is identified by its
name, so that a corrected function still loads the state; a function of this library also by its
parameters, such as the factor of `discounted_sum`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any

from elsinore.language import render
from elsinore.model.expression import Attribute, with_attributes
from elsinore.quantitative.nodes import Node
from elsinore.quantitative.regex import ITEM, Predicate, name_of

LIBRARY = "elsinore.quantitative."


def fingerprint(stages: Sequence[Node]) -> str:
    """Return the digest of a pipeline's nodes, which identifies saved states.

    >>> from elsinore.quantitative import atom, iterate, discounted_sum
    >>> half, third = (iterate(atom(), discounted_sum(1 / n)) for n in (2, 3))
    >>> fingerprint(half.stages) == fingerprint(third.stages)
    False
    """
    text = " >> ".join(map(_identity, stages))
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


class Text(str):
    """A piece of the description, as opposed to a parameter that is a text."""

    __slots__ = ()


def _identity(value: Any) -> str:
    """Return the description of a node or a parameter."""
    texts: list[str] = []
    pending = [value]
    while pending:  # no recursion: queries may be nested as deep as Python's stack
        part = pending.pop()
        if isinstance(part, Text):
            texts.append(part)
        else:
            pending.extend(reversed(_parts(part)))
    return "".join(texts)


def _parts(value: Any) -> list[Any]:
    """Return the description of a value: pieces of text, and values to be described in turn."""
    match value:
        case Predicate(name, condition, tests):
            names = {key: _identity(test) for key, test in tests}
            by_name = partial(_by_name, names)
            return [Text(f"{name}={render(with_attributes(condition, by_name))}")]
        case tuple() | list():
            return _listed("", value)
        case partial(func=function, args=arguments, keywords=keywords):
            return _listed("partial", [function, arguments, sorted(keywords.items())])
    if is_dataclass(value) and not isinstance(value, type):
        parameters = [getattr(value, field.name) for field in fields(value) if field.init]
        return _listed(type(value).__name__, parameters)
    if callable(value):
        return _function(value)
    text = repr(value)
    return [Text(text if text != object.__repr__(value) else type(value).__name__)]  # no address


def _listed(name: str, values: Sequence[Any]) -> list[Any]:
    return [Text(f"{name}("), *(part for value in values for part in (value, Text(","))), Text(")")]


def _by_name(names: dict[str, str], read: Attribute) -> Attribute:
    """Return the attribute; for a test in plain Python one that is the same in other processes."""
    name = read.name or ""
    return Attribute(ITEM, names.get(name, name))


def _function(function: Any) -> list[Any]:
    """Return a function's name, and for a function of this library the values it closes over."""
    cells = getattr(function, "__closure__", None)
    if not cells or not str(function.__module__).startswith(LIBRARY):
        return [Text(name_of(function))]
    return _listed(name_of(function), [cell.cell_contents for cell in cells])
