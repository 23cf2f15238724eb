"""The saved form of a live state: facts and named parts, compressed and sealed.

Content of the sealed bytes (`elsinore.saved_states`; integers are little-endian):

    length of the head u32 | head (JSON) | parts, compressed together by LZ4

The head has the facts, which can be read without the parts, and the parts' names and sizes. The
format does not use pickle, so reading a state runs no code.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

from elsinore.saved_states import compress, decompress, reading_state, seal, unseal

VERSION = 1  # of the format of facts and parts; other versions are refused
_LENGTH = struct.Struct("<I")


def pack_state(owner: str, facts: Mapping[str, Any], parts: Mapping[str, bytes]) -> bytes:
    """Return facts (JSON values) and parts as bytes that name the state's owner.

    >>> blob = pack_state("an example", {"queries": ["q"]}, {"a": b"12", "b": b""})
    >>> facts, parts = unpack_state("an example", blob)
    >>> facts["queries"], bytes(parts["a"]), bytes(parts["b"])
    (['q'], b'12', b'')
    """
    sizes = [[name, len(part)] for name, part in parts.items()]
    head = json.dumps({"facts": facts, "parts": sizes}).encode()
    content = b"".join((_LENGTH.pack(len(head)), head, compress(b"".join(parts.values()))))
    return seal(_versioned(owner), "", content)


def unpack_state(owner: str, blob: bytes) -> tuple[dict[str, Any], dict[str, memoryview]]:
    """Return the facts and parts that `pack_state` packed.

    Raises StateError if the bytes are damaged, of another version, or of another owner.
    """
    content = unseal(_versioned(owner), "", blob)
    with reading_state(owner):
        (length,) = _LENGTH.unpack_from(content)
        begin = _LENGTH.size + length
        head = json.loads(bytes(content[_LENGTH.size : begin]))
        sizes = {str(name): int(size) for name, size in head["parts"]}
        if min(sizes.values(), default=0) < 0:
            raise ValueError("a part has a negative length")
        raw = decompress(content[begin:], sum(sizes.values()))
        parts, start = {}, 0
        for name, size in sizes.items():
            parts[name] = raw[start : start + size]
            start += size
        return dict(head["facts"]), parts


def _versioned(owner: str) -> str:
    return f"{owner}, version {VERSION}"
