# cython: infer_types=True
"""Shared graphlets whose events are compared with earlier events (HAMLET, Definitions 8 and 9).

In the row of such an event, lanes are snapshots instead of queries: a lane has the coefficient of
the snapshot in the event's trend count, and for each addend its weight in the sums, as in Table 5:
4x + z. A *reader* is one way to compare events. It keeps them in a block of its own, in its own
order, and gathers the coefficients of the events that an event may follow.

- At the beginning of a burst, the sums that reach its events from other states are a snapshot.
- If all readers gather the same and all queries take the event, one row of coefficients is its
  trend count for all queries in all their windows.
- Otherwise the event is a snapshot of its own, whose value is computed for each query.

At the end of a burst, the values of snapshots are put in
(`elsinore.trends.engine.sharing.columns`). The rows and their snapshots stay until their windows
are closed.
"""

from __future__ import annotations

from math import fabs

import cython

from elsinore.trends.engine.constants import Index
from elsinore.trends.engine.numbers import clear
from elsinore.trends.engine.ranges import clear_gathered, read_rows
from elsinore.trends.engine.recurrence import addend_of, gather, touch
from elsinore.trends.engine.rows import new_row
from elsinore.trends.engine.sharing.columns import add_up, column_of
from elsinore.trends.engine.store import Store
from elsinore.trends.engine.tables import Batch, Program

GREAT = cython.declare(cython.double, 2.0**480)  # products, and sums of 2**32 such, are plain


@cython.nogil
def take_compared(
    program: Program, store: Store, batch: Batch, event: Index, slot: Index, section: Index
) -> cython.bint:
    """Add an event to the shared graphlet of its section's set.

    Return whether numbers are small enough to continue sharing; the event is added in any case.
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
    """Take the sums that reach a burst from other states as a snapshot, if they have changed.

    For states whose events are not compared, their own trends belong to these sums. Return whether
    all values are small.
    """
    column: Index = store.graphlets[slot, number].columns
    opening: Index = store.graphlets[slot, number].opening
    base: Index = column_of(program, number, column)
    size: cython.double = 0.0
    differs: cython.bint = opening < 0
    for span in range(program.sets[number].spans, program.sets[number].spans_end):
        at: Index = program.spans[span].step
        lanes: Index = program.steps[at].lanes
        cell: Index = base + program.spans[span].cell
        for place in range(program.steps[at].reads, program.steps[at].reads_end):
            clear_gathered(program, store, place, place - program.steps[at].reads)
        for place in range(program.steps[at].sums, program.steps[at].sums_end):
            gather(program, store, slot, place, 0, lanes, 1)
            size = max(size, put_values(store, slot, cell, cell, lanes, 0.0))
            cell += lanes
    before: Index = column_of(program, number, max(opening, 0))
    for cell in range(program.sets[number].cells - 1):
        differs |= store.snapshots[slot, base + cell] != store.snapshots[slot, before + cell]
    store.graphlets[slot, number].opened = store.slots[slot].moment
    if size == 0.0:
        store.graphlets[slot, number].opening = -1
    elif differs:
        store.graphlets[slot, number].opening = cython.cast(cython.int, column)
        store.counts[number].graphlet_snapshots += 1
        add_column(program, store, slot, number)
    return size < GREAT


@cython.nogil
def put_values(
    store: Store, slot: Index, counts: Index, to: Index, lanes: Index, value: cython.double
) -> cython.double:
    """Put row 1 of `work`, plus a value times trend counts, into a snapshot.

    counts, to: the first cells of the counts and of the result. Return the greatest magnitude.
    """
    size: cython.double = 0.0
    for lane in range(lanes):
        total: cython.double = store.work.cells[1, lane]
        if value != 0.0:
            total += value * store.snapshots[slot, counts + lane]
        store.snapshots[slot, to + lane] = total
        size = max(size, fabs(total))
    return size


@cython.nogil
def add_column(program: Program, store: Store, slot: Index, number: Index) -> cython.void:
    """Count one more snapshot, whose values are in place, and set its last value: its moment."""
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
    """Gather, for each reader, the coefficients and weights of the events that an event follows.

    The last reader may be that of events that are not compared: they follow the whole graphlet.
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

    For states whose events are not compared, snapshots from before the graphlet are 0.
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

    For queries that do not take the event its value is 0.
    """
    number: Index = program.sections[section].number
    columns: Index = store.graphlets[slot, number].columns
    base: Index = column_of(program, number, columns)
    size: cython.double = 0.0
    for lane in range(program.sets[number].cells):
        store.snapshots[slot, base + lane] = 0.0
    for span in range(program.sets[number].spans, program.sets[number].spans_end):
        at: Index = program.spans[span].step
        members: Index = program.spans[span].members
        form: cython.double[::1] = store.gathered.cells[program.spans[span].reader]
        for takers in range(program.sections[section].takers, program.sections[section].takers_end):
            first: Index = max(program.takers[takers].begin, members)
            last: Index = min(program.takers[takers].end, program.spans[span].members_end)
            begin: Index = (first - members) * program.spans[span].overlap
            lanes: Index = (last - first) * program.spans[span].overlap
            counts: Index = base + program.spans[span].cell + begin
            cell: Index = counts
            for place in range(program.steps[at].sums, program.steps[at].sums_end):
                value: cython.double = addend_of(batch, event, program.sums[place].addend)
                add_up(program, store, slot, span, place, form, begin, lanes, columns)
                size = max(size, put_values(store, slot, counts, cell, lanes, value))
                cell += program.steps[at].lanes
    block: Index = program.readers[program.sets[number].readers].block
    clear(store.gathered, 0, 0, program.blocks[block].sums * program.blocks[block].width, False)
    if size > 0.0:
        store.gathered.cells[0, columns] = 1.0
        store.counts[number].event_snapshots += 1
        add_column(program, store, slot, number)
    return size < GREAT


@cython.nogil
def store_columns(
    program: Program, store: Store, batch: Batch, event: Index, slot: Index, number: Index
) -> cython.void:
    """Store an event's coefficients and weights in a row of each reader, unless all are 0."""
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
        store.leaves[slot, program.blocks[block].rows].arriving += 1
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
