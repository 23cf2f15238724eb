# cython: infer_types=True
"""Rows of events: what each event added, for events that follow only some earlier events.

The rows of a block in a slot are in a *leaf*, in order of arrival, and in sorted *runs*
(`elsinore.trends.engine.ranges`): a leaf of `LEAF_ROWS` rows becomes a run, and runs of similar
size are merged, so that a row moves O(log n) times. Leaves and runs are pieces of memory of
`LEAF_ROWS` rows, twice as many, and so on; level -1 denotes the leaf where a level is expected.

Rows of the latest timestamp follow those of the leaf and are not read yet. Under NEXT, an event
takes the rows that it reads: they are removed after its timestamp.

If each earlier event has to be checked (`is_checked`), all rows stay in the leaf and contain the
values that conditions read.
"""

from __future__ import annotations

import cython

from elsinore.trends.engine.constants import FOREVER, LEAF_ROWS, NO_MOMENT, Index
from elsinore.trends.engine.numbers import Lanes, add, clear, copy, normalise, put_sums, take_least
from elsinore.trends.engine.store import Store
from elsinore.trends.engine.tables import Batch, Program

ROOM = cython.declare(Index, 8)  # times the rows of a slot are moved by one event at most


@cython.nogil
def has_row_room(program: Program, store: Store, slot: Index) -> cython.bint:
    """Return whether there is room for the rows of an event and of the end of its timestamp."""
    needed: cython.longlong = (ROOM + program.most_parts) * store.slots[slot].rows
    if program.has_anchors:  # a step makes as many rows as there are anchors
        needed *= 1 + program.most_steps
    needed += 4 * LEAF_ROWS * (program.row_blocks + program.most_steps)
    return store.row_top + needed <= store.row_orders.shape[0]


@cython.nogil
def allocate(store: Store, slot: Index, level: Index) -> Index:
    """Take a free piece of `LEAF_ROWS << level` rows, and return its first row."""
    begin: Index = store.free[level]
    store.slots[slot].rows += LEAF_ROWS << level
    if begin >= 0:
        store.free[level] = store.row_next[begin]
    else:
        begin = store.row_top
        store.row_top += LEAF_ROWS << level
    return begin


@cython.nogil
def free_rows(store: Store, slot: Index, begin: Index, level: Index) -> cython.void:
    """Free a piece."""
    store.slots[slot].rows -= LEAF_ROWS << level
    store.row_next[begin] = store.free[level]
    store.free[level] = begin


@cython.inline
@cython.nogil
def rows_of_run(program: Program, block: Index, count: Index) -> Index:
    """Return the number of rows of a run of `count` events."""
    return count if program.blocks[block].is_rising else 2 * count


@cython.nogil
def begin_of(program: Program, store: Store, slot: Index, block: Index, level: Index) -> Index:
    """Return the first row of a block's run at a level, or of its leaf."""
    rows: Index = program.blocks[block].rows
    if level < 0:
        return store.leaves[slot, rows].begin
    return store.runs[slot, rows, level].begin


@cython.nogil
def count_of(program: Program, store: Store, slot: Index, block: Index, level: Index) -> Index:
    """Return the number of rows of a block's run at a level, or of its leaf and latest rows."""
    rows: Index = program.blocks[block].rows
    if level < 0:
        return store.leaves[slot, rows].count + store.leaves[slot, rows].arriving
    return rows_of_run(program, block, store.runs[slot, rows, level].count)


@cython.nogil
def make_scaled(program: Program, store: Store, slot: Index) -> cython.void:
    """Bring all numbers of a slot, which have had no powers so far, into their normal form."""
    store.slots[slot].scaled = 1
    normalise(store.stored, slot, 0, store.stored.cells.shape[1])
    normalise(store.added, slot, 0, store.added.cells.shape[1])
    for block in range(program.blocks.shape[0]):
        if program.blocks[block].rows < 0:
            continue
        cells: Index = program.blocks[block].sums * program.blocks[block].width
        for level in range(-1, store.leaves[slot, program.blocks[block].rows].top):
            begin: Index = begin_of(program, store, slot, block, level)
            for row in range(begin, begin + count_of(program, store, slot, block, level)):
                normalise(store.rows, row, 0, cells)


@cython.nogil
def new_row(
    program: Program, store: Store, batch: Batch, event: Index, slot: Index, block: Index
) -> cython.void:
    """Append an empty row for an event, `store.row`, which counts once `arriving` includes it."""
    rows: Index = program.blocks[block].rows
    if store.leaves[slot, rows].level < 0:
        store.leaves[slot, rows].level = 0
        store.leaves[slot, rows].begin = allocate(store, slot, 0)
    used: Index = store.leaves[slot, rows].count + store.leaves[slot, rows].arriving
    level: Index = store.leaves[slot, rows].level
    begin: Index = store.leaves[slot, rows].begin
    if used == LEAF_ROWS << level:
        to: Index = allocate(store, slot, level + 1)
        for cell in range(used):
            copy_row(program, store, slot, block, begin + cell, to + cell)
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
    width: Index = program.blocks[block].width
    store.row_columns[row] = width
    clear_lanes(program, block, store.rows, row, 0, 0, 0, width, store.slots[slot].scaled)


