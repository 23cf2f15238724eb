"""What values are compared as: integers that keep the order of an attribute's values."""

from __future__ import annotations

from enum import Enum, auto

import pyarrow as pa

from elsinore.arrow import to_numpy, whole
from elsinore.errors import InputError
from elsinore.expressions.lengths import ticks
from elsinore.operators.ranks import to_ranks
from elsinore.trends.values import Doubles

NANOSECONDS = {"us": 1_000, "ns": 1}  # in a tick, by unit


class Order(Enum):
    """What values are compared among each other; WHOLE, WIDE and NUMBER are all numbers."""

    WHOLE = auto()  # integers of at most 64 bits
    WIDE = auto()  # other numbers that are exact: decimals, integers without a sign
    NUMBER = auto()
    TEXT = auto()
    TRUTH = auto()
    TIME = auto()
    DURATION = auto()
    NONE = auto()  # neither compared nor computed with; it is null or not


STEADY = {Order.WHOLE, Order.NUMBER, Order.TRUTH, Order.TIME, Order.DURATION}


def plain_of(column: pa.Array) -> pa.Array:
    """Return a column decoded, small floats as doubles."""
    column = whole(column)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_floating(kind):
        return column.cast(pa.float64(), safe=False)
    if pa.types.is_string(kind) or pa.types.is_string_view(kind):
        return column.cast(pa.large_string())
    return column


def steady_codes(name: str, column: pa.Array, order: Order, unit: str) -> pa.Array:
    """Return what whole numbers of 64 bits, times and truth values are compared as."""
    if order in {Order.TIME, Order.DURATION}:
        return ticks_of(name, column, unit)
    return to_ranks(column) if order is Order.TRUTH else column.cast(pa.int64())


def with_nan(column: pa.Array) -> Doubles:
    """Return a column of floating numbers, null as NaN."""
    if column.type != pa.float64():
        column = plain_of(column)
    return to_numpy(column)


def order_of(kind: pa.DataType) -> Order:
    """Return among what values of a type are compared."""
    if pa.types.is_decimal(kind) or kind == pa.uint64():
        return Order.WIDE
    if pa.types.is_integer(kind):
        return Order.WHOLE
    if pa.types.is_floating(kind):
        return Order.NUMBER
    if pa.types.is_large_string(kind):
        return Order.TEXT
    if pa.types.is_boolean(kind):
        return Order.TRUTH
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return Order.TIME
    return Order.DURATION if pa.types.is_duration(kind) else Order.NONE


def ticks_of(name: str, column: pa.Array, unit: str) -> pa.Array:
    """Return times or durations as whole numbers of a unit at least as fine as their own.

    Raises InputError for times outside of what nanoseconds of 64 bits reach.
    """
    try:
        return ticks(column, unit)
    except pa.ArrowInvalid as error:
        raise InputError(
            f"'{name}' has times outside of the years 1678 to 2261 and is compared with times in "
            "nanoseconds, which reach no further. Cast those to microseconds, or leave these out."
        ) from error
