"""Storing what the events of one timestamp added, once no other event can have that timestamp.

Simultaneous events do not precede one another: all of them read the lanes as they were before. So
what they add is added up apart, and an event that NOT forbids empties lanes only of earlier trends.
"""

from __future__ import annotations

from math import fabs

import cython

from elsinore.trends.engine.constants import FOREVER, LIMIT, Index
from elsinore.trends.engine.memory import empty_lane
from elsinore.trends.engine.negatives import note_matches
from elsinore.trends.engine.numbers import add_lanes
from elsinore.trends.engine.rows import drop_rows, empty_row_lanes, store_rows
from elsinore.trends.engine.scaling import make_scaled
from elsinore.trends.engine.sharing.graphlets import store_graphlets
from elsinore.trends.engine.store import Store, touch
from elsinore.trends.engine.tables import Program


@cython.nogil
def store_moment(program: Program, store: Store, slot: Index) -> cython.void:
    """Store what a slot's latest timestamp emptied and added."""
    place: Index
    if store.slots[slot].pending:
        store_graphlets(program, store, slot)
    for place in range(store.slots[slot].touched):
        block: Index = store.touched[slot, place]
        begin: Index = store.ranges[slot, block].begin
        end: Index = store.ranges[slot, block].end
        store.ranges[slot, block].begin = 0
        store.ranges[slot, block].end = 0
        if program.blocks[block].flag >= 0:
            empty_lanes(program, store, slot, block, begin, end)
        store_sums(program, store, slot, block, begin, end)
        store_extremes(program, store, slot, block, begin, end)
        note_matches(program, store, slot, block)
        if program.blocks[block].rows >= 0:
            store_rows(program, store, slot, block)
    store.slots[slot].touched = 0


@cython.nogil
def empty(program: Program, store: Store, slot: Index, at: Index) -> cython.void:
    """Let a reset empty its lanes when the timestamp is stored."""
    block: Index = program.resets[at].block
    begin: Index = program.resets[at].lane
    end: Index = begin + program.resets[at].lanes
    lane: Index
    for lane in range(begin, end):
        store.emptied[slot, program.blocks[block].flag + lane] = 1
    touch(store, slot, block, begin, end)


@cython.nogil
def empty_lanes(
    program: Program, store: Store, slot: Index, block: Index, begin: Index, end: Index
) -> cython.void:
    """Empty the lanes that an event of the timestamp emptied."""
    lane: Index
    emptied: Index = 0
    for lane in range(begin, end):
        emptied += store.emptied[slot, program.blocks[block].flag + lane]
    has_rows: cython.bint = program.blocks[block].rows >= 0
    if has_rows and emptied == program.blocks[block].width:
        drop_rows(program, store, slot, block)
        has_rows = False
    for lane in range(begin, end):
        flag: Index = program.blocks[block].flag + lane
        if store.emptied[slot, flag]:
            store.emptied[slot, flag] = 0
            if has_rows:
                empty_row_lanes(program, store, slot, block, lane, lane + 1, 1)
            empty_lane(program, store, slot, block, lane)


@cython.inline
@cython.nogil
def store_sums(
    program: Program, store: Store, slot: Index, block: Index, begin: Index, end: Index
) -> cython.void:
    """Add what the timestamp added to lanes of a block."""
    row: Index
    cell: Index
    for row in range(program.blocks[block].sums):
        first: Index = program.blocks[block].cell + row * program.blocks[block].width
        if store.slots[slot].scaled:
            add_lanes(
                store.cells,
                store.powers,
                slot,
                first + begin,
                store.added,
                store.added_powers,
                slot,
                first + begin,
                0,
                end - begin,
            )
            for cell in range(first + begin, first + end):
                store.added[slot, cell] = 0.0
                store.added_powers[slot, cell] = 0.0
            continue
        passed: cython.bint = False
        for cell in range(first + begin, first + end):
            store.cells[slot, cell] += store.added[slot, cell]
            store.added[slot, cell] = 0.0
            passed |= not fabs(store.cells[slot, cell]) < LIMIT
        if passed:
            make_scaled(program, store, slot)


@cython.nogil
def store_extremes(
    program: Program, store: Store, slot: Index, block: Index, begin: Index, end: Index
) -> cython.void:
    """Take the lesser of stored and added extremes of lanes of a block."""
    row: Index
    cell: Index
    for row in range(program.blocks[block].extremes):
        first: Index = program.blocks[block].extreme + row * program.blocks[block].width
        for cell in range(first + begin, first + end):
            store.extremes[slot, cell] = min(
                store.extremes[slot, cell], store.added_extremes[slot, cell]
            )
            store.added_extremes[slot, cell] = FOREVER
