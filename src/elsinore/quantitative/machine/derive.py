"""A query walked with symbols in place of values: the operations that an item leads to."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from elsinore.quantitative.folds import Counting
from elsinore.quantitative.machine.evaluate import Program
from elsinore.quantitative.machine.inline import expression_of
from elsinore.quantitative.machine.layout import Place
from elsinore.quantitative.machine.predicates import ALL
from elsinore.quantitative.machine.walk import ItemWalk, State
from elsinore.quantitative.nodes import Iterate, MapCollect, Window
from elsinore.quantitative.versions import Counts
from elsinore.quantitative.windows import Sliding

VALUE = "value"


@dataclass(frozen=True, slots=True)
class Kind:
    """What a register holds: a value, or what grows at the place with a number.

    of: "value"; "window" (the last values, and an accumulator), "keys" (the states of keys, and of
    those without items), "counts" (of values); "tuple" (of as many parts as the number says).
    """

    of: str
    number: int = -1


PLAIN = Kind(VALUE)


class Symbol:
    """Stands for a value: a register `r0`, ..., what an operation gives, or a constant."""

    __slots__ = ("kind", "name", "value")

    def __init__(self, name: str, kind: Kind = PLAIN, value: Any = None) -> None:
        self.name, self.kind, self.value = name, kind, value

    @property
    def is_register(self) -> bool:
        """Whether the value is that of a register before the item."""
        return self.name.startswith("r")


@dataclass(frozen=True, slots=True)
class Op:
    """What is computed at an item: by a role (call, count, push, value, keys, feed, collect)."""

    role: str
    place: Place
    function: Any
    given: tuple[Any, ...]
    result: Symbol


_REGISTERS: dict[tuple[int, Kind], Symbol] = {}


def registers(kinds: Sequence[Kind]) -> list[Symbol]:
    """Return the symbols of what registers of some kinds hold, always the same ones."""
    return [
        _REGISTERS.setdefault((place, kind), Symbol(f"r{place}", kind))
        for place, kind in enumerate(kinds)
    ]


class Asked(Exception):  # noqa: N818
    """A test in plain Python whose truth is not decided yet."""

    def __init__(self, test: Callable[[Any], bool]) -> None:
        super().__init__()
        self.test = test


ITEM = Symbol("x")


class Derivation(ItemWalk):
    """Notes the operations of an item of a class.

    windows: whether windows that values are taken out of are distinguished from other values.
    """

    def __init__(self, program: Program, *, windows: bool) -> None:
        super().__init__(program.layout)
        self._program = program
        self.ops: list[Op] = []
        self._known: dict[Any, Symbol] = {}
        self._bits = 0
        self._truths: Mapping[Any, bool] = {}
        self._constants: dict[tuple[int, Kind], Symbol] = {}  # by identity of the value
        self.windows: dict[int, Sliding] = {}
        for place in program.layout.places:
            window = place.node.window if isinstance(place.node, Window) else None
            if windows and isinstance(window, Sliding) and window.fold.inverse is not None:
                self.windows[place.number] = window

    def first(self) -> State:
        """Return the state before any item, in symbols."""
        self._restart(0, {})
        return self.begin()

    def taken(self, state: State, bits: int, truths: Mapping[Any, bool]) -> tuple[State, bool, Any]:
        """Return the state after an item of a class, whether there is a value, and which.

        Raises Asked for a test whose truth is not among `truths`.
        """
        self._restart(bits, truths)
        return self.step(state), self.has, self.value

    def _restart(self, bits: int, truths: Mapping[Any, bool]) -> None:
        self.ops, self._known, self._bits, self._truths = [], {}, bits, truths
        self._joined, self._abreast = {}, {}

    def _note(
        self, role: str, place: Place, function: Any, given: tuple[Any, ...], kind: Kind = PLAIN
    ) -> Symbol:
        """Note an operation; return its result, an earlier one's where that is the same."""
        key = role, id(function), tuple(map(id, given))
        if role in {"call", "count", "collect"} and key in self._known:
            return self._known[key]
        result = Symbol(f"t{len(self.ops)}", kind)
        self.ops.append(Op(role, place, function, given, result))
        self._known[key] = result
        return result

    # --- operations -----------------------------------------------------------------------------

    def holds(self, place: Place) -> bool:
        """Return whether items of the class satisfy an atom's predicate."""
        mask = self._program.masks[place.atom]
        if mask:
            return mask == ALL or bool(self._bits & mask)
        test = self._program.tests[place.atom]
        assert test is not None
        if test not in self._truths:
            raise Asked(test)
        return self._truths[test]

    def item(self) -> Symbol:
        """Return the symbol of the item."""
        return ITEM

    def constant(self, place: Place, value: Any) -> Any:
        """Return the symbol of a value that stands in the query."""
        if value is None or value is True or value is False:
            return value
        kind = self._kind(place)
        node = place.node
        held = (
            node.window if isinstance(node, Window) else value
        )  # the empty window is new each time
        key = id(held), kind
        if key not in self._constants:
            self._constants[key] = Symbol(f"k{place.number}", kind, value)
        return self._constants[key]

    def call(self, place: Place, arguments: list[Any]) -> Symbol:
        """Note the call of a function."""
        kind = self._kind(place)
        role = "count" if kind.of == "counts" else "call"
        return self._note(role, place, place.function, tuple(arguments), kind)

    def push(self, place: Place, state: Any, value: Any) -> tuple[Symbol, Symbol]:
        """Note that a window gets a value, and that its value is read."""
        node = place.node
        assert isinstance(node, Window)
        if place.number not in self.windows:
            after = self._note("call", place, node.window.push, (state, value))
            return after, self._note("call", place, node.window.value, (after,))
        kind = Kind("window", place.number)
        after = self._note("push", place, node.window.push, (state, value), kind)
        return after, self._note("value", place, node.window.value, (after,))

    def keys(self, place: Place) -> Symbol:
        """Note that threads of keys start."""
        return self._note("keys", place, None, (), Kind("keys", place.number))

    def feed(self, place: Place, threads: Symbol) -> None:
        """Note that threads of keys get the item, once."""
        if not any(op.role == "feed" and op.given == (threads,) for op in self.ops):
            self.ops.append(Op("feed", place, None, (threads,), threads))

    def collect(self, place: Place, threads: Symbol) -> Symbol:
        """Note that the values of keys are collected."""
        return self._note("collect", place, None, (threads,))

    def kind_kept(self, atom: Place, slot: int) -> Kind:
        """Return what a value on the stack of an atom is, as far as its place alone tells."""
        below = atom.below[slot]
        if atom.is_within(below):
            if below.number in self.windows:
                return Kind("window", below.number)
            if isinstance(below.node, MapCollect):
                return Kind("keys", below.number)
        return PLAIN

    def _kind(self, place: Place) -> Kind:
        """Return what a place's first state is."""
        if place.number in self.windows:
            return Kind("window", place.number)
        node = place.node
        if not isinstance(node, Iterate):
            return PLAIN
        step, init = node.step, node.init
        if isinstance(step, Counting) and step.cell is None and isinstance(init, Counts):
            return Kind("counts", place.number)
        written = expression_of(step) if type(init) is tuple and init else None
        parts = written.body.elts if written and isinstance(written.body, ast.Tuple) else ()
        return Kind("tuple", len(init)) if parts and len(parts) == len(init) else PLAIN
