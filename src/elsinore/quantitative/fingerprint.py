"""What a saved state is recognized by as one of a query: a digest of the query's description.

The description contains the query's combinators with all their parameters: conditions of
predicates, rates, sizes, initial values, and functions. A user's function is identified by its
name, so it can be corrected and the state still be loaded; a function of this library by its
parameters as well, such as the factor of `discounted_sum`.
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
    """Return the digest of a pipeline's nodes, under which states are saved.

    >>> from elsinore.quantitative import atom, iterate, discounted_sum
    >>> half, third = (iterate(atom(), discounted_sum(1 / n)) for n in (2, 3))
    >>> fingerprint(half.stages) == fingerprint(third.stages)
    False
    """
    text = " >> ".join(map(_identity, stages))
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


class Text(str):
    """A piece of a description, in contrast to a value that is a text."""

    __slots__ = ()


def _identity(value: Any) -> str:
    """Return a node of a query, or a parameter, as text with all its parameters."""
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
    """Return the description of a value: pieces of text, and values that are described in turn."""
    match value:
        case Predicate(name, condition, tests):
            names = {key: _identity(test) for key, test in tests}
            put = partial(_with_names, names)
            return [Text(f"{name}={render(with_attributes(condition, put))}")]
        case tuple() | list():
            return _listed("", value)
        case partial(func=function, args=given, keywords=named):
            return _listed("partial", [function, given, sorted(named.items())])
    if is_dataclass(value) and not isinstance(value, type):
        own = [getattr(value, each.name) for each in fields(value) if each.init]
        return _listed(type(value).__name__, own)
    if callable(value):
        return _function(value)
    text = repr(value)
    return [Text(text if text != object.__repr__(value) else type(value).__name__)]  # no address


def _listed(name: str, values: Sequence[Any]) -> list[Any]:
    return [Text(f"{name}("), *(each for value in values for each in (value, Text(","))), Text(")")]


def _with_names(names: dict[str, str], read: Attribute) -> Attribute:
    """Return a test in plain Python under its name, which is the same in other processes."""
    name = read.name or ""
    return Attribute(ITEM, names.get(name, name))


def _function(function: Any) -> list[Any]:
    """Return a function's name; of this library's the values that it was made with as well."""
    cells = getattr(function, "__closure__", None)
    if not cells or not str(function.__module__).startswith(LIBRARY):
        return [Text(name_of(function))]
    return _listed(name_of(function), [cell.cell_contents for cell in cells])
