"""Generated source while it is written: lines, and the names of what they refer to."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from elsinore.quantitative.functions import Key
from elsinore.quantitative.machine.derive import ITEM, Derivation, Kind, Symbol
from elsinore.quantitative.machine.inline import expression_of, simplified
from elsinore.quantitative.machine.layout import item_reads

INDENT = "    "
CONSTANT = re.compile(r"-?\d+(\.\d+)?|None|True|False")


@dataclass(slots=True)
class Page:
    """Lines of code, and what they refer to by name.

    columns: the items' attributes, None where items are objects; shown: counts of which older
    versions are read, so that they are not changed in place.
    """

    columns: tuple[str, ...] | None
    shown: frozenset[Kind]
    lines: list[str] = field(default_factory=list)
    names: dict[str, Any] = field(default_factory=dict)
    makes: bool = True  # whether records that are given out alone may be tuples of their fields
    given_out: set[type | None] = field(default_factory=set)  # of which classes; None: others
    level: int = 0
    _known: dict[int, str] = field(default_factory=dict)  # id of a value -> its name
    _temporaries: int = 0

    def line(self, text: str) -> None:
        """Write a line at the level of indentation."""
        self.lines.append(INDENT * self.level + text)

    def temporary(self) -> str:
        """Return a new name of a variable."""
        self._temporaries += 1
        return f"t{self._temporaries}"

    def name_of(self, value: Any) -> str:
        """Return a name for a value, the same one each time."""
        if id(value) not in self._known:
            self._known[id(value)] = name = f"g{len(self._known)}"
            self.names[name] = value
        return self._known[id(value)]

    def chain(self, states: Sequence[int], write: Callable[[int], Any], state: str) -> None:
        """Write what is done in each of some control states; `state` is where its number is."""
        if len(states) > 1:
            self.line(f"p = {state}")
            state = "p"
        for place, number in enumerate(states):
            self.line(f"{'el' if place else ''}if {state} == {number}:")
            self.level += 1
            write(number)
            self.level -= 1


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
        self.bound_rows: list[Any] = []  # symbols stay while their ids are names
        self.made_item = list(made_item)

    def _give(self, symbol: Any, text: str, second: str = "") -> None:
        self.texts[id(symbol)], self.seconds[id(symbol)] = text, second
        self.bound_rows.append(symbol)

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
                return simplified(text)
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
