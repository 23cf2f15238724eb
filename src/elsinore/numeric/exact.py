"""Integers and fractions of any size as text.

By default, Python refuses to convert integers of more than 4,300 digits to base 10; base 16 and the
decimal module have no such limit.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from elsinore.numeric.extended import LIMB_BITS

Number = int | Fraction


def encode(number: Number) -> str:
    """Return a number as text that `decode` reads.

    >>> encode(Fraction(-255, 2)), encode(16)
    ('-0xff/0x2', '0x10')
    """
    if isinstance(number, Fraction):
        return f"{hex(number.numerator)}/{hex(number.denominator)}"
    return hex(number)


def decode(text: str) -> Number:
    """Return the number that `encode` returned as text.

    >>> decode("-0xff/0x2"), decode("0x10")
    (Fraction(-255, 2), 16)
    """
    over_text, _, under_text = text.partition("/")
    if not under_text:
        return int(over_text, 16)
    return simple(Fraction(int(over_text, 16), int(under_text, 16)))


def simple(number: Fraction) -> Number:
    """Return a fraction as an integer if it is one."""
    return number.numerator if number.denominator == 1 else number


def extended(number: Number) -> tuple[float, int]:
    """Return a number as the extended-range number nearest to it.

    >>> extended(3), extended(2**1000)[1] > 0
    ((3.0, 0), True)
    """
    power = 0
    size = abs(Fraction(number))
    while size >= 2**384:
        size /= 2**LIMB_BITS
        power += 1
    return float(size) if number >= 0 else -float(size), power


def digits(number: int) -> str:
    """Return all digits of an integer in base 10.

    >>> len(digits(2**20000 - 1))
    6021
    """
    return format(Decimal(number), "f")
