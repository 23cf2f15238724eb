"""Intermediate results of the grammar's rules, before the model's nodes are created."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar, cast

from lark import Token

from elsinore.errors import QuerySyntaxError, Span
from elsinore.language.durations import microseconds
from elsinore.model import Duration, Expression, Literal, Pattern, ReturnItem
from elsinore.model import pattern as pt
from elsinore.model.expression import children, walk

Node = TypeVar("Node")
LONGEST = 2**63 * 1_000  # nanoseconds: those that do not fit in 64 bits of microseconds
MOST_NESTED = 200  # safe for recursive functions over nodes


class Named(NamedTuple):
    """A name and its token."""

    text: str
    token: Token


class Returned(NamedTuple):
    """A RETURN clause: its columns, and whether duplicate rows are removed."""

    items: tuple[ReturnItem, ...]
    distinct: bool


class Quantifier(NamedTuple):
    """The least and greatest number of repetitions, and the quantifier's place."""

    least: int
    most: int | None
    span: Span


class Array(NamedTuple):
    """The `[]` after a Kleene variable."""


class Number(NamedTuple):
    """A number with its units of time, as in the text."""

    parts: tuple[tuple[str, str | None], ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Equivalence:
    """`[driver, rider]`, before the WHERE clause extracts it."""

    names: tuple[str, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Condition:
    """A WHERE clause: the attributes in `[ ]`, the span of the last `[ ]`, other conjuncts."""

    equivalence: tuple[str, ...]
    where: tuple[Expression, ...]
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Length:
    """A duration or time in microseconds, with its span; `bare` marks a number without a unit.

    With `events` it is a number of events. `zone` is the time zone that a time names.
    """

    value: Fraction
    span: Span | None = None
    bare: bool = False
    events: bool = False
    zone: str | None = None


def span_of(token: Token) -> Span:
    """Return the span of a token."""
    return Span(token.start_pos or 0, token.end_pos or 0)


def depth(root: Node, children: Callable[[Node], tuple[Node, ...]]) -> int:
    """Return the depth of nested nodes."""
    level, count = [root], 0
    while level:
        child_nodes = (child for node in level for child in children(node))
        level = list(
            {id(child): child for child in child_nodes}.values()
        )  # visit shared nodes once
        count += 1
    return count


def checked_pattern(pattern: Pattern) -> Pattern:
    """Return the pattern; raise QuerySyntaxError if it is nested too deeply."""
    if depth(pattern, pt.children) > MOST_NESTED:
        raise QuerySyntaxError(
            f"More than {MOST_NESTED} patterns within one another.", span=pattern.span
        )
    return pattern


def checked(expression: Expression) -> Expression:
    """Return the expression; raise QuerySyntaxError for `[ ]` in it and for deep nesting."""
    if depth(expression, children) > MOST_NESTED:
        raise QuerySyntaxError(
            f"More than {MOST_NESTED} operators within one another. Where they are ORs of one "
            "attribute, write T.x IN (1, 2, ...).",
            span=expression.span,
        )
    nodes: Iterator[object] = walk(expression)
    for marker in nodes:
        if isinstance(marker, Equivalence):
            raise QuerySyntaxError(
                f"[{', '.join(marker.names)}] holds for the whole trend or match, so it can only "
                "stand at the top level of WHERE, joined to the rest by AND.",
                span=marker.span,
            )
    return expression


def constant_of(number: Number, sign: int = 1) -> Literal | Duration:
    """Return a number times a sign as a literal or, with units of time, as a duration.

    Raises QuerySyntaxError for too many digits, and for durations that are not whole nanoseconds or
    exceed 64 bits.
    """
    text, unit = number.parts[0]
    try:
        if unit is None:
            return Literal(sign * (int(text) if text.isdigit() else float(text)), number.span)
        nanoseconds = sign * microseconds(list(number.parts)) * 1_000
    except (ValueError, OverflowError):
        raise _too_long(number.span) from None
    if nanoseconds.denominator != 1:
        raise QuerySyntaxError(
            "Times are whole nanoseconds: this is a fraction of one. Round it.", span=number.span
        )
    if abs(nanoseconds) >= LONGEST:
        raise QuerySyntaxError(
            "This length of time is longer than 290,000 years, which 64 bits do not hold.",
            span=number.span,
        )
    return Duration(int(nanoseconds), number.span)


def microseconds_of(number: Number) -> Fraction:
    """Return a duration; a number without a unit counts seconds."""
    try:
        return microseconds(list(number.parts))
    except ValueError:
        raise _too_long(number.span) from None


def count_of(token: Token) -> int:
    """Return a whole number."""
    try:
        return int(token)
    except ValueError:
        raise _too_long(span_of(token)) from None


def _too_long(span: Span) -> QuerySyntaxError:
    return QuerySyntaxError("This number has too many digits.", span=span)


def expression_of(item: Any) -> Expression:
    """Return an operand as a node: numbers are converted here."""
    return constant_of(item) if isinstance(item, Number) else cast("Expression", item)
