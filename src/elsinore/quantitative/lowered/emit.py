"""A query's machine as the source of a kernel: what happens with any item, over words of memory.

A stream's record, and that of a key of a `map_collect`, has a word of flags, one for each atom, and
the values that wait at atoms. A value is read where its atom takes an item, and written where a
thread starts, so that an item costs what it touches. What grows lies in the heap (`heap`).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import types

from elsinore.quantitative.approximate import CellAt, ExponentialHistogram
from elsinore.quantitative.folds import Adding, AtFraction, Counting, Merging, most_common
from elsinore.quantitative.functions import left, right
from elsinore.quantitative.lowered import objects
from elsinore.quantitative.lowered.columns import out_size, parts_of
from elsinore.quantitative.lowered.externals import FUNCTIONS, PURE
from elsinore.quantitative.lowered.texts import TEXT
from elsinore.quantitative.lowered.types import Types
from elsinore.quantitative.lowered.words import (
    RESULTS,
    Collected,
    Dynamic,
    Marks,
    Numbers,
    Ordered,
    Panes,
    Threads,
    as_record,
    constant,
    double,
    read,
    size,
    word_at,
    write,
)
from elsinore.quantitative.machine.evaluate import Program
from elsinore.quantitative.machine.layout import Place, is_unit, reads
from elsinore.quantitative.machine.page import INDENT
from elsinore.quantitative.machine.walk import Stack, Walk
from elsinore.quantitative.nodes import Atom, Combine, Either, Iterate, Split, Window
from elsinore.quantitative.regex import ALWAYS, nullable
from elsinore.quantitative.relations import Aggregate, Join, Project, Select

FLAGS = 62  # atoms in a word of flags
FRESH = -1  # the flags of a stream that has not begun
CALL = re.compile(rf"( *)(?:(\w+) = )?((?:{'|'.join(sorted(set(FUNCTIONS) - PURE))})\(.*\))")
GREATEST_WORD = 0x7FFFFFFFFFFFFFFF
ROOT = 0  # the kind of the records of streams

Handles = list[tuple[int, int, int]]  # offset, offset of its flags or -1, the flag


@dataclass(slots=True)
class Shapes:
    """What kinds of objects there are, and where in them other objects' places are."""

    kinds: dict[Any, int] = field(default_factory=dict)
    rows: list[tuple[int, int, int, Handles, Handles]] = field(default_factory=list)

    def kind(self, key: Any, *row: Any) -> int:
        """Return the number of a kind: its shape, stride, words, and handles in head and entry."""
        if key not in self.kinds:
            self.kinds[key] = len(self.rows)
            self.rows.append(row)
        return self.kinds[key]

    def array(self) -> Any:
        """Return the kinds as kernels read them."""
        shapes = np.zeros(len(self.rows) * objects.SHAPE, np.int64)
        lists: list[int] = []
        for number, (shape, stride, words, head, entry) in enumerate(self.rows):
            row = [shape, stride, words]
            for handles in (head, entry):
                row += [len(shapes) + len(lists), len(handles)]
                lists += [word for handle in handles for word in handle]
            shapes[number * objects.SHAPE : number * objects.SHAPE + len(row)] = row
        return np.concatenate([shapes, np.array(lists, np.int64)])


