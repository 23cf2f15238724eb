"""Rows of extended-range numbers, and an index that adds up the rows of predecessors."""

from __future__ import annotations

import numpy as np

from elsinore.numeric.extended import THRESHOLD
from elsinore.trends.core.arrays import FOREVER, Ints
from elsinore.trends.core.extended import product
from elsinore.trends.core.search import below
from elsinore.trends.core.wide import wide_kernel
from elsinore.trends.hamlet.layout import ENDS, EPOCHS, EQUAL, FIRST, PREFIX, STRICT, Rows, Shape

_DOWN = 2.0**-256


@wide_kernel(linked=True)
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
    over = (abs(total) >= THRESHOLD) & (abs(total) < np.inf)
    return (total * _DOWN if over else total), (exponent + 1 if over else exponent)


@wide_kernel(linked=True)
def times(one: float, power: int, other: float, other_power: int) -> tuple[float, int]:
    """Return the product of two extended-range numbers below 2**385."""
    if one == 0.0 or other == 0.0:
        return 0.0, 0
    return product(one, power, other, other_power)


@wide_kernel(linked=True)
def add_row(to: Rows, place: int, rows: Rows, row: int, shape: Shape) -> None:
    """Add a row to another: to[place] += rows[row], all live columns of each of its values.

    Places are unsigned so that no index is checked for counting from the end.
    """
    numbers, powers, first = to.numbers, to.powers, shape.first
    columns = np.uint64(shape.columns - first)
    addends, addend_powers = rows.numbers, rows.powers
    for v in range(shape.values):
        target = np.uint64((place * shape.values + v) * to.width + first)
        source = np.uint64((row * shape.values + v) * rows.width + first)
        if shape.big:
            for j in range(columns):
                numbers[target + j], powers[target + j] = plus(
                    numbers[target + j],
                    powers[target + j],
                    addends[source + j],
                    addend_powers[source + j],
                )
        else:
            for j in range(columns):
                numbers[target + j] += addends[source + j]


@wide_kernel(linked=True)
def least_row(to: Rows, place: int, rows: Rows, row: int, shape: Shape) -> None:
    """Let a row of extremes be the lesser of itself and another."""
    least, candidates, first = to.least, rows.least, shape.first
    columns = np.uint64(shape.columns - first)
    for x in range(shape.carried):
        target = np.uint64((place * shape.carried + x) * to.width + first)
        source = np.uint64((row * shape.carried + x) * rows.width + first)
        for j in range(columns):
            least[target + j] = min(least[target + j], candidates[source + j])


@wide_kernel(linked=True)
def add_both(to: Rows, place: int, rows: Rows, row: int, shape: Shape) -> None:
    """Add a row to another, extremes too."""
    add_row(to, place, rows, row, shape)
    if shape.carried > 0:
        least_row(to, place, rows, row, shape)


@wide_kernel(linked=True)
def copy_row(to: Rows, place: int, rows: Rows, row: int, shape: Shape) -> None:
    """Make a row what another is, extremes too, in all live columns."""
    first, columns = shape.first, np.uint64(shape.columns - shape.first)
    for v in range(shape.values):
        target = np.uint64((place * shape.values + v) * to.width + first)
        source = np.uint64((row * shape.values + v) * rows.width + first)
        for j in range(columns):
            to.numbers[target + j] = rows.numbers[source + j]
        if shape.big:
            for j in range(columns):
                to.powers[target + j] = rows.powers[source + j]
    for x in range(shape.carried):
        target = np.uint64((place * shape.carried + x) * to.width + first)
        source = np.uint64((row * shape.carried + x) * rows.width + first)
        for j in range(columns):
            to.least[target + j] = rows.least[source + j]


@wide_kernel(linked=True)
def begin_row(to: Rows, place: int, shape: Shape) -> None:
    """Make a row 0 and its extremes those of no values, in all columns that there are."""
    numbers, powers, least = to.numbers, to.powers, to.least
    target, cells = np.uint64(place * shape.values * to.width), np.uint64(shape.values * to.width)
    for i in range(cells):
        numbers[target + i] = 0.0
    for i in range(cells):
        powers[target + i] = 0
    target, cells = np.uint64(place * shape.carried * to.width), np.uint64(shape.carried * to.width)
    for i in range(cells):
        least[target + i] = FOREVER


@wide_kernel(linked=True)
def clear_row(to: Rows, place: int, shape: Shape) -> None:
    """Make a row 0 and its extremes those of no values, in the columns in use."""
    columns = np.uint64(shape.columns)
    for v in range(shape.values):
        target = np.uint64((place * shape.values + v) * shape.width)
        for j in range(columns):
            to.numbers[target + j] = 0.0
            to.powers[target + j] = 0
    for x in range(shape.carried):
        target = np.uint64((place * shape.carried + x) * shape.width)
        for j in range(columns):
            to.least[target + j] = FOREVER


@wide_kernel(linked=True)
def clear_column(to: Rows, place: int, column: int, shape: Shape) -> None:
    """Make a column of a row 0 and its extremes those of no values."""
    for v in range(shape.values):
        to.numbers[(place * shape.values + v) * shape.width + column] = 0.0
        to.powers[(place * shape.values + v) * shape.width + column] = 0
    for x in range(shape.carried):
        to.least[(place * shape.carried + x) * shape.width + column] = FOREVER


@wide_kernel(linked=True)
def is_reached(rows: Rows, row: int, shape: Shape) -> bool:
    """Return whether a row has a number of trends that is not 0."""
    begin, reached = np.uint64(row * shape.values * shape.width), False
    for j in range(np.uint64(shape.first), np.uint64(shape.columns)):
        reached |= rows.numbers[begin + j] != 0.0
    return reached


@wide_kernel(linked=True)
def sum_before(
    to: Rows, place: int, kind: int, value: int, keys: Ints, rows: Rows, base: int, shape: Shape
) -> None:
    """Add up the rows of all predecessors of an event whose attribute has a value.

    keys: those of one index; base: its first row. The index is a Fenwick tree: its i-th row holds
    the sum of the rows of ranks i - (i & -i) + 1 to i.
    """
    at = below(keys, 0, keys.shape[0], value)
    there = at < keys.shape[0] and keys[at] == value
    if kind == EQUAL:
        if there:
            add_both(to, place, rows, base + at, shape)
        return
    if kind == PREFIX and there:
        at += 1
    while at > 0:
        add_both(to, place, rows, base + at - 1, shape)
        at &= at - 1


@wide_kernel(linked=True)
def sum_past(
    to: Rows,
    place: int,
    kind: int,
    value: int,
    keys: Ints,
    rows: Rows,
    base: int,
    info: Ints,
    shape: Shape,
) -> None:
    """Add up the rows of an event's predecessors in past epochs, which are tables of prefix sums.

    keys: those of one index; base: its first row; info: where the epochs are.
    """
    begin = info[FIRST]
    for epoch in range(info[EPOCHS]):
        end = info[ENDS + epoch]
        at = below(keys, begin, end, value)
        if kind != STRICT and at < end and keys[at] == value:
            add_both(to, place, rows, base + at, shape)
        elif kind != EQUAL and at > begin:
            add_both(to, place, rows, base + at - 1, shape)
        begin = end


@wide_kernel(linked=True)
def insert(
    kind: int, value: int, keys: Ints, rows: Rows, base: int, form: Rows, place: int, shape: Shape
) -> None:
    """Enter an event's row into the index."""
    at = below(keys, 0, keys.shape[0], value) + 1
    while at <= keys.shape[0]:
        add_both(rows, base + at - 1, form, place, shape)
        if kind == EQUAL:
            return
        at += at & -at
