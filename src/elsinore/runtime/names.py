"""Encoding texts by their indices in a list of names, such as event types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.arrow import to_arrow
from elsinore.runtime.name_search import find_names, index_names
from elsinore.runtime.numbering import Codes, Numbering

BLOCK = 2**10  # texts that are compared with a name at once
NO_LENGTH = np.uint64(2**64 - 1)


def text_numbers(texts: pa.Array, names: Sequence[str]) -> Numbering:
    """Return the index of each text in `names`, -1 for other texts; arbitrary for null.

    >>> text_numbers(pa.array(["B", "A", "a name of many letters"]), ["A", "B"]).whole().tolist()
    [1, 0, -1]
    """
    starts, letters = _bytes_of(texts)
    words = letters[: len(letters) // 8 * 8].view(np.uint64)
    if not words.flags.aligned:
        words = words.copy()
    name_starts, name_letters = _bytes_of(to_arrow(names, texts.type))
    name_starts = name_starts.astype(np.int64)
    known = np.full((len(names) + 1, 4), NO_LENGTH)
    table = np.full(_table_size(len(names)), len(names), dtype=np.int32)
    index_names(name_starts, name_letters, known, table)

    def find(begin: int, end: int) -> Codes:
        codes = np.empty(end - begin, dtype=np.int32)
        block = np.empty((2, BLOCK), dtype=np.uint64)
        some = starts[begin : end + 1].astype(np.int64)
        find_names(some, letters, words, name_starts, name_letters, known, table, block, codes)
        return codes

    return Numbering(len(texts), len(names), find)


def _table_size(names: int) -> int:
    """Return the size of a hash table of names with few collisions."""
    return max(2**8, 4 << names.bit_length())


def _bytes_of(column: pa.Array) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """Return the offsets of texts and their bytes, without copies."""
    _, starts, text = column.buffers()
    width = "int64" if pa.types.is_large_string(column.type) else "int32"
    offsets = np.frombuffer(starts, dtype=width)[column.offset : column.offset + len(column) + 1]
    data = np.frombuffer(text, dtype=np.uint8) if text else np.frombuffer(b"", dtype=np.uint8)
    return offsets, data
