"""A query's machine as the source of a kernel: keys, results, and which code a function has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numba import types

from elsinore.quantitative.approximate import CellAt
from elsinore.quantitative.folds import Adding, AtFraction, Counting, Merging, most_common
from elsinore.quantitative.lowered import objects
from elsinore.quantitative.lowered.code import Context
from elsinore.quantitative.lowered.code_of_windows import WindowCode
from elsinore.quantitative.lowered.columns import out_size, parts_of
from elsinore.quantitative.lowered.shapes import FUNCTIONS, moved, plus
from elsinore.quantitative.lowered.words import (
    RESULTS,
    Dynamic,
    Threads,
    as_record,
    constant,
    size,
    word_at,
)
from elsinore.quantitative.machine.layout import Place
from elsinore.quantitative.machine.names import INDENT
from elsinore.quantitative.regex import ALWAYS
from elsinore.quantitative.relations import Aggregate, Join, Project, Select


class Compiled(WindowCode):
    """Writes a machine over the words `memory[base], ...`."""

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
