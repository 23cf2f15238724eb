"""Storing what the events of one timestamp added, once no other event can have that timestamp.

Simultaneous events do not precede one another: all of them read the lanes as they were before. So
what they add is added up apart, and an event that NOT forbids empties lanes only of earlier trends.
"""

from __future__ import annotations

import cython

from elsinore.trends.engine.tables import FOREVER as _FOREVER

if cython.compiled:
    from cython.cimports.elsinore.trends.engine.memory import empty_lane
    from cython.cimports.elsinore.trends.engine.negatives import note_matches
    from cython.cimports.elsinore.trends.engine.numbers import add_lanes
    from cython.cimports.elsinore.trends.engine.rows import drop_rows, empty_row_lanes, store_rows
    from cython.cimports.elsinore.trends.engine.scaling import make_scaled
    from cython.cimports.elsinore.trends.engine.sharing.graphlets import store_graphlets
    from cython.cimports.elsinore.trends.engine.store import Store, touch
    from cython.cimports.elsinore.trends.engine.tables import Program
    from cython.cimports.libc.math import fabs
else:
    from math import fabs

    from elsinore.trends.engine.memory import empty_lane
    from elsinore.trends.engine.negatives import note_matches
    from elsinore.trends.engine.numbers import add_lanes
    from elsinore.trends.engine.rows import drop_rows, empty_row_lanes, store_rows
    from elsinore.trends.engine.scaling import make_scaled
    from elsinore.trends.engine.sharing.graphlets import store_graphlets
    from elsinore.trends.engine.store import Store, touch
    from elsinore.trends.engine.tables import Program

FOREVER = cython.declare(cython.longlong, _FOREVER)
LIMIT = cython.declare(cython.double, 2.0**512)


def store_moment(program: Program, store: Store, slot: cython.Py_ssize_t) -> cython.void:
    """Store what a slot's latest timestamp emptied and added."""
    place: cython.Py_ssize_t
    if store.slots[slot].pending:
        store_graphlets(program, store, slot)
    for place in range(store.slots[slot].touched):
        block: cython.Py_ssize_t = store.touched[slot, place]
        begin: cython.Py_ssize_t = store.ranges[slot, block].begin
        end: cython.Py_ssize_t = store.ranges[slot, block].end
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


def empty(
    program: Program, store: Store, slot: cython.Py_ssize_t, at: cython.Py_ssize_t
) -> cython.void:
    """Let a reset empty its lanes when the timestamp is stored."""
    block: cython.Py_ssize_t = program.resets[at].block
    begin: cython.Py_ssize_t = program.resets[at].lane
    end: cython.Py_ssize_t = begin + program.resets[at].lanes
    lane: cython.Py_ssize_t
    for lane in range(begin, end):
        store.emptied[slot, program.blocks[block].flag + lane] = 1
    touch(store, slot, block, begin, end)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def empty_lanes(
    program: Program,
    store: Store,
    slot: cython.Py_ssize_t,
    block: cython.Py_ssize_t,
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
) -> cython.void:
    """Empty the lanes that an event of the timestamp emptied."""
    lane: cython.Py_ssize_t
    emptied: cython.Py_ssize_t = 0
    for lane in range(begin, end):
        emptied += store.emptied[slot, program.blocks[block].flag + lane]
    has_rows: cython.bint = program.blocks[block].rows >= 0
    if has_rows and emptied == program.blocks[block].width:
        drop_rows(program, store, slot, block)
        has_rows = False
    for lane in range(begin, end):
        flag: cython.Py_ssize_t = program.blocks[block].flag + lane
        if store.emptied[slot, flag]:
            store.emptied[slot, flag] = 0
            if has_rows:
                empty_row_lanes(program, store, slot, block, lane, lane + 1, 1)
            empty_lane(program, store, slot, block, lane)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def store_sums(
    program: Program,
    store: Store,
    slot: cython.Py_ssize_t,
    block: cython.Py_ssize_t,
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
) -> cython.void:
    """Add what the timestamp added to lanes of a block."""
    row: cython.Py_ssize_t
    cell: cython.Py_ssize_t
    for row in range(program.blocks[block].sums):
        first: cython.Py_ssize_t = program.blocks[block].cell + row * program.blocks[block].width
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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def store_extremes(
    program: Program,
    store: Store,
    slot: cython.Py_ssize_t,
    block: cython.Py_ssize_t,
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
) -> cython.void:
    """Take the lesser of stored and added extremes of lanes of a block."""
    row: cython.Py_ssize_t
    cell: cython.Py_ssize_t
    for row in range(program.blocks[block].extremes):
        first: cython.Py_ssize_t = program.blocks[block].extreme + row * program.blocks[block].width
        for cell in range(first + begin, first + end):
            store.extremes[slot, cell] = min(
                store.extremes[slot, cell], store.added_extremes[slot, cell]
            )
            store.added_extremes[slot, cell] = FOREVER
