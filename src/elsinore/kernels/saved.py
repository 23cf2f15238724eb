"""Arrays as bytes, with what tells that they are whole and whose they are."""

from __future__ import annotations

import io
import json
import struct
import zlib
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elsinore.errors import StateError

_MAGIC = b"ELSA"
_VERSION = 1
_HEADER = struct.Struct("<4sBI")  # magic, version, checksum of the rest

Array = NDArray[Any]


def pack(owner: str, fingerprint: str, arrays: Mapping[str, Array]) -> bytes:
    """Return arrays as bytes; `owner` and `fingerprint` tell whose they are.

    Arrays of Python's numbers go as text: whole numbers, floats and fractions.
    """
    about: dict[str, Any] = {"owner": owner, "fingerprint": fingerprint, "exact": {}}
    plain = {}
    for name, array in arrays.items():
        if array.dtype == object:
            about["exact"][name] = [_to_text(number) for number in array.flat]
        else:
            plain[name] = array
    buffer = io.BytesIO()
    text = json.dumps(about).encode()
    buffer.write(len(text).to_bytes(8, "little"))
    buffer.write(text)
    np.savez(buffer, **plain)  # type: ignore[arg-type]  # its stub takes names for options
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
    if (about["owner"], about["fingerprint"]) != (owner, fingerprint):
        raise StateError(
            f"The saved state is of {about['owner']}, not of this {owner}. Restore it with the "
            "release and the queries it was saved by, or begin anew."
        )
    with np.load(io.BytesIO(content[begin:]), allow_pickle=False) as archive:
        arrays: dict[str, Array] = {name: archive[name] for name in archive.files}
    for name, texts in about["exact"].items():
        arrays[name] = np.empty(len(texts), dtype=object)
        arrays[name][:] = [_to_number(text) for text in texts]
    return arrays


def _to_text(number: float | Fraction) -> str:
    """Return a number as text that gives the same number back.

    Hexadecimal, for Python reads decimal numbers of at most some thousand digits.
    """
    if isinstance(number, float):
        return "f" + number.hex()
    exact = Fraction(number)
    return f"{exact.numerator:x}/{exact.denominator:x}"


def _to_number(text: str) -> float | Fraction:
    if text.startswith("f"):
        return float.fromhex(text[1:])
    above, below = (int(part, 16) for part in text.split("/"))
    return above if below == 1 else Fraction(above, below)
