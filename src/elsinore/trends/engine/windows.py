"""Which windows of a slot are open: at the first event after an edge some close and others open.

Window k of a kind is [origin + k * step, origin + k * step + within); without WITHIN there is one,
which never ends. It has the lane `k % overlap` of each of the kind's nodes. While it is open the
kind's cell of that lane is 1: trends begin there. In all cells of other lanes there is 0, so that
events need not look at windows.
"""

from __future__ import annotations

import cython

from elsinore.trends.engine.constants import FOREVER, Index
from elsinore.trends.engine.negatives import set_limits
from elsinore.trends.engine.rows import (
    add_up_rows,
    drop_rows,
    empty_row_lanes,
    forget_rows_before,
)
from elsinore.trends.engine.sharing.columns import close_snapshots, forget_snapshots
from elsinore.trends.engine.store import Store
from elsinore.trends.engine.tables import Program
from elsinore.trends.engine.totals import add_to_totals


@cython.inline
@cython.nogil
def floor_quotient(number: cython.longlong, divisor: cython.longlong) -> cython.longlong:
    """Return a quotient rounded down; the divisor is positive."""
    if number >= 0:
        return number // divisor
    return -((divisor - 1 - number) // divisor)


@cython.inline
@cython.nogil
def lane_of(window: cython.longlong, overlap: cython.longlong) -> Index:
    """Return the lane of a window."""
    return cython.cast(Index, window - floor_quotient(window, overlap) * overlap)


@cython.nogil
def first_to_end_after(program: Program, kind: Index, time: cython.longlong) -> cython.longlong:
    """Return the first window that ends after a time."""
    if program.kinds[kind].within == FOREVER:
        return 0
    since: cython.longlong = time - program.kinds[kind].origin - program.kinds[kind].within
    return floor_quotient(since, program.kinds[kind].step) + 1


@cython.inline
@cython.nogil
def last_to_begin_by(program: Program, kind: Index, time: cython.longlong) -> cython.longlong:
    """Return the last window that begins at or before a time."""
    if program.kinds[kind].within == FOREVER:
        return 0
    return floor_quotient(time - program.kinds[kind].origin, program.kinds[kind].step)


@cython.nogil
def end_of(program: Program, kind: Index, window: cython.longlong) -> cython.longlong:
    """Return when a window ends: the first time that it does not contain."""
    if program.kinds[kind].within == FOREVER:
        return FOREVER
    start: cython.longlong = program.kinds[kind].origin + window * program.kinds[kind].step
    return start + program.kinds[kind].within


@cython.inline
@cython.nogil
def next_edge(
    program: Program, kind: Index, first: cython.longlong, last: cython.longlong
) -> cython.longlong:
    """Return when a window begins or ends next after a time that `first` to `last` contain."""
    if program.kinds[kind].within == FOREVER:
        return FOREVER
    begins: cython.longlong = program.kinds[kind].origin + (last + 1) * program.kinds[kind].step
    if first > last:
        return begins
    return min(begins, end_of(program, kind, first))


@cython.nogil
def empty_window(
    program: Program, store: Store, slot: Index, kind: Index, lane: Index
) -> cython.void:
    """Empty the lanes of a window."""
    overlap: Index = program.kinds[kind].overlap
    cell: Index = program.kinds[kind].cell + lane
    while cell < program.kinds[kind].cells_end:
        store.cells[slot, cell] = 0.0
        if store.slots[slot].scaled:
            store.powers[slot, cell] = 0.0
        cell += overlap
    cell = program.kinds[kind].extreme + lane
    while cell < program.kinds[kind].extremes_end:
        store.extremes[slot, cell] = FOREVER
        cell += overlap


@cython.nogil
def close_rows(
    program: Program,
    store: Store,
    slot: Index,
    kind: Index,
    first: cython.longlong,
    end: cython.longlong,
) -> cython.void:
    """Empty the lanes of windows `first` to before `end` in the rows of events."""
    overlap: Index = program.kinds[kind].overlap
    block: Index
    window: cython.longlong
    for block in range(program.kinds[kind].blocks, program.kinds[kind].blocks_end):
        if program.blocks[block].rows < 0:
            continue
        if end > store.last[slot, kind]:
            drop_rows(program, store, slot, block)
            continue
        for window in range(first, end):
            lane: Index = lane_of(window, overlap)
            width: Index = program.blocks[block].width
            empty_row_lanes(program, store, slot, block, lane, width, overlap)
        opened: Index = program.kinds[kind].opened + lane_of(end, overlap)
        forget_rows_before(program, store, slot, block, store.opened[slot, opened])


@cython.nogil
def decide_ends(
    program: Program, store: Store, slot: Index, kind: Index, lane: Index
) -> cython.void:
    """Add up the trends of a window after whose end no negative match began."""
    block: Index
    overlap: Index = program.kinds[kind].overlap
    for block in range(program.kinds[kind].blocks, program.kinds[kind].blocks_end):
        if program.blocks[block].closing >= 0:
            set_limits(program, store, slot, program.blocks[block].closing)
            add_up_rows(program, store, slot, block, lane, overlap)


@cython.nogil
def close_windows(
    program: Program, store: Store, slot: Index, kind: Index, end: cython.longlong
) -> cython.void:
    """Close the windows of a kind before window `end`: add up their totals, empty their lanes."""
    overlap: Index = program.kinds[kind].overlap
    last: cython.longlong = min(store.last[slot, kind], end - 1)
    window: cython.longlong
    for window in range(store.first[slot, kind], last + 1):
        lane: Index = lane_of(window, overlap)
        decide_ends(program, store, slot, kind, lane)
        add_to_totals(program, store, slot, kind, lane, window)
        empty_window(program, store, slot, kind, lane)
        close_snapshots(program, store, slot, kind, lane)
    if last >= store.first[slot, kind]:
        forget_snapshots(program, store, slot)
        close_rows(program, store, slot, kind, store.first[slot, kind], end)
    store.first[slot, kind] = max(store.first[slot, kind], end)


@cython.nogil
def open_windows(
    program: Program, store: Store, slot: Index, kind: Index, last: cython.longlong
) -> cython.void:
    """Open the windows of a kind up to `last`, those before the first open one left out."""
    overlap: Index = program.kinds[kind].overlap
    begin: cython.longlong = max(store.last[slot, kind] + 1, store.first[slot, kind])
    window: cython.longlong
    place: Index
    for window in range(begin, last + 1):
        lane: Index = lane_of(window, overlap)
        store.cells[slot, program.kinds[kind].cell + lane] = 1.0
        store.opened[slot, program.kinds[kind].opened + lane] = store.slots[slot].moment
        for place in range(program.kinds[kind].seeds, program.kinds[kind].seeds_end):
            store.cells[slot, program.seeds[place] + lane] = 1.0
    store.last[slot, kind] = max(store.last[slot, kind], last)


@cython.nogil
def move_windows(program: Program, store: Store, slot: Index, time: cython.longlong) -> cython.void:
    """Close the windows that end by a time and open those that contain it."""
    kind: Index
    edge: cython.longlong = FOREVER
    is_new: cython.bint = store.slots[slot].key < 0
    for kind in range(program.kinds.shape[0]):
        first: cython.longlong = first_to_end_after(program, kind, time)
        last: cython.longlong = last_to_begin_by(program, kind, time)
        if is_new:
            store.first[slot, kind] = first
            store.last[slot, kind] = first - 1
        close_windows(program, store, slot, kind, first)
        open_windows(program, store, slot, kind, last)
        edge = min(edge, next_edge(program, kind, first, last))
    store.slots[slot].edge = edge
    if store.slots[slot].scaled:
        store.slots[slot].scaled = has_powers(store, slot)


@cython.nogil
def has_powers(store: Store, slot: Index) -> Index:
    """Return whether some number of a slot has a power."""
    cell: Index
    if store.slots[slot].rows > 0:
        return 1
    for cell in range(store.powers.shape[1]):
        if store.powers[slot, cell] != 0.0:
            return 1
    return 0
