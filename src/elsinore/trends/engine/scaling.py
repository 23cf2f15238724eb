"""Giving powers to the numbers of a slot, from the first on that passes 2**512."""

from __future__ import annotations

import cython

from elsinore.trends.engine.constants import Index, Number
from elsinore.trends.engine.numbers import normal
from elsinore.trends.engine.runs import rows_of_run
from elsinore.trends.engine.store import Store
from elsinore.trends.engine.tables import Program


@cython.nogil
def make_scaled(program: Program, store: Store, slot: Index) -> cython.void:
    """Bring all numbers of a slot, which have no powers yet, into their normal form."""
    cell: Index
    block: Index
    level: Index
    number: Number
    store.slots[slot].scaled = 1
    store.has_powers = True
    for cell in range(store.cells.shape[1]):
        number = normal(store.cells[slot, cell], 0.0)
        store.cells[slot, cell] = number.mantissa
        store.powers[slot, cell] = number.power
        number = normal(store.added[slot, cell], 0.0)
        store.added[slot, cell] = number.mantissa
        store.added_powers[slot, cell] = number.power
    for block in range(program.blocks.shape[0]):
        rows: Index = program.blocks[block].rows
        if rows < 0:
            continue
        count: Index = store.leaves[slot, rows].count + store.leaves[slot, rows].arriving
        scale_rows(program, store, block, store.leaves[slot, rows].begin, count)
        for level in range(store.leaves[slot, rows].top):
            count = rows_of_run(program, block, store.runs[slot, rows, level].count)
            scale_rows(program, store, block, store.runs[slot, rows, level].begin, count)


@cython.nogil
def scale_rows(
    program: Program, store: Store, block: Index, begin: Index, count: Index
) -> cython.void:
    """Do the same for rows of events."""
    row: Index
    cell: Index
    for row in range(begin, begin + count):
        for cell in range(program.blocks[block].sums * program.blocks[block].width):
            number: Number = normal(store.row_cells[row, cell], 0.0)
            store.row_cells[row, cell] = number.mantissa
            store.row_powers[row, cell] = number.power
