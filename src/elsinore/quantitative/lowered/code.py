"""The walk over a query as source: how threads start, wait and go on, over words of memory.

A stream's record, and that of a key of a `map_collect`, has a word of flags, one for each atom, and
the values that wait at atoms. A value is read where its atom takes an item, and written where a
thread starts, so that an item costs what it touches. What grows lies in the heap (`heap`).
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Self

from elsinore.quantitative.functions import left, right
from elsinore.quantitative.lowered import objects
from elsinore.quantitative.lowered.shapes import FUNCTIONS, PURE, ROOT, Record, Shapes, plus
from elsinore.quantitative.lowered.types import Types
from elsinore.quantitative.lowered.words import (
    Collected,
    Dynamic,
    Numbers,
    Panes,
    read,
    size,
    write,
)
from elsinore.quantitative.machine.evaluate import Program
from elsinore.quantitative.machine.layout import Place, is_unit, reads
from elsinore.quantitative.machine.names import INDENT
from elsinore.quantitative.machine.walk import Stack, Walk
from elsinore.quantitative.nodes import Atom, Combine, Either, Iterate, Split, Window
from elsinore.quantitative.regex import ALWAYS, nullable

CALL = re.compile(rf"( *)(?:(\w+) = )?((?:{'|'.join(sorted(set(FUNCTIONS) - PURE))})\(.*\))")


@dataclass(slots=True)
class Context:
    """What the machines of a query share, that of its keys among them."""

    masks: dict[Any, str]  # condition -> how the code asks whether it holds of the item `x`
    item: Any
    lines: list[str] = field(default_factory=list)
    functions: dict[str, Any] = field(default_factory=dict)  # of users, that the code calls
    kernels: dict[int, Any] = field(default_factory=dict)
    shapes: Shapes = field(default_factory=Shapes)
    names: dict[str, Any] = field(default_factory=dict)  # what the code refers to
    constants: dict[str, tuple[Any, Any]] = field(default_factory=dict)  # values and types
    numbered: int = 1  # nodes, and one
    spelled_out: frozenset[str] = frozenset()  # the texts among constants
    orders_texts: bool = False  # whether the code asks which text comes first


class Code(Walk):
    """Writes a walk over the words `memory[base], ...`, but for what grows.

    inner: what writes the keys of each `map_collect`.
    """

    none = "None"

    def __init__(self, program: Program, context: Context, memory: str, outer: Self | None) -> None:
        super().__init__(program.layout)
        self.program = program
        self._first = context.numbered  # the number of the first place
        context.numbered += len(self.layout.places)
        self.context, self.memory, self._outer = context, memory, outer
        self.base = "r" if outer is None else f"q{self._first}"
        self.inner = {
            place: type(self)(program.keyed[place.number].program, context, "H", self)
            for place, _ in self.layout.collectors
        }
        self.types = Types(self, context.item, context.kernels)
        self.value = self.types.value(self.layout.root)
        self.record = Record.of([self.types.stack(atom) for atom in self.layout.atoms])
        self._one_more: dict[str, str] = {}  # collections that are asked for with one more word
        self._begins = False
        self._level = 0
        self._fresh = 0
        if outer is None:
            context.shapes.kind(
                ROOT, objects.PLAIN, self.record.words, 0, [], self.record.handles()
            )

    def number(self, place: Place) -> int:
        """Return the number that a place's variables are named by."""
        return self._first + place.number

    def _flag(self, atom: Place) -> str:
        """Return the variable that tells whether a thread waits at an atom."""
        return f"a{self.number(atom)}"

    @property
    def told(self) -> int:
        """Where in a key's record the serial number of its last value is, before the value."""
        return self.record.words

    @property
    def total(self) -> int:
        """How many words a key's record has."""
        return self.told + 1 + size(self.value)

    def kind_of(self, kind: Any) -> int:
        """Return the number of a kind of objects."""
        shapes = self.context.shapes
        match kind:
            case Numbers(key):
                return shapes.kind(kind, objects.TABLES, size(key) + 1, 0, [], [])
            case Collected(key, value):
                held = [(size(key), -1, 0)] if isinstance(value, Dynamic) else []
                return shapes.kind(kind, objects.TABLES, size(key) + size(value), 0, [], held)
            case Panes(_, "ring", accumulator, value):
                head = [(objects.RING, -1, 0)] if isinstance(accumulator, Dynamic) else []
                held = [(0, -1, 0)] if isinstance(value, Dynamic) else []
                row = objects.RINGS, size(value), size(accumulator), head, held
                return shapes.kind(kind, *row)
            case _:
                return shapes.kind(kind, objects.PLAIN, 0, 0, [], [])

    # --- the two functions ----------------------------------------------------------------------

    def begin(self, level: int) -> None:
        """Write the start of a thread at the whole query."""
        self._level = level
        for atom in self.layout.atoms:
            self._line(f"{self._flag(atom)} = False")
        for word in range(self.record.flag_words):
            self._line(f"{self._word(self.base, word)} = 0")
        self._begins, self._at = True, len(self.layout.order)
        self._start(self.layout.root, ())
        self._begins = False
        self._pack()

    def step(self, level: int) -> None:
        """Write what happens with an item `x`, of whose predicates `b` tells."""
        self._level = level
        for word in range(self.record.flag_words):
            self._line(f"w{self._first}_{word} = {self._word(self.base, word)}")
        for atom, (word, bit) in zip(self.layout.atoms, self.record.flags, strict=True):
            self._line(f"{self._flag(atom)} = (w{self._first}_{word} & {bit}) != 0")
        for place in self.layout.order:
            if self._has_join(place):
                self._line(f"j{self.number(place)} = False")
            if self._is_abreast(place):
                self._line(f"g{self.number(place)} = False")
                for name, kind in self._gathered(place):
                    if isinstance(kind, Dynamic):
                        self._line(f"{name} = 0")
        self._feed()
        for at, place in enumerate(self.layout.order):
            self._at = at
            self._take(place) if place.atom >= 0 else self._join(place)
            self._level = level
        self._pack()

    def _pack(self) -> None:
        words: dict[int, list[str]] = {}
        for atom, (word, bit) in zip(self.layout.atoms, self.record.flags, strict=True):
            words.setdefault(word, []).append(f"{self._flag(atom)} * {bit}")
        for word, flags in words.items():
            self._line(f"{self._word(self.base, word)} = {' | '.join(flags)}")

    def _take(self, atom: Place) -> None:
        """Write that the thread at an atom takes the item, if one waits there."""
        flag, node = self._flag(atom), atom.node
        assert isinstance(node, Atom)
        self._line(f"if {flag}:")
        self._level += 1
        self._line(f"{flag} = False")
        if node.predicate.condition != ALWAYS:
            self._line(f"if {self.context.masks[node.predicate.condition]}:")
            self._level += 1
        names = [f"{flag}_{slot}" for slot in range(atom.depth)]
        for name, (at, kind) in zip(names, self.record.values[atom.atom], strict=True):
            self._line(f"{name} = {self._read(self.memory, self.base, at, kind)}")
        value = "x" if atom.function is None else self._called(atom, ["x"])
        self._follow(self._go_on(atom, value, tuple(names)))

    def _join(self, place: Place) -> None:
        """Write that threads go on that ended at a place while the item went through its atoms."""
        number, level = self.number(place), self._level
        if self._is_abreast(place):
            self._line(f"if g{number}:")
            self._level += 1
            given = [f"g{number}_{part}" for part in range(len(place.parts))]
            stack = tuple(f"g{number}_c{slot}" for slot in range(place.depth))
            value = self._called(place, given)
            if self._has_join(place):
                self.wait_for_join(place, value, stack)
            else:
                self._follow(self._go_on(place, value, stack))
            self._level = level
        if self._has_join(place):
            self._line(f"if j{number}:")
            self._level += 1
            value = self.none if is_unit(place.node) else f"j{number}_v"
            stack = tuple(f"j{number}_{slot}" for slot in range(place.depth))
            self._follow(self._go_on(place, value, stack))

    # --- where threads are ----------------------------------------------------------------------

    def wait(self, place: Place, stack: Stack) -> None:
        """Write that a thread waits at an atom, with values."""
        flag = self._flag(place)
        self._line(f"{flag} = True")
        for slot, value in enumerate(stack):
            if value != f"{flag}_{slot}":
                at, kind = self.record.values[place.atom][slot]
                self._write(self.memory, self.base, at, kind, value)

    def joins(self, place: Place) -> bool:
        """Return whether a thread that ended at a place has to wait for its join."""
        return super().joins(place) and self._has_join(place)

    @staticmethod
    def _has_join(place: Place) -> bool:
        """Return whether the code after a place's end stands at its join alone.

        That is so if the place is started again when a thread ends there, or if threads end there
        at several places of the code: after each part of an `either`; and after the last part of a
        `split` as well as after the part before it, if the last matches the empty sequence.
        """
        node = place.node
        if isinstance(node, Atom):
            return False
        if place.parent is not None and isinstance(place.parent.node, Iterate | Window):
            return True
        if isinstance(node, Split):
            return nullable(node.pieces[-1].rate)
        return isinstance(node, Either)

    @staticmethod
    def _is_abreast(place: Place) -> bool:
        """Return whether a place has parallel parts, whose values are gathered."""
        return isinstance(place.node, Combine) and len(place.parts) > 1

    def wait_for_join(self, place: Place, value: Any, stack: Stack) -> None:
        """Write the values of a thread for its join."""
        number = self.number(place)
        self._line(f"j{number} = True")
        if not is_unit(place.node):
            self._line(f"j{number}_v = {value}")
        for slot, variable in enumerate(stack):
            self._line(f"j{number}_{slot} = {variable}")

    def wait_abreast(self, place: Place, part: int, value: Any, stack: Stack) -> None:
        """Write the value of one of several parallel parts, until all have one."""
        number = self.number(place)
        self._line(f"g{number}_{part} = {value}")
        if part == len(place.parts) - 1:
            self._line(f"g{number} = True")
            for slot, context in enumerate(stack):
                self._line(f"g{number}_c{slot} = {context}")

    # --- how it is written ----------------------------------------------------------------------

    def item(self) -> str:
        """Return the variable of the item."""
        return "x"

    def constant(self, place: Place, value: Any) -> str:
        """Return the expression of a constant of the query, or of a window without values."""
        if isinstance(place.node, Window):
            return "0"
        if value is None or value is True or value is False:
            return repr(value)
        name = f"k{self.number(place)}"
        self.context.constants[name] = value, self.types.value(place)
        return name

    def _line(self, text: str) -> None:
        """Write a line; after the call of a function that needs room, that there must be some."""
        indent = INDENT * self._level
        call = CALL.fullmatch(text)
        if call is not None:
            spaces, name, called = call.groups()
            if name is None:
                text = f"{spaces}if {called} < 0: raise MemoryError"
            else:
                self.context.lines.append(indent + text)
                text = f"{spaces}if {name} < 0: raise MemoryError"
        self.context.lines.append(indent + text)

    def _temporary(self) -> str:
        self._fresh += 1
        return f"t{self._first}_{self._fresh}"

    def _word(self, at: str, offset: int) -> str:
        return f"{self.memory}[{plus(at, offset)}]"

    def _read(self, memory: str, at: str, offset: int, kind: Any) -> str:
        return read(memory, at, offset, kind, self.context.names)

    def _write(self, memory: str, at: str, offset: int, kind: Any, value: str) -> None:
        for text in write(memory, at, offset, kind, value):
            self._line(text)

    def _assign(self, value: str) -> str:
        name = self._temporary()
        self._line(f"{name} = {value}")
        return name

    # --- calls ------------------------------------------------------------------------------------

    def _call(self, place: Place, role: str, function: Any, arguments: list[str]) -> str:
        """Write the call of a user's function; return the variable that holds its value."""
        if function is right:
            return arguments[-1]
        if function is left:
            return arguments[0]
        arguments = [a if reads(function, n) else "None" for n, a in enumerate(arguments)]
        return self._assign(f"{self._function(place, role, function)}({', '.join(arguments)})")

    def _function(self, place: Place, role: str, function: Any) -> str:
        """Return the name of a user's function."""
        name = f"f{self.number(place)}{role}"
        self.context.functions[name] = function
        return name

    # --- what is held -----------------------------------------------------------------------------

    def _is_held(self, kind: Any, value: str) -> str:
        """Return the expression of whether another thread of the record has the same object."""
        tests: list[str] = []
        for atom, values in zip(self.layout.atoms, self.record.values, strict=True):
            for at, kind_of_it in values:
                if kind_of_it == kind:
                    test = f"{self._flag(atom)} and {self._word(self.base, at)} == {value}"
                    if atom.finish > self._at:  # it goes on with this item, or dies
                        condition = atom.node.predicate.condition  # type: ignore[attr-defined]
                        if condition != ALWAYS:
                            test += f" and ({self.context.masks[condition]}) != 0"
                    tests.append(f"({test})")
        for place in self.layout.places:
            if self._has_join(place) and place.begin <= self._at < place.finish:
                of_join = f"j{self.number(place)}"
                names = [name for name, of_it in self._joined(place) if of_it == kind]
                tests += [f"({of_join} and {name} == {value})" for name in names]
            if self._is_abreast(place):
                names = [name for name, of_it in self._gathered(place) if of_it == kind]
                tests += [f"{name} == {value}" for name in names]
        return f"(1 if {' or '.join(tests)} else 0)" if tests else "False"

    def _joined(self, place: Place) -> Iterator[tuple[str, Any]]:
        """Yield the variables of a join, and their types."""
        number = self.number(place)
        if not is_unit(place.node):
            yield f"j{number}_v", self.types.value(place)
        for slot, kind in enumerate(self.types.stack(place)):
            yield f"j{number}_{slot}", kind

    def _gathered(self, place: Place) -> Iterator[tuple[str, Any]]:
        number = self.number(place)
        for n, part in enumerate(place.parts):
            yield f"g{number}_{n}", self.types.value(part)
        for slot, kind in enumerate(self.types.stack(place)):
            yield f"g{number}_c{slot}", kind

    @abstractmethod
    def _feed(self) -> None:
        """Write that the item goes to the threads of keys."""
