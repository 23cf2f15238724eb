"""Hashes of values that are the same in every process: they assign keys to partitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.errors import InputError
from elsinore.runtime.chunks import same_floats
from elsinore.runtime.columnar.text_hash import hash_texts

Words = NDArray[np.uint64]

# SplitMix64's constants (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_PRIME = np.uint64(0x100000001B3)  # FNV's, for texts
_NULL = np.uint64(0x5851F42D4C957F2D)  # the word of a null


def hash_rows(columns: Sequence[pa.Array], rows: int) -> Words:
    """Return a 64-bit hash of the values of each row.

    Equal rows have equal numbers in every process and batch, whether a column is encoded by a
    dictionary or not. Nulls are equal to one another, NaNs too, and 0.0 equals -0.0.

    Raises InputError for a type that has no equality (nested ones, intervals).

    >>> plain, encoded = pa.array(["a", None, "a"]), pa.array(["a", None, "a"]).dictionary_encode()
    >>> bool((hash_rows([plain], 3) == hash_rows([encoded], 3)).all())
    True
    """
    result = np.full(rows, _GOLDEN)
    for column in columns:
        result = _finalized(result * _PRIME + _words(column))
    return result


def _finalized(words: Words) -> Words:
    """Return SplitMix64's finalizer of each word: every bit in depends on every bit out."""
    words = (words ^ (words >> np.uint64(30))) * _FIRST
    words = (words ^ (words >> np.uint64(27))) * _SECOND
    return words ^ (words >> np.uint64(31))


def _words(column: pa.Array) -> Words:
    kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), _NULL)
    if pa.types.is_dictionary(kind):
        value_words = np.append(_words(column.dictionary), _NULL)
        return np.asarray(value_words[column.indices.cast(pa.int64()).fill_null(-1).to_numpy()])
    words = _present(column)
    if column.null_count:
        words[column.is_null().to_numpy(zero_copy_only=False)] = _NULL
    return words


def _present(column: pa.Array) -> Words:
    """Return words of a plain column; arbitrary ones for nulls."""
    kind = column.type
    if pa.types.is_boolean(kind):
        column = column.cast(pa.uint8())
    elif pa.types.is_floating(kind):
        column = same_floats(column.cast(pa.float64()))
    elif pa.types.is_date32(kind) or pa.types.is_time32(kind):
        column = column.cast(pa.int32())
    elif pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        column = column.cast(pa.int64())
    kind = column.type
    if pa.types.is_integer(kind):
        numbers = column.fill_null(0).to_numpy()
        wide = numbers.astype(np.uint64 if kind == pa.uint64() else np.int64)
        return np.asarray(wide.view(np.uint64))
    if pa.types.is_float64(kind):
        return np.array(column.fill_null(0.0).to_numpy()).view(np.uint64)
    if pa.types.is_decimal(kind):
        kind = pa.binary(kind.byte_width)
        column = pa.Array.from_buffers(kind, len(column), column.buffers(), offset=column.offset)
    if pa.types.is_string(kind) or pa.types.is_string_view(kind):
        column = column.cast(pa.large_string())
    elif pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind):
        column = column.cast(pa.large_binary())
    if not (pa.types.is_large_string(column.type) or pa.types.is_large_binary(column.type)):
        raise InputError(f"A column of type {column.type} cannot be a key.")
    words = np.empty(len(column), dtype=np.uint64)
    hash_texts(*_text(column), words)
    return words


def _text(column: pa.Array) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the offsets of texts (one more than texts) and their bytes."""
    _, starts, data = column.buffers()
    offsets = np.frombuffer(starts, dtype=np.int64)[column.offset : column.offset + len(column) + 1]
    begin, end = (int(offsets[0]), int(offsets[-1])) if len(offsets) else (0, 0)
    text = np.frombuffer(data, dtype=np.uint8)[begin:end] if data else np.zeros(0, np.uint8)
    return offsets - begin, text
