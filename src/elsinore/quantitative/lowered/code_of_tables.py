"""Mappings, collections in order, and relations over mappings, as source."""

from __future__ import annotations

from typing import Any

from numba import types

from elsinore.quantitative.approximate import CellAt
from elsinore.quantitative.folds import AtFraction, Counting
from elsinore.quantitative.lowered import objects
from elsinore.quantitative.lowered.code import Code
from elsinore.quantitative.lowered.columns import parts_of
from elsinore.quantitative.lowered.shapes import plus
from elsinore.quantitative.lowered.texts import TEXT
from elsinore.quantitative.lowered.words import Dynamic, Numbers, Ordered, double, size, write
from elsinore.quantitative.machine.layout import Place
from elsinore.quantitative.nodes import Iterate
from elsinore.quantitative.relations import Aggregate, Join, Project, Select

GREATEST_WORD = 0x7FFFFFFFFFFFFFFF


class TableCode(Code):
    """Writes what is done with tables of the heap."""

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
