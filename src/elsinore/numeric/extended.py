"""Addition and scaling of extended-range numbers, compiled: `mantissa * 2**(256 * exponent)`.

A mantissa stays below 2**384, so that the product of any two is a double. All engines return such
numbers.
"""

from __future__ import annotations

import cython

LIMB_BITS = 256  # one unit of the exponent
THRESHOLD = 2.0**384  # from this magnitude on, a limb is moved from mantissa to exponent
INFINITE_EXPONENT = 2**29  # the exponent of infinities, greater than any

TOP = cython.declare(cython.double, THRESHOLD)
FLOOR = cython.declare(cython.double, 2.0**128)  # below this magnitude, a limb is moved back
DOWN = cython.declare(cython.double, 2.0**-256)
UP = cython.declare(cython.double, 2.0**256)
INFINITY = cython.declare(cython.double, float("inf"))
BEYOND_ALL = cython.declare(cython.longlong, INFINITE_EXPONENT)


@cython.ccall
@cython.exceptval(check=False)
@cython.nogil
def normalise(
    mantissa: cython.double, exponent: cython.longlong
) -> tuple[cython.double, cython.longlong]:
    """Bring a mantissa into [2**128, 2**384) if the exponent allows; infinities have BEYOND.

    Each number has one normal form, so addition needs to compare exponents only.

    >>> normalise(2.0**400, 0) == (2.0**144, 1), normalise(0.0, 5)
    (True, (0.0, 0))
    """
    size: cython.double = abs(mantissa)
    if size >= TOP:
        if size == INFINITY:
            return mantissa, BEYOND_ALL
        while abs(mantissa) >= TOP:
            mantissa *= DOWN
            exponent += 1
    elif exponent > 0 and size < FLOOR:
        if mantissa == 0.0:
            return 0.0, 0
        while exponent > 0 and abs(mantissa) < FLOOR:
            mantissa *= UP
            exponent -= 1
    return mantissa, exponent


@cython.ccall
@cython.exceptval(check=False)
@cython.nogil
def add(
    mantissa: cython.double,
    exponent: cython.longlong,
    addend: cython.double,
    power: cython.longlong,
) -> tuple[cython.double, cython.longlong]:
    """Return the sum of two normal numbers, normal.

    If exponents differ by two or more, the lesser number is below the greater one's last bit:
    2**128 * 2**512 is more than 2**53 times 2**384.

    >>> add(2.0, 0, 3.0, 0)
    (5.0, 0)
    """
    if exponent == power:
        return normalise(mantissa + addend, exponent)
    if addend == 0.0:
        return mantissa, exponent
    if mantissa == 0.0:
        return addend, power
    if exponent > power:
        if exponent - power == 1:
            return normalise(mantissa + addend * DOWN, exponent)
        return mantissa, exponent
    if power - exponent == 1:
        return normalise(addend + mantissa * DOWN, power)
    return addend, power


@cython.ccall
@cython.exceptval(check=False)
@cython.nogil
def product(
    mantissa: cython.double,
    exponent: cython.longlong,
    factor: cython.double,
    power: cython.longlong,
) -> tuple[cython.double, cython.longlong]:
    """Return the product of two normal numbers, normal: mantissas stay below 2**768.

    >>> product(2.0, 1, 3.0, 0) == normalise(6.0, 1)
    True
    """
    return normalise(mantissa * factor, exponent + power)


@cython.ccall
@cython.exceptval(check=False)
@cython.nogil
def scale(
    mantissa: cython.double, exponent: cython.longlong, factor: cython.double
) -> tuple[cython.double, cython.longlong]:
    """Return a normal number times a finite double, normal.

    >>> scale(3.0, 0, 2.0)
    (6.0, 0)
    """
    while abs(factor) >= UP and abs(factor) < INFINITY:
        factor *= DOWN
        exponent += 1
    return normalise(mantissa * factor, exponent)


def add_runs(
    mantissas: cython.const_double[::1],
    exponents: cython.const_int[::1],
    starts: cython.const_longlong[::1],
    sums: cython.double[::1],
    powers: cython.int[::1],
) -> None:
    """Write the sum of numbers starts[run] to starts[run + 1] - 1 to sums[run] and powers[run]."""
    run: cython.Py_ssize_t
    row: cython.Py_ssize_t
    with cython.nogil:
        for run in range(sums.shape[0]):
            total: cython.double = 0.0
            power: cython.longlong = 0
            for row in range(starts[run], starts[run + 1]):
                total, power = add(total, power, mantissas[row], exponents[row])
            sums[run] = total
            powers[run] = cython.cast(cython.int, power)
