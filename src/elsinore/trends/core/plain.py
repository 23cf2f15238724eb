# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Steps on numbers that are plain doubles: what `core.step` does, without powers.

Until a number of a slot passes 2**512 all its powers are 0 (`elsinore.trends.core.numbers`). Then a
step is a pass over each row of its lanes, and what an event adds to few cells is a list of these.
`SEQ(A, B+, C)` with an average and 1,000 keys takes 0.41 times as long as by `core.step` alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from elsinore.kernels import kernel
from elsinore.kernels.vectors import add_four
from elsinore.trends.core.arrays import Doubles, Ints
from elsinore.trends.core.numbers import LIMIT
from elsinore.trends.core.recurrence import gained
from elsinore.trends.core.step import (
    EXTREMES,
    FIRST,
    LANES,
    LOOP,
    ROW,
    SUMS,
    TERM,
    get_powers,
    take_extremes,
    value_of,
)
from elsinore.trends.core.wide import wide_kernel

GREAT = 2.0**256  # so great an addend, times a number below 2**512, is a double

# a list of cells: how many times FOUR neighbours there are to which as many are added, how many to
# which only cells are added, and how many others. Of the former the first and the first that is
# added, of the next itself and two that are added. Of each other the words TO to TIMES: itself; two
# cells that are added, itself first if it is its own predecessor; two of its node's predecessors'
# numbers of trends; what these are multiplied with: an addend or, below 0, the cell -1 - word. A
# cell that is always 0 stands for what is not there; of more predecessors there are more such words
TO, OWN, OF, TRENDS, BEFORE, TIMES = range(6)
FOUR_WORDS, SUM_WORDS, CELL_WORDS = 2, 3, 6


@wide_kernel(inline=True)
def take_plain(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    at: int,
    slot: int,
    events: float,
    addends: int,
    ranks: int,
    into: int,
) -> bool:
    """Let simultaneous events of one class act on the lanes of a step, as `step` does.

    What they add goes into cells `into`, those of the slot where they act at once. Nothing that is
    read has been changed in the present moment, and no number has a power. Returns False, and does
    nothing, where an addend is too great.
    """
    place = at + FIRST
    for _ in range(program[at + SUMS]):
        addend = program[place + 1]
        if addend >= 0 and not abs(doubles[addends + addend]) <= GREAT:
            return False
        place += ROW + TERM * program[place + 2]
    passed = _on_lanes(header, ints, doubles, program, at, slot, events, addends, ranks, into)
    if passed and into == header.cells + slot * header.cell:
        get_powers(header, ints, doubles, program, at, slot)
    return True


@wide_kernel(inline=True)
def add_cells(doubles: Doubles, program: Ints, cells: int, base: int, addends: int) -> bool:
    """Let an event act on a list of cells, one after another; `base` is the slot's first.

    A list says of each cell what steps say of rows, so that there is nothing to decide on the way:
    an event of one class takes the same path as that of another. No number has a power, and no
    addend is beyond GREAT. Returns whether some number has passed 2**512.
    """
    fours, sums = program[np.uint64(cells)], program[np.uint64(cells + 1)]
    at, passed = np.uint64(cells + 3), False
    if fours != 0:
        passed = _add_fours(doubles, program, at, fours, base)
        at += np.uint64(FOUR_WORDS * fours)
    if sums == 1:
        passed |= _add_sum(doubles, program, at, base)
        at += np.uint64(SUM_WORDS)
    elif sums > 1:
        passed |= _add_sums(doubles, program, at, sums, base)
        at += np.uint64(SUM_WORDS * sums)
    for _ in range(program[np.uint64(cells + 2)]):
        passed |= _add_cell(doubles, program, at, base, addends)
        at += np.uint64(CELL_WORDS)
    return passed


@wide_kernel(inline=True)
def _add_cell(doubles: Doubles, program: Ints, at: int, base: int, addends: int) -> bool:
    """Add to a cell what it gains by an addend; return whether that has passed 2**512."""
    to, times = np.uint64(base + program[at]), program[at + np.uint64(TIMES)]
    own, other = base + program[at + np.uint64(OWN)], base + program[at + np.uint64(OF)]
    trends, before = program[at + np.uint64(TRENDS)], program[at + np.uint64(BEFORE)]
    ended = doubles[np.uint64(base + trends)] + doubles[np.uint64(base + before)]
    value = doubles[np.uint64(addends + times if times >= 0 else base - 1 - times)]
    joined = doubles[np.uint64(own)] + doubles[np.uint64(other)]
    doubles[to] = after = doubles[to] + gained(joined, 1.0, ended, value)
    return not abs(after) < LIMIT


