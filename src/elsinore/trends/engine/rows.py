"""Rows of events: what each event added, for events that follow some of them only.

The rows of a block in a slot are in a *leaf*, in the order in which they came, and in sorted *runs*
(`elsinore.trends.engine.runs`): when the leaf has `LEAF_ROWS` rows, it becomes a run, and runs of
about one size are merged, so that a row is moved O(log n) times.

Rows that arrived at the latest timestamp are behind those of the leaf and nobody reads them. Under
NEXT, rows that an event reads are taken: they are gone after its timestamp.

If each earlier event is to be looked at (`is_checked`), all rows stay in the leaf, and have the
values that conditions read.
"""

from __future__ import annotations

import cython

from elsinore.operators.conditions.machine import all_hold
from elsinore.trends.engine.constants import FOREVER, LEAF_ROWS, NO_BLOCK, Index
from elsinore.trends.engine.memory import (
    add_row,
    add_to_row,
    allocate,
    clear_row,
    copy_row,
    empty_lane,
    empty_lanes_of,
    free_rows,
)
from elsinore.trends.engine.negatives import read_beginnings, set_limits
from elsinore.trends.engine.numbers import add_lanes
from elsinore.trends.engine.runs import read_tree, rows_of_run, rows_up_to, sort_leaf
from elsinore.trends.engine.store import Store
from elsinore.trends.engine.tables import Batch, Program


@cython.nogil
def new_row(
    program: Program, store: Store, batch: Batch, event: Index, slot: Index, block: Index
) -> cython.void:
    """Make an empty row for an event of a block, `store.row`, to be kept by `keep_row`."""
    rows: Index = program.blocks[block].rows
    cell: Index
    column: Index
    if store.leaves[slot, rows].level < 0:
        store.leaves[slot, rows].level = 0
        store.leaves[slot, rows].begin = allocate(store, slot, 0)
    used: Index = store.leaves[slot, rows].count + store.leaves[slot, rows].arriving
    level: Index = store.leaves[slot, rows].level
    begin: Index = store.leaves[slot, rows].begin
    if used == LEAF_ROWS << level:
        to: Index = allocate(store, slot, level + 1)
        for cell in range(used):
            copy_row(program, store, block, begin + cell, to + cell)
        free_rows(store, slot, begin, level)
        store.leaves[slot, rows].begin = to
        store.leaves[slot, rows].level = level + 1
        begin = to
    row: Index = begin + used
    order: Index = program.blocks[block].order
    store.row = row
    store.row_ordered[row] = 0
    store.row_orders[row] = 0
    if order >= 0:
        store.row_ordered[row] = batch.ordered[event, order]
        store.row_orders[row] = batch.orders[event, order]
    store.row_moments[row] = store.slots[slot].moment
    store.row_anchors[row] = 0
    if program.blocks[block].is_anchor:
        store.slots[slot].anchors += 1
        store.row_anchors[row] = store.slots[slot].anchors
    if program.blocks[block].is_checked:
        for column in range(store.row_doubles.shape[0]):
            store.row_doubles[column, row] = batch.values.doubles[column, event]
            store.row_integers[column, row] = batch.values.integers[column, event]
    store.row_taken[row] = 0
    clear_row(program, store, block, row)


@cython.nogil
def keep_row(store: Store, slot: Index, rows: Index) -> cython.void:
    """Keep the row that `new_row` made: it is there after its timestamp."""
    store.leaves[slot, rows].arriving += 1


@cython.nogil
def clear_gathered(program: Program, store: Store, at: Index, place: Index) -> cython.void:
    """Let a read have gathered nothing."""
    block: Index = program.reads[at].block
    width: Index = program.blocks[block].width
    number: Index
    cell: Index
    for number in range(program.blocks[block].sums):
        first: Index = number * width + program.reads[at].lane
        for cell in range(first, first + program.reads[at].lanes):
            store.gathered[place, cell] = 0.0
            store.gathered_powers[place, cell] = 0.0
    for number in range(program.blocks[block].extremes):
        first = number * width + program.reads[at].lane
        for cell in range(first, first + program.reads[at].lanes):
            store.gathered_extremes[place, cell] = FOREVER


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
    if program.reads[at].part < program.reads[at].parts_end and not is_in_range(
        program, store, batch, event, at, row
    ):
        return False
    if store.row_anchors[row] != 0 and not all_hold(
        store.conditions,
        program.reads[at].checks,
        program.reads[at].checks_end,
        batch.values,
        event,
        store.earlier,
        row,
        store.registers,
        0,
        0,
    ):
        return False
    return all_hold(
        store.conditions,
        program.reads[at].conditions,
        program.reads[at].conditions_end,
        batch.values,
        event,
        store.earlier,
        row,
        store.registers,
        0,
        0,
    )


