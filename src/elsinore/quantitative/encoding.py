"""Values of queries as bytes, and back, for saved states: a declared layout without pickle.

The bytes are instructions for a stack, in postfix order. An instruction is one byte and its
operands. It pushes a value without parts, pushes a container again that was made before (by its
number, so that containers are written once), or replaces the uppermost values by a container of
them: `C`, the number of its type in `encoded_values.TYPES`, and the number of its parts. Lengths
and numbers are unsigned integers of seven bits a byte, the least significant first.

Only types of that table are made. A length is compared with the bytes that are left before memory
is allocated. Containers are nested MOST_NESTED deep at most, because hashing and comparing them
takes C's stack, and a key of a map has MOST_HASHED values at most, each as often as it occurs,
because hashing a key that refers to the same parts again and again takes time without limit.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from elsinore.kernels.saved import reading_state
from elsinore.quantitative.encoded_values import (
    KEYS,
    TYPES,
    UnsupportedValueError,
    exactly,
    taken_apart,
)
from elsinore.quantitative.items import UNDEFINED
from elsinore.quantitative.machine.evaluate import KeyProgram, Keys, check_state

MOST_NESTED = 500
MOST_HASHED = 1 << 20

CONSTANTS = {b"N": None, b"T": True, b"F": False, b"U": UNDEFINED}
DOUBLE = struct.Struct("<d")
_FEWEST_64, _MOST_64 = -(1 << 63), (1 << 63) - 1


class Size(NamedTuple):
    """How deep a value is nested, and the number of values in it, each as often as it occurs."""

    depth: int
    values: int


LEAF = Size(0, 1)


def _size_of_container(parts: Sequence[Size], hashed: int) -> Size:
    """Return the size of a container; ValueError if it is nested too deep or a key is too large.

    Each part is hashed if `hashed` is 1, every other if it is 2, none if it is 0.
    """
    depth = 1 + max((part.depth for part in parts), default=0)
    if depth > MOST_NESTED:
        raise ValueError(f"more than {MOST_NESTED} containers in one another")
    if hashed and any(part.values > MOST_HASHED for part in parts[::hashed]):
        raise ValueError(f"a container with a key of more than {MOST_HASHED} values")
    return Size(depth, min(1 + sum(part.values for part in parts), MOST_HASHED + 1))


# --- writing ------------------------------------------------------------------------------------


class _Finished(NamedTuple):
    """A container all of whose parts have been written."""

    value: Any
    type_number: int
    parts: int


def encode(value: Any) -> bytes:
    """Return a value as bytes. Raises UnsupportedValueError for unsupported types.

    >>> decode(encode({"a": (1, 2.5), "b": [None, 3**50]}))
    {'a': (1, 2.5), 'b': [None, 717897987691852588770249]}
    """
    out = bytearray()
    written: dict[int, tuple[int, Size]] = {}  # number and size of containers, by identity
    alive: list[Any] = []  # these containers: no other may get the identity of one
    sizes: list[Size] = []  # of the values on the reader's stack
    pending: list[Any] = [value]
    unfinished: set[int] = set()
    while pending:
        part = pending.pop()
        if type(part) is _Finished:
            out += b"C" + varint(part.type_number) + varint(part.parts)
            begin = len(sizes) - part.parts
            try:
                size = _size_of_container(sizes[begin:], TYPES[part.type_number].hashed)
            except ValueError as error:
                raise UnsupportedValueError(str(error)) from error
            sizes[begin:] = [size]
            unfinished.discard(id(part.value))
            written[id(part.value)] = len(written), size
            alive.append(part.value)
            continue
        leaf = _leaf(part)
        if leaf is not None:
            out += leaf
            sizes.append(LEAF)
        elif id(part) in written:
            number, size = written[id(part)]
            out += b"R" + varint(number)
            sizes.append(size)
        elif id(part) in unfinished:
            raise UnsupportedValueError(f"a {type(part).__name__} that contains itself")
        else:
            type_number, parts = taken_apart(part)
            unfinished.add(id(part))
            pending.append(_Finished(part, type_number, len(parts)))
            pending += reversed(parts)
    return bytes(out)


def varint(number: int) -> bytes:
    """Return a number that is not negative, seven bits a byte, the least significant first."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def _with_length(content: bytes) -> bytes:
    return varint(len(content)) + content


