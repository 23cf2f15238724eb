# cython: infer_types=True
"""The values of snapshots of compared events, for each query (HAMLET, Section 3.3).

`store.snapshots[slot]` is the table of snapshots: each has its value in each sum of each lane, that
is of a query in an open window (Tables 4 and 5), and last the moment at which it was taken. A
number of trends is the sum of coefficients times these values; another sum also has the weights of
its addend, times the values of the number of trends.

The block of a set's first reader has the coefficients of all events since values were last put into
lanes. Rows of events keep their coefficients until queries split, which multiplies them by the
table.
"""

from __future__ import annotations

from math import fabs

import cython

from elsinore.trends.engine.constants import LIMIT, Index
from elsinore.trends.engine.numbers import Lanes, add_lanes, clear, normalise
from elsinore.trends.engine.recurrence import touch
from elsinore.trends.engine.rows import (
    allocate,
    begin_of,
    copy_event,
    count_of,
    drop_rows,
    forget_rows_before,
    make_scaled,
)
from elsinore.trends.engine.store import Store
from elsinore.trends.engine.tables import Program

SPLIT = cython.declare(Index, 16)


@cython.nogil
def column_of(program: Program, number: Index, column: Index) -> Index:
    """Return the place of the first value of one of a set's snapshots."""
    place: Index = column * program.sets[number].cells
    return program.sets[number].snapshots + place


@cython.nogil
def add_up(
    program: Program,
    store: Store,
    slot: Index,
    span: Index,
    place: Index,
    form: cython.double[::1],
    begin: Index,
    lanes: Index,
    columns: Index,
) -> cython.void:
    """Compute the values of a form, whose coefficients come first, in row 1 of `work`.

    They are the values of sum `place` in lanes of a span from `begin` on.
    """
    number: Index = program.spans[span].number
    at: Index = program.spans[span].step
    weights: Index = -1
    if program.sums[place].weight >= 0:
        weights = program.sums[place].weight - program.sets[number].addends + 1
        weights *= program.sets[number].columns
    for lane in range(lanes):
        store.work.cells[1, lane] = 0.0
    for column in range(columns):
        cell: Index = column_of(program, number, column)
        cell += program.spans[span].cell + begin
        factor: cython.double = 0.0 if weights < 0 else form[weights + column]
        if factor != 0.0:
            for lane in range(lanes):
                store.work.cells[1, lane] += factor * store.snapshots[slot, cell + lane]
        factor = form[column]
        if factor != 0.0:
            cell += (place - program.steps[at].sums) * program.steps[at].lanes
            for lane in range(lanes):
                store.work.cells[1, lane] += factor * store.snapshots[slot, cell + lane]


@cython.nogil
def put_columns_in(program: Program, store: Store, slot: Index, number: Index) -> cython.void:
    """Bring all lanes of a set up to date: add the contributions of its graphlet's events.

    Those of the latest timestamp are added to the timestamp's. States whose events are not compared
    reach later events by the next snapshot: their values of the present ones become 0.
    """
    first: Index = program.sets[number].readers
    block: Index = program.readers[first].block
    for span in range(program.sets[number].spans, program.sets[number].spans_end):
        put_span_in(program, store, slot, span, block, store.stored)
        at: Index = program.spans[span].step
        if put_span_in(program, store, slot, span, block, store.added):
            lane: Index = program.steps[at].lane
            touch(store, slot, program.steps[at].block, lane, lane + program.steps[at].lanes)
        if program.readers[first + program.spans[span].reader].read >= 0:
            continue
        clear_snapshots(program, store, slot, span, 0, 1)
    begin: Index = program.blocks[block].cell
    end: Index = begin + program.blocks[block].sums * program.blocks[block].width
    clear(store.stored, slot, begin, end, False)
    clear(store.added, slot, begin, end, False)


