"""Symbolic regular expressions over items: what rates are (StreamQRE, Section 3).

A leaf is a predicate on one item. Its condition is an expression of the house, over attributes of
the variable `item`, so that satisfiability and equivalence can be decided; a test in plain Python
stands in a condition as an attribute of which nothing is known.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, overload

from elsinore.automata import Nfa, Symbol, glushkov
from elsinore.automata.bisimilar import reduced
from elsinore.errors import QuerySemanticError, kind_of_value
from elsinore.language import render
from elsinore.language.parts import MOST_NESTED, depth
from elsinore.language.patterns import EventTerm
from elsinore.language.terms import OwnName, Term
from elsinore.model import expression as ex
from elsinore.model import pattern as pt
from elsinore.model.expression import Attribute, Binary, Expression, Literal, Operator

ITEM = "item"  # the variable that conditions on items read from
TYPE = "type"  # the attribute that holds an event's type
VALUE = "value"  # the attribute that a number or text, which has no attributes, has all the same

KNOWN_AUTOMATA = 1024  # that are kept: the rules of a query ask for those of its parts

ALWAYS = Literal(value=True)
Test = Callable[[Any], bool]


class Regex:
    """A symbolic regular expression. `|` is union; see `seq` for concatenation."""

    __slots__ = ()

    def __or__(self, other: object) -> Regex:
        return union(self, as_regex(other))

    def __bool__(self) -> bool:
        raise TypeError(
            "Predicates and rates are neither true nor false. Join them by & and |, and turn them "
            "round by ~, not by and, or and not."
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
        return written(self)


@dataclass(frozen=True, slots=True)
class Predicate(Regex):
    """A condition on one item, and the name that it goes by.

    `&`, `|` and `~` are AND, OR and "is not true": what is unknown, as a comparison with null is,
    is not true. `tests` are the tests in plain Python that the condition asks for.
    """

    name: str
    condition: Expression
    tests: tuple[tuple[str, Test], ...] = ()

    def __and__(self, other: object) -> Predicate:
        also = as_predicate(other)
        name = f"{_operand(self.name)} & {_operand(also.name)}"
        return self._joined(Operator.AND, also, name)

    @overload
    def __or__(self, other: Predicate | Term) -> Predicate: ...

    @overload
    def __or__(self, other: object) -> Regex: ...

    def __or__(self, other: object) -> Regex:
        also = as_regex(other)
        if not isinstance(also, Predicate):
            return union(self, also)
        return self._joined(Operator.OR, also, f"{self.name} | {also.name}")

    def __invert__(self) -> Predicate:
        match self.condition:
            case Binary(Operator.OR, ex.Not(inner), ex.IsNull(tested)) if inner is tested:
                return Predicate(f"~{_operand(self.name)}", inner, self.tests)  # turned twice
        unknown = Binary(Operator.OR, ex.Not(self.condition), ex.IsNull(self.condition))
        return Predicate(f"~{_operand(self.name)}", unknown, self.tests)

    def named(self, name: str) -> Predicate:
        """Return the predicate under another name."""
        return Predicate(name, self.condition, self.tests)

    @property
    def symbol(self) -> Symbol:
        """What a transition of an automaton asks for."""
        always = self.condition == ALWAYS
        return Symbol(ITEM, frozenset() if always else frozenset({self.condition}))

    def _joined(self, operator: Operator, other: Predicate, name: str) -> Predicate:
        tests = dict(self.tests) | dict(other.tests)
        condition = _balanced(operator, self.condition, other.condition)
        return Predicate(name, condition, tuple(tests.items()))


class Event(Predicate):
    """Events of a type; an attribute of it is a term for conditions on such events.

    Columns that are called as what a predicate has itself, such as `name` and `times`, are read in
    brackets: M["name"].
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Term:
        if name.startswith("__"):  # what copying and pickling look for
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Term:
        return Term(Attribute(str(self.name), name))


@dataclass(frozen=True, slots=True)
class Empty(Regex):
    """The empty sequence alone."""


