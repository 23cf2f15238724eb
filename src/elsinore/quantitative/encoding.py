"""Values of queries as bytes, for saved states: a declared layout without pickle.

The bytes are instructions for a stack: each is one byte and its operands, and pushes a value or
replaces the uppermost values by a container of them. A container that occurs several times is
written once and then referred to by its number. Lengths and numbers are unsigned integers of seven
bits a byte, the least first.

Reading makes numbers, texts, bytes, dates and times, tuples, lists, maps, sets, NumPy's arrays,
dataclasses and named tuples, and what Elsinore's own folds keep. A class is looked up in the
modules that are loaded already and must be a dataclass or a named tuple; its fields are set without
calling its functions. A length is compared with what is there before memory is allocated.
"""

from __future__ import annotations

import dataclasses
import struct
import sys
from array import array
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Mapping, Sequence
from typing import Any

from elsinore.quantitative.encoded_classes import (
    UnsupportedValueError,
    class_name,
    is_class,
    stored_values,
)
from elsinore.quantitative.encoded_scalars import scalar_to_bytes
from elsinore.quantitative.items import UNDEFINED, Record
from elsinore.quantitative.machine.evaluate import Keys
from elsinore.quantitative.sketches import Sketch
from elsinore.quantitative.versions import Bag, Counts

MOST_NESTED = 500  # containers in one another: hashing and comparing them takes C's stack
PACKED = 4  # numbers in a list from which on they are written without instructions
FACTORIES = (None, int, float, str, list, dict, set, tuple)  # of the values that a defaultdict adds

CONSTANTS = {b"N": None, b"T": True, b"F": False, b"U": UNDEFINED}
PACKINGS = {float: (b"d", "d"), int: (b"i", "q")}  # instruction, and the code of `array`
DOUBLE = struct.Struct("<d")
_FEWEST_64, _MOST_64 = -(1 << 63), (1 << 63) - 1


@dataclasses.dataclass(frozen=True, slots=True)
class _Finished:
    """A container all of whose parts have been written."""

    value: Any
    instruction: bytes


def encode(value: Any) -> bytes:
    """Return a value as bytes. Raises UnsupportedValueError for what saved states do not hold.

    >>> from elsinore.quantitative.decoding import decode
    >>> decode(encode({"a": (1, 2.5), "b": [None, 3**50]}))
    {'a': (1, 2.5), 'b': [None, 717897987691852588770249]}
    """
    out = bytearray()
    numbers: dict[int, int] = {}  # of containers that have been written, by identity
    alive: list[Any] = []  # these containers: no other may get the identity of one
    pending: list[Any] = [value]
    unfinished: set[int] = set()
    while pending:
        part = pending.pop()
        if type(part) is _Finished:
            out += part.instruction
            unfinished.discard(id(part.value))
            numbers[id(part.value)] = len(numbers)
            alive.append(part.value)
            continue
        leaf = _leaf(part)
        if leaf is not None:
            out += leaf
            continue
        number = numbers.get(id(part))
        if number is not None:
            out += b"R" + varint(number)
            continue
        if id(part) in unfinished:
            raise UnsupportedValueError(f"a {type(part).__name__} that contains itself")
        if len(unfinished) == MOST_NESTED:
            raise UnsupportedValueError(f"more than {MOST_NESTED} containers in one another")
        parts, instruction = _container(part)
        unfinished.add(id(part))
        pending.append(_Finished(part, instruction))
        pending += reversed(parts)
    return bytes(out)


def varint(number: int) -> bytes:
    """Return a number that is not negative, seven bits a byte, the least first."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def _leaf(value: Any) -> bytes | None:
    """Return the instruction for a value without parts, None for a container."""
    kind = type(value)
    if kind is float:
        return b"D" + DOUBLE.pack(value)
    if kind is int:
        if _FEWEST_64 <= value <= _MOST_64:
            return b"I" + varint(value << 1 if value >= 0 else ~value << 1 | 1)
        content: bytes = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
        return b"J" + varint(len(content)) + content
    if kind is str:
        content = value.encode("utf-8", "surrogatepass")
        return b"S" + varint(len(content)) + content
    for instruction, constant in CONSTANTS.items():
        if value is constant:
            return instruction
    scalar = scalar_to_bytes(value)
    if scalar is None:
        return None
    number, content = scalar
    return b"X" + varint(number) + varint(len(content)) + content


def _container(value: Any) -> tuple[Sequence[Any], bytes]:
    """Return the parts of a container, and the instruction that makes it of them."""
    kind = type(value)
    if kind is tuple:
        return value, b"(" + varint(len(value))
    if kind is list:
        packed = _packed(value)
        return (value, b"[" + varint(len(value))) if packed is None else ((), packed)
    if kind is dict:
        return _pairs(value), b"{" + varint(len(value))
    if kind is set or kind is frozenset:
        return list(value), (b"s" if kind is set else b"f") + varint(len(value))
    if kind is Counter:
        return _pairs(value), b"c" + varint(len(value))
    if kind is OrderedDict:
        return _pairs(value), b"o" + varint(len(value))
    if kind is deque:
        return [*value, value.maxlen], b"Q" + varint(len(value))
    if kind is Counts:
        return (dict(value),), b"C"
    if kind is Bag:
        return (list(value.in_order()),), b"B"
    if kind is Sketch:
        return value.parts(), b"H"
    if kind is Keys:
        return (value.program.name, value.idle, value.states), b"K"
    if kind is defaultdict and value.default_factory in FACTORIES:
        factory = varint(FACTORIES.index(value.default_factory))
        return _pairs(value), b"e" + factory + varint(len(value))
    if isinstance(value, Record):
        return (*value, value._fields), b"r" + varint(len(value))
    if is_class(kind):
        values = stored_values(value)
        return (class_name(kind), *values), b"O" + varint(len(values))
    raise UnsupportedValueError(f"a {kind.__module__}.{kind.__qualname__}")


def _packed(values: list[Any]) -> bytes | None:
    """Return the instruction for a list of doubles or of integers of 64 bits, None for others."""
    if len(values) < PACKED or type(values[0]) not in PACKINGS:
        return None
    kind = type(values[0])
    instruction, code = PACKINGS[kind]
    if any(type(value) is not kind for value in values):
        return None
    try:
        packed = array(code, values)
    except OverflowError:
        return None
    if sys.byteorder == "big":
        packed.byteswap()
    return instruction + varint(len(values)) + packed.tobytes()


def _pairs(values: Mapping[Any, Any]) -> list[Any]:
    return [part for pair in values.items() for part in pair]
