"""Values of saved states from bytes: the instructions that `encoding` writes, carried out."""

from __future__ import annotations

import sys
from array import array
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from elsinore.kernels.saved import reading_state
from elsinore.quantitative.encoded_classes import object_of
from elsinore.quantitative.encoded_scalars import scalar_from_bytes
from elsinore.quantitative.encoding import CONSTANTS, DOUBLE, FACTORIES, MOST_NESTED
from elsinore.quantitative.items import Record, record_type
from elsinore.quantitative.machine.evaluate import KeyProgram, Keys, check_state
from elsinore.quantitative.sketches import sketch_of
from elsinore.quantitative.versions import Bag, Counts

MOST_HASHED = 1 << 20  # values in a key of a map, each as often as it occurs


def decode(content: bytes | memoryview, programs: Mapping[str, KeyProgram] | None = None) -> Any:
    """Return the value that was encoded. Raises StateError for other bytes.

    `programs` run the keys that are in the value, by their names.
    """
    return Decoder(content, programs or {}).value()


class Reader:
    """Reads bytes and numbers, one after another. Raises ValueError beyond the end."""

    def __init__(self, content: bytes | memoryview) -> None:
        self._content, self._place = bytes(content), 0

    @property
    def is_at_end(self) -> bool:
        """Whether everything was read."""
        return self._place == len(self._content)

    def bytes(self, count: int) -> bytes:
        """Return the next bytes, so many."""
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


class Decoder:
    """Reads the values that an encoder wrote.

    Of each value it knows how deep it is nested, and how many values it holds, each as often as it
    occurs: a key of a map is hashed, which takes stack and time accordingly.
    """

    def __init__(self, content: bytes | memoryview, programs: Mapping[str, KeyProgram]) -> None:
        self._reader = Reader(content)
        self._programs = programs
        self._stack: list[tuple[Any, int, int]] = []  # value, depth, size
        self._containers: list[tuple[Any, int, int]] = []  # by number

    def value(self) -> Any:
        """Return the value. Raises StateError if the bytes are not those of `encode`."""
        with reading_state("quantitative queries"):
            while not self._reader.is_at_end:
                self._step()
            ((value, _, _),) = self._stack
            return value

    def _step(self) -> None:
        instruction = self._reader.bytes(1)
        if instruction in CONSTANTS:
            self._push(CONSTANTS[instruction])
            return
        match instruction:
            case b"D":
                self._push(DOUBLE.unpack(self._reader.bytes(8))[0])
            case b"I":
                number = self._reader.number()
                self._push(~(number >> 1) if number & 1 else number >> 1)
            case b"J":
                self._push(
                    int.from_bytes(self._reader.bytes(self._reader.number()), "little", signed=True)
                )
            case b"S":
                self._push(
                    self._reader.bytes(self._reader.number()).decode("utf-8", "surrogatepass")
                )
            case b"X":
                kind = self._reader.number()
                self._push(scalar_from_bytes(kind, self._sized()))
            case b"R":
                self._stack.append(self._containers[self._reader.number()])
            case b"d" | b"i":
                packed = array("d" if instruction == b"d" else "q")
                packed.frombytes(self._reader.bytes(8 * self._reader.number()))
                if sys.byteorder == "big":
                    packed.byteswap()
                self._make(0, lambda _: packed.tolist())
            case b"{" | b"c" | b"o" | b"e":
                factory = FACTORIES[self._reader.number()] if instruction == b"e" else None
                self._make_map(instruction, factory, self._reader.number())
            case _:
                self._make_container(instruction)

    def _make_map(self, instruction: bytes, factory: Any, count: int) -> None:
        self._check_hashed(self._stack[len(self._stack) - 2 * count :: 2])
        kinds: dict[bytes, Callable[[Any], Any]] = {
            b"{": dict,
            b"c": lambda pairs: Counter(dict(pairs)),
            b"o": OrderedDict,
            b"e": lambda pairs: defaultdict(factory, pairs),
        }
        make = kinds[instruction]
        self._make(2 * count, lambda parts: make(zip(parts[::2], parts[1::2], strict=True)))

    def _make_container(self, instruction: bytes) -> None:
        match instruction:
            case b"(":
                self._make(self._reader.number(), tuple)
            case b"[":
                self._make(self._reader.number(), list)
            case b"s" | b"f":
                count = self._reader.number()
                self._check_hashed(self._stack[len(self._stack) - count :])
                self._make(count, set if instruction == b"s" else frozenset)
            case b"Q":
                self._make(self._reader.number() + 1, lambda parts: deque(parts[:-1], parts[-1]))
            case b"C":
                self._make(1, lambda parts: Counts(_checked(parts[0], dict)))
            case b"B":
                self._make(1, lambda parts: Bag(_checked(parts[0], list)))
            case b"H":
                self._make(2, lambda parts: sketch_of(*parts))
            case b"K":
                self._make(3, self._keys)
            case b"r":
                self._make(self._reader.number() + 1, _record)
            case b"O":
                self._make(self._reader.number() + 1, _object)
            case _:
                raise ValueError(f"there is no instruction {instruction!r}")

    def _make(self, count: int, make: Callable[[list[Any]], Any]) -> None:
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

    def _keys(self, parts: list[Any]) -> Keys:
        name, idle, states = parts
        keyed = self._programs[name]
        for state in (idle, *_checked(states, dict).values()):
            check_state(keyed.program, state)
        return Keys(keyed, idle, states)

    @staticmethod
    def _check_hashed(keys: Sequence[tuple[Any, int, int]]) -> None:
        if any(size > MOST_HASHED for _, _, size in keys):
            raise ValueError(f"a key holds more than {MOST_HASHED} values")

    def _sized(self) -> bytes:
        """Return the bytes whose number comes first."""
        return self._reader.bytes(self._reader.number())

    def _push(self, value: Any) -> None:
        self._stack.append((value, 0, 1))


def _checked(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise TypeError(f"a {type(value).__name__} in place of a {kind.__name__}")
    return value


def _record(parts: list[Any]) -> Record:
    *values, names = parts
    if len(_checked(names, tuple)) != len(values):
        raise ValueError("a record has another number of values than of attributes")
    return record_type(names)(*values)


def _object(parts: list[Any]) -> Any:
    name, *values = parts
    return object_of(_checked(name, str), values)
