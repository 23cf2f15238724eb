"""Ranks: order-preserving encodings of values as 64-bit integers.

MIN and MAX compare ranks, so the same kernel computes exact results for integers beyond 2**53,
doubles and times.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.arrow import to_arrow, to_numpy, to_scalar
from elsinore.errors import InputError
from elsinore.operators.rank_bits import rank_bits

MAGNITUDE = np.int64(np.iinfo(np.int64).max)  # the bits of a double except its sign

_SIGN = np.int64(63)
_BELOW_ZERO = -1  # the rank of -0.0
_TOP = np.uint64(2**63)
_TOO_LONG = (
    "MIN and MAX take decimals of up to 18 digits; {} is a {} and longer than that. Cast it to a "
    "double, or to a decimal of fewer digits.{}"
)
_SPARK = " Spark reads unsigned 64-bit integers as such decimals; runs in process accept them."


def to_ranks(column: pa.Array, name: str = "one of them") -> pa.Array:
    """Return the ranks of a column's values, null for null and NaN; `name` is for errors.

    Raises InputError for decimals of more digits than fit into 64 bits.

    >>> to_ranks(pa.array([1.5, -2.0, None])).to_pylist() == sorted(
    ...     to_ranks(pa.array([1.5, -2.0, None])).to_pylist(), key=lambda rank: rank or 0)
    False
    >>> from_ranks(np.array([7]), np.array([False]), pa.int64()).to_pylist()
    [7]
    """
    kind = column.type
    if pa.types.is_floating(kind):
        doubles = to_numpy(column.cast(pa.float64()))  # null is NaN
        ranks = np.empty(len(doubles), dtype=np.int64)
        known = np.empty(len(doubles), dtype=np.bool_)
        all_known = rank_doubles(doubles, ranks, known, one_zero=False)
        return to_arrow(ranks, mask=None if all_known else ~known)
    if pa.types.is_boolean(kind):
        return column.cast(pa.int8()).cast(pa.int64())
    if pa.types.is_date32(kind):
        return column.cast(pa.int32()).cast(pa.int64())
    if pa.types.is_decimal(kind):
        return _decimal_digits(column, name)
    if kind == pa.uint64():
        return _with_sign_flipped(column)
    return column.cast(pa.int64())


def ordered_bits(bits: NDArray[np.int64]) -> NDArray[np.int64]:
    """Map the bits of doubles to integers of the same order; the function is its own inverse."""
    return bits ^ ((bits >> _SIGN) & MAGNITUDE)


def rank_doubles(
    doubles: NDArray[np.float64],
    ranks: NDArray[np.int64],
    known: NDArray[np.bool_],
    *,
    one_zero: bool,
) -> bool:
    """Write the ranks of doubles, 0 for NaN, and which are numbers; return whether all are.

    one_zero: -0.0 has the rank of 0.0; otherwise its rank is lower.

    >>> ranks, known = np.zeros(3, dtype=np.int64), np.zeros(3, dtype=np.bool_)
    >>> rank_doubles(np.array([-0.0, 0.5, np.nan]), ranks, known, one_zero=True)
    False
    >>> known.tolist(), ranks[0], ranks[1] > 0, ranks[2]
    ([True, True, False], np.int64(0), np.True_, np.int64(0))
    """
    bits = np.ascontiguousarray(doubles).view(np.int64)
    minus_zero = 0 if one_zero else _BELOW_ZERO
    return rank_bits(bits, ranks, known.view(np.uint8), minus_zero) == 0


def _with_sign_flipped(column: pa.Array) -> pa.Array:
    """Return unsigned integers with the highest bit flipped: signed integers of the same order."""
    missing = to_numpy(column.is_null())
    numbers = to_numpy(column, 0)
    return to_arrow((numbers ^ _TOP).view(np.int64), mask=missing)


def _decimal_digits(column: pa.Array, name: str) -> pa.Array:
    """Return decimals as integers in units of their last digit."""
    missing = to_numpy(column.is_null())
    kind = pa.decimal128(38, column.type.scale)
    try:
        decimals = pc.coalesce(column.cast(kind), to_scalar(0).cast(kind))
    except pa.ArrowInvalid as error:
        raise InputError(_too_long(name, column.type)) from error
    words = np.frombuffer(decimals.buffers()[1], dtype=np.int64)[2 * decimals.offset :]
    low, high = words[: 2 * len(decimals) : 2], words[1 : 2 * len(decimals) : 2]
    if (high != low >> _SIGN).any():
        raise InputError(_too_long(name, column.type))
    return to_arrow(low, mask=missing)


def _too_long(name: str, kind: pa.DataType) -> str:
    type_text = f"decimal({kind.precision}, {kind.scale})"
    return _TOO_LONG.format(name, type_text, _SPARK if type_text == "decimal(20, 0)" else "")


def _decimals(ranks: NDArray[np.int64], missing: NDArray[np.bool_], kind: pa.DataType) -> pa.Array:
    """Return decimals from integers in units of their last digit."""
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
        return to_arrow(ordered_bits(ranks).view(np.float64), mask=missing).cast(kind)
    if pa.types.is_decimal(kind):
        return _decimals(ranks, missing, kind)
    if kind == pa.uint64():
        return to_arrow(ranks.view(np.uint64) ^ _TOP, mask=missing)
    integers = to_arrow(np.where(missing, 0, ranks), mask=missing)
    if pa.types.is_boolean(kind):
        return integers.cast(pa.int8()).cast(kind)
    if pa.types.is_date32(kind):
        return integers.cast(pa.int32()).cast(kind)
    return integers.cast(kind)
