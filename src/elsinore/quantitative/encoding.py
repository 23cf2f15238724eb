"""Values of queries as bytes, and back, for saved states: a declared layout without pickle.

The bytes are instructions for a stack: each is one byte and its operands, and pushes a value or
replaces the uppermost values by a container of them. A container that occurs several times is
written once and then referred to by its number. Lengths and numbers are unsigned integers of seven
bits a byte, the least first. One table has, for each type of containers, how values are taken
apart and made (`CONTAINERS`); another is of values without parts (`encoded_values`).

Reading makes numbers, texts, bytes, dates and times, tuples, lists, maps, sets, NumPy's arrays,
dataclasses and named tuples, and what Elsinore's own folds keep. A class is looked up in the
modules that are loaded already and must be a dataclass or a named tuple; its fields are set without
calling its functions. A length is compared with the bytes that are left before memory is allocated.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from elsinore.kernels.saved import reading_state
from elsinore.quantitative.encoded_values import (
    UnsupportedValueError,
    class_name,
    is_class,
    object_of,
    scalar_from_bytes,
    scalar_to_bytes,
    stored_values,
)
from elsinore.quantitative.items import UNDEFINED, Record, record_type
from elsinore.quantitative.machine.evaluate import KeyProgram, Keys, check_state
from elsinore.quantitative.sketches import Sketch, sketch_of
from elsinore.quantitative.versions import Bag, Counts

MOST_NESTED = 500  # containers in one another: hashing and comparing them takes C's stack
MOST_HASHED = 1 << 20  # values in a key of a map, each as often as it occurs
PACKED = 4  # numbers in a list from which on they are written without instructions
FACTORIES = (None, int, float, str, list, dict, set, tuple)  # of the values that a defaultdict adds

CONSTANTS = {b"N": None, b"T": True, b"F": False, b"U": UNDEFINED}
PACKINGS = {float: (b"d", "d"), int: (b"i", "q")}  # instruction, and the code of `array`
DOUBLE = struct.Struct("<d")
_FEWEST_64, _MOST_64 = -(1 << 63), (1 << 63) - 1

Parts = Sequence[Any]


class Container(NamedTuple):
    """How containers of a type are written and read.

    There are `each` parts for each number of the length, which is written if `each` is not 0, and
    some `beside` these. parts: takes a container apart; make: makes one of its parts.
    """

    instruction: bytes
    each: int
    beside: int
    parts: Callable[[Any], Parts]
    make: Callable[[Parts], Any]
    hashes: bool = False


def _pairs(values: Mapping[Any, Any]) -> Parts:
    return [part for pair in values.items() for part in pair]


def _mapping(parts: Parts) -> dict[Any, Any]:
    return dict(zip(parts[::2], parts[1::2], strict=True))


def _checked(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise TypeError(f"a {type(value).__name__} in place of a {kind.__name__}")
    return value


def _record(parts: Parts) -> Record:
    *values, names = parts
    if len(_checked(names, tuple)) != len(values):
        raise ValueError("a record has another number of values than of attributes")
    return record_type(names)(*values)


CONTAINERS: dict[Any, Container] = {
    tuple: Container(b"(", 1, 0, tuple, tuple),
    list: Container(b"[", 1, 0, list, list),
    dict: Container(b"{", 2, 0, _pairs, _mapping, hashes=True),
    set: Container(b"s", 1, 0, list, set, hashes=True),
    frozenset: Container(b"f", 1, 0, list, frozenset, hashes=True),
    Counter: Container(b"c", 2, 0, _pairs, lambda parts: Counter(_mapping(parts)), hashes=True),
    OrderedDict: Container(
        b"o", 2, 0, _pairs, lambda parts: OrderedDict(_mapping(parts)), hashes=True
    ),
    deque: Container(b"Q", 1, 1, lambda q: [*q, q.maxlen], lambda p: deque(p[:-1], p[-1])),
    Counts: Container(b"C", 0, 1, lambda c: (dict(c),), lambda p: Counts(_checked(p[0], dict))),
    Bag: Container(
        b"B", 0, 1, lambda bag: (list(bag.in_order()),), lambda p: Bag(_checked(p[0], list))
    ),
    Sketch: Container(b"H", 0, 2, Sketch.parts, lambda parts: sketch_of(*parts)),
    Record: Container(b"r", 1, 1, lambda record: (*record, record._fields), _record),
    object: Container(  # of a dataclass or a named tuple
        b"O", 1, 1, lambda value: (class_name(type(value)), *stored_values(value)),
        lambda parts: object_of(_checked(parts[0], str), parts[1:]),
    ),
}  # fmt: skip
BY_INSTRUCTION = {container.instruction: container for container in CONTAINERS.values()}


# --- writing ------------------------------------------------------------------------------------


class _Finished(NamedTuple):
    """A container all of whose parts have been written."""

    value: Any
    instruction: bytes


def encode(value: Any) -> bytes:
    """Return a value as bytes. Raises UnsupportedValueError for unsupported types.

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
        parts, instruction = _taken_apart(part)
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


def _sized(content: bytes) -> bytes:
    return varint(len(content)) + content


