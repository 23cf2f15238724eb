"""Converting constants to types that the engines evaluate."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TypeVar

import pyarrow as pa

from elsinore.arrow import to_scalar

_WORD = 2**63  # 64-bit integers are below it
_DIGITS = 10**38  # and decimals of 38 digits below this

Constant = TypeVar("Constant")


def engine_constant(value: Constant) -> Constant | Decimal | float:
    """Return an integer beyond 64 bits as a decimal or a double, and other constants unchanged.

    >>> engine_constant(3), engine_constant(2**64), engine_constant(-(10**400))
    (3, Decimal('18446744073709551616'), -inf)
    """
    if not isinstance(value, int) or -_WORD <= value < _WORD:
        return value
    if abs(value) < _DIGITS:
        return Decimal(value)
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def bounded(value: int, least: int, greatest: int) -> int | float:
    """Return a constant to compare integers of a type with: infinite if beyond their range.

    >>> bounded(3, -(2**63), 2**63 - 1), bounded(2**63, -(2**63), 2**63 - 1)
    (3, inf)
    """
    if least <= value <= greatest:
        return value
    return math.inf if value > greatest else -math.inf


def moment(text: str, kind: pa.DataType) -> pa.Scalar:
    """Parse a time as a scalar of the type `kind`; times without a zone are UTC.

    Times of a column without a zone are UTC too. Beside dates, a text with a time of day is a
    timestamp: a date is its midnight. Raises pa.ArrowInvalid if the text is no such time.

    >>> moment("2024-01-01T01:00:05+01:00", pa.timestamp("s")).as_py().isoformat()
    '2024-01-01T00:00:05'
    >>> moment("2024-01-01", pa.timestamp("s", "UTC")).value
    1704067200
    >>> moment("2024-01-01T12:00:00", pa.date32()).as_py().isoformat()
    '2024-01-01T12:00:00'
    """
    parsed_text = to_scalar(text.strip())
    if not pa.types.is_timestamp(kind):
        try:
            return parsed_text.cast(kind)
        except pa.ArrowInvalid:
            if not pa.types.is_date(kind):
                raise
        return moment(text, pa.timestamp("us"))
    try:
        time = parsed_text.cast(pa.timestamp(kind.unit))
    except pa.ArrowInvalid:
        time = parsed_text.cast(pa.timestamp(kind.unit, "UTC"))
    return to_scalar(time.value).cast(kind)
