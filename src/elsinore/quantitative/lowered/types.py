"""The types of a query's values, worked out from those of its items."""

from __future__ import annotations

from typing import Any

from numba import types

from elsinore.quantitative.combinators import left, right, unit
from elsinore.quantitative.lowered.functions import CannotCompile, jitted, returned
from elsinore.quantitative.lowered.layout import normal, type_of, unified
from elsinore.quantitative.machine.emit import Emitter, is_unit, reads
from elsinore.quantitative.query import (
    Atom,
    Combine,
    Constant,
    Either,
    Iterate,
    Query,
    Split,
    Window,
)
from elsinore.quantitative.regex import name_of

ROUNDS = 5  # in which the type of an accumulator must settle


class Types:
    """The types of nodes' values and of the variables at atoms, for items of a type."""

    def __init__(self, emitter: Emitter, item: Any) -> None:
        self._emitter = emitter
        self._item = item
        self.item_class = item.instance_class
        self._values: dict[int, Any] = {}
        self.kernels: dict[int, Any] = {}
        self.variables: dict[str, Any] = {}

    def value(self, node: Query) -> Any:
        """Return the type of a node's value; CannotCompile where a function stands in the way."""
        if id(node) not in self._values:
            self._values[id(node)] = self._value(node)
        return self._values[id(node)]

    def kernel(self, function: Any) -> Any:
        """Return a user's function compiled."""
        return jitted(function, self.kernels)

    def place(self, node: Query, stack: tuple[Any, ...]) -> None:
        """Work out the types of the variables at the atoms below a node."""
        match node:
            case Atom():
                number = self._emitter.number(node)
                for slot, kind in enumerate(stack):
                    self.variables[f"a{number}_{slot}"] = kind
            case Split(parts, op):
                for place, piece in enumerate(parts):
                    self.place(piece, stack)
                    if self._emitter.is_kept(op, place, piece):
                        stack = (*stack, self.value(piece))
            case Iterate(body, _, step):
                self.place(body, stack if step is unit else (*stack, self.value(node)))
            case _:
                for piece in node.parts:
                    self.place(piece, stack)

    def _value(self, node: Query) -> Any:
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
                found = kinds[0]
                for kind in kinds[1:]:
                    found = unified(found, kind)
                return found
            case Iterate(body, init, step):
                return self._folded(type_of(init), step, self.value(body))
            case Window():
                raise CannotCompile("sliding windows are not compiled yet")
            case _:
                raise CannotCompile(f"{type(node).__name__} is not compiled yet")

    def _folded(self, total: Any, step: Any, value: Any) -> Any:
        for _ in range(ROUNDS):
            after = unified(total, self._of(step, (total, value)))
            if after == total:
                return total
            total = after
        raise CannotCompile(f"{name_of(step)} gives an accumulator of another type each time")

    def _of(self, function: Any, arguments: tuple[Any, ...]) -> Any:
        if function is right:
            return arguments[-1]
        if function is left:
            return arguments[0]
        given = tuple(
            kind if reads(function, place) else types.none for place, kind in enumerate(arguments)
        )
        found = returned(self.kernel(function), given, name_of(function))
        try:
            return normal(found)
        except CannotCompile as reason:
            raise CannotCompile(f"{name_of(function)}: {reason}") from reason
