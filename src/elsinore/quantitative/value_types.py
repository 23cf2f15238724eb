"""The types of a query's values, worked out from those of its items by instructions of functions.

Spark asks for them before there are values. What instructions do not tell (a function that Python
calls) is what the function says that it returns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pyarrow as pa

from elsinore.quantitative.approximate import CellAt, ExponentialHistogram
from elsinore.quantitative.folds import Adding, AtFraction, Counting, Fold, Merging, most_common
from elsinore.quantitative.functions import Key, left, right, unit
from elsinore.quantitative.machine import instructions as ins
from elsinore.quantitative.machine.operations import CannotTranslate
from elsinore.quantitative.machine.symbols import (
    ITEM,
    Constant,
    Emitter,
    Line,
    Parts,
    Result,
    Symbol,
    fields_of,
    parts_of,
)
from elsinore.quantitative.machine.translate import translated
from elsinore.quantitative.nodes import (
    Atom,
    Combine,
    Either,
    Iterate,
    MapCollect,
    Node,
    Split,
    Window,
)
from elsinore.quantitative.nodes import Constant as ConstantNode
from elsinore.quantitative.relations import Aggregate, Join, Project, Select
from elsinore.quantitative.sketches import SketchedWindow
from elsinore.quantitative.versions import Bag, Counts
from elsinore.quantitative.windows import Sliding

ROUNDS = 4  # in which the type of an accumulator must settle
INT, DOUBLE, BOOL, TEXT, NULL = pa.int64(), pa.float64(), pa.bool_(), pa.string(), pa.null()
OF_VALUES = {int: INT, float: DOUBLE, bool: BOOL, str: TEXT, type(None): NULL}
OF_CALLS: dict[Any, pa.DataType] = {
    len: INT,
    str: TEXT,
    repr: TEXT,
    format: TEXT,
    math.floor: INT,
    math.ceil: INT,
}
OF_CALLS |= dict.fromkeys([math.exp, math.log, math.sin, math.cos, math.pow, math.log2], DOUBLE)


class UnknownTypeError(Exception):
    """The type of a value is not known before it is there."""


@dataclass(frozen=True, slots=True)
class Record:
    """A tuple, or a record of a class, and the types of its parts."""

    kind: Any
    parts: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Collection:
    """Counts, or values in order (`kind`), of values of a type."""

    kind: Any
    value: Any


@dataclass(frozen=True, slots=True)
class Map:
    """A mapping."""

    key: Any
    value: Any


def type_of_values(
    node: Node, types: Mapping[str, pa.DataType], declared: Callable[[Any], pa.DataType | None]
) -> pa.DataType | None:
    """Return the type of a query's values for items with such attributes; None: it is not known.

    declared: the type that a function says that it returns.
    """
    try:
        return _as_arrow(_Types(types, declared).of(node))
    except UnknownTypeError:
        return None


class _Types:
    """The types of the values of nodes."""

    def __init__(
        self, types: Mapping[str, pa.DataType], declared: Callable[[Any], pa.DataType | None]
    ) -> None:
        self.types, self.declared = types, declared
        self.attributes: list[str] = []

    def of(self, node: Node) -> Any:
        """Return the type of a node's values."""
        try:
            return self._of(node)
        except UnknownTypeError:
            function = getattr(node, "step", getattr(node, "op", None))
            kind = None if function is None else self.declared(function)
            if kind is None:
                raise
            return kind

    def _of(self, node: Node) -> Any:
        match node:
            case Atom(_, op) if op is not None and op is not unit:
                return self.applied(op, [ITEM])
            case ConstantNode(value):
                return type_of_value(value)
            case Split(op=op) | Combine(op=op) | Iterate(step=op) | Atom(op=op) if op is unit:
                return NULL
            case Split(parts, op) if op is right:
                return self.of(parts[-1])
            case Split(parts, op) if op is left:
                return self.of(parts[0])
            case Split(parts, op) | Combine(parts, op):
                return self.applied(op, list(map(self.of_read, parts)))
            case Iterate(body, init, step):
                return self.settled(type_of_value(init), step, self.of_read(body))
            case Either(parts):
                return reduce(joined, map(self.of, parts))
            case Window(body, window):
                return self.of_window(window, self.of_read(body))
            case MapCollect(_, key, body, _):
                of_key = self.attribute(key.attribute) if isinstance(key, Key) else None
                of_key = self.applied(key, [ITEM]) if of_key is None else of_key
                return Map(of_key, self.of(body))
        raise UnknownTypeError

    def of_read(self, node: Node) -> Any:
        """Return the type of a value that a function gets, None if it is not known."""
        try:
            return self.of(node)
        except UnknownTypeError:
            return None

    def of_window(self, window: Any, value: Any) -> Any:
        """Return the type of a window's values."""
        if isinstance(window, ExponentialHistogram):
            return INT
        if isinstance(window, SketchedWindow):
            return DOUBLE
        assert isinstance(window, Sliding)
        return self.folded(window.fold, value)

    def folded(self, fold: Fold, value: Any) -> Any:
        """Return the type of a fold of values."""
        total = self.settled(type_of_value(fold.init), fold.step, value)
        return total if fold.finish is None else self.applied(fold.finish, [total])

    def settled(self, total: Any, step: Any, value: Any) -> Any:
        """Return the type that an accumulator has from the first step on."""
        for _ in range(ROUNDS):
            after = joined(total, self.applied(step, [total, value]))
            if after == total:
                return total
            total = after
        raise UnknownTypeError

    def attribute(self, name: str) -> Any:
        """Return the type of an attribute as a value of Python has it."""
        kind = self.types.get(name)
        if kind is None:
            raise UnknownTypeError
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if pa.types.is_integer(kind):
            return INT
        if pa.types.is_floating(kind):
            return DOUBLE
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return TEXT
        if pa.types.is_boolean(kind):
            return BOOL
        raise UnknownTypeError

    def applied(self, function: Any, given: Sequence[Any]) -> Any:
        """Return the type of a function's value."""
        special = self.of_library(function, given)
        if special is not None:
            return special
        emitter, known = Emitter(self.attributes), dict[int, Any]()
        symbols = [each if each is ITEM else _symbol(each, known) for each in given]
        try:
            value = translated(emitter, function, symbols)
            return self.of_symbol(value, emitter, known)
        except (CannotTranslate, UnknownTypeError):
            kind = self.declared(function)
            if kind is None:
                raise UnknownTypeError from None
            return kind

    def of_library(self, function: Any, given: Sequence[Any]) -> Any:
        """Return the type of a value of the library's own functions, None for others."""
        match function, given:
            case Counting(_, cell), [Collection(kind, value), added]:
                cell_type = added if cell is None else Record(tuple, (INT, INT))
                return Collection(kind, joined(value, cell_type))
            case Adding(), [Collection(kind, value), added]:
                return Collection(kind, joined(value, added))
            case Merging(), [Collection(kind, value), Collection(_, added)]:
                return Collection(kind, joined(value, added))
            case AtFraction(), [Collection(_, value)]:
                return value
            case CellAt(), _:
                return DOUBLE
            case Select(), [relation]:
                return relation
            case Project(function), [Collection() | Map() as relation]:
                key, value = _entry(relation)
                return Map(key, self.applied(function, [key, value]))
            case Join(function), [Collection() | Map() as one, Collection() | Map() as other]:
                (key, value), (_, more) = _entry(one), _entry(other)
                return Map(key, self.applied(function, [value, more]))
            case Aggregate(fold), [Collection() | Map() as relation]:
                return self.folded(fold, _entry(relation)[1])
        if function is most_common and isinstance(given[0], Collection):
            return Record(tuple, (given[0].value, INT))
        return None

    # --- instructions ---------------------------------------------------------------------------

    def of_symbol(self, symbol: Symbol, emitter: Emitter, known: dict[int, Any]) -> Any:
        """Return the type of a symbol's value, of the instructions that compute it."""
        if isinstance(symbol, Parts):
            parts = (self.of_symbol(part, emitter, known) for part in symbol.parts)
            return Record(symbol.kind, tuple(parts))
        if isinstance(symbol, Constant):
            return type_of_value(symbol.value)
        if id(symbol) not in known:
            lines = [e for e in emitter.lines if isinstance(e, Line) and e.target is symbol]
            if not lines:
                raise UnknownTypeError
            kinds = [self.of_line(line, emitter, known) for line in lines]
            known[id(symbol)] = reduce(joined, kinds)
        if known[id(symbol)] is None:
            raise UnknownTypeError
        return known[id(symbol)]

    def of_line(self, line: Line, emitter: Emitter, known: dict[int, Any]) -> Any:
        """Return the type of what an instruction computes."""
        code = line.code
        if line.is_condition:
            return BOOL
        if code in {ins.FLOAT, ins.ROOT, ins.DIVIDE}:
            return DOUBLE
        if code == ins.WHOLE:
            return INT
        if code == ins.ATTRIBUTE:
            return self.attribute(self.attributes[line.numbers[0]])
        if code == ins.COMPARABLE:
            return NULL
        if code == ins.CALL and line.function in OF_CALLS:
            return OF_CALLS[line.function]
        kinds = [self.of_symbol(symbol, emitter, known) for symbol in line.given]
        if code == ins.MOVE:
            return kinds[0]
        if code == ins.FIELD and isinstance(kinds[0], pa.StructType):
            place = kinds[0].get_field_index(line.function)
            if place >= 0:
                return kinds[0].field(place).type
        if code == ins.TUPLE:
            return Record(tuple, tuple(kinds))
        if code <= ins.MODULO or code <= ins.NEGATIVE:
            return _of_numbers(kinds)
        kind = self.declared(line.function) if code == ins.CALL else None
        if kind is None:
            raise UnknownTypeError
        return kind


