"""What an event adds to trends that are kept apart by their anchors: a row for each anchor.

An anchor is an event that later ones are compared with, whatever lies in between. The rows of a
state that holds anchors have the values of their anchor; an event adds up the rows of each anchor
that it may follow, and so makes a row for each.
"""

from __future__ import annotations

import cython

from elsinore.trends.engine.constants import FOREVER, Index
from elsinore.trends.engine.negatives import set_limits
from elsinore.trends.engine.numbers import add_lanes
from elsinore.trends.engine.recurrence import add_products, addend_of
from elsinore.trends.engine.rows import keep_row, may_follow, new_row, place_of_anchor
from elsinore.trends.engine.scaling import make_scaled
from elsinore.trends.engine.store import Store, touch
from elsinore.trends.engine.tables import Batch, Program


@cython.nogil
def carry(
    program: Program, store: Store, batch: Batch, event: Index, slot: Index, at: Index
) -> cython.void:
    """Add what an event does to the trends of each anchor to what its timestamp adds."""
    block: Index = program.steps[at].block
    rows: Index = program.blocks[block].rows
    number: Index
    place: Index
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
    """Add the rows of a read to those of their anchors, from place `first` of the step's block on.

    A new row may move the rows of its block.
    """
    block: Index = program.steps[at].block
    rows: Index = program.blocks[block].rows
    source: Index = program.reads[number].block
    source_rows: Index = program.blocks[source].rows
    near: Index = 0
    place: Index
    column: Index
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
            for column in range(store.of_anchor.shape[0]):
                if store.of_anchor[column]:
                    store.row_doubles[column, store.row] = store.row_doubles[column, row]
                    store.row_integers[column, store.row] = store.row_integers[column, row]
            keep_row(store, slot, rows)
        target: Index = store.leaves[slot, rows].begin + first + near
        add_source_row(program, store, slot, at, number, row, target)


@cython.nogil
def add_source_row(
    program: Program, store: Store, slot: Index, at: Index, number: Index, row: Index, target: Index
) -> cython.void:
    """Add a row of a read to a row of its anchor, sum by sum and extreme by extreme."""
    width: Index = program.blocks[program.steps[at].block].width
    read: Index = number - program.steps[at].reads
    first: Index = program.steps[at].sums
    lane: Index
    part: Index
    place: Index
    for part in range(first, program.steps[at].sums_end):
        to: Index = (part - first) * width
        for place in range(program.sums[part].sources, program.sums[part].sources_end):
            cell: Index = program.sources[place].cell
            if program.sources[place].read != read:
                continue
            if store.slots[slot].scaled:
                add_lanes(
                    store.row_cells,
                    store.row_powers,
                    target,
                    to,
                    store.row_cells,
                    store.row_powers,
                    row,
                    cell,
                    0,
                    width,
                )
            else:
                for lane in range(width):
                    store.row_cells[target, to + lane] += store.row_cells[row, cell + lane]
    first = program.steps[at].extremes
    for part in range(first, program.steps[at].extremes_end):
        to = (part - first) * width
        for place in range(program.extremes[part].sources, program.extremes[part].sources_end):
            cell = program.sources[place].cell
            if program.sources[place].read == read:
                for lane in range(width):
                    store.row_extremes[target, to + lane] = min(
                        store.row_extremes[target, to + lane], store.row_extremes[row, cell + lane]
                    )


@cython.nogil
def add_own(
    program: Program, store: Store, batch: Batch, event: Index, slot: Index, at: Index, row: Index
) -> cython.void:
    """Add an event's own values to a row of its block, and the row to what its timestamp adds."""
    width: Index = program.blocks[program.steps[at].block].width
    first: Index = program.steps[at].sums
    lane: Index
    part: Index
    for part in range(first, program.steps[at].sums_end):
        own: Index = (part - first) * width
        to: Index = program.sums[part].cell
        value: cython.double = addend_of(batch, event, program.sums[part].addend)
        if store.slots[slot].scaled:
            add_own_scaled(store, row, own, value, width)
            add_lanes(
                store.added,
                store.added_powers,
                slot,
                to,
                store.row_cells,
                store.row_powers,
                row,
                own,
                0,
                width,
            )
            continue
        for lane in range(width):
            store.row_cells[row, own + lane] += store.row_cells[row, lane] * value
            store.added[slot, to + lane] += store.row_cells[row, own + lane]
    first = program.steps[at].extremes
    for part in range(first, program.steps[at].extremes_end):
        own = (part - first) * width
        to = program.extremes[part].cell
        rank: cython.longlong = FOREVER
        if program.extremes[part].rank >= 0:
            rank = batch.ranks[event, program.extremes[part].rank]
        for lane in range(width):
            if store.row_cells[row, lane] != 0.0:
                store.row_extremes[row, own + lane] = min(store.row_extremes[row, own + lane], rank)
                store.added_extremes[slot, to + lane] = min(
                    store.added_extremes[slot, to + lane], store.row_extremes[row, own + lane]
                )


@cython.nogil
def add_own_scaled(
    store: Store, row: Index, own: Index, value: cython.double, width: Index
) -> cython.void:
    """Add `value` for each trend to a sum of a row, where numbers have powers."""
    lane: Index
    if value == 0.0:
        return
    for lane in range(width):
        store.work[0, lane] = store.row_cells[row, lane]
        store.work_powers[0, lane] = store.row_powers[row, lane]
        store.work[1, lane] = store.row_cells[row, own + lane]
        store.work_powers[1, lane] = store.row_powers[row, own + lane]
    add_products(store, value, width)
    for lane in range(width):
        store.row_cells[row, own + lane] = store.work[1, lane]
        store.row_powers[row, own + lane] = store.work_powers[1, lane]
