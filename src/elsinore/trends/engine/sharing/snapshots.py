"""The values of snapshots for each query, put in where a shared graphlet ends (HAMLET, 3.3).

A graphlet's snapshot x has for each lane, that is a query in an open window, the value of what the
holder and its other predecessors add up to before the graphlet: of the numbers of trends, and of
each sum. So nothing is stored for it: these lanes do not change while the graphlet is shared. Its
events' trend counts are the same multiples of x for all queries (`elsinore.trends.engine.sharing.
graphlets` has their total), so that each lane is brought up to date by

    trends += total * x                 sum += total * x_sum + weight * x

where `weight` is of the events' addends what `total` is of their number, and MIN and MAX take the
least of the events' ranks where x is not 0.
"""

from __future__ import annotations

import cython

from elsinore.trends.engine.store import FORMS as _FORMS
from elsinore.trends.engine.tables import FOREVER as _FOREVER

if cython.compiled:
    from cython.cimports.elsinore.trends.engine.numbers import add_multiples
    from cython.cimports.elsinore.trends.engine.recurrence import gather, gather_scaled, least_of
    from cython.cimports.elsinore.trends.engine.scaling import make_scaled
    from cython.cimports.elsinore.trends.engine.store import Store, touch
    from cython.cimports.elsinore.trends.engine.tables import Number, Program
    from cython.cimports.libc.math import fabs
else:
    from math import fabs

    from elsinore.trends.engine.numbers import add_multiples
    from elsinore.trends.engine.plain import Number
    from elsinore.trends.engine.recurrence import gather, gather_scaled, least_of
    from elsinore.trends.engine.scaling import make_scaled
    from elsinore.trends.engine.store import Store, touch
    from elsinore.trends.engine.tables import Program

FOREVER = cython.declare(cython.longlong, _FOREVER)
FORMS = cython.declare(cython.Py_ssize_t, _FORMS)  # here the place of the form of a part
LIMIT = cython.declare(cython.double, 2.0**512)
STORED = cython.declare(cython.Py_ssize_t, 0)  # what events of earlier timestamps did
ARRIVING = cython.declare(cython.Py_ssize_t, 1)  # those of the latest timestamp


def put_in(
    program: Program,
    store: Store,
    slot: cython.Py_ssize_t,
    number: cython.Py_ssize_t,
    arriving: cython.Py_ssize_t,
) -> cython.void:
    """Bring all lanes of a sharing set up to date: add what its parts' events did.

    `arriving`: those of the latest timestamp, to what that adds. O(lanes).
    """
    place: cython.Py_ssize_t
    for place in range(program.sets[number].spans, program.sets[number].spans_end):
        members: cython.Py_ssize_t = program.spans[place].members
        end: cython.Py_ssize_t = program.spans[place].members_end
        begin: cython.Py_ssize_t = members
        while begin < end:
            part: cython.Py_ssize_t = part_of(program, store, slot, number, begin)
            last: cython.Py_ssize_t = begin + 1
            if store.graphlets[slot, number].parts + store.graphlets[slot, number].alone == 1:
                last = end
            while last < end and part_of(program, store, slot, number, last) == part:
                last += 1
            if part >= 0 and load_part(program, store, slot, number, part, arriving):
                put_form_in(program, store, slot, place, begin, last - begin, FORMS, arriving)
            begin = last
    clear(program, store, slot, number, arriving)
    store.counts[number].put_in += program.sets[number].units_end - program.sets[number].units


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def load_part(
    program: Program,
    store: Store,
    slot: cython.Py_ssize_t,
    number: cython.Py_ssize_t,
    part: cython.Py_ssize_t,
    arriving: cython.Py_ssize_t,
) -> cython.bint:
    """Take what a part's events did as a form; return whether there were any."""
    place: cython.Py_ssize_t
    addends: cython.Py_ssize_t = program.sets[number].addends
    ranks: cython.Py_ssize_t = program.sets[number].ranks
    total: cython.double = store.parts[slot, part].total
    if arriving == ARRIVING:
        total = store.parts[slot, part].now
    if total == 0.0:
        return False
    store.composed[FORMS] = total
    store.composed_powers[FORMS] = 0.0
    for place in range(addends, program.sets[number].addends_end):
        store.composed_weights[FORMS, place] = store.weights[
            slot, arriving, first_weight(program, number, part) + place - addends
        ]
    for place in range(ranks, program.sets[number].ranks_end):
        store.composed_leasts[FORMS, place] = store.leasts[
            slot, arriving, first_least(program, number, part) + place - ranks
        ]
    return True


