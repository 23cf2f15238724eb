# cython: infer_types=True
"""Shared graphlets whose events are compared with those before them (HAMLET, Definitions 8 and 9).

In the row of such an event, lanes are snapshots in place of queries: it has the coefficient of each
in the event's trend count, and for each addend its weight in the sums, as in Table 5: 4x + z. A
*reader* is one way to compare events; it keeps them in a block of its own, in its own order, and
gathers the coefficients of those that an event may follow.

- Where a burst begins, what goes on to its events from elsewhere is a snapshot.
- If all readers gather the same and all queries take the event, one row of coefficients is its
  trend count for all queries, in all their windows.
- Else the event is a snapshot of its own, whose value is added up for each query.

Where a burst ends, the snapshots' values are put in (`elsinore.trends.engine.sharing.columns`). The
rows stay, and so do the snapshots that they are made of, until their windows are closed.
"""

from __future__ import annotations

from math import fabs

import cython

from elsinore.trends.engine.constants import Index
from elsinore.trends.engine.reads import clear_gathered, read_rows
from elsinore.trends.engine.recurrence import addend_of, gather
from elsinore.trends.engine.rows import keep_row, new_row
from elsinore.trends.engine.sharing.columns import add_up, column_of
from elsinore.trends.engine.store import Store, touch
from elsinore.trends.engine.tables import Batch, Program

GREAT = cython.declare(cython.double, 2.0**480)  # products, and sums of 2**32 such, are plain


@cython.nogil
def take_compared(
    program: Program, store: Store, batch: Batch, event: Index, slot: Index, section: Index
) -> cython.bint:
    """Let an event join the shared graphlet of its section's set.

    Return whether numbers stay small enough to go on sharing; an event is always taken.
    """
    number: Index = program.sections[section].number
    is_small: cython.bint = True
    opened: cython.longlong = store.graphlets[slot, number].opened
    changed: cython.longlong = store.graphlets[slot, number].changed
    if opened < 0 or opened <= changed < store.slots[slot].moment:
        is_small = open_snapshot(program, store, slot, number)
    read_columns(program, store, batch, event, slot, number)
    if not (program.sections[section].is_whole and readers_agree(program, store, slot, number)):
        is_small &= add_snapshot(program, store, batch, event, slot, section)
    else:
        is_small &= add_weights(program, store, batch, event, slot, number)
    store_columns(program, store, batch, event, slot, number)
    return is_small


@cython.nogil
def open_snapshot(program: Program, store: Store, slot: Index, number: Index) -> cython.bint:
    """Take what goes on to events from elsewhere as a snapshot, unless the last one is the same.

    Of states whose events are not compared, their own trends go on, too. Return whether all values
    are small.
    """
    column: Index = store.graphlets[slot, number].columns
    opening: Index = store.graphlets[slot, number].opening
    before: Index = column_of(program, number, max(opening, 0))
    base: Index = column_of(program, number, column)
    differs: cython.bint = opening < 0
    is_any: cython.bint = False
    is_small: cython.bint = True
    cell: Index = 0
    for span in range(program.sets[number].spans, program.sets[number].spans_end):
        at: Index = program.spans[span].step
        for place in range(program.steps[at].reads, program.steps[at].reads_end):
            clear_gathered(program, store, place, place - program.steps[at].reads)
        for place in range(program.steps[at].sums, program.steps[at].sums_end):
            gather(program, store, slot, place, 0, program.steps[at].lanes, 1)
            for lane in range(program.steps[at].lanes):
                value: cython.double = store.work.cells[1, lane]
                store.snapshots[slot, base + cell] = value
                differs |= value != store.snapshots[slot, before + cell]
                is_any |= value != 0.0
                is_small &= fabs(value) < GREAT
                cell += 1
    store.graphlets[slot, number].opened = store.slots[slot].moment
    if not is_any:
        store.graphlets[slot, number].opening = -1
    elif differs:
        store.graphlets[slot, number].opening = cython.cast(cython.int, column)
        store.counts[number].graphlet_snapshots += 1
        add_column(program, store, slot, number)
    return is_small


@cython.nogil
def add_column(program: Program, store: Store, slot: Index, number: Index) -> cython.void:
    """Have one more snapshot, whose values are there; the last of them is its moment."""
    column: Index = store.graphlets[slot, number].columns + 1
    cell: Index = column_of(program, number, column) - 1
    store.snapshots[slot, cell] = cython.cast(cython.double, store.slots[slot].moment)
    store.graphlets[slot, number].columns += 1
    store.graphlets[slot, number].snapshots = max(
        store.graphlets[slot, number].snapshots, store.graphlets[slot, number].columns
    )
    store.counts[number].most_propagated = max(store.counts[number].most_propagated, column)


@cython.nogil
def read_columns(
    program: Program, store: Store, batch: Batch, event: Index, slot: Index, number: Index
) -> cython.void:
    """Let each reader gather the coefficients and weights of what an event follows.

    The last reader may be that of events which are not compared: they follow all of the graphlet.
    """
    first: Index = program.sets[number].readers
    block: Index = program.readers[first].block
    opening: Index = store.graphlets[slot, number].opening
    cells: Index = program.blocks[block].sums * program.blocks[block].width
    for at in range(first, program.sets[number].readers_end):
        if program.readers[at].read >= 0:
            read_rows(program, store, batch, event, slot, program.readers[at].read, at - first)
        else:
            for cell in range(cells):
                store.gathered.cells[at - first, cell] = store.stored.cells[
                    slot, program.blocks[block].cell + cell
                ]
        if opening >= 0:
            store.gathered.cells[at - first, opening] += 1.0


