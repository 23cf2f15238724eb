"""A query walked with symbols in place of values: the instructions that an item leads to.

The paper's algorithm (StreamQRE, Section 4, Figures 3 and 4) keeps at each atom the stack of values
with which the thread that waits there was started. What lies on that stack is known from the query
alone (`layout`). Unambiguity lets at most one thread that can still succeed wait at an atom, and at
most one end at a node with an item.

For an item, atoms are gone through with the later parts of a `split` before the earlier ones: a
thread that ends starts others only at atoms that have been gone through already, so stacks are
changed in place. A thread that ends at a node goes on after all atoms below the node have taken the
item ("join").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from elsinore.quantitative.functions import left, right, unit
from elsinore.quantitative.machine import instructions as ins
from elsinore.quantitative.machine.layout import Layout, Place
from elsinore.quantitative.machine.operations import CannotTranslate
from elsinore.quantitative.machine.predicates import ALL
from elsinore.quantitative.machine.sliding import SlidingCode
from elsinore.quantitative.machine.symbols import ITEM, Emitter, Symbol
from elsinore.quantitative.machine.translate import translated
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
from elsinore.quantitative.windows import Sliding

Stack = tuple[Symbol, ...]
Stacks = tuple[Any, ...]  # by atom: the stack of the thread that waits there, or None
Ended = tuple[Place, Symbol, Stack]  # a thread: where it ended, its value, the values kept below


class UndecidedTest(Exception):  # noqa: N818
    """A test in plain Python whose truth is not decided yet."""

    def __init__(self, test: Callable[[Any], bool]) -> None:
        super().__init__()
        self.test = test


class Derivation:
    """Notes the instructions of one item of a class: `emitter.lines`, in their order.

    masks, tests: by atom, the bit of its predicate, or 0 and the test in plain Python; keyed: by
    the number of a `map_collect`, the program of its keys; attributes: the names of attributes.
    has, value: whether the query has a value after the item, and its symbol.
    """

    def __init__(
        self,
        layout: Layout,
        masks: list[int],
        tests: list[Any],
        keyed: Mapping[int, Any],
        attributes: list[str],
    ) -> None:
        self.layout = layout
        self._masks, self._tests, self._keyed = masks, tests, keyed
        self.emitter = Emitter(attributes)
        self.none = self.emitter.constant(None)
        self._windows: dict[int, Any] = {}  # by number of the place: push and value
        self._empty_windows: dict[int, Symbol] = {}  # their states
        self._starting: dict[Place, list[Symbol]] = {}  # values of parts on the empty sequence
        self._restart(0, {})

    def first(self) -> Stacks:
        """Start a thread at the whole query; return the stacks then, in symbols."""
        self._restart(0, {})
        self._at = len(self.layout.order)
        self._start(self.layout.root, ())
        return tuple(self._waiting)

    def taken(self, stacks: Stacks, bits: int, truths: Mapping[Any, bool]) -> Stacks:
        """Take an item of a class; return the stacks after it.

        Raises UndecidedTest for a test whose truth is not among `truths`.
        """
        self._restart(bits, truths)
        waiting = self._waiting
        waiting[:] = stacks
        for place, atoms in self.layout.collectors:
            for atom in atoms:
                stack = waiting[atom]
                if stack is not None:
                    self._feed(place, stack[place.depth])
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

    def _restart(self, bits: int, truths: Mapping[Any, bool]) -> None:
        self.emitter.restart()
        self.has, self.value = False, None
        self._called: dict[Any, tuple[Symbol, list[Any]]] = {}  # values by function and arguments
        self._bits, self._truths = bits, truths
        self._waiting: list[Stack | None] = [None] * len(self.layout.atoms)
        self._joined: dict[Place, tuple[Any, Stack]] = {}  # threads that ended at places
        self._abreast: dict[Place, tuple[dict[int, Any], Stack]] = {}  # values of parallel parts

    # --- threads at joins -----------------------------------------------------------------------

    def _join(self, place: Place) -> None:
        """Let the thread go on that ended at a place while the item went through what is below."""
        ended = self._joined.pop(place, None)
        if place in self._abreast:
            values, stack = self._abreast.pop(place)
            given = [values.get(part, self.none) for part in range(len(place.parts))]
            ended = self._value(place, given), stack
        if ended is not None:
            self._follow(self._go_on(place, *ended))

    def _take(self, place: Place, stack: Stack) -> None:
        if self._holds(place):
            value = ITEM if place.function is None else self._value(place, [ITEM])
            self._follow(self._go_on(place, value, stack))

    def _holds(self, place: Place) -> bool:
        """Return whether items of the class satisfy an atom's predicate."""
        mask, test = self._masks[place.atom], self._tests[place.atom]
        if mask:
            return mask == ALL or bool(self._bits & mask)
        if test not in self._truths:
            raise UndecidedTest(test)
        return self._truths[test]

    # --- threads that start ---------------------------------------------------------------------

    def _start(self, place: Place, stack: Stack) -> None:
        node = place.node
        kind = type(node)
        if kind is Atom:
            self._waiting[place.atom] = stack
        elif kind is Split:
            self._start(place.parts[0], stack)
        elif isinstance(node, Iterate):
            start = self.emitter.in_parts(node.init)
            self._start(place.parts[0], stack if place.function is unit else (*stack, start))
            self._follow((place, start, stack))
        elif kind is Either:
            for part in place.parts:
                self._start(part, stack)
        elif kind is Combine:
            values = self._starting[place] = []
            for part in place.parts:
                self._start(part, stack)
            del self._starting[place]
            if values:  # the parts match the empty sequence
                self._follow((place, self._value(place, values), stack))
        elif isinstance(node, Window):
            self._start(place.parts[0], (*stack, self._empty(place)))
        elif kind is MapCollect:
            self._start(place.parts[0], (*stack, self._keys(place)))
        elif isinstance(node, Constant):
            self._follow((place, self.emitter.in_parts(node.value), stack))

    # --- threads that end -----------------------------------------------------------------------

    def _follow(self, ended: Ended | None) -> None:
        """Go on after a thread ended at a place, then at the place around it, up to a join."""
        while ended is not None:
            place, value, stack = ended
            if place.atom < 0 and place.finish > self._at:
                self._joined[place] = value, stack
                return
            ended = self._go_on(place, value, stack)

    def _go_on(self, place: Place, value: Any, stack: Stack) -> Ended | None:
        """Do what follows the end of a place; return the place around it if that ends as well."""
        parent = place.parent
        if parent is None:
            self.has, self.value = True, value
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
            state, result = self._push(parent, stack[-1], value)
            self._start(place, (*stack[:-1], state))
            return parent, result, stack[:-1]
        if kind is Combine:
            if parent in self._starting:
                self._starting[parent].append(value)
                return None
            if len(parent.parts) == 1:
                return parent, self._value(parent, [value]), stack
            parallel, _ = self._abreast.setdefault(parent, ({}, stack))
            parallel[place.part] = value
            return None
        if kind is MapCollect:
            return parent, self.emitter.emit(ins.COLLECT, stack[-1]), stack[:-1]
        return parent, value, stack

    def _value(self, place: Place, arguments: list[Any]) -> Any:
        """Return the value of a node's function."""
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
        return self._call(place, arguments)

    # --- instructions ---------------------------------------------------------------------------

    def _empty(self, place: Place) -> Symbol:
        """Return the symbol of a window without values."""
        window: Any = place.window
        if place.number not in self._empty_windows:
            if isinstance(window, Sliding):
                symbol: Symbol = self._sliding(place, window).empty()
            else:
                symbol = self.emitter.constant(window.empty)
            self._empty_windows[place.number] = symbol
        return self._empty_windows[place.number]

    def _call(self, place: Place, arguments: list[Any]) -> Symbol:
        """Note the call of a function, once for the same arguments."""
        key = id(place.function), tuple(map(id, arguments))
        if key not in self._called:
            value = self._apply(place, place.function, arguments, None)
            self._called[key] = value, arguments  # whose identities stay theirs
        return self._called[key][0]

    def _apply(self, place: Place, function: Any, arguments: list[Any], name: str | None) -> Symbol:
        """Note the instructions of a function, or that Python calls it."""
        emitter = self.emitter
        emitter.source = place, function, name
        try:
            return translated(emitter, function, arguments)
        except CannotTranslate:
            return emitter.emit(ins.CALL, *map(emitter.whole, arguments), function=function)

    def _push(self, place: Place, state: Any, value: Any) -> tuple[Symbol, Symbol]:
        """Note that a window gets a value, and that its value is read."""
        window: Any = place.window
        if isinstance(window, Sliding):
            after, total = self._sliding(place, window).push(state, value)
            if window.fold.finish is None:
                return after, total
            return after, self._apply(place, window.fold.finish, [total], window.fold.name)
        push, read = self._windows.setdefault(place.number, (window.push, window.value))
        after = self._apply(place, push, [state, value], "step")
        return after, self._apply(place, read, [after], window.fold.name)

    def _sliding(self, place: Place, window: Sliding) -> SlidingCode:
        """Return what notes the instructions of a window."""
        apply = partial(self._apply, place, name="step")
        return SlidingCode(self.emitter, window, apply)

    def _keys(self, place: Place) -> Symbol:
        """Note that the threads of keys start."""
        return self.emitter.emit(ins.NEW_KEYS, function=self._keyed[place.number], again=True)

    def _feed(self, place: Place, threads: Symbol) -> None:
        """Note that the threads of keys get the item, once."""
        mask = self._keyed[place.number].mask
        role = ins.FEED_OWN if mask else ins.FEED
        if mask == ALL or self._bits & mask:
            role = ins.FEED_ALL
        self.emitter.source = place, place.node.key, None  # type: ignore[attr-defined]
        self.emitter.emit(role, threads)
