"""Symbols of values, and the instructions that compute them, before slots are numbered.

A tuple, or a record of a frozen dataclass, is the symbols of its parts as long as only its parts
are read, so that accumulators such as (count, sum) are numbers in registers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from types import MemberDescriptorType
from typing import Any

from elsinore.quantitative.machine import instructions as ins

MOST_PARTS = 8  # of a tuple or a record that is kept in registers
PLAIN = (int, float, str, bool, type(None))


class Symbol:
    """A value that is not known yet; symbols are compared by identity."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, eq=False)
class Register(Symbol):
    """The value of a register before the item."""

    number: int


@dataclass(frozen=True, slots=True, eq=False)
class Constant(Symbol):
    """A value that is known."""

    value: Any


class Result(Symbol):
    """What an instruction computes."""

    __slots__ = ()


class Parts(Symbol):
    """A tuple, or a record of a class, whose parts are symbols."""

    __slots__ = ("kind", "parts")

    def __init__(self, kind: Any, parts: Sequence[Symbol]) -> None:
        self.kind, self.parts = kind, tuple(parts)


class Item(Symbol):
    """The item."""

    __slots__ = ()


ITEM = Item()


@dataclass(eq=False, slots=True)
class Label:
    """A place among instructions."""


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """An instruction (`instructions`): what it computes, of which symbols.

    numbers: operands that are no symbols; source: the place of the query and the function that a
    message names; label: where it jumps, if it is a condition where its truth is `when`.
    """

    code: int
    target: Result | None
    given: tuple[Symbol, ...]
    numbers: tuple[int, ...]
    function: Any
    source: Any
    label: Label | None = None
    when: bool = False

    @property
    def is_condition(self) -> bool:
        """Whether the instruction can jump by its result."""
        return ins.LESS <= self.code <= ins.GREATER or self.code in {ins.NOT, ins.TRUTH, ins.IS}

    def renamed(self, before: Symbol, after: Result) -> Line:
        """Return the instruction with another symbol for a result."""
        if self.target is not before and before not in self.given:
            return self
        given = tuple(after if symbol is before else symbol for symbol in self.given)
        target = after if self.target is before else self.target
        return replace(self, target=target, given=given)


class Emitter:
    """Notes instructions, each once, with constants that are the same symbol each time.

    attributes: the names of attributes of items, by number; around: what names outside of
    functions stood for when the functions were translated.
    """

    def __init__(self, attributes: list[str]) -> None:
        self.attributes = attributes
        self.lines: list[Line | Label] = []
        self._known: list[dict[Any, Result]] = [{}]
        self._constants: dict[Any, Symbol] = {}
        self.around: dict[tuple[int, str], tuple[Any, Any]] = {}  # values of names, by function
        self._given: dict[int, tuple[Symbol, Result]] = {}  # results that got another name
        self.source: Any = None

    def restart(self) -> None:
        """Forget the instructions."""
        self.lines, self._known, self.source = [], [{}], None
        self._given = {}

    # --- values ---------------------------------------------------------------------------------

    def constant(self, value: Any) -> Constant:
        """Return the symbol of a value."""
        key: Any = (type(value), repr(value)) if type(value) in PLAIN else id(value)
        symbol = self._constants.get(key)
        if symbol is None:
            symbol = self._constants[key] = Constant(value)
        assert isinstance(symbol, Constant)
        return symbol

    def in_parts(self, value: Any) -> Symbol:
        """Return the symbol of a value, in parts if it is a tuple or a record."""
        parts = parts_of(value)
        if parts is None:
            return self.constant(value)
        return Parts(type(value), [self.in_parts(part) for part in parts])

    def whole(self, symbol: Symbol) -> Symbol:
        """Return a symbol that is not in parts: of the tuple or the record itself."""
        if not isinstance(symbol, Parts):
            return symbol
        if symbol.kind is tuple:
            return self.emit(ins.TUPLE, *map(self.whole, symbol.parts))
        return self.emit(ins.CALL, *map(self.whole, symbol.parts), function=symbol.kind)

    # --- instructions ---------------------------------------------------------------------------

    def emit(
        self,
        code: int,
        *given: Symbol,
        numbers: tuple[int, ...] = (),
        function: Any = None,
        again: bool = False,
    ) -> Result:
        """Note an instruction, unless its result is known and not to be computed `again`."""
        key = code, tuple(map(id, given)), numbers, id(function)
        for known in () if again else self._known:
            if key in known:
                return known[key]
        result = self._known[-1][key] = Result()
        self.lines.append(Line(code, result, given, numbers, function, self.source))
        return result

    def jump(self, label: Label) -> None:
        """Note a jump."""
        self.lines.append(Line(ins.JUMP, None, (), (), None, self.source, label))

    def jump_where(self, when: bool, condition: Symbol, label: Label) -> None:
        """Note a jump where the truth of a condition is `when`.

        The instruction that has just computed the condition jumps itself.
        """
        match self.lines[-1:]:
            case [Line(target=target, label=None) as last] if target is condition:
                is_just_known = last.is_condition
            case _:
                is_just_known = False
        if not is_just_known:
            self.emit(ins.TRUTH, condition, again=True)
        line = self.lines[-1]
        assert isinstance(line, Line)
        self.lines[-1] = replace(line, label=label, when=when)

    def move(self, target: Result, symbol: Symbol) -> None:
        """Note that a result is the value of a symbol."""
        self.lines.append(Line(ins.MOVE, target, (symbol,), (), None, self.source))

    @property
    def mark(self) -> tuple[list[Line | Label], dict[Any, Result]]:
        """What `go_back` forgets later instructions by."""
        return list(self.lines), dict(self._known[-1])

    def go_back(self, mark: tuple[list[Line | Label], dict[Any, Result]]) -> None:
        """Forget the instructions since a mark."""
        self.lines[:], self._known[-1] = mark

    @contextmanager
    def not_always(self) -> Iterator[None]:
        """Note instructions that may not be carried out: later ones do not use their results."""
        self._known.append({})
        try:
            yield
        finally:
            self._known.pop()

    @contextmanager
    def apart(self) -> Iterator[list[Line | Label]]:
        """Note instructions that may not be carried out in a list of their own."""
        before, branch = self.lines, list[Line | Label]()
        self.lines = branch
        try:
            with self.not_always():
                yield branch
        finally:
            self.lines = before

    def chosen(self, condition: Symbol, yes: Any, no: Any) -> Symbol:
        """Return the value of one of two functions without arguments, as the condition is true."""
        otherwise = Label()
        self.jump_where(False, condition, otherwise)
        return self.one_of(yes, otherwise, no)

    def one_of(self, yes: Any, otherwise: Label, no: Any) -> Symbol:
        """Return the value of `yes()`, or of `no()` where the instructions before jump there."""
        with self.apart() as first:
            left = yes()
        with self.apart() as second:
            right = no()
        end = Label()
        value = self._merged(left, right, first, second)
        self.lines += first
        if second:
            self.jump(end)
        self.lines.append(otherwise)
        self.lines += [*second, end]
        return value

    def _merged(self, left: Symbol, right: Symbol, first: Any, second: Any) -> Symbol:
        """Return the symbol of one of two values, which is noted in the lists of both."""
        if left is right:
            return left
        if isinstance(left, Parts) and isinstance(right, Parts) and (
            (left.kind, len(left.parts)) == (right.kind, len(right.parts))
        ):  # fmt: skip
            pairs = zip(left.parts, right.parts, strict=True)
            return Parts(left.kind, [self._merged(a, b, first, second) for a, b in pairs])
        value = Result()
        for lines, symbol in ((first, left), (second, right)):
            before, self.lines = self.lines, lines
            self._known.append({})
            self._give(value, self.whole(symbol))
            self._known.pop()
            self.lines = before
        return value

    def _give(self, target: Result, symbol: Symbol) -> None:
        """Note that a branch computes a result: what it computed for it, or a copy."""
        is_own = [isinstance(line, Line) and line.target is symbol for line in self.lines]
        if not any(is_own) or id(symbol) in self._given:
            self.move(target, self._given.get(id(symbol), (symbol,))[-1])
            return
        self._given[id(symbol)] = symbol, target
        self.lines[:] = [
            line if isinstance(line, Label) else line.renamed(symbol, target) for line in self.lines
        ]


