"""Rows of events in memory: pieces of `LEAF_ROWS`, twice as many, and so on, taken and freed."""

from __future__ import annotations

import cython

from elsinore.trends.engine.constants import FOREVER, LEAF_ROWS, Index
from elsinore.trends.engine.numbers import add_lanes
from elsinore.trends.engine.store import Store
from elsinore.trends.engine.tables import Program

ROOM = cython.declare(Index, 8)  # times the rows of a slot are moved by one event at most


@cython.nogil
def has_row_room(program: Program, store: Store, slot: Index) -> cython.bint:
    """Return whether an event, and the end of its timestamp, find room for rows."""
    needed: cython.longlong = (ROOM + program.most_parts) * store.slots[slot].rows
    if program.has_anchors:  # a step makes as many rows as there are anchors
        needed *= 1 + program.most_steps
    needed += 4 * LEAF_ROWS * (program.row_blocks + program.most_steps)
    return store.row_top + needed <= store.row_orders.shape[0]


@cython.nogil
def allocate(store: Store, slot: Index, level: Index) -> Index:
    """Return the first of `LEAF_ROWS << level` rows in a piece that is free."""
    begin: Index = store.free[level]
    store.slots[slot].rows += LEAF_ROWS << level
    if begin >= 0:
        store.free[level] = store.row_next[begin]
        return begin
    begin = cython.cast(Index, store.row_top)
    store.row_top += LEAF_ROWS << level
    return begin


@cython.nogil
def free_rows(store: Store, slot: Index, begin: Index, level: Index) -> cython.void:
    """Free a piece."""
    store.slots[slot].rows -= LEAF_ROWS << level
    store.row_next[begin] = store.free[level]
    store.free[level] = begin


@cython.nogil
def copy_row(program: Program, store: Store, block: Index, row: Index, to: Index) -> cython.void:
    """Copy a row of a block."""
    copy_event(program, store, block, row, to)
    copy_sums(program, store, block, row, to)


@cython.nogil
def copy_event(program: Program, store: Store, block: Index, row: Index, to: Index) -> cython.void:
    """Copy what a row has of its event: all but sums and extremes."""
    column: Index
    if program.blocks[block].is_checked:
        for column in range(store.row_doubles.shape[0]):
            store.row_doubles[column, to] = store.row_doubles[column, row]
            store.row_integers[column, to] = store.row_integers[column, row]
    store.row_orders[to] = store.row_orders[row]
    store.row_moments[to] = store.row_moments[row]
    store.row_anchors[to] = store.row_anchors[row]
    store.row_ordered[to] = store.row_ordered[row]
    store.row_taken[to] = store.row_taken[row]


@cython.inline
@cython.nogil
def copy_sums(program: Program, store: Store, block: Index, row: Index, to: Index) -> cython.void:
    """Copy the sums and extremes of a row of a block."""
    cell: Index
    number: Index
    store.row_columns[to] = store.row_columns[row]
    for number in range(program.blocks[block].sums):
        at: Index = number * program.blocks[block].width
        for cell in range(at, at + store.row_columns[row]):
            store.row_cells[to, cell] = store.row_cells[row, cell]
        if store.has_powers:
            for cell in range(at, at + store.row_columns[row]):
                store.row_powers[to, cell] = store.row_powers[row, cell]
    for cell in range(program.blocks[block].extremes * program.blocks[block].width):
        store.row_extremes[to, cell] = store.row_extremes[row, cell]


@cython.nogil
def add_rows(
    program: Program, store: Store, slot: Index, block: Index, row: Index, other: Index, to: Index
) -> cython.void:
    """Let a row have the sums and extremes of a row and another one; other below 0: of one only."""
    cell: Index
    if other < 0 or store.slots[slot].scaled or program.blocks[block].extremes > 0:
        copy_sums(program, store, block, row, to)
        if other >= 0:
            add_to_row(program, store, slot, block, other, to)
        return
    number: Index
    columns: Index = store.row_columns[row]
    more: Index = store.row_columns[other]
    both: Index = min(columns, more)
    store.row_columns[to] = max(store.row_columns[row], store.row_columns[other])
    for number in range(program.blocks[block].sums):
        at: Index = number * program.blocks[block].width
        for cell in range(at, at + both):
            store.row_cells[to, cell] = store.row_cells[row, cell] + store.row_cells[other, cell]
        for cell in range(at + both, at + columns):
            store.row_cells[to, cell] = store.row_cells[row, cell]
        for cell in range(at + both, at + more):
            store.row_cells[to, cell] = store.row_cells[other, cell]
        if store.has_powers:
            for cell in range(at, at + max(columns, more)):
                store.row_powers[to, cell] = 0.0


