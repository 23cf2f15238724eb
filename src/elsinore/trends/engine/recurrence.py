"""What one event adds to the lanes of a step (HAMLET, Equations 1 to 3).

For each lane, that is a query in an open window: the number of trends that the event ends is the
sum of its predecessors' numbers; a sum over those trends is the sum of its predecessors' sums, and
the event's addend times that number; an extreme is the least of its predecessors' and of its own.
"""

from __future__ import annotations

from math import isnan

import cython

from elsinore.trends.engine.constants import BEGINNING, FOREVER, NO_ADDEND, ONE, VALUE, Index
from elsinore.trends.engine.numbers import add_lanes, add_multiples
from elsinore.trends.engine.rows import keep_row, new_row, read_rows
from elsinore.trends.engine.scaling import make_scaled
from elsinore.trends.engine.store import Store, touch
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
    """Add what an event does to some of a step's lanes, from `begin` on, to its timestamp's."""
    first: Index = program.steps[at].sums
    block: Index = program.steps[at].block
    number: Index
    if batch.has_great and not store.slots[slot].scaled:
        make_scaled(program, store, slot)
    for number in range(program.steps[at].reads, program.steps[at].reads_end):
        read_rows(program, store, batch, event, slot, number, number - program.steps[at].reads)
        source: Index = program.reads[number].block
        if source >= 0 and program.blocks[source].is_next:
            touch(store, slot, source, 0, 1)
    is_first: cython.bint = store.ranges[slot, block].end == 0
    store.row = -1
    if program.blocks[block].rows >= 0:
        new_row(program, store, batch, event, slot, block)
    lane: Index = program.steps[at].lane + begin
    for number in range(first, program.steps[at].sums_end):
        row: Index = 0 if number == first else 1
        value: cython.double = addend_of(batch, event, program.sums[number].addend)
        cell: Index = (number - first) * program.blocks[block].width + lane
        if store.slots[slot].scaled:
            gather_scaled(program, store, slot, number, begin, lanes, row)
            add_scaled(program, store, slot, number, begin, lanes, row, value, cell, is_first)
        else:
            gather(program, store, slot, number, begin, lanes, row)
            add_plain(program, store, slot, number, begin, lanes, row, value, cell, is_first)
    first = program.steps[at].extremes
    for number in range(first, program.steps[at].extremes_end):
        cell = (number - first) * program.blocks[block].width + lane
        rank: cython.longlong = FOREVER
        if program.extremes[number].rank >= 0:
            rank = batch.ranks[event, program.extremes[number].rank]
        elif program.extremes[number].rank == BEGINNING:
            rank = ~store.slots[slot].moment
        take_least(program, store, slot, number, begin, lanes, rank, cell)
    if store.row >= 0 and ends_trends(store, lanes):
        keep_row(store, slot, program.blocks[block].rows)
    touch(store, slot, block, lane, lane + lanes)


@cython.nogil
def addend_of(batch: Batch, event: Index, addend: Index) -> cython.double:
    """Return what an event adds to a sum for each trend; `addend` is as in `tables`."""
    if addend == NO_ADDEND:
        return 0.0
    if addend == ONE:
        return 1.0
    column: Index = (addend - VALUE) >> 1
    value: cython.double = batch.addends[column, event]
    if batch.present[column, event] == 0 or isnan(value):
        return 0.0
    return 1.0 if (addend - VALUE) & 1 else value


@cython.inline
@cython.nogil
def ends_trends(store: Store, lanes: Index) -> cython.bint:
    """Return whether any trend ends with the event in some lane."""
    lane: Index
    ends: cython.bint = False
    for lane in range(lanes):
        ends |= store.work[0, lane] != 0.0
    return ends


