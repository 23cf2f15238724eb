"""Labels: which classes of events an edge of the merged template takes, so that two compare."""

from __future__ import annotations

from dataclasses import dataclass

from elsinore.model.expression import Expression
from elsinore.plan.classes import Bit, Classes, Digit
from elsinore.plan.merged import Edge
from elsinore.plan.template import Reset

RADIX_LIMIT = 64  # digits with more values are compared by their predicates instead

Part = frozenset[int] | tuple[frozenset[Expression], frozenset[Expression]]


@dataclass(frozen=True, slots=True)
class Label:
    """The classes of events that an edge takes: of one type, for each digit some of its values."""

    type: str
    parts: tuple[Part, ...]

    def meets(self, other: Label) -> bool:
        """Return whether an event may be taken by both; True where that cannot be told."""
        if self.type != other.type:
            return False
        if not self.parts:
            return True
        return not any(_apart(one, two) for one, two in zip(self.parts, other.parts, strict=True))


def _apart(left: Part, right: Part) -> bool:
    if isinstance(left, frozenset) and isinstance(right, frozenset):
        return not left & right
    if isinstance(left, tuple) and isinstance(right, tuple):
        return bool(left[0] & right[1] or left[1] & right[0])
    return False


class Labels:
    """The labels of edges and resets, each worked out once."""

    def __init__(self, classes: Classes) -> None:
        self._digits = {
            of_type.type: tuple(map(_known, of_type.digits)) for of_type in classes.types
        }
        self._known: dict[tuple[str, frozenset[Expression], frozenset[Expression]], Label] = {}
        self._plain = {
            of_type.type: Label(of_type.type, ()) for of_type in classes.types if not of_type.digits
        }
        self._each: dict[Label, Label] = {}

    def of(self, edge: Edge | Reset) -> Label:
        """Return the classes that an edge takes, or whose events empty a node.

        Equal labels are one object.
        """
        plain = self._plain.get(edge.type)
        if plain is not None:
            return plain
        key = (edge.type, edge.needs, edge.lacks)
        known = self._known.get(key)
        if known is None:
            parts = tuple([_part(digit, edge) for digit in self._digits[edge.type]])
            label = Label(edge.type, parts)
            known = self._known[key] = self._each.setdefault(label, label)
        return known


@dataclass(frozen=True, slots=True)
class _KnownDigit:
    """A digit's values, and at which of them each of its predicates is true."""

    values: frozenset[int]
    true: dict[Expression, frozenset[int]]


def _known(digit: Digit) -> _KnownDigit:
    predicates = (digit.predicate,) if isinstance(digit, Bit) else tuple(digit.predicates)
    values_of: dict[Expression, set[int]] = {predicate: set() for predicate in predicates}
    if digit.radix <= RADIX_LIMIT:
        for value in range(digit.radix):
            for predicate in digit.true(value):
                values_of[predicate].add(value)
    true = {predicate: frozenset(values) for predicate, values in values_of.items()}
    return _KnownDigit(frozenset(range(digit.radix)), true)


def _part(digit: _KnownDigit, edge: Edge | Reset) -> Part:
    needs, lacks = edge.needs & digit.true.keys(), edge.lacks & digit.true.keys()
    if len(digit.values) > RADIX_LIMIT:
        return frozenset(needs), frozenset(lacks)
    values = digit.values
    for predicate in needs:
        values &= digit.true[predicate]
    for predicate in lacks:
        values -= digit.true[predicate]
    return values