@cython.nogil
def put_span_in(
    program: Program, store: Store, slot: Index, span: Index, block: Index, to: Lanes
) -> cython.bint:
    """Add the values of the forms in a block of its set to a span; return whether there are any."""
    at: Index = program.spans[span].step
    lanes: Index = program.steps[at].lanes
    columns: Index = store.graphlets[slot, program.spans[span].number].columns
    first: Index = program.blocks[block].cell
    is_any: cython.bint = False
    passed: cython.bint = False
    for lane in range(first, first + columns):
        is_any |= to.cells[slot, lane] != 0.0
    if not is_any:
        return False
    for place in range(program.steps[at].sums, program.steps[at].sums_end):
        add_up(program, store, slot, span, place, to.cells[slot, first:], 0, lanes, columns)
        target: Index = program.sums[place].cell
        if store.slots[slot].scaled:
            normalise(store.work, 1, 0, lanes)
            add_lanes(to, slot, target, store.work, 1, 0, 0, lanes)
            continue
        for lane in range(lanes):
            to.cells[slot, target + lane] += store.work.cells[1, lane]
            passed |= not fabs(to.cells[slot, target + lane]) < LIMIT
        if passed:
            make_scaled(program, store, slot)
    return True


@cython.nogil
def has_rows_apart(program: Program, store: Store, slot: Index, number: Index) -> cython.bint:
    """Return whether states of a set have rows of bursts that were not shared."""
    for part in range(program.sets[number].parts, program.sets[number].parts_end):
        block: Index = program.parts[part].block
        for level in range(-1, store.leaves[slot, program.blocks[block].rows].top):
            if count_of(program, store, slot, block, level) > 0:
                return True
    return False


@cython.nogil
def split_rows(program: Program, store: Store, slot: Index, number: Index) -> cython.void:
    """Split: give all states of a set rows of their own, and remove the snapshots."""
    store.graphlets[slot, number].snapshots = cython.cast(
        cython.int, SPLIT * program.sets[number].cells
    )  # it did not pay: expect so many from now on
    put_columns_in(program, store, slot, number)
    for part in range(program.sets[number].parts, program.sets[number].parts_end):
        multiply_rows(program, store, slot, number, part)
    drop_columns(program, store, slot, number)


@cython.nogil
def multiply_rows(
    program: Program, store: Store, slot: Index, number: Index, part: Index
) -> cython.void:
    """Replace a block's rows by those of its reader, multiplied by the snapshots."""
    block: Index = program.parts[part].block
    own: Index = program.blocks[block].rows
    reader: Index = program.sets[number].readers + program.parts[part].reader
    source: Index = program.readers[reader].block
    rows: Index = program.blocks[source].rows
    drop_rows(program, store, slot, block)
    store.leaves[slot, own] = store.leaves[slot, rows]
    if store.leaves[slot, rows].arriving > 0:
        touch(store, slot, block, 0, 1)
    for level in range(-1, store.leaves[slot, rows].top):
        size: Index = level if level >= 0 else store.leaves[slot, rows].level
        count: Index = count_of(program, store, slot, source, level)
        if size < 0 or (level >= 0 and count == 0):
            continue
        begin: Index = begin_of(program, store, slot, source, level)
        to: Index = allocate(store, slot, size)
        multiply_piece(program, store, slot, number, block, begin, count, to)
        if level < 0:
            store.leaves[slot, own].begin = to
        else:
            store.runs[slot, own, level] = store.runs[slot, rows, level]
            store.runs[slot, own, level].begin = to


@cython.nogil
def multiply_piece(
    program: Program,
    store: Store,
    slot: Index,
    number: Index,
    block: Index,
    begin: Index,
    count: Index,
    to: Index,
) -> cython.void:
    """Multiply rows by the snapshots, into rows of a block from `to` on."""
    for row in range(begin, begin + count):
        target: Index = to + row - begin
        columns: Index = store.row_columns[row]
        columns = min(columns, store.graphlets[slot, number].columns)
        copy_event(program, store, block, row, target)
        store.row_columns[target] = program.blocks[block].width
        for span in range(program.sets[number].spans, program.sets[number].spans_end):
            at: Index = program.spans[span].step
            if program.steps[at].block != block:
                continue
            lanes: Index = program.steps[at].lanes
            for place in range(program.steps[at].sums, program.steps[at].sums_end):
                add_up(program, store, slot, span, place, store.rows.cells[row], 0, lanes, columns)
                normalise(store.work, 1, 0, lanes)
                cell: Index = place - program.steps[at].sums
                cell = cell * program.blocks[block].width + program.steps[at].lane
                for lane in range(lanes):
                    store.rows.cells[target, cell + lane] = store.work.cells[1, lane]
                    store.rows.powers[target, cell + lane] = store.work.powers[1, lane]


