"""The values of snapshots of compared events, put in for each query (HAMLET, Section 3.3).

`store.snapshots[slot]` is the table of snapshots: for each one its value in each sum of each lane,
that is a query in an open window (Tables 4 and 5), and last the moment at which it was taken. A
number of trends is the sum of coefficients times these values; another sum has the weights of its
addend, times the values of the number of trends, as well.

The block of a set's first reader has the coefficients of all events since values were last put in.
Rows of events keep theirs: they are multiplied by the table where queries split.
"""

from __future__ import annotations

from math import fabs

import cython

from elsinore.trends.engine.constants import LIMIT, Index, Number
from elsinore.trends.engine.memory import allocate, copy_event
from elsinore.trends.engine.numbers import add_lanes, normal
from elsinore.trends.engine.rows import drop_rows, forget_rows_before
from elsinore.trends.engine.runs import rows_of_run
from elsinore.trends.engine.scaling import make_scaled
from elsinore.trends.engine.store import Store, touch
from elsinore.trends.engine.tables import Program

SPLIT = cython.declare(Index, 16)


@cython.nogil
def column_of(program: Program, number: Index, column: Index) -> Index:
    """Return where the values of one of a set's snapshots begin."""
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
    first: Index,
    begin: Index,
    lanes: Index,
    columns: Index,
) -> cython.void:
    """Let row 1 of `work` be the values of a form, which begins at `first`.

    They are those of a sum, `place`, in lanes of a span from `begin` on.
    """
    number: Index = program.spans[span].number
    at: Index = program.spans[span].step
    weights: Index = -1
    if program.sums[place].weight >= 0:
        weights = program.sums[place].weight - program.sets[number].addends + 1
        weights = first + weights * program.sets[number].columns
    column: Index
    lane: Index
    for lane in range(lanes):
        store.work[1, lane] = 0.0
    for column in range(columns):
        cell: Index = column_of(program, number, column)
        cell += program.spans[span].cell + begin
        factor: cython.double = 0.0 if weights < 0 else form[weights + column]
        if factor != 0.0:
            for lane in range(lanes):
                store.work[1, lane] += factor * store.snapshots[slot, cell + lane]
        factor = form[first + column]
        if factor != 0.0:
            cell += (place - program.steps[at].sums) * program.steps[at].lanes
            for lane in range(lanes):
                store.work[1, lane] += factor * store.snapshots[slot, cell + lane]


@cython.nogil
def put_columns_in(program: Program, store: Store, slot: Index, number: Index) -> cython.void:
    """Bring all lanes of a set up to date: add what its graphlet's events did.

    What those of the latest timestamp did is added to what that adds. In states whose events are
    not compared all of it goes on by the next snapshot: there, the present ones are 0 from now on.
    """
    first: Index = program.sets[number].readers
    block: Index = program.readers[first].block
    columns: Index = store.graphlets[slot, number].columns
    span: Index
    column: Index
    cell: Index
    for span in range(program.sets[number].spans, program.sets[number].spans_end):
        put_span_in(program, store, slot, span, block, store.cells, store.powers)
        at: Index = program.spans[span].step
        if put_span_in(program, store, slot, span, block, store.added, store.added_powers):
            lane: Index = program.steps[at].lane
            touch(store, slot, program.steps[at].block, lane, lane + program.steps[at].lanes)
        if program.readers[first + program.spans[span].reader].read >= 0:
            continue
        cells: Index = program.steps[at].sums_end - program.steps[at].sums
        cells *= program.steps[at].lanes
        for column in range(columns):
            begin: Index = column_of(program, number, column)
            begin += program.spans[span].cell
            for cell in range(begin, begin + cells):
                store.snapshots[slot, cell] = 0.0
    begin = program.blocks[block].cell
    for cell in range(begin, begin + program.blocks[block].sums * program.blocks[block].width):
        store.cells[slot, cell] = 0.0
        store.added[slot, cell] = 0.0


@cython.nogil
def put_span_in(
    program: Program,
    store: Store,
    slot: Index,
    span: Index,
    block: Index,
    cells: cython.double[:, ::1],
    powers: cython.double[:, ::1],
) -> cython.bint:
    """Add what the forms in a block of its set come to to lanes of a span; return if it is any."""
    number: Index = program.spans[span].number
    at: Index = program.spans[span].step
    lanes: Index = program.steps[at].lanes
    columns: Index = store.graphlets[slot, number].columns
    first: Index = program.blocks[block].cell
    place: Index
    lane: Index
    is_any: cython.bint = False
    passed: cython.bint = False
    for lane in range(first, first + columns):
        is_any |= cells[slot, lane] != 0.0
    if not is_any:
        return False
    for place in range(program.steps[at].sums, program.steps[at].sums_end):
        add_up(program, store, slot, span, place, cells[slot], first, 0, lanes, columns)
        target: Index = program.sums[place].cell
        if not store.slots[slot].scaled:
            for lane in range(lanes):
                cells[slot, target + lane] += store.work[1, lane]
                passed |= not fabs(cells[slot, target + lane]) < LIMIT
            if passed:
                make_scaled(program, store, slot)
        else:
            normalise(store, lanes)
            add_lanes(cells, powers, slot, target, store.work, store.work_powers, 1, 0, 0, lanes)
    return True


@cython.nogil
def normalise(store: Store, lanes: Index) -> cython.void:
    """Bring numbers in row 1 of `work` into their normal form."""
    lane: Index
    for lane in range(lanes):
        number: Number = normal(store.work[1, lane], 0.0)
        store.work[1, lane] = number.mantissa
        store.work_powers[1, lane] = number.power


