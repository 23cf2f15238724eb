"""Whether lists of one event contain values of another (`array_contains`), by codes of values.

Values are compared like operands of `=`: integers exactly, and as doubles beside doubles; times and
durations of any unit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.arrow import to_arrow, to_numpy, whole
from elsinore.errors import InputError
from elsinore.expressions import lengths

NULL_CODE = np.iinfo(np.int64).min  # the least of all codes


def elements(lists: pa.Array) -> tuple[NDArray[np.int64], pa.Array]:
    """Return the number of elements of each list, 0 for null, and all elements.

    Raises InputError for a column that is not of lists.

    >>> sizes, values = elements(pa.array([[1, 2], None, []]))
    >>> sizes.tolist(), values.to_pylist()
    ([2, 0, 0], [1, 2])
    """
    if pa.types.is_null(lists.type):
        return np.zeros(len(lists), np.int64), pa.nulls(0)
    if not (
        pa.types.is_list(lists.type)
        or pa.types.is_large_list(lists.type)
        or pa.types.is_fixed_size_list(lists.type)
    ):
        raise InputError(
            f"IN and array_contains look a value up in a list, and this is of type {lists.type}."
        )
    lists = lists.cast(pa.large_list(lists.type.value_type))
    sizes = to_numpy(pc.list_value_length(lists), 0).astype(np.int64)
    return sizes, whole(pc.list_flatten(lists))


def codes(members: pa.Array, values: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return equal codes for equal elements and values, `NULL_CODE` for null.

    Both are plain columns (`elsinore.expressions.columns.values`). Raises InputError if their types
    cannot be compared.

    >>> [found.tolist() for found in codes(pa.array([3, 5]), pa.array([5.0, 4.0]))]
    [[0, 1], [1, 2]]
    """
    comparable = _comparable(members, values)
    dictionary_codes = pa.concat_arrays(
        [whole(column) for column in comparable]
    ).dictionary_encode()
    numbers: NDArray[Any] = to_numpy(dictionary_codes.indices, -1).astype(np.int64)
    numbers[numbers < 0] = NULL_CODE
    return numbers[: len(members)], numbers[len(members) :]


def contains(
    lists: pa.Array, sizes: NDArray[np.int64], members: NDArray[np.int64], of: NDArray[np.int64]
) -> pa.Array:
    """Return whether each list contains the value with code `of` [row]; null as in SQL if unknown.

    `members` are the codes of the elements, list after list.
    """
    rows = np.repeat(np.arange(len(sizes)), sizes)
    found_value, unknown = np.zeros(len(sizes), bool), of == NULL_CODE
    unknown[rows[members == NULL_CODE]] = True
    found_value[rows[(members == of[rows]) & (members != NULL_CODE)]] = True
    unknown &= ~found_value
    return to_arrow(found_value, mask=unknown | to_numpy(lists.is_null()))


def _comparable(members: pa.Array, values: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Cast two columns to a common type that preserves equality."""
    left, right = members.type, values.type
    if pa.types.is_null(left):
        return members.cast(right), values
    if pa.types.is_null(right):
        return members, values.cast(left)
    pairs = ((members, left), (values, right))
    if all(pa.types.is_integer(kind) for _, kind in pairs):
        wide = pa.decimal128(20) if pa.uint64() in {left, right} else pa.int64()
        return members.cast(wide), values.cast(wide)
    if all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for _, kind in pairs):
        return _doubles(members), _doubles(values)
    for is_kind in (lengths.is_time, lengths.is_length):
        if is_kind(left) and is_kind(right):
            unit = lengths.unit_of(left, right)
            return lengths.wide_ticks(members, unit), lengths.wide_ticks(values, unit)
    if all(_is_text(kind) for _, kind in pairs):
        return members.cast(pa.large_string()), values.cast(pa.large_string())
    if left == right and not pa.types.is_nested(left):
        return members, values
    raise InputError(
        f"A value of type {right} is looked up in a list of {left}: they cannot be compared. Cast "
        "one of them."
    )


def _doubles(numbers: pa.Array) -> pa.Array:
    """Return numbers as the nearest doubles, with one zero."""
    return pc.add(pc.cast(numbers, pa.float64(), safe=False), 0.0)


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )
