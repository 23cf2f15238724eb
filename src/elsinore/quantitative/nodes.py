"""The nodes of a query's expression tree; the type rules of rates are checked at construction.

A node denotes a partial map from sequences of items to values; its domain is regular, and
`rate` is an unambiguous regular expression of it (StreamQRE, Section 3 and Figure 1).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, get_type_hints

from elsinore.errors import QuerySemanticError
from elsinore.quantitative.folds import Fold
from elsinore.quantitative.functions import unit
from elsinore.quantitative.regex import (
    EMPTY,
    Concatenation,
    Empty,
    Plus,
    Predicate,
    Regex,
    Star,
    Times,
    Union,
    check_nesting,
    name_of,
    seq,
    union,
)
from elsinore.quantitative.rules import (
    RateError,
    check_concatenable,
    check_contained,
    check_disjoint,
    check_equivalent,
    check_iterable,
    never,
)
from elsinore.quantitative.windows import WindowState

Operation = Callable[..., Any]
SHOWN = 60  # characters of a sub-expression in a message
SHOWN_LEVELS = 12  # of one: each begins with 6 characters or more, as in "apply("
MOST_NESTED = 300  # queries within one another: functions over them are recursive


@dataclass(frozen=True, slots=True)
class Form:
    """A call of a combinator: nodes, and the texts of other arguments."""

    combinator: str
    arguments: tuple[Node | str, ...]

    @property
    def parts(self) -> tuple[Node, ...]:
        """The arguments that are queries."""
        return tuple(part for part in self.arguments if isinstance(part, Node))

    @property
    def title(self) -> str:
        """The call without queries among its arguments."""
        texts = [part for part in self.arguments if isinstance(part, str)]
        return f"{self.combinator}({', '.join(texts)})" if texts else self.combinator


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Node:
    """A streaming function, made of the functions `parts`; it has values at sequences of `rate`.

    `depth` is the number of levels of nodes, this one included.
    """

    parts: tuple[Node, ...] = field(init=False)
    depth: int = field(init=False)
    rate: Regex = field(init=False)
    form: Form | None = field(init=False, default=None)  # of a derived combinator

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", _parts(self))
        depth = 1 + max((part.depth for part in self.parts), default=0)
        if depth > MOST_NESTED:
            raise QuerySemanticError(
                f"{shortly(self)}: more than {MOST_NESTED} queries within one another. Give one "
                "combinator several parts, as in split(f, g, h, op) or either(f, g, h), apply one "
                "function in place of several, or put queries in a pipeline, f >> g."
            )
        object.__setattr__(self, "depth", depth)
        object.__setattr__(self, "rate", _checked_rate(self))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings of rates that match no sequence, with the reason."""
        texts = [never(self.rate), *(text for part in self.parts for text in part.warnings)]
        return tuple(dict.fromkeys(text for text in texts if text is not None))

    def __str__(self) -> str:
        return described(self)

    def __repr__(self) -> str:
        return f"<{shortly(self)}: {self.rate}>"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Atom(Node):
    """One item that satisfies a predicate; the value is `op` of the item."""

    predicate: Predicate
    op: Operation | None  # None: the item itself


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Constant(Node):
    """The empty sequence; the value is always the same."""

    value: Any


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Split(Node):
    """The parts on consecutive stretches; the value is `op` of their values."""

    pieces: tuple[Node, ...]
    op: Operation


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Iterate(Node):
    """The body on any number of consecutive stretches; the value is the left fold of its values."""

    body: Node
    init: Any
    step: Operation


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Either(Node):
    """The value of the choice that matches. The choices of an Either among them become its own."""

    choices: tuple[Node, ...]

    def __post_init__(self) -> None:
        check_disjoint(shortly(self), [part.rate for part in self.choices])
        self._check_types()
        flat = [part.choices if isinstance(part, Either) else (part,) for part in self.choices]
        object.__setattr__(self, "choices", tuple(itertools.chain(*flat)))
        Node.__post_init__(self)

    def _check_types(self) -> None:
        declared = {kind: n for n, part in enumerate(self.choices, 1) if (kind := output(part))}
        if len(declared) > 1:
            types = " and ".join(
                f"part {n} returns {getattr(kind, '__name__', kind)}"
                for kind, n in declared.items()
            )
            raise QuerySemanticError(f"{shortly(self)}: {types}; the parts must have one type.")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Combine(Node):
    """The parts on the same items; the value is `op` of their values."""

    parallel: tuple[Node, ...]
    op: Operation


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Window(Node):
    """The body on one or more consecutive stretches; a fold of its last `size` values."""

    body: Node
    window: WindowState


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MapCollect(Node):
    """The body on each key's own items and the synchronization items; a map from key to value.

    `over` is the rate of output over synchronization items alone; the query's own rate is `over`
    with any number of keyed items before each of them (StreamQRE, Section 3, "Key-based
    partitioning").
    """

    sync: Predicate
    key: Operation
    body: Node
    over: Regex


def _parts(node: Node) -> tuple[Node, ...]:
    match node:
        case Split(parts) | Either(parts) | Combine(parts):
            return parts
        case Iterate(body) | Window(body) | MapCollect(_, _, body):
            return (body,)
        case _:
            return ()