def _leaf(value: Any) -> bytes | None:
    """Return the instruction for a value without parts, None for a container."""
    kind = type(value)
    if kind is float:
        return b"D" + DOUBLE.pack(value)
    if kind is int:
        if _FEWEST_64 <= value <= _MOST_64:
            return b"I" + varint(value << 1 if value >= 0 else ~value << 1 | 1)
        return b"J" + _sized(value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True))
    if kind is str:
        return b"S" + _sized(value.encode("utf-8", "surrogatepass"))
    for instruction, constant in CONSTANTS.items():
        if value is constant:
            return instruction
    scalar = scalar_to_bytes(value)
    return None if scalar is None else b"X" + varint(scalar[0]) + _sized(scalar[1])


def _taken_apart(value: Any) -> tuple[Parts, bytes]:
    """Return the parts of a container, and the instruction that makes it of them."""
    kind = type(value)
    if kind is Keys:
        return (value.program.name, value.idle, value.states), b"K"
    if kind is defaultdict and value.default_factory in FACTORIES:
        factory = varint(FACTORIES.index(value.default_factory))
        return _pairs(value), b"e" + factory + varint(len(value))
    packed = _packed(value) if kind is list else None
    if packed is not None:
        return (), packed
    container = CONTAINERS.get(kind)
    if container is None and isinstance(value, Record):
        container = CONTAINERS[Record]
    if container is None and is_class(kind):
        container = CONTAINERS[object]
    if container is None:
        raise UnsupportedValueError(f"a {kind.__module__}.{kind.__qualname__}")
    parts, each = container.parts(value), container.each
    length = varint((len(parts) - container.beside) // each) if each else b""
    return parts, container.instruction + length


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


def _sized_bytes(reader: Reader) -> bytes:
    """Return bytes whose number comes first."""
    return reader.bytes(reader.number())


class _Decoder:
    """Reads the values that `encode` wrote.

    With each value it keeps how deep it is nested, and how many values it has, each as often as it
    occurs: a key of a map is hashed, which takes stack and time accordingly.
    """

    def __init__(self, content: bytes | memoryview, programs: Mapping[str, KeyProgram]) -> None:
        self._reader, self._programs = Reader(content), programs
        self._stack: list[tuple[Any, int, int]] = []  # value, depth, size
        self._containers: list[tuple[Any, int, int]] = []  # by number

    def value(self) -> Any:
        """Return the value."""
        while not self._reader.is_at_end:
            self._step()
        ((value, _, _),) = self._stack
        return value

    def _step(self) -> None:
        reader, instruction = self._reader, self._reader.bytes(1)
        if instruction in CONSTANTS:
            self._push(CONSTANTS[instruction])
            return
        match instruction:
            case b"D":
                self._push(DOUBLE.unpack(reader.bytes(8))[0])
            case b"I":
                number = reader.number()
                self._push(~(number >> 1) if number & 1 else number >> 1)
            case b"J":
                self._push(int.from_bytes(_sized_bytes(reader), "little", signed=True))
            case b"S":
                self._push(_sized_bytes(reader).decode("utf-8", "surrogatepass"))
            case b"X":
                self._push(scalar_from_bytes(reader.number(), _sized_bytes(reader)))
            case b"R":
                self._stack.append(self._containers[reader.number()])
            case b"d" | b"i":
                packed = array("d" if instruction == b"d" else "q")
                packed.frombytes(reader.bytes(8 * reader.number()))
                if sys.byteorder == "big":
                    packed.byteswap()
                self._make(0, lambda _: packed.tolist())
            case b"K":
                self._make(3, self._keys)
            case b"e":
                factory: Any = FACTORIES[reader.number()]
                count = reader.number()
                self._check_hashed(2 * count, 2)
                self._make(2 * count, lambda parts: defaultdict(factory, _mapping(parts)))
            case _ if instruction in BY_INSTRUCTION:
                _, each, beside, _, make, hashes = BY_INSTRUCTION[instruction]
                count = beside + each * (reader.number() if each else 0)
                if hashes:
                    self._check_hashed(count, each)
                self._make(count, make)
            case _:
                raise ValueError(f"there is no instruction {instruction!r}")

    def _push(self, value: Any) -> None:
        self._stack.append((value, 0, 1))

    def _make(self, count: int, make: Callable[[Parts], Any]) -> None:
        """Replace the uppermost values by a container of them."""
        begin = len(self._stack) - count
        if begin < 0:
            raise ValueError("a container has more parts than there are values")
        parts = self._stack[begin:]
        depth = 1 + max((depth for _, depth, _ in parts), default=0)
        if depth > MOST_NESTED:
            raise ValueError(f"more than {MOST_NESTED} containers are in one another")
        size = min(1 + sum(size for _, _, size in parts), MOST_HASHED + 1)
        container = make([value for value, _, _ in parts]), depth, size
        del self._stack[begin:]
        self._stack.append(container)
        self._containers.append(container)

    def _check_hashed(self, count: int, each: int) -> None:
        """Raise ValueError if a key among the uppermost values, each of several, is too large."""
        keys = self._stack[len(self._stack) - count :: each]
        if any(size > MOST_HASHED for _, _, size in keys):
            raise ValueError(f"a key holds more than {MOST_HASHED} values")

    def _keys(self, parts: Parts) -> Keys:
        name, idle, states = parts
        keyed = self._programs[name]
        for state in (idle, *_checked(states, dict).values()):
            check_state(keyed.program, state)
        return Keys(keyed, idle, states)