def _of_numbers(kinds: Sequence[Any]) -> Any:
    """Return the type of a sum, a difference, a product or a remainder."""
    if all(kind == TEXT for kind in kinds):
        return TEXT
    if not all(kind in (INT, DOUBLE, BOOL) for kind in kinds):
        raise UnknownTypeError
    return DOUBLE if DOUBLE in kinds else INT


def _symbol(kind: Any, known: dict[int, Any]) -> Symbol:
    """Return the symbol of a value of a type."""
    if isinstance(kind, Record):
        return Parts(kind.kind, [_symbol(part, known) for part in kind.parts])
    symbol = Result()
    known[id(symbol)] = kind
    return symbol


def _entry(relation: Collection | Map) -> tuple[Any, Any]:
    """Return the types of a mapping's keys and values."""
    if isinstance(relation, Map):
        return relation.key, relation.value
    return relation.value, INT


def type_of_value(value: Any) -> Any:
    """Return the type of a value. Raises UnknownTypeError for one that has no column's type."""
    if type(value) in OF_VALUES:
        return OF_VALUES[type(value)]
    if isinstance(value, Counts | Bag):
        return Collection(type(value), reduce(joined, map(type_of_value, value.own()), NULL))
    parts = parts_of(value)
    if parts is None:
        raise UnknownTypeError
    return Record(type(value), tuple(map(type_of_value, parts)))