def _checked_rate(node: Node) -> Regex:
    """Return the rate of a node from those of its parts (StreamQRE, Figure 1).

    Raises RateError if they break a type rule.
    """
    if isinstance(node, MapCollect):
        check_nesting(node.over)
    expression, rates = shortly(node), [part.rate for part in node.parts]
    match node:
        case Atom(predicate):
            check_nesting(predicate)
            return predicate
        case Split():
            check_concatenable(expression, rates)
            return seq(*rates)
        case Iterate():
            check_iterable(expression, rates[0])
            return Star(rates[0])
        case Either():
            return union(*rates)
        case Combine():
            check_equivalent(expression, rates)
            return rates[0]
        case Window():
            check_iterable(expression, rates[0])
            return Plus(rates[0])
        case MapCollect(sync, _, _, over):
            rate = spread(over, sync, expression)
            try:
                without_value(over)
            except RateError as error:
                raise error.within(f"the rate of {expression}") from None
            check_contained(expression, rates[0], rate)
            return rate
        case _:
            return EMPTY


def spread(over: Regex, sync: Predicate, expression: str) -> Regex:
    """Return a rate with any number of keyed items before each synchronization item.

    `over` may be written with the synchronization predicate alone, or in full, with
    `seq((~sync).star(), sync)`. Raises QuerySemanticError if it depends on other items.
    """
    before = seq((~sync).star(), sync)

    def with_items(regex: Regex) -> Regex:
        if regex == before or (isinstance(regex, Predicate) and regex == sync):
            return before
        match regex:
            case Concatenation(parts):
                spread_parts: list[Regex] = []
                remaining = list(parts)
                while remaining:
                    in_full = len(remaining) > 1 and seq(*remaining[:2]) == before
                    spread_parts.append(before if in_full else with_items(remaining[0]))
                    del remaining[: 2 if in_full else 1]
                return seq(*spread_parts)
            case Union(parts):
                return union(*map(with_items, parts))
            case Star(inner):
                return Star(with_items(inner))
            case Plus(inner):
                return Plus(with_items(inner))
            case Predicate(name):
                raise QuerySemanticError(
                    f"{expression}: the rate of output may depend on synchronization items alone "
                    f"({sync.name}), it is written with {name}."
                )
            case Times(inner, count):
                return Times(with_items(inner), count)
            case _:
                return regex

    return with_items(over)


def without_value(regex: Regex) -> Node:
    """Return the node of a rate whose value is always None; RateError for an ambiguous rate."""
    match regex:
        case Predicate():
            return Atom(regex, unit)
        case Empty() | Times(_, 0):
            return Constant(None)
        case Concatenation(parts):
            return Split(tuple(map(without_value, parts)), unit)
        case Union(parts):
            return Either(tuple(map(without_value, parts)))
        case Star(inner):
            return Iterate(without_value(inner), None, unit)
        case Plus(inner):
            return Split((Iterate(without_value(inner), None, unit), without_value(inner)), unit)
        case Times(inner, 1):
            return without_value(inner)
        case Times(inner, copies):
            return Split((without_value(inner),) * copies, unit)
    raise QuerySemanticError(f"{regex!r} is not a regular expression.")


def output(query: Node) -> Any:
    """Return the return type that a query's function declares, None if it declares none."""
    match query:
        case Atom(op=op) | Split(op=op) | Combine(op=op) if op is not None:
            function = op
        case Iterate(step=step):
            function = step
        case _:
            return None
    return returned(function)


def returned(function: Any) -> Any:
    """Return the type that a function says that it returns, None if it says none."""
    try:
        declared = get_type_hints(function).get("return")
    except (TypeError, NameError, AttributeError):
        return None
    return None if declared in {Any, type(None)} else declared


def form_of(node: Node) -> Form:
    """Return the call of a combinator that made the node, as the user wrote it."""
    if node.form is not None:
        return node.form
    name, values = type(node).__name__.lower(), tuple[Any, ...]()
    match node:
        case Atom(predicate, op):
            values = (predicate,) if op is None else (predicate, op)
        case Constant(value):
            values = (value,)
        case Split(parts, op):
            values = (*parts, op)
        case Iterate(body, init, step):
            values = (body, init, step)
        case Either(parts):
            values = parts
        case Combine(parts, op):
            name, values = ("combine" if len(parts) > 1 else "apply"), (*parts, op)
        case Window(body, window):
            return Form("sliding", (body, str(window)))
        case MapCollect(sync, key, body, over):
            name, values = "map_collect", (sync, key, body, over)
    return Form(name, tuple(map(as_argument, values)))


def as_argument(value: Any) -> Node | str:
    """Return an argument of a combinator for a `Form`."""
    match value:
        case Node():
            return value
        case Predicate(name):
            return name
        case Regex() | Fold():
            return str(value)
    return name_of(value) if callable(value) else repr(value)


def described(query: Node, levels: int = MOST_NESTED) -> str:
    """Return a query as the user wrote it, with functions by name, `...` for deeper levels."""
    if not levels:
        return "..."
    form = form_of(query)
    texts = [
        part if isinstance(part, str) else described(part, levels - 1) for part in form.arguments
    ]
    return f"{form.combinator}({', '.join(texts)})"


def shortly(query: Node) -> str:
    """Return a query as text for messages, shortened if it is long."""
    text = described(query, SHOWN_LEVELS)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."
