"""Orders of values: groups of mutually comparable kinds, and their integer representation."""

from __future__ import annotations

from enum import Enum, auto

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


def code_of_unsigned(value: int) -> int:
    """Return the signed 64-bit code of an unsigned integer from 0 to 2**64 - 2.

    >>> code_of_unsigned(2**63)
    1
    """
    return value + NULL + 1
