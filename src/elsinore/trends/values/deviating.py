# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Passes over rows of values: which shift each has, what shifts are chosen from, the deviations.

See `elsinore.trends.values.shifts`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from elsinore.kernels import kernel
from elsinore.plan import epochs as planned
from elsinore.plan.epochs import Epochs
from elsinore.trends.values.arrays import Codes, Doubles, Ints
from elsinore.trends.values.window_times import end_of, next_edge, start_of, windows_at

NEAR = 8  # cells in turn that have places side by side: they are often looked up in turn
NO_EPOCH, NO_SHIFT = -1, -2  # in place of a number: the row is in none; its value is not finite

epoch_in_turn = kernel(borrows=True, inline=True)(planned.epoch_in_turn)


class Rows(NamedTuple):
    """Values, each with its cell (below 0: it is not looked at), time, and whether it is there."""

    cells: Ints
    times: Ints
    values: Doubles
    present: NDArray[np.uint8]


class Lookup(NamedTuple):
    """A table of pairs of a cell and an epoch (open addressing).

    table: numbers, -1 where there is none; its length is a power of two, and half of it stays free.
    pairs: [2 * number and 2 * number + 1] -> cell and epoch.
    """

    table: Codes
    pairs: Ints


@kernel(borrows=True, inline=True)
def mixed(query: int, group: int, window: int) -> int:
    """Mix three numbers into one (multiplicative hashing with odd constants)."""
    number = np.uint64(query) * np.uint64(0x9E3779B97F4A7C15)
    number ^= np.uint64(group) * np.uint64(0xC2B2AE3D27D4EB4F)
    number ^= np.uint64(np.int64(window)) * np.uint64(0x165667B19E3779F9)
    number ^= number >> np.uint64(29)
    number *= np.uint64(0xBF58476D1CE4E5B9)
    return np.int64(number >> np.uint64(20))


@kernel(borrows=True, inline=True)
def place_of(table: Codes, pairs: Ints, cell: int, epoch: int) -> int:
    """Return where the number of a pair stands in the table, or would."""
    mask = len(table) - 1
    at = (mixed(0, cell // NEAR, epoch) * NEAR + cell % NEAR) & mask
    while table[at] >= 0 and (pairs[2 * table[at]] != cell or pairs[2 * table[at] + 1] != epoch):
        at = (at + 1) & mask
    return at


@kernel(borrows=True)
def find(
    lookup: Lookup, shifts: Doubles, cells: Ints, epoch: Ints, none: float, found: Doubles
) -> None:
    """Find the shifts of pairs, `none` where there is none."""
    for row in range(len(cells)):
        number = lookup.table[place_of(lookup.table, lookup.pairs, cells[row], epoch[row])]
        found[row] = none if number < 0 else shifts[number]


@kernel(borrows=True)
def enter_pairs(lookup: Lookup, count: int) -> None:
    """Fill a table with so many pairs."""
    for number in range(count):
        cell, epoch = lookup.pairs[2 * number], lookup.pairs[2 * number + 1]
        lookup.table[place_of(lookup.table, lookup.pairs, cell, epoch)] = number


@kernel(borrows=True)
def number_rows(
    lookup: Lookup, rows: Rows, epochs: Epochs, number: Ints, begin: int, count: int
) -> tuple[int, int]:
    """Find the number of the shift of each row, in one turn after another; new pairs have the next.

    number: [turn * rows + row], from `begin` on. count: of pairs there are. Returns the place where
    there is no room for more, or the end, and how many pairs there are then.
    """
    table, pairs, size = lookup.table, lookup.pairs, len(rows.cells)
    for turn in range(begin // size, epochs.turns):
        first = last = epoch = since = np.int64(0)
        until = since  # the windows of times between are `first` to `last`
        for row in range(max(0, begin - turn * size), size):
            cell, time, place = rows.cells[row], rows.times[row], turn * size + row
            number[place] = NO_EPOCH
            if cell < 0 or rows.present[row] == 0:
                continue
            if not since <= time < until:
                first, last = windows_at(epochs.within, epochs.step, epochs.origin, time)
                since = time
                until = next_edge(epochs.within, epochs.step, epochs.origin, first, last)
                epoch = epoch_in_turn(first // epochs.windows, turn, epochs.turns)
                last //= epochs.windows
            if epoch > last:
                continue
            number[place] = NO_SHIFT
            if not np.isfinite(rows.values[row]):
                continue
            at = place_of(table, pairs, cell, epoch)
            if table[at] < 0:
                if 2 * count == len(pairs):
                    return place, count
                pairs[2 * count], pairs[2 * count + 1] = cell, epoch
                table[at] = count
                count += 1
            number[place] = table[at]
    return len(number), count


class Samples(NamedTuple):
    """Values of each pair that is new.

    values: [place, pair]. taken, away: [pair] -> 0 and FOREVER, then how many it has, and how far
    they are from the time that all windows of the epoch hold.
    """

    values: Doubles
    taken: Ints
    away: Ints


@kernel(borrows=True)
def sample(
    pairs: Ints, rows: Rows, epochs: Epochs, number: Ints, before: int, samples: Samples
) -> None:
    """Take the first values of each pair from `before` on, in the time that all windows hold.

    Where there is no value then, the nearest to it, which most of the windows hold. number: [turn *
    rows + row].
    """
    values, taken, away = samples.values, samples.taken, samples.away
    size = len(rows.cells)
    for place in range(len(number)):
        new = number[place] - before
        if new < 0:
            continue
        time = rows.times[place % size]
        first = pairs[2 * number[place] + 1] * epochs.windows
        begin = start_of(first + epochs.windows - 1, epochs.step, epochs.origin)
        end = end_of(epochs.within, epochs.step, epochs.origin, first)
        distance = np.int64(0)
        if time < begin:
            distance = begin - time
        elif time >= end:
            distance = time - end + 1
        if distance < away[new]:
            away[new], taken[new] = distance, 0
        if distance == away[new] and taken[new] < len(values):
            values[taken[new], new] = rows.values[place % size]
            taken[new] += 1


@kernel(borrows=True)
def deviate(
    number: Ints, shifts: Doubles, values: Doubles, squares: Ints, deviations: Ints, into: Doubles
) -> None:
    """Fill rows of `into` with values' deviations from their shifts, and with squares of these.

    number: [turn * rows + row]; squares, deviations: [turn] -> row of `into`. A value without a
    shift stays; what is in no epoch adds nothing.
    """
    size = len(values)
    for turn in range(len(squares)):
        square, deviation = squares[turn], deviations[turn]
        begin = turn * size if turn * size < len(number) else 0  # one epoch is for all turns
        for row in range(size):
            there, value = number[begin + row], values[row]
            if there == NO_EPOCH:
                value = 0.0
            elif there != NO_SHIFT:
                value -= shifts[there]
            into[deviation, row] = value
            into[square, row] = value * value
