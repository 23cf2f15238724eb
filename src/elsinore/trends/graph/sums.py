"""Sums over trends: extended-range numbers and extremes, side by side in one table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.kernels import kernel
from elsinore.numeric.extended import THRESHOLD
from elsinore.trends.core.addends import addend, rank_of
from elsinore.trends.core.arrays import FOREVER
from elsinore.trends.core.extended import FLOOR, add, normalise
from elsinore.trends.core.recurrence import gained_extended
from elsinore.trends.graph.layout import Program, Stream
from elsinore.trends.keyed import Codes, Doubles, Flags, Ints

# typed, lest each constant argument be compiled for by itself
TOTAL = np.int64(0)  # the row of a table of sums that the window's result ends up in


class Sums(NamedTuple):
    """Linear fields, as extended-range numbers, and extremes; a row for each thing summed up."""

    cells: Doubles  # [thing, linear field], the number of trends first
    powers: Codes
    extremes: Ints


def new_sums(count: int, fields: int, extremes: int) -> Sums:
    """Return room for sums, all of nothing."""
    return Sums(
        np.zeros((count, fields)),
        np.zeros((count, fields), dtype=np.int32),
        np.full((count, extremes), FOREVER, dtype=np.int64),
    )


empty_sums = kernel(new_sums)


@kernel(borrows=True)
def clear(sums: Sums, at: int) -> None:
    """Make a sum one over nothing."""
    clear_rows(sums, at, at + 1)


@kernel(borrows=True)
def clear_rows(sums: Sums, first: int, last: int) -> None:
    """Make sums side by side ones over nothing, up to the one before the last."""
    for f in range(sums.cells.shape[1]):
        for row in range(first, last):
            sums.cells[row, f] = 0.0
            sums.powers[row, f] = 0
    for x in range(sums.extremes.shape[1]):
        for row in range(first, last):
            sums.extremes[row, x] = FOREVER


@kernel(borrows=True)
def add_to(sums: Sums, at: int, other: int) -> None:
    """Add a sum to another."""
    for f in range(sums.cells.shape[1]):
        cell, power = add(
            sums.cells[at, f], sums.powers[at, f], sums.cells[other, f], sums.powers[other, f]
        )
        sums.cells[at, f] = cell
        sums.powers[at, f] = power
    for x in range(sums.extremes.shape[1]):
        sums.extremes[at, x] = min(sums.extremes[at, x], sums.extremes[other, x])


@kernel(borrows=True)
def put(sums: Sums, at: int, others: Sums, other: int) -> None:
    """Make a sum equal to another, of the same table or another one."""
    for f in range(sums.cells.shape[1]):
        sums.cells[at, f] = others.cells[other, f]
        sums.powers[at, f] = others.powers[other, f]
    for x in range(sums.extremes.shape[1]):
        sums.extremes[at, x] = others.extremes[other, x]


class Fields(NamedTuple):
    """What events add in each state; see `Program`."""

    linear: Ints
    extreme: Ints


@kernel(borrows=True)
def contribute(
    fields: Fields | Program, stream: Stream, state: int, row: int, sums: Sums, at: int
) -> None:
    """Add what an event contributes in a state, once for each trend that a sum counts."""
    for f in range(1, sums.cells.shape[1]):
        value = addend(stream, row, fields.linear[state, f])
        if value == 0.0:
            continue
        cell, power = gained_extended(
            sums.cells[at, f], sums.powers[at, f], sums.cells[at, 0], sums.powers[at, 0], value
        )
        sums.cells[at, f] = cell
        sums.powers[at, f] = power
    for x in range(sums.extremes.shape[1]):
        rank = rank_of(stream, row, fields.extreme[state, x])
        sums.extremes[at, x] = min(sums.extremes[at, x], rank)


@kernel
def add_rows(sums: Sums, at: int, others: int, chosen: Flags, count: int) -> bool:
    """Add the chosen of sums side by side to others, each to its own; return whether any is not 0.

    chosen: [number] -> whether the sum `others + number` is to be added.
    """
    cells, powers, extremes = sums.cells, sums.powers, sums.extremes
    some = False
    for number in range(count):
        if chosen[number] == 0 or cells[others + number, 0] == 0.0:
            continue
        some = True
        row, other = at + number, others + number
        for f in range(cells.shape[1]):
            power, with_power = powers[row, f], powers[other, f]
            total = cells[row, f] + cells[other, f]
            if power == with_power and abs(total) < THRESHOLD and (power == 0 or total >= FLOOR):
                cells[row, f] = total
            else:
                cell, power = add(cells[row, f], power, cells[other, f], with_power)
                cells[row, f] = cell
                powers[row, f] = power
        for x in range(extremes.shape[1]):
            extremes[row, x] = min(extremes[row, x], extremes[other, x])
    return some


@kernel
def add_chosen(sums: Sums, at: int, others: int, chosen: Flags, count: int) -> bool:
    """Add the chosen of sums side by side to one, all as doubles; return whether that is exact.

    It is but for some of which powers differ by two and more: then nothing is added. Counting 2,000
    events that ask for two things of their neighbours takes 0.6 times what it does one by one.
    Extremes are left alone. chosen: [number] -> 1 where the sum `others + number` is to be added,
    or 0.
    """
    cells, powers = sums.cells, sums.powers
    begin, end = np.uint64(others), np.uint64(others + count)
    for field in range(np.uint64(cells.shape[1])):
        least, most = powers[begin, field], powers[begin, field]
        for other in range(begin, end):
            least, most = min(least, powers[other, field]), max(most, powers[other, field])
        if most - least > 1:
            return False
    for field in range(np.uint64(cells.shape[1])):
        most = powers[begin, field]
        for other in range(begin, end):
            most = max(most, powers[other, field])
        total, lesser = 0.0, 0.0
        for other in range(begin, end):  # values are chosen without a branch
            value = cells[other, field] if chosen[other - begin] != 0 else 0.0
            is_most = powers[other, field] == most
            total += value if is_most else 0.0
            lesser += 0.0 if is_most else value
        total, power = normalise(total + lesser * 2.0**-256, most)
        cell, power = add(cells[at, field], powers[at, field], total, power)
        cells[at, field] = cell
        powers[at, field] = power
    return True
