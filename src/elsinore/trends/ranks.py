"""Ranks: 64-bit integers in the order of the values they stand for.

MIN and MAX compare ranks, so one kernel serves integers beyond 2**53, doubles and times alike, and
gives back exactly the value it was given.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_SIGN = np.int64(63)
_MAGNITUDE = np.int64(np.iinfo(np.int64).max)


def can_be_ranked(kind: pa.DataType) -> bool:
    """Return whether MIN and MAX know the order of a type: numbers, times, dates, truth values."""
    return bool(
        (pa.types.is_integer(kind) and kind != pa.uint64())
        or pa.types.is_floating(kind)
        or pa.types.is_timestamp(kind)
        or pa.types.is_date(kind)
        or pa.types.is_duration(kind)
        or pa.types.is_boolean(kind)
    )


def to_ranks(column: pa.Array) -> pa.Array:
    """Return the ranks of a column's values, null for null and NaN.

    >>> to_ranks(pa.array([1.5, -2.0, None])).to_pylist() == sorted(
    ...     to_ranks(pa.array([1.5, -2.0, None])).to_pylist(), key=lambda rank: rank or 0)
    False
    >>> from_ranks(np.array([7]), np.array([False]), pa.int64()).to_pylist()
    [7]
    """
    kind = column.type
    if pa.types.is_floating(kind):
        doubles = column.cast(pa.float64())
        missing = pc.or_kleene(doubles.is_null(), pc.is_nan(doubles)).fill_null(True)
        bits = doubles.fill_null(0.0).to_numpy(zero_copy_only=False).view(np.int64)
        ranks = bits ^ ((bits >> _SIGN) & _MAGNITUDE)
        return pa.array(ranks, mask=missing.to_numpy(zero_copy_only=False))
    if pa.types.is_boolean(kind):
        return column.cast(pa.int8()).cast(pa.int64())
    if pa.types.is_date32(kind):
        return column.cast(pa.int32()).cast(pa.int64())
    return column.cast(pa.int64())


def from_ranks(ranks: NDArray[np.int64], missing: NDArray[np.bool_], kind: pa.DataType) -> pa.Array:
    """Return the values of ranks, null where `missing`.

    >>> values = pa.array([-0.5, 3.25])
    >>> from_ranks(to_ranks(values).to_numpy(), np.zeros(2, dtype=bool), pa.float64()) == values
    True
    """
    if pa.types.is_floating(kind):
        bits = ranks ^ ((ranks >> _SIGN) & _MAGNITUDE)
        return pa.array(bits.view(np.float64), mask=missing).cast(kind)
    integers = pa.array(np.where(missing, 0, ranks), mask=missing)
    if pa.types.is_boolean(kind):
        return integers.cast(pa.int8()).cast(kind)
    if pa.types.is_date32(kind):
        return integers.cast(pa.int32()).cast(kind)
    return integers.cast(kind)
