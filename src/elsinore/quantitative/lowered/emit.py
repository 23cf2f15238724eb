"""A query's machine as the source of a kernel: the walk of `machine.emit`, over words of memory.

A stream's record, and that of a key of a `map_collect`, has a word of flags, one for each atom, and
the values that wait at atoms. A value is read where its atom takes an item, and written where a
thread starts, so that an item costs what it touches. What grows lies in the heap (`heap`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import types

from elsinore.quantitative.approximate import CellAt, ExponentialHistogram
from elsinore.quantitative.folds import Adding, AtFraction, Counting, Merging, most_common
from elsinore.quantitative.lowered import heap
from elsinore.quantitative.lowered.columns import out_size, parts_of
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
    whole_number,
    word_at,
    write,
)
from elsinore.quantitative.machine.emit import Emitter
from elsinore.quantitative.machine.layout import is_unit
from elsinore.quantitative.machine.page import INDENT
from elsinore.quantitative.nodes import Combine, MapCollect, Node, Window
from elsinore.quantitative.regex import ALWAYS
from elsinore.quantitative.relations import Aggregate, Join, Project, Select

FLAGS = 62  # atoms in a word of flags
FRESH = -1  # the flags of a stream that has not begun
WRITTEN = re.compile(r"(?<=, )(-?\d+|True|False)(?=[,)])")  # an argument
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
        shapes = np.zeros(len(self.rows) * heap.SHAPE, np.int64)
        lists: list[int] = []
        for number, (shape, stride, words, head, entry) in enumerate(self.rows):
            row = [shape, stride, words]
            for handles in (head, entry):
                row += [len(shapes) + len(lists), len(handles)]
                lists += [word for handle in handles for word in handle]
            shapes[number * heap.SHAPE : number * heap.SHAPE + len(row)] = row
        return np.concatenate([shapes, np.array(lists, np.int64)])


@dataclass(slots=True)
class Record:
    """Where in a record the flags and values of a machine are."""

    flags: dict[str, tuple[int, int]]  # name of an atom -> word, bit
    values: dict[str, tuple[int, Any]]  # name of a variable -> offset, type
    words: int

    @classmethod
    def of(cls, flags: list[str], kinds: dict[str, Any]) -> Record:
        """Lay out a machine's variables."""
        places = {name: divmod(n, FLAGS) for n, name in enumerate(flags)}
        at = max(1, -(-len(flags) // FLAGS))
        values = {}
        for name, kind in kinds.items():
            values[name] = at, kind
            at += size(kind)
        return cls({n: (word, 1 << bit) for n, (word, bit) in places.items()}, values, at)

    @property
    def flag_words(self) -> int:
        """How many words of flags there are."""
        return max([1, *(word + 1 for word, _ in self.flags.values())])

    def handles(self) -> Handles:
        """Return where objects' places are, and under which flags."""
        return [
            (at, *self.flags[name.partition("_")[0]])
            for name, (at, kind) in self.values.items()
            if isinstance(kind, Dynamic)
        ]


def moved(handles: Handles, by: int) -> Handles:
    """Return handles of a record that begins further on."""
    return [(at + by, flags + by if flags >= 0 else -1, bit) for at, flags, bit in handles]


@dataclass(slots=True)
class Context:
    """What the machines of a query share, that of its keys among them."""

    masks: dict[Any, str]
    item: Any
    kernels: dict[int, Any] = field(default_factory=dict)
    shapes: Shapes = field(default_factory=Shapes)
    names: dict[str, Any] = field(default_factory=dict)  # what the code refers to
    constants: dict[str, tuple[Any, Any]] = field(default_factory=dict)  # values and types
    numbered: int = 1  # nodes, and one
    levels: int = 0  # of keys within keys
    spelled_out: frozenset[str] = frozenset()  # the texts among constants
    orders_texts: bool = False  # whether the code asks which text comes first


class Compiled(Emitter):
    """Writes a machine over the words `memory[base], ...`."""

    def __init__(self, query: Node, context: Context, memory: str, outer: Compiled | None) -> None:
        super().__init__(query, context.masks, context.numbered)
        context.numbered += len(self.nodes)
        self.context, self.memory, self._outer = context, memory, outer
        self.base = "r" if outer is None else f"q{self._first}"
        if outer is not None:
            self.source.lines = outer.source.lines
        self.inner = {
            id(node): Compiled(node.body, context, "H", self)
            for node in self.nodes
            if isinstance(node, MapCollect)
        }
        self.types = Types(self, context.item, context.kernels)
        self.value = self.types.value(query)
        self.types.place(query, ())
        self.record = Record.of(self.flags, self.types.variables)
        self._passed: set[int] = set()
        self._one_more: dict[str, str] = {}  # collections that are asked for with one more word
        self._begins = False
        if outer is None:
            context.shapes.kind(ROOT, heap.PLAIN, self.record.words, 0, [], self.record.handles())

    # --- keys -----------------------------------------------------------------------------------

    @property
    def told(self) -> int:
        """Where in a key's record the serial number of its last value is, before the value."""
        return self.record.words

    @property
    def total(self) -> int:
        """How many words a key's record has."""
        return self.told + 1 + size(self.value)

    def kinds_of_keys(self, node: MapCollect) -> tuple[int, int, int, int]:
        """Return the kinds of keys' threads and of their table, a key's words and an entry's."""
        inner, shapes = self.inner[id(node)], self.context.shapes
        handles = inner.record.handles()
        if isinstance(inner.value, Dynamic):
            handles.append((inner.told + 1, -1, 0))
        words = size(self.types.key(node))
        stride = words + inner.total
        number = self.number(node)
        entry = moved(handles, words)
        head = [(heap.TABLE, -1, 0), *moved(handles, heap.IDLE)]
        table = shapes.kind(("table", number), heap.TABLES, stride, 0, [], entry)
        threads = shapes.kind(Threads(number), heap.THREADS, 0, 0, head, [])
        return threads, table, words, stride

    def kind_of(self, kind: Any) -> int:
        """Return the number of a kind of objects."""
        shapes = self.context.shapes
        match kind:
            case Numbers(key):
                return shapes.kind(kind, heap.TABLES, size(key) + 1, 0, [], [])
            case Collected(key, value):
                held = [(size(key), -1, 0)] if isinstance(value, Dynamic) else []
                return shapes.kind(kind, heap.TABLES, size(key) + size(value), 0, [], held)
            case Panes(_, "ring", accumulator, value):
                head = [(heap.RING, -1, 0)] if isinstance(accumulator, Dynamic) else []
                held = [(0, -1, 0)] if isinstance(value, Dynamic) else []
                row = heap.RINGS, size(value), size(accumulator), head, held
                return shapes.kind(kind, *row)
            case _:
                return shapes.kind(kind, heap.PLAIN, 0, 0, [], [])

    # --- the two functions ----------------------------------------------------------------------

    def begin(self, level: int) -> None:
        """Write the start of a thread at the whole query."""
        self._level = level
        for name in self.flags:
            self._line(f"{name} = False")
        for word in range(self.record.flag_words):
            self._line(f"{self._word(self.base, word)} = 0")
        self._begins = True
        super().begin(level)
        self._begins = False
        self._pack()

    def item(self, level: int) -> None:
        """Write what happens with an item `x`, of whose predicates `b` tells."""
        self._level = level
        self._passed = set()
        for word in range(self.record.flag_words):
            self._line(f"w{self._first}_{word} = {self._word(self.base, word)}")
        for name, (word, bit) in self.record.flags.items():
            self._line(f"{name} = (w{self._first}_{word} & {bit}) != 0")
        for node in self.nodes:
            if isinstance(node, Combine) and len(node.parallel) > 1:
                for name, kind in self._gathered(node):
                    if isinstance(kind, Dynamic):
                        self._line(f"{name} = 0")
        super().item(level)
        self._level = level
        self._pack()

    def _pack(self) -> None:
        words: dict[int, list[str]] = {}
        for name, (word, bit) in self.record.flags.items():
            words.setdefault(word, []).append(f"{name} * {bit}")
        for word, flags in words.items():
            self._line(f"{self._word(self.base, word)} = {' | '.join(flags)}")

    # --- how it is written ----------------------------------------------------------------------

    def _wait(self, number: int, stack: list[str]) -> None:
        self._line(f"a{number} = True")
        for slot, value in enumerate(stack):
            name = f"a{number}_{slot}"
            if value != name:
                self._write(self.memory, self.base, *self.record.values[name], value)

    def _waited(self, number: int, depth: int) -> list[str]:
        self._passed.add(number)
        names = [f"a{number}_{slot}" for slot in range(depth)]
        for name in names:
            self._line(f"{name} = {self._read(self.memory, self.base, *self.record.values[name])}")
        return names

    def _result(self, value: str) -> None:
        if self._begins:  # the value of no items is not asked for
            return
        if self._outer is None:
            self._line("has = True")
            self._out(RESULTS, "n", 0, self.value, value)
            return
        self._line(f"H[{self.base} + {self.told}] = s")
        if isinstance(self.value, Dynamic):
            value = f"share(H, J, {value})"
        self._write("H", self.base, self.told + 1, self.value, value)

    def _name(self, name: str, value: Any) -> str:
        if value is None or value is True or value is False:
            return repr(value)
        if name not in self.context.constants:
            (node,) = (n for n in self.nodes if f"k{self.number(n)}" == name)
            kind = self.types.value(node)
            self.context.constants[name] = value, kind
        return name

    def _line(self, text: str) -> None:
        if "(H, " in text:  # a kernel: compiled once, not once for each number that is written
            text = WRITTEN.sub(self._named, text)
        super()._line(text)

    def _word(self, at: str, offset: int) -> str:
        return f"{self.memory}[{plus(at, offset)}]"

    def _named(self, written: re.Match[str]) -> str:
        numbers = {"True": 1, "False": 0}
        return whole_number(numbers.get(written[1], written[1]), self.context.names)

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

    def _call(self, node: Node, role: str, function: Any, arguments: list[str]) -> str:
        if isinstance(function, Counting):
            return self._counted(node, function, *arguments)
        if isinstance(function, Merging):
            kind = self.types.value(node.parts[0])
            return self._merged(kind, function.sign, arguments[0], arguments[1], None)
        if function is most_common:
            return self._best(self.types.value(node.parts[0]), arguments[0])
        if isinstance(function, Adding):
            return self._added(node, role, arguments[0], arguments[1])
        if isinstance(function, AtFraction):
            return self._in_front(self.types.value(node.parts[0]), arguments[0])
        if isinstance(function, CellAt):
            return self._cell_at(node, function, arguments[0])
        if isinstance(function, Select | Project | Join):
            return self._related(node, function, arguments)
        if isinstance(function, Aggregate):
            return self._aggregated(node, function, arguments[0])
        return super()._call(node, role, function, arguments)

    def _added(self, node: Node, role: str, numbers: str, value: str) -> str:
        kind = self.types.value(node)
        shared, number = self._is_held(kind, numbers), self.kind_of(kind)
        if isinstance(self.types.value(node.parts[-1]), types.Optional):
            self._line(f"if {value} is None: raise TypeError")  # what Python says of it it says
            value = self._assign(f"some({value})")
        word = self._assign(value)
        if kind.value == types.float64:  # as a whole number in the order of the doubles
            self._line(f"if {value} != {value}: raise ValueError")  # of NaN Python says more
            word = self._assign(f"key_of({value})")
            self._line(f"{word} ^= ({word} >> 63) & {GREATEST_WORD}")
        parent = self._places[id(node)].parent
        told_of = isinstance(parent, Combine) and isinstance(parent.op, AtFraction)
        if role == "op" and told_of and not self._joins(node):
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

    def _cell_at(self, node: Node, function: CellAt, table: str) -> str:
        name = f"f{self.number(node)}cell"
        self.source.names[name] = function.value_of
        fraction = double(function.fraction, self.context.names)
        at = self._assign(f"at_rank(H, {table}, {fraction})")
        return self._assign(f"{name}((H[{at}], H[{at} + 1])) if {at} != 0 else None")

    def _counted(self, node: Node, function: Counting, table: str, value: str) -> str:
        kind = self.types.value(node)
        if function.cell is not None:
            name = f"f{self.number(node)}cell"
            self.source.names[name] = function.cell
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
        of = {types.float64: heap.DOUBLES, TEXT: heap.TEXTS}.get(kind.key, heap.WHOLE)
        self.context.orders_texts |= of == heap.TEXTS
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
        for name, (at, kind_of_it) in self.record.values.items():
            if kind_of_it != kind:
                continue
            atom = name.partition("_")[0]
            number = int(atom[1:])
            test = f"{atom} and {self._word(self.base, at)} == {value}"
            if number not in self._passed:  # it goes on with this item, or dies
                (node,) = (n for n in self.nodes if self.number(n) == number)
                condition = node.predicate.condition  # type: ignore[attr-defined]
                test += "" if condition == ALWAYS else f" and ({self._masks[condition]}) != 0"
            tests.append(f"({test})")
        for node in self.nodes:
            number = self.number(node)
            if id(node) in self._open:
                tests += [f"(j{number} and {name} == {value})" for name, kind_of_it in
                          self._joined(node) if kind_of_it == kind]  # fmt: skip
            if isinstance(node, Combine) and len(node.parallel) > 1:
                tests += [f"{name} == {value}" for name, kind_of_it in self._gathered(node)
                          if kind_of_it == kind]  # fmt: skip
        return f"(1 if {' or '.join(tests)} else 0)" if tests else "False"

    def _joined(self, node: Node) -> Iterator[tuple[str, Any]]:
        """Yield the variables of a join, and their types."""
        number = self.number(node)
        if not is_unit(node):
            yield f"j{number}_v", self.types.value(node)
        for slot, kind in enumerate(self.types.stacks[id(node)]):
            yield f"j{number}_{slot}", kind

    def _gathered(self, node: Combine) -> Iterator[tuple[str, Any]]:
        number = self.number(node)
        for place, part in enumerate(node.parallel):
            yield f"g{number}_{place}", self.types.value(part)
        for slot, kind in enumerate(self.types.stacks[id(node)]):
            yield f"g{number}_c{slot}", kind

    # --- relations ------------------------------------------------------------------------------

    def _related(self, node: Node, function: Select | Project | Join, arguments: list[str]) -> str:
        """Write a new table of what is selected, projected or joined; return its variable."""
        kinds = [self.types.value(part) for part in node.parts]
        kind = self.types.value(node)
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
                self._line(f"if {super()._call(node, 'test', test, [key, value])}:")
                self._level += 1
            case Project(inner):
                value = super()._call(node, "project", inner, [key, value])
            case Join(inner):
                for word in range(words):
                    self._line(f"H[SCRATCH + {word}] = H[{plus(at, word)}]")
                found = self._assign(f"find(H, {right}, {whole}, {words})")
                self._line(f"if {found} != 0:")
                self._level += 1
                other = self._assign(self._read("H", found, words, of_right))
                value = super()._call(node, "join", inner, [value, other])
        for word in range(words):
            self._line(f"H[{plus(to, word)}] = H[{plus(at, word)}]")
        if isinstance(kind.value, Dynamic):
            value = f"share(H, J, {value})"
        self._write("H", to, words, kind.value, value)
        self._line(f"{to} += {stride}")
        self._line(f"{filled} += 1")
        self._level = begin - 2
        self._line(f"H[{result} + COUNT] = {filled}")
        return result

    def _aggregated(self, node: Node, function: Aggregate, table: str) -> str:
        """Write the fold of a table's values; the accumulator lies where keys are looked up."""
        kind = self.types.value(node.parts[0])
        of_total, fold = self.types.aggregated(function, kind), function.fold
        start = repr(fold.init)
        if fold.init is not None and not isinstance(fold.init, bool):
            start = f"k{self.number(node)}"
            self.context.constants[start] = fold.init, of_total
        self._write("H", "SCRATCH", 0, of_total, start)
        table = self._assign(table)
        _, _, value = self._begin_entries(table, kind)
        total = self._assign(self._read("H", "SCRATCH", 0, of_total))
        after = super()._call(node, "step", fold.step, [total, value])
        self._write("H", "SCRATCH", 0, of_total, after)
        self._level -= 2
        total = self._assign(self._read("H", "SCRATCH", 0, of_total))
        return total if fold.finish is None else super()._call(node, "finish", fold.finish, [total])

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

    def _empty(self, node: Window) -> str:
        del node
        return "0"

    def _push(self, node: Window, state: str, value: str) -> tuple[str, str]:
        kind = self.types.window(node)
        shared = self._is_held(kind, state)
        if isinstance(kind, Marks):
            return self._push_mark(node, kind, state, value, shared)
        push = self._push_ring if kind.how == "ring" else self._push_stacks
        after, total = push(node, kind, state, value, shared)
        finish = node.window.fold.finish
        if finish is not None:
            total = self._of(node, "finish", finish, [total])
        elif isinstance(kind.accumulator, Dynamic) and not self._only_read(node):
            total = self._assign(f"share(H, J, {total})")
        return after, total

    def _only_read(self, node: Window) -> bool:
        """Return whether a window's value is read at once, and kept nowhere."""
        parent = self._places[id(node)].parent
        return isinstance(parent, Combine) and parent.op is most_common

    def _push_mark(
        self, node: Window, kind: Marks, state: str, value: str, shared: str
    ) -> tuple[str, str]:
        window = node.window
        assert isinstance(window, ExponentialHistogram)
        levels = kind.size.bit_length() + 2
        bounds = f"{kind.size}, {window.most(1)}, {window.most(2)}, {levels}"
        number = self.kind_of(kind)
        after = self._assign(
            f"mark(H, J, T, {number}, {state}, {shared}, (1 if {value} != 0 else 0), {bounds})"
        )
        return after, self._assign(f"marks(H, {after}, {levels})")

    def _push_ring(
        self, node: Window, kind: Panes, state: str, value: str, shared: str
    ) -> tuple[str, str]:
        fold, most = node.window.fold, kind.size
        head, stride = heap.RING + size(kind.accumulator), size(kind.value)
        at = self._temporary()
        self._line(f"if {state} == 0:")
        self._level += 1
        self._line(f"{at} = new_window(H, {self.kind_of(kind)}, {head}, {stride}, {most})")
        init = self._init(node, kind)
        self._write("H", at, heap.RING, kind.accumulator, init)
        self._level -= 1
        self._line("else:")
        self._level += 1
        held = f"{state}, {shared}, {most}, {head}, {stride}"
        self._line(f"{at} = ring_with_room(H, J, T, {held})")
        self._level -= 1
        self._line(f"keep(H, J, {at} + FIRST, {head - heap.FIRST})")
        capacity, first, filled = (
            self._assign(f"H[{at} + {word}]") for word in ("CAPACITY", "FIRST", "FILLED")
        )
        slot, place = self._temporary(), self._temporary()
        self._line(f"{slot} = {first} + {filled}")
        self._line(f"if {slot} >= {capacity}: {slot} -= {capacity}")
        self._line(f"{place} = {at} + {head} + {slot} * {stride}")
        total = self._read("H", at, heap.RING, kind.accumulator)
        if fold.inverse is not None:
            stepped = self._of(node, "step", fold.step, [self._assign(total), value])
            self._write("H", at, heap.RING, kind.accumulator, stepped)
            self._line(f"if {filled} == {most}:")
            self._level += 1
            oldest = self._assign(self._read("H", place, 0, kind.value))
            again = self._assign(total)
            self._write("H", at, heap.RING, kind.accumulator,
                        self._of(node, "inverse", fold.inverse, [again, oldest]))  # fmt: skip
            self._level -= 1
        self._line(f"if {filled} == {most}:")
        self._line(f"{INDENT}keep(H, J, {place}, {stride})")
        self._line(f"{INDENT}H[{at} + FIRST] = {first} + 1 if {first} + 1 < {capacity} else 0")
        self._line("else:")
        self._line(f"{INDENT}H[{at} + FILLED] = {filled} + 1")
        kept = f"share(H, J, {value})" if isinstance(kind.value, Dynamic) else value
        self._write("H", place, 0, kind.value, kept)
        if fold.inverse is None:
            self._fold_anew(node, kind, at, head, stride)
        return at, self._assign(total)

    def _fold_anew(self, node: Window, kind: Panes, at: str, head: int, stride: int) -> None:
        self._write("H", at, heap.RING, kind.accumulator, self._init(node, kind))
        place = self._temporary()
        self._line(f"for {place} in range(H[{at} + FILLED]):")
        self._level += 1
        slot = self._assign(f"(H[{at} + FIRST] + {place}) % H[{at} + CAPACITY]")
        begin = self._assign(f"{at} + {head} + {slot} * {stride}")
        value = self._assign(self._read("H", begin, 0, kind.value))
        total = self._assign(self._read("H", at, heap.RING, kind.accumulator))
        after = self._of(node, "step", node.window.fold.step, [total, value])
        self._write("H", at, heap.RING, kind.accumulator, after)
        self._level -= 1

    def _push_stacks(
        self, node: Window, kind: Panes, state: str, value: str, shared: str
    ) -> tuple[str, str]:
        fold, most = node.window.fold, kind.size
        whole, one = size(kind.accumulator), size(kind.value)
        head = heap.STACKS + whole
        at = self._temporary()
        self._line(f"if {state} == 0:")
        call = f"new_window(H, {self.kind_of(kind)}, {head}, {whole + one}, {most})"
        self._line(f"{INDENT}{at} = {call}")
        self._line("else:")
        call = f"stacks_with_room(H, J, T, {state}, {shared}, {most}, {head}, {whole}, {one})"
        self._line(f"{INDENT}{at} = {call}")
        self._line(f"keep(H, J, {at} + DONE, {head - heap.DONE})")
        newer = self._assign(f"{at} + {head} + H[{at} + CAPACITY] * {whole}")
        self._line(f"if H[{at} + OLDER] - H[{at} + DONE] + H[{at} + NEWER] == {most}:")
        self._level += 1
        self._line(f"if H[{at} + OLDER] == H[{at} + DONE]:")
        self._level += 1
        self._line(f"H[{at} + OLDER] = H[{at} + NEWER]")
        self._line(f"H[{at} + NEWER] = 0")
        self._line(f"H[{at} + DONE] = 0")
        place = self._temporary()
        self._line(f"for {place} in range(H[{at} + OLDER] - 1, -1, -1):")
        self._level += 1
        begin = self._assign(f"{newer} + {place} * {one}")
        kept = self._assign(self._read("H", begin, 0, kind.value))
        alone = self._of(node, "step", fold.step, [self._init(node, kind), kept])
        to = self._assign(f"{at} + {head} + {place} * {whole}")
        self._line(f"if {place} == H[{at} + OLDER] - 1:")
        self._level += 1
        self._write("H", to, 0, kind.accumulator, alone)
        self._level -= 1
        self._line("else:")
        self._level += 1
        before = self._assign(self._read("H", to, whole, kind.accumulator))
        joined = self._of(node, "combine", fold.combine, [alone, before])
        self._write("H", to, 0, kind.accumulator, joined)
        self._level -= 3
        self._line(f"H[{at} + DONE] += 1")
        self._level -= 1
        alone = self._of(node, "step", fold.step, [self._init(node, kind), value])
        self._line(f"if H[{at} + NEWER] == 0:")
        self._level += 1
        self._write("H", at, heap.STACKS, kind.accumulator, alone)
        self._level -= 1
        self._line("else:")
        self._level += 1
        before = self._assign(self._read("H", at, heap.STACKS, kind.accumulator))
        joined = self._of(node, "combine", fold.combine, [before, alone])
        self._write("H", at, heap.STACKS, kind.accumulator, joined)
        self._level -= 1
        place = self._assign(f"{newer} + H[{at} + NEWER] * {one}")
        self._line(f"keep(H, J, {place}, {one})")
        self._write("H", place, 0, kind.value, value)
        self._line(f"H[{at} + NEWER] += 1")
        total = self._assign(self._read("H", at, heap.STACKS, kind.accumulator))
        oldest = self._temporary()
        self._line(f"if H[{at} + OLDER] == H[{at} + DONE]:")
        self._line(f"{INDENT}{oldest} = {total}")
        self._line("else:")
        self._level += 1
        to = self._assign(f"{at} + {head} + H[{at} + DONE] * {whole}")
        older = self._assign(self._read("H", to, 0, kind.accumulator))
        total_name = self._of(node, "combine", fold.combine, [older, total])
        self._line(f"{oldest} = {total_name}")
        self._level -= 1
        return at, oldest

    def _init(self, node: Window, kind: Panes) -> str:
        init = node.window.fold.init
        if init is None or init is True or init is False:
            return repr(init)
        name = f"k{self.number(node)}"
        self.context.constants[name] = init, kind.accumulator
        return name

    def _of(self, node: Window, role: str, function: Any, arguments: list[str]) -> str:
        """Write the call of one of a window's functions; return the variable with its value."""
        if isinstance(function, Merging):
            kind = self.types.window(node)
            total, counts = arguments
            return self._merged(kind.accumulator, function.sign, total, counts, "False")
        if function is most_common:
            return self._best(self.types.window(node).accumulator, arguments[0])
        return super()._call(node, role, function, arguments)

    # --- keys -----------------------------------------------------------------------------------

    def _keys(self, node: MapCollect) -> str:
        threads, table, _, stride = self.kinds_of_keys(node)
        inner = self.inner[id(node)]
        keys = self._assign(f"allocate(H, {threads}, IDLE + {inner.total})")
        self._line(f"H[{keys} + TABLE] = new_table(H, {table}, {heap.LEAST}, {stride})")
        self._line(f"H[{keys} + SERIAL] = -1")
        self._line(f"{inner.base} = {keys} + IDLE")
        inner.begin(self._level)
        return keys

    def _feed(self) -> None:
        slots: dict[int, tuple[MapCollect, list[tuple[str, str]]]] = {}
        for atom, name, node in self.thread_slots():
            at, _ = self.record.values[name]
            word = f"{self._word(self.base, at)}"
            slots.setdefault(id(node), (node, []))[1].append((atom, word))
        for node, slots_of_node in slots.values():
            self._feed_one(node, slots_of_node)

    def _feed_one(self, node: MapCollect, slots: list[tuple[str, str]]) -> None:
        number, inner = self.number(node), self.inner[id(node)]
        _, _, words, stride = self.kinds_of_keys(node)
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
            self._line(f"H[{keys} + TABLE] = owned(H, J, T, H[{keys} + TABLE], True)")
            self._level -= 1
        self._line(f"H[{keys} + SERIAL] = s")
        self._line(f"{table} = H[{keys} + TABLE]")
        condition = node.sync.condition
        self._line(f"if {'True' if condition == ALWAYS else self._masks[condition]}:")
        self._line(f"{INDENT}{first} = {keys} + IDLE")
        self._line(f"{INDENT}{count} = H[{table} + COUNT] + 1")
        self._line("else:")
        self._level += 1
        self._find(node, inner, keys, table, words, stride)
        self._line(f"{first} = i{number} + {words}")
        self._line(f"{count} = 1")
        self._level -= 1
        self._line(f"{start} = {table} + ENTRIES + H[{table} + CAPACITY] + {words - stride}")
        self._line(f"for {entry} in range({count}):")
        self._level += 1
        place = f"{start} + {entry} * {stride}"
        self._line(f"{inner.base} = {first} if {entry} == 0 else {place}")
        flags = " and ".join(
            f"{inner._word(inner.base, word)} == 0" for word in range(inner.record.flag_words)
        )
        self._line(f"if {flags}: continue")
        self._line(f"keep(H, J, {inner.base}, {inner.total})")
        inner.item(self._level)
        self._level -= 2

    def _find(
        self, node: MapCollect, inner: Compiled, keys: str, table: str, words: int, stride: int
    ) -> None:
        """Write that an item's key is looked up, and added where it is new."""
        number = self.number(node)
        name = f"f{number}key"
        self.source.names[name] = node.key
        value = self._assign(f"{name}(x)")
        self._scratch(self.types.key(node), value)
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
            self._line(f"if H[{keys} + IDLE + {flags}] & {bit}: share(H, J, {idle})")
        word = self._temporary()
        self._line(f"for {word} in range({inner.told}):")
        self._line(f"{INDENT}H[{at} + {words} + {word}] = H[{keys} + IDLE + {word}]")
        self._line(f"H[{at} + {words} + {inner.told}] = -1")
        self._level -= 1

    def _collect(self, node: MapCollect, keys: str) -> str:
        inner = self.inner[id(node)]
        _, _, words, stride = self.kinds_of_keys(node)
        kind = self.kind_of(self.types.value(node))
        dynamic = isinstance(inner.value, Dynamic)
        told = words + inner.told
        parts = f"{keys}, {kind}, {words}, {told}, {stride}, s, {dynamic}"
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


KERNELS = {
    name: getattr(heap, name)
    for name in (
        *("allocate", "keep", "room", "share", "owned", "new_table", "find", "with_room"),
        *("add_entry", "add_number", "add_numbers", "best", "at_rank", "add_in_order"),
        *("front_with", "collected", "indexed", "new_window"),
        *("ring_with_room", "stacks_with_room", "mark", "marks"),
        *("SCRATCH", "SHARED", "CAPACITY", "COUNT", "GONE", "ENTRIES", "SERIAL", "TABLE", "IDLE"),
        *("IN_ORDER", "FIRST", "FILLED", "DONE", "OLDER", "NEWER", "LEAST"),
    )
}