def _leaf(value: Any) -> bytes | None:
    """Return the instruction for a value without parts, None for a container."""
    kind = type(value)
    if kind is float:
        return b"D" + DOUBLE.pack(value)
    if kind is int:
        if _FEWEST_64 <= value <= _MOST_64:
            return b"I" + varint(value << 1 if value >= 0 else ~value << 1 | 1)
        content = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
        return b"J" + _with_length(content)
    if kind is str:
        return b"S" + _with_length(value.encode("utf-8", "surrogatepass"))
    if kind is bytes:
        return b"B" + _with_length(value)
    for instruction, constant in CONSTANTS.items():
        if value is constant:
            return instruction
    return None


# --- reading ------------------------------------------------------------------------------------


def decode(content: bytes | memoryview, programs: Mapping[str, KeyProgram] | None = None) -> Any:
    """Return the value that was encoded. Raises StateError for other bytes.

    `programs` run the keys that are in the value, by their names.
    """
    with reading_state("quantitative queries"):
        return _Decoder(content, programs or {}).value()


class Reader:
    """Reads bytes and numbers, one after another. Raises ValueError beyond the end."""

    def __init__(self, content: bytes | memoryview) -> None:
        self._content, self._place = bytes(content), 0

    @property
    def is_at_end(self) -> bool:
        """Whether everything was read."""
        return self._place == len(self._content)

    def bytes(self, count: int) -> bytes:
        """Return the next `count` bytes."""
        end = self._place + count
        if end > len(self._content):
            raise ValueError("a value is longer than the state")
        part = self._content[self._place : end]
        self._place = end
        return part

    def number(self) -> int:
        """Return the number that `varint` wrote."""
        number = shift = 0
        while True:
            byte = self.bytes(1)[0]
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number
            if shift > 63:
                raise ValueError("a number of more than 64 bits")

    def check_end(self) -> None:
        """Raise ValueError unless everything was read."""
        if not self.is_at_end:
            raise ValueError("there are more bytes than values")


class _Decoder:
    """Reads the values that `encode` wrote."""

    def __init__(self, content: bytes | memoryview, programs: Mapping[str, KeyProgram]) -> None:
        self._reader, self._programs = Reader(content), programs
        self._stack: list[tuple[Any, Size]] = []
        self._containers: list[tuple[Any, Size]] = []  # by number

    def value(self) -> Any:
        """Return the value."""
        while not self._reader.is_at_end:
            self._stack.append(self._next())
        ((value, _),) = self._stack
        return value

    def _next(self) -> tuple[Any, Size]:
        """Carry out an instruction; return the value that it puts on the stack."""
        reader = self._reader
        instruction = reader.bytes(1)
        if instruction in CONSTANTS:
            return CONSTANTS[instruction], LEAF
        match instruction:
            case b"D":
                return DOUBLE.unpack(reader.bytes(8))[0], LEAF
            case b"I":
                number = reader.number()
                return ~(number >> 1) if number & 1 else number >> 1, LEAF
            case b"J":
                content = reader.bytes(reader.number())
                return int.from_bytes(content, "little", signed=True), LEAF
            case b"S":
                content = reader.bytes(reader.number())
                return content.decode("utf-8", "surrogatepass"), LEAF
            case b"B":
                return reader.bytes(reader.number()), LEAF
            case b"R":
                return self._containers[reader.number()]
            case b"C":
                self._containers.append(self._container(reader.number(), reader.number()))
                return self._containers[-1]
        raise ValueError(f"there is no instruction {instruction!r}")

    def _container(self, type_number: int, count: int) -> tuple[Any, Size]:
        """Take `count` values from the stack; return the container of these parts."""
        begin = len(self._stack) - count
        if begin < 0:
            raise ValueError("a container has more parts than there are values")
        parts = self._stack[begin:]
        del self._stack[begin:]
        stored = TYPES[type_number]
        size = _size_of_container([size for _, size in parts], stored.hashed)
        build: Callable[..., Any] = self._keys if type_number == KEYS else stored.build
        return build(*(value for value, _ in parts)), size

    def _keys(self, name: Any, idle: Any, states: Any) -> Keys:
        keyed = self._programs[name]
        for state in (idle, *exactly(dict, states).values()):
            check_state(keyed.program, state)
        return Keys(keyed, idle, states)
