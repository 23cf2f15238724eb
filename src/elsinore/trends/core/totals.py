# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Totals of closed windows: a row for each (query, group, window), found by hashing."""

from __future__ import annotations

from typing import Any

import numpy as np

from elsinore.trends.core.arrays import Doubles, Ints
from elsinore.trends.core.numbers import LIMIT, normal, plus
from elsinore.trends.core.pairs import pairs_of_sums
from elsinore.trends.core.step import NO_VALUE
from elsinore.trends.core.wide import wide_kernel

PAIRS = -1  # in place of a number of fields


@wide_kernel(inline=True)
def mixed(query: int, group: int, window: int) -> int:
    """Mix three numbers into one (multiplicative hashing with odd constants)."""
    number = np.uint64(query) * np.uint64(0x9E3779B97F4A7C15)
    number ^= np.uint64(group) * np.uint64(0xC2B2AE3D27D4EB4F)
    number ^= np.uint64(np.int64(window)) * np.uint64(0x165667B19E3779F9)
    number ^= number >> np.uint64(29)
    number *= np.uint64(0xBF58476D1CE4E5B9)
    return np.int64(number >> np.uint64(20))


@wide_kernel(inline=True)
def find_total(
    header: Any, ints: Ints, doubles: Doubles, query: int, group: int, window: int
) -> int:
    """Return the row of (query, group, window), a new empty one where there is none.

    There is room for one more row. Without a table (`header.bucket` 0) it is always a new one.
    """
    if header.bucket == 0:
        return _add_total(header, ints, doubles, query, group, window)
    place = mixed(query, group, window) & (header.bucket - 1)
    while True:
        row = ints[header.table + place]
        if row < 0:
            break
        if (
            ints[header.total_window + row] == window
            and ints[header.total_group + row] == group
            and ints[header.total_query + row] == query
        ):
            return row
        place = (place + 1) & (header.bucket - 1)
    ints[header.table + place] = header.totals
    return _add_total(header, ints, doubles, query, group, window)


@wide_kernel(linked=True)
def _add_total(
    header: Any, ints: Ints, doubles: Doubles, query: int, group: int, window: int
) -> int:
    """Return a new empty row."""
    row = header.totals
    header.totals += 1
    ints[header.total_query + row] = query
    ints[header.total_group + row] = group
    ints[header.total_window + row] = window
    for field in range(header.field):
        doubles[header.total_cells + row * header.field + field] = 0.0
        doubles[header.total_powers + row * header.field + field] = 0.0
    for place in range(header.outlier):
        ints[header.total_extremes + row * header.outlier + place] = NO_VALUE
    return row


@wide_kernel
def rebuild_table(header: Any, ints: Ints) -> None:
    """Enter all rows in use into the table anew, if there is one."""
    if header.bucket == 0:
        return
    begin = header.table
    for place in range(begin, begin + header.bucket):
        ints[place] = -1
    for row in range(header.totals):
        place = mixed(
            ints[header.total_query + row],
            ints[header.total_group + row],
            ints[header.total_window + row],
        ) & (header.bucket - 1)
        while ints[header.table + place] >= 0:
            place = (place + 1) & (header.bucket - 1)
        ints[header.table + place] = row


@wide_kernel(linked=True)
def _add_pairs(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    at: int,
    slot: int,
    lane: int,
    window: int,
) -> int:
    """Add pairs of a slot's trends to its group's totals; return where the next query is.

    program[at:]: of three sums how many places are to be added up, and these; program[at - 3]: the
    query.
    """
    query, group = program[at - 3], ints[header.group_code + slot]
    one, one_power, at = add_up(header, doubles, program, at, slot, lane, 0.0, 0.0)
    other, other_power, at = add_up(header, doubles, program, at, slot, lane, 0.0, 0.0)
    both, both_power, at = add_up(header, doubles, program, at, slot, lane, 0.0, 0.0)
    cell, power = pairs_of_sums(one, one_power, other, other_power, both, both_power)
    if cell != 0.0:
        row = find_total(header, ints, doubles, query, group, window)
        place = row * header.field
        cells, powers = header.total_cells + place, header.total_powers + place
        cell, power = plus(doubles[cells], doubles[powers], cell, power)
        doubles[cells] = cell
        doubles[powers] = power
    return at


@wide_kernel(linked=True)
def add_up(
    header: Any,
    doubles: Doubles,
    program: Ints,
    at: int,
    slot: int,
    lane: int,
    total: float,
    power: float,
) -> tuple[float, float, int]:
    """Return a number and what the places of a list hold, added up, and where the list ends."""
    cells, powers = header.cells + slot * header.cell, header.powers + slot * header.cell
    end = at + 1 + program[at]
    for place in range(at + 1, end):
        cell = program[place] + lane
        total, power = plus(total, power, doubles[cells + cell], doubles[powers + cell])
    return total, power, end


@wide_kernel(inline=True)
def _put_plainly(
    header: Any, doubles: Doubles, program: Ints, at: int, cells: int, place: int
) -> None:
    """Make a field of a new row what the places of a list hold, added up; they have no powers.

    Powers are not looked at: where few cells are, theirs would have to be fetched from afar.
    """
    total = 0.0
    for cell in range(at + 1, at + 1 + program[at]):
        total += doubles[cells + program[cell]]
    doubles[header.total_cells + place] = total
    if not abs(total) < LIMIT:
        total, power = normal(total, 0.0)
        doubles[header.total_cells + place] = total
        doubles[header.total_powers + place] = power


@wide_kernel(linked=True)
def add_to_totals(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    queries: int,
    slot: int,
    lane: int,
    window: int,
) -> None:
    """Add what a slot holds in one lane of its windows to its group's totals.

    program[queries:]: how many queries; of each its number, linear fields and extremes, and for
    each field and extreme how many places are to be added up or compared, and these. With `PAIRS`
    for the fields there are three: the trends of the one pattern, of the other and of both.
    """
    group = ints[header.group_code + slot]
    cells, extremes = header.cells + slot * header.cell, header.extremes + slot * header.extreme
    at = queries + 1
    for _ in range(program[queries]):
        query, fields, outliers = program[at], program[at + 1], program[at + 2]
        at += 3
        reached = False
        for place in range(at + 1, at + 1 + program[at]):
            reached |= doubles[cells + program[place] + lane] != 0.0
        if fields == PAIRS:
            at = _add_pairs(header, ints, doubles, program, at, slot, lane, window)
            continue
        rows = header.totals
        row = find_total(header, ints, doubles, query, group, window) if reached else -1
        plain = header.totals > rows and ints[header.big + slot] == 0
        for field in range(fields):
            place = row * header.field + field
            if plain:
                _put_plainly(header, doubles, program, at, cells + lane, place)
            elif reached:
                to, to_power = header.total_cells + place, header.total_powers + place
                total, power, _ = add_up(
                    header, doubles, program, at, slot, lane, doubles[to], doubles[to_power]
                )
                doubles[to] = total
                doubles[to_power] = power
            at += 1 + program[at]
        for outlier in range(outliers):
            places = program[at]
            if reached:
                to = header.total_extremes + row * header.outlier + outlier
                for place in range(at + 1, at + 1 + places):
                    ints[to] = min(ints[to], ints[extremes + program[place] + lane])
            at += 1 + places
