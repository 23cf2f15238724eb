"""A query walked with symbols in place of values: the instructions that an item leads to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from elsinore.quantitative.machine import instructions as ins
from elsinore.quantitative.machine.layout import Layout, Place
from elsinore.quantitative.machine.predicates import ALL
from elsinore.quantitative.machine.sliding import SlidingCode
from elsinore.quantitative.machine.symbols import (
    ITEM,
    Emitter,
    Register,
    Symbol,
)
from elsinore.quantitative.machine.translate import CannotTranslate, translated
from elsinore.quantitative.machine.walk import Stack, Stacks, Walk
from elsinore.quantitative.windows import Sliding

_REGISTERS: list[Register] = []


def registers(count: int) -> list[Register]:
    """Return the symbols of registers 0, 1, ..., always the same ones."""
    _REGISTERS.extend(Register(number) for number in range(len(_REGISTERS), count))
    return _REGISTERS[:count]


class UndecidedTest(Exception):  # noqa: N818
    """A test in plain Python whose truth is not decided yet."""

    def __init__(self, test: Callable[[Any], bool]) -> None:
        super().__init__()
        self.test = test


class Derivation(Walk):
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
        super().__init__(layout)
        self._masks, self._tests, self._keyed = masks, tests, keyed
        self._attributes = attributes
        self.emitter = Emitter()
        self.none = self.emitter.constant(None)
        self._windows: dict[int, Any] = {}  # by number of the place: push and value
        self._empty: dict[int, Symbol] = {}  # states of windows
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
        self._called: dict[
            Any, tuple[Symbol, list[Any]]
        ] = {}  # the values of functions, by their arguments
        self._bits, self._truths = bits, truths
        self._waiting: list[Stack | None] = [None] * len(self.layout.atoms)
        self._joined: dict[Place, tuple[Any, Stack]] = {}  # threads that ended at places
        self._abreast: dict[Place, tuple[dict[int, Any], Stack]] = {}  # values of parallel parts

    # --- threads --------------------------------------------------------------------------------

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

    # --- instructions ---------------------------------------------------------------------------

    def constant(self, value: Any) -> Symbol:
        """Return the symbol of a value that stands in the query."""
        return self.emitter.in_parts(value)

    def empty(self, place: Place) -> Symbol:
        """Return the symbol of a window without values."""
        window: Any = place.window
        if place.number not in self._empty:
            is_sliding = isinstance(window, Sliding)
            self._empty[place.number] = (
                self._sliding(place, window).empty()
                if is_sliding
                else self.emitter.constant(window.empty)
            )
        return self._empty[place.number]

    def call(self, place: Place, arguments: list[Any]) -> Symbol:
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
            return translated(emitter, self._attributes, function, arguments)
        except CannotTranslate:
            return emitter.emit(ins.CALL, *map(emitter.whole, arguments), function=function)

    def push(self, place: Place, state: Any, value: Any) -> tuple[Symbol, Symbol]:
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

    def keys(self, place: Place) -> Symbol:
        """Note that the threads of keys start."""
        return self.emitter.emit(ins.NEW_KEYS, function=self._keyed[place.number], again=True)

    def _feed(self, place: Place, threads: Symbol) -> None:
        """Note that the threads of keys get the item, once."""
        mask = self._keyed[place.number].mask
        role = (
            ins.FEED_ALL if mask == ALL or self._bits & mask else ins.FEED_OWN if mask else ins.FEED
        )
        self.emitter.source = place, place.node.key, None  # type: ignore[attr-defined]
        self.emitter.emit(role, threads)

    def collect(self, threads: Symbol) -> Symbol:
        """Note that the values of keys are collected."""
        return self.emitter.emit(ins.COLLECT, threads)
