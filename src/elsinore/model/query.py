"""Queries and workloads, created by the parser and the builder and read by every engine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import InitVar, dataclass, field, replace
from types import ModuleType
from typing import NamedTuple

from elsinore.errors import (
    QueryError,
    QuerySemanticError,
    choices_text,
    did_you_mean,
    raise_errors,
)
from elsinore.model.check import check_query, query_kind
from elsinore.model.clauses import Clauses, ReturnItem
from elsinore.model.computed import has_sql, with_computed
from elsinore.model.expression import conjuncts
from elsinore.model.kinds import Kind
from elsinore.model.pattern import Pattern, Sequence
from elsinore.model.schema import Schema


class Form:
    """A form shared by queries of one text that differ only in names; compared by identity.

    The names are those of queries, and of types and variables that only PATTERN contains.

    `has_sql` says whether these queries contain computed expressions; it is true until the first
    query shows that there are none.
    """

    __slots__ = ("has_sql",)

    def __init__(self) -> None:
        self.has_sql = True


class FormInstance(NamedTuple):
    """The form of a query and the distinct names that fill it in, in the order of the text."""

    form: Form
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query(Clauses):
    """One query. A query that exists is valid: its clauses keep all rules of `model.check`.

    Raises the errors that `elsinore.model.check` lists. `is_valid`: a query of the same form has
    been checked. `form_instance` is lost in copies with `replace`, unless they pass `instance_of`.
    """

    form_instance: FormInstance | None = field(default=None, init=False, compare=False, repr=False)
    is_valid: InitVar[bool] = False
    instance_of: InitVar[FormInstance | None] = None

    def __post_init__(self, is_valid: bool, instance_of: FormInstance | None) -> None:
        object.__setattr__(self, "form_instance", instance_of)
        where = tuple(part for predicate in self.where for part in conjuncts(predicate))
        object.__setattr__(self, "where", where)
        if not is_valid or instance_of is None or instance_of.form.has_sql:
            self._compute_by_sql(None if instance_of is None else instance_of.form)
        if not is_valid:
            raise_errors(check_query(self))

    def _compute_by_sql(self, form: Form | None) -> None:
        """Replace SQL expressions by computed attributes; record in the form if there are none."""
        if not any(map(has_sql, self.expressions)):
            if form is not None:
                form.has_sql = False
            return
        errors: list[QueryError] = []
        where = tuple(with_computed(part, self.name, errors) for part in self.where)
        returns = tuple(
            replace(item, expression=with_computed(item.expression, self.name, errors))
            for item in self.returns
        )
        raise_errors(errors)
        object.__setattr__(self, "where", where)
        object.__setattr__(self, "returns", returns)

    @property
    def kind(self) -> Kind:
        """The engine that answers the query, derived from RETURN."""
        return query_kind(self)


NOTHING = Sequence(())  # the pattern of a query without PATTERN


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonQuery(Query):
    """A query written in Python, which the text names and locates.

    `source` is `module:attribute`. `target` is the object of that name, or None until the caller
    passes the module: text alone runs no code.
    """

    returns: tuple[ReturnItem, ...] = ()
    pattern: Pattern = NOTHING
    source: str
    target: object = field(default=None, compare=False, repr=False)

    def __post_init__(self, is_valid: bool, instance_of: FormInstance | None) -> None:
        """Check nothing: the clauses are in Python."""

    @property
    def module(self) -> ModuleType | None:
        """The module that defines the query, if it is loaded."""
        return sys.modules.get(self.source.partition(":")[0])

    @property
    def kind(self) -> Kind:
        """The engine that answers the query."""
        return Kind.QUANTITATIVE


@dataclass(frozen=True, slots=True)
class Workload:
    """Queries that run together over one stream; names are unique.

    `exact` computes with integers of any size. `fitting` caches the schemas that all queries were
    checked against without an error: with many queries, checking can take longer than running.
    """

    queries: tuple[Query, ...]
    exact: bool = False
    fitting: set[Schema] = field(default_factory=set, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        errors: list[QueryError] = []
        if not self.queries:
            errors.append(QuerySemanticError("A workload needs at least one query."))
        names_seen: set[str] = set()
        for query in self.queries:
            if query.name in names_seen:
                errors.append(
                    QuerySemanticError(
                        f"Two queries are named '{query.name}'. Name each of them differently: "
                        "results are identified by these names.",
                        span=query.span,
                        query=query.name,
                    )
                )
            names_seen.add(query.name)
        raise_errors(errors)

    def __iter__(self) -> Iterator[Query]:
        return iter(self.queries)

    def __len__(self) -> int:
        return len(self.queries)

    def __getitem__(self, name: str) -> Query:
        """Return the query of that name; KeyError lists the names of all queries."""
        for query in self.queries:
            if query.name == name:
                return query
        names = [query.name for query in self.queries]
        raise KeyError(
            f"No query '{name}'.{did_you_mean(name, names)} Queries: {choices_text(names)}"
        )
