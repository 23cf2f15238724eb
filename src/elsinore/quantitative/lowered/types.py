"""The types of a query's values, worked out from those of its items."""

from __future__ import annotations

from typing import Any

from numba import types

from elsinore.quantitative.approximate import CellAt, ExponentialHistogram
from elsinore.quantitative.folds import Adding, AtFraction, Counting, Merging, most_common
from elsinore.quantitative.functions import Key, left, right, unit
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
from elsinore.quantitative.machine.layout import is_kept, is_unit, reads
from elsinore.quantitative.nodes import (
    Atom,
    Combine,
    Constant,
    Either,
    Iterate,
    MapCollect,
    Node,
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
    """The types of nodes' values and of the variables at atoms, for items of a type."""

    def __init__(self, emitter: Any, item: Any, kernels: dict[int, Any]) -> None:
        self._emitter = emitter
        self._item = item
        self._values: dict[int, Any] = {}
        self._windows: dict[int, Any] = {}
        self.kernels = kernels
        self.variables: dict[str, Any] = {}
        self.stacks: dict[int, tuple[Any, ...]] = {}  # types of what lies below a node's value

    def value(self, node: Node) -> Any:
        """Return the type of a node's value; CannotCompile where a function stands in the way."""
        if id(node) not in self._values:
            self._values[id(node)] = self._value(node)
        return self._values[id(node)]

    def kernel(self, function: Any) -> Any:
        """Return a user's function compiled."""
        if isinstance(function, Key):
            return key_kernel(function.attribute)
        return jitted(function, self.kernels)

    def place(self, node: Node, stack: tuple[Any, ...]) -> None:
        """Work out the types of the variables at the atoms below a node."""
        self.stacks[id(node)] = stack
        match node:
            case Atom():
                number = self._emitter.number(node)
                for slot, kind in enumerate(stack):
                    self.variables[f"a{number}_{slot}"] = kind
            case Split(parts, op):
                for place, piece in enumerate(parts):
                    self.place(piece, stack)
                    if is_kept(op, place, piece):
                        stack = (*stack, self.value(piece))
            case Iterate(body, _, step):
                self.place(body, stack if step is unit else (*stack, self.value(node)))
            case Window(body):
                self.place(body, (*stack, self.window(node)))
            case MapCollect():
                rate = self._emitter.rate_of(node)
                self.place(rate, (*stack, Threads(self._emitter.number(node))))
            case _:
                for piece in node.parts:
                    self.place(piece, stack)

    def _value(self, node: Node) -> Any:
        if is_unit(node):
            return types.none
        match node:
            case Atom(_, None):
                return self._item
            case Atom(_, op):
                return self._of(op, (self._item,))
            case Constant(value):
                return type_of(value)
            case Split(parts, op) if op is right:
                return self.value(parts[-1])
            case Split(parts, op) if op is left:
                return self.value(parts[0])
            case Split(parts, op) | Combine(parts, op):
                return self._of(op, tuple(map(self.value, parts)))
            case Either(parts):
                kinds = [self.value(part) for part in parts]
                common = kinds[0]
                for kind in kinds[1:]:
                    common = unified(common, kind)
                return common
            case Iterate(body, init, step):
                return self._folded(self._start_of(init, step, self.value(body)), step, body)
            case Window(_, window):
                kind = self.window(node)
                if isinstance(kind, Marks):
                    return types.int64
                finish = window.fold.finish
                return kind.accumulator if finish is None else self._of(finish, (kind.accumulator,))
            case MapCollect(_, _, body):
                return Collected(self.key(node), self._emitter.inner[id(node)].types.value(body))
            case _:
                raise CannotCompile(f"{type(node).__name__} is not compiled")

    def key(self, node: MapCollect) -> Any:
        """Return the type of a `map_collect`'s keys."""
        kind = self._of(node.key, (self._item,))
        parts = kind.types if isinstance(kind, types.BaseTuple) else (kind,)
        if not parts or not all(part in SCALARS for part in parts):
            raise CannotCompile(f"{name_of(node.key)} gives keys of type {kind}")
        return kind

    def window(self, node: Window) -> Any:
        """Return the type of a window's state."""
        if id(node) not in self._windows:
            self._windows[id(node)] = self._window(node)
        return self._windows[id(node)]

    def _window(self, node: Window) -> Any:
        window, value = node.window, self.value(node.body)
        if isinstance(window, ExponentialHistogram):
            if value not in {types.int64, types.boolean}:
                raise CannotCompile(f"marks of type {value}")
            return Marks(window.size, window.eps)
        if not isinstance(window, Sliding):
            raise CannotCompile(f"windows of {window.fold.name} run in Python")
        fold = window.fold
        if isinstance(fold.step, Adding):
            raise CannotCompile(f"windows of {fold.name} run in Python")
        total = self._folded(self._start_of(fold.init, fold.step, value), fold.step, node.body)
        how = "stacks" if window.is_stacks else "ring"
        for _ in range(ROUNDS):
            before = total
            if fold.inverse is not None:
                total = unified(total, self._of(fold.inverse, (total, value)))
            elif fold.combine is not None:
                total = unified(total, self._of(fold.combine, (total, total)))
            if total == before:
                break
            total = self._folded(total, fold.step, node.body)
        else:
            raise CannotCompile(f"{fold.name} gives an accumulator of another type each time")
        if how == "stacks" and (isinstance(total, Dynamic) or isinstance(value, Dynamic)):
            raise CannotCompile(f"{fold.name} joins mappings")
        return Panes(self._emitter.number(node), how, total, value, window.size)

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

    def _folded(self, total: Any, step: Any, body: Node) -> Any:
        return self._settled(total, step, self.value(body))

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
        for node in self._emitter.nodes:
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
