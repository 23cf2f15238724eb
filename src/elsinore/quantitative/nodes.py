"""The nodes of a query's expression tree, whose rates are checked when a node is constructed.

A node stands for a partial map from sequences of items to values; its domain is regular, and
`rate` is an unambiguous regular expression of it (StreamQRE, Section 3 and Figure 1).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, get_type_hints

from elsinore.errors import QuerySemanticError
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
    predicates,
    seq,
    union,
    written,
)
from elsinore.quantitative.rules import (
    check_concatenable,
    check_contained,
    check_disjoint,
    check_equivalent,
    check_iterable,
    check_unambiguous,
    never,
)
from elsinore.quantitative.windows import WindowState

Operation = Callable[..., Any]
SHOWN = 60  # characters of a sub-expression in a message
SHOWN_LEVELS = 12  # of one: each begins with 6 characters or more, as in "apply("
MOST_NESTED = 300  # queries: what recursive functions over them can take, with room to spare


@dataclass(frozen=True, slots=True)
class Form:
    """A derived form as the user wrote it: its name with parameters, and its parts."""

    name: str
    parts: tuple[Node, ...] = ()


class Node:
    """A streaming function; `rate` says at which sequences of items it has a value."""

    __slots__ = ("form",)

    rate: Regex
    depth: int  # the number of levels of nodes, this one included
    form: Form  # set if the node was made by a derived form, such as `iterate1`

    @property
    def parts(self) -> tuple[Node, ...]:
        """The nodes that this one is made of."""
        return ()

    def _set_depth(self) -> None:
        """Set the depth. Raises QuerySemanticError for more than MOST_NESTED levels."""
        depth = 1 + max((part.depth for part in self.parts), default=0)
        if depth > MOST_NESTED:
            raise QuerySemanticError(
                f"{shortly(self)}: more than {MOST_NESTED} queries within one another. Give one "
                "combinator several parts, as in split(f, g, h, op) or either(f, g, h), apply one "
                "function in place of several, or put queries in a pipeline, f >> g."
            )
        object.__setattr__(self, "depth", depth)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What may be a mistake although the query can run: rates that never match, and why."""
        texts = [never(self.rate), *(text for part in self.parts for text in part.warnings)]
        return tuple(dict.fromkeys(text for text in texts if text is not None))

    def __str__(self) -> str:
        return described(self)

    def __repr__(self) -> str:
        return f"<{shortly(self)}: {self.rate}>"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Atom(Node):
    """One item that satisfies a predicate; the value is what `op` makes of it."""

    predicate: Predicate
    op: Operation | None  # None: the item itself
    rate: Regex = field(init=False)
    depth: int = field(init=False)

    def __post_init__(self) -> None:
        self._set_depth()
        check_nesting(self.predicate)
        object.__setattr__(self, "rate", self.predicate)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Constant(Node):
    """The empty sequence; the value is always the same."""

    value: Any
    rate: Regex = field(init=False)
    depth: int = field(init=False)

    def __post_init__(self) -> None:
        self._set_depth()
        object.__setattr__(self, "rate", EMPTY)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Split(Node):
    """The parts on consecutive stretches; the value is `op` of their values."""

    pieces: tuple[Node, ...]
    op: Operation
    rate: Regex = field(init=False)
    depth: int = field(init=False)

    def __post_init__(self) -> None:
        self._set_depth()
        rates = [part.rate for part in self.pieces]
        check_concatenable(shortly(self), rates)
        object.__setattr__(self, "rate", seq(*rates))

    @property
    def parts(self) -> tuple[Node, ...]:
        """The queries on consecutive stretches."""
        return self.pieces


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Iterate(Node):
    """The body on consecutive stretches, as many as there are; a left fold of its values."""

    body: Node
    init: Any
    step: Operation
    rate: Regex = field(init=False)
    depth: int = field(init=False)

    def __post_init__(self) -> None:
        self._set_depth()
        check_iterable(shortly(self), self.body.rate)
        object.__setattr__(self, "rate", Star(self.body.rate))

    @property
    def parts(self) -> tuple[Node, ...]:
        """The query that is iterated."""
        return (self.body,)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Either(Node):
    """The one of the parts that has a value; the parts of an Either within it become its own."""

    choices: tuple[Node, ...]
    rate: Regex = field(init=False)
    depth: int = field(init=False)

    def __post_init__(self) -> None:
        rates = [part.rate for part in self.choices]
        check_disjoint(shortly(self), rates)
        self._check_types()
        object.__setattr__(self, "rate", union(*rates))
        flat = [part.choices if isinstance(part, Either) else (part,) for part in self.choices]
        object.__setattr__(self, "choices", tuple(itertools.chain(*flat)))
        self._set_depth()

    def _check_types(self) -> None:
        declared = {kind: n for n, part in enumerate(self.choices, 1) if (kind := output(part))}
        if len(declared) > 1:
            types = " and ".join(
                f"part {n} gives {getattr(kind, '__name__', kind)}" for kind, n in declared.items()
            )
            raise QuerySemanticError(f"{shortly(self)}: {types}; the parts must give values alike.")

    @property
    def parts(self) -> tuple[Node, ...]:
        """The queries of which one has a value."""
        return self.choices


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Combine(Node):
    """The parts on the same items; the value is `op` of their values."""

    parallel: tuple[Node, ...]
    op: Operation
    rate: Regex = field(init=False)
    depth: int = field(init=False)

    def __post_init__(self) -> None:
        self._set_depth()
        rates = [part.rate for part in self.parallel]
        check_equivalent(shortly(self), rates)
        object.__setattr__(self, "rate", rates[0])

    @property
    def parts(self) -> tuple[Node, ...]:
        """The queries on the same items."""
        return self.parallel


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Window(Node):
    """The body on consecutive stretches, one at least; a fold of its last `size` values."""

    body: Node
    window: WindowState
    rate: Regex = field(init=False)
    depth: int = field(init=False)

    def __post_init__(self) -> None:
        self._set_depth()
        check_iterable(shortly(self), self.body.rate)
        object.__setattr__(self, "rate", Plus(self.body.rate))

    @property
    def parts(self) -> tuple[Node, ...]:
        """The query whose values the window holds."""
        return (self.body,)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MapCollect(Node):
    """The body on each key's own items and the synchronization items; a map from key to value.

    `over` is the rate of output over synchronization items alone, the query's own rate is `over`
    with any number of keyed items before each of them (StreamQRE, Section 3, "Key-based
    partitioning").
    """

    sync: Predicate
    key: Operation
    body: Node
    over: Regex
    rate: Regex = field(init=False)
    depth: int = field(init=False)

    def __post_init__(self) -> None:
        self._set_depth()
        check_nesting(self.over)
        rate = spread(self.over, self.sync, shortly(self))
        check_unambiguous(f"the rate of {shortly(self)}", self.over)
        check_contained(shortly(self), self.body.rate, rate)
        object.__setattr__(self, "rate", rate)

    @property
    def parts(self) -> tuple[Node, ...]:
        """The query of each key."""
        return (self.body,)


