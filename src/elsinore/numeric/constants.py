"""Constants as the engines that evaluate predicates can hold them."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TypeVar

_WORD = 2**63  # whole numbers of 64 bits are below it
_DIGITS = 10**38  # and decimals of 38 digits below this

Constant = TypeVar("Constant")


def held(value: Constant) -> Constant | Decimal | float:
    """Return a whole number beyond 64 bits as a decimal or a double, all else as it is.

    >>> held(3), held(2**64), held(-(10**400))
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
