"""What one event adds to the lanes of a step (HAMLET, Equations 1 to 3).

For each lane, that is a query in an open window: the number of trends that the event ends is the
sum of its predecessors' numbers; a sum over those trends is the sum of its predecessors' sums, and
the event's addend times that number; an extreme is the least of its predecessors' and of its own.
"""

from __future__ import annotations

import cython

from elsinore.trends.engine.tables import FOREVER as _FOREVER
from elsinore.trends.engine.tables import NO_ADDEND as _NO_ADDEND
from elsinore.trends.engine.tables import ONE as _ONE
from elsinore.trends.engine.tables import VALUE as _VALUE

if cython.compiled:
    from cython.cimports.elsinore.trends.engine.numbers import normal, plus, times
    from cython.cimports.elsinore.trends.engine.store import Store
    from cython.cimports.elsinore.trends.engine.tables import Batch, Number, Program
    from cython.cimports.libc.math import fabs, isnan
else:
    from math import fabs, isnan

    from elsinore.trends.engine.numbers import normal, plus, times
    from elsinore.trends.engine.plain import Number
    from elsinore.trends.engine.store import Store
    from elsinore.trends.engine.tables import Batch, Program

FOREVER = cython.declare(cython.longlong, _FOREVER)
NO_ADDEND = cython.declare(cython.int, _NO_ADDEND)
ONE = cython.declare(cython.int, _ONE)
VALUE = cython.declare(cython.int, _VALUE)
GREAT = cython.declare(cython.double, 2.0**256)  # addends from here on need powers


def act(
    program: Program,
    store: Store,
    batch: Batch,
    event: cython.Py_ssize_t,
    slot: cython.int,
    at: cython.int,
) -> cython.void:
    """Add what an event does to the lanes of a step to what its timestamp adds."""
    lanes: cython.int = program.steps[at].lanes
    first: cython.int = program.steps[at].sums
    number: cython.int
    for number in range(first, program.steps[at].sums_end):
        row: cython.int = 0 if number == first else 1
        addend: cython.int = program.sums[number].addend
        value: cython.double = 0.0
        if addend == ONE:
            value = 1.0
        elif addend >= VALUE:
            value = batch.addends[event, addend - VALUE]
            if isnan(value):
                value = 0.0
            if not fabs(value) < GREAT:
                store.slots[slot].scaled = 1
        if store.slots[slot].scaled:
            add_scaled(program, store, slot, number, lanes, row, value)
        else:
            add_plain(program, store, slot, number, lanes, row, value)
    for number in range(program.steps[at].extremes, program.steps[at].extremes_end):
        take_least(program, store, batch, event, slot, number, lanes)
    touch(program, store, slot, at)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def add_plain(
    program: Program,
    store: Store,
    slot: cython.int,
    number: cython.int,
    lanes: cython.int,
    row: cython.int,
    value: cython.double,
) -> cython.void:
    """Add a sum's sources, and `value` for each trend, where no number has a power.

    Row 0 of `work` has the numbers of trends, row 1 the sum.
    """
    lane: cython.int
    node: cython.int
    place: cython.int
    for lane in range(lanes):
        store.work[row, lane] = 0.0
    for place in range(program.sums[number].sources, program.sums[number].sources_end):
        cell: cython.int = program.sources[place].cell
        period: cython.int = program.sources[place].period
        if period == 0:
            for lane in range(lanes):
                store.work[row, lane] += store.cells[slot, cell + lane]
        elif period == 1:
            shared: cython.double = store.cells[slot, cell]
            for lane in range(lanes):
                store.work[row, lane] += shared
        else:
            for node in range(lanes // period):
                for lane in range(period):
                    store.work[row, node * period + lane] += store.cells[slot, cell + lane]
    if value != 0.0:
        for lane in range(lanes):
            store.work[row, lane] += store.work[0, lane] * value
    target: cython.int = program.sums[number].cell
    for lane in range(lanes):
        store.added[slot, target + lane] += store.work[row, lane]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_scaled(
    program: Program,
    store: Store,
    slot: cython.int,
    number: cython.int,
    lanes: cython.int,
    row: cython.int,
    value: cython.double,
) -> cython.void:
    """Do the same with numbers that have powers."""
    lane: cython.int
    place: cython.int
    target: cython.int = program.sums[number].cell
    for lane in range(lanes):
        total: Number = Number(0.0, 0.0)
        for place in range(program.sums[number].sources, program.sums[number].sources_end):
            period: cython.int = program.sources[place].period
            cell: cython.int = program.sources[place].cell
            cell += lane if period == 0 else lane % period
            total = plus(total, Number(store.cells[slot, cell], store.powers[slot, cell]))
        if value != 0.0:
            trends: Number = Number(store.work[0, lane], store.work_powers[0, lane])
            total = plus(total, times(trends, value))
        store.work[row, lane] = total.mantissa
        store.work_powers[row, lane] = total.power
        cell = target + lane
        total = plus(total, normal(store.added[slot, cell], store.added_powers[slot, cell]))
        store.added[slot, cell] = total.mantissa
        store.added_powers[slot, cell] = total.power


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def take_least(
    program: Program,
    store: Store,
    batch: Batch,
    event: cython.Py_ssize_t,
    slot: cython.int,
    number: cython.int,
    lanes: cython.int,
) -> cython.void:
    """Take the least rank of an extreme's sources and the event's own, if any trend ends."""
    lane: cython.int
    place: cython.int
    rank: cython.longlong = FOREVER
    if program.extremes[number].rank >= 0:
        rank = batch.ranks[event, program.extremes[number].rank]
    for lane in range(lanes):
        if store.work[0, lane] == 0.0:
            continue
        least: cython.longlong = rank
        for place in range(program.extremes[number].sources, program.extremes[number].sources_end):
            period: cython.int = program.sources[place].period
            cell: cython.int = program.sources[place].cell
            cell += lane if period == 0 else lane % period
            least = min(least, store.extremes[slot, cell])
        target: cython.int = program.extremes[number].cell + lane
        store.added_extremes[slot, target] = min(store.added_extremes[slot, target], least)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def touch(program: Program, store: Store, slot: cython.int, at: cython.int) -> cython.void:
    """Note that a step's lanes have something to store."""
    block: cython.int = program.steps[at].block
    begin: cython.int = program.steps[at].lane
    end: cython.int = begin + program.steps[at].lanes
    if store.ranges[slot, block].end == 0:
        store.touched[slot, store.slots[slot].touched] = block
        store.slots[slot].touched += 1
        store.ranges[slot, block].begin = begin
        store.ranges[slot, block].end = end
    else:
        store.ranges[slot, block].begin = min(store.ranges[slot, block].begin, begin)
        store.ranges[slot, block].end = max(store.ranges[slot, block].end, end)
