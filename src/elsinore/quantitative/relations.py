"""Relational operations on mappings, for `apply` and `combine`: select, project, join, aggregate.

(StreamQRE, Section 2, "Relational types and operations": a mapping is a relation with a key.) Their
arguments are values of `map_collect` and `counts`. They return new mappings with keys in the same
order, and are compiled if their functions can be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from elsinore.errors import QuerySemanticError
from elsinore.quantitative.folds import Fold
from elsinore.quantitative.regex import name_of

Relation = Mapping[Any, Any]


class _Operation:
    """An operation with one parameter, a function or a fold."""

    __slots__ = ()

    @property
    def parameter(self) -> Any:
        """The function or the fold."""
        (field,) = fields(self)  # type: ignore[arg-type]
        return getattr(self, field.name)

    @property
    def __name__(self) -> str:
        """The operation's name in explanations."""
        parameter = self.parameter
        name = str(parameter) if isinstance(parameter, Fold) else name_of(parameter)
        return f"{type(self).__qualname__.lower()}({name})"

    def __post_init__(self) -> None:
        if not callable(self.parameter):
            name = type(self).__qualname__.lower()
            raise QuerySemanticError(
                f"{name} takes a function of two values, not {self.parameter!r}."
            )


@dataclass(frozen=True, slots=True)
class Select(_Operation):
    """An operation on mappings: the entries for which `test(key, value)` is true.

    >>> import elsinore.quantitative as qre
    >>> often = qre.apply(qre.iterate(qre.atom(), qre.counts()), qre.select(lambda v, n: n > 1))
    >>> often.start().extend("abba")[1][-1]
    {'a': 2, 'b': 2}
    """

    test: Callable[[Any, Any], Any]

    def __call__(self, relation: Relation) -> dict[Any, Any]:
        """Return the entries that satisfy the test."""
        return {key: value for key, value in relation.items() if self.test(key, value)}


@dataclass(frozen=True, slots=True)
class Project(_Operation):
    """An operation on mappings: `function(key, value)` in place of each value."""

    function: Callable[[Any, Any], Any]

    def __call__(self, relation: Relation) -> dict[Any, Any]:
        """Return the mapping with new values."""
        return {key: self.function(key, value) for key, value in relation.items()}


@dataclass(frozen=True, slots=True)
class Join(_Operation):
    """An operation on two mappings: `function(left, right)` for each common key.

    Use it in `combine`, whose parts match the same items.
    """

    function: Callable[[Any, Any], Any]

    def __call__(self, left: Relation, right: Relation) -> dict[Any, Any]:
        """Return the common keys with the function of both values."""
        return {
            key: self.function(value, right[key]) for key, value in left.items() if key in right
        }


@dataclass(frozen=True, slots=True)
class Aggregate(_Operation):
    """An operation on mappings: the fold of the values, in the order of the mapping.

    >>> import elsinore.quantitative as qre
    >>> counted = qre.iterate(qre.atom(), qre.counts())
    >>> qre.apply(counted, qre.aggregate(qre.max())).start().extend("abba")[1]
    [1, 1, 2, 2]
    """

    fold: Fold

    def __post_init__(self) -> None:
        if not isinstance(self.fold, Fold):
            raise QuerySemanticError(f"aggregate takes a fold, such as sum(), not {self.fold!r}.")

    def __call__(self, relation: Relation) -> Any:
        """Return the fold of the values."""
        total = self.fold.init
        for value in relation.values():
            total = self.fold.step(total, value)
        return total if self.fold.finish is None else self.fold.finish(total)


select, project, join, aggregate = Select, Project, Join, Aggregate
