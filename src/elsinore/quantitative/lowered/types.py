"""The types of a query's values, worked out from those of its items."""

from __future__ import annotations

import functools
from typing import Any

from numba import types

from elsinore.quantitative.approximate import CellAt, ExponentialHistogram
from elsinore.quantitative.folds import Adding, AtFraction, Counting, Merging, most_common
from elsinore.quantitative.functions import Key, left, right
from elsinore.quantitative.lowered.columns import parts_of
from elsinore.quantitative.lowered.functions import CannotCompile, jitted, key_kernel, returned
from elsinore.quantitative.lowered.words import (
    SCALARS,
    Collected,
    Dynamic,
    Marks,
    Numbers,
    Ordered,
    Panes,
    Threads,
    normal,
    size,
    type_of,
    unified,
)
from elsinore.quantitative.machine.layout import Place, is_unit, reads
from elsinore.quantitative.nodes import (
    Atom,
    Combine,
    Constant,
    Either,
    Iterate,
    MapCollect,
    Split,
    Window,
)
from elsinore.quantitative.regex import name_of
from elsinore.quantitative.relations import Aggregate, Join, Project, Select
from elsinore.quantitative.versions import Bag, Counts
from elsinore.quantitative.windows import Sliding

CELL = types.Tuple([types.int64, types.int64])  # of a geometric histogram: its sign and place
SCRATCH_WORDS = 32  # in which an aggregate's accumulator must fit
ROUNDS = 5  # in which the type of an accumulator must settle