def form_of(symbol: Symbol, leaf: Callable[[Symbol], Any]) -> Any:
    """Return what `leaf` makes of a symbol, or the kind of several in parts and that of each."""
    if isinstance(symbol, Parts):
        return (symbol.kind, *[form_of(part, leaf) for part in symbol.parts])
    return leaf(symbol)


def in_form(form: Any, leaf: Callable[[Any], Symbol]) -> Symbol:
    """Return the symbol in parts of a form, `leaf` of each of its leaves."""
    if isinstance(form, tuple):
        kind, *parts = form
        return Parts(kind, [in_form(part, leaf) for part in parts])
    return leaf(form)


def parts_of(value: Any) -> Sequence[Any] | None:
    """Return the parts of a tuple or a record, None for a value that is kept as it is.

    >>> parts_of((1, 2)), parts_of([1, 2])
    ((1, 2), None)
    """
    kind: Any = type(value)
    if kind is tuple:
        return value if 0 < len(value) <= MOST_PARTS else None
    fields = fields_of(kind)
    return None if fields is None else [getattr(value, name) for name in fields]


@cache
def fields_of(kind: Any) -> tuple[str, ...] | None:
    """Return the fields of a frozen dataclass whose records are nothing but their fields."""
    is_class: bool = dataclasses.is_dataclass(kind)
    if not is_class or kind.__bases__ != (object,):
        return None
    fields = dataclasses.fields(kind)
    own = vars(kind)
    init = getattr(own.get("__init__"), "__code__", None)
    is_plain = (
        kind.__dataclass_params__.frozen
        and 0 < len(fields) <= MOST_PARTS
        and all(field.init and not field.kw_only for field in fields)
        and not any(_is_computed(own, field.name) for field in fields)
        and init is not None
        and init.co_filename == "<string>"  # the one that `dataclass` writes
        and not {"__post_init__", "__new__", "__getattribute__", "__bool__", "__len__"} & set(own)
    )
    return tuple(field.name for field in fields) if is_plain else None


def _is_computed(own: Mapping[str, Any], name: str) -> bool:
    """Return whether a class computes an attribute: by anything but a slot."""
    value = own.get(name)
    return hasattr(type(value), "__get__") and not isinstance(value, MemberDescriptorType)
