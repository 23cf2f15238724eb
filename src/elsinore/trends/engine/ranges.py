# cython: infer_types=True
"""Sorted runs of rows of events, and which rows an event reads.

If all reads of a block have only an upper bound (`is_rising`), a row of a run has the sum of all
rows up to it, and an event reads one row of each run. Otherwise a run is a tree: row n of the first
`count` rows has the sum of rows 2n and 2n + 1, the events' rows follow, and an event reads O(log n)
rows. Nothing is subtracted.

A negative pattern (NOT) is a query whose extreme is the moment at which its trends begin. Only the
match that began last, of those that ended before an event, matters: if any match lies between two
events, that one does. So an event may follow an earlier one by a *way* (`Program.ways`) if the
earlier event's moment is not before the latest beginning of any negative of the way. A match
belongs to the window in which it began.
"""

from __future__ import annotations

import cython

from elsinore.operators.conditions.machine import all_hold
from elsinore.trends.engine.constants import FOREVER, LEAF_ROWS, NEVER, NO_BLOCK, NO_MOMENT, Index
from elsinore.trends.engine.numbers import clear
from elsinore.trends.engine.rows import (
    add_row,
    allocate,
    begin_of,
    clear_lanes,
    copy_sums,
    count_of,
    free_rows,
    put_row_sums,
    rows_of_run,
)
from elsinore.trends.engine.store import Store
from elsinore.trends.engine.tables import Batch, Program


@cython.nogil
def sort_leaf(program: Program, store: Store, slot: Index, block: Index) -> cython.void:
    """Turn the leaf into a run, and merge it with runs of its size."""
    rows: Index = program.blocks[block].rows
    begin: Index = store.leaves[slot, rows].begin
    count: Index = 0
    for row in range(begin, begin + store.leaves[slot, rows].count):
        if store.row_ordered[row]:  # no event may follow rows without a value
            store.sorted_rows[count] = row
            count += 1
    sort_rows(store, count)
    level: Index = level_of(rows_of_run(program, block, count))
    to: Index = allocate(store, slot, level)
    first: Index = to + rows_of_run(program, block, count) - count
    newest: cython.longlong = NEVER
    before: Index = -1
    for row in range(count):
        newest = max(newest, store.row_moments[store.sorted_rows[row]])
        put_row(program, store, slot, block, store.sorted_rows[row], before, first + row)
        if program.blocks[block].is_rising:
            before = first + row
    if not program.blocks[block].is_rising:
        sum_up_tree(program, store, slot, block, to, count)
    store.leaves[slot, rows].count = 0
    if store.leaves[slot, rows].level > 0:
        free_rows(store, slot, begin, store.leaves[slot, rows].level)
        store.leaves[slot, rows].level = -1
    if count == 0:
        free_rows(store, slot, to, level)
        return
    while store.runs[slot, rows, level].count > 0:
        other: Index = store.runs[slot, rows, level].begin
        of_other: Index = store.runs[slot, rows, level].count
        newest = max(newest, store.runs[slot, rows, level].newest)
        store.runs[slot, rows, level].count = 0
        above: Index = level_of(rows_of_run(program, block, count + of_other))
        merged: Index = allocate(store, slot, above)
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


@cython.nogil
def level_of(rows: Index) -> Index:
    """Return the level of the smallest piece for a number of rows."""
    level: Index = 0
    while (LEAF_ROWS << level) < rows:
        level += 1
    return level


@cython.nogil
def sort_rows(store: Store, count: Index) -> cython.void:
    """Sort the first of `sorted_rows` by their values (Shell's sort)."""
    gap: Index = 1
    while gap < count // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for place in range(gap, count):
            row: Index = store.sorted_rows[place]
            value: cython.longlong = store.row_orders[row]
            to: Index = place
            while to >= gap and store.row_orders[store.sorted_rows[to - gap]] > value:
                store.sorted_rows[to] = store.sorted_rows[to - gap]
                to -= gap
            store.sorted_rows[to] = row
        gap //= 3


