# cython: infer_types=True
"""What one event adds to the lanes of a step (HAMLET, Equations 1 to 3).

For each lane, that is for a query in an open window: the number of trends that the event ends is
the sum of its predecessors' numbers; a sum over those trends is the sum of its predecessors' sums,
plus the event's addend times that number; an extreme is the least of its predecessors' and its own.

An *anchor* is an event that later ones are compared with, whatever lies in between. Rows of a state
that holds anchors contain the values of their anchor; an event adds up the rows of each anchor that
it may follow, and so makes a row for each (`carry`).
"""

from __future__ import annotations

from math import isnan

import cython

from elsinore.trends.engine.constants import BEGINNING, FOREVER, NO_ADDEND, ONE, VALUE, Index
from elsinore.trends.engine.numbers import (
    Lanes,
    add,
    add_multiples,
    clear,
    copy,
    take_least,
)
from elsinore.trends.engine.ranges import may_follow, read_rows, set_limits
from elsinore.trends.engine.rows import make_scaled, new_row, place_of_anchor
from elsinore.trends.engine.store import Store
from elsinore.trends.engine.tables import Batch, Program


@cython.nogil
def act(
    program: Program,
    store: Store,
    batch: Batch,
    event: Index,
    slot: Index,
    at: Index,
    begin: Index,
    lanes: Index,
) -> cython.void:
    """Add an event to what its timestamp adds to lanes of a step, from lane `begin` on."""
    first: Index = program.steps[at].sums
    block: Index = program.steps[at].block
    if batch.has_great and not store.slots[slot].scaled:
        make_scaled(program, store, slot)
    for number in range(program.steps[at].reads, program.steps[at].reads_end):
        read_rows(program, store, batch, event, slot, number, number - program.steps[at].reads)
        source: Index = program.reads[number].block
        if source >= 0 and program.blocks[source].is_next:
            touch(store, slot, source, 0, 1)
    scaled: Index = store.slots[slot].scaled
    is_first: cython.bint = store.ranges[slot, block].end == 0  # added to the block
    store.row = -1
    if program.blocks[block].rows >= 0:
        new_row(program, store, batch, event, slot, block)
    lane: Index = program.steps[at].lane + begin
    for number in range(first, program.steps[at].sums_end):
        row: Index = 0 if number == first else 1
        gather(program, store, slot, number, begin, lanes, row)
        value: cython.double = addend_of(batch, event, program.sums[number].addend)
        if value != 0.0:
            add_products(store, store.work, 1, 0, store.work, 0, value, lanes, scaled)
        target: Index = program.sums[number].cell + begin
        if is_first:
            copy(store.added, slot, target, store.work, row, 0, lanes, scaled)
        else:
            add(store.added, slot, target, store.work, row, 0, lanes, scaled, 0)
        if store.row >= 0:
            cell: Index = (number - first) * program.blocks[block].width + lane
            copy(store.rows, store.row, cell, store.work, row, 0, lanes, scaled)
    first = program.steps[at].extremes
    for number in range(first, program.steps[at].extremes_end):
        cell = (number - first) * program.blocks[block].width + lane
        rank: cython.longlong = rank_of(program, store, batch, event, slot, number)
        take_least_rank(program, store, slot, number, begin, lanes, rank, cell)
    if store.row >= 0 and ends_trends(store, lanes):
        store.leaves[slot, program.blocks[block].rows].arriving += 1
    touch(store, slot, block, lane, lane + lanes)


@cython.nogil
def touch(store: Store, slot: Index, block: Index, begin: Index, end: Index) -> cython.void:
    """Mark lanes of a block as having something to store at the end of the timestamp."""
    if store.ranges[slot, block].end == 0:
        store.touched[slot, store.slots[slot].touched] = block
        store.slots[slot].touched += 1
        store.ranges[slot, block].begin = begin
        store.ranges[slot, block].end = end
    else:
        store.ranges[slot, block].begin = min(store.ranges[slot, block].begin, begin)
        store.ranges[slot, block].end = max(store.ranges[slot, block].end, end)


@cython.nogil
def addend_of(batch: Batch, event: Index, addend: Index) -> cython.double:
    """Return what an event adds to a sum per trend; for codes of addends see `constants`."""
    if addend == NO_ADDEND:
        return 0.0
    if addend == ONE:
        return 1.0
    column: Index = (addend - VALUE) >> 1
    value: cython.double = batch.addends[column, event]
    if batch.present[column, event] == 0 or isnan(value):
        return 0.0
    return 1.0 if (addend - VALUE) & 1 else value


