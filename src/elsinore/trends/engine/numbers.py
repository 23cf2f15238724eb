# cython: infer_types=True
"""Numbers beyond a double's range: a mantissa and a power of 2**512.

A number is `mantissa * 2**(512 * power)`. In normal form its mantissa is below 2**512, and at least
1 in magnitude if the power is above 0; zero has power 0. So numbers below 2**512 are plain doubles,
and counts are exact up to 2**53. Infinities and NaN have the power `BEYOND`.

Lanes of numbers are added without branches, so that the processor adds several at once.

While all numbers of a key are below 2**512, its powers are not read: its slot is not `scaled`, and
its lanes are added as plain doubles. Its first number beyond the limit makes the slot `scaled`
(`elsinore.trends.engine.rows`).
"""

from __future__ import annotations

from math import fabs

import cython
import numpy as np

from elsinore.trends.engine.constants import DOWN, LIMIT, Index, Number

INFINITY = cython.declare(cython.double, float("inf"))
GREAT = cython.declare(cython.double, 2.0**256)  # the mantissa of a factor is below it
SMALL = cython.declare(cython.double, 2.0**-256)
BEYOND = cython.declare(cython.double, 2.0**28)  # the power of infinities and NaN


@cython.cclass
class Lanes:
    """Rows of lanes: the numbers of sums, and extremes as ranks.

    cells, powers: [row, lane] mantissas and powers. extremes: [row, lane].
    """

    def __init__(self, rows: int, lanes: int, extremes: int = 0) -> None:
        self.cells = np.zeros((rows, lanes))
        self.powers = np.zeros((rows, lanes))
        self.extremes = np.zeros((rows, extremes), np.int64)


@cython.nogil
def normal(mantissa: cython.double, power: cython.double) -> Number:
    """Return a number in its normal form.

    >>> tuple(normal(2.0**600, 0.0)) == (2.0**88, 1.0)
    True
    """
    size: cython.double = fabs(mantissa)
    if not size < INFINITY:
        return Number(mantissa, BEYOND)
    if size == 0.0:
        return Number(0.0, 0.0)
    if size >= LIMIT:
        return Number(mantissa * DOWN, power + 1.0)
    while fabs(mantissa) < 1.0 and power > 0.0:
        mantissa *= LIMIT
        power -= 1.0
    return Number(mantissa, power)


@cython.nogil
def plus(left: Number, right: Number) -> Number:
    """Return a sum; of numbers whose powers differ by two or more, the greater one.

    >>> tuple(plus(Number(1.0, 1.0), Number(2.0**511, 0.0)))
    (1.5, 1.0)
    """
    if left.power == right.power:
        return normal(left.mantissa + right.mantissa, left.power)
    if right.mantissa == 0.0:
        return left
    if left.mantissa == 0.0:
        return right
    if left.power < right.power:
        left, right = right, left
    if left.power == right.power + 1.0:
        return normal(left.mantissa + right.mantissa * DOWN, left.power)
    return left


@cython.nogil
def times(number: Number, factor: cython.double) -> Number:
    """Return a number times a double; zero times anything is zero.

    >>> tuple(times(Number(2.0**500, 0.0), 2.0**1000)) == (2.0**476, 2.0)
    True
    """
    return product(number, normal(factor, 0.0))


@cython.nogil
def product(left: Number, right: Number) -> Number:
    """Return a product.

    >>> tuple(product(Number(2.0**500, 0.0), Number(2.0**500, 0.0))) == (2.0**488, 1.0)
    True
    """
    if left.mantissa == 0.0 or right.mantissa == 0.0:
        return Number(0.0, 0.0)
    power: cython.double = left.power + right.power
    factor: cython.double = right.mantissa
    if fabs(factor) >= GREAT:
        factor *= DOWN
        power += 1.0
    return normal(left.mantissa * factor, power)