@cython.nogil
def merge(
    program: Program,
    store: Store,
    slot: Index,
    block: Index,
    left: Index,
    lefts: Index,
    right: Index,
    rights: Index,
    to: Index,
) -> cython.void:
    """Merge two runs; unless they are trees, a row adds the latest rows of both up."""
    i: Index = 0
    j: Index = 0
    is_tree: cython.bint = not program.blocks[block].is_rising
    first: Index = to
    if is_tree:
        left += lefts
        right += rights
        first += lefts + rights
    for row in range(first, first + lefts + rights):
        other: Index = -1
        if j == rights or (i < lefts and store.row_orders[left + i] <= store.row_orders[right + j]):
            if j > 0 and not is_tree:
                other = right + j - 1
            put_row(program, store, slot, block, left + i, other, row)
            i += 1
        else:
            if i > 0 and not is_tree:
                other = left + i - 1
            put_row(program, store, slot, block, right + j, other, row)
            j += 1
    if is_tree:
        sum_up_tree(program, store, slot, block, to, lefts + rights)


@cython.nogil
def sum_up_tree(
    program: Program, store: Store, slot: Index, block: Index, begin: Index, count: Index
) -> cython.void:
    """Compute the sums of a tree from the rows of its events."""
    row: Index
    for row in range(count - 1, 0, -1):
        put_row(program, store, slot, block, begin + 2 * row, begin + 2 * row + 1, begin + row)


@cython.inline
@cython.nogil
def put_row(
    program: Program, store: Store, slot: Index, block: Index, row: Index, other: Index, to: Index
) -> cython.void:
    """Put a row into a run, adding the sums of another row unless `other` is below 0."""
    store.row_orders[to] = store.row_orders[row]
    store.row_ordered[to] = 1
    if other >= 0:
        put_row_sums(program, store, slot, block, row, other, to)
    else:
        copy_sums(program, store, slot, block, row, to)


@cython.nogil
def set_limits(program: Program, store: Store, slot: Index, guard: Index) -> cython.void:
    """Set the moments, `low` to before `high`, of the events that a guard lets precede an event.

    A guard below 0 lets all of them.
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
    """Return the first moment since which some way has no negative match; FOREVER without ways."""
    first: cython.longlong = FOREVER
    for way in range(begin, end):
        latest: cython.longlong = NO_MOMENT
        for place in range(program.ways[way].negatives, program.ways[way].negatives_end):
            latest = max(latest, store.latest[slot, program.negatives[place]])
        first = min(first, latest)
    return first


@cython.nogil
def note_matches(program: Program, store: Store, slot: Index, block: Index) -> cython.void:
    """Update the latest beginnings of the negative matches that end in a block."""
    for at in range(program.blocks[block].watches, program.blocks[block].watches_end):
        negative: Index = program.watches[at].negative
        for lane in range(program.watches[at].lanes):
            extreme: Index = program.watches[at].extreme + lane
            inverted: cython.longlong = store.stored.extremes[slot, extreme]
            if inverted != FOREVER:
                store.latest[slot, negative] = max(store.latest[slot, negative], ~inverted)


@cython.nogil
def read_beginnings(
    program: Program, store: Store, slot: Index, at: Index, place: Index
) -> cython.void:
    """Gather one empty trend for each open window in which no negative match began."""
    kind: Index = program.reads[at].kind
    clear(store.gathered, place, 0, program.reads[at].lanes, True)
    for lane in range(program.reads[at].lanes):
        if store.low < store.opened[slot, program.kinds[kind].opened + lane]:
            is_open: cython.double = store.stored.cells[slot, program.kinds[kind].cell + lane]
            store.gathered.cells[place, lane] = is_open


@cython.nogil
def clear_gathered(program: Program, store: Store, at: Index, place: Index) -> cython.void:
    """Set all that a read gathers to zero."""
    lane: Index = program.reads[at].lane
    end: Index = lane + program.reads[at].lanes
    clear_lanes(program, program.reads[at].block, store.gathered, place, 0, 0, lane, end, True)


@cython.inline
@cython.nogil
def may_follow(
    program: Program, store: Store, batch: Batch, event: Index, at: Index, row: Index
) -> cython.bint:
    """Return whether an event may follow the event of a row.

    The row's moment is from `low` to before `high`, its value is in a range of the read, and all
    conditions hold, including those on the anchor of the row's trends.
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
    """Return whether a list of conditions holds between the event of a row and a later event."""
    return begin == end or all_hold(
        store.conditions, begin, end, batch.values, event, store.earlier, row, store.registers, 0, 0
    )


