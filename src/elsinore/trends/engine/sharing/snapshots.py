"""The values of snapshots for each query, put in where a shared graphlet ends (HAMLET, 3.3).

A graphlet's snapshot x has for each lane, that is a query in an open window, the value of what the
holder and its other predecessors add up to before the graphlet: of the numbers of trends, and of
each sum. So nothing is stored for it: these lanes do not change while the graphlet is shared. Its
events' trend counts are the same multiples of x for all queries of a cohort; x and they add up to
`growth` times x (`elsinore.trends.engine.sharing.graphlets`). So each lane is brought up to date by

    trends += (growth - 1) * x          sum += (growth - 1) * x_sum + weight * x

and MIN and MAX take the least of the events' ranks where x is not 0.
"""

from __future__ import annotations

from math import fabs

import cython

from elsinore.trends.engine.constants import ARRIVING, FOREVER, LIMIT, STORED, Index
from elsinore.trends.engine.numbers import add_multiples
from elsinore.trends.engine.recurrence import gather, gather_scaled, least_of
from elsinore.trends.engine.scaling import make_scaled
from elsinore.trends.engine.store import Store, touch
from elsinore.trends.engine.tables import Program


@cython.nogil
def put_in(
    program: Program, store: Store, slot: Index, number: Index, arriving: Index
) -> cython.void:
    """Bring all lanes of a sharing set up to date: add what its graphlet's events did.

    `arriving`: those of the latest timestamp, to what that adds. O(lanes).
    """
    form: Index = store.composed.shape[0] - 1
    place: Index
    if take_form(program, store, slot, number, form, arriving):
        for place in range(program.sets[number].spans, program.sets[number].spans_end):
            begin: Index = program.spans[place].members
            nodes: Index = program.spans[place].members_end - begin
            put_form_in(program, store, slot, number, place, begin, nodes, form, arriving)
    store.counts[number].put_in += program.sets[number].units_end - program.sets[number].units


@cython.nogil
def take_form(
    program: Program, store: Store, slot: Index, number: Index, form: Index, arriving: Index
) -> cython.bint:
    """Take what a graphlet's events did as a composed form; return whether there were any."""
    begin: Index = program.sets[number].cohorts
    end: Index = program.sets[number].cohorts_end
    cohort: Index
    place: Index
    at: Index
    is_any: cython.bint = False
    weight: cython.double
    for cohort in range(begin, end):
        growth: cython.double = 1.0 + store.arriving[slot, cohort]
        if arriving == STORED:
            growth = store.growths[slot, cohort]
            store.growths[slot, cohort] = 1.0
        else:
            store.arriving[slot, cohort] = 0.0
        if store.shares[slot, cohort] == 0:
            growth = 1.0
        is_any |= growth != 1.0
        store.composed[form, cohort] = growth
        store.composed_powers[form, cohort] = 0.0
    for place in range(program.sets[number].addends, program.sets[number].addends_end):
        at = first_weight(program, number, place)
        for cohort in range(begin, end):
            weight = store.weights[slot, arriving, at + cohort]
            store.composed_weights[form, at + cohort] = (
                weight if store.shares[slot, cohort] else 0.0
            )
            store.weights[slot, arriving, at + cohort] = 0.0
    for place in range(program.sets[number].ranks, program.sets[number].ranks_end):
        at = first_least(program, number, place)
        for cohort in range(begin, end):
            store.composed_leasts[form, at + cohort] = store.leasts[slot, arriving, at + cohort]
            store.leasts[slot, arriving, at + cohort] = FOREVER
    return is_any


@cython.nogil
def first_weight(program: Program, number: Index, addend: Index) -> Index:
    """Return the place of the weights of an addend, that is of cohort 0's."""
    cohorts: Index = program.sets[number].cohorts_end - program.sets[number].cohorts
    place: Index = (addend - program.sets[number].addends) * cohorts
    return program.sets[number].weights + place - program.sets[number].cohorts


@cython.nogil
def first_least(program: Program, number: Index, rank: Index) -> Index:
    """Return the place of the least values of a column of ranks, that is of cohort 0's."""
    cohorts: Index = program.sets[number].cohorts_end - program.sets[number].cohorts
    place: Index = (rank - program.sets[number].ranks) * cohorts
    return program.sets[number].leasts + place - program.sets[number].cohorts


@cython.nogil
def put_form_in(
    program: Program,
    store: Store,
    slot: Index,
    number: Index,
    span: Index,
    member: Index,
    nodes: Index,
    form: Index,
    arriving: Index,
) -> cython.void:
    """Bring the lanes of some nodes of a span, from `member` on, up to date by a composed form."""
    at: Index = program.spans[span].step
    begin: Index = (member - program.spans[span].members) * program.spans[span].overlap
    lanes: Index = nodes * program.spans[span].overlap
    has_power: cython.bint = spread_factors(program, store, number, span, member, nodes, form)
    if has_power and not store.slots[slot].scaled:
        make_scaled(program, store, slot)
    place: Index
    for place in range(program.steps[at].sums, program.steps[at].sums_end):
        row: Index = 0 if place == program.steps[at].sums else 1
        has_weight: cython.bint = program.sums[place].weight >= 0
        if has_weight:
            first: Index = first_weight(program, number, program.sums[place].weight)
            first += program.sets[number].cohorts
            spread_weights(program, store, span, member, nodes, form, first)
        target: Index = program.sums[place].cell + begin
        if store.slots[slot].scaled:
            gather_scaled(program, store, slot, place, begin, lanes, row)
            add_numbers(store, slot, target, row, store.factors, lanes, arriving)
            if has_weight:
                add_numbers(store, slot, target, 0, store.factor_weights, lanes, arriving)
        else:
            gather(program, store, slot, place, begin, lanes, row)
            if add_plain_multiples(store, slot, row, target, lanes, has_weight, arriving):
                make_scaled(program, store, slot)
                clear_work_powers(store, lanes)
    for place in range(program.steps[at].extremes, program.steps[at].extremes_end):
        take_least_of_all(program, store, slot, number, place, span, member, nodes, form, arriving)
    if arriving == ARRIVING:
        lane: Index = program.steps[at].lane + begin
        touch(store, slot, program.steps[at].block, lane, lane + lanes)