@cython.nogil
def drop_columns(program: Program, store: Store, slot: Index, number: Index) -> cython.void:
    """Remove the snapshots of a set, and the rows that refer to them."""
    most: cython.double = store.graphlets[slot, number].snapshots
    store.counts[number].columns += (most - store.counts[number].columns) / 4.0
    store.graphlets[slot, number].columns = 0
    store.graphlets[slot, number].snapshots = 0
    store.graphlets[slot, number].opening = -1
    for reader in range(program.sets[number].readers, program.sets[number].readers_end):
        if program.readers[reader].read >= 0:
            block: Index = program.readers[reader].block
            store.leaves[slot, program.blocks[block].rows].arriving = 0
            drop_rows(program, store, slot, block)


@cython.nogil
def close_snapshots(
    program: Program, store: Store, slot: Index, kind: Index, window: Index
) -> cython.void:
    """Set all snapshots to 0 in the lanes of a window of a kind, which has the lane `window`."""
    for number in range(program.sets.shape[0]):
        for span in range(program.sets[number].spans, program.sets[number].spans_end):
            at: Index = program.spans[span].step
            block: Index = program.steps[at].block
            if not program.kinds[kind].blocks <= block < program.kinds[kind].blocks_end:
                continue
            clear_snapshots(program, store, slot, span, window, program.kinds[kind].overlap)


@cython.nogil
def clear_snapshots(
    program: Program, store: Store, slot: Index, span: Index, first: Index, step: Index
) -> cython.void:
    """Set all snapshots to 0 in each `step`-th lane of a span, from `first` on."""
    number: Index = program.spans[span].number
    at: Index = program.spans[span].step
    cells: Index = program.steps[at].sums_end - program.steps[at].sums
    cells *= program.steps[at].lanes
    for column in range(store.graphlets[slot, number].columns):
        begin: Index = column_of(program, number, column) + program.spans[span].cell
        cell: Index = begin + first
        while cell < begin + cells:
            store.snapshots[slot, cell] = 0.0
            cell += step


@cython.nogil
def forget_snapshots(program: Program, store: Store, slot: Index) -> cython.void:
    """Remove the oldest snapshots that are 0 in all lanes, and rows from before the others."""
    cell: Index
    for number in range(program.sets.shape[0]):
        columns: Index = store.graphlets[slot, number].columns
        cells: Index = program.sets[number].cells
        first: Index = column_of(program, number, 0)
        dead: Index = 0
        while dead < columns:
            cell = first + dead * cells
            while cell < first + (dead + 1) * cells - 1 and store.snapshots[slot, cell] == 0.0:
                cell += 1
            if cell < first + (dead + 1) * cells - 1:
                break
            dead += 1
        if dead == 0:
            continue
        if dead == columns:
            drop_columns(program, store, slot, number)
            continue
        store.graphlets[slot, number].columns -= cython.cast(cython.int, dead)
        store.graphlets[slot, number].opening = max(
            -1, store.graphlets[slot, number].opening - cython.cast(cython.int, dead)
        )
        for cell in range(first, first + (columns - dead) * cells):
            store.snapshots[slot, cell] = store.snapshots[slot, cell + dead * cells]
        moment: cython.longlong = cython.cast(
            cython.longlong, store.snapshots[slot, first + cells - 1]
        )
        for reader in range(program.sets[number].readers, program.sets[number].readers_end):
            if program.readers[reader].read >= 0:
                forget_rows_before(program, store, slot, program.readers[reader].block, moment)
                shift_rows(program, store, slot, program.readers[reader].block, dead)


@cython.nogil
def shift_rows(
    program: Program, store: Store, slot: Index, block: Index, dead: Index
) -> cython.void:
    """Remove the first coefficients of all rows of a block, and the first weights."""
    for level in range(-1, store.leaves[slot, program.blocks[block].rows].top):
        begin: Index = begin_of(program, store, slot, block, level)
        for row in range(begin, begin + count_of(program, store, slot, block, level)):
            left: Index = store.row_columns[row]
            left = min(left, program.blocks[block].width) - dead  # a tree's first row is not used
            store.row_columns[row] = cython.cast(cython.int, max(left, 0))
            for number in range(program.blocks[block].sums):
                first: Index = number * program.blocks[block].width
                for cell in range(first, first + left):
                    store.rows.cells[row, cell] = store.rows.cells[row, cell + dead]
