# cython: infer_types=True
"""Opening and closing windows, and the totals of closed windows.

Windows close and open at the first event after one of their edges. Window k of a kind is
[origin + k * step, origin + k * step + within); without WITHIN there is one that never ends. It has
the lane `k % overlap` of each node of the kind. While it is open, the kind's cell of that lane is
1: trends begin there. All other lanes contain 0, so that events need not look at windows.

Totals are rows for each (query, group, window), found by hashing.
"""

from __future__ import annotations

import cython

from elsinore.trends.engine.constants import FOREVER, Index, Number
from elsinore.trends.engine.numbers import add, pairs, plus, take_least
from elsinore.trends.engine.ranges import set_limits
from elsinore.trends.engine.rows import (
    begin_of,
    drop_rows,
    empty_lane,
    empty_row_lanes,
    forget_rows_before,
)
from elsinore.trends.engine.sharing.columns import close_snapshots, forget_snapshots
from elsinore.trends.engine.store import Store
from elsinore.trends.engine.tables import Program

MASK = cython.declare(cython.longlong, 2**30 - 1)  # products of two such numbers fit 64 bits


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


@cython.inline
@cython.nogil
def next_edge(
    program: Program, kind: Index, first: cython.longlong, last: cython.longlong
) -> cython.longlong:
    """Return the time of the next edge, after a time that windows `first` to `last` contain."""
    if program.kinds[kind].within == FOREVER:
        return FOREVER
    step: cython.longlong = program.kinds[kind].step
    begins: cython.longlong = program.kinds[kind].origin + (last + 1) * step
    if first > last:
        return begins
    return min(begins, program.kinds[kind].origin + first * step + program.kinds[kind].within)


@cython.nogil
def empty_window(
    program: Program, store: Store, slot: Index, kind: Index, lane: Index
) -> cython.void:
    """Empty the lanes of a window."""
    overlap: Index = program.kinds[kind].overlap
    cell: Index = program.kinds[kind].cell + lane
    while cell < program.kinds[kind].cells_end:
        store.stored.cells[slot, cell] = 0.0
        if store.slots[slot].scaled:
            store.stored.powers[slot, cell] = 0.0
        cell += overlap
    cell = program.kinds[kind].extreme + lane
    while cell < program.kinds[kind].extremes_end:
        store.stored.extremes[slot, cell] = FOREVER
        cell += overlap


@cython.nogil
def close_rows(
    program: Program, store: Store, slot: Index, kind: Index, end: cython.longlong
) -> cython.void:
    """Empty the lanes of windows before `end` in the rows of events."""
    overlap: Index = program.kinds[kind].overlap
    window: cython.longlong
    for block in range(program.kinds[kind].blocks, program.kinds[kind].blocks_end):
        if program.blocks[block].rows < 0:
            continue
        if end > store.last[slot, kind]:
            drop_rows(program, store, slot, block)
            continue
        for window in range(store.first[slot, kind], end):
            lane: Index = lane_of(window, overlap)
            width: Index = program.blocks[block].width
            empty_row_lanes(program, store, slot, block, lane, width, overlap)
        opened: Index = program.kinds[kind].opened + lane_of(end, overlap)
        forget_rows_before(program, store, slot, block, store.opened[slot, opened])


@cython.nogil
def add_up_rows(
    program: Program, store: Store, slot: Index, block: Index, lane: Index, step: Index
) -> cython.void:
    """Set each `step`-th of a block's lanes, from `lane` on, to the sum of its rows.

    Rows from before `low` do not count: a negative match began after them.
    """
    width: Index = program.blocks[block].width
    begin: Index = begin_of(program, store, slot, block, -1)
    while lane < width:
        empty_lane(program, store, slot, block, lane)
        for row in range(begin, begin + store.leaves[slot, program.blocks[block].rows].count):
            if store.row_moments[row] < store.low:
                continue
            for number in range(program.blocks[block].sums):
                at: Index = number * width + lane
                cell: Index = program.blocks[block].cell + at
                add(store.stored, slot, cell, store.rows, row, at, 1, store.slots[slot].scaled, 0)
            for number in range(program.blocks[block].extremes):
                at = number * width + lane
                cell = program.blocks[block].extreme + at
                take_least(store.stored, slot, cell, store.rows, row, at, 1)
        lane += step


@cython.nogil
def decide_ends(
    program: Program, store: Store, slot: Index, kind: Index, lane: Index
) -> cython.void:
    """Add up the trends of a window whose last events no negative match follows."""
    overlap: Index = program.kinds[kind].overlap
    for block in range(program.kinds[kind].blocks, program.kinds[kind].blocks_end):
        if program.blocks[block].closing >= 0:
            set_limits(program, store, slot, program.blocks[block].closing)
            add_up_rows(program, store, slot, block, lane, overlap)


@cython.nogil
def close_windows(
    program: Program, store: Store, slot: Index, kind: Index, end: cython.longlong
) -> cython.void:
    """Close the windows of a kind before window `end`: add them to totals, empty their lanes."""
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
        close_rows(program, store, slot, kind, end)
    store.first[slot, kind] = max(store.first[slot, kind], end)