@dataclass(frozen=True, slots=True)
class Concatenation(Regex):
    """The parts one right after another."""

    parts: tuple[Regex, ...]


@dataclass(frozen=True, slots=True)
class Union(Regex):
    """Any one of the parts."""

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


def event(type: str) -> Event:  # noqa: A002 - the word for it
    """Return the predicate that an item is an event of a type.

    >>> M = event("M")
    >>> str(seq(M, as_predicate(M.val > 5).star()))
    'M (M.val > 5)*'
    """
    if not isinstance(type, str):
        raise TypeError(f"event takes the name of a type, not {kind_of_value(type)}.")
    return Event(OwnName(type), Binary(Operator.EQ, Attribute(ITEM, TYPE), Literal(type)))


class Item:
    """The item itself, in conditions: `item.val > 5`; `item > 5` where items are plain numbers."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Term:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Term:
        return Term(Attribute(ITEM, name))

    def __eq__(self, other: object) -> Any:
        return self[VALUE] == other

    def __ne__(self, other: object) -> Any:
        return self[VALUE] != other

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: object) -> Term:
        return self[VALUE] < other

    def __le__(self, other: object) -> Term:
        return self[VALUE] <= other

    def __gt__(self, other: object) -> Term:
        return self[VALUE] > other

    def __ge__(self, other: object) -> Term:
        return self[VALUE] >= other


def predicate(condition: object, name: str | None = None) -> Predicate:
    """Return a condition as a predicate, under a name of its own if one is given.

    A function of an item is a test in plain Python: nothing is known of it when rates are compared.

    >>> predicate(event("M").val > 5, "high").name
    'high'
    """
    made = as_predicate(condition)
    return made if name is None else made.named(name)


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
                "was with an attribute of the predicate itself, such as M.name, M.times or "
                'M.condition. A column called so is read in brackets, as in M["name"]; the '
                "predicate that all items satisfy is `any`."
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
    """Return a regular expression, or a predicate as one."""
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
    """Raise QuerySemanticError for a rate or a condition in it that is nested too deeply."""
    if depth(regex, _inner) > MOST_NESTED:
        raise QuerySemanticError(
            f"More than {MOST_NESTED} regular expressions within one another. Write seq(a, b, c) "
            "for seq(seq(a, b), c), or make a shorter rate of fewer repetitions."
        )
    for leaf in _leaves(regex):
        _check_condition(leaf.condition)


def _check_condition(condition: Expression) -> None:
    if depth(condition, ex.children) > MOST_NESTED:
        raise QuerySemanticError(
            f"More than {MOST_NESTED} operators within one another in a condition on an item. "
            "Where they are ORs on one attribute, write item.x.is_in([1, 2, ...]); where they "
            "join conditions, join predicates instead: qre.predicate(p) | qre.predicate(q); or "
            "give a function of an item."
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


def nullable(regex: Regex) -> bool:
    """Return whether the empty sequence is in the language."""
    match regex:
        case Empty() | Star():
            return True
        case Concatenation(parts):
            return all(map(nullable, parts))
        case Union(parts):
            return any(map(nullable, parts))
        case Plus(inner):
            return nullable(inner)
        case Times(inner, count):
            return count == 0 or nullable(inner)
        case _:
            return False


@functools.lru_cache(maxsize=KNOWN_AUTOMATA)
def automaton(regex: Regex) -> Nfa:
    """Return a small automaton of the language; unambiguous where the expression is."""
    leaves = predicates(regex)
    number = {leaf: str(place) for place, leaf in enumerate(leaves)}
    symbols = [leaf.symbol for leaf in leaves]
    built = glushkov(_pattern(regex, number), lambda leaf: symbols[int(leaf.type)])
    return reduced(built.nfa)


def written(regex: Regex) -> str:
    """Return a regular expression as text; `()` is the empty sequence."""
    return _written(regex, 0)


def name_of(function: Any) -> str:
    """Return what a user's function is called; a lambda by its place.

    >>> name_of(len)
    'len'
    """
    name = getattr(function, "__name__", type(function).__name__)
    code = getattr(function, "__code__", None)
    if name == "<lambda>" and code is not None:
        if (function.__module__ or "").startswith("elsinore.quantitative."):
            return str(function.__qualname__.partition(".")[0])  # the fold that it is of
        return f"lambda:{code.co_firstlineno}"
    return str(name)


def _written(regex: Regex, level: int) -> str:
    """Write an expression for a place in: 0 a whole or a union, 1 a sequence, 2 under a star."""
    match regex:
        case Predicate(name):
            plain = name.replace("_", "").isalnum()
            return name if plain or (name.startswith("~") and name[1:].isalnum()) else f"({name})"
        case Concatenation(parts):
            text = " ".join(_written(part, 1) for part in parts)
            return f"({text})" if level > 1 else text
        case Union(parts):
            text = " | ".join("()" if part == EMPTY else _written(part, 0) for part in parts)
            return f"({text})" if level > 0 else text
        case Star(inner):
            return f"{_written(inner, 2)}*"
        case Plus(inner):
            return f"{_written(inner, 2)}+"
        case Times(inner, count):
            return f"{_written(inner, 2)}{{{count}}}"
        case _:
            return "()"


def _leaves(regex: Regex) -> Iterator[Predicate]:
    pending = [regex]
    while pending:
        node = pending.pop()
        if isinstance(node, Predicate):
            yield node
        pending.extend(reversed(_inner(node)))


def _pattern(regex: Regex, number: dict[Predicate, str]) -> pt.Pattern:
    """Return the expression as a pattern of the house, predicates as types of events."""
    match regex:
        case Predicate():
            return pt.Event(number[regex], number[regex])
        case Concatenation(parts):
            return pt.Sequence(tuple(_pattern(part, number) for part in parts))
        case Union(parts):
            return pt.Disjunction(tuple(_pattern(part, number) for part in parts))
        case Star(inner):
            return pt.Kleene(_pattern(inner, number), 0, None)
        case Plus(inner):
            return pt.Kleene(_pattern(inner, number), 1, None)
        case Times(inner, count):
            return pt.Sequence((_pattern(inner, number),) * count)
        case _:
            return pt.Sequence(())


def _of_condition(node: Expression) -> Predicate:
    """Return a condition on one event: with its type, if it is named by its type."""
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


def _balanced(operator: Operator, left: Expression, right: Expression) -> Expression:
    """Return AND or OR of two conditions; a chain of n operands becomes a tree of depth ~2 log n.

    >>> a = Attribute(ITEM, "a")
    >>> chain = functools.reduce(functools.partial(_balanced, Operator.OR), [a] * 1024)
    >>> depth(chain, ex.children)
    15
    """
    match left, right:
        case Binary(own, first, last), _ if own == operator and _is_shorter(operator, last, first):
            return Binary(operator, first, _balanced(operator, last, right))
        case _, Binary(own, first, last) if own == operator and _is_shorter(operator, first, last):
            return Binary(operator, _balanced(operator, left, first), last)
    return Binary(operator, left, right)


def _is_shorter(operator: Operator, side: Expression, other: Expression) -> bool:
    """Return whether one side of a chain that grows at this side is less deep than the other."""
    return _chain_depth(operator, side) < _chain_depth(operator, other)


def _chain_depth(operator: Operator, node: Expression) -> int:
    """Return how many operators of a kind lie within one another, by the deeper outer edge."""
    left = right = node
    depth_left = depth_right = 0
    while isinstance(left, Binary) and left.operator == operator:
        left, depth_left = left.left, depth_left + 1
    while isinstance(right, Binary) and right.operator == operator:
        right, depth_right = right.right, depth_right + 1
    return max(depth_left, depth_right)


def _operand(name: str) -> str:
    plain = name.replace("_", "").replace("~", "").isalnum()
    return name if plain else f"({name})"
