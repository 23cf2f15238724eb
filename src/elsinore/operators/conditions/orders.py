"""Orders of values: groups of mutually comparable kinds, and their integer representation."""

from __future__ import annotations

from enum import Enum, auto

import pyarrow as pa

from elsinore.model.schema import AttributeKind

LIMIT = 2**63  # whole numbers of 64 bits are below it
NULL = -LIMIT  # of integers


class Order(Enum):
    """A group of mutually comparable kinds of values."""

    WHOLE = auto()  # signed integers of at most 64 bits
    UNSIGNED = auto()  # unsigned 64-bit integers
    NUMBER = auto()  # other numbers, as doubles
    TRUTH = auto()
    TEXT = auto()
    TIME = auto()
    LENGTH = auto()  # durations
    NONE = auto()  # values that are only tested for null
    NULL = auto()  # the constant NULL, comparable with any value


KINDS = {  # of values in each order, see `elsinore.model.types`
    Order.WHOLE: AttributeKind.INTEGER,
    Order.UNSIGNED: AttributeKind.INTEGER,
    Order.NUMBER: AttributeKind.NUMBER,
    Order.TRUTH: AttributeKind.BOOLEAN,
    Order.TEXT: AttributeKind.STRING,
    Order.TIME: AttributeKind.TIME,
    Order.LENGTH: AttributeKind.DURATION,
    Order.NONE: AttributeKind.OTHER,
}


def order_of(kind: pa.DataType) -> Order:
    """Return how values of an Arrow type are compared.

    >>> order_of(pa.int32()).name, order_of(pa.timestamp("us")).name
    ('WHOLE', 'TIME')
    """
    if pa.types.is_dictionary(kind):
        return order_of(kind.value_type)
    if pa.types.is_boolean(kind):
        return Order.TRUTH
    if pa.types.is_integer(kind):
        return Order.UNSIGNED if kind == pa.uint64() else Order.WHOLE
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return Order.NUMBER
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return Order.TEXT
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return Order.TIME
    if pa.types.is_duration(kind):
        return Order.LENGTH
    return Order.NONE


def code_of_unsigned(value: int) -> int:
    """Return the signed 64-bit code of an unsigned integer from 0 to 2**64 - 2.

    >>> code_of_unsigned(2**63)
    1
    """
    return value + NULL + 1