@wide_kernel(inline=True)
def _add_sum(doubles: Doubles, program: Ints, at: int, base: int) -> bool:
    """Add two cells to another; return whether that has passed 2**512."""
    to, of = np.uint64(base + program[at]), np.uint64(base + program[at + np.uint64(OF)])
    after = doubles[np.uint64(base + program[at + np.uint64(OWN)])] + doubles[of]
    after += doubles[to]
    doubles[to] = after
    return not abs(after) < LIMIT


@wide_kernel(linked=True)
def _add_sums(doubles: Doubles, program: Ints, begin: int, count: int, base: int) -> bool:
    """Do so to so many cells."""
    passed, at = False, begin
    for _ in range(count):
        passed |= _add_sum(doubles, program, at, base)
        at += np.uint64(SUM_WORDS)
    return passed


@kernel(borrows=True, linked=True, rare=True)
def _add_fours(doubles: Doubles, program: Ints, begin: int, count: int, base: int) -> bool:
    """Let an event act on so many times FOUR cells; return whether some has passed 2**512.

    No part of its callers: as one it would take a tenth of the time of events without such cells.
    """
    passed, at = False, begin
    for _ in range(count):
        to, of = base + program[at], base + program[at + np.uint64(1)]
        passed |= add_four(doubles, to, of, LIMIT)
        at += np.uint64(FOUR_WORDS)
    return passed


@wide_kernel(inline=True)
def are_beyond(header: Any, doubles: Doubles, addends: int, most: float) -> bool:
    """Return whether some addend is greater in size than `most`, or not a number."""
    beyond = False
    for place in range(addends, addends + header.addend):
        beyond |= not abs(doubles[place]) <= most
    return beyond


@wide_kernel(linked=True)
def _on_lanes(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    at: int,
    slot: int,
    events: float,
    addends: int,
    ranks: int,
    into: int,
) -> bool:
    """Let events act on a run of lanes; return whether some number has passed 2**512."""
    cells, lanes = header.cells + slot * header.cell, np.uint64(program[at + LANES])
    loop = float(program[at + LOOP])
    place = at + FIRST
    target, trends = np.uint64(into + program[place]), np.uint64(header.trends)
    row, passed = trends, False
    for number in range(program[at + SUMS]):
        to, terms = np.uint64(into + program[place]), program[place + 2]
        own = np.uint64(cells + program[place])
        value = value_of(doubles, program[place + 1], events, addends)
        place += ROW
        if number > 0 and terms == 1 and program[place + 2] == 0:
            of = np.uint64(cells + program[place])
            for lane in range(lanes):
                joined = loop * doubles[own + lane] + doubles[of + lane]
                gain = gained(joined, events, doubles[trends + lane], value)
                after = doubles[to + lane] + gain
                doubles[to + lane] = after
                passed |= not abs(after) < LIMIT
            place += TERM
            continue
        for lane in range(lanes):
            doubles[row + lane] = loop * doubles[own + lane]
        for _ in range(terms):
            of = np.uint64(cells + program[place])
            if program[place + 2] != 0:
                only = doubles[of]
                for lane in range(lanes):
                    doubles[row + lane] += only
            else:
                for lane in range(lanes):
                    doubles[row + lane] += doubles[of + lane]
            place += TERM
        if number > 0:
            for lane in range(lanes):
                gain = gained(doubles[row + lane], events, doubles[trends + lane], value)
                after = doubles[to + lane] + gain
                doubles[to + lane] = after
                passed |= not abs(after) < LIMIT
        row = np.uint64(header.sums)
    if program[at + EXTREMES] != 0:
        take_extremes(header, ints, doubles, program, at, place, slot, ranks, 0)
    for lane in range(lanes):
        after = doubles[target + lane] + doubles[trends + lane] * events
        doubles[target + lane] = after
        passed |= not abs(after) < LIMIT
    return passed