@cython.nogil
def rank_of(
    program: Program, store: Store, batch: Batch, event: Index, slot: Index, number: Index
) -> cython.longlong:
    """Return the event's rank that an extreme is compared with; FOREVER if it has none."""
    rank: Index = program.extremes[number].rank
    if rank == BEGINNING:
        return ~store.slots[slot].moment
    return FOREVER if rank < 0 else batch.ranks[event, rank]


@cython.inline
@cython.nogil
def ends_trends(store: Store, lanes: Index) -> cython.bint:
    """Return whether a trend ends with the event in any lane."""
    ends: cython.bint = False
    for lane in range(lanes):
        ends |= store.work.cells[0, lane] != 0.0
    return ends


@cython.nogil
def gather(
    program: Program, store: Store, slot: Index, at: Index, begin: Index, lanes: Index, row: Index
) -> cython.void:
    """Add up a sum's sources in a row of `work`, for lanes of the step from `begin` on.

    Row 0 is for the numbers of trends, row 1 for another sum.
    """
    scaled: Index = store.slots[slot].scaled
    clear(store.work, row, 0, lanes, scaled)
    for place in range(program.sums[at].sources, program.sums[at].sources_end):
        period: Index = program.sources[place].period
        cell: Index = program.sources[place].cell + (begin if period == 0 else 0)
        read: Index = program.sources[place].read
        if scaled and period == 0 and read < 0 and place == program.sums[at].sources:
            copy(store.work, row, 0, store.stored, slot, cell, lanes, scaled)
        elif read >= 0:
            add(store.work, row, 0, store.gathered, read, cell, lanes, scaled, period)
        else:
            add(store.work, row, 0, store.stored, slot, cell, lanes, scaled, period)


@cython.inline
@cython.nogil
def add_products(
    store: Store,
    to: Lanes,
    at: Index,
    first: Index,
    source: Lanes,
    row: Index,
    value: cython.double,
    lanes: Index,
    scaled: Index,
) -> cython.void:
    """Add the first lanes of a row, the numbers of trends, times a value, to other lanes."""
    if not scaled:
        for lane in range(lanes):
            to.cells[at, first + lane] += source.cells[row, lane] * value
        return
    for lane in range(lanes):
        store.factors.cells[0, lane] = value
        store.factors.powers[0, lane] = 0.0
    add_multiples(to, at, first, source, row, store.factors, 0, lanes)


@cython.inline
@cython.nogil
def take_least_rank(
    program: Program,
    store: Store,
    slot: Index,
    number: Index,
    begin: Index,
    lanes: Index,
    rank: cython.longlong,
    kept_lane: Index,
) -> cython.void:
    """Reduce an extreme to a rank and the extreme's sources, in lanes where a trend ends.

    kept_lane: of the first result in the event's row.
    """
    for lane in range(lanes):
        if store.work.cells[0, lane] == 0.0:
            continue
        least: cython.longlong = least_of(program, store, slot, number, begin + lane, rank)
        if store.row >= 0:
            store.rows.extremes[store.row, kept_lane + lane] = least
        target: Index = program.extremes[number].cell + begin + lane
        store.added.extremes[slot, target] = min(store.added.extremes[slot, target], least)


@cython.nogil
def least_of(
    program: Program, store: Store, slot: Index, number: Index, lane: Index, rank: cython.longlong
) -> cython.longlong:
    """Return the least of a rank and of an extreme's sources in one of a step's lanes."""
    least: cython.longlong = rank
    for place in range(program.extremes[number].sources, program.extremes[number].sources_end):
        period: Index = program.sources[place].period
        cell: Index = program.sources[place].cell + (lane if period == 0 else lane % period)
        read: Index = program.sources[place].read
        if read >= 0:
            least = min(least, store.gathered.extremes[read, cell])
        else:
            least = min(least, store.stored.extremes[slot, cell])
    return least


@cython.nogil
def carry(
    program: Program, store: Store, batch: Batch, event: Index, slot: Index, at: Index
) -> cython.void:
    """Add an event's trends, apart for each anchor, to what its timestamp adds."""
    block: Index = program.steps[at].block
    rows: Index = program.blocks[block].rows
    if batch.has_great and not store.slots[slot].scaled:
        make_scaled(program, store, slot)
    first: Index = store.leaves[slot, rows].count + store.leaves[slot, rows].arriving
    for number in range(program.steps[at].reads, program.steps[at].reads_end):
        carry_rows(program, store, batch, event, slot, at, number, first)
    last: Index = store.leaves[slot, rows].count + store.leaves[slot, rows].arriving
    for place in range(first, last):
        add_own(program, store, batch, event, slot, at, store.leaves[slot, rows].begin + place)
    if first < last:
        touch(store, slot, block, 0, program.blocks[block].width)