@cython.nogil
def open_windows(
    program: Program, store: Store, slot: Index, kind: Index, last: cython.longlong
) -> cython.void:
    """Open the windows of a kind up to `last`, but none before the first open one."""
    overlap: Index = program.kinds[kind].overlap
    begin: cython.longlong = max(store.last[slot, kind] + 1, store.first[slot, kind])
    window: cython.longlong
    for window in range(begin, last + 1):
        lane: Index = lane_of(window, overlap)
        store.stored.cells[slot, program.kinds[kind].cell + lane] = 1.0
        store.opened[slot, program.kinds[kind].opened + lane] = store.slots[slot].moment
        for place in range(program.kinds[kind].seeds, program.kinds[kind].seeds_end):
            store.stored.cells[slot, program.seeds[place] + lane] = 1.0
    store.last[slot, kind] = max(store.last[slot, kind], last)


@cython.nogil
def move_windows(program: Program, store: Store, slot: Index, time: cython.longlong) -> cython.void:
    """Close the windows that end by a time and open those that contain it."""
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
    if store.slots[slot].rows > 0:
        return 1
    for cell in range(store.stored.powers.shape[1]):
        if store.stored.powers[slot, cell] != 0.0:
            return 1
    return 0


@cython.inline
@cython.nogil
def home(
    query: cython.longlong, group: cython.longlong, window: cython.longlong, size: cython.longlong
) -> cython.longlong:
    """Return the first place of a total in a hash table of `size` entries, a power of two."""
    mixed: cython.longlong = cython.cast(cython.longlong, query) * 1_000_003
    mixed = ((mixed + cython.cast(cython.longlong, group)) & MASK) * 1_540_483_477
    folded: cython.longlong = cython.cast(cython.longlong, window)
    mixed = mixed ^ (((folded ^ (folded >> 29)) & MASK) * 1_000_000_007)
    mixed = (mixed ^ (mixed >> 31)) & MASK
    mixed = mixed * 1_540_483_477
    return (mixed >> 15) & (size - 1)


@cython.nogil
def row_of(store: Store, query: Index, group: Index, window: cython.longlong) -> Index:
    """Return the row of a total, or a new one, for which there has to be room."""
    size: cython.longlong = store.places.shape[0]
    place: cython.longlong = home(query, group, window, size)
    row: Index = store.places[place]
    while row >= 0:
        if (
            store.totals[row].window == window
            and store.totals[row].group == group
            and store.totals[row].query == query
        ):
            return row
        place = (place + 1) & (size - 1)
        row = store.places[place]
    row = store.total_count
    store.total_count += 1
    store.places[place] = cython.cast(Index, row)
    store.totals[row].query = query
    store.totals[row].group = group
    store.totals[row].window = window
    return row


def rebuild(store: Store) -> None:
    """Enter all totals into an empty hash table."""
    size: cython.longlong = store.places.shape[0]
    row: Index
    for row in range(store.total_count):
        place: cython.longlong = home(
            store.totals[row].query, store.totals[row].group, store.totals[row].window, size
        )
        while store.places[place] >= 0:
            place = (place + 1) & (size - 1)
        store.places[place] = cython.cast(Index, row)


@cython.nogil
def sum_of(program: Program, store: Store, slot: Index, field: Index, lane: Index) -> Number:
    """Return the sum of the cells of a field in a lane."""
    total: Number = Number(0.0, 0.0)
    for place in range(program.fields[field].places, program.fields[field].places_end):
        cell: Index = program.places[place] + lane
        power: cython.double = store.stored.powers[slot, cell] if store.slots[slot].scaled else 0.0
        total = plus(total, Number(store.stored.cells[slot, cell], power))
    return total


@cython.nogil
def add_to_totals(
    program: Program, store: Store, slot: Index, kind: Index, lane: Index, window: cython.longlong
) -> cython.void:
    """Add a slot's values in a window to the totals of its group, for each query with trends."""
    field: Index
    for at in range(program.kinds[kind].ends, program.kinds[kind].ends_end):
        field = program.ends[at].fields
        trends: Number = sum_of(program, store, slot, field, lane)
        if program.ends[at].pairs:
            trends = pairs(
                trends,
                sum_of(program, store, slot, field + 1, lane),
                sum_of(program, store, slot, field + 2, lane),
            )
        if trends.mantissa == 0.0:
            continue
        row: Index = row_of(store, program.ends[at].query, store.slots[slot].group, window)
        add_number(store, row, 0, trends)
        if not program.ends[at].pairs:
            for field in range(program.ends[at].fields + 1, program.ends[at].fields_end):
                number: Number = sum_of(program, store, slot, field, lane)
                add_number(store, row, field - program.ends[at].fields, number)
        for field in range(program.ends[at].extremes, program.ends[at].extremes_end):
            column: Index = field - program.ends[at].extremes
            for place in range(program.fields[field].places, program.fields[field].places_end):
                store.total_extremes[row, column] = min(
                    store.total_extremes[row, column],
                    store.stored.extremes[slot, program.places[place] + lane],
                )


@cython.nogil
def add_number(store: Store, row: Index, column: Index, number: Number) -> cython.void:
    """Add a number to a field of a total."""
    total: Number = Number(store.total_cells[row, column], store.total_powers[row, column])
    total = plus(total, number)
    store.total_cells[row, column] = total.mantissa
    store.total_powers[row, column] = total.power