def first_weight(
    program: Program, number: cython.Py_ssize_t, part: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """Return the place of a part's first weight."""
    addends: cython.Py_ssize_t = program.sets[number].addends_end - program.sets[number].addends
    return program.sets[number].weights + (part - program.sets[number].parts) * addends


def first_least(
    program: Program, number: cython.Py_ssize_t, part: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """Return the place of a part's first least rank."""
    ranks: cython.Py_ssize_t = program.sets[number].ranks_end - program.sets[number].ranks
    return program.sets[number].leasts + (part - program.sets[number].parts) * ranks


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def part_of(
    program: Program,
    store: Store,
    slot: cython.Py_ssize_t,
    number: cython.Py_ssize_t,
    member: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Return the part of a member of a span, -1 if it does not share."""
    cohort: cython.Py_ssize_t = program.sets[number].cohorts + program.members[member]
    return store.part_of[slot, cohort]


def put_form_in(
    program: Program,
    store: Store,
    slot: cython.Py_ssize_t,
    span: cython.Py_ssize_t,
    member: cython.Py_ssize_t,
    nodes: cython.Py_ssize_t,
    form: cython.Py_ssize_t,
    arriving: cython.Py_ssize_t,
) -> cython.void:
    """Bring the lanes of some nodes of a span, from `member` on, up to date by a composed form."""
    at: cython.Py_ssize_t = program.spans[span].step
    begin: cython.Py_ssize_t = (member - program.spans[span].members) * program.spans[span].overlap
    lanes: cython.Py_ssize_t = nodes * program.spans[span].overlap
    total: cython.double = store.composed[form]
    power: cython.double = store.composed_powers[form]
    if power > 0.0 and not store.slots[slot].scaled:
        make_scaled(program, store, slot)
    first: cython.Py_ssize_t = program.steps[at].sums
    number: cython.Py_ssize_t
    lane: cython.Py_ssize_t
    for number in range(first, program.steps[at].sums_end):
        row: cython.Py_ssize_t = 0 if number == first else 1
        weight: cython.double = 0.0
        if program.sums[number].weight >= 0:
            weight = store.composed_weights[form, program.sums[number].weight]
        target: cython.Py_ssize_t = program.sums[number].cell + begin
        if store.slots[slot].scaled:
            gather_scaled(program, store, slot, number, begin, lanes, row)
            add_number(store, slot, target, row, Number(total, power), lanes, arriving)
            if weight != 0.0:
                add_number(store, slot, target, 0, Number(weight, power), lanes, arriving)
        else:
            gather(program, store, slot, number, begin, lanes, row)
            if add_plain_multiples(store, slot, row, target, lanes, total, weight, arriving):
                make_scaled(program, store, slot)
                for lane in range(lanes):
                    store.work_powers[0, lane] = 0.0
    for number in range(program.steps[at].extremes, program.steps[at].extremes_end):
        rank: cython.longlong = FOREVER
        if program.extremes[number].least >= 0:
            rank = store.composed_leasts[form, program.extremes[number].least]
        take_least_of_all(program, store, slot, number, begin, lanes, rank, arriving)
    if arriving == ARRIVING:
        lane = program.steps[at].lane + begin
        touch(store, slot, program.steps[at].block, lane, lane + lanes)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_plain_multiples(
    store: Store,
    slot: cython.Py_ssize_t,
    row: cython.Py_ssize_t,
    target: cython.Py_ssize_t,
    lanes: cython.Py_ssize_t,
    total: cython.double,
    weight: cython.double,
    arriving: cython.Py_ssize_t,
) -> cython.bint:
    """Add `total` times a row of `work`, and `weight` times row 0; return if one is too great."""
    lane: cython.Py_ssize_t
    passed: cython.bint = False
    if weight == 0.0 and arriving == STORED:
        for lane in range(lanes):
            store.cells[slot, target + lane] += total * store.work[row, lane]
            passed |= not fabs(store.cells[slot, target + lane]) < LIMIT
    elif arriving == STORED:
        for lane in range(lanes):
            store.cells[slot, target + lane] += (
                total * store.work[row, lane] + weight * store.work[0, lane]
            )
            passed |= not fabs(store.cells[slot, target + lane]) < LIMIT
    else:
        for lane in range(lanes):
            store.added[slot, target + lane] += total * store.work[row, lane]
            if weight != 0.0:
                store.added[slot, target + lane] += weight * store.work[0, lane]
    return passed


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_number(
    store: Store,
    slot: cython.Py_ssize_t,
    target: cython.Py_ssize_t,
    row: cython.Py_ssize_t,
    factor: Number,
    lanes: cython.Py_ssize_t,
    arriving: cython.Py_ssize_t,
) -> cython.void:
    """Add a number times a row of `work` to lanes of numbers that have powers."""
    if arriving == STORED:
        add_multiples(
            store.cells,
            store.powers,
            slot,
            target,
            store.work,
            store.work_powers,
            row,
            factor,
            lanes,
        )
    else:
        add_multiples(
            store.added,
            store.added_powers,
            slot,
            target,
            store.work,
            store.work_powers,
            row,
            factor,
            lanes,
        )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def take_least_of_all(
    program: Program,
    store: Store,
    slot: cython.Py_ssize_t,
    number: cython.Py_ssize_t,
    begin: cython.Py_ssize_t,
    lanes: cython.Py_ssize_t,
    rank: cython.longlong,
    arriving: cython.Py_ssize_t,
) -> cython.void:
    """Take the least of the events' ranks and of an extreme's sources, where trends end."""
    lane: cython.Py_ssize_t
    for lane in range(lanes):
        if store.work[0, lane] == 0.0:
            continue
        least: cython.longlong = least_of(program, store, slot, number, begin + lane, rank)
        target: cython.Py_ssize_t = program.extremes[number].cell + begin + lane
        if arriving == STORED:
            store.extremes[slot, target] = min(store.extremes[slot, target], least)
        else:
            store.added_extremes[slot, target] = min(store.added_extremes[slot, target], least)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def clear(
    program: Program,
    store: Store,
    slot: cython.Py_ssize_t,
    number: cython.Py_ssize_t,
    arriving: cython.Py_ssize_t,
) -> cython.void:
    """Let the parts of a graphlet have no events that are not put in yet."""
    first: cython.Py_ssize_t = program.sets[number].parts
    part: cython.Py_ssize_t
    place: cython.Py_ssize_t
    addends: cython.Py_ssize_t = program.sets[number].addends_end - program.sets[number].addends
    ranks: cython.Py_ssize_t = program.sets[number].ranks_end - program.sets[number].ranks
    for part in range(first, first + store.graphlets[slot, number].parts):
        if arriving == STORED:
            store.parts[slot, part].total = 0.0
        else:
            store.parts[slot, part].now = 0.0
        for place in range(
            first_weight(program, number, part), first_weight(program, number, part) + addends
        ):
            store.weights[slot, arriving, place] = 0.0
        for place in range(
            first_least(program, number, part), first_least(program, number, part) + ranks
        ):
            store.leasts[slot, arriving, place] = FOREVER
