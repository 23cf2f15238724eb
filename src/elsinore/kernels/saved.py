"""Arrays as bytes, with what tells that they are whole and whose they are."""

from __future__ import annotations

import io
import json
import struct
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elsinore.errors import StateError

_MAGIC = b"ELSA"
_VERSION = 1
_HEADER = struct.Struct("<4sBI")  # magic, version, checksum of the rest

Array = NDArray[Any]


def pack(owner: str, fingerprint: str, arrays: Mapping[str, Array]) -> bytes:
    """Return arrays as bytes; `owner` and `fingerprint` tell whose they are."""
    buffer = io.BytesIO()
    text = json.dumps({"owner": owner, "fingerprint": fingerprint}).encode()
    buffer.write(len(text).to_bytes(8, "little"))
    buffer.write(text)
    np.savez(buffer, **arrays)  # type: ignore[arg-type]  # its stub takes names for options
    content = buffer.getbuffer()
    return _HEADER.pack(_MAGIC, _VERSION, zlib.crc32(content)) + content


def unpack(owner: str, fingerprint: str, blob: bytes) -> dict[str, Array]:
    """Return the arrays of `pack`.

    Raises StateError where the bytes are damaged, of another release, or of another owner.
    """
    if len(blob) < _HEADER.size or blob[:4] != _MAGIC:
        raise StateError("These bytes are not a saved state of Elsinore.")
    _, version, checksum = _HEADER.unpack_from(blob)
    if version != _VERSION:
        raise StateError(
            f"The saved state has version {version}; this Elsinore reads version {_VERSION}. "
            "Finish the old run with the release that began it."
        )
    content = memoryview(blob)[_HEADER.size :]
    if zlib.crc32(content) != checksum:
        raise StateError(
            "The saved state is damaged: its bytes have changed since. Begin anew, or from an "
            "older state."
        )
    begin = 8 + int.from_bytes(content[:8], "little")
    about = json.loads(bytes(content[8:begin]))
    if about["owner"] != owner:
        raise StateError(
            f"The saved state is of {about['owner']}, and {owner} is to be restored. Finish the "
            "old run with the release that began it, or begin anew."
        )
    if about["fingerprint"] != fingerprint:
        raise StateError(
            f"The saved state is of {owner} with other queries or options than these. Restore it "
            "with those it was saved with, or begin anew."
        )
    with np.load(io.BytesIO(content[begin:]), allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}