@cython.nogil
def clear_row(program: Program, store: Store, block: Index, row: Index) -> cython.void:
    """Let a row of a block have no trends."""
    cell: Index
    store.row_columns[row] = program.blocks[block].width
    cells: Index = program.blocks[block].sums * program.blocks[block].width
    for cell in range(cells):
        store.row_cells[row, cell] = 0.0
    if store.has_powers:
        for cell in range(cells):
            store.row_powers[row, cell] = 0.0
    for cell in range(program.blocks[block].extremes * program.blocks[block].width):
        store.row_extremes[row, cell] = FOREVER


@cython.nogil
def add_to_row(
    program: Program, store: Store, slot: Index, block: Index, row: Index, to: Index
) -> cython.void:
    """Add a row to another one."""
    cell: Index
    number: Index
    for number in range(program.blocks[block].sums):
        at: Index = number * program.blocks[block].width
        for cell in range(at + store.row_columns[to], at + store.row_columns[row]):
            store.row_cells[to, cell] = 0.0
            store.row_powers[to, cell] = 0.0
        if store.slots[slot].scaled:
            add_lanes(
                store.row_cells,
                store.row_powers,
                to,
                at,
                store.row_cells,
                store.row_powers,
                row,
                at,
                0,
                store.row_columns[row],
            )
        else:
            for cell in range(at, at + store.row_columns[row]):
                store.row_cells[to, cell] += store.row_cells[row, cell]
    store.row_columns[to] = max(store.row_columns[to], store.row_columns[row])
    for cell in range(program.blocks[block].extremes * program.blocks[block].width):
        store.row_extremes[to, cell] = min(
            store.row_extremes[to, cell], store.row_extremes[row, cell]
        )


@cython.nogil
def add_row(
    program: Program, store: Store, slot: Index, at: Index, place: Index, row: Index
) -> cython.void:
    """Add a row's lanes of a read to what the read gathers."""
    block: Index = program.reads[at].block
    lanes: Index = store.row_columns[row] - program.reads[at].lane
    lanes = min(lanes, program.reads[at].lanes)
    width: Index = program.blocks[block].width
    number: Index
    cell: Index
    for number in range(program.blocks[block].sums):
        first: Index = number * width + program.reads[at].lane
        if store.slots[slot].scaled:
            add_lanes(
                store.gathered,
                store.gathered_powers,
                place,
                first,
                store.row_cells,
                store.row_powers,
                row,
                first,
                0,
                lanes,
            )
        else:
            for cell in range(first, first + lanes):
                store.gathered[place, cell] += store.row_cells[row, cell]
    for number in range(program.blocks[block].extremes):
        first = number * width + program.reads[at].lane
        for cell in range(first, first + program.reads[at].lanes):
            store.gathered_extremes[place, cell] = min(
                store.gathered_extremes[place, cell], store.row_extremes[row, cell]
            )


@cython.nogil
def empty_lanes_of(
    program: Program, store: Store, block: Index, row: Index, lane: Index, lanes: Index, step: Index
) -> cython.void:
    """Empty each `step`-th of a row's lanes, from `lane` to before `lanes`."""
    width: Index = program.blocks[block].width
    number: Index
    at: Index
    for number in range(program.blocks[block].sums):
        at = lane
        while at < lanes:
            store.row_cells[row, number * width + at] = 0.0
            if store.has_powers:
                store.row_powers[row, number * width + at] = 0.0
            at += step
    for number in range(program.blocks[block].extremes):
        at = lane
        while at < lanes:
            store.row_extremes[row, number * width + at] = FOREVER
            at += step


@cython.nogil
def empty_lane(
    program: Program, store: Store, slot: Index, block: Index, lane: Index
) -> cython.void:
    """Empty a lane of a block, the rows of its events left out."""
    width: Index = program.blocks[block].width
    number: Index
    for number in range(program.blocks[block].sums):
        cell: Index = program.blocks[block].cell + number * width + lane
        store.cells[slot, cell] = 0.0
        if store.slots[slot].scaled:
            store.powers[slot, cell] = 0.0
    for number in range(program.blocks[block].extremes):
        store.extremes[slot, program.blocks[block].extreme + number * width + lane] = FOREVER


@cython.nogil
def level_of(rows: Index) -> Index:
    """Return the level of the least piece that has room for so many rows."""
    level: Index = 0
    while (LEAF_ROWS << level) < rows:
        level += 1
    return level
