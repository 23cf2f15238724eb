# cython: infer_types=True
"""Which rows of earlier events an event reads, and what NOT lets it read.

A negative pattern is a query whose extreme is the moment at which its trends begin. Of all its
matches that have ended before an event only the one that began last matters: if any match lies
between two events, that one does. So an event may follow another one by a *way*, whose negatives
have no match in between, if the other's moment is not before any of these beginnings.

A match lies in a window if it began in it: it has ended before the window does.
"""

from __future__ import annotations

import cython

from elsinore.operators.conditions.machine import all_hold
from elsinore.trends.engine.constants import FOREVER, NO_BLOCK, NO_MOMENT, Index
from elsinore.trends.engine.numbers import clear
from elsinore.trends.engine.rows import add_row
from elsinore.trends.engine.runs import read_run
from elsinore.trends.engine.store import Store
from elsinore.trends.engine.tables import Batch, Program


@cython.nogil
def set_limits(program: Program, store: Store, slot: Index, guard: Index) -> cython.void:
    """Set from which moment on (`low`) and before which (`high`) a guard lets events precede.

    Below 0 there is no guard.
    """
    store.low = NO_MOMENT
    store.high = FOREVER
    if guard >= 0:
        free: Index = program.guards[guard].free
        store.low = first_free(program, store, slot, free, program.guards[guard].free_end)
        unless: Index = program.guards[guard].unless
        store.high = first_free(program, store, slot, unless, program.guards[guard].unless_end)


@cython.nogil
def first_free(
    program: Program, store: Store, slot: Index, begin: Index, end: Index
) -> cython.longlong:
    """Return the first moment from which on some way is free; FOREVER if there are no ways."""
    first: cython.longlong = FOREVER
    for way in range(begin, end):
        latest: cython.longlong = NO_MOMENT
        for place in range(program.ways[way].negatives, program.ways[way].negatives_end):
            latest = max(latest, store.latest[slot, program.negatives[place]])
        first = min(first, latest)
    return first


@cython.nogil
def note_matches(program: Program, store: Store, slot: Index, block: Index) -> cython.void:
    """Note when the latest matches began that end in a block, after a timestamp was stored."""
    for at in range(program.blocks[block].watches, program.blocks[block].watches_end):
        negative: Index = program.watches[at].negative
        for lane in range(program.watches[at].lanes):
            inverted: cython.longlong = store.stored.extremes[
                slot, program.watches[at].extreme + lane
            ]
            if inverted != FOREVER:
                store.latest[slot, negative] = max(store.latest[slot, negative], ~inverted)


@cython.nogil
def read_beginnings(
    program: Program, store: Store, slot: Index, at: Index, place: Index
) -> cython.void:
    """Gather one empty trend in each open window in which no negative match began."""
    kind: Index = program.reads[at].kind
    clear(store.gathered, place, 0, program.reads[at].lanes, True)
    for lane in range(program.reads[at].lanes):
        if store.low < store.opened[slot, program.kinds[kind].opened + lane]:
            is_open: cython.double = store.stored.cells[slot, program.kinds[kind].cell + lane]
            store.gathered.cells[place, lane] = is_open


@cython.nogil
def clear_gathered(program: Program, store: Store, at: Index, place: Index) -> cython.void:
    """Let a read have gathered nothing."""
    block: Index = program.reads[at].block
    cell: Index
    for number in range(program.blocks[block].sums):
        cell = number * program.blocks[block].width + program.reads[at].lane
        clear(store.gathered, place, cell, cell + program.reads[at].lanes, True)
    for number in range(program.blocks[block].extremes):
        first: Index = number * program.blocks[block].width + program.reads[at].lane
        for cell in range(first, first + program.reads[at].lanes):
            store.gathered.extremes[place, cell] = FOREVER


@cython.inline
@cython.nogil
def may_follow(
    program: Program, store: Store, batch: Batch, event: Index, at: Index, row: Index
) -> cython.bint:
    """Return whether an event may follow that of a row.

    The row's value is in some range of the read, its moment is from `low` to before `high`, and all
    conditions hold, those on the trends' anchor included.
    """
    if store.row_moments[row] < store.low or store.row_moments[row] >= store.high:
        return False
    part: Index = program.reads[at].part
    if part < program.reads[at].parts_end:
        if not store.row_ordered[row]:
            return False
        while not batch.lows[event, part] <= store.row_orders[row] <= batch.highs[event, part]:
            part += 1
            if part == program.reads[at].parts_end:
                return False
    first: Index = program.reads[at].checks
    last: Index = program.reads[at].checks_end
    if store.row_anchors[row] != 0 and not hold(store, batch, event, row, first, last):
        return False
    first = program.reads[at].conditions
    last = program.reads[at].conditions_end
    return hold(store, batch, event, row, first, last)


@cython.inline
@cython.nogil
def hold(
    store: Store, batch: Batch, event: Index, row: Index, begin: Index, end: Index
) -> cython.bint:
    """Return whether all conditions of a list hold between the event of a row and a later one."""
    return begin == end or all_hold(
        store.conditions, begin, end, batch.values, event, store.earlier, row, store.registers, 0, 0
    )


@cython.nogil
def read_rows(
    program: Program, store: Store, batch: Batch, event: Index, slot: Index, at: Index, place: Index
) -> cython.void:
    """Gather the sums of the rows that an event may follow; `place`: the read's in its step."""
    block: Index = program.reads[at].block
    set_limits(program, store, slot, program.reads[at].guard)
    if block == NO_BLOCK:
        read_beginnings(program, store, slot, at, place)
        return
    clear_gathered(program, store, at, place)
    lane: Index = program.reads[at].lane
    lanes: Index = program.reads[at].lanes
    rows: Index = program.blocks[block].rows
    begin: Index = store.leaves[slot, rows].begin
    for row in range(begin, begin + store.leaves[slot, rows].count):
        if may_follow(program, store, batch, event, at, row):
            add_row(program, store, slot, block, row, store.gathered, place, lane, lanes)
            if program.blocks[block].is_next:
                store.row_taken[row] = 1
    for level in range(store.leaves[slot, rows].top):
        if store.runs[slot, rows, level].count == 0:
            continue
        for part in range(program.reads[at].part, program.reads[at].parts_end):
            low: cython.longlong = batch.lows[event, part]
            if low <= batch.highs[event, part]:
                read_run(program, store, slot, at, place, level, low, batch.highs[event, part])
