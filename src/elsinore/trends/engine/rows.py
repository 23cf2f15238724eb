"""Rows of events: what each event added, for events that follow some of them only.

The rows of a block in a slot are in a *leaf*, in the order in which they came, and in sorted
*runs*. When the leaf of a block whose reads all go up to some value (`is_rising`) has `LEAF_ROWS`
rows, it becomes a run; runs of about one size are merged, so that a row is moved O(log n) times. A
row of a run has the sum of all rows up to it: an event reads one row of each run. Nothing is
subtracted.

Rows that arrived at the latest timestamp are behind those of the leaf and nobody reads them. Under
NEXT, rows that an event reads are taken: they are gone after its timestamp.
"""

from __future__ import annotations

import cython

from elsinore.trends.engine.tables import FOREVER as _FOREVER
from elsinore.trends.engine.tables import NEVER as _NEVER

if cython.compiled:
    from cython.cimports.elsinore.trends.engine.numbers import add_lanes
    from cython.cimports.elsinore.trends.engine.store import Store
    from cython.cimports.elsinore.trends.engine.tables import Batch, Program
else:
    from elsinore.trends.engine.numbers import add_lanes
    from elsinore.trends.engine.store import Store
    from elsinore.trends.engine.tables import Batch, Program

FOREVER = cython.declare(cython.longlong, _FOREVER)
NEVER = cython.declare(cython.longlong, _NEVER)
LEAF_ROWS = cython.declare(cython.Py_ssize_t, 16)
ROOM = cython.declare(
    cython.Py_ssize_t, 8
)  # times the rows of a slot are moved by one event at most