@cython.inline
@cython.nogil
def clear_lanes(
    program: Program,
    block: Index,
    lanes: Lanes,
    row: Index,
    cell: Index,
    extreme: Index,
    begin: Index,
    end: Index,
    scaled: Index,
) -> cython.void:
    """Empty lanes `begin` to before `end` of a block whose first cell and extreme are given."""
    width: Index = program.blocks[block].width
    for number in range(program.blocks[block].sums):
        first: Index = cell + number * width
        clear(lanes, row, first + begin, first + end, scaled)
    for number in range(program.blocks[block].extremes):
        first = extreme + number * width
        for lane in range(first + begin, first + end):
            lanes.extremes[row, lane] = FOREVER


@cython.nogil
def copy_row(
    program: Program, store: Store, slot: Index, block: Index, row: Index, to: Index
) -> cython.void:
    """Copy a row of a block."""
    copy_event(program, store, block, row, to)
    copy_sums(program, store, slot, block, row, to)


@cython.nogil
def copy_event(program: Program, store: Store, block: Index, row: Index, to: Index) -> cython.void:
    """Copy the values of a row's event: everything except sums and extremes."""
    if program.blocks[block].is_checked:
        for column in range(store.row_doubles.shape[0]):
            store.row_doubles[column, to] = store.row_doubles[column, row]
            store.row_integers[column, to] = store.row_integers[column, row]
    store.row_orders[to] = store.row_orders[row]
    store.row_moments[to] = store.row_moments[row]
    store.row_anchors[to] = store.row_anchors[row]
    store.row_ordered[to] = store.row_ordered[row]
    store.row_taken[to] = store.row_taken[row]


@cython.nogil
def copy_sums(
    program: Program, store: Store, slot: Index, block: Index, row: Index, to: Index
) -> cython.void:
    """Copy the sums and extremes of a row of a block."""
    width: Index = program.blocks[block].width
    columns: Index = store.row_columns[row]
    store.row_columns[to] = columns
    for number in range(program.blocks[block].sums):
        first: Index = number * width
        copy(store.rows, to, first, store.rows, row, first, columns, store.slots[slot].scaled)
    for cell in range(program.blocks[block].extremes * width):
        store.rows.extremes[to, cell] = store.rows.extremes[row, cell]


@cython.inline
@cython.nogil
def add_row(
    program: Program,
    store: Store,
    slot: Index,
    block: Index,
    row: Index,
    to: Lanes,
    at: Index,
    lane: Index,
    lanes: Index,
) -> cython.void:
    """Add `lanes` lanes of a row of a block, from `lane` on, to row `at` of other lanes."""
    width: Index = program.blocks[block].width
    some: Index = min(store.row_columns[row] - lane, lanes)
    scaled: Index = store.slots[slot].scaled
    for number in range(program.blocks[block].sums):
        cell: Index = number * width + lane
        add(to, at, cell, store.rows, row, cell, some, scaled, 0)
    for number in range(program.blocks[block].extremes):
        cell = number * width + lane
        take_least(to, at, cell, store.rows, row, cell, lanes)


@cython.nogil
def put_row_sums(
    program: Program, store: Store, slot: Index, block: Index, row: Index, other: Index, to: Index
) -> cython.void:
    """Put the sums of two rows, and the lesser of their extremes, into a row; it may be `row`."""
    width: Index = program.blocks[block].width
    scaled: Index = store.slots[slot].scaled
    both: Index = min(store.row_columns[row], store.row_columns[other])
    columns: Index = max(store.row_columns[row], store.row_columns[other])
    longer: Index = row if store.row_columns[row] == columns else other
    store.row_columns[to] = columns
    for number in range(program.blocks[block].sums):
        cell: Index = number * width
        end: Index = cell + both
        put_sums(store.rows, to, row, other, cell, end, scaled)
        copy(store.rows, to, end, store.rows, longer, end, columns - both, scaled)
    for cell in range(program.blocks[block].extremes * width):
        store.rows.extremes[to, cell] = min(
            store.rows.extremes[row, cell], store.rows.extremes[other, cell]
        )


@cython.nogil
def store_rows(program: Program, store: Store, slot: Index, block: Index) -> cython.void:
    """Remove the rows that the timestamp took, and make those that arrived readable."""
    rows: Index = program.blocks[block].rows
    if program.blocks[block].is_contiguous:
        drop_rows(program, store, slot, block)
    elif program.blocks[block].is_next:
        remove_rows(program, store, slot, block, NO_MOMENT)
    if program.blocks[block].merges:
        merge_arriving(program, store, slot, block)
    store.leaves[slot, rows].count += store.leaves[slot, rows].arriving
    store.leaves[slot, rows].arriving = 0


