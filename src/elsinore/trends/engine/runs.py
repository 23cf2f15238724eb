# cython: infer_types=True
"""Sorted runs of rows of events: with the sums of all rows up to each, or as trees of sums.

If all reads of a block go up to some value (`is_rising`), a row of a run has the sum of all rows up
to it, and an event reads one row of each run. Else a run is a tree: behind its first `count` rows,
of which row n has the sum of rows 2n and 2n + 1, are the events' rows, and an event reads O(log n)
rows of it. Nothing is subtracted.
"""

from __future__ import annotations

import cython

from elsinore.trends.engine.constants import NEVER, Index
from elsinore.trends.engine.rows import (
    add_row,
    allocate,
    begin_of,
    copy_sums,
    count_of,
    free_rows,
    level_of,
    put_row_sums,
    rows_of_run,
)
from elsinore.trends.engine.store import Store
from elsinore.trends.engine.tables import Program


@cython.nogil
def sort_leaf(program: Program, store: Store, slot: Index, block: Index) -> cython.void:
    """Make the leaf a run, and merge it with runs of its size."""
    rows: Index = program.blocks[block].rows
    begin: Index = store.leaves[slot, rows].begin
    count: Index = 0
    for row in range(begin, begin + store.leaves[slot, rows].count):
        if store.row_ordered[row]:  # no event follows the others
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
    """Merge two runs: a row's sum is that of the last rows of both, unless they are trees."""
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
    """Fill the sums of a tree, the rows of its events being there."""
    row: Index = count - 1
    while row > 0:
        put_row(program, store, slot, block, begin + 2 * row, begin + 2 * row + 1, begin + row)
        row -= 1


@cython.inline
@cython.nogil
def put_row(
    program: Program, store: Store, slot: Index, block: Index, row: Index, other: Index, to: Index
) -> cython.void:
    """Put a row into a run, with the sums of another one added; other below 0: without."""
    store.row_orders[to] = store.row_orders[row]
    store.row_ordered[to] = 1
    if other >= 0:
        put_row_sums(program, store, slot, block, row, other, to)
    else:
        copy_sums(program, store, slot, block, row, to)


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
    """Gather the sums of the rows of a run whose values are `low` to `high`."""
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
    """Return how many rows of a run have a value of at most `high`."""
    first: Index = begin
    left: Index = count
    half: Index
    if count == 0:
        return 0
    while left > 1:  # without branches that depend on values, which a processor cannot predict
        half = left >> 1
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
    """Order a block's rows by new codes in place of old ones, which are ascending.

    is_falling: codes of rows are inverted.
    """
    slot: Index
    level: Index
    row: Index
    for slot in range(store.leaves.shape[0]):
        for level in range(-1, store.leaves[slot, program.blocks[block].rows].top):
            begin: Index = begin_of(program, store, slot, block, level)
            count: Index = count_of(program, store, slot, block, level)
            sums: Index = 0  # a tree's rows of sums come first
            if level >= 0 and not program.blocks[block].is_rising:
                sums = count // 2
            for row in range(begin + sums, begin + count):
                if store.row_ordered[row]:
                    code: cython.longlong = store.row_orders[row]
                    code = renumbered(~code if is_falling else code, old, new)
                    store.row_orders[row] = ~code if is_falling else code


@cython.nogil
def renumbered(
    code: cython.longlong, old: cython.const_longlong[::1], new: cython.const_longlong[::1]
) -> cython.longlong:
    """Return the new code in place of an old one."""
    first: Index = 0
    last: Index = old.shape[0] - 1
    while first < last:
        middle: Index = (first + last) >> 1
        if old[middle] < code:
            first = middle + 1
        else:
            last = middle
    return new[first]