def spread(over: Regex, sync: Predicate, expression: str) -> Regex:
    """Return a rate with any number of keyed items before each synchronization item.

    `over` may be written with the synchronization predicate alone, or in full already, with
    `seq((~sync).star(), sync)`. Raises QuerySemanticError where it depends on other items.
    """
    before = seq((~sync).star(), sync)

    def put(regex: Regex) -> Regex:
        if regex == before or (isinstance(regex, Predicate) and regex == sync):
            return before
        match regex:
            case Concatenation(parts):
                parts_found: list[Regex] = []
                remaining = list(parts)
                while remaining:
                    whole = len(remaining) > 1 and seq(*remaining[:2]) == before
                    parts_found.append(before if whole else put(remaining[0]))
                    del remaining[: 2 if whole else 1]
                return seq(*parts_found)
            case Union(parts):
                return union(*map(put, parts))
            case Star(inner):
                return Star(put(inner))
            case Plus(inner):
                return Plus(put(inner))
            case Predicate(name):
                raise QuerySemanticError(
                    f"{expression}: the rate of output may depend on synchronization items alone "
                    f"({sync.name}), it is written with {name}."
                )
            case _ if predicates(regex):
                return type(regex)(put(regex.inner), regex.count)  # type: ignore[attr-defined, call-arg]
            case _:
                return regex

    return put(over)


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


def with_form(node: Node, name: str, *parts: Node) -> Node:
    """Return the node, noting under which name and of which parts the user wrote it."""
    object.__setattr__(node, "form", Form(name, parts))
    return node


def output(query: Node) -> Any:
    """Return the type that a query's function declares to return, None where it does not say."""
    match query:
        case Atom(op=op) | Split(op=op) | Combine(op=op) if op is not None:
            function = op
        case Iterate(step=step):
            function = step
        case _:
            return None
    try:
        declared = get_type_hints(function).get("return")
    except (TypeError, NameError, AttributeError):
        return None
    return None if declared in {Any, type(None)} else declared


def described(query: Node, levels: int = MOST_NESTED) -> str:
    """Return a query as it is written, functions by their names, with `...` below some levels."""
    if not levels:
        return "..."
    below = partial(described, levels=levels - 1)
    match query:
        case Atom(predicate, op):
            return f"atom({predicate.name})" if op is None else _call("atom", predicate.name, op)
        case Constant(value):
            return f"constant({value!r})"
        case Split(parts, op):
            return _call("split", *map(below, parts), op)
        case Iterate(body, init, step):
            return f"iterate({below(body)}, {init!r}, {name_of(step)})"
        case Either(parts):
            return _call("either", *map(below, parts))
        case Combine((part,), op):
            return _call("apply", below(part), op)
        case Combine(parts, op):
            return _call("combine", *map(below, parts), op)
        case Window(body, window):
            return f"sliding({below(body)}, {window})"
        case MapCollect(sync, key, body, over):
            return _call("map_collect", sync.name, key, below(body), written(over))
        case _:
            raise TypeError(f"not a query: {query!r}")


def shortly(query: Node) -> str:
    """Return a query as it is written, long ones cut short, for messages."""
    text = described(query, SHOWN_LEVELS)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


def _call(function: str, *arguments: Any) -> str:
    shown = [name_of(a) if callable(a) else str(a) for a in arguments]
    return f"{function}({', '.join(shown)})"