@cython.nogil
def gather(
    program: Program,
    store: Store,
    slot: Index,
    number: Index,
    begin: Index,
    lanes: Index,
    row: Index,
) -> cython.void:
    """Add a sum's sources up in a row of `work`, where no number has a power.

    Row 0 has the numbers of trends, row 1 another sum; `begin`: the first of the step's lanes.
    """
    lane: Index
    node: Index
    place: Index
    for lane in range(lanes):
        store.work[row, lane] = 0.0
    for place in range(program.sums[number].sources, program.sums[number].sources_end):
        cell: Index = program.sources[place].cell
        period: Index = program.sources[place].period
        read: Index = program.sources[place].read
        if read >= 0:
            for lane in range(lanes):
                at: Index = cell + (begin + lane if period == 0 else lane % period)
                store.work[row, lane] += store.gathered[read, at]
        elif period == 0:
            for lane in range(lanes):
                store.work[row, lane] += store.cells[slot, cell + begin + lane]
        elif period == 1:
            shared: cython.double = store.cells[slot, cell]
            for lane in range(lanes):
                store.work[row, lane] += shared
        else:
            for node in range(lanes // period):
                for lane in range(period):
                    store.work[row, node * period + lane] += store.cells[slot, cell + lane]


@cython.inline
@cython.nogil
def add_plain(
    program: Program,
    store: Store,
    slot: Index,
    number: Index,
    begin: Index,
    lanes: Index,
    row: Index,
    value: cython.double,
    kept: Index,
    is_first: cython.bint,
) -> cython.void:
    """Add what was gathered of a sum, and `value` for each trend, to its timestamp's.

    `kept`: its place in the event's row. `is_first`: nothing was added to the block before.
    """
    lane: Index
    if value != 0.0:
        for lane in range(lanes):
            store.work[row, lane] += store.work[0, lane] * value
    target: Index = program.sums[number].cell + begin
    if is_first:
        for lane in range(lanes):
            store.added[slot, target + lane] = store.work[row, lane]
    else:
        for lane in range(lanes):
            store.added[slot, target + lane] += store.work[row, lane]
    if store.row >= 0:
        for lane in range(lanes):
            store.row_cells[store.row, kept + lane] = store.work[row, lane]


@cython.nogil
def gather_scaled(
    program: Program,
    store: Store,
    slot: Index,
    number: Index,
    begin: Index,
    lanes: Index,
    row: Index,
) -> cython.void:
    """Do what `gather` does with numbers that have powers."""
    lane: Index
    place: Index
    for lane in range(lanes):
        store.work[row, lane] = 0.0
        store.work_powers[row, lane] = 0.0
    for place in range(program.sums[number].sources, program.sums[number].sources_end):
        period: Index = program.sources[place].period
        cell: Index = program.sources[place].cell
        read: Index = program.sources[place].read
        if period == 0:
            cell += begin
        if read < 0 and period == 0 and place == program.sums[number].sources:
            for lane in range(lanes):
                store.work[row, lane] = store.cells[slot, cell + lane]
                store.work_powers[row, lane] = store.powers[slot, cell + lane]
        elif read >= 0:
            add_lanes(
                store.work,
                store.work_powers,
                row,
                0,
                store.gathered,
                store.gathered_powers,
                read,
                cell,
                period,
                lanes,
            )
        else:
            add_lanes(
                store.work,
                store.work_powers,
                row,
                0,
                store.cells,
                store.powers,
                slot,
                cell,
                period,
                lanes,
            )


@cython.nogil
def add_scaled(
    program: Program,
    store: Store,
    slot: Index,
    number: Index,
    begin: Index,
    lanes: Index,
    row: Index,
    value: cython.double,
    kept: Index,
    is_first: cython.bint,
) -> cython.void:
    """Do what `add_plain` does with numbers that have powers."""
    lane: Index
    if value != 0.0:
        add_products(store, value, lanes)
    target: Index = program.sums[number].cell + begin
    if is_first:
        for lane in range(lanes):
            store.added[slot, target + lane] = store.work[row, lane]
            store.added_powers[slot, target + lane] = store.work_powers[row, lane]
    else:
        add_lanes(
            store.added,
            store.added_powers,
            slot,
            target,
            store.work,
            store.work_powers,
            row,
            0,
            0,
            lanes,
        )
    if store.row >= 0:
        for lane in range(lanes):
            store.row_cells[store.row, kept + lane] = store.work[row, lane]
            store.row_powers[store.row, kept + lane] = store.work_powers[row, lane]


@cython.nogil
def add_products(store: Store, value: cython.double, lanes: Index) -> cython.void:
    """Add the numbers of trends, times a value, to those of row 1 of `work`, with their powers."""
    lane: Index
    for lane in range(lanes):
        store.factors[lane] = value
        store.factor_powers[lane] = 0.0
    add_multiples(
        store.work,
        store.work_powers,
        1,
        0,
        store.work,
        store.work_powers,
        0,
        store.factors,
        store.factor_powers,
        lanes,
    )


@cython.inline
@cython.nogil
def take_least(
    program: Program,
    store: Store,
    slot: Index,
    number: Index,
    begin: Index,
    lanes: Index,
    rank: cython.longlong,
    kept: Index,
) -> cython.void:
    """Take the least of a rank and of an extreme's sources, where any trend ends."""
    lane: Index
    for lane in range(lanes):
        if store.work[0, lane] == 0.0:
            continue
        least: cython.longlong = least_of(program, store, slot, number, begin + lane, rank)
        if store.row >= 0:
            store.row_extremes[store.row, kept + lane] = least
        target: Index = program.extremes[number].cell + begin + lane
        store.added_extremes[slot, target] = min(store.added_extremes[slot, target], least)


@cython.nogil
def least_of(
    program: Program, store: Store, slot: Index, number: Index, lane: Index, rank: cython.longlong
) -> cython.longlong:
    """Return the least of a rank and of an extreme's sources in one of a step's lanes."""
    least: cython.longlong = rank
    place: Index
    for place in range(program.extremes[number].sources, program.extremes[number].sources_end):
        period: Index = program.sources[place].period
        cell: Index = program.sources[place].cell
        cell += lane if period == 0 else lane % period
        read: Index = program.sources[place].read
        if read >= 0:
            least = min(least, store.gathered_extremes[read, cell])
        else:
            least = min(least, store.extremes[slot, cell])
    return least
