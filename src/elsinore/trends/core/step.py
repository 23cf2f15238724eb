# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Steps: what a class of events does to a run of lanes, by `elsinore.trends.core.recurrence`.

A *lane* is one copy of a node: of a query among those of one shape, in one open window. Lanes that
the same events change in the same way lie side by side, and a step works on a run of them.

A step is the words LENGTH to FIRST, and then for each of its sums, the number of trends first,

    cell, addend (or NOTHING or EACH), terms, and for each term: cell, block, whether it is one
    number for all lanes (or else a row of them)

and for each of its extremes

    extreme, rank (2r the least, 2r + 1 the greatest value of r, or NOTHING), compared, and for
    each of these: extreme (or NOTHING), cell of its number of trends, block, whether one for all

A node that is its own predecessor is not among the terms: LOOP says so.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from elsinore.trends.core.arrays import Doubles, Ints
from elsinore.trends.core.numbers import (
    LIMIT,
    factor,
    normal,
    power_of_two,
    settled,
    sum_of,
)
from elsinore.trends.core.recurrence import (
    composed,
    composed_with_power,
    gained_with_power,
    least_reached,
)
from elsinore.trends.core.wide import wide_kernel

# the words of a step
LENGTH, LANES, BLOCK, LOOP, SUMS, EXTREMES, SINGLE, FIRST = 0, 1, 2, 3, 4, 5, 6, 7
ROW, TERM, COMPARED = 3, 3, 4  # the words of a sum or an extreme, of a term, of one compared

MOST_MOMENTS = 500  # that are composed at once: 2**500 times a number below 2**512 is a double

NOTHING, EACH = -1, -2  # what an event adds in place of an addend: nothing; one
NO_VALUE = np.int64(np.iinfo(np.int64).max)  # the least of no ranks


@wide_kernel(linked=True)
def step(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    at: int,
    slot: int,
    events: float,
    addends: int,
    ranks: int,
    apart: int,
) -> None:
    """Let simultaneous events of one class act on the lanes of a step.

    doubles[addends:], ints[ranks:]: the sum of each addend and the least of each rank over the
    events. apart: 1 where blocks that the present moment has changed are read as they were before
    it, else 0.
    """
    if program[at + SINGLE] != 0 and apart == 0:
        act_once(header, ints, doubles, program, at, slot, events)
        return
    lanes = program[at + LANES]
    cells, powers = header.cells + slot * header.cell, header.powers + slot * header.cell
    target = program[at + FIRST]
    place = at + FIRST
    work, work_power = header.trends, header.trends_power
    big = False
    for number in range(program[at + SUMS]):
        cell, addend = program[place], program[place + 1]
        place = _take_in(header, ints, doubles, program, at, place, slot, work, work_power, apart)
        if number > 0:
            value = value_of(doubles, addend, events, addends)
            if value == 0.0:
                _weigh(doubles, work, lanes, events)
            else:
                _gain(header, doubles, lanes, events, value)
            big |= _add_to(doubles, cells + cell, powers + cell, work, work_power, lanes)
        work, work_power = header.sums, header.sums_power
    if program[at + EXTREMES] != 0:
        take_extremes(header, ints, doubles, program, at, place, slot, ranks, apart)
    work, work_power = header.trends, header.trends_power
    _weigh(doubles, work, lanes, events)
    big |= _add_to(doubles, cells + target, powers + target, work, work_power, lanes)
    if big:
        ints[header.big + slot] = 1


@wide_kernel(inline=True)
def value_of(doubles: Doubles, addend: int, events: float, addends: int) -> float:
    """Return what events add in all to a sum."""
    if addend == EACH:
        return events
    return 0.0 if addend == NOTHING else doubles[addends + addend]


@wide_kernel(linked=True)
def act_once(
    header: Any, ints: Ints, doubles: Doubles, program: Ints, at: int, slot: int, events: float
) -> None:
    """Let simultaneous events of one class act on the lanes of a step that is SINGLE."""
    if ints[header.big + slot] != 0:
        act_scaled(header, doubles, program, at, slot, events)
    else:
        act_plainly(header, ints, doubles, program, at, slot, events)


@wide_kernel(linked=True)
def act_scaled(
    header: Any, doubles: Doubles, program: Ints, at: int, slot: int, events: float
) -> None:
    """Do so to numbers some of which may have powers."""
    kept = 1.0 + events if program[at + LOOP] != 0 else 1.0
    _compose_lanes(header, doubles, program, at, slot, kept, events)


@wide_kernel(inline=True)
def act_plainly(
    header: Any, ints: Ints, doubles: Doubles, program: Ints, at: int, slot: int, events: float
) -> None:
    """Do so to numbers none of which has a power."""
    cells, lanes = header.cells + slot * header.cell, program[at + LANES]
    to, of = cells + program[at + FIRST], cells + program[at + FIRST + ROW]
    kept = 1.0 + events if program[at + LOOP] != 0 else 1.0
    if _compose_plain(doubles, to, of, lanes, program[at + FIRST + ROW + 2], kept, events):
        get_powers(header, ints, doubles, program, at, slot)