@cython.nogil
def pairs(left: Number, right: Number, both: Number) -> Number:
    """Return the number of pairs of different trends, one of each of two patterns.

    `left` and `right` are the numbers of their trends, `both` of those that are trends of both.
    With l and r trends of one pattern only, and b of both: l*r + l*b + r*b + b*(b - 1)/2.

    >>> tuple(pairs(Number(6.0, 0.0), Number(7.0, 0.0), Number(4.0, 0.0)))
    (32.0, 0.0)
    """
    less: Number = Number(-both.mantissa, both.power)
    left_alone: Number = plus(left, less)
    right_alone: Number = plus(right, less)
    among: Number
    one_less: Number = plus(both, Number(-1.0, 0.0))
    if both.power == 0.0 and both.mantissa < LIMIT / 4 and both.mantissa % 2.0 == 0.0:
        among = product(Number(both.mantissa / 2.0, 0.0), one_less)
    else:
        among = product(both, times(one_less, 0.5))
    total: Number = plus(product(left_alone, right_alone), product(left_alone, both))
    return plus(plus(total, product(right_alone, both)), among)


@cython.inline
@cython.nogil
def lowered(mantissa: cython.double, power: cython.double, top: cython.double) -> cython.double:
    """Return the mantissa of a number for the power `top`, its own or a greater one."""
    scale: cython.double = 1.0 if power == top else (DOWN if power + 1.0 == top else 0.0)
    return mantissa * scale


@cython.inline
@cython.nogil
def settled_power(total: cython.double, top: cython.double) -> cython.double:
    """Return the power of the normal form of a sum whose greater power is `top`."""
    size: cython.double = fabs(total)
    moved: cython.double = top + 1.0 if size >= LIMIT else top
    moved = top - 1.0 if (size < 1.0) & (top > 0.0) else moved
    moved = 0.0 if size == 0.0 else moved
    return moved if size < INFINITY else BEYOND


@cython.inline
@cython.nogil
def settled(total: cython.double, top: cython.double) -> cython.double:
    """Return the mantissa of the normal form of a sum of two numbers."""
    size: cython.double = fabs(total)
    scale: cython.double = DOWN if size >= LIMIT else 1.0
    scale = LIMIT if (size < 1.0) & (top > 0.0) else scale
    return total * scale