@cython.nogil
def remove_rows(
    program: Program, store: Store, slot: Index, block: Index, moment: cython.longlong
) -> cython.void:
    """Remove the leaf's rows from before a moment, or with NO_MOMENT the rows that were taken."""
    rows: Index = program.blocks[block].rows
    begin: Index = store.leaves[slot, rows].begin
    visible: Index = store.leaves[slot, rows].count
    keep: Index = 0
    for row in range(visible + store.leaves[slot, rows].arriving):
        is_gone: cython.bint = store.row_moments[begin + row] < moment
        if moment == NO_MOMENT:
            is_gone = store.row_taken[begin + row]
        if row < visible and is_gone:
            continue
        if keep < row:
            copy_row(program, store, slot, block, begin + row, begin + keep)
        keep += 1
    store.leaves[slot, rows].count = keep - store.leaves[slot, rows].arriving


@cython.nogil
def merge_arriving(program: Program, store: Store, slot: Index, block: Index) -> cython.void:
    """Merge rows of the same anchor, where no condition reads single events."""
    rows: Index = program.blocks[block].rows
    begin: Index = store.leaves[slot, rows].begin
    visible: Index = store.leaves[slot, rows].count
    keep: Index = visible
    near: Index = 0
    for place in range(visible, visible + store.leaves[slot, rows].arriving):
        row: Index = begin + place
        near = place_of_anchor(store, begin, keep, near, store.row_anchors[row])
        if near < keep:
            put_row_sums(program, store, slot, block, begin + near, row, begin + near)
            store.row_moments[begin + near] = store.row_moments[row]
            continue
        if keep < place:
            copy_row(program, store, slot, block, row, begin + keep)
        keep += 1
    store.leaves[slot, rows].arriving = keep - visible


@cython.nogil
def place_of_anchor(
    store: Store, begin: Index, count: Index, near: Index, anchor: cython.longlong
) -> Index:
    """Return the place of an anchor's row among `count` rows from `begin` on, or `count`.

    near: the previous result; rows of all states are in about the same order of anchors.
    """
    for step in range(count):
        place: Index = near + step
        if place >= count:
            place -= count
        if store.row_anchors[begin + place] == anchor:
            return place
    return count


@cython.nogil
def drop_rows(program: Program, store: Store, slot: Index, block: Index) -> cython.void:
    """Remove all rows of a block except those of the latest timestamp."""
    rows: Index = program.blocks[block].rows
    begin: Index = store.leaves[slot, rows].begin
    remove_rows(program, store, slot, block, FOREVER)
    if store.leaves[slot, rows].arriving == 0 and store.leaves[slot, rows].level >= 0:
        free_rows(store, slot, begin, store.leaves[slot, rows].level)
        store.leaves[slot, rows].level = -1
    free_runs(program, store, slot, block, FOREVER)
    store.leaves[slot, rows].top = 0


@cython.nogil
def free_runs(
    program: Program, store: Store, slot: Index, block: Index, moment: cython.longlong
) -> cython.void:
    """Free the runs of a block whose rows are all from before a moment."""
    rows: Index = program.blocks[block].rows
    for level in range(store.leaves[slot, rows].top):
        if store.runs[slot, rows, level].count and store.runs[slot, rows, level].newest < moment:
            free_rows(store, slot, store.runs[slot, rows, level].begin, level)
            store.runs[slot, rows, level].count = 0


@cython.nogil
def forget_rows_before(
    program: Program, store: Store, slot: Index, block: Index, moment: cython.longlong
) -> cython.void:
    """Remove rows from before the first moment of the open windows, whose lanes are empty.

    Runs with later rows stay whole.
    """
    if moment > NO_MOMENT:
        remove_rows(program, store, slot, block, moment)
    free_runs(program, store, slot, block, moment)


@cython.nogil
def empty_row_lanes(
    program: Program, store: Store, slot: Index, block: Index, lane: Index, end: Index, step: Index
) -> cython.void:
    """Empty each `step`-th lane, from `lane` to before `end`, of a block's rows.

    Rows of the latest timestamp are left as they are.
    """
    scaled: Index = store.slots[slot].scaled
    for level in range(-1, store.leaves[slot, program.blocks[block].rows].top):
        begin: Index = begin_of(program, store, slot, block, level)
        count: Index = count_of(program, store, slot, block, level)
        if level < 0:
            count -= store.leaves[slot, program.blocks[block].rows].arriving
        for row in range(begin, begin + count):
            at: Index = lane
            while at < end:
                clear_lanes(program, block, store.rows, row, 0, 0, at, at + 1, scaled)
                at += step


@cython.nogil
def empty_lane(
    program: Program, store: Store, slot: Index, block: Index, lane: Index
) -> cython.void:
    """Empty a lane of a block, but not of its rows."""
    cell: Index = program.blocks[block].cell
    extreme: Index = program.blocks[block].extreme
    scaled: Index = store.slots[slot].scaled
    clear_lanes(program, block, store.stored, slot, cell, extreme, lane, lane + 1, scaled)
