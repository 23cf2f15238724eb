"""By which names values are known while an item's operations are written."""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence
from typing import Any

from elsinore.quantitative.functions import Key
from elsinore.quantitative.machine.derive import ITEM, Derivation, Symbol
from elsinore.quantitative.machine.inline import expression_of, simplified
from elsinore.quantitative.machine.page import Page
from elsinore.quantitative.machine.reads import item_reads

COLUMN = re.compile(r"c(\d+)")
CONSTANT = re.compile(r"-?\d+(\.\d+)?|None|True|False")


class Names:
    """What is known by which name, on a page that is written on.

    made_item: whether the item has been written as an object (a list of one, which branches copy).
    """

    def __init__(
        self, writer: Page, derivation: Derivation, made_item: Sequence[bool] = (False,)
    ) -> None:
        self.writer, self.derivation = writer, derivation
        self.texts: dict[int, str] = {}
        self.seconds: dict[int, str] = {}  # a window's accumulator, the threads of idle keys
        self.parts: dict[int, list[str]] = {}  # of tuples
        self.held: list[Any] = []  # symbols stay while their ids are names
        self.made_item = list(made_item)

    def _give(self, symbol: Any, text: str, second: str = "") -> None:
        self.texts[id(symbol)], self.seconds[id(symbol)] = text, second
        self.held.append(symbol)

    def _give_parts(self, symbol: Symbol, parts: list[str]) -> None:
        """Let a tuple be known by its parts, which are names or constants."""
        self._give(symbol, f"({', '.join(parts)},)")
        self.parts[id(symbol)] = parts

    def text(self, value: Any) -> str:
        """Return how a value is written."""
        if not isinstance(value, Symbol):
            return repr(value)
        if value is ITEM:
            return self._item(None)
        if id(value) not in self.texts:
            self._constant(value)
        return self.texts[id(value)]

    def _second(self, value: Any) -> str:
        self.text(value)
        return self.seconds[id(value)]

    def _constant(self, symbol: Symbol) -> None:
        """Give a constant of the machine a name; a window without values is made where it goes."""
        parts = symbol.value
        if symbol.kind.of == "window":
            size = self.derivation.windows[symbol.kind.number].size
            self._give(symbol, f"deque((), {size})", self.writer.name_of(parts[3]))
            return
        if symbol.kind.of == "counts" and symbol.kind not in self.writer.shown:
            self._give(symbol, "{}")
            return
        if symbol.kind.of == "tuple":
            self._give_parts(symbol, [self._value_text(part) for part in parts])
            return
        self._give(symbol, self._value_text(parts))

    def _value_text(self, value: Any) -> str:
        plain = type(value) in {int, bool} or value is None
        return repr(value) if plain else self.writer.name_of(value)

    def _item(self, attributes: set[str] | None) -> str:
        """Write that the item is an object with attributes, None: all; return its name."""
        writer = self.writer
        if writer.columns is None:
            return "x"
        if attributes is None or not all(map(is_name, attributes)):
            if not self.made_item[0]:
                columns = ", ".join(f"c{n}" for n in range(len(writer.columns)))
                writer.line(f"x = Record({columns})")
                self.made_item[0] = True
            return "x"
        for name in sorted(attributes):
            if name not in writer.columns:
                return self._item(None)
            writer.line(f"v.{name} = {self._column(name)}")
        return "v"

    def _column(self, name: str) -> str | None:
        if self.writer.columns is None:
            return f"x.{name}"
        if name not in self.writer.columns:
            return None
        return f"c{self.writer.columns.index(name)}"

    def _kind_of(self, variable: str) -> type | None:
        """Return the class of a variable's values, where it is a column of which it is known."""
        place = COLUMN.fullmatch(variable)
        if place is None or self.writer.columns is None:
            return None
        return self.writer.kind_of(self.writer.columns[int(place[1])])

    def call(self, function: Any, given: Sequence[Any]) -> str:
        """Write the call of a function; return the expression of its value."""
        items = [n for n, value in enumerate(given) if value is ITEM]
        if isinstance(function, Key) and items == [0]:
            column = self._column(function.attribute) if is_name(function.attribute) else None
            return column or f"{self.writer.name_of(function)}({self._item(None)})"
        expression = expression_of(function)
        if expression is not None and len(expression.parameters) == len(given) and len(items) < 2:
            given_texts = ["x" if value is ITEM else self.text(value) for value in given]
            text = expression.written(
                given_texts,
                self._column,
                items[0] if items else None,
                self.writer.name_of,
                lambda function: self._item(item_reads(function)),
            )
            if text is not None:
                return simplified(text, self._kind_of, self.writer.names)
        reads = item_reads(function) if items == [0] else None
        texts = [self._item(reads) if value is ITEM else self.text(value) for value in given]
        return f"{self.writer.name_of(function)}({', '.join(texts)})"

    def _assign(self, text: str) -> str:
        if text.isidentifier() or CONSTANT.fullmatch(text):
            return text
        name = self.writer.temporary()
        self.writer.line(f"{name} = {text}")
        return name


def is_name(name: str) -> bool:
    """Return whether a name can be written as that of an attribute."""
    return name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("__")
