"""Labels: which classes of events an edge of the merged template takes, so that two compare."""

from __future__ import annotations

from dataclasses import dataclass

from elsinore.model.expression import Expression
from elsinore.plan.classes import Bit, Classes, Digit, TypeClasses
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
        return not any(_apart(one, two) for one, two in zip(self.parts, other.parts, strict=True))


def _apart(one: Part, other: Part) -> bool:
    if isinstance(one, frozenset) and isinstance(other, frozenset):
        return not one & other
    if isinstance(one, tuple) and isinstance(other, tuple):
        return bool(one[0] & other[1] or one[1] & other[0])
    return False


class Labels:
    """The labels of edges and resets, each worked out once."""

    def __init__(self, classes: Classes) -> None:
        self._types = {one.type: one for one in classes.types}
        self._known: dict[tuple[str, frozenset[Expression], frozenset[Expression]], Label] = {}

    def of(self, edge: Edge | Reset) -> Label:
        """Return the classes that an edge takes, or whose events empty a node."""
        key = (edge.type, edge.needs, edge.lacks)
        if key not in self._known:
            self._known[key] = Label(edge.type, _parts(self._types[edge.type], edge))
        return self._known[key]


def _parts(classes: TypeClasses, edge: Edge | Reset) -> tuple[Part, ...]:
    return tuple(_part(digit, edge) for digit in classes.digits)


def _part(digit: Digit, edge: Edge | Reset) -> Part:
    told = frozenset((digit.predicate,) if isinstance(digit, Bit) else digit.predicates)
    needs, lacks = edge.needs & told, edge.lacks & told
    if digit.radix > RADIX_LIMIT:
        return needs, lacks
    if not needs and not lacks:
        return frozenset(range(digit.radix))
    true = {value: digit.true(value) for value in range(digit.radix)}
    return frozenset(v for v, held in true.items() if needs <= held and not lacks & held)
