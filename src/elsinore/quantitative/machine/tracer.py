"""A machine run on symbols in place of values, which tells what it computes at an item.

The machine's own source is run: with functions that note that they are called, with which symbols.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from elsinore.quantitative.folds import Counting
from elsinore.quantitative.machine.inline import expression_of
from elsinore.quantitative.machine.keys import Program
from elsinore.quantitative.versions import Counts
from elsinore.quantitative.windows import Sliding

VALUE = "value"
NAMED = re.compile(r"(f|k|keys|p)(\d+)(\w*)")  # functions, constants, threads of keys, tests


@dataclass(frozen=True, slots=True)
class Kind:
    """What a register holds: a value, or what grows at the node with a number.

    of: "value"; "window" (the last values, and an accumulator), "keys" (the states of keys, and of
    those without items), "counts" (of values); "tuple" (of as many parts as the number says).
    """

    of: str
    number: int = -1


PLAIN = Kind(VALUE)


class Symbol:
    """Stands for a value while a machine is run on symbols."""

    __slots__ = ("kind", "name", "tracer")

    def __init__(self, name: str, kind: Kind = PLAIN, tracer: Tracer | None = None) -> None:
        self.name, self.kind, self.tracer = name, kind, tracer

    def feed(self, item: Any, bits: int, serial: int) -> None:
        """Note that threads of keys get the item, once."""
        del item, bits, serial
        assert self.tracer is not None
        if not any(op.role == "feed" and op.given == (self,) for op in self.tracer.ops):
            self.tracer.ops.append(Op("feed", "", None, (self,), self))

    def collect(self) -> Symbol:
        """Note that the values of keys are collected."""
        assert self.tracer is not None
        return self.tracer.note("collect", "", None, (self,))


@dataclass(frozen=True, slots=True)
class Op:
    """What is computed at an item: by a role (call, count, push, value, keys, feed, collect)."""

    role: str
    name: str  # of the function, in the machine's source
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
    """A test whose truth is not decided yet."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


ITEM = Symbol("x")


class Tracer:
    """Runs a machine's source on symbols, and notes what it computes.

    windows: whether windows that values are taken out of are told from other values.
    """

    def __init__(self, program: Program, *, windows: bool) -> None:
        names = dict(program.run.__globals__)
        self.functions = {n: v for n, v in names.items() if NAMED.fullmatch(n)}
        self.ops: list[Op] = []
        self._known: dict[Any, Symbol] = {}
        self._truths: dict[str, bool] = {}
        self.windows: dict[int, Sliding] = {}
        for name, function in self.functions.items():
            letter, number, role = NAMED.fullmatch(name).groups()  # type: ignore[union-attr]
            window: Any = getattr(function, "__self__", None)
            if windows and role == "push" and _gives_out(window):
                self.windows[int(number)] = window
            if letter == "f":
                names[name] = self._calling(name, int(number), role, function)
            elif letter == "keys":
                names[name] = self._making(name, int(number))
            elif letter == "p":
                names[name] = self._testing(name)
        constants: dict[int, Symbol] = {}
        for name in self.functions:
            letter, number, _ = NAMED.fullmatch(name).groups()  # type: ignore[union-attr]
            if letter == "k":
                value = self.functions[name]
                symbol = Symbol(name, self._kind(int(number), value))
                same = constants.setdefault(id(value), symbol)  # of parts that stand in two places
                names[name] = same if symbol.kind == same.kind == PLAIN else symbol
        exec(program.code, names)
        self._begin, self._step = names["begin"], names["step"]

    def _kind(self, number: int, init: Any) -> Kind:
        """Return what a node's first state is."""
        if number in self.windows:
            return Kind("window", number)
        step = self.functions.get(f"f{number}step")
        counting = isinstance(step, Counting) and step.cell is None and isinstance(init, Counts)
        if counting:
            return Kind("counts", number)
        written = expression_of(step) if type(init) is tuple and init else None
        parts = written.body.elts if written and isinstance(written.body, ast.Tuple) else ()
        return Kind("tuple", len(init)) if parts and len(parts) == len(init) else PLAIN

    def begin(self) -> tuple[Any, ...]:
        """Return the first state, in symbols."""
        self._restart({})
        state, _, _ = self._begin()
        return tuple(state)

    def step(self, marks: tuple[Any, ...], bits: int, truths: dict[str, bool]) -> Any:
        """Return the state after an item, whether there is a value, which; None: asks a test."""
        self._restart(truths)
        try:
            after, has, value = self._step(marks, ITEM, bits, 0)
        except Asked as asked:
            return asked
        return after, has, value

    def note(self, role: str, name: str, function: Any, given: tuple[Any, ...],
             kind: Kind = PLAIN) -> Symbol:  # fmt: skip
        """Note an operation; return its result, an earlier one's where that is the same."""
        key = role, id(function), tuple(map(id, given))
        if role in {"call", "count", "collect"} and key in self._known:
            return self._known[key]
        result = Symbol(f"t{len(self.ops)}", kind, self)
        self.ops.append(Op(role, name, function, given, result))
        self._known[key] = result
        return result

    def _restart(self, truths: dict[str, bool]) -> None:
        self.ops, self._known, self._truths = [], {}, truths
        for symbol in _REGISTERS.values():
            symbol.tracer = self

    def _calling(self, name: str, number: int, role: str, function: Any) -> Callable[..., Symbol]:
        if number in self.windows and role in {"push", "value"}:
            kind = Kind("window", number) if role == "push" else PLAIN
            return lambda *given: self.note(role, name, function, given, kind)
        kind = self._kind(number, self.functions.get(f"k{number}")) if role == "step" else PLAIN
        does = "count" if kind.of == "counts" else "call"
        return lambda *given: self.note(does, name, function, given, kind)

    def _making(self, name: str, number: int) -> Callable[[], Symbol]:
        return lambda: self.note("keys", name, None, (), Kind("keys", number))

    def _testing(self, name: str) -> Callable[[Any], bool]:
        def test(item: Any) -> bool:
            del item
            if name not in self._truths:
                raise Asked(name)
            return self._truths[name]

        return test


def _gives_out(window: Any) -> bool:
    """Return whether the oldest value is taken out of a window's accumulator."""
    return isinstance(window, Sliding) and window.fold.inverse is not None
