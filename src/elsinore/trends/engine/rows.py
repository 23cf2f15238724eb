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

from elsinore.trends.engine.tables import FOREVER as _FOREVER
from elsinore.trends.engine.tables import LEAF_ROWS as _LEAF_ROWS
from elsinore.trends.engine.tables import NO_BLOCK as _NO_BLOCK

if cython.compiled:
    from cython.cimports.elsinore.operators.conditions.machine import all_hold
    from cython.cimports.elsinore.trends.engine.memory import (
        add_row,
        add_to_row,
        allocate,
        clear_row,
        copy_row,
        empty_lane,
        empty_lanes_of,
        free_rows,
    )
    from cython.cimports.elsinore.trends.engine.negatives import read_beginnings, set_limits
    from cython.cimports.elsinore.trends.engine.numbers import add_lanes
    from cython.cimports.elsinore.trends.engine.runs import (
        read_tree,
        rows_of_run,
        rows_up_to,
        sort_leaf,
    )
    from cython.cimports.elsinore.trends.engine.store import Store
    from cython.cimports.elsinore.trends.engine.tables import Batch, Program
else:
    from elsinore.operators.conditions.machine import all_hold
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

FOREVER = cython.declare(cython.longlong, _FOREVER)
LEAF_ROWS = cython.declare(cython.Py_ssize_t, _LEAF_ROWS)
NO_BLOCK = cython.declare(cython.Py_ssize_t, _NO_BLOCK)


def new_row(
    program: Program,
    store: Store,
    batch: Batch,
    event: cython.Py_ssize_t,
    slot: cython.Py_ssize_t,
    block: cython.Py_ssize_t,
) -> cython.void:
    """Make an empty row for an event of a block, `store.row`, to be kept by `keep_row`."""
    rows: cython.Py_ssize_t = program.blocks[block].rows
    cell: cython.Py_ssize_t
    column: cython.Py_ssize_t
    if store.leaves[slot, rows].level < 0:
        store.leaves[slot, rows].level = 0
        store.leaves[slot, rows].begin = allocate(store, slot, 0)
    used: cython.Py_ssize_t = store.leaves[slot, rows].count + store.leaves[slot, rows].arriving
    level: cython.Py_ssize_t = store.leaves[slot, rows].level
    begin: cython.Py_ssize_t = store.leaves[slot, rows].begin
    if used == LEAF_ROWS << level:
        to: cython.Py_ssize_t = allocate(store, slot, level + 1)
        for cell in range(used):
            copy_row(program, store, block, begin + cell, to + cell)
        free_rows(store, slot, begin, level)
        store.leaves[slot, rows].begin = to
        store.leaves[slot, rows].level = level + 1
        begin = to
    row: cython.Py_ssize_t = begin + used
    order: cython.Py_ssize_t = program.blocks[block].order
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


def keep_row(store: Store, slot: cython.Py_ssize_t, rows: cython.Py_ssize_t) -> cython.void:
    """Keep the row that `new_row` made: it is there after its timestamp."""
    store.leaves[slot, rows].arriving += 1


def clear_gathered(
    program: Program, store: Store, at: cython.Py_ssize_t, place: cython.Py_ssize_t
) -> cython.void:
    """Let a read have gathered nothing."""
    block: cython.Py_ssize_t = program.reads[at].block
    width: cython.Py_ssize_t = program.blocks[block].width
    number: cython.Py_ssize_t
    cell: cython.Py_ssize_t
    for number in range(program.blocks[block].sums):
        first: cython.Py_ssize_t = number * width + program.reads[at].lane
        for cell in range(first, first + program.reads[at].lanes):
            store.gathered[place, cell] = 0.0
            store.gathered_powers[place, cell] = 0.0
    for number in range(program.blocks[block].extremes):
        first = number * width + program.reads[at].lane
        for cell in range(first, first + program.reads[at].lanes):
            store.gathered_extremes[place, cell] = FOREVER


