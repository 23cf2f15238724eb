"""The predicates of a query, as bits that are known of each item."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

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


_TYPE = Attribute(ITEM, TYPE)


@dataclass(slots=True)
class _OfType:
    """The bits of all events of a type, and the conditions of further bits."""

    bits: int = 0
    conditions: list[tuple[int, Expression]] = field(default_factory=list)


_NONE = _OfType()


@dataclass(frozen=True, slots=True)
class Bits:
    """The predicates of a query with a bit each, and those with tests in plain Python."""

    predicates: tuple[Predicate, ...]
    python_tests: tuple[Predicate, ...]
    _masks: dict[Expression, int] = field(init=False, repr=False, compare=False)
    _tests: dict[Expression, Test] = field(init=False, repr=False, compare=False)
    _of_type: dict[str, _OfType] = field(init=False, repr=False, compare=False)
    _untyped: list[tuple[int, Expression]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        masks = {leaf.condition: 1 << place for place, leaf in enumerate(self.predicates)}
        object.__setattr__(self, "_masks", masks)
        tests = {leaf.condition: test_of(leaf) for leaf in self.python_tests}
        object.__setattr__(self, "_tests", tests)
        types: dict[str, _OfType] = {}
        untyped: list[tuple[int, Expression]] = []
        for condition, mask in masks.items():
            parts = ex.conjuncts(condition)
            text = _type_asked_for(parts[0])
            if text is None:
                untyped.append((mask, condition))
                continue
            of_type = types.setdefault(text, _OfType())
            if len(parts) == 1:
                of_type.bits |= mask
            else:
                of_type.conditions.append((mask, condition))
        object.__setattr__(self, "_of_type", types)
        object.__setattr__(self, "_untyped", untyped)

    @property
    def kind(self) -> Any:
        """The type of arrays that hold the bits of items."""
        few = len(self.predicates) <= MOST_IN_8
        return np.uint8 if few else np.int64 if len(self.predicates) <= MOST_IN_64 else object

    def mask(self, predicate: Predicate) -> int:
        """Return the bit of a predicate; 0 for one with a test in plain Python."""
        return self._masks.get(predicate.condition, 0)

    def mask_or_test(self, predicate: Predicate) -> tuple[int, Test | None]:
        """Return the bit of a predicate, or `ALL`; or 0 and its test in plain Python."""
        if predicate.condition == ALWAYS:
            return ALL, None
        return self.mask(predicate), self._tests.get(predicate.condition)

    def of(self, item: Any) -> int:
        """Return an item's bits."""
        lookup = lookup_of(item)
        conditions, bits = self._untyped, 0
        if self._of_type:
            kind = lookup(_TYPE)
            if type(kind) is str:
                of_type = self._of_type.get(kind, _NONE)
                bits = of_type.bits
                conditions = (
                    [*conditions, *of_type.conditions] if of_type.conditions else conditions
                )
            else:
                conditions = [(mask, condition) for condition, mask in self._masks.items()]
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


def _type_asked_for(condition: Expression) -> str | None:
    """Return the type that a condition compares an event's with; None for another condition."""
    match condition:
        case ex.Binary(ex.Operator.EQ, read, ex.Literal(value=str(text))) if read == _TYPE:
            return text
    return None


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