@cython.nogil
def carry_rows(
    program: Program,
    store: Store,
    batch: Batch,
    event: Index,
    slot: Index,
    at: Index,
    number: Index,
    first: Index,
) -> cython.void:
    """Add the rows of a read to new rows of their anchors, which begin at place `first`.

    Appending a row may move the rows of its block.
    """
    block: Index = program.steps[at].block
    rows: Index = program.blocks[block].rows
    source: Index = program.reads[number].block
    source_rows: Index = program.blocks[source].rows
    near: Index = 0
    set_limits(program, store, slot, program.reads[number].guard)
    for place in range(store.leaves[slot, source_rows].count):
        row: Index = store.leaves[slot, source_rows].begin + place
        if not may_follow(program, store, batch, event, number, row):
            continue
        if program.blocks[source].is_next:
            store.row_taken[row] = 1
            touch(store, slot, source, 0, 1)
        used: Index = store.leaves[slot, rows].count + store.leaves[slot, rows].arriving
        begin: Index = store.leaves[slot, rows].begin + first
        near = place_of_anchor(store, begin, used - first, near, store.row_anchors[row])
        if near == used - first:
            new_row(program, store, batch, event, slot, block)
            row = store.leaves[slot, source_rows].begin + place
            store.row_anchors[store.row] = store.row_anchors[row]
            for column in range(store.anchor_columns.shape[0]):
                if store.anchor_columns[column]:
                    store.row_doubles[column, store.row] = store.row_doubles[column, row]
                    store.row_integers[column, store.row] = store.row_integers[column, row]
            store.leaves[slot, rows].arriving += 1
        target: Index = store.leaves[slot, rows].begin + first + near
        add_source_row(program, store, slot, at, number, row, target)


@cython.nogil
def add_source_row(
    program: Program, store: Store, slot: Index, at: Index, number: Index, row: Index, target: Index
) -> cython.void:
    """Add a row of a read to a row of its anchor, sum by sum and extreme by extreme."""
    width: Index = program.blocks[program.steps[at].block].width
    read: Index = number - program.steps[at].reads
    scaled: Index = store.slots[slot].scaled
    to: Index = 0
    for part in range(program.steps[at].sums, program.steps[at].sums_end):
        for place in range(program.sums[part].sources, program.sums[part].sources_end):
            cell: Index = program.sources[place].cell
            if program.sources[place].read == read:
                add(store.rows, target, to, store.rows, row, cell, width, scaled, 0)
        to += width
    to = 0
    for part in range(program.steps[at].extremes, program.steps[at].extremes_end):
        for place in range(program.extremes[part].sources, program.extremes[part].sources_end):
            cell = program.sources[place].cell
            if program.sources[place].read == read:
                take_least(store.rows, target, to, store.rows, row, cell, width)
        to += width


@cython.nogil
def add_own(
    program: Program, store: Store, batch: Batch, event: Index, slot: Index, at: Index, row: Index
) -> cython.void:
    """Add an event's own values to a row of its block, and the row to what its timestamp adds."""
    width: Index = program.blocks[program.steps[at].block].width
    scaled: Index = store.slots[slot].scaled
    first: Index = 0
    for part in range(program.steps[at].sums, program.steps[at].sums_end):
        value: cython.double = addend_of(batch, event, program.sums[part].addend)
        if value != 0.0:
            add_products(store, store.rows, row, first, store.rows, row, value, width, scaled)
        add(store.added, slot, program.sums[part].cell, store.rows, row, first, width, scaled, 0)
        first += width
    first = 0
    for part in range(program.steps[at].extremes, program.steps[at].extremes_end):
        rank: cython.longlong = FOREVER
        if program.extremes[part].rank >= 0:
            rank = batch.ranks[event, program.extremes[part].rank]
        for lane in range(first, first + width):
            if store.rows.cells[row, lane - first] != 0.0:
                store.rows.extremes[row, lane] = min(store.rows.extremes[row, lane], rank)
                cell: Index = program.extremes[part].cell + lane - first
                take_least(store.added, slot, cell, store.rows, row, lane, 1)
        first += width