@cython.nogil
def spread_factors(
    program: Program,
    store: Store,
    number: Index,
    span: Index,
    member: Index,
    nodes: Index,
    form: Index,
) -> cython.bint:
    """Let `factors` have what each lane's snapshot is taken times; return if one has a power."""
    has_power: cython.bint = False
    node: Index
    lane: Index
    overlap: Index = program.spans[span].overlap
    for node in range(nodes):
        cohort: Index = program.sets[number].cohorts + program.members[member + node]
        factor: cython.double = store.composed[form, cohort]
        power: cython.double = store.composed_powers[form, cohort]
        if power == 0.0:
            factor -= 1.0
        has_power |= power > 0.0
        for lane in range(node * overlap, (node + 1) * overlap):
            store.factors[lane] = factor
            store.factor_powers[lane] = power
    return has_power


@cython.nogil
def spread_weights(
    program: Program,
    store: Store,
    span: Index,
    member: Index,
    nodes: Index,
    form: Index,
    first: Index,
) -> cython.void:
    """Let `factor_weights` have the weight of each lane's cohort; `first`: of the first cohort."""
    node: Index
    lane: Index
    overlap: Index = program.spans[span].overlap
    for node in range(nodes):
        at: Index = first + program.members[member + node]
        for lane in range(node * overlap, (node + 1) * overlap):
            store.factor_weights[lane] = store.composed_weights[form, at]


@cython.nogil
def clear_work_powers(store: Store, lanes: Index) -> cython.void:
    """Let the numbers of trends that were gathered as plain doubles have powers."""
    lane: Index
    for lane in range(lanes):
        store.work_powers[0, lane] = 0.0


@cython.nogil
def add_plain_multiples(
    store: Store,
    slot: Index,
    row: Index,
    target: Index,
    lanes: Index,
    has_weight: cython.bint,
    arriving: Index,
) -> cython.bint:
    """Add factors times a row of `work`, and weights times row 0; return if one is too great."""
    lane: Index
    passed: cython.bint = False
    if not has_weight:
        for lane in range(lanes):
            store.work[1, lane] = store.factors[lane] * store.work[row, lane]
    else:
        for lane in range(lanes):
            store.work[1, lane] = (
                store.factors[lane] * store.work[row, lane]
                + store.factor_weights[lane] * store.work[0, lane]
            )
    if arriving == STORED:
        for lane in range(lanes):
            store.cells[slot, target + lane] += store.work[1, lane]
            passed |= not fabs(store.cells[slot, target + lane]) < LIMIT
    else:
        for lane in range(lanes):
            store.added[slot, target + lane] += store.work[1, lane]
    return passed


@cython.nogil
def add_numbers(
    store: Store,
    slot: Index,
    target: Index,
    row: Index,
    factors: cython.double[::1],
    lanes: Index,
    arriving: Index,
) -> cython.void:
    """Add factors times a row of `work` to lanes of numbers that have powers."""
    if arriving == STORED:
        add_multiples(
            store.cells,
            store.powers,
            slot,
            target,
            store.work,
            store.work_powers,
            row,
            factors,
            store.factor_powers,
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
            factors,
            store.factor_powers,
            lanes,
        )


@cython.nogil
def take_least_of_all(
    program: Program,
    store: Store,
    slot: Index,
    number: Index,
    place: Index,
    span: Index,
    member: Index,
    nodes: Index,
    form: Index,
    arriving: Index,
) -> cython.void:
    """Take the least of the events' ranks and of an extreme's sources, where trends end."""
    overlap: Index = program.spans[span].overlap
    begin: Index = (member - program.spans[span].members) * overlap
    first: Index = -1
    lane: Index
    if program.extremes[place].least >= 0:
        first = first_least(program, number, program.extremes[place].least)
        first += program.sets[number].cohorts
    for lane in range(nodes * overlap):
        if store.work[0, lane] == 0.0 or store.factors[lane] == 0.0:
            continue
        rank: cython.longlong = FOREVER
        if first >= 0:
            rank = store.composed_leasts[form, first + program.members[member + lane // overlap]]
        least: cython.longlong = least_of(program, store, slot, place, begin + lane, rank)
        target: Index = program.extremes[place].cell + begin + lane
        if arriving == STORED:
            store.extremes[slot, target] = min(store.extremes[slot, target], least)
        else:
            store.added_extremes[slot, target] = min(store.added_extremes[slot, target], least)
