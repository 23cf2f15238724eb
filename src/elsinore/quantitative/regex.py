"""Rates: symbolic regular expressions over items (StreamQRE, Section 3).

A leaf is a predicate on one item. Its condition is an expression of `elsinore.model` over
attributes of the variable `item`, so that satisfiability and equivalence can be decided. A test in
plain Python is an attribute with unknown values in a condition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, overload

from elsinore.automata import Symbol
from elsinore.errors import QuerySemanticError, kind_of_value
from elsinore.language import render
from elsinore.language.parts import MOST_NESTED, depth
from elsinore.language.patterns import EventTerm
from elsinore.language.terms import OwnName, Term
from elsinore.model import expression as ex
from elsinore.model import pattern as pt
from elsinore.model.expression import Attribute, Binary, Expression, Literal, Operator
from elsinore.quantitative.balanced import balanced

ITEM = "item"  # the variable of conditions on items
TYPE = "type"  # the attribute with an event's type
VALUE = "value"  # the attribute by which conditions read an item that is a number or text

ALWAYS = Literal(value=True)
Test = Callable[[Any], bool]


class Regex:
    """A symbolic regular expression. `|` is union; see `seq` for concatenation."""

    __slots__ = ()

    def __or__(self, other: object) -> Regex:
        return union(self, as_regex(other))

    def __bool__(self) -> bool:
        raise TypeError(
            "Predicates and rates are neither true nor false. Combine them by &, | and ~, not by "
            "and, or and not."
        )

    def star(self) -> Regex:
        """Any number of times: `r*`."""
        return Star(self)

    def plus(self) -> Regex:
        """Once or more: `r+`."""
        return Plus(self)

    def optional(self) -> Regex:
        """Once or not at all: `r?`."""
        return union(self, EMPTY)

    def times(self, count: int) -> Regex:
        """Exactly `count` times: `r{n}`."""
        return Times(self, count)

    def __str__(self) -> str:
        return _text(self, 0)


@dataclass(frozen=True, slots=True)
class Predicate(Regex):
    """A condition on one item, and its name in messages.

    `&`, `|` and `~` are AND, OR and "is not true": a comparison with null is unknown, and so not
    true. `tests` are the tests in plain Python that the condition reads as attributes.
    """

    name: str
    condition: Expression
    tests: tuple[tuple[str, Test], ...] = ()

    def __and__(self, other: object) -> Predicate:
        right = as_predicate(other)
        name = f"{_operand(self.name)} & {_operand(right.name)}"
        return self._with(Operator.AND, right, name)

    @overload
    def __or__(self, other: Predicate | Term) -> Predicate: ...

    @overload
    def __or__(self, other: object) -> Regex: ...

    def __or__(self, other: object) -> Regex:
        right = as_regex(other)
        if not isinstance(right, Predicate):
            return union(self, right)
        return self._with(Operator.OR, right, f"{self.name} | {right.name}")

    def __invert__(self) -> Predicate:
        match self.condition:
            case Binary(Operator.OR, ex.Not(inner), ex.IsNull(tested)) if inner is tested:
                return Predicate(f"~{_operand(self.name)}", inner, self.tests)  # not not
        unknown = Binary(Operator.OR, ex.Not(self.condition), ex.IsNull(self.condition))
        return Predicate(f"~{_operand(self.name)}", unknown, self.tests)

    def named(self, name: str) -> Predicate:
        """Return the predicate under another name."""
        return Predicate(name, self.condition, self.tests)

    @property
    def symbol(self) -> Symbol:
        """The label of an automaton's transition for the predicate."""
        always = self.condition == ALWAYS
        return Symbol(ITEM, frozenset() if always else frozenset({self.condition}))

    def _with(self, operator: Operator, other: Predicate, name: str) -> Predicate:
        tests = dict(self.tests) | dict(other.tests)
        condition = balanced(operator, self.condition, other.condition)
        return Predicate(name, condition, tuple(tests.items()))