@cython.nogil
def read_rows(
    program: Program, store: Store, batch: Batch, event: Index, slot: Index, at: Index, place: Index
) -> cython.void:
    """Gather the sums of all rows that an event may follow in row `place` of `gathered`."""
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


@cython.nogil
def read_run(
    program: Program,
    store: Store,
    slot: Index,
    at: Index,
    place: Index,
    level: Index,
    low: cython.longlong,
    high: cython.longlong,
) -> cython.void:
    """Gather the sums of the rows of a run whose values are from `low` to `high`."""
    block: Index = program.reads[at].block
    lane: Index = program.reads[at].lane
    lanes: Index = program.reads[at].lanes
    begin: Index = store.runs[slot, program.blocks[block].rows, level].begin
    count: Index = store.runs[slot, program.blocks[block].rows, level].count
    if program.blocks[block].is_rising:
        last: Index = rows_up_to(store, begin, count, high)
        if last > 0:
            add_row(
                program, store, slot, block, begin + last - 1, store.gathered, place, lane, lanes
            )
        return
    first: Index = count
    last = count + rows_up_to(store, begin + count, count, high)
    if low > NEVER:
        first += rows_up_to(store, begin + count, count, low - 1)
    while first < last:
        if first & 1:
            add_row(program, store, slot, block, begin + first, store.gathered, place, lane, lanes)
            first += 1
        if last & 1:
            last -= 1
            add_row(program, store, slot, block, begin + last, store.gathered, place, lane, lanes)
        first >>= 1
        last >>= 1


@cython.nogil
def rows_up_to(store: Store, begin: Index, count: Index, high: cython.longlong) -> Index:
    """Return the number of rows of a run whose values are at most `high`."""
    first: Index = begin
    left: Index = count
    if count == 0:
        return 0
    while left > 1:  # without branches that depend on values, which a processor cannot predict
        half: Index = left >> 1
        first += half * (store.row_orders[first + half - 1] <= high)
        left -= half
    return first - begin + (store.row_orders[first] <= high)


def renumber_orders(
    program: Program,
    store: Store,
    block: Index,
    is_falling: cython.bint,
    old: cython.const_longlong[::1],
    new: cython.const_longlong[::1],
) -> None:
    """Replace old codes, in ascending order, by new ones in the sort keys of a block's rows.

    is_falling: sort keys are inverted codes.
    """
    for slot in range(store.leaves.shape[0]):
        for level in range(-1, store.leaves[slot, program.blocks[block].rows].top):
            begin: Index = begin_of(program, store, slot, block, level)
            count: Index = count_of(program, store, slot, block, level)
            if level >= 0 and not program.blocks[block].is_rising:
                begin += count // 2  # sums of a tree come first
                count -= count // 2
            for row in range(begin, begin + count):
                if store.row_ordered[row]:
                    code: cython.longlong = store.row_orders[row]
                    code = renumbered(~code if is_falling else code, old, new)
                    store.row_orders[row] = ~code if is_falling else code


@cython.nogil
def renumbered(
    code: cython.longlong, old: cython.const_longlong[::1], new: cython.const_longlong[::1]
) -> cython.longlong:
    """Return the new code that replaces an old one."""
    first: Index = 0
    last: Index = old.shape[0] - 1
    while first < last:
        middle: Index = (first + last) >> 1
        if old[middle] < code:
            first = middle + 1
        else:
            last = middle
    return new[first]
