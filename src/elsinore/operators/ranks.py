"""Ranks: 64-bit integers in the order of the values they stand for.

MIN and MAX compare ranks, so one kernel serves integers beyond 2**53, doubles and times alike, and
gives back exactly the value it was given.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.arrow import to_arrow, to_numpy, to_scalar
from elsinore.errors import InputError

_SIGN = np.int64(63)
_MAGNITUDE = np.int64(np.iinfo(np.int64).max)
_TOP = np.uint64(2**63)
_TOO_LONG = (
    "MIN and MAX take decimals of up to 18 digits; a {} is longer than that here. Cast the "
    "attribute to a double, or to a decimal of fewer digits."
)


def to_ranks(column: pa.Array) -> pa.Array:
    """Return the ranks of a column's values, null for null and NaN.

    Raises InputError for decimals of more digits than 64 bits hold.

    >>> to_ranks(pa.array([1.5, -2.0, None])).to_pylist() == sorted(
    ...     to_ranks(pa.array([1.5, -2.0, None])).to_pylist(), key=lambda rank: rank or 0)
    False
    >>> from_ranks(np.array([7]), np.array([False]), pa.int64()).to_pylist()
    [7]
    """
    kind = column.type
    if pa.types.is_floating(kind):
        doubles = to_numpy(column.cast(pa.float64()))  # null is NaN
        missing = np.isnan(doubles)
        bits = doubles.view(np.int64)
        ranks = bits >> _SIGN
        ranks &= _MAGNITUDE
        ranks ^= bits
        return to_arrow(ranks, mask=missing if missing.any() else None)
    if pa.types.is_boolean(kind):
        return column.cast(pa.int8()).cast(pa.int64())
    if pa.types.is_date32(kind):
        return column.cast(pa.int32()).cast(pa.int64())
    if pa.types.is_decimal(kind):
        return _unscaled(column)
    if kind == pa.uint64():
        return _flipped(column)
    return column.cast(pa.int64())


def _flipped(column: pa.Array) -> pa.Array:
    """Return unsigned numbers with their greatest bit turned over: in order as signed ones."""
    missing = to_numpy(column.is_null())
    numbers = to_numpy(column, 0)
    return to_arrow((numbers ^ _TOP).view(np.int64), mask=missing)


def _unscaled(column: pa.Array) -> pa.Array:
    """Return decimals as whole numbers of their last digit."""
    missing = to_numpy(column.is_null())
    kind = pa.decimal128(38, column.type.scale)
    try:
        decimals = pc.coalesce(column.cast(kind), to_scalar(0).cast(kind))
    except pa.ArrowInvalid as error:
        raise InputError(_TOO_LONG.format(column.type)) from error
    words = np.frombuffer(decimals.buffers()[1], dtype=np.int64)[2 * decimals.offset :]
    low, high = words[: 2 * len(decimals) : 2], words[1 : 2 * len(decimals) : 2]
    if (high != low >> _SIGN).any():
        raise InputError(_TOO_LONG.format(column.type))
    return to_arrow(low, mask=missing)


def _scaled(ranks: NDArray[np.int64], missing: NDArray[np.bool_], kind: pa.DataType) -> pa.Array:
    """Return the decimals of whole numbers of their last digit."""
    words = np.empty(2 * len(ranks), dtype=np.int64)
    words[::2], words[1::2] = ranks, ranks >> _SIGN
    whole = pa.decimal128(38, kind.scale)
    decimals = pa.Array.from_buffers(whole, len(ranks), [None, pa.py_buffer(words)])
    return pc.if_else(to_arrow(missing), to_scalar(None, whole), decimals).cast(kind)


def from_ranks(ranks: NDArray[np.int64], missing: NDArray[np.bool_], kind: pa.DataType) -> pa.Array:
    """Return the values of ranks, null where `missing`.

    >>> values = pa.array([-0.5, 3.25])
    >>> from_ranks(to_ranks(values).to_numpy(), np.zeros(2, dtype=bool), pa.float64()) == values
    True
    """
    if pa.types.is_null(kind):
        return pa.nulls(len(ranks))
    if pa.types.is_floating(kind):
        bits = ranks ^ ((ranks >> _SIGN) & _MAGNITUDE)
        return to_arrow(bits.view(np.float64), mask=missing).cast(kind)
    if pa.types.is_decimal(kind):
        return _scaled(ranks, missing, kind)
    if kind == pa.uint64():
        return to_arrow(ranks.view(np.uint64) ^ _TOP, mask=missing)
    integers = to_arrow(np.where(missing, 0, ranks), mask=missing)
    if pa.types.is_boolean(kind):
        return integers.cast(pa.int8()).cast(kind)
    if pa.types.is_date32(kind):
        return integers.cast(pa.int32()).cast(kind)
    return integers.cast(kind)