class Event(Predicate):
    """Events of a type; its attributes are terms for conditions on such events.

    Columns with the name of an attribute of predicates, such as `name` and `times`, are read in
    brackets: M["name"].
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Term:
        if name.startswith("__"):  # copying and pickling look for these
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Term:
        return Term(Attribute(str(self.name), name))


@dataclass(frozen=True, slots=True)
class Empty(Regex):
    """The empty sequence alone."""


@dataclass(frozen=True, slots=True)
class Concatenation(Regex):
    """The parts one after another."""

    parts: tuple[Regex, ...]


@dataclass(frozen=True, slots=True)
class Union(Regex):
    """One of the parts."""

    parts: tuple[Regex, ...]


@dataclass(frozen=True, slots=True)
class Star(Regex):
    """Any number of times."""

    inner: Regex


@dataclass(frozen=True, slots=True)
class Plus(Regex):
    """Once or more."""

    inner: Regex


@dataclass(frozen=True, slots=True)
class Times(Regex):
    """Exactly `count` times."""

    inner: Regex
    count: int


EMPTY = Empty()
ANY = Predicate("any", ALWAYS)


def event(type: str) -> Event:  # noqa: A002 - the usual word
    """Return the predicate that an item is an event of a type.

    >>> M = event("M")
    >>> str(seq(M, as_predicate(M.val > 5).star()))
    'M (M.val > 5)*'
    """
    if not isinstance(type, str):
        raise TypeError(f"event takes the name of a type, not {kind_of_value(type)}.")
    return Event(OwnName(type), Binary(Operator.EQ, Attribute(ITEM, TYPE), Literal(type)))


def predicate(condition: object, name: str | None = None) -> Predicate:
    """Return a condition as a predicate, with a name if one is given.

    A function of an item is a test in plain Python, about which comparisons of rates know nothing.

    >>> predicate(event("M").val > 5, "high").name
    'high'
    """
    leaf = as_predicate(condition)
    return leaf if name is None else leaf.named(name)


def as_predicate(item: object) -> Predicate:
    """Return an event, a condition or a test in plain Python as a predicate.

    Raises QuerySemanticError for anything else, and for conditions on two events.
    """
    match item:
        case Predicate():
            return item
        case Term(node):
            return _of_condition(node)
        case EventTerm(node=pt.Event(type=name, variable=variable)):
            if name != variable:
                raise QuerySemanticError(
                    f"An item has no variable, and '{variable}' is not its type: write "
                    f"event({name!r})."
                )
            return event(name)
        case bool():
            raise QuerySemanticError(
                f"{item} is not a predicate on items. If it is the result of a comparison, that "
                "was with an attribute of the predicate, such as M.name, M.times or M.condition. "
                'Read a column with this name in brackets, as in M["name"]. The predicate that all '
                "items satisfy is `any`."
            )
        case _ if callable(item):
            name = name_of(item)
            key = f"<{name} {id(item):x}>"
            return Predicate(name, Attribute(ITEM, key), ((key, item),))
    write = f" Write event({item!r})." if isinstance(item, str) else ""
    raise QuerySemanticError(
        f"{item!r} is not a predicate on items.{write} Predicates are events, event('M'), "
        "conditions on their attributes, event('M').val > 5, and functions of an item."
    )


def as_regex(item: object) -> Regex:
    """Return a regular expression; a predicate is one."""
    return item if isinstance(item, Regex) else as_predicate(item)


def seq(*parts: object) -> Regex:
    """Return the concatenation of regular expressions.

    >>> B, M, E, D = (event(name) for name in "BMED")
    >>> str(seq(seq(B, M.star(), E).star(), D).star())
    '((B M* E)* D)*'
    >>> str(seq(B, M.star(), M))
    'B M+'
    """
    merged: list[Regex] = []
    for part in map(as_regex, parts):
        if merged and part != EMPTY and merged[-1] == Star(part):
            merged[-1] = Plus(part)
        elif merged and isinstance(part, Star) and merged[-1] == part.inner:
            merged[-1] = Plus(part.inner)
        else:
            merged += part.parts if isinstance(part, Concatenation) else [part]
    merged = [part for part in merged if part != EMPTY]
    return merged[0] if len(merged) == 1 else Concatenation(tuple(merged)) if merged else EMPTY


def union(*parts: object) -> Regex:
    """Return the union of regular expressions."""
    alternatives: list[Regex] = []
    for part in map(as_regex, parts):
        check_nesting(part)
        alternatives += part.parts if isinstance(part, Union) else [part]
    return alternatives[0] if len(alternatives) == 1 else Union(tuple(dict.fromkeys(alternatives)))


def check_nesting(regex: Regex) -> None:
    """Raise QuerySemanticError if a rate, or a condition in it, is nested too deeply."""
    if depth(regex, _inner) > MOST_NESTED:
        raise QuerySemanticError(
            f"More than {MOST_NESTED} regular expressions within one another. Write seq(a, b, c) "
            "for seq(seq(a, b), c), or use fewer repetitions."
        )
    for leaf in _leaves(regex):
        _check_condition(leaf.condition)


def _check_condition(condition: Expression) -> None:
    if depth(condition, ex.children) > MOST_NESTED:
        raise QuerySemanticError(
            f"More than {MOST_NESTED} operators within one another in a condition on an item. "
            "For ORs on one attribute, write item.x.is_in([1, 2, ...]); otherwise combine "
            "predicates in place of conditions, qre.predicate(p) | qre.predicate(q), or pass a "
            "function of an item."
        )


def _inner(regex: Regex) -> tuple[Regex, ...]:
    match regex:
        case Concatenation(parts) | Union(parts):
            return parts
        case Star(inner) | Plus(inner) | Times(inner, _):
            return (inner,)
        case _:
            return ()


def predicates(regex: Regex) -> tuple[Predicate, ...]:
    """Return the predicates of an expression, each once, from left to right."""
    return tuple(dict.fromkeys(_leaves(regex)))


def name_of(function: Any) -> str:
    """Return a function's name; for a lambda its line, or the name of the library's fold.

    >>> name_of(len)
    'len'
    """
    name = getattr(function, "__name__", type(function).__name__)
    code = getattr(function, "__code__", None)
    if name == "<lambda>" and code is not None:
        if (function.__module__ or "").startswith("elsinore.quantitative."):
            return str(function.__qualname__.partition(".")[0])
        return f"lambda:{code.co_firstlineno}"
    return str(name)


def _text(regex: Regex, level: int) -> str:
    """Return an expression as text, in parentheses if its context needs them.

    level: 0 for a whole expression or a part of a union, 1 in a sequence, 2 below a repetition.
    """
    match regex:
        case Predicate(name):
            plain = name.replace("_", "").isalnum()
            return name if plain or (name.startswith("~") and name[1:].isalnum()) else f"({name})"
        case Concatenation(parts):
            text = " ".join(_text(part, 1) for part in parts)
            return f"({text})" if level > 1 else text
        case Union(parts):
            text = " | ".join("()" if part == EMPTY else _text(part, 0) for part in parts)
            return f"({text})" if level > 0 else text
        case Star(inner):
            return f"{_text(inner, 2)}*"
        case Plus(inner):
            return f"{_text(inner, 2)}+"
        case Times(inner, count):
            return f"{_text(inner, 2)}{{{count}}}"
        case _:
            return "()"


def _leaves(regex: Regex) -> Iterator[Predicate]:
    pending = [regex]
    while pending:
        node = pending.pop()
        if isinstance(node, Predicate):
            yield node
        pending.extend(reversed(_inner(node)))


def _of_condition(node: Expression) -> Predicate:
    """Return a condition on one event; a variable other than `item` is the event's type."""
    _check_condition(node)
    variables = {attribute.variable for attribute in ex.attributes(node)}
    if len(variables) > 1:
        raise QuerySemanticError(
            f"A predicate is on one item, '{render(node)}' is on {' and '.join(sorted(variables))}."
        )
    condition = ex.with_attributes(node, lambda read: Attribute(ITEM, read.name))
    for variable in variables - {ITEM}:
        condition = Binary(Operator.AND, event(variable).condition, condition)
    return Predicate(render(node), condition)


def _operand(name: str) -> str:
    plain = name.replace("_", "").replace("~", "").isalnum()
    return name if plain else f"({name})"
