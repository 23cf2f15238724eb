"""The clauses of a query, before they are checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from elsinore.errors import Span
from elsinore.model.expression import Expression
from elsinore.model.kinds import AfterMatch, Strategy
from elsinore.model.pattern import Pattern
from elsinore.model.window import Window


@dataclass(frozen=True, slots=True)
class ReturnItem:
    """One column of the result: an expression and its optional alias."""

    expression: Expression
    alias: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Clauses:
    """The unchecked clauses of a query (HAMLET, Definition 2); `model.query.Query` is valid.

    `where` has the conjuncts of the WHERE clause, `equivalence` the attributes in `[ ]`; `places`
    has the spans of clauses by keyword. `distinct` removes duplicate rows. `after_match` selects
    matches, None returns all. `suppress` is the duration after a match in which other matches of
    its key are dropped.
    """

    name: str
    returns: tuple[ReturnItem, ...]
    pattern: Pattern
    equivalence: tuple[str, ...] = ()
    where: tuple[Expression, ...] = ()
    strategy: Strategy = Strategy.ANY
    group_by: tuple[str, ...] = ()
    window: Window | None = None
    after_match: AfterMatch | None = None
    suppress: Window | None = None
    confidence: float | None = None
    collapsed: bool = False
    limit: int | None = None
    distinct: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)
    places: Mapping[str, Span] = field(default_factory=dict, compare=False, repr=False)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """The conditions of WHERE, and then the values of RETURN."""
        return (*self.where, *(item.expression for item in self.returns))
