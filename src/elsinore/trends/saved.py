"""An operator's saved state: named arrays, with what tells whose they are."""

from __future__ import annotations

import io
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from elsinore.errors import StateError

MAGIC = b"ELSI"
VERSION = 9
_HEADER = struct.Struct("<4sB16s")


def pack(fingerprint: str, arrays: Mapping[str, Any]) -> bytes:
    """Return arrays as bytes: magic, version and fingerprint of the plan, then NumPy's npz."""
    buffer = io.BytesIO()
    buffer.write(_HEADER.pack(MAGIC, VERSION, fingerprint.encode()))
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def unpack(fingerprint: str, blob: bytes) -> dict[str, Any]:
    """Return the arrays of `pack`.

    Raises StateError where the bytes are damaged, of another version, or of another plan.
    """
    try:
        magic, version, saved = _HEADER.unpack_from(blob)
    except struct.error as error:
        raise StateError("The saved state is cut short: it has no header.") from error
    if magic != MAGIC:
        raise StateError("These bytes are not a saved state of Elsinore.")
    if version != VERSION:
        raise StateError(
            f"The saved state has version {version}; this Elsinore reads version {VERSION}. "
            "Finish the old run with the release that began it."
        )
    if saved != fingerprint.encode():
        raise StateError(
            "The saved state belongs to another workload. Restore it with the queries it was "
            "saved by, or begin anew."
        )
    try:
        with np.load(io.BytesIO(blob[_HEADER.size :]), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except Exception as error:
        raise StateError(f"The saved state is damaged: {error}") from error