def has_row_room(program: Program, store: Store, slot: cython.Py_ssize_t) -> cython.bint:
    """Return whether an event, and the end of its timestamp, find room for rows."""
    needed: cython.longlong = ROOM * store.slots[slot].rows
    needed += 4 * LEAF_ROWS * (program.row_blocks + program.most_steps)
    return store.row_top + needed <= store.row_orders.shape[0]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def allocate(store: Store, slot: cython.Py_ssize_t, level: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Return the first of `LEAF_ROWS << level` rows in a piece that is free."""
    begin: cython.Py_ssize_t = store.free[level]
    store.slots[slot].rows += LEAF_ROWS << level
    if begin >= 0:
        store.free[level] = store.row_next[begin]
        return begin
    begin = cython.cast(cython.Py_ssize_t, store.row_top)
    store.row_top += LEAF_ROWS << level
    return begin


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def free_rows(
    store: Store, slot: cython.Py_ssize_t, begin: cython.Py_ssize_t, level: cython.Py_ssize_t
) -> cython.void:
    """Free a piece."""
    store.slots[slot].rows -= LEAF_ROWS << level
    store.row_next[begin] = store.free[level]
    store.free[level] = begin


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def level_of(rows: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Return the level of the least piece that has room for so many rows."""
    level: cython.Py_ssize_t = 0
    while (LEAF_ROWS << level) < rows:
        level += 1
    return level


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def copy_row(
    program: Program,
    store: Store,
    block: cython.Py_ssize_t,
    row: cython.Py_ssize_t,
    to: cython.Py_ssize_t,
) -> cython.void:
    """Copy a row of a block."""
    cell: cython.Py_ssize_t
    store.row_orders[to] = store.row_orders[row]
    store.row_times[to] = store.row_times[row]
    store.row_ordered[to] = store.row_ordered[row]
    store.row_taken[to] = store.row_taken[row]
    for cell in range(program.blocks[block].sums * program.blocks[block].width):
        store.row_cells[to, cell] = store.row_cells[row, cell]
        if store.has_powers:
            store.row_powers[to, cell] = store.row_powers[row, cell]
    for cell in range(program.blocks[block].extremes * program.blocks[block].width):
        store.row_extremes[to, cell] = store.row_extremes[row, cell]


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
    store.row_times[row] = batch.times[event]
    store.row_taken[row] = 0
    clear_row(program, store, block, row)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def clear_row(
    program: Program, store: Store, block: cython.Py_ssize_t, row: cython.Py_ssize_t
) -> cython.void:
    """Let a row of a block have no trends."""
    cell: cython.Py_ssize_t
    for cell in range(program.blocks[block].sums * program.blocks[block].width):
        store.row_cells[row, cell] = 0.0
        if store.has_powers:
            store.row_powers[row, cell] = 0.0
    for cell in range(program.blocks[block].extremes * program.blocks[block].width):
        store.row_extremes[row, cell] = FOREVER


def keep_row(store: Store, slot: cython.Py_ssize_t, rows: cython.Py_ssize_t) -> cython.void:
    """Keep the row that `new_row` made: it is there after its timestamp."""
    store.leaves[slot, rows].arriving += 1


def add_row(
    program: Program,
    store: Store,
    slot: cython.Py_ssize_t,
    at: cython.Py_ssize_t,
    place: cython.Py_ssize_t,
    row: cython.Py_ssize_t,
) -> cython.void:
    """Add a row's lanes of a read to what the read gathers."""
    block: cython.Py_ssize_t = program.reads[at].block
    width: cython.Py_ssize_t = program.blocks[block].width
    number: cython.Py_ssize_t
    cell: cython.Py_ssize_t
    for number in range(program.blocks[block].sums):
        first: cython.Py_ssize_t = number * width + program.reads[at].lane
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
                program.reads[at].lanes,
            )
        else:
            for cell in range(first, first + program.reads[at].lanes):
                store.gathered[place, cell] += store.row_cells[row, cell]
    for number in range(program.blocks[block].extremes):
        first = number * width + program.reads[at].lane
        for cell in range(first, first + program.reads[at].lanes):
            store.gathered_extremes[place, cell] = min(
                store.gathered_extremes[place, cell], store.row_extremes[row, cell]
            )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def may_follow(
    program: Program,
    store: Store,
    batch: Batch,
    event: cython.Py_ssize_t,
    at: cython.Py_ssize_t,
    row: cython.Py_ssize_t,
) -> cython.bint:
    """Return whether an event may follow that of a row: its value is in some range of the read."""
    part: cython.Py_ssize_t
    if program.reads[at].part == program.reads[at].parts_end:
        return True
    if not store.row_ordered[row]:
        return False
    for part in range(program.reads[at].part, program.reads[at].parts_end):
        if batch.lows[event, part] <= store.row_orders[row] <= batch.highs[event, part]:
            return True
    return False


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
    rows: cython.Py_ssize_t = program.blocks[block].rows
    begin: cython.Py_ssize_t = store.leaves[slot, rows].begin
    row: cython.Py_ssize_t
    level: cython.Py_ssize_t
    clear_gathered(program, store, at, place)
    for row in range(begin, begin + store.leaves[slot, rows].count):
        if may_follow(program, store, batch, event, at, row):
            add_row(program, store, slot, at, place, row)
            if program.blocks[block].is_next:
                store.row_taken[row] = 1
    for level in range(store.leaves[slot, rows].top):
        count: cython.Py_ssize_t = store.runs[slot, rows, level].count
        if count == 0:
            continue
        begin = store.runs[slot, rows, level].begin
        part: cython.Py_ssize_t = program.reads[at].part
        if part == program.reads[at].parts_end:
            add_row(program, store, slot, at, place, begin + count - 1)
        elif batch.lows[event, part] <= batch.highs[event, part]:
            row = rows_up_to(store, begin, count, batch.highs[event, part])
            if row > 0:
                add_row(program, store, slot, at, place, begin + row - 1)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def rows_up_to(
    store: Store, begin: cython.Py_ssize_t, count: cython.Py_ssize_t, high: cython.longlong
) -> cython.Py_ssize_t:
    """Return how many rows of a run have a value of at most `high`."""
    low: cython.Py_ssize_t = 0
    end: cython.Py_ssize_t = count
    while low < end:
        middle: cython.Py_ssize_t = (low + end) >> 1
        if store.row_orders[begin + middle] <= high:
            low = middle + 1
        else:
            end = middle
    return low


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
    store.leaves[slot, rows].count += store.leaves[slot, rows].arriving
    store.leaves[slot, rows].arriving = 0
    if program.blocks[block].is_rising and store.leaves[slot, rows].count >= LEAF_ROWS:
        sort_leaf(program, store, slot, block)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def sort_leaf(
    program: Program, store: Store, slot: cython.Py_ssize_t, block: cython.Py_ssize_t
) -> cython.void:
    """Make the leaf a run, and merge it with runs of its size."""
    rows: cython.Py_ssize_t = program.blocks[block].rows
    begin: cython.Py_ssize_t = store.leaves[slot, rows].begin
    count: cython.Py_ssize_t = 0
    row: cython.Py_ssize_t
    for row in range(begin, begin + store.leaves[slot, rows].count):
        if store.row_ordered[row]:  # no event follows the others
            store.sorted_rows[count] = row
            count += 1
    sort_rows(store, count)
    level: cython.Py_ssize_t = level_of(count)
    to: cython.Py_ssize_t = allocate(store, slot, level)
    newest: cython.longlong = NEVER
    for row in range(count):
        copy_row(program, store, block, store.sorted_rows[row], to + row)
        newest = max(newest, store.row_times[to + row])
        if row > 0:
            add_to_row(program, store, slot, block, to + row - 1, to + row)
    store.leaves[slot, rows].count = 0
    if store.leaves[slot, rows].level > 0:
        free_rows(store, slot, begin, store.leaves[slot, rows].level)
        store.leaves[slot, rows].level = -1
    if count == 0:
        free_rows(store, slot, to, level)
        return
    while store.runs[slot, rows, level].count > 0:
        other: cython.Py_ssize_t = store.runs[slot, rows, level].begin
        of_other: cython.Py_ssize_t = store.runs[slot, rows, level].count
        newest = max(newest, store.runs[slot, rows, level].newest)
        store.runs[slot, rows, level].count = 0
        above: cython.Py_ssize_t = level_of(count + of_other)
        merged: cython.Py_ssize_t = allocate(store, slot, above)
        merge(program, store, slot, block, to, count, other, of_other, merged)
        free_rows(store, slot, to, level)
        free_rows(store, slot, other, level)
        to = merged
        count += of_other
        level = above
    store.runs[slot, rows, level].begin = to
    store.runs[slot, rows, level].count = count
    store.runs[slot, rows, level].newest = newest
    store.leaves[slot, rows].top = max(store.leaves[slot, rows].top, level + 1)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def sort_rows(store: Store, count: cython.Py_ssize_t) -> cython.void:
    """Sort the first of `sorted_rows` by their values (Shell's sort)."""
    gap: cython.Py_ssize_t = 1
    place: cython.Py_ssize_t
    while gap < count // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for place in range(gap, count):
            row: cython.Py_ssize_t = store.sorted_rows[place]
            value: cython.longlong = store.row_orders[row]
            to: cython.Py_ssize_t = place
            while to >= gap and store.row_orders[store.sorted_rows[to - gap]] > value:
                store.sorted_rows[to] = store.sorted_rows[to - gap]
                to -= gap
            store.sorted_rows[to] = row
        gap //= 3


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_to_row(
    program: Program,
    store: Store,
    slot: cython.Py_ssize_t,
    block: cython.Py_ssize_t,
    row: cython.Py_ssize_t,
    to: cython.Py_ssize_t,
) -> cython.void:
    """Add a row to another one."""
    cell: cython.Py_ssize_t
    cells: cython.Py_ssize_t = program.blocks[block].sums * program.blocks[block].width
    if store.slots[slot].scaled:
        add_lanes(
            store.row_cells,
            store.row_powers,
            to,
            0,
            store.row_cells,
            store.row_powers,
            row,
            0,
            0,
            cells,
        )
    else:
        for cell in range(cells):
            store.row_cells[to, cell] += store.row_cells[row, cell]
    for cell in range(program.blocks[block].extremes * program.blocks[block].width):
        store.row_extremes[to, cell] = min(
            store.row_extremes[to, cell], store.row_extremes[row, cell]
        )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def merge(
    program: Program,
    store: Store,
    slot: cython.Py_ssize_t,
    block: cython.Py_ssize_t,
    left: cython.Py_ssize_t,
    lefts: cython.Py_ssize_t,
    right: cython.Py_ssize_t,
    rights: cython.Py_ssize_t,
    to: cython.Py_ssize_t,
) -> cython.void:
    """Merge two runs: a row's sum is that of the last rows of both up to it."""
    i: cython.Py_ssize_t = 0
    j: cython.Py_ssize_t = 0
    row: cython.Py_ssize_t
    for row in range(to, to + lefts + rights):
        if j == rights or (i < lefts and store.row_orders[left + i] <= store.row_orders[right + j]):
            copy_row(program, store, block, left + i, row)
            i += 1
            if j > 0:
                add_to_row(program, store, slot, block, right + j - 1, row)
        else:
            copy_row(program, store, block, right + j, row)
            j += 1
            if i > 0:
                add_to_row(program, store, slot, block, left + i - 1, row)


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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def empty_lanes_of(
    program: Program,
    store: Store,
    block: cython.Py_ssize_t,
    row: cython.Py_ssize_t,
    lane: cython.Py_ssize_t,
    lanes: cython.Py_ssize_t,
    step: cython.Py_ssize_t,
) -> cython.void:
    """Empty each `step`-th of a row's lanes, from `lane` to before `lanes`."""
    width: cython.Py_ssize_t = program.blocks[block].width
    number: cython.Py_ssize_t
    at: cython.Py_ssize_t
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
        for row in range(begin, begin + store.runs[slot, rows, level].count):
            empty_lanes_of(program, store, block, row, lane, lanes, step)


def forget_rows_before(
    program: Program,
    store: Store,
    slot: cython.Py_ssize_t,
    block: cython.Py_ssize_t,
    time: cython.longlong,
) -> cython.void:
    """Remove rows from before a time, the start of the first open window: their lanes are empty.

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
        if row < visible and store.row_times[begin + row] < time:
            removed += 1
            continue
        if keep < row:
            copy_row(program, store, block, begin + row, begin + keep)
        keep += 1
    store.leaves[slot, rows].count -= removed
    for level in range(store.leaves[slot, rows].top):
        if store.runs[slot, rows, level].count and store.runs[slot, rows, level].newest < time:
            free_rows(store, slot, store.runs[slot, rows, level].begin, level)
            store.runs[slot, rows, level].count = 0