def joined(left: Any, right: Any) -> Any:
    """Return the type of values some of which have one type, and some the other."""
    if left is None or right is None:
        raise UnknownTypeError
    if right in (left, NULL):
        return left
    if left == NULL:
        return right
    if isinstance(left, Record) and isinstance(right, Record) and (
        (left.kind, len(left.parts)) == (right.kind, len(right.parts))
    ):  # fmt: skip
        return Record(left.kind, tuple(map(joined, left.parts, right.parts)))
    if isinstance(left, Collection) and isinstance(right, Collection) and left.kind is right.kind:
        return Collection(left.kind, joined(left.value, right.value))
    if {left, right} == {INT, DOUBLE}:
        return DOUBLE
    raise UnknownTypeError


def _as_arrow(kind: Any) -> pa.DataType:
    """Return a type as Arrow's."""
    match kind:
        case Record(of, parts):
            names = fields_of(of) or [f"_{n}" for n in range(1, len(parts) + 1)]
            pairs: Iterable[Any] = zip(names, map(_as_arrow, parts), strict=True)
            return pa.struct(list(pairs))
        case Map(key, value):
            return pa.map_(_as_arrow(key), _as_arrow(value))
        case Collection(of, value) if of is Counts:
            return pa.map_(_as_arrow(value), INT)
        case pa.DataType() if kind != NULL:
            return kind
    raise UnknownTypeError