@wide_kernel(linked=True)
def get_powers(
    header: Any, ints: Ints, doubles: Doubles, program: Ints, at: int, slot: int
) -> None:
    """Bring the numbers that a step has changed, which had no powers, into their normal form."""
    cells, powers = header.cells + slot * header.cell, header.powers + slot * header.cell
    place = at + FIRST
    for _ in range(program[at + SUMS]):
        for cell in range(program[place], program[place] + program[at + LANES]):
            number, power = normal(doubles[cells + cell], 0.0)
            doubles[cells + cell] = number
            doubles[powers + cell] = power
        place += ROW + TERM * program[place + 2]
    ints[header.big + slot] = 1


@wide_kernel(inline=True)
def _compose_plain(
    doubles: Doubles, target: int, source: int, lanes: int, one: int, kept: float, gained: float
) -> bool:
    """Make numbers below 2**512 what `composed` tells, none of which has a power.

    Returns whether some lane has passed 2**512.
    """
    passed = False
    to, of = np.uint64(target), np.uint64(source)
    if one != 0:
        trends = doubles[of]
        for lane in range(np.uint64(lanes)):
            total = composed(doubles[to + lane], trends, kept, gained)
            doubles[to + lane] = total
            passed |= total >= LIMIT
    else:
        for lane in range(np.uint64(lanes)):
            total = composed(doubles[to + lane], doubles[of + lane], kept, gained)
            doubles[to + lane] = total
            passed |= total >= LIMIT
    return passed


@wide_kernel(inline=True)
def _compose_lanes(
    header: Any, doubles: Doubles, program: Ints, at: int, slot: int, kept: float, gained: float
) -> bool:
    """Make the numbers of a step that is SINGLE what `composed` tells.

    Returns whether some lane has a power.
    """
    lanes, target, source = program[at + LANES], program[at + FIRST], program[at + FIRST + ROW]
    cells, powers = header.cells + slot * header.cell, header.powers + slot * header.cell
    to, to_power = np.uint64(cells + target), np.uint64(powers + target)
    of, of_power = np.uint64(cells + source), np.uint64(powers + source)
    if program[at + FIRST + ROW + 2] != 0 and lanes > 1:
        of, of_power = _spread(header, doubles, of, of_power, lanes)
    big = False
    for lane in range(np.uint64(lanes)):
        mine, power = doubles[to + lane], doubles[to_power + lane]
        trends, other = doubles[of + lane], doubles[of_power + lane]
        total, top = composed_with_power(mine, power, trends, other, kept, gained)
        doubles[to + lane] = total
        doubles[to_power + lane] = top
        big |= top > 0.0
    return big


@wide_kernel(linked=True)
def repeat(
    header: Any, ints: Ints, doubles: Doubles, program: Ints, at: int, slot: int, moments: int
) -> None:
    """Let so many moments of one event each act on the lanes of a step that is SINGLE.

    What an event adds needs not be added one by one: see `composed`.
    """
    loop = program[at + LOOP] != 0
    rest = moments
    big = False
    while rest > 0:
        part = min(rest, MOST_MOMENTS)
        times = power_of_two(part) if loop else 1.0 + part
        big |= _compose_lanes(
            header, doubles, program, at, slot, times if loop else 1.0, times - 1.0
        )
        rest -= part
    if big:
        ints[header.big + slot] = 1


@wide_kernel(linked=True)
def compose(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    slot: int,
    target: int,
    source: int,
    one: int,
    lanes: int,
    loop: int,
    counts: int,
) -> None:
    """Let moments of one event each act on lanes, as many on each as ints[counts:] tells.

    They are at most MOST_MOMENTS, and 0 after it. one: 1 where the source is one number for all
    lanes, else 0. loop: 1 where lanes are their own predecessors, else 0. See `composed`.
    """
    cells, powers = header.cells + slot * header.cell, header.powers + slot * header.cell
    to, to_power = np.uint64(cells + target), np.uint64(powers + target)
    of, of_power = np.uint64(cells + source), np.uint64(powers + source)
    if one != 0:
        of, of_power = _spread(header, doubles, of, of_power, lanes)
    count = np.uint64(counts)
    big = False
    loops = loop != 0
    for lane in range(np.uint64(lanes)):
        moments = ints[count + lane]
        times = power_of_two(moments) if loops else 1.0 + moments
        other = doubles[of_power + lane]
        total, top = composed_with_power(
            doubles[to + lane],
            doubles[to_power + lane],
            doubles[of + lane],
            other if moments > 0 else 0.0,
            times if loops else 1.0,
            times - 1.0,
        )
        doubles[to + lane] = total
        doubles[to_power + lane] = top
        big |= top > 0.0
    for lane in range(np.uint64(lanes)):  # the loop above is compiled to vectors if it writes less
        ints[count + lane] = 0
    if big:
        ints[header.big + slot] = 1


