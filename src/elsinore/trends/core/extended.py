"""What `elsinore.numeric.extended` computes, for kernels that Numba compiles."""

from __future__ import annotations

from elsinore.kernels import kernel
from elsinore.numeric.extended import BEYOND, THRESHOLD

FLOOR = 2.0**128  # the magnitude below which a mantissa takes a limb back
_DOWN = 2.0**-256
_UP = 2.0**256


@kernel
def normalise(mantissa: float, exponent: int) -> tuple[float, int]:
    """Bring a mantissa into [2**128, 2**384) where the exponent allows; infinities have BEYOND.

    One number has one normal form, so two of them can be added by looking at exponents alone.
    """
    size = abs(mantissa)
    if size >= THRESHOLD:
        if size == float("inf"):
            return mantissa, BEYOND
        while abs(mantissa) >= THRESHOLD:
            mantissa *= _DOWN
            exponent += 1
    elif exponent > 0 and size < FLOOR:
        if mantissa == 0.0:
            return 0.0, 0
        while exponent > 0 and abs(mantissa) < FLOOR:
            mantissa *= _UP
            exponent -= 1
    return mantissa, exponent


@kernel
def add(mantissa: float, exponent: int, other: float, power: int) -> tuple[float, int]:
    """Return the sum of two normal numbers, normal.

    Where exponents differ by two or more, the lesser number is below the greater one's last bit:
    2**128 * 2**512 is more than 2**53 times 2**384.
    """
    if exponent == power:
        return normalise(mantissa + other, exponent)
    if other == 0.0:
        return mantissa, exponent
    if mantissa == 0.0:
        return other, power
    if exponent > power:
        if exponent - power == 1:
            return normalise(mantissa + other * _DOWN, exponent)
        return mantissa, exponent
    if power - exponent == 1:
        return normalise(other + mantissa * _DOWN, power)
    return other, power


@kernel
def product(mantissa: float, exponent: int, other: float, power: int) -> tuple[float, int]:
    """Return the product of two normal numbers, normal: mantissas stay below 2**768."""
    return normalise(mantissa * other, exponent + power)


@kernel
def scale(mantissa: float, exponent: int, factor: float) -> tuple[float, int]:
    """Return a normal number times a finite double, normal."""
    while abs(factor) >= _UP and abs(factor) < float("inf"):
        factor *= _DOWN
        exponent += 1
    return normalise(mantissa * factor, exponent)
