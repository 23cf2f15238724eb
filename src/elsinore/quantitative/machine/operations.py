"""Operations of Python on symbols: the instructions that compute what Python would.

What no instruction computes, Python's own function does (`BINARY`, `CALL`, `FIELD`), so the values
are the same either way.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Sequence
from functools import cache
from types import ModuleType
from typing import Any

from elsinore.quantitative.folds import is_comparable
from elsinore.quantitative.items import Record
from elsinore.quantitative.machine import instructions as ins
from elsinore.quantitative.machine.symbols import (
    ITEM,
    Constant,
    Emitter,
    Parts,
    Symbol,
    fields_of,
)

BINARIES: dict[type, Any] = {
    ast.Add: ins.ADD,
    ast.Sub: ins.SUBTRACT,
    ast.Mult: ins.MULTIPLY,
    ast.Div: ins.DIVIDE,
    ast.FloorDiv: ins.FLOOR_DIVIDE,
    ast.Mod: ins.MODULO,
    ast.Pow: operator.pow,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.MatMult: operator.matmul,
}
COMPARISONS: dict[type, int] = {
    ast.Lt: ins.LESS,
    ast.LtE: ins.LESS_EQUAL,
    ast.Eq: ins.EQUAL,
    ast.NotEq: ins.NOT_EQUAL,
    ast.GtE: ins.GREATER_EQUAL,
    ast.Gt: ins.GREATER,
}
ONE_NUMBER: dict[Any, int] = {
    float: ins.FLOAT,
    int: ins.WHOLE,
    abs: ins.ABSOLUTE,
    math.sqrt: ins.ROOT,
    bool: ins.TRUTH,
}


class CannotTranslate(Exception):  # noqa: N818
    """A function that Python must call."""


def binary(emitter: Emitter, operation: Any, left: Symbol, right: Symbol) -> Symbol:
    """Return the result of an operation of two values."""
    left, right = emitter.whole(left), emitter.whole(right)
    if isinstance(operation, int):
        return emitter.emit(operation, left, right)
    return emitter.emit(ins.BINARY, left, right, function=operation, again=True)


def compared(emitter: Emitter, op: ast.cmpop, left: Symbol, right: Symbol) -> Symbol:
    """Return whether a comparison is true."""
    match op:
        case ast.Is() | ast.IsNot():
            if not isinstance(right, Constant):
                left, right = right, left
            constants = {None: -1, False: 0, True: 1}
            known = right.value if isinstance(right, Constant) else 0
            if known is not None and known is not True and known is not False:
                raise CannotTranslate
            negated = isinstance(op, ast.IsNot)
            if isinstance(left, Constant):
                return emitter.constant((left.value is known) != negated)
            if isinstance(left, Parts):
                return emitter.constant(negated)
            return emitter.emit(ins.IS, left, numbers=(constants[known] + (4 if negated else 0),))
        case ast.In() | ast.NotIn():
            found = binary(emitter, operator.contains, right, left)
            return emitter.emit(ins.NOT, found) if isinstance(op, ast.NotIn) else found
        case _:
            return binary(emitter, COMPARISONS[type(op)], left, right)


def attribute(emitter: Emitter, symbol: Symbol, name: str) -> Symbol:
    """Return an attribute of a value."""
    if symbol is ITEM:
        return _of_item(emitter, name, by_key=False)
    if isinstance(symbol, Constant) and isinstance(symbol.value, ModuleType):
        return emitter.constant(getattr(symbol.value, name))
    if isinstance(symbol, Parts) and symbol.kind is not tuple:
        fields = fields_of(symbol.kind) or ()
        if name in fields:
            return symbol.parts[fields.index(name)]
    return emitter.emit(ins.FIELD, emitter.whole(symbol), function=name, again=True)


def _of_item(emitter: Emitter, name: str, *, by_key: bool) -> Symbol:
    """Return an attribute of the item."""
    if not by_key and hasattr(Record, name) and name not in {"count", "index"}:
        raise CannotTranslate
    if name not in emitter.attributes:
        emitter.attributes.append(name)
    number = emitter.attributes.index(name)
    return emitter.emit(ins.ATTRIBUTE, numbers=(number, int(by_key)))


def indexed(emitter: Emitter, symbol: Symbol, index: Symbol) -> Symbol:
    """Return the value at an index."""
    known = index.value if isinstance(index, Constant) else None
    if symbol is ITEM and type(known) is str:
        return _of_item(emitter, known, by_key=True)
    if isinstance(symbol, Parts) and symbol.kind is tuple and type(known) is int:
        count = len(symbol.parts)
        if -count <= known < count:
            return symbol.parts[known]
    return binary(emitter, operator.getitem, symbol, index)


def check_comparable(emitter: Emitter, symbol: Symbol) -> None:
    """Note a check that a value has a place in an order."""
    if isinstance(symbol, Parts) and symbol.kind is tuple:
        for part in symbol.parts:
            check_comparable(emitter, part)
    else:
        emitter.emit(ins.COMPARABLE, emitter.whole(symbol), function=is_comparable)


def unpacked(emitter: Emitter, value: Symbol, count: int) -> Sequence[Symbol]:
    """Return the parts of a value that is taken apart into so many."""
    if not isinstance(value, Parts):
        parts = emitter.emit(ins.CALL, emitter.whole(value), function=_unpacking(count))
        numbers = map(emitter.constant, range(count))
        return [emitter.emit(ins.BINARY, parts, n, function=operator.getitem) for n in numbers]
    if value.kind is not tuple or len(value.parts) != count:
        raise CannotTranslate
    return value.parts


def truth_of(symbol: Symbol) -> bool | None:
    """Return whether a value is true, None if that is not known."""
    if isinstance(symbol, Constant):
        return bool(symbol.value) if isinstance(symbol.value, bool | int | float | None) else None
    return True if isinstance(symbol, Parts) else None


@cache
def _unpacking(count: int) -> Callable[[Any], tuple[Any, ...]]:
    """Return the function that takes a value apart into so many."""

    def unpacked(value: Any) -> tuple[Any, ...]:
        parts = tuple(value)
        if len(parts) > count:
            raise ValueError(f"too many values to unpack (expected {count})")
        if len(parts) < count:
            raise ValueError(f"not enough values to unpack (expected {count}, got {len(parts)})")
        return parts

    return unpacked