@cython.inline
@cython.nogil
def is_in_range(
    program: Program, store: Store, batch: Batch, event: Index, at: Index, row: Index
) -> cython.bint:
    """Return whether a row's value is in some range of a read."""
    part: Index
    if not store.row_ordered[row]:
        return False
    for part in range(program.reads[at].part, program.reads[at].parts_end):
        if batch.lows[event, part] <= store.row_orders[row] <= batch.highs[event, part]:
            return True
    return False


@cython.inline
@cython.nogil
def gather(
    program: Program, store: Store, slot: Index, at: Index, place: Index, row: Index
) -> cython.void:
    """Add a row's lanes of a read to what the read gathers."""
    block: Index = program.reads[at].block
    number: Index
    cell: Index
    if store.slots[slot].scaled or program.blocks[block].extremes > 0:
        add_row(program, store, slot, at, place, row)
        return
    lanes: Index = store.row_columns[row] - program.reads[at].lane
    lanes = min(lanes, program.reads[at].lanes)
    for number in range(program.blocks[block].sums):
        first: Index = number * program.blocks[block].width + program.reads[at].lane
        for cell in range(first, first + lanes):
            store.gathered[place, cell] += store.row_cells[row, cell]


@cython.nogil
def read_rows(
    program: Program, store: Store, batch: Batch, event: Index, slot: Index, at: Index, place: Index
) -> cython.void:
    """Gather the sums of the rows that an event may follow; `place`: the read's in its step."""
    block: Index = program.reads[at].block
    row: Index
    level: Index
    part: Index
    set_limits(program, store, slot, program.reads[at].guard)
    if block == NO_BLOCK:
        read_beginnings(program, store, slot, at, place)
        return
    is_next: cython.bint = program.blocks[block].is_next
    clear_gathered(program, store, at, place)
    rows: Index = program.blocks[block].rows
    begin: Index = store.leaves[slot, rows].begin
    for row in range(begin, begin + store.leaves[slot, rows].count):
        if may_follow(program, store, batch, event, at, row):
            gather(program, store, slot, at, place, row)
            if is_next:
                store.row_taken[row] = 1
    for level in range(store.leaves[slot, rows].top):
        count: Index = store.runs[slot, rows, level].count
        if count == 0:
            continue
        begin = store.runs[slot, rows, level].begin
        for part in range(program.reads[at].part, program.reads[at].parts_end):
            if batch.lows[event, part] > batch.highs[event, part]:
                continue
            if not program.blocks[block].is_rising:
                low: cython.longlong = batch.lows[event, part]
                high: cython.longlong = batch.highs[event, part]
                read_tree(program, store, slot, at, place, begin, count, low, high)
                continue
            row = rows_up_to(store, begin, count, batch.highs[event, part])
            if row > 0:
                gather(program, store, slot, at, place, begin + row - 1)


@cython.nogil
def store_rows(program: Program, store: Store, slot: Index, block: Index) -> cython.void:
    """Remove the rows that the timestamp took, and add those that arrived."""
    rows: Index = program.blocks[block].rows
    begin: Index = store.leaves[slot, rows].begin
    row: Index
    if program.blocks[block].is_contiguous:
        drop_rows(program, store, slot, block)
    elif program.blocks[block].is_next:
        keep: Index = 0
        visible: Index = store.leaves[slot, rows].count
        for row in range(visible + store.leaves[slot, rows].arriving):
            if row >= visible or not store.row_taken[begin + row]:
                if keep < row:
                    copy_row(program, store, block, begin + row, begin + keep)
                keep += 1
        store.leaves[slot, rows].count = keep - store.leaves[slot, rows].arriving
    if program.blocks[block].merges:
        merge_arriving(program, store, slot, block)
    store.leaves[slot, rows].count += store.leaves[slot, rows].arriving
    store.leaves[slot, rows].arriving = 0
    if program.blocks[block].has_runs and store.leaves[slot, rows].count >= LEAF_ROWS:
        sort_leaf(program, store, slot, block)


@cython.nogil
def merge_arriving(program: Program, store: Store, slot: Index, block: Index) -> cython.void:
    """Add rows that arrived to those of the same anchor, where nothing asks for single events."""
    rows: Index = program.blocks[block].rows
    begin: Index = store.leaves[slot, rows].begin
    visible: Index = store.leaves[slot, rows].count
    keep: Index = visible
    near: Index = 0
    place: Index
    for place in range(visible, visible + store.leaves[slot, rows].arriving):
        row: Index = begin + place
        near = place_of_anchor(store, begin, keep, near, store.row_anchors[row])
        if near < keep:
            add_to_row(program, store, slot, block, row, begin + near)
            store.row_moments[begin + near] = store.row_moments[row]
            continue
        if keep < place:
            copy_row(program, store, block, row, begin + keep)
        keep += 1
    store.leaves[slot, rows].arriving = keep - visible


