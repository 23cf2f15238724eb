"""What values of conditions are compared with one another, and what stands for them."""

from __future__ import annotations

from enum import Enum, auto

from elsinore.model.schema import AttributeKind

LIMIT = 2**63  # whole numbers of 64 bits are below it
NULL = -LIMIT  # of integers


class Order(Enum):
    """What values are compared with one another."""

    WHOLE = auto()  # integers of at most 64 bits, the sign among them
    UNSIGNED = auto()  # those of 64 bits without a sign
    NUMBER = auto()  # other numbers, as doubles
    TRUTH = auto()
    TEXT = auto()
    TIME = auto()
    LENGTH = auto()  # lengths of time
    NONE = auto()  # null or not, and nothing else
    NULL = auto()  # the constant NULL, which goes with anything


KINDS = {  # of values in each order, as `elsinore.model.types` knows them
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
    """Return the code of a whole number from 0 up to 2**64 - 2 among those without a sign.

    >>> code_of_unsigned(2**63)
    1
    """
    return value + NULL + 1