@dataclass(slots=True)
class Record:
    """Where in a record the flags and values of a machine are.

    flags: by atom, the word and the bit in it that tell whether a thread waits there; values: by
    atom, the offsets and types of the values on its stack.
    """

    flags: list[tuple[int, int]]
    values: list[list[tuple[int, Any]]]
    words: int

    @classmethod
    def of(cls, stacks: list[list[Any]]) -> Record:
        """Lay out the values of the types on the stacks of atoms."""
        flags = [divmod(atom, FLAGS) for atom in range(len(stacks))]
        at = max(1, -(-len(flags) // FLAGS))
        values = []
        for stack in stacks:
            offsets = list(itertools.accumulate(map(size, stack), initial=at))
            values.append(list(zip(offsets, stack, strict=False)))
            at = offsets[-1]
        return cls([(word, 1 << bit) for word, bit in flags], values, at)

    @property
    def flag_words(self) -> int:
        """How many words of flags there are."""
        return max([1, *(word + 1 for word, _ in self.flags)])

    def handles(self) -> Handles:
        """Return where objects' places are, and under which flags."""
        return [
            (at, *flag)
            for flag, values in zip(self.flags, self.values, strict=True)
            for at, kind in values
            if isinstance(kind, Dynamic)
        ]


def moved(handles: Handles, by: int) -> Handles:
    """Return handles of a record that begins further on."""
    return [(at + by, flags + by if flags >= 0 else -1, bit) for at, flags, bit in handles]


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


class Compiled(Walk):
    """Writes a machine over the words `memory[base], ...`."""

    none = "None"

    def __init__(
        self, program: Program, context: Context, memory: str, outer: Compiled | None
    ) -> None:
        super().__init__(program.layout)
        self.program = program
        self._first = context.numbered  # the number of the first place
        context.numbered += len(self.layout.places)
        self.context, self.memory, self._outer = context, memory, outer
        self.base = "r" if outer is None else f"q{self._first}"
        self.inner = {
            place: Compiled(program.keyed[place.number].program, context, "H", self)
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

    # --- keys -----------------------------------------------------------------------------------

    @property
    def told(self) -> int:
        """Where in a key's record the serial number of its last value is, before the value."""
        return self.record.words

    @property
    def total(self) -> int:
        """How many words a key's record has."""
        return self.told + 1 + size(self.value)

    def kinds_of_keys(self, place: Place) -> tuple[int, int, int, int]:
        """Return the kinds of keys' threads and of their table, a key's words and an entry's."""
        inner, shapes = self.inner[place], self.context.shapes
        handles = inner.record.handles()
        if isinstance(inner.value, Dynamic):
            handles.append((inner.told + 1, -1, 0))
        words = size(self.types.key(place))
        stride = words + inner.total
        number = self.number(place)
        entry = moved(handles, words)
        head = [(objects.TABLE, -1, 0), *moved(handles, objects.IDLE)]
        table = shapes.kind(("table", number), objects.TABLES, stride, 0, [], entry)
        threads = shapes.kind(Threads(number), objects.THREADS, 0, 0, head, [])
        return threads, table, words, stride

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

    def give(self, value: Any) -> None:
        """Write that the query has a value; that of no items is not asked for."""
        if self._begins:
            return
        if self._outer is None:
            self._line("has = True")
            self._out(RESULTS, "n", 0, self.value, value)
            return
        self._line(f"H[{self.base} + {self.told}] = s")
        if isinstance(self.value, Dynamic):
            value = self._assign(f"share(H, J, {value})")
        self._write("H", self.base, self.told + 1, self.value, value)

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

    # --- results --------------------------------------------------------------------------------

    def _out(self, memory: str, at: str, offset: int, kind: Any, value: str) -> None:
        """Write a value, which may hold mappings, to the words of results."""
        if isinstance(kind, Dynamic):
            begin, number = (word_at(memory, at, offset + word) for word in range(2))
            self._out_mapping(begin, number, kind, value)
        elif isinstance(kind, types.BaseTuple):
            for n, part in enumerate(kind.types):
                self._out(memory, at, offset, part, f"{value}[{n}]")
                offset += out_size(part)
        else:
            self._write(memory, at, offset, kind, value)

    def _out_mapping(self, begin: str, number: str, kind: Any, value: str) -> None:
        key, of_key = parts_of(kind)
        words, stride = size(key), size(key) + size(of_key)
        out = size(key) + out_size(of_key)
        table, to = self._assign(value), self._temporary()
        filled = f"H[{table} + COUNT] - H[{table} + GONE]"
        count = self._assign(f"{filled} if {table} != 0 else 0")
        self._line(f"{to} = room(X, {count} * {out})")
        self._line(f"{begin} = {to}")
        self._line(f"{number} = {count}")
        self._line(f"if {count} != 0:")
        self._level += 1
        at = self._loop_over_entries(table, kind)
        for word in range(words):
            self._line(f"X[{plus(to, word)}] = H[{plus(at, word)}]")
        if isinstance(of_key, Dynamic):
            inner = self._assign(f"H[{at} + {words}]")
            self._out("X", to, words, of_key, inner)
        else:
            for word in range(words, stride):
                self._line(f"X[{to} + {word}] = H[{at} + {word}]")
        self._line(f"{to} += {out}")
        self._level -= 2

    # --- what grows -----------------------------------------------------------------------------

    def call(self, place: Place, arguments: list[Any]) -> str:
        """Write the call of a node's function; return the variable that holds its value."""
        function, first = place.function, arguments[0]
        match function:
            case Counting():
                return self._counted(place, function, first, arguments[1])
            case Merging():
                kind = self.types.value(place.parts[0])
                return self._merged(kind, function.sign, first, arguments[1], None)
            case Adding():
                return self._added(place, first, arguments[1])
            case AtFraction():
                return self._in_front(self.types.value(place.parts[0]), first)
            case CellAt():
                return self._cell_at(place, function, first)
            case Select() | Project() | Join():
                return self._related(place, function, arguments)
            case Aggregate():
                return self._aggregated(place, function, first)
        if function is most_common:
            return self._best(self.types.value(place.parts[0]), first)
        return self._call(place, "op", function, arguments)

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

    def _added(self, place: Place, numbers: str, value: str) -> str:
        kind = self.types.value(place)
        shared, number = self._is_held(kind, numbers), self.kind_of(kind)
        if isinstance(self.types.value(place.parts[-1]), types.Optional):
            self._line(f"if {value} is None: raise TypeError")  # what Python says of it it says
            value = self._assign(f"some({value})")
        word = self._assign(value)
        if kind.value == types.float64:  # as a whole number in the order of the doubles
            self._line(f"if {value} != {value}: raise ValueError")  # of NaN Python says more
            word = self._assign(f"key_of({value})")
            self._line(f"{word} ^= ({word} >> 63) & {GREATEST_WORD}")
        told_of = place.parent is not None and isinstance(place.parent.function, AtFraction)
        if not isinstance(place.node, Iterate) and told_of and not self._has_join(place):
            grown = self._assign(numbers)  # nobody keeps the collection with one more
            self._one_more[grown] = word
            return grown
        fraction = double(kind.fraction, self.context.names)
        parts = f"{number}, {numbers}, {shared}, {fraction}, {word}"
        return self._assign(f"add_in_order(H, J, T, {parts})")

    def _in_front(self, kind: Ordered, numbers: str) -> str:
        one_more = self._one_more.get(numbers)
        if one_more is None:
            word = self._assign(f"H[{numbers} + IN_ORDER]")
        else:
            fraction = double(kind.fraction, self.context.names)
            word = self._assign(f"front_with(H, {numbers}, {fraction}, {one_more})")
        if kind.value == types.float64:
            self._line(f"{word} ^= ({word} >> 63) & {GREATEST_WORD}")
            word = self._assign(f"double_of({word})")
        least = "> 0" if one_more is None else ">= 0"
        return self._assign(f"{word} if {numbers} {least} else None")

    def _cell_at(self, place: Place, function: CellAt, table: str) -> str:
        name = self._function(place, "cell", function.value_of)
        fraction = double(function.fraction, self.context.names)
        at = self._assign(f"at_rank(H, {table}, {fraction})")
        return self._assign(f"{name}((H[{at}], H[{at} + 1])) if {at} != 0 else None")

    def _counted(self, place: Place, function: Counting, table: str, value: str) -> str:
        kind = self.types.value(place)
        if function.cell is not None:
            name = self._function(place, "cell", function.cell)
            value = self._assign(f"{name}({value})")
        shared = self._is_held(kind, table)
        self._scratch(kind.key, value)
        number = self.kind_of(kind)
        call = f"add_number(H, J, T, {number}, {table}, {shared}, {size(kind.key)}, 1)"
        return self._assign(call)

    def _merged(self, kind: Any, sign: int, table: str, other: str, shared: str | None) -> str:
        shared = self._is_held(kind, table) if shared is None else shared
        words, number = size(kind.key), self.kind_of(kind)
        call = f"add_numbers(H, J, T, {number}, {table}, {shared}, {words}, {other}, {sign})"
        return self._assign(call)

    def _best(self, kind: Any, table: str) -> str:
        of = {types.float64: objects.DOUBLES, TEXT: objects.TEXTS}.get(kind.key, objects.WHOLE)
        self.context.orders_texts |= of == objects.TEXTS
        at = self._assign(f"best(H, T, {table}, {of})")
        key = self._read("H", at, 0, kind.key)
        return self._assign(f"({key}, H[{at} + 1]) if {at} != 0 else None")

    def _scratch(self, kind: Any, value: str) -> None:
        """Write a key to the words where it is looked up."""
        for text in write("H", "SCRATCH", 0, kind, value):
            self._line(text.replace("word_of(", "key_of("))

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

    # --- relations ------------------------------------------------------------------------------

    def _related(
        self, place: Place, function: Select | Project | Join, arguments: list[str]
    ) -> str:
        """Write a new table of what is selected, projected or joined; return its variable."""
        kinds = [self.types.value(part) for part in place.parts]
        kind = self.types.value(place)
        number, words, stride = (
            self.kind_of(kind),
            size(kind.key),
            size(kind.key) + size(kind.value),
        )
        table, to, filled = self._assign(arguments[0]), self._temporary(), self._temporary()
        room = f"H[{table} + COUNT] * {stride} if {table} != 0 else 0"
        result = self._assign(f"allocate(H, {number}, ENTRIES + ({room}))")
        self._line(f"{to} = {result} + ENTRIES")
        self._line(f"{filled} = 0")
        if isinstance(function, Join):
            _, of_right = parts_of(kinds[1])
            whole = words + size(of_right)
            right = self._assign(
                f"indexed(H, {self.kind_of(kinds[1])}, {arguments[1]}, {whole}, {words})"
            )
        at, key, value = self._begin_entries(table, kinds[0])
        begin = self._level
        match function:
            case Select(test):
                self._line(f"if {self._call(place, 'test', test, [key, value])}:")
                self._level += 1
            case Project(inner):
                value = self._call(place, "project", inner, [key, value])
            case Join(inner):
                for word in range(words):
                    self._line(f"H[SCRATCH + {word}] = H[{plus(at, word)}]")
                found = self._assign(f"find(H, {right}, {whole}, {words})")
                self._line(f"if {found} != 0:")
                self._level += 1
                other = self._assign(self._read("H", found, words, of_right))
                value = self._call(place, "join", inner, [value, other])
        for word in range(words):
            self._line(f"H[{plus(to, word)}] = H[{plus(at, word)}]")
        if isinstance(kind.value, Dynamic):
            value = self._assign(f"share(H, J, {value})")
        self._write("H", to, words, kind.value, value)
        self._line(f"{to} += {stride}")
        self._line(f"{filled} += 1")
        self._level = begin - 2
        self._line(f"H[{result} + COUNT] = {filled}")
        return result

    def _aggregated(self, place: Place, function: Aggregate, table: str) -> str:
        """Write the fold of a table's values; the accumulator lies where keys are looked up."""
        kind = self.types.value(place.parts[0])
        of_total, fold = self.types.aggregated(function, kind), function.fold
        start = repr(fold.init)
        if fold.init is not None and not isinstance(fold.init, bool):
            start = f"k{self.number(place)}"
            self.context.constants[start] = fold.init, of_total
        self._write("H", "SCRATCH", 0, of_total, start)
        table = self._assign(table)
        _, _, value = self._begin_entries(table, kind)
        total = self._assign(self._read("H", "SCRATCH", 0, of_total))
        after = self._call(place, "step", fold.step, [total, value])
        self._write("H", "SCRATCH", 0, of_total, after)
        self._level -= 2
        total = self._assign(self._read("H", "SCRATCH", 0, of_total))
        return total if fold.finish is None else self._call(place, "finish", fold.finish, [total])

    def _begin_entries(self, table: str, kind: Any) -> tuple[str, str, str]:
        """Write the head of a loop over a table's entries, two levels deep.

        Returns the variables with an entry's place, its key, and its value.
        """
        of_key, of_value = parts_of(kind)
        self._line(f"if {table} != 0:")
        self._level += 1
        at = self._loop_over_entries(table, kind)
        key = self._assign(self._read("H", at, 0, of_key))
        return at, key, self._assign(self._read("H", at, size(of_key), of_value))

    def _loop_over_entries(self, table: str, kind: Any) -> str:
        """Write the head of a loop over a table's entries; return the variable of their place."""
        of_key, of_value = parts_of(kind)
        words, entry = size(of_key), self._temporary()
        start = self._assign(f"{table} + ENTRIES + H[{table} + CAPACITY]")
        self._line(f"for {entry} in range(H[{table} + COUNT]):")
        self._level += 1
        at = self._assign(f"{start} + {entry} * {words + size(of_value)}")
        if isinstance(kind, Numbers):
            self._line(f"if H[{at} + {words}] == 0: continue")
        return at

    # --- windows --------------------------------------------------------------------------------

    def push(self, place: Place, state: Any, value: Any) -> tuple[str, str]:
        """Write that a window gets a value; return the window's state and value then."""
        kind = self.types.window(place)
        shared = self._is_held(kind, state)
        if isinstance(kind, Marks):
            return self._push_mark(place, kind, state, value, shared)
        push = self._push_ring if kind.how == "ring" else self._push_stacks
        after, total = push(place, kind, state, value, shared)
        finish = place.window.fold.finish
        if finish is not None:
            total = self._of(place, "finish", finish, [total])
        elif isinstance(kind.accumulator, Dynamic) and not self._only_read(place):
            total = self._assign(f"share(H, J, {total})")
        return after, total

    def _only_read(self, place: Place) -> bool:
        """Return whether a window's value is read at once, and kept nowhere."""
        return place.parent is not None and place.parent.function is most_common

    def _push_mark(
        self, place: Place, kind: Marks, state: str, value: str, shared: str
    ) -> tuple[str, str]:
        window = place.window
        assert isinstance(window, ExponentialHistogram)
        levels = kind.size.bit_length() + 2
        bounds = f"{kind.size}, {window.most(1)}, {window.most(2)}, {levels}"
        number = self.kind_of(kind)
        after = self._assign(
            f"mark(H, J, T, {number}, {state}, {shared}, (1 if {value} != 0 else 0), {bounds})"
        )
        return after, self._assign(f"marks(H, {after}, {levels})")

    def _push_ring(
        self, place: Place, kind: Panes, state: str, value: str, shared: str
    ) -> tuple[str, str]:
        fold, most = place.window.fold, kind.size
        head, stride = objects.RING + size(kind.accumulator), size(kind.value)
        at = self._temporary()
        self._line(f"if {state} == 0:")
        self._level += 1
        self._line(f"{at} = new_window(H, {self.kind_of(kind)}, {head}, {stride}, {most})")
        init = self._init(place, kind)
        self._write("H", at, objects.RING, kind.accumulator, init)
        self._level -= 1
        self._line("else:")
        self._level += 1
        held = f"{state}, {shared}, {most}, {head}, {stride}"
        self._line(f"{at} = ring_with_room(H, J, T, {held})")
        self._level -= 1
        self._line(f"keep(H, J, {at} + FIRST, {head - objects.FIRST})")
        capacity, first, filled = (
            self._assign(f"H[{at} + {word}]") for word in ("CAPACITY", "FIRST", "FILLED")
        )
        slot, to = self._temporary(), self._temporary()
        self._line(f"{slot} = {first} + {filled}")
        self._line(f"if {slot} >= {capacity}: {slot} -= {capacity}")
        self._line(f"{to} = {at} + {head} + {slot} * {stride}")
        total = self._read("H", at, objects.RING, kind.accumulator)
        if fold.inverse is not None:
            stepped = self._of(place, "step", fold.step, [self._assign(total), value])
            self._write("H", at, objects.RING, kind.accumulator, stepped)
            self._line(f"if {filled} == {most}:")
            self._level += 1
            oldest = self._assign(self._read("H", to, 0, kind.value))
            again = self._assign(total)
            self._write("H", at, objects.RING, kind.accumulator,
                        self._of(place, "inverse", fold.inverse, [again, oldest]))  # fmt: skip
            self._level -= 1
        self._line(f"if {filled} == {most}:")
        self._line(f"{INDENT}keep(H, J, {to}, {stride})")
        self._line(f"{INDENT}H[{at} + FIRST] = {first} + 1 if {first} + 1 < {capacity} else 0")
        self._line("else:")
        self._line(f"{INDENT}H[{at} + FILLED] = {filled} + 1")
        kept = value
        if isinstance(kind.value, Dynamic):
            kept = self._assign(f"share(H, J, {value})")
        self._write("H", to, 0, kind.value, kept)
        if fold.inverse is None:
            self._fold_anew(place, kind, at, head, stride)
        return at, self._assign(total)

    def _fold_anew(self, place: Place, kind: Panes, at: str, head: int, stride: int) -> None:
        self._write("H", at, objects.RING, kind.accumulator, self._init(place, kind))
        number = self._temporary()
        self._line(f"for {number} in range(H[{at} + FILLED]):")
        self._level += 1
        slot = self._assign(f"(H[{at} + FIRST] + {number}) % H[{at} + CAPACITY]")
        begin = self._assign(f"{at} + {head} + {slot} * {stride}")
        value = self._assign(self._read("H", begin, 0, kind.value))
        total = self._assign(self._read("H", at, objects.RING, kind.accumulator))
        after = self._of(place, "step", place.window.fold.step, [total, value])
        self._write("H", at, objects.RING, kind.accumulator, after)
        self._level -= 1

    def _push_stacks(
        self, place: Place, kind: Panes, state: str, value: str, shared: str
    ) -> tuple[str, str]:
        fold, most = place.window.fold, kind.size
        whole, one = size(kind.accumulator), size(kind.value)
        head = objects.STACKS + whole
        at = self._temporary()
        self._line(f"if {state} == 0:")
        call = f"new_window(H, {self.kind_of(kind)}, {head}, {whole + one}, {most})"
        self._line(f"{INDENT}{at} = {call}")
        self._line("else:")
        call = f"stacks_with_room(H, J, T, {state}, {shared}, {most}, {head}, {whole}, {one})"
        self._line(f"{INDENT}{at} = {call}")
        self._line(f"keep(H, J, {at} + DONE, {head - objects.DONE})")
        newer = self._assign(f"{at} + {head} + H[{at} + CAPACITY] * {whole}")
        self._line(f"if H[{at} + OLDER] - H[{at} + DONE] + H[{at} + NEWER] == {most}:")
        self._level += 1
        self._line(f"if H[{at} + OLDER] == H[{at} + DONE]:")
        self._level += 1
        self._line(f"H[{at} + OLDER] = H[{at} + NEWER]")
        self._line(f"H[{at} + NEWER] = 0")
        self._line(f"H[{at} + DONE] = 0")
        entry = self._temporary()
        self._line(f"for {entry} in range(H[{at} + OLDER] - 1, -1, -1):")
        self._level += 1
        begin = self._assign(f"{newer} + {entry} * {one}")
        kept = self._assign(self._read("H", begin, 0, kind.value))
        alone = self._of(place, "step", fold.step, [self._init(place, kind), kept])
        to = self._assign(f"{at} + {head} + {entry} * {whole}")
        self._line(f"if {entry} == H[{at} + OLDER] - 1:")
        self._level += 1
        self._write("H", to, 0, kind.accumulator, alone)
        self._level -= 1
        self._line("else:")
        self._level += 1
        before = self._assign(self._read("H", to, whole, kind.accumulator))
        joined = self._of(place, "combine", fold.combine, [alone, before])
        self._write("H", to, 0, kind.accumulator, joined)
        self._level -= 3
        self._line(f"H[{at} + DONE] += 1")
        self._level -= 1
        alone = self._of(place, "step", fold.step, [self._init(place, kind), value])
        self._line(f"if H[{at} + NEWER] == 0:")
        self._level += 1
        self._write("H", at, objects.STACKS, kind.accumulator, alone)
        self._level -= 1
        self._line("else:")
        self._level += 1
        before = self._assign(self._read("H", at, objects.STACKS, kind.accumulator))
        joined = self._of(place, "combine", fold.combine, [before, alone])
        self._write("H", at, objects.STACKS, kind.accumulator, joined)
        self._level -= 1
        slot = self._assign(f"{newer} + H[{at} + NEWER] * {one}")
        self._line(f"keep(H, J, {slot}, {one})")
        self._write("H", slot, 0, kind.value, value)
        self._line(f"H[{at} + NEWER] += 1")
        total = self._assign(self._read("H", at, objects.STACKS, kind.accumulator))
        oldest = self._temporary()
        self._line(f"if H[{at} + OLDER] == H[{at} + DONE]:")
        self._line(f"{INDENT}{oldest} = {total}")
        self._line("else:")
        self._level += 1
        to = self._assign(f"{at} + {head} + H[{at} + DONE] * {whole}")
        older = self._assign(self._read("H", to, 0, kind.accumulator))
        total_name = self._of(place, "combine", fold.combine, [older, total])
        self._line(f"{oldest} = {total_name}")
        self._level -= 1
        return at, oldest

    def _init(self, place: Place, kind: Panes) -> str:
        init = place.window.fold.init
        if init is None or init is True or init is False:
            return repr(init)
        name = f"k{self.number(place)}"
        self.context.constants[name] = init, kind.accumulator
        return name

    def _of(self, place: Place, role: str, function: Any, arguments: list[str]) -> str:
        """Write the call of one of a window's functions; return the variable with its value."""
        if isinstance(function, Merging):
            kind = self.types.window(place)
            total, counts = arguments
            return self._merged(kind.accumulator, function.sign, total, counts, "False")
        if function is most_common:
            return self._best(self.types.window(place).accumulator, arguments[0])
        return self._call(place, role, function, arguments)

    # --- keys -----------------------------------------------------------------------------------

    def keys(self, place: Place) -> str:
        """Write new threads of keys; return the variable that holds them."""
        threads, table, _, stride = self.kinds_of_keys(place)
        inner = self.inner[place]
        keys = self._assign(f"allocate(H, {threads}, IDLE + {inner.total})")
        of_keys = self._assign(f"new_table(H, {table}, LEAST, {stride})")
        self._line(f"H[{keys} + TABLE] = {of_keys}")
        self._line(f"H[{keys} + SERIAL] = -1")
        self._line(f"{inner.base} = {keys} + IDLE")
        inner.begin(self._level)
        return keys

    def _feed(self) -> None:
        """Write that the item goes to the threads of keys."""
        for place, atoms in self.layout.collectors:
            slots = []
            for atom in atoms:
                at, _ = self.record.values[atom][place.depth]
                slots.append((self._flag(self.layout.atoms[atom]), self._word(self.base, at)))
            self._feed_one(place, slots)

    def _feed_one(self, place: Place, slots: list[tuple[str, str]]) -> None:
        number, inner = self.number(place), self.inner[place]
        _, _, words, stride = self.kinds_of_keys(place)
        keys, first, count, entry = (f"{name}{number}" for name in ("h", "u", "m", "e"))
        table, start = f"d{number}", f"st{number}"
        places = ", ".join(f"{word} * {atom}" for atom, word in slots)  # no branches
        self._line(f"for {keys} in ({places},):")
        self._level += 1
        self._line(f"if {keys} == 0 or H[{keys} + SERIAL] == s: continue")
        if self._outer is not None:  # threads of idle keys are shared by those that come after
            self._line(f"if H[{keys} + SHARED] != 0:")
            self._level += 1
            copy = self._assign(f"owned(H, J, T, {keys}, True)")
            for atom, word in slots:
                self._line(f"if {atom} and {word} == {keys}: {word} = {copy}")
            self._line(f"{keys} = {copy}")
            self._level -= 1
            self._line(f"if H[H[{keys} + TABLE] + SHARED] != 0:")
            self._level += 1
            self._line(f"keep(H, J, {keys} + TABLE, 1)")
            own = self._assign(f"owned(H, J, T, H[{keys} + TABLE], True)")
            self._line(f"H[{keys} + TABLE] = {own}")
            self._level -= 1
        self._line(f"H[{keys} + SERIAL] = s")
        self._line(f"{table} = H[{keys} + TABLE]")
        condition = place.node.sync.condition  # type: ignore[attr-defined]
        self._line(f"if {'True' if condition == ALWAYS else self.context.masks[condition]}:")
        self._line(f"{INDENT}{first} = {keys} + IDLE")
        self._line(f"{INDENT}{count} = H[{table} + COUNT] + 1")
        self._line("else:")
        self._level += 1
        self._find(place, inner, keys, table, words, stride)
        self._line(f"{first} = i{number} + {words}")
        self._line(f"{count} = 1")
        self._level -= 1
        self._line(f"{start} = {table} + ENTRIES + H[{table} + CAPACITY] + {words - stride}")
        self._line(f"for {entry} in range({count}):")
        self._level += 1
        of_entry = f"{start} + {entry} * {stride}"
        self._line(f"{inner.base} = {first} if {entry} == 0 else {of_entry}")
        flags = " and ".join(
            f"{inner._word(inner.base, word)} == 0" for word in range(inner.record.flag_words)
        )
        self._line(f"if {flags}: continue")
        self._line(f"keep(H, J, {inner.base}, {inner.total})")
        inner.step(self._level)
        self._level -= 2

    def _find(
        self, place: Place, inner: Compiled, keys: str, table: str, words: int, stride: int
    ) -> None:
        """Write that an item's key is looked up, and added where it is new."""
        number = self.number(place)
        name = self._function(place, "key", place.node.key)  # type: ignore[attr-defined]
        value = self._assign(f"{name}(x)")
        self._scratch(self.types.key(place), value)
        at = f"i{number}"
        self._line(f"{at} = find(H, {table}, {stride}, {words})")
        self._line(f"if {at} == 0:")
        self._level += 1
        roomier = self._assign(f"with_room(H, {table}, {stride}, {words}, False)")
        self._line(f"if {roomier} != {table}:")
        self._line(f"{INDENT}keep(H, J, {keys} + TABLE, 1)")
        self._line(f"{INDENT}H[{keys} + TABLE] = {roomier}")
        self._line(f"{INDENT}{table} = {roomier}")
        self._line(f"{at} = add_entry(H, J, {table}, {stride}, {words})")
        for offset, flags, bit in inner.record.handles():
            idle = f"H[{keys} + IDLE + {offset}]"
            self._line(f"if H[{keys} + IDLE + {flags}] & {bit}:")
            self._line(f"{INDENT}share(H, J, {idle})")
        word = self._temporary()
        self._line(f"for {word} in range({inner.told}):")
        self._line(f"{INDENT}H[{at} + {words} + {word}] = H[{keys} + IDLE + {word}]")
        self._line(f"H[{at} + {words} + {inner.told}] = -1")
        self._level -= 1

    def collect(self, place: Place, threads: Any) -> str:
        """Write that the keys' values are collected; return the variable that holds the map."""
        inner = self.inner[place]
        _, _, words, stride = self.kinds_of_keys(place)
        kind = self.kind_of(self.types.value(place))
        dynamic = isinstance(inner.value, Dynamic)
        told = words + inner.told
        parts = f"{threads}, {kind}, {words}, {told}, {stride}, s, {dynamic}"
        return self._assign(f"collected(H, J, {parts})")


def plus(at: str, offset: int) -> str:
    """Return the expression of a place so many words on."""
    return f"{at} + {offset}" if offset else at


def constants(context: Context) -> Iterator[str]:
    """Yield the statements that make the constants of the code; note the texts among them."""
    for name, (value, kind) in context.constants.items():
        context.spelled_out |= frozenset(_texts(as_record(value)))
        yield f"{name} = {constant(value, kind, context.names)}"


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _texts(part)


CONSTANTS = (
    *("SCRATCH", "SHARED", "CAPACITY", "COUNT", "GONE", "ENTRIES", "SERIAL", "TABLE", "IDLE"),
    *("IN_ORDER", "FIRST", "FILLED", "DONE", "OLDER", "NEWER", "LEAST"),
)
OF_HEAP = FUNCTIONS | {name: getattr(objects, name) for name in CONSTANTS}