@cython.nogil
def place_of_anchor(
    store: Store, begin: Index, count: Index, near: Index, anchor: cython.longlong
) -> Index:
    """Return the place of an anchor's row among `count` rows from `begin` on, or `count`.

    near: where the last one was found; rows of all states are in about the same order of anchors.
    """
    step: Index
    for step in range(count):
        place: Index = near + step
        if place >= count:
            place -= count
        if store.row_anchors[begin + place] == anchor:
            return place
    return count


@cython.nogil
def drop_rows(program: Program, store: Store, slot: Index, block: Index) -> cython.void:
    """Remove all rows of a block but those that arrived at the latest timestamp."""
    rows: Index = program.blocks[block].rows
    begin: Index = store.leaves[slot, rows].begin
    count: Index = store.leaves[slot, rows].count
    row: Index
    level: Index
    if count > 0:
        for row in range(store.leaves[slot, rows].arriving):
            copy_row(program, store, block, begin + count + row, begin + row)
        store.leaves[slot, rows].count = 0
    if store.leaves[slot, rows].arriving == 0 and store.leaves[slot, rows].level >= 0:
        free_rows(store, slot, begin, store.leaves[slot, rows].level)
        store.leaves[slot, rows].level = -1
    for level in range(store.leaves[slot, rows].top):
        if store.runs[slot, rows, level].count > 0:
            free_rows(store, slot, store.runs[slot, rows, level].begin, level)
            store.runs[slot, rows, level].count = 0
    store.leaves[slot, rows].top = 0


@cython.nogil
def empty_row_lanes(
    program: Program,
    store: Store,
    slot: Index,
    block: Index,
    lane: Index,
    lanes: Index,
    step: Index,
) -> cython.void:
    """Empty lanes of all rows of a block but those that arrived at the latest timestamp."""
    rows: Index = program.blocks[block].rows
    begin: Index = store.leaves[slot, rows].begin
    row: Index
    level: Index
    for row in range(begin, begin + store.leaves[slot, rows].count):
        empty_lanes_of(program, store, block, row, lane, lanes, step)
    for level in range(store.leaves[slot, rows].top):
        begin = store.runs[slot, rows, level].begin
        count: Index = store.runs[slot, rows, level].count
        for row in range(begin, begin + rows_of_run(program, block, count)):
            empty_lanes_of(program, store, block, row, lane, lanes, step)


@cython.nogil
def forget_rows_before(
    program: Program, store: Store, slot: Index, block: Index, moment: cython.longlong
) -> cython.void:
    """Remove rows from before a moment, the first of the open windows: their lanes are empty.

    Those of runs with later rows stay.
    """
    rows: Index = program.blocks[block].rows
    begin: Index = store.leaves[slot, rows].begin
    keep: Index = 0
    removed: Index = 0
    visible: Index = store.leaves[slot, rows].count
    row: Index
    level: Index
    for row in range(visible + store.leaves[slot, rows].arriving):
        if row < visible and store.row_moments[begin + row] < moment:
            removed += 1
            continue
        if keep < row:
            copy_row(program, store, block, begin + row, begin + keep)
        keep += 1
    store.leaves[slot, rows].count -= removed
    for level in range(store.leaves[slot, rows].top):
        if store.runs[slot, rows, level].count and store.runs[slot, rows, level].newest < moment:
            free_rows(store, slot, store.runs[slot, rows, level].begin, level)
            store.runs[slot, rows, level].count = 0


@cython.nogil
def add_up_rows(
    program: Program, store: Store, slot: Index, block: Index, lane: Index, step: Index
) -> cython.void:
    """Let each `step`-th of a block's lanes, from `lane` on, be the sum of its rows.

    Rows from before `low` are left out: a negative match began after them.
    """
    rows: Index = program.blocks[block].rows
    begin: Index = store.leaves[slot, rows].begin
    row: Index
    while lane < program.blocks[block].width:
        empty_lane(program, store, slot, block, lane)
        for row in range(begin, begin + store.leaves[slot, rows].count):
            if store.row_moments[row] >= store.low:
                add_lane_of_row(program, store, slot, block, lane, row)
        lane += step


@cython.nogil
def add_lane_of_row(
    program: Program, store: Store, slot: Index, block: Index, lane: Index, row: Index
) -> cython.void:
    """Add a lane of a row to that of its block."""
    width: Index = program.blocks[block].width
    number: Index
    cell: Index
    for number in range(program.blocks[block].sums):
        at: Index = number * width + lane
        cell = program.blocks[block].cell + at
        if store.slots[slot].scaled:
            add_lanes(
                store.cells,
                store.powers,
                slot,
                cell,
                store.row_cells,
                store.row_powers,
                row,
                at,
                0,
                1,
            )
        else:
            store.cells[slot, cell] += store.row_cells[row, at]
    for number in range(program.blocks[block].extremes):
        at = number * width + lane
        cell = program.blocks[block].extreme + at
        store.extremes[slot, cell] = min(store.extremes[slot, cell], store.row_extremes[row, at])
