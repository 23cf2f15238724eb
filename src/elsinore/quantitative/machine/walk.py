"""A query's threads: where they start, what they compute, and where they go on after they end.

The paper's algorithm (StreamQRE, Section 4, Figures 3 and 4) keeps at each atom the stack of values
with which the thread that waits there was started. What lies on that stack is known from the query
alone (`layout`). Unambiguity lets at most one thread that can still succeed wait at an atom, and at
most one end at a node with an item.

For an item, atoms are gone through with the later parts of a `split` before the earlier ones: a
thread that ends starts others only at atoms that have been gone through already, so stacks are
changed in place. A thread that ends at a node goes on after all atoms below the node have taken the
item ("join").

What an operation does is left open. `evaluate` computes values and `derive` notes operations, each
for one item in one state; `lowered.emit` writes the source of what happens with any item.
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
State = tuple[Stack | None, ...]  # by atom
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
    def item(self) -> Any:
        """Return the item as a value."""

    @abstractmethod
    def constant(self, place: Place, value: Any) -> Any:
        """Return a value that stands in the query."""

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
    def collect(self, place: Place, threads: Any) -> Any:
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
            start = self.constant(place, node.init)
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
                self._follow((place, self._called(place, values), stack))
        elif isinstance(node, Window):
            self._start(place.parts[0], (*stack, self.constant(place, node.window.empty)))
        elif kind is MapCollect:
            self._start(place.parts[0], (*stack, self.keys(place)))
        elif isinstance(node, Constant):
            self._follow((place, self.constant(place, node.value), stack))

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
            return parent, self._called(parent, [*given, value]), stack[: parent.depth]
        if kind is Iterate:
            if parent.function is unit:
                self._start(place, stack)
                return parent, self.none, stack
            total = self._called(parent, [stack[-1], value])
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
                return parent, self._called(parent, [value]), stack
            self.wait_abreast(parent, place.part, value, stack)
            return None
        if kind is MapCollect:
            return parent, self.collect(parent, stack[-1]), stack[:-1]
        return parent, value, stack

    def _called(self, place: Place, arguments: list[Any]) -> Any:
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


class ItemWalk(Walk):
    """Takes a query's threads through one item after another.

    has, value: whether the query has a value after the last item, and which.
    """

    def __init__(self, layout: Layout) -> None:
        super().__init__(layout)
        self.has, self.value = False, None
        self._waiting: list[Stack | None] = []
        self._joined: dict[Place, tuple[Any, Stack]] = {}  # threads that ended at places
        self._abreast: dict[Place, tuple[dict[int, Any], Stack]] = {}  # values of parallel parts

    @abstractmethod
    def holds(self, place: Place) -> bool:
        """Return whether the item satisfies an atom's predicate."""

    @abstractmethod
    def feed(self, place: Place, threads: Any) -> None:
        """Give the item to threads of keys, once."""

    def wait(self, place: Place, stack: Stack) -> None:
        """Let a thread wait at an atom."""
        self._waiting[place.atom] = stack

    def wait_for_join(self, place: Place, value: Any, stack: Stack) -> None:
        """Let a thread that ended at a place go on when the item went through what is below."""
        self._joined[place] = value, stack

    def wait_abreast(self, place: Place, part: int, value: Any, stack: Stack) -> None:
        """Note the value of one of several parallel parts, until all have one."""
        values, _ = self._abreast.get(place, ({}, stack))
        values[part] = value
        self._abreast[place] = values, stack

    def give(self, value: Any) -> None:
        """Let the query have a value."""
        self.has, self.value = True, value

    def begin(self) -> State:
        """Start a thread at the whole query; return the state then."""
        self.has, self.value = False, None
        self._waiting = [None] * len(self.layout.atoms)
        self._at = len(self.layout.order)
        self._start(self.layout.root, ())
        return tuple(self._waiting)

    def step(self, state: State) -> State:
        """Take the item; return the state after it."""
        self.has, self.value = False, None
        self._waiting = waiting = list(state)
        for place, atoms in self.layout.collectors:
            for atom in atoms:
                stack = waiting[atom]
                if stack is not None:
                    self.feed(place, stack[place.depth])
        for at, place in enumerate(self.layout.order):
            self._at = at
            if place.atom >= 0:
                stack = waiting[place.atom]
                if stack is not None:
                    waiting[place.atom] = None
                    self._take(place, stack)
            elif self._joined or self._abreast:
                self._join(place)
        return tuple(waiting)

    def _join(self, place: Place) -> None:
        """Let the thread go on that ended at a place while the item went through what is below."""
        ended = self._joined.pop(place, None)
        if place in self._abreast:
            values, stack = self._abreast.pop(place)
            given = [values.get(part) for part in range(len(place.parts))]
            ended = self._called(place, given), stack
        if ended is not None:
            self._follow(self._go_on(place, *ended))

    def _take(self, place: Place, stack: Stack) -> None:
        if not self.holds(place):
            return
        value = self.item() if place.function is None else self._called(place, [self.item()])
        self._follow(self._go_on(place, value, stack))