@cython.nogil
def has_rows_apart(program: Program, store: Store, slot: Index, number: Index) -> cython.bint:
    """Return whether lanes of a set have rows of their own, of bursts that were not shared."""
    part: Index
    level: Index
    for part in range(program.sets[number].parts, program.sets[number].parts_end):
        rows: Index = program.blocks[program.parts[part].block].rows
        if store.leaves[slot, rows].count + store.leaves[slot, rows].arriving > 0:
            return True
        for level in range(store.leaves[slot, rows].top):
            if store.runs[slot, rows, level].count > 0:
                return True
    return False


@cython.nogil
def split_rows(program: Program, store: Store, slot: Index, number: Index) -> cython.void:
    """Split: give all lanes of a set rows of their own, and have no snapshots any more."""
    part: Index
    store.graphlets[slot, number].snapshots = cython.cast(
        cython.int, SPLIT * program.sets[number].cells
    )  # it did not pay: as if there had been so many
    put_columns_in(program, store, slot, number)
    for part in range(program.sets[number].parts, program.sets[number].parts_end):
        multiply_rows(program, store, slot, number, part)
    drop_columns(program, store, slot, number)


@cython.nogil
def multiply_rows(
    program: Program, store: Store, slot: Index, number: Index, part: Index
) -> cython.void:
    """Let a block without rows have those of its reader, multiplied by the snapshots."""
    block: Index = program.parts[part].block
    own: Index = program.blocks[block].rows
    reader: Index = program.sets[number].readers + program.parts[part].reader
    source: Index = program.readers[reader].block
    rows: Index = program.blocks[source].rows
    level: Index = store.leaves[slot, rows].level
    drop_rows(program, store, slot, block)
    store.leaves[slot, own] = store.leaves[slot, rows]
    if level >= 0:
        begin: Index = store.leaves[slot, rows].begin
        to: Index = allocate(store, slot, level)
        store.leaves[slot, own].begin = cython.cast(cython.int, to)
        count: Index = store.leaves[slot, rows].count
        count += store.leaves[slot, rows].arriving
        multiply_piece(program, store, slot, number, block, begin, count, to)
    if store.leaves[slot, rows].arriving > 0:
        touch(store, slot, block, 0, 1)
    for level in range(store.leaves[slot, rows].top):
        if store.runs[slot, rows, level].count > 0:
            to = allocate(store, slot, level)
            count = rows_of_run(program, source, store.runs[slot, rows, level].count)
            begin = store.runs[slot, rows, level].begin
            multiply_piece(program, store, slot, number, block, begin, count, to)
            store.runs[slot, own, level] = store.runs[slot, rows, level]
            store.runs[slot, own, level].begin = cython.cast(cython.int, to)


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
    row: Index
    span: Index
    place: Index
    lane: Index
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
                add_up(
                    program, store, slot, span, place, store.row_cells[row], 0, 0, lanes, columns
                )
                normalise(store, lanes)
                cell: Index = place - program.steps[at].sums
                cell = cell * program.blocks[block].width + program.steps[at].lane
                for lane in range(lanes):
                    store.row_cells[target, cell + lane] = store.work[1, lane]
                    store.row_powers[target, cell + lane] = store.work_powers[1, lane]


@cython.nogil
def drop_columns(program: Program, store: Store, slot: Index, number: Index) -> cython.void:
    """Have neither snapshots of a set any more nor rows that are made of them."""
    reader: Index
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
    """Let all snapshots be 0 in the lanes of a window of a kind, which has the lane `window`."""
    number: Index
    span: Index
    column: Index
    for number in range(program.sets.shape[0]):
        for span in range(program.sets[number].spans, program.sets[number].spans_end):
            at: Index = program.spans[span].step
            block: Index = program.steps[at].block
            if not program.kinds[kind].blocks <= block < program.kinds[kind].blocks_end:
                continue
            cells: Index = program.steps[at].sums_end - program.steps[at].sums
            cells *= program.steps[at].lanes
            for column in range(store.graphlets[slot, number].columns):
                begin: Index = column_of(program, number, column)
                begin += program.spans[span].cell
                cell: Index = begin + window
                while cell < begin + cells:
                    store.snapshots[slot, cell] = 0.0
                    cell += program.kinds[kind].overlap


@cython.nogil
def forget_snapshots(program: Program, store: Store, slot: Index) -> cython.void:
    """Forget the oldest snapshots that are 0 in all lanes, and rows from before the others."""
    number: Index
    reader: Index
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
    rows: Index = program.blocks[block].rows
    level: Index
    row: Index
    number: Index
    cell: Index
    for level in range(-1, store.leaves[slot, rows].top):
        begin: Index = store.leaves[slot, rows].begin
        count: Index = store.leaves[slot, rows].count
        count += store.leaves[slot, rows].arriving
        if level >= 0:
            begin = store.runs[slot, rows, level].begin
            count = rows_of_run(program, block, store.runs[slot, rows, level].count)
        for row in range(begin, begin + count):
            left: Index = store.row_columns[row]
            left = min(left, program.blocks[block].width) - dead  # a tree's first row is not used
            store.row_columns[row] = cython.cast(cython.int, max(left, 0))
            for number in range(program.blocks[block].sums):
                first: Index = number * program.blocks[block].width
                for cell in range(first, first + left):
                    store.row_cells[row, cell] = store.row_cells[row, cell + dead]