@cython.nogil
def readers_agree(program: Program, store: Store, slot: Index, number: Index) -> cython.bint:
    """Return whether all readers gathered the same.

    In states whose events are not compared, snapshots from before the graphlet are 0.
    """
    first: Index = program.sets[number].readers
    block: Index = program.readers[first].block
    for at in range(first + 1, program.sets[number].readers_end):
        begin: Index = 0
        if program.readers[at].read < 0:
            begin = store.graphlets[slot, number].first
        for row in range(program.blocks[block].sums):
            base: Index = row * program.blocks[block].width
            for cell in range(base + begin, base + store.graphlets[slot, number].columns):
                if store.gathered.cells[at - first, cell] != store.gathered.cells[0, cell]:
                    return False
    return True


@cython.nogil
def add_weights(
    program: Program, store: Store, batch: Batch, event: Index, slot: Index, number: Index
) -> cython.bint:
    """Add an event's addends, times its coefficients, to the weights; return if all are small."""
    at: Index = 0
    is_small: cython.bint = True
    columns: Index = store.graphlets[slot, number].columns
    for cell in range(columns):
        is_small &= fabs(store.gathered.cells[0, cell]) < GREAT
    for addend in range(program.sets[number].addends, program.sets[number].addends_end):
        at += program.sets[number].columns
        value: cython.double = addend_of(batch, event, program.shared_addends[addend])
        for cell in range(columns):
            store.gathered.cells[0, at + cell] += value * store.gathered.cells[0, cell]
            is_small &= fabs(store.gathered.cells[0, at + cell]) < GREAT
    return is_small


@cython.nogil
def add_snapshot(
    program: Program, store: Store, batch: Batch, event: Index, slot: Index, section: Index
) -> cython.bint:
    """Make an event a snapshot, unless no trend ends with it; return whether all values are small.

    Those who do not take it have the value 0.
    """
    number: Index = program.sections[section].number
    columns: Index = store.graphlets[slot, number].columns
    base: Index = column_of(program, number, columns)
    is_any: cython.bint = False
    is_small: cython.bint = True
    for lane in range(program.sets[number].cells):
        store.snapshots[slot, base + lane] = 0.0
    for span in range(program.sets[number].spans, program.sets[number].spans_end):
        at: Index = program.spans[span].step
        members: Index = program.spans[span].members
        for takers in range(program.sections[section].takers, program.sections[section].takers_end):
            begin: Index = max(program.takers[takers].begin, members) - members
            end: Index = program.takers[takers].end
            end = min(end, program.spans[span].members_end) - members
            begin *= program.spans[span].overlap
            lanes: Index = end * program.spans[span].overlap - begin
            for place in range(program.steps[at].sums, program.steps[at].sums_end):
                value: cython.double = addend_of(batch, event, program.sums[place].addend)
                reader: Index = program.spans[span].reader
                cell: Index = base + program.spans[span].cell + begin
                to: Index = place - program.steps[at].sums
                to = cell + to * program.steps[at].lanes
                add_up(
                    program,
                    store,
                    slot,
                    span,
                    place,
                    store.gathered.cells[reader],
                    begin,
                    lanes,
                    columns,
                )
                for lane in range(lanes):
                    total: cython.double = store.work.cells[1, lane]
                    if value != 0.0:
                        total += value * store.snapshots[slot, cell + lane]
                    store.snapshots[slot, to + lane] = total
                    is_any |= total != 0.0
                    is_small &= fabs(total) < GREAT
    block: Index = program.readers[program.sets[number].readers].block
    for lane in range(program.blocks[block].sums * program.blocks[block].width):
        store.gathered.cells[0, lane] = 0.0
    if is_any:
        store.gathered.cells[0, columns] = 1.0
        store.counts[number].event_snapshots += 1
        add_column(program, store, slot, number)
    return is_small


@cython.nogil
def store_columns(
    program: Program, store: Store, batch: Batch, event: Index, slot: Index, number: Index
) -> cython.void:
    """Keep an event's coefficients and weights in the rows of each reader, if there are any."""
    columns: Index = store.graphlets[slot, number].columns
    is_any: cython.bint = False
    for cell in range(columns):
        is_any |= store.gathered.cells[0, cell] != 0.0
    if not is_any:
        return
    for at in range(program.sets[number].readers, program.sets[number].readers_end):
        if program.readers[at].read < 0:
            continue
        block: Index = program.readers[at].block
        new_row(program, store, batch, event, slot, block)
        store.row_columns[store.row] = store.graphlets[slot, number].columns
        keep_row(store, slot, program.blocks[block].rows)
        is_first: cython.bint = at == program.sets[number].readers
        touch(store, slot, block, 0, columns if is_first else 1)
        for row in range(program.blocks[block].sums):
            begin: Index = row * program.blocks[block].width
            for cell in range(begin, begin + columns):
                store.rows.cells[store.row, cell] = store.gathered.cells[0, cell]
                if is_first:
                    store.added.cells[slot, program.blocks[block].cell + cell] += (
                        store.gathered.cells[0, cell]
                    )
