"""Values of queries as bytes, and back, for saved states: JSON, without pickle.

The content is a list with a row for each container, and the value itself last. A row has the number
of the container's type in `encoded_values.TYPES`, and its parts: numbers, texts, truth values and
null as JSON has them, and containers of earlier rows as `[number]`. So containers are written once.

Only types of that table are built. Containers are nested MOST_NESTED deep at most, because hashing
and comparing them takes C's stack, and a key of a map has MOST_HASHED values at most, each as often
as it occurs, because hashing a key that refers to the same parts again and again takes time without
limit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from elsinore.quantitative.encoded_values import (
    KEYS,
    TYPES,
    UnsupportedValueError,
    exactly,
    taken_apart,
)
from elsinore.quantitative.machine.control import KeyedProgram
from elsinore.quantitative.machine.moments import Keys
from elsinore.saved_states import reading_state

MOST_NESTED = 500
MOST_HASHED = 1 << 20

_LEAVES = {type(None), bool, int, float, str}
_to_json = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


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


class _Finished(NamedTuple):
    """A container all of whose parts have been written."""

    value: Any
    type_number: int
    parts: Sequence[Any]


def encode(value: Any) -> bytes:
    """Return a value as bytes. Raises UnsupportedValueError for unsupported types.

    >>> encode({"a": (1, 2.5)})
    b'[[0,1,2.5],[3,"a",[0]],[1]]'
    """
    rows: list[Any] = []
    numbers: dict[int, int] = {}  # of rows, by the identity of their containers
    sizes: list[Size] = []  # of rows
    alive: list[Any] = []  # their containers: no other may get the identity of one
    pending: list[Any] = [value]
    unfinished: set[int] = set()

    def part_of_row(part: Any) -> Any:
        return part if _is_leaf(part) else [numbers[id(part)]]

    while pending:
        part = pending.pop()
        if type(part) is _Finished:
            row = [part.type_number, *map(part_of_row, part.parts)]
            part_sizes = [sizes[p[0]] if type(p) is list else LEAF for p in row[1:]]
            try:
                sizes.append(_size_of_container(part_sizes, TYPES[part.type_number].hashed))
            except ValueError as error:
                raise UnsupportedValueError(str(error)) from error
            unfinished.discard(id(part.value))
            numbers[id(part.value)] = len(rows)
            rows.append(row)
            alive.append(part.value)
        elif id(part) in unfinished:
            raise UnsupportedValueError(f"a {type(part).__name__} that contains itself")
        elif not _is_leaf(part) and id(part) not in numbers:
            type_number, parts = taken_apart(part)
            unfinished.add(id(part))
            pending.append(_Finished(part, type_number, parts))
            pending += reversed(parts)
    return _to_json([*rows, part_of_row(value)]).encode("utf-8", "surrogatepass")


def _is_leaf(value: Any) -> bool:
    kind = type(value)
    return kind in _LEAVES and (kind is not int or -(1 << 63) <= value < 1 << 63)


def decode(content: bytes | memoryview, programs: Mapping[str, KeyedProgram] | None = None) -> Any:
    """Return the value that was encoded. Raises StateError for other bytes.

    `programs` run the keys that are in the value, by their names.
    """

    def keys(name: Any, idle: Any, states: Any) -> Keys:
        program = (programs or {})[name]
        restored = Keys(program)
        for code, stacks in enumerate((idle, *exactly(dict, states).values())):
            program.check(stacks)
            program.put(restored.memory, code, stacks)
        for key in states:
            restored.add(key)
        return restored

    def read(part: Any) -> tuple[Any, Size]:
        if type(part) is list:
            (number,) = part
            return containers[number]
        if type(part) not in _LEAVES:
            raise TypeError(f"a {type(part).__name__} in a state")
        return part, LEAF

    containers: list[tuple[Any, Size]] = []
    with reading_state("quantitative queries"):
        *rows, root = json.loads(bytes(content).decode("utf-8", "surrogatepass"))
        for type_number, *row in rows:
            stored = TYPES[type_number]
            parts = [read(part) for part in row]
            size = _size_of_container([size for _, size in parts], stored.hashed)
            build: Callable[..., Any] = keys if type_number == KEYS else stored.build
            containers.append((build(*(value for value, _ in parts)), size))
        return read(root)[0]
