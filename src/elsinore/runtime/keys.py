"""Numbering keys and groups: from values of attributes to codes 0, 1, ... and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.kernels import enter
from elsinore.kernels.sorting import read_only
from elsinore.runtime.rows import first_rows, number_from

LARGEST = 2**63 - 1
DENSE = 2**16  # a range of whole numbers up to so wide is its own numbering


@dataclass(frozen=True, slots=True)
class Keys:
    """Codes of rows, and for each group code a row that has it.

    `key` and `group` are int32, [row]; key is -1 where a required attribute is null. `count` is
    the number of keys, `example[g]` a row of group g (-1 for a code that no row has).
    """

    key: NDArray[np.int32]
    group: NDArray[np.int32]
    count: int
    example: NDArray[np.int64]
    incomplete: bool  # whether some row has no key

    def of_groups(self, column: pa.Array) -> pa.Array:
        """Return a column's value for each group code, null for a code that no row has."""
        return column.take(pa.array(self.example, mask=self.example < 0))


def encode_keys(
    groups: Sequence[pa.Array], others: Sequence[pa.Array], required: Sequence[pa.Array], rows: int
) -> Keys:
    """Number the keys (group attributes and others together) and the groups of `rows` rows.

    A null is a value of its own, as in SQL's GROUP BY; a row with a null in one of `required`
    (the attributes of `[ ]`) has no key: null equals nothing, and NaN counts as null.
    """
    group, group_count = _codes(groups, rows)
    key, count = group, group_count
    if others:
        key, count = _combine([(group, group_count), *(_code(column) for column in others)])
    missing = [mask for column in required if (mask := _missing(column)) is not None]
    if missing:
        key = key.copy()
        for mask in missing:
            key[mask.to_numpy(zero_copy_only=False)] = -1
    example = np.full(group_count, -1, dtype=np.int64)
    if groups:
        enter(first_rows, 5e-7 * rows, read_only(group), example)
    elif rows:
        example[0] = 0
    return Keys(key, group, count, example, bool(missing))


def _missing(column: pa.Array) -> pa.Array | None:
    """Return where a column is null or NaN; None where it is nowhere."""
    if pa.types.is_floating(column.type):
        mask = column.is_null(nan_is_null=True)
        return mask if pc.any(mask).as_py() else None
    return column.is_null() if column.null_count else None


def _codes(columns: Sequence[pa.Array], rows: int) -> tuple[NDArray[np.int32], int]:
    if not columns:
        return np.zeros(rows, dtype=np.int32), 1
    return _combine([_code(column) for column in columns])


def _code(column: pa.Array) -> tuple[NDArray[np.int32], int]:
    """Number one column's values."""
    if pa.types.is_integer(column.type) and not column.null_count and len(column):
        bounds = pc.min_max(column)
        least, most = bounds["min"].as_py(), bounds["max"].as_py()
        if most - least < DENSE:
            # as integers of 64 bits, whose differences fit where these bits are unsigned too
            numbers = column.cast(pa.int64(), safe=False).to_numpy()
            codes = np.empty(len(numbers), dtype=np.int32)
            first = least - 2**64 if least > LARGEST else least
            enter(number_from, 5e-7 * len(numbers), numbers, first, codes)
            return codes, most - least + 1
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode("encode")
    indices, size = column.indices, len(column.dictionary)
    if indices.null_count:
        indices, size = indices.fill_null(size), size + 1
    return np.asarray(indices.to_numpy(), dtype=np.int32), size


def _combine(parts: Sequence[tuple[NDArray[np.int32], int]]) -> tuple[NDArray[np.int32], int]:
    """Number the combinations of several numberings."""
    codes, count = parts[0]
    for more, size in parts[1:]:
        if count == 1:
            codes, count = more, size
            continue
        pairs = codes.astype(np.int64) * size + more
        encoded = pa.array(pairs).dictionary_encode()
        codes = np.asarray(encoded.indices.to_numpy(), dtype=np.int32)
        count = len(encoded.dictionary)
    return codes, count
