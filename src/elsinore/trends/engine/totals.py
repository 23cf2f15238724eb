"""Totals of closed windows: a row for each (query, group, window), found by hashing."""

from __future__ import annotations

import cython

from elsinore.trends.engine.constants import Index, Number
from elsinore.trends.engine.numbers import pairs, plus
from elsinore.trends.engine.store import Store
from elsinore.trends.engine.tables import Program

MASK = cython.declare(cython.longlong, 2**30 - 1)  # products of two such numbers fit 64 bits


@cython.inline
@cython.nogil
def home(
    query: cython.longlong, group: cython.longlong, window: cython.longlong, size: cython.longlong
) -> cython.longlong:
    """Return where in a table of `size` entries, a power of two, a total is looked up first."""
    mixed: cython.longlong = cython.cast(cython.longlong, query) * 1_000_003
    mixed = ((mixed + cython.cast(cython.longlong, group)) & MASK) * 1_540_483_477
    folded: cython.longlong = cython.cast(cython.longlong, window)
    mixed = mixed ^ (((folded ^ (folded >> 29)) & MASK) * 1_000_000_007)
    mixed = (mixed ^ (mixed >> 31)) & MASK
    mixed = mixed * 1_540_483_477
    return (mixed >> 15) & (size - 1)


@cython.nogil
def row_of(store: Store, query: Index, group: Index, window: cython.longlong) -> Index:
    """Return the row of a total, a new one if there is none; there is room for one more."""
    size: cython.longlong = store.places.shape[0]
    place: cython.longlong = home(query, group, window, size)
    row: Index = store.places[place]
    while row >= 0:
        if (
            store.totals[row].window == window
            and store.totals[row].group == group
            and store.totals[row].query == query
        ):
            return row
        place = (place + 1) & (size - 1)
        row = store.places[place]
    row = store.total_count
    store.total_count += 1
    store.places[place] = cython.cast(Index, row)
    store.totals[row].query = query
    store.totals[row].group = group
    store.totals[row].window = window
    return row


def rebuild(store: Store) -> None:
    """Enter all totals into an empty hash table."""
    size: cython.longlong = store.places.shape[0]
    row: Index
    for row in range(store.total_count):
        place: cython.longlong = home(
            store.totals[row].query, store.totals[row].group, store.totals[row].window, size
        )
        while store.places[place] >= 0:
            place = (place + 1) & (size - 1)
        store.places[place] = cython.cast(Index, row)


@cython.nogil
def sum_of(program: Program, store: Store, slot: Index, field: Index, lane: Index) -> Number:
    """Return the sum of the cells of a field in a lane."""
    total: Number = Number(0.0, 0.0)
    place: Index
    for place in range(program.fields[field].places, program.fields[field].places_end):
        cell: Index = program.places[place] + lane
        power: cython.double = store.powers[slot, cell] if store.slots[slot].scaled else 0.0
        total = plus(total, Number(store.cells[slot, cell], power))
    return total


@cython.nogil
def add_to_totals(
    program: Program, store: Store, slot: Index, kind: Index, lane: Index, window: cython.longlong
) -> cython.void:
    """Add what a slot has in one window to the totals of its group, for each query with trends."""
    at: Index
    field: Index
    place: Index
    for at in range(program.kinds[kind].ends, program.kinds[kind].ends_end):
        field = program.ends[at].fields
        trends: Number = sum_of(program, store, slot, field, lane)
        if program.ends[at].pairs:
            trends = pairs(
                trends,
                sum_of(program, store, slot, field + 1, lane),
                sum_of(program, store, slot, field + 2, lane),
            )
        if trends.mantissa == 0.0:
            continue
        row: Index = row_of(store, program.ends[at].query, store.slots[slot].group, window)
        add_number(store, row, 0, trends)
        if not program.ends[at].pairs:
            for field in range(program.ends[at].fields + 1, program.ends[at].fields_end):
                number: Number = sum_of(program, store, slot, field, lane)
                add_number(store, row, field - program.ends[at].fields, number)
        for field in range(program.ends[at].extremes, program.ends[at].extremes_end):
            column: Index = field - program.ends[at].extremes
            for place in range(program.fields[field].places, program.fields[field].places_end):
                store.total_extremes[row, column] = min(
                    store.total_extremes[row, column],
                    store.extremes[slot, program.places[place] + lane],
                )


@cython.nogil
def add_number(store: Store, row: Index, column: Index, number: Number) -> cython.void:
    """Add a number to a field of a total."""
    total: Number = Number(store.total_cells[row, column], store.total_powers[row, column])
    total = plus(total, number)
    store.total_cells[row, column] = total.mantissa
    store.total_powers[row, column] = total.power