def may_follow(
    program: Program,
    store: Store,
    batch: Batch,
    event: cython.Py_ssize_t,
    at: cython.Py_ssize_t,
    row: cython.Py_ssize_t,
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


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def is_in_range(
    program: Program,
    store: Store,
    batch: Batch,
    event: cython.Py_ssize_t,
    at: cython.Py_ssize_t,
    row: cython.Py_ssize_t,
) -> cython.bint:
    """Return whether a row's value is in some range of a read."""
    part: cython.Py_ssize_t
    if not store.row_ordered[row]:
        return False
    for part in range(program.reads[at].part, program.reads[at].parts_end):
        if batch.lows[event, part] <= store.row_orders[row] <= batch.highs[event, part]:
            return True
    return False


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def gather(
    program: Program,
    store: Store,
    slot: cython.Py_ssize_t,
    at: cython.Py_ssize_t,
    place: cython.Py_ssize_t,
    row: cython.Py_ssize_t,
) -> cython.void:
    """Add a row's lanes of a read to what the read gathers."""
    block: cython.Py_ssize_t = program.reads[at].block
    number: cython.Py_ssize_t
    cell: cython.Py_ssize_t
    if store.slots[slot].scaled or program.blocks[block].extremes > 0:
        add_row(program, store, slot, at, place, row)
        return
    lanes: cython.Py_ssize_t = store.row_columns[row] - program.reads[at].lane
    lanes = min(lanes, program.reads[at].lanes)
    for number in range(program.blocks[block].sums):
        first: cython.Py_ssize_t = number * program.blocks[block].width + program.reads[at].lane
        for cell in range(first, first + lanes):
            store.gathered[place, cell] += store.row_cells[row, cell]


def read_rows(
    program: Program,
    store: Store,
    batch: Batch,
    event: cython.Py_ssize_t,
    slot: cython.Py_ssize_t,
    at: cython.Py_ssize_t,
    place: cython.Py_ssize_t,
) -> cython.void:
    """Gather the sums of the rows that an event may follow; `place`: the read's in its step."""
    block: cython.Py_ssize_t = program.reads[at].block
    row: cython.Py_ssize_t
    level: cython.Py_ssize_t
    part: cython.Py_ssize_t
    set_limits(program, store, slot, program.reads[at].guard)
    if block == NO_BLOCK:
        read_beginnings(program, store, slot, at, place)
        return
    is_next: cython.bint = program.blocks[block].is_next
    clear_gathered(program, store, at, place)
    rows: cython.Py_ssize_t = program.blocks[block].rows
    begin: cython.Py_ssize_t = store.leaves[slot, rows].begin
    for row in range(begin, begin + store.leaves[slot, rows].count):
        if may_follow(program, store, batch, event, at, row):
            gather(program, store, slot, at, place, row)
            if is_next:
                store.row_taken[row] = 1
    for level in range(store.leaves[slot, rows].top):
        count: cython.Py_ssize_t = store.runs[slot, rows, level].count
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


def store_rows(
    program: Program, store: Store, slot: cython.Py_ssize_t, block: cython.Py_ssize_t
) -> cython.void:
    """Remove the rows that the timestamp took, and add those that arrived."""
    rows: cython.Py_ssize_t = program.blocks[block].rows
    begin: cython.Py_ssize_t = store.leaves[slot, rows].begin
    row: cython.Py_ssize_t
    if program.blocks[block].is_contiguous:
        drop_rows(program, store, slot, block)
    elif program.blocks[block].is_next:
        keep: cython.Py_ssize_t = 0
        visible: cython.Py_ssize_t = store.leaves[slot, rows].count
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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def merge_arriving(
    program: Program, store: Store, slot: cython.Py_ssize_t, block: cython.Py_ssize_t
) -> cython.void:
    """Add rows that arrived to those of the same anchor, where nothing asks for single events."""
    rows: cython.Py_ssize_t = program.blocks[block].rows
    begin: cython.Py_ssize_t = store.leaves[slot, rows].begin
    visible: cython.Py_ssize_t = store.leaves[slot, rows].count
    keep: cython.Py_ssize_t = visible
    near: cython.Py_ssize_t = 0
    place: cython.Py_ssize_t
    for place in range(visible, visible + store.leaves[slot, rows].arriving):
        row: cython.Py_ssize_t = begin + place
        near = place_of_anchor(store, begin, keep, near, store.row_anchors[row])
        if near < keep:
            add_to_row(program, store, slot, block, row, begin + near)
            store.row_moments[begin + near] = store.row_moments[row]
            continue
        if keep < place:
            copy_row(program, store, block, row, begin + keep)
        keep += 1
    store.leaves[slot, rows].arriving = keep - visible


def place_of_anchor(
    store: Store,
    begin: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    near: cython.Py_ssize_t,
    anchor: cython.longlong,
) -> cython.Py_ssize_t:
    """Return the place of an anchor's row among `count` rows from `begin` on, or `count`.

    near: where the last one was found; rows of all states are in about the same order of anchors.
    """
    step: cython.Py_ssize_t
    for step in range(count):
        place: cython.Py_ssize_t = near + step
        if place >= count:
            place -= count
        if store.row_anchors[begin + place] == anchor:
            return place
    return count


def drop_rows(
    program: Program, store: Store, slot: cython.Py_ssize_t, block: cython.Py_ssize_t
) -> cython.void:
    """Remove all rows of a block but those that arrived at the latest timestamp."""
    rows: cython.Py_ssize_t = program.blocks[block].rows
    begin: cython.Py_ssize_t = store.leaves[slot, rows].begin
    count: cython.Py_ssize_t = store.leaves[slot, rows].count
    row: cython.Py_ssize_t
    level: cython.Py_ssize_t
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


def empty_row_lanes(
    program: Program,
    store: Store,
    slot: cython.Py_ssize_t,
    block: cython.Py_ssize_t,
    lane: cython.Py_ssize_t,
    lanes: cython.Py_ssize_t,
    step: cython.Py_ssize_t,
) -> cython.void:
    """Empty lanes of all rows of a block but those that arrived at the latest timestamp."""
    rows: cython.Py_ssize_t = program.blocks[block].rows
    begin: cython.Py_ssize_t = store.leaves[slot, rows].begin
    row: cython.Py_ssize_t
    level: cython.Py_ssize_t
    for row in range(begin, begin + store.leaves[slot, rows].count):
        empty_lanes_of(program, store, block, row, lane, lanes, step)
    for level in range(store.leaves[slot, rows].top):
        begin = store.runs[slot, rows, level].begin
        count: cython.Py_ssize_t = store.runs[slot, rows, level].count
        for row in range(begin, begin + rows_of_run(program, block, count)):
            empty_lanes_of(program, store, block, row, lane, lanes, step)


def forget_rows_before(
    program: Program,
    store: Store,
    slot: cython.Py_ssize_t,
    block: cython.Py_ssize_t,
    moment: cython.longlong,
) -> cython.void:
    """Remove rows from before a moment, the first of the open windows: their lanes are empty.

    Those of runs with later rows stay.
    """
    rows: cython.Py_ssize_t = program.blocks[block].rows
    begin: cython.Py_ssize_t = store.leaves[slot, rows].begin
    keep: cython.Py_ssize_t = 0
    removed: cython.Py_ssize_t = 0
    visible: cython.Py_ssize_t = store.leaves[slot, rows].count
    row: cython.Py_ssize_t
    level: cython.Py_ssize_t
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


def add_up_rows(
    program: Program,
    store: Store,
    slot: cython.Py_ssize_t,
    block: cython.Py_ssize_t,
    lane: cython.Py_ssize_t,
    step: cython.Py_ssize_t,
) -> cython.void:
    """Let each `step`-th of a block's lanes, from `lane` on, be the sum of its rows.

    Rows from before `low` are left out: a negative match began after them.
    """
    rows: cython.Py_ssize_t = program.blocks[block].rows
    begin: cython.Py_ssize_t = store.leaves[slot, rows].begin
    row: cython.Py_ssize_t
    while lane < program.blocks[block].width:
        empty_lane(program, store, slot, block, lane)
        for row in range(begin, begin + store.leaves[slot, rows].count):
            if store.row_moments[row] >= store.low:
                add_lane_of_row(program, store, slot, block, lane, row)
        lane += step


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_lane_of_row(
    program: Program,
    store: Store,
    slot: cython.Py_ssize_t,
    block: cython.Py_ssize_t,
    lane: cython.Py_ssize_t,
    row: cython.Py_ssize_t,
) -> cython.void:
    """Add a lane of a row to that of its block."""
    width: cython.Py_ssize_t = program.blocks[block].width
    number: cython.Py_ssize_t
    cell: cython.Py_ssize_t
    for number in range(program.blocks[block].sums):
        at: cython.Py_ssize_t = number * width + lane
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
