"""A query's threads: where they start, what they compute, and where they go on after they end.

The paper's algorithm (StreamQRE, Section 4, Figures 3 and 4) keeps at each atom the stack of values
with which the thread that waits there was started. What lies on that stack is known from the query
alone (`layout`). Unambiguity lets at most one thread that can still succeed wait at an atom, and at
most one end at a node with an item.

For an item, atoms are gone through with the later parts of a `split` before the earlier ones: a
thread that ends starts others only at atoms that have been gone through already, so stacks are
changed in place. A thread that ends at a node goes on after all atoms below the node have taken the
item ("join").

What an operation does is left open: `derive` notes the operations of one item in one control state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from elsinore.quantitative.functions import left, right, unit
from elsinore.quantitative.machine.layout import Layout, Place
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

Stack = tuple[Any, ...]
Stacks = tuple[Stack | None, ...]  # by atom: the values of the thread that waits there
Ended = tuple[Place, Any, Stack]  # a thread: where it ended, its value, the values kept below


class Walk(ABC):
    """Lets threads start, and go on where they end.

    none: what stands for the value None.
    """

    none: Any = None

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._starting: dict[Place, list[Any]] = {}  # values of parts on the empty sequence
        self._at = 0  # the place in the order

    # --- operations -----------------------------------------------------------------------------

    @abstractmethod
    def constant(self, value: Any) -> Any:
        """Return a value that stands in the query."""

    @abstractmethod
    def empty(self, place: Place) -> Any:
        """Return the state of a window without values."""

    @abstractmethod
    def call(self, place: Place, arguments: list[Any]) -> Any:
        """Return the value of a node's function."""

    @abstractmethod
    def push(self, place: Place, state: Any, value: Any) -> tuple[Any, Any]:
        """Return a window's state with one more value, and the window's value then."""

    @abstractmethod
    def keys(self, place: Place) -> Any:
        """Return the threads of keys at the start of a `map_collect`."""

    @abstractmethod
    def collect(self, threads: Any) -> Any:
        """Return the map of the values that keys have after the item."""

    # --- where threads are ----------------------------------------------------------------------

    @abstractmethod
    def wait(self, place: Place, stack: Stack) -> None:
        """Let a thread wait at an atom."""

    @abstractmethod
    def wait_for_join(self, place: Place, value: Any, stack: Stack) -> None:
        """Let a thread that ended at a place go on when the item went through what is below."""

    @abstractmethod
    def wait_abreast(self, place: Place, part: int, value: Any, stack: Stack) -> None:
        """Note the value of one of several parallel parts, until all have one."""

    @abstractmethod
    def give(self, value: Any) -> None:
        """Let the query have a value."""

    def joins(self, place: Place) -> bool:
        """Return whether a thread that ended at a place has to wait for its join."""
        return place.atom < 0 and place.finish > self._at

    # --- threads that start ---------------------------------------------------------------------

    def _start(self, place: Place, stack: Stack) -> None:
        node = place.node
        kind = type(node)
        if kind is Atom:
            self.wait(place, stack)
        elif kind is Split:
            self._start(place.parts[0], stack)
        elif isinstance(node, Iterate):
            start = self.constant(node.init)
            self._start(place.parts[0], stack if place.function is unit else (*stack, start))
            self._follow((place, start, stack))
        elif kind is Either:
            for part in place.parts:
                self._start(part, stack)
        elif kind is Combine:
            values: list[Any] = []
            self._starting[place] = values
            for part in place.parts:
                self._start(part, stack)
            del self._starting[place]
            if values:  # the parts match the empty sequence
                self._follow((place, self._value(place, values), stack))
        elif isinstance(node, Window):
            self._start(place.parts[0], (*stack, self.empty(place)))
        elif kind is MapCollect:
            self._start(place.parts[0], (*stack, self.keys(place)))
        elif isinstance(node, Constant):
            self._follow((place, self.constant(node.value), stack))

    # --- threads that end -----------------------------------------------------------------------

    def _follow(self, ended: Ended | None) -> None:
        """Go on after a thread ended at a place, then at the place around it, up to a join."""
        while ended is not None:
            place, value, stack = ended
            if self.joins(place):
                self.wait_for_join(place, value, stack)
                return
            ended = self._go_on(place, value, stack)

    def _go_on(self, place: Place, value: Any, stack: Stack) -> Ended | None:
        """Do what follows the end of a place; return the place around it if that ends as well."""
        parent = place.parent
        if parent is None:
            self.give(value)
            return None
        kind = type(parent.node)
        if kind is Split:
            if place.part < len(parent.parts) - 1:
                kept = parent.kept[place.part]
                self._start(parent.parts[place.part + 1], (*stack, value) if kept else stack)
                return None
            stored = iter(stack[parent.depth :])
            given = [next(stored) if kept else self.none for kept in parent.kept]
            return parent, self._value(parent, [*given, value]), stack[: parent.depth]
        if kind is Iterate:
            if parent.function is unit:
                self._start(place, stack)
                return parent, self.none, stack
            total = self._value(parent, [stack[-1], value])
            self._start(place, (*stack[:-1], total))
            return parent, total, stack[:-1]
        if kind is Window:
            state, result = self.push(parent, stack[-1], value)
            self._start(place, (*stack[:-1], state))
            return parent, result, stack[:-1]
        if kind is Combine:
            if parent in self._starting:
                self._starting[parent].append(value)
                return None
            if len(parent.parts) == 1:
                return parent, self._value(parent, [value]), stack
            self.wait_abreast(parent, place.part, value, stack)
            return None
        if kind is MapCollect:
            return parent, self.collect(stack[-1]), stack[:-1]
        return parent, value, stack

    def _value(self, place: Place, arguments: list[Any]) -> Any:
        function = place.function
        if function is unit:
            return self.none
        if function is right:
            return arguments[-1]
        if function is left:
            return arguments[0]
        if place.reads is not None:
            arguments = [
                a if read else self.none for a, read in zip(arguments, place.reads, strict=True)
            ]
        return self.call(place, arguments)
