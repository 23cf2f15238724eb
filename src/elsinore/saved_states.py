"""Saved states as bytes: a checksum, the owner, and named arrays or any other content.

Layout of a sealed state, version 3 (integers are little-endian):

    magic "ELSA" | version u8 | CRC-32 of the rest u32 | length of head u32 | head | content

The head is JSON: the owner (which operator, in which version of its layout) and the fingerprint of
what it answers. Nothing in a state is code, and nothing is executed to read one. A length that is
read from a state is compared with the bytes that are there before memory is allocated for it, so a
state that was damaged or written by somebody else results in a StateError.
"""

from __future__ import annotations

import io
import json
import math
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.errors import SetupError, StateError

_MAGIC = b"ELSA"
_VERSION = 3
_HEADER = struct.Struct("<4sBI")  # magic, version, checksum of the rest
_LENGTH = struct.Struct("<I")
_CODEC = "lz4"
_MOST_EXPANDED = 256  # LZ4 expands a byte to 255 at most
_KINDS = frozenset("biufcSU")  # of arrays: numbers, truth values, bytes and texts

Array = NDArray[Any]


def seal(owner: str, fingerprint: str, content: bytes | memoryview) -> bytes:
    """Return `content` with a checksum and a head that names its owner and its fingerprint."""
    head = json.dumps({"owner": owner, "fingerprint": fingerprint}).encode()
    rest = b"".join((_LENGTH.pack(len(head)), head, content))
    return _HEADER.pack(_MAGIC, _VERSION, zlib.crc32(rest)) + rest


def unseal(owner: str, fingerprint: str, blob: bytes | bytearray | memoryview) -> memoryview:
    """Return the content that `seal` was given.

    Raises StateError if the bytes are damaged, of another version, or of another owner.
    """
    if not isinstance(blob, bytes | bytearray | memoryview):
        raise StateError(f"A {type(blob).__name__} is not a saved state of Elsinore.")
    whole = memoryview(blob).cast("B")
    if len(whole) < _HEADER.size or whole[:4] != _MAGIC:
        raise StateError("These bytes are not a saved state of Elsinore.")
    _, version, checksum = _HEADER.unpack_from(whole)
    if version != _VERSION:
        raise StateError(
            f"The saved state has version {version}; this Elsinore reads version {_VERSION}. "
            "Finish the old run with the release that began it."
        )
    rest = whole[_HEADER.size :]
    if zlib.crc32(rest) != checksum:
        raise StateError(
            "The saved state is damaged: its bytes have changed since. Begin anew, or from an "
            "older state."
        )
    with reading_state(owner):
        (length,) = _LENGTH.unpack_from(rest)
        begin = _LENGTH.size + length
        head = json.loads(bytes(rest[_LENGTH.size : begin]))
        saved_by, saved_for = str(head["owner"]), head["fingerprint"]
    if saved_by != owner:
        raise StateError(
            f"The saved state is of {saved_by}, and {owner} is to be restored. Finish the "
            "old run with the release that began it, or begin anew."
        )
    if saved_for != fingerprint:
        raise StateError(
            f"The saved state is of {owner} with other queries or options than these, or a release "
            "that plans them differently. Restore it with those it was saved with, or begin anew."
        )
    return rest[begin:]


def pack(owner: str, fingerprint: str, arrays: Mapping[str, Array]) -> bytes:
    """Return arrays as bytes, sealed with `owner` and `fingerprint`.

    The content is the length of a JSON list of (name, type, shape), the list, and the arrays' bytes
    one after another, compressed by LZ4: arrays of operators have room for more than they contain.
    """
    plain = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    listed = [(name, array.dtype.str, np.shape(arrays[name])) for name, array in plain.items()]
    table = json.dumps(listed).encode()
    raw = b"".join(
        [array.reshape(-1).view(np.uint8).data for array in plain.values() if array.nbytes]
    )
    return seal(owner, fingerprint, b"".join([_LENGTH.pack(len(table)), table, compress(raw)]))


def unpack(owner: str, fingerprint: str, blob: bytes) -> dict[str, Array]:
    """Return the arrays of `pack`, which may be changed.

    Raises StateError if the bytes are damaged, of another version, or of another owner.
    """
    content = unseal(owner, fingerprint, blob)
    with reading_state(owner):
        (length,) = _LENGTH.unpack_from(content)
        begin = _LENGTH.size + length
        listed: list[tuple[str, np.dtype[Any], list[int]]] = []
        for name, kind, shape in json.loads(bytes(content[_LENGTH.size : begin])):
            dtype = np.dtype(str(kind))
            if dtype.kind not in _KINDS or min(shape, default=0) < 0:
                raise ValueError(f"an array has the type {kind!s:.20} and the shape {shape}")
            listed.append((str(name), dtype, shape))
        sizes = [math.prod(shape) * dtype.itemsize for _, dtype, shape in listed]
        raw = decompress(content[begin:], sum(sizes))
        arrays: dict[str, Array] = {}
        place = 0
        for (name, dtype, shape), size in zip(listed, sizes, strict=True):
            part = raw[place : place + size]
            arrays[name] = np.frombuffer(part, dtype).reshape(shape).copy()
            place += size
        return arrays


def compress(raw: bytes) -> bytes:
    """Return bytes compressed by LZ4."""
    return pa.compress(raw, codec=_CODEC, asbytes=True) if raw else b""


def decompress(compressed: bytes | memoryview, size: int) -> memoryview:
    """Return the `size` bytes of `compress`. Raises ValueError if they cannot be that many."""
    if size > _MOST_EXPANDED * len(compressed):
        raise ValueError("an array is longer than the state")
    if not size:
        return memoryview(b"")
    return memoryview(pa.decompress(compressed, size, codec=_CODEC, asbytes=True))


def table_to_bytes(table: pa.Table) -> bytes:
    """Return a table as an Arrow stream, for `table_from_bytes`."""
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def table_from_bytes(content: bytes | memoryview) -> pa.Table:
    """Return the table of `table_to_bytes`. Raises StateError if the bytes are damaged."""
    with reading_state("a table"):
        with pa.ipc.open_stream(pa.py_buffer(content)) as reader:
            table = reader.read_all()
        table.validate(full=True)
        _check_text(table.schema)
        return table


def schema_from_bytes(content: bytes | memoryview) -> pa.Schema:
    """Return the schema that `pa.Schema.serialize` wrote. Raises StateError for damaged bytes."""
    with reading_state("a schema"):
        schema = pa.ipc.read_schema(pa.py_buffer(content))
        _check_text(schema)
        return schema


def _check_text(schema: pa.Schema) -> None:
    """Raise UnicodeDecodeError if a name or time zone is not UTF-8: Arrow decodes them lazily."""
    fields = list(schema)
    for field in fields:  # grows
        assert isinstance(field.name, str)
        kind = field.type
        if pa.types.is_timestamp(kind):
            assert kind.tz is None or isinstance(kind.tz, str)
        fields += [kind.field(place) for place in range(kind.num_fields)]


@contextmanager
def reading_state(owner: str) -> Iterator[None]:
    """Raise StateError for whatever content of a saved state makes reading it fail."""
    try:
        yield
    except (StateError, SetupError):
        raise
    except Exception as error:  # any other content than that of `save` may fail in any way
        raise StateError(
            f"The saved state of {owner} is damaged: {type(error).__name__}: {error}"
        ) from error
