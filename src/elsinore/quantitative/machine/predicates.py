"""The predicates of a query, as bits that are known of each item."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any, TypeGuard

import numpy as np

from elsinore.errors import InputError, did_you_mean
from elsinore.model import expression as ex
from elsinore.model.evaluate import is_true
from elsinore.model.expression import Attribute, Expression
from elsinore.model.time_values import operand
from elsinore.quantitative.items import attribute_of
from elsinore.quantitative.nodes import MapCollect, Node
from elsinore.quantitative.regex import ALWAYS, ITEM, TYPE, VALUE, Predicate, predicates

ALL = -1  # the mask of a predicate that all items satisfy
MOST_IN_8, MOST_IN_64 = 8, 62  # predicates whose bits fit an integer of 8 bits, or of 64

Test = Callable[[Any], bool]
Masked = tuple[tuple[int, Expression], ...]  # conditions and their bits


_TYPE = Attribute(ITEM, TYPE)


@dataclass(frozen=True, slots=True)
class Bits:
    """The predicates of a query with a bit each, and those with tests in plain Python.

    types: those that conditions compare the type of an event with; by_type: for each of them, and
    for None, `of_type`.
    """

    predicates: tuple[Predicate, ...]
    python_tests: tuple[Predicate, ...]
    types: tuple[str, ...] = field(init=False, repr=False, compare=False)
    _masks: dict[Expression, int] = field(init=False, repr=False, compare=False)
    _tests: dict[Expression, Test] = field(init=False, repr=False, compare=False)
    by_type: dict[str | None, tuple[int, Masked]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        masks = {leaf.condition: 1 << place for place, leaf in enumerate(self.predicates)}
        object.__setattr__(self, "_masks", masks)
        tests = {leaf.condition: test_of(leaf) for leaf in self.python_tests}
        object.__setattr__(self, "_tests", tests)
        types = [
            name for condition in masks for part in ex.walk(condition) for name in _types(part)
        ]
        object.__setattr__(self, "types", tuple(dict.fromkeys(types)))
        by_type = {name: self.of_type(name) for name in (*self.types, None)}
        object.__setattr__(self, "by_type", by_type)

    @property
    def kind(self) -> Any:
        """The type of arrays that hold the bits of items."""
        few = len(self.predicates) <= MOST_IN_8
        return np.uint8 if few else np.int64 if len(self.predicates) <= MOST_IN_64 else object

    def mask_or_test(self, predicate: Predicate) -> tuple[int, Test | None]:
        """Return the bit of a predicate, or `ALL`; or 0 and its test in plain Python."""
        if predicate.condition == ALWAYS:
            return ALL, None
        return self._masks.get(predicate.condition, 0), self._tests.get(predicate.condition)

    def of_type(self, name: str | None) -> tuple[int, Masked]:
        """Return the bits of all events of a type, and the conditions of further bits.

        None stands for all types that no condition names.
        """
        bits, conditions = 0, []
        for condition, mask in self._masks.items():
            rest = _of_type(condition, name)
            if rest == ALWAYS:
                bits |= mask
            elif not isinstance(rest, ex.Literal):
                conditions.append((mask, rest))
        return bits, tuple(conditions)

    def of(self, item: Any) -> int:
        """Return an item's bits."""
        lookup = lookup_of(item)
        kind = lookup(_TYPE) if self.types else ""
        if type(kind) is str:
            bits, conditions = self.by_type.get(kind, self.by_type[None])
        else:
            bits, conditions = 0, tuple((mask, each) for each, mask in self._masks.items())
        for mask, condition in conditions:
            if is_true(condition, lookup):
                bits |= mask
        return bits


def bits_of(node: Node) -> Bits:
    """Return the predicates of a query, each once."""
    by_condition: dict[Expression, Predicate] = {}
    for leaf in _predicates(node):
        if leaf.condition != ALWAYS:
            by_condition.setdefault(leaf.condition, leaf)
    without_tests = tuple(leaf for leaf in by_condition.values() if not leaf.tests)
    return Bits(without_tests, tuple(leaf for leaf in by_condition.values() if leaf.tests))


def _types(node: Expression) -> list[str]:
    """Return the names that a node compares the type with; none if it is no such comparison."""
    match node:
        case ex.Binary(
            ex.Operator.EQ | ex.Operator.NE, Attribute(name=name), ex.Literal(value=str(value))
        ) if name == TYPE:
            return [value]
        case ex.InList(Attribute(name=name), choices) if name == TYPE:
            names = [choice.value for choice in choices]
            return names if all(isinstance(value, str) for value in names) else []  # type: ignore[return-value]
    return []


def _of_type(node: Expression, name: str | None) -> Expression:
    """Return what is left of a condition for events of a type.

    >>> from elsinore.quantitative import event
    >>> condition = (event("A") | (event("B").x > 1)).condition
    >>> [type(_of_type(condition, name)).__name__ for name in ("A", "B", None)]
    ['Literal', 'Binary', 'Literal']
    """
    match node:
        case ex.Binary(ex.Operator.AND | ex.Operator.OR as operator, left, right):
            left, right = _of_type(left, name), _of_type(right, name)
            decisive = ex.Literal(value=operator == ex.Operator.OR)
            neutral = ex.Literal(value=operator == ex.Operator.AND)
            if decisive in (left, right):
                return decisive
            if neutral in (left, right):
                return right if left == neutral else left
            return ex.Binary(operator, left, right)
        case ex.Not(operand):
            rest = _of_type(operand, name)
            return ex.Literal(value=not rest.value) if _is_known(rest) else ex.Not(rest)
        case ex.IsNull(operand):
            rest = _of_type(operand, name)
            return ex.Literal(value=False) if _is_known(rest) else ex.IsNull(rest)
    types = _types(node)
    if not types:
        return node
    is_negated = isinstance(node, ex.Binary) and node.operator == ex.Operator.NE
    return ex.Literal(value=(name in types) != is_negated)


def _is_known(node: Expression) -> TypeGuard[ex.Literal]:
    return isinstance(node, ex.Literal) and isinstance(node.value, bool)


def lookup_of(item: Any) -> Callable[[Attribute], Any]:
    """Return how the attributes of an item are read; a plain value has one, `value`: itself."""
    if item is None or isinstance(item, bool | int | float | str):
        return lambda read: item if read.name == VALUE else None
    if isinstance(item, date | timedelta):
        plain = operand(item)
        return lambda read: plain if read.name == VALUE else None

    def lookup(read: Attribute) -> Any:
        name = VALUE if read.name is None else read.name
        try:
            return operand(attribute_of(item, name))
        except AttributeError:
            names = getattr(item, "_fields", ())
            has = f" It has: {', '.join(names)}.{did_you_mean(name, names)}" if names else ""
            raise InputError(
                f"A condition asks for the attribute '{name}', which the {type(item).__name__} "
                f"{item!r:.100} does not have.{has}"
            ) from None

    return lookup


def test_of(leaf: Predicate) -> Test:
    """Return a predicate with tests in plain Python as a function of an item."""
    tests = dict(leaf.tests)

    def holds(item: Any) -> bool:
        read = lookup_of(item)

        def lookup(attribute: Attribute) -> Any:
            test = tests.get(attribute.name or "")
            return read(attribute) if test is None else bool(test(item))

        return is_true(leaf.condition, lookup)

    return holds


def _predicates(node: Node) -> Sequence[Predicate]:
    read: list[Predicate] = []
    if isinstance(node, MapCollect):
        read += predicates(node.rate)
        read.append(node.sync)
    if not node.parts:
        read += predicates(node.rate)
    for part in node.parts:
        read += _predicates(part)
    return read