@cython.inline
@cython.nogil
def add(
    to: Lanes,
    at: Index,
    first: Index,
    source: Lanes,
    row: Index,
    begin: Index,
    lanes: Index,
    scaled: Index,
    period: Index,
) -> cython.void:
    """Add lanes of a row of numbers, from `begin` on, to lanes of another row, from `first` on.

    scaled: whether they have powers. period: the number of source lanes, if these are repeated;
    else 0.
    """
    if scaled:
        add_lanes(to, at, first, source, row, begin, period, lanes)
    elif period == 0:
        for lane in range(lanes):
            to.cells[at, first + lane] += source.cells[row, begin + lane]
    elif period == 1:
        repeated: cython.double = source.cells[row, begin]
        for lane in range(lanes):
            to.cells[at, first + lane] += repeated
    else:
        for node in range(lanes // period):
            for lane in range(period):
                to.cells[at, first + node * period + lane] += source.cells[row, begin + lane]


@cython.inline
@cython.nogil
def put_sum(to: Lanes, at: Index, lane: Index, left: Number, right: Number) -> cython.void:
    """Put the sum of two numbers in their normal form into a lane."""
    top: cython.double = max(left.power, right.power)
    total: cython.double = lowered(left.mantissa, left.power, top)
    total += lowered(right.mantissa, right.power, top)
    to.cells[at, lane] = settled(total, top)
    to.powers[at, lane] = settled_power(total, top)


@cython.inline
@cython.nogil
def number_of(lanes: Lanes, row: Index, lane: Index) -> Number:
    """Return the number of a lane."""
    return Number(lanes.cells[row, lane], lanes.powers[row, lane])


@cython.nogil
def put_sums(
    lanes: Lanes, to: Index, left: Index, right: Index, begin: Index, end: Index, scaled: Index
) -> cython.void:
    """Put the sums of two rows into lanes `begin` to before `end` of a row."""
    if scaled:
        for lane in range(begin, end):
            put_sum(lanes, to, lane, number_of(lanes, left, lane), number_of(lanes, right, lane))
        return
    for lane in range(begin, end):
        lanes.cells[to, lane] = lanes.cells[left, lane] + lanes.cells[right, lane]


@cython.nogil
def add_lanes(
    to: Lanes,
    at: Index,
    first: Index,
    source: Lanes,
    row: Index,
    begin: Index,
    period: Index,
    lanes: Index,
) -> cython.void:
    """Add lanes that have powers, in normal form, as `add` does."""
    if period == 0:  # the processor adds several lanes at once
        for lane in range(lanes):
            left: Number = number_of(to, at, first + lane)
            put_sum(to, at, first + lane, left, number_of(source, row, begin + lane))
    else:
        for lane in range(lanes):
            left = number_of(to, at, first + lane)
            put_sum(to, at, first + lane, left, number_of(source, row, begin + lane % period))


@cython.nogil
def add_multiples(
    to: Lanes,
    at: Index,
    first: Index,
    source: Lanes,
    row: Index,
    factors: Lanes,
    by: Index,
    lanes: Index,
) -> cython.void:
    """Add the first lanes of a row, times row `by` of `factors`, to lanes of another row.

    This is quick if the factors' mantissas are 0 or from 2**-256 to 2**256.
    """
    is_quick: cython.bint = True
    for lane in range(lanes):
        size: cython.double = fabs(factors.cells[by, lane])
        is_quick &= (size == 0.0) | ((size > SMALL) & (size < GREAT))
    if is_quick:
        for lane in range(lanes):
            factor: cython.double = factors.cells[by, lane]
            number: cython.double = source.cells[row, lane] * factor
            number = 0.0 if factor == 0.0 else number
            raised: cython.double = source.powers[row, lane] + factors.powers[by, lane]
            power: cython.double = settled_power(number, raised)
            added: Number = Number(settled(number, raised), power)
            put_sum(to, at, first + lane, number_of(to, at, first + lane), added)
        return
    for lane in range(lanes):
        raised = source.powers[row, lane] + factors.powers[by, lane]
        product_of: Number = times(Number(source.cells[row, lane], raised), factors.cells[by, lane])
        sum_of: Number = plus(number_of(to, at, first + lane), product_of)
        to.cells[at, first + lane] = sum_of.mantissa
        to.powers[at, first + lane] = sum_of.power


@cython.inline
@cython.nogil
def take_least(
    to: Lanes, at: Index, first: Index, source: Lanes, row: Index, begin: Index, lanes: Index
) -> cython.void:
    """Reduce extremes in lanes of a row to those of another row that are less."""
    for lane in range(lanes):
        to.extremes[at, first + lane] = min(
            to.extremes[at, first + lane], source.extremes[row, begin + lane]
        )


@cython.inline
@cython.nogil
def copy(
    to: Lanes,
    at: Index,
    first: Index,
    source: Lanes,
    row: Index,
    begin: Index,
    lanes: Index,
    scaled: Index,
) -> cython.void:
    """Copy lanes of a row of numbers; scaled: also their powers."""
    for lane in range(lanes):
        to.cells[at, first + lane] = source.cells[row, begin + lane]
    if scaled:
        for lane in range(lanes):
            to.powers[at, first + lane] = source.powers[row, begin + lane]


@cython.inline
@cython.nogil
def clear(lanes: Lanes, at: Index, begin: Index, end: Index, scaled: Index) -> cython.void:
    """Set the numbers of lanes `begin` to before `end` to 0; scaled: also their powers."""
    for lane in range(begin, end):
        lanes.cells[at, lane] = 0.0
    if scaled:
        for lane in range(begin, end):
            lanes.powers[at, lane] = 0.0


@cython.nogil
def normalise(lanes: Lanes, at: Index, begin: Index, end: Index) -> cython.void:
    """Bring numbers without powers in lanes `begin` to before `end` into their normal form."""
    for lane in range(begin, end):
        number: Number = normal(lanes.cells[at, lane], 0.0)
        lanes.cells[at, lane] = number.mantissa
        lanes.powers[at, lane] = number.power
