"""Rows of extended-range numbers, and an index that adds up the rows of predecessors.

As long as none of a graph's numbers has passed 2**384 the exponents of its rows are all 0, and are
not looked at: `big` is false.
"""

from __future__ import annotations

import numpy as np

from elsinore.numeric.extended import THRESHOLD, normalise
from elsinore.trends.hamlet.layout import EQUAL, FOREVER, PREFIX, Codes, Doubles, Ints
from elsinore.trends.wide import wide_kernel

_DOWN = 2.0**-256


@wide_kernel
def plus(one: float, power: int, other: float, other_power: int) -> tuple[float, int]:
    """Return the sum of two extended-range numbers, without a branch.

    What lies two exponents below is less than half of the greater one's last bit. After a
    cancellation the exponent is left high; what is then too small to matter was so before.
    """
    apart = other_power - power
    up = 1.0 if apart <= 0 else (_DOWN if apart == 1 else 0.0)
    down = 1.0 if apart >= 0 else (_DOWN if apart == -1 else 0.0)
    total = one * up + other * down
    exponent = other_power if apart > 0 else power
    over = abs(total) >= THRESHOLD
    return (total * _DOWN if over else total), (exponent + 1 if over else exponent)


@wide_kernel
def times(one: float, power: int, other: float, other_power: int) -> tuple[float, int]:
    """Return the product of two extended-range numbers below 2**385."""
    if one == 0.0 or other == 0.0:
        return 0.0, 0
    if abs(one) < 1e-60 and abs(other) < 1e-60:  # it may be below any double
        return normalise(one * other, power + other_power)
    return normalise(one * other, power + other_power)


@wide_kernel
def add_row(
    to: Doubles,
    to_powers: Codes,
    place: int,
    rows: Doubles,
    powers: Codes,
    row: int,
    values: int,
    width: int,
    columns: int,
    big: bool,
) -> None:
    """Add a row to another: to[place] += rows[row], `columns` of each of its values.

    Rows lie one after another in flat arrays, `values * width` numbers each. Places are unsigned so
    that no index is checked for counting from the end.
    """
    for v in range(values):
        one = np.uint64((place * values + v) * width)
        other = np.uint64((row * values + v) * width)
        if big:
            for j in range(np.uint64(columns)):
                to[one + j], to_powers[one + j] = plus(
                    to[one + j], to_powers[one + j], rows[other + j], powers[other + j]
                )
        else:
            for j in range(np.uint64(columns)):
                to[one + j] += rows[other + j]


@wide_kernel
def least_row(
    to: Ints, place: int, rows: Ints, row: int, carried: int, width: int, columns: int
) -> None:
    """Let a row of extremes be the lesser of itself and another."""
    for x in range(carried):
        one = np.uint64((place * carried + x) * width)
        other = np.uint64((row * carried + x) * width)
        for j in range(np.uint64(columns)):
            to[one + j] = min(to[one + j], rows[other + j])


@wide_kernel
def clear_row(
    to: Doubles,
    powers: Codes,
    least: Ints,
    place: int,
    values: int,
    carried: int,
    width: int,
    columns: int,
) -> None:
    """Make a row 0 and its extremes those of no values."""
    for v in range(values):
        one = np.uint64((place * values + v) * width)
        for j in range(np.uint64(columns)):
            to[one + j] = 0.0
            powers[one + j] = 0
    for x in range(carried):
        one = np.uint64((place * carried + x) * width)
        for j in range(np.uint64(columns)):
            least[one + j] = FOREVER


@wide_kernel
def below(keys: Ints, value: int) -> int:
    """Return how many keys are below a value."""
    low, high = 0, keys.shape[0]
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@wide_kernel
def sum_before(
    to: Doubles,
    to_powers: Codes,
    to_least: Ints,
    place: int,
    kind: int,
    value: int,
    keys: Ints,
    base: int,
    rows: Doubles,
    powers: Codes,
    least: Ints,
    values: int,
    carried: int,
    width: int,
    columns: int,
    big: bool,
) -> None:
    """Add up the rows of all predecessors of an event whose attribute has a value.

    keys: those of one index; base: its first row. The index is a Fenwick tree: its i-th row holds
    the sum of the rows of ranks i - (i & -i) + 1 to i.
    """
    at = below(keys, value)
    there = at < keys.shape[0] and keys[at] == value
    if kind == EQUAL:
        if there:
            add_row(to, to_powers, place, rows, powers, base + at, values, width, columns, big)
            least_row(to_least, place, least, base + at, carried, width, columns)
        return
    if kind == PREFIX and there:
        at += 1
    while at > 0:
        add_row(to, to_powers, place, rows, powers, base + at - 1, values, width, columns, big)
        if carried > 0:
            least_row(to_least, place, least, base + at - 1, carried, width, columns)
        at &= at - 1


@wide_kernel
def insert(
    kind: int,
    value: int,
    keys: Ints,
    base: int,
    rows: Doubles,
    powers: Codes,
    least: Ints,
    form: Doubles,
    form_powers: Codes,
    form_least: Ints,
    place: int,
    values: int,
    carried: int,
    width: int,
    columns: int,
    big: bool,
) -> None:
    """Enter an event's row into the index."""
    at = below(keys, value) + 1
    while at <= keys.shape[0]:
        add_row(rows, powers, base + at - 1, form, form_powers, place, values, width, columns, big)
        if carried > 0:
            least_row(least, base + at - 1, form_least, place, carried, width, columns)
        if kind == EQUAL:
            return
        at += at & -at