class Types:
    """The types of the values at a machine's places, for items of a type."""

    def __init__(self, machine: Any, item: Any, kernels: dict[int, Any]) -> None:
        self._machine = machine
        self._item = item
        self._values: dict[Place, Any] = {}
        self._windows: dict[Place, Any] = {}
        self.kernels = kernels

    def value(self, place: Place) -> Any:
        """Return the type of a node's value; CannotCompile where a function stands in the way."""
        if place not in self._values:
            self._values[place] = self._value(place)
        return self._values[place]

    def kernel(self, function: Any) -> Any:
        """Return a user's function compiled."""
        if isinstance(function, Key):
            return key_kernel(function.attribute)
        return jitted(function, self.kernels)

    def stack(self, place: Place) -> list[Any]:
        """Return the types of the values on a thread's stack below a node's own."""
        return [
            self._state(below) if place.is_within(below) else self.value(below)
            for below in place.below
        ]

    def _state(self, place: Place) -> Any:
        """Return the type of what a node keeps while its part goes on."""
        match place.node:
            case Window():
                return self.window(place)
            case MapCollect():
                return Threads(self._machine.number(place))
            case _:
                return self.value(place)

    def _value(self, place: Place) -> Any:
        if is_unit(place.node):
            return types.none
        match place.node:
            case Atom(_, None):
                return self._item
            case Atom(_, op):
                return self._of(op, (self._item,))
            case Constant(value):
                return type_of(value)
            case Split(_, op) if op is right:
                return self.value(place.parts[-1])
            case Split(_, op) if op is left:
                return self.value(place.parts[0])
            case Split(_, op) | Combine(_, op):
                return self._of(op, tuple(map(self.value, place.parts)))
            case Either():
                return functools.reduce(unified, map(self.value, place.parts))
            case Iterate(_, init, step):
                body = self.value(place.parts[0])
                return self._settled(self._start_of(init, step, body), step, body)
            case Window(_, window):
                kind = self.window(place)
                if isinstance(kind, Marks):
                    return types.int64
                finish = window.fold.finish
                return kind.accumulator if finish is None else self._of(finish, (kind.accumulator,))
            case MapCollect():
                return Collected(self.key(place), self._machine.inner[place].value)
        raise CannotCompile(f"{type(place.node).__name__} is not compiled")

    def key(self, place: Place) -> Any:
        """Return the type of a `map_collect`'s keys."""
        node = place.node
        assert isinstance(node, MapCollect)
        kind = self._of(node.key, (self._item,))
        parts = kind.types if isinstance(kind, types.BaseTuple) else (kind,)
        if not parts or not all(part in SCALARS for part in parts):
            raise CannotCompile(f"{name_of(node.key)} gives keys of type {kind}")
        return kind

    def window(self, place: Place) -> Any:
        """Return the type of a window's state."""
        if place not in self._windows:
            self._windows[place] = self._window(place)
        return self._windows[place]

    def _window(self, place: Place) -> Any:
        node = place.node
        assert isinstance(node, Window)
        window, value = node.window, self.value(place.parts[0])
        if isinstance(window, ExponentialHistogram):
            if value not in {types.int64, types.boolean}:
                raise CannotCompile(f"marks of type {value}")
            return Marks(window.size, window.eps)
        if not isinstance(window, Sliding):
            raise CannotCompile(f"windows of {window.fold.name} run in Python")
        fold = window.fold
        if isinstance(fold.step, Adding):
            raise CannotCompile(f"windows of {fold.name} run in Python")
        total = self._settled(self._start_of(fold.init, fold.step, value), fold.step, value)
        how = "stacks" if window.is_stacks else "ring"
        for _ in range(ROUNDS):
            before = total
            if fold.inverse is not None:
                total = unified(total, self._of(fold.inverse, (total, value)))
            elif fold.combine is not None:
                total = unified(total, self._of(fold.combine, (total, total)))
            if total == before:
                break
            total = self._settled(total, fold.step, value)
        else:
            raise CannotCompile(f"{fold.name} gives an accumulator of another type each time")
        if how == "stacks" and (isinstance(total, Dynamic) or isinstance(value, Dynamic)):
            raise CannotCompile(f"{fold.name} joins mappings")
        return Panes(self._machine.number(place), how, total, value, window.size)

    def _start_of(self, init: Any, step: Any, value: Any) -> Any:
        """Return the type of an accumulator that a fold begins with."""
        empty = isinstance(init, Counts) and not init
        if empty and isinstance(step, Counting):
            kind = value if step.cell is None else self._of(step.cell, (value,))
            parts = kind.types if isinstance(kind, types.BaseTuple) else (kind,)
            whole = kind == self._item and isinstance(kind, types.BaseTuple)
            if whole or not parts or not all(part in SCALARS for part in parts):
                raise CannotCompile(f"{name_of(step)} counts values of type {kind}")
            return Numbers(kind)
        if empty and isinstance(step, Merging) and isinstance(value, Numbers):
            return value
        if isinstance(step, Adding) and isinstance(init, Bag) and not len(init):
            plain = value.type if isinstance(value, types.Optional) else value
            if plain not in {types.int64, types.float64}:
                raise CannotCompile(f"{name_of(step)} puts values of type {value} in order")
            return Ordered(plain, step.fraction)
        if isinstance(init, Counts):
            raise CannotCompile(f"mappings of counts, by {name_of(step)}")
        return type_of(init)

    def _settled(self, total: Any, step: Any, value: Any) -> Any:
        """Return the type of an accumulator that holds what the step makes of it again."""
        for _ in range(ROUNDS):
            after = unified(total, self._of(step, (total, value)))
            if after == total:
                return total
            total = after
        raise CannotCompile(f"{name_of(step)} gives an accumulator of another type each time")

    def _related(
        self, function: Select | Project | Join | Aggregate, arguments: tuple[Any, ...]
    ) -> Any:
        """Return the type of a relational operation's value."""
        if not all(isinstance(kind, Numbers | Collected) for kind in arguments):
            raise CannotCompile(f"{name_of(function)} of {' and '.join(map(str, arguments))}")
        key, value = parts_of(arguments[0])
        match function:
            case Select(test):
                self._of(test, (key, value))
                return Collected(key, value)
            case Project(inner):
                return Collected(key, self._of(inner, (key, value)))
            case Join(inner):
                other, right = parts_of(arguments[1])
                if other != key:
                    raise CannotCompile(f"{name_of(function)} of keys of type {key} and {other}")
                return Collected(key, self._of(inner, (value, right)))
            case Aggregate(fold):
                total = self.aggregated(function, arguments[0])
                return total if fold.finish is None else self._of(fold.finish, (total,))

    def aggregated(self, function: Aggregate, relation: Any) -> Any:
        """Return the type of the accumulator of an aggregate."""
        fold, (_, value) = function.fold, parts_of(relation)
        if isinstance(value, Dynamic) or isinstance(fold.step, Adding | Counting | Merging):
            raise CannotCompile(f"{name_of(function)} of a {relation}")
        for place in self._machine.layout.places:
            node = place.node
            if isinstance(node, Window) and isinstance(node.window.fold.step, Counting | Merging):
                raise CannotCompile(f"{name_of(function)} in the order of counts in a window")
        total = self._settled(type_of(fold.init), fold.step, value)
        if size(total) > SCRATCH_WORDS:
            raise CannotCompile(f"{name_of(function)} has an accumulator of {size(total)} words")
        return total

    @staticmethod
    def _at_fraction(function: AtFraction, kind: Any) -> Any:
        if not isinstance(kind, Ordered) or kind.fraction != function.fraction:
            raise CannotCompile(f"{name_of(function)} of a {kind}")
        return types.Optional(kind.value)

    def _of(self, function: Any, arguments: tuple[Any, ...]) -> Any:
        if function is right:
            return arguments[-1]
        if function is left:
            return arguments[0]
        if isinstance(function, Counting | Merging):
            if not isinstance(arguments[0], Numbers):
                raise CannotCompile(f"{name_of(function)} of a {arguments[0]}")
            return arguments[0]
        if function is most_common:
            if not isinstance(arguments[0], Numbers) or arguments[0].key not in SCALARS:
                raise CannotCompile(f"most_common of a {arguments[0]}")
            return types.Optional(types.Tuple([arguments[0].key, types.int64]))
        if isinstance(function, Adding) and isinstance(arguments[0], Ordered):
            return arguments[0]
        if isinstance(function, AtFraction):
            return self._at_fraction(function, arguments[0])
        if isinstance(function, CellAt) and arguments[0] == Numbers(CELL):
            return types.Optional(self._of(function.value_of, (CELL,)))
        if isinstance(function, Select | Project | Join | Aggregate):
            return self._related(function, arguments)
        for place, kind in enumerate(arguments):
            if isinstance(kind, Dynamic) and reads(function, place):
                raise CannotCompile(f"{name_of(function)} takes a {kind}")
        given = tuple(
            kind if reads(function, place) else types.none for place, kind in enumerate(arguments)
        )
        result = returned(self.kernel(function), given, name_of(function))
        try:
            return normal(result)
        except CannotCompile as reason:
            raise CannotCompile(f"{name_of(function)}: {reason}") from reason
