"""Forged states: bytes that look like a saved state but are invalid."""

from __future__ import annotations

import os
import pickle
import random
import struct
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from elsinore.errors import StateError

HEADER = 9  # bytes before the checked part: magic, version, checksum
MOST_ALLOCATED = 1 << 26  # bytes that reading a small state may take at most


class Execution:
    """Runs a command if it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch executed-by-a-forged-state",)


def resealed(blob: bytes, content: bytes) -> bytes:
    """Return a state whose content is replaced, with a correct checksum."""
    return blob[:5] + struct.pack("<I", zlib.crc32(content)) + content


def damaged(blob: bytes, seed: int) -> Iterator[bytes]:
    """Yield the state truncated, with single bits flipped, and with a wrong checksum."""
    drawn = random.Random(seed)
    for length in sorted({0, 1, HEADER, len(blob) - 1, *drawn.choices(range(len(blob)), k=20)}):
        yield blob[:length]
    for _ in range(60):
        place, bit = drawn.randrange(len(blob)), 1 << drawn.randrange(8)
        yield blob[:place] + bytes([blob[place] ^ bit]) + blob[place + 1 :]
    (checksum,) = struct.unpack("<I", blob[5:HEADER])
    yield blob[:5] + struct.pack("<I", checksum ^ 0xFFFF) + blob[HEADER:]
    yield blob + b"\0"


def executing(blob: bytes) -> Iterator[bytes]:
    """Yield states with a pickle that runs a command, and correct checksums."""
    (length,) = struct.unpack("<I", blob[HEADER : HEADER + 4])
    head = blob[HEADER : HEADER + 4 + length]
    for protocol in (0, 2, 5):
        attack = pickle.dumps(Execution(), protocol=protocol)
        yield attack
        yield resealed(blob, attack)
        yield resealed(blob, head + attack)
        yield resealed(blob, head + struct.pack("<I", len(attack)) + attack)


def altered(blob: bytes, seed: int, count: int) -> Iterator[bytes]:
    """Yield the state with changed bytes of its content, and a correct checksum.

    Some bytes become very large integers of four and eight bytes.
    """
    drawn = random.Random(seed)
    (length,) = struct.unpack("<I", blob[HEADER : HEADER + 4])
    begin = 4 + length
    content = blob[HEADER:]
    large = [b"\xff" * 4, b"\xff\xff\xff\x7f", b"\xff" * 7 + b"\x7f", b"\0" * 5 + b"\x40\0\0"]
    for _ in range(count):
        place = drawn.randrange(begin, len(content))
        new = drawn.choice([bytes([drawn.randrange(256)]), drawn.choice(large)])
        yield resealed(blob, content[:place] + new + content[place + len(new) :])
        yield resealed(blob, content[:place])


def check_forgeries(
    load: Callable[[bytes], object], blob: bytes, *, seed: int = 0, count: int = 100
) -> None:
    """Check that each forged state is refused by StateError, and takes little memory.

    A state that is altered in one of `count` ways and has a correct checksum may be the state of
    another stream: it is loaded, or refused by StateError.
    """
    load(blob)
    for forged in (*damaged(blob, seed), *executing(blob)):
        with pytest.raises(StateError), allocating_little():
            load(forged)
    for forged in altered(blob, seed, count):
        with allocating_little():
            try:
                load(forged)
            except StateError:
                continue
    assert not os.path.exists("executed-by-a-forged-state")


@contextmanager
def allocating_little() -> Iterator[None]:
    """Check that the block takes little memory."""
    tracemalloc.start()
    try:
        yield
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < MOST_ALLOCATED