@wide_kernel(inline=True)
def _spread(header: Any, doubles: Doubles, of: int, of_power: int, lanes: int) -> tuple[int, int]:
    """Make one number a row, one for each lane; return where that is, and its powers."""
    only, only_power = doubles[of], doubles[of_power]
    row, row_power = np.uint64(header.trends), np.uint64(header.trends_power)
    for lane in range(np.uint64(lanes)):
        doubles[row + lane] = only
        doubles[row_power + lane] = only_power
    return row, row_power


@wide_kernel(linked=True)
def _take_in(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    at: int,
    place: int,
    slot: int,
    work: int,
    work_power: int,
    apart: int,
) -> int:
    """Add up a sum's terms into a work row; return where the next sum begins."""
    lanes, begin = np.uint64(program[at + LANES]), place + ROW
    to, to_power = np.uint64(work), np.uint64(work_power)
    for lane in range(lanes):
        doubles[to + lane] = 0.0
        doubles[to_power + lane] = 0.0
    for term in range(-program[at + LOOP], program[place + 2]):
        if term < 0:
            cell, block, stride = program[place], program[at + BLOCK], np.uint64(1)
        else:
            told = begin + TERM * term
            cell, block = program[told], program[told + 1]
            stride = np.uint64(1 - program[told + 2])
        cells, powers = header.cells + slot * header.cell, header.powers + slot * header.cell
        if apart != 0 and ints[header.stamp + block] == header.moment:
            cells, powers = header.cells_before, header.powers_before
        of, of_power = np.uint64(cells + cell), np.uint64(powers + cell)
        for lane in range(lanes):
            there = stride * lane
            total, top = sum_of(
                doubles[to + lane],
                doubles[to_power + lane],
                doubles[of + there],
                doubles[of_power + there],
            )
            doubles[to + lane] = total
            doubles[to_power + lane] = top
    return begin + TERM * program[place + 2]


@wide_kernel(inline=True)
def _weigh(doubles: Doubles, work: int, lanes: int, events: float) -> None:
    """Multiply a work row by the number of events."""
    if events != 1.0:
        for lane in range(np.uint64(lanes)):
            doubles[np.uint64(work) + lane] *= events


@wide_kernel(linked=True)
def _add_to(
    doubles: Doubles, cells: int, powers: int, work: int, work_power: int, lanes: int
) -> bool:
    """Add a work row to cells; return whether some power is above 0."""
    to, to_power = np.uint64(cells), np.uint64(powers)
    of, of_power = np.uint64(work), np.uint64(work_power)
    big = False
    for lane in range(np.uint64(lanes)):
        total, top = sum_of(
            doubles[to + lane],
            doubles[to_power + lane],
            doubles[of + lane],
            doubles[of_power + lane],
        )
        total, top = settled(total, top)
        doubles[to + lane] = total
        doubles[to_power + lane] = top
        big |= top > 0.0
    return big


@wide_kernel(inline=True)
def _gain(header: Any, doubles: Doubles, lanes: int, events: float, value: float) -> None:
    """Make the work row `sums` what events add, whose addends have the sum `value`."""
    value, shift = factor(value, 0.0)
    to, to_power = np.uint64(header.sums), np.uint64(header.sums_power)
    of, of_power = np.uint64(header.trends), np.uint64(header.trends_power)
    for lane in range(np.uint64(lanes)):
        before, power = doubles[to + lane], doubles[to_power + lane]
        trends, other = doubles[of + lane], doubles[of_power + lane]
        total, top = gained_with_power(before, power, events, trends, other, value, shift)
        doubles[to + lane] = total
        doubles[to_power + lane] = top


@wide_kernel(linked=True)
def take_extremes(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    at: int,
    place: int,
    slot: int,
    ranks: int,
    apart: int,
) -> None:
    """Let MIN and MAX be the least of what they are, those of predecessors and the events' own.

    Only where trends are reached, and of predecessors in which some end.
    """
    lanes = program[at + LANES]
    for _ in range(program[at + EXTREMES]):
        target = header.extremes + slot * header.extreme + program[place]
        rank, compared = program[place + 1], program[place + 2]
        place += ROW
        best = NO_VALUE if rank == NOTHING else ints[ranks + rank]
        if best != NO_VALUE:
            for lane in range(lanes):
                trends = doubles[header.trends + lane]
                ints[target + lane] = least_reached(ints[target + lane], best, trends)
        for _ in range(compared):
            extreme, cell, block = program[place], program[place + 1], program[place + 2]
            stride = 1 - program[place + 3]
            place += COMPARED
            cells, source = header.cells + slot * header.cell, header.extremes
            source += slot * header.extreme
            if apart != 0 and ints[header.stamp + block] == header.moment:
                cells, source = header.cells_before, header.extremes_before
            for lane in range(lanes):
                if doubles[header.trends + lane] != 0.0:
                    there = lane * stride
                    best, trends = ints[source + extreme + there], doubles[cells + cell + there]
                    ints[target + lane] = least_reached(ints[target + lane], best, trends)
