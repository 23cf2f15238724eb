# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Windows: the one place where they open and close.

A kind of window (a WITHIN, SLIDE and ORIGIN, or the whole stream) is the words WITHIN to HOLDERS.
Window k of a kind lies in lane `k % OVERLAP` of all cells of the kind's nodes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from elsinore.trends.core.arrays import BEFORE_ALL, FOREVER, NEVER, Doubles, Ints, Shares
from elsinore.trends.core.step import NO_VALUE
from elsinore.trends.core.totals import add_to_totals
from elsinore.trends.core.wide import wide_kernel
from elsinore.trends.core.window_times import next_edge, windows_at
from elsinore.trends.sharing.clock import GROUP, NUMBER, begin_lane, settle_lane

# the words of a kind: its cells and extremes, the cells that are 1 while a window is open, the list
# of its seeds (cells that are 1 when it opens), of its queries and of its holders
WITHIN, STEP, ORIGIN, OVERLAP, CELL, LAST_CELL, EXTREME, LAST_EXTREME = 0, 1, 2, 3, 4, 5, 6, 7
OPEN, SEEDS, QUERIES, HOLDERS, KIND = 8, 9, 10, 11, 12

# whether a key leaves its slot; of the compiler's one type for numbers, as a literal is another
STAYS, LEAVES = np.int64(0), np.int64(1)

KINDS = 0  # the program's word that tells where the list of kinds is: their number, then they


@wide_kernel(linked=True)
def advance(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    slot: int,
    time: int,
    leaves: int,
    shares: Shares,
) -> None:
    """Close a slot's windows that end at or before `time`; open those that hold it.

    leaves: LEAVES to close them all instead, else STAYS.
    """
    edge = NEVER if leaves == LEAVES else FOREVER
    kinds, shared = program[KINDS], 0
    if shares is not None:
        for place in range(slot * header.group, (slot + 1) * header.group):
            shared |= ints[header.shared + place]
    for number in range(program[kinds]):
        kind = kinds + 1 + number * KIND
        first, last = 0, BEFORE_ALL
        if leaves == STAYS:
            within, step = program[kind + WITHIN], program[kind + STEP]
            first, last = windows_at(within, step, program[kind + ORIGIN], time)
            edge = min(edge, next_edge(within, step, program[kind + ORIGIN], first, last))
        place = slot * header.kind + number
        before = ints[header.last + place]
        end = before + 1 if leaves == LEAVES else min(before + 1, first)
        for window in range(ints[header.first + place], end):
            _close_window(header, ints, doubles, program, kind, slot, window, shares, shared)
        for window in range(max(first, before + 1), last + 1):
            _open_window(header, ints, doubles, program, kind, slot, window, shares, shared)
        ints[header.first + place] = first
        ints[header.last + place] = last
    ints[header.edge + slot] = edge
    if ints[header.big + slot] != 0:
        _look_for_big(header, ints, doubles, slot)


@wide_kernel(inline=True)
def _close_window(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    kind: int,
    slot: int,
    window: int,
    shares: Shares,
    shared: int,
) -> None:
    """Add what a slot has in one window to its group's totals, and empty the window's lane.

    shared: 0 where all lanes are up to date and all clocks at their beginning.
    """
    overlap = program[kind + OVERLAP]
    lane = window % overlap
    if shares is not None and shared != 0:
        holders = program[kind + HOLDERS]
        for place in range(holders + 1, holders + 1 + program[holders]):
            if settle_lane(header, ints, doubles, program, program[place], slot, lane):
                group = program[program[program[place] + GROUP] + NUMBER]
                ints[header.snapshots + group] += 1
                ints[header.touched + slot * header.group + group] += 1
    queries = program[kind + QUERIES]
    add_to_totals(header, ints, doubles, program, queries, slot, lane, window)
    cells, powers = header.cells + slot * header.cell, header.powers + slot * header.cell
    for cell in range(program[kind + CELL] + lane, program[kind + LAST_CELL], overlap):
        doubles[cells + cell] = 0.0
    if ints[header.big + slot] != 0:
        for cell in range(program[kind + CELL] + lane, program[kind + LAST_CELL], overlap):
            doubles[powers + cell] = 0.0
    for place in range(program[kind + EXTREME] + lane, program[kind + LAST_EXTREME], overlap):
        ints[header.extremes + slot * header.extreme + place] = NO_VALUE


@wide_kernel(inline=True)
def _open_window(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    kind: int,
    slot: int,
    window: int,
    shares: Shares,
    shared: int,
) -> None:
    """Let trends begin in a window whose lane is empty; `shared` as for `_close_window`."""
    lane = window % program[kind + OVERLAP]
    cells = header.cells + slot * header.cell + lane
    doubles[cells + program[kind + OPEN]] = 1.0
    seeds = program[kind + SEEDS]
    for place in range(seeds + 1, seeds + 1 + program[seeds]):
        doubles[cells + program[place]] = 1.0
    if shares is not None and shared != 0:
        holders = program[kind + HOLDERS]
        for place in range(holders + 1, holders + 1 + program[holders]):
            begin_lane(header, ints, doubles, program, program[place], slot, lane)


@wide_kernel(inline=True)
def _look_for_big(header: Any, ints: Ints, doubles: Doubles, slot: int) -> None:
    """Find out whether some number of a slot has a power still."""
    begin = header.powers + slot * header.cell
    most = 0.0
    for place in range(begin, begin + header.cell):
        most = max(most, doubles[place])
    ints[header.big + slot] = 1 if most > 0.0 else 0
