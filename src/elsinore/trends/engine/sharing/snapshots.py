# cython: infer_types=True
"""The values of snapshots for each query, put in when a shared graphlet ends (HAMLET, 3.3).

The snapshot x of a graphlet has a value for each lane, that is for each query in an open window:
the sum of the trend counts of the holder and its other predecessors before the graphlet, and of
each further sum. These lanes do not change while the graphlet is shared, so that nothing is stored
for x. The trend counts of its events are the same multiples of x for all queries of a cohort; x and
these counts add up to `growth` times x (`elsinore.trends.engine.sharing.graphlets`). So a lane is
brought up to date by

    trends += (growth - 1) * x          sum += (growth - 1) * x_sum + weight * x

and MIN and MAX take the least of the events' ranks where x is not 0.

The growths, weights and least ranks of a burst are a *form*. If all queries of a set shared the
burst, its form is kept, and put into a lane only when an event reads or changes that lane. So an
event of one query does not pay for the lanes of other queries. Two consecutive forms are one form:

    growth = growth_1 * growth_2          weight = weight_1 * growth_2 + weight_2 * growth_1

or, if the events of a burst do not follow one another, growth_1 + growth_2 - 1 and
weight_1 + weight_2.

A *unit* is a holder with its twins, which are brought up to date together; the first
`marks[slot, unit]` of a slot's forms have been put into it. At most about the square root
of the number of cells are kept: composing costs the number of forms, putting in that of cells.
"""

from __future__ import annotations

from math import fabs

import cython

from elsinore.trends.engine.constants import DOWN, FOREVER, FORMS, LIMIT, Index
from elsinore.trends.engine.numbers import Lanes, add_multiples, normalise
from elsinore.trends.engine.recurrence import gather, least_of, touch
from elsinore.trends.engine.rows import make_scaled
from elsinore.trends.engine.store import Store
from elsinore.trends.engine.tables import Program

MOST = cython.declare(cython.double, 2.0**192)  # weights of one trend, whose products are doubles
GREAT = cython.declare(cython.double, 2.0**256)  # mantissas of composed forms are below it


@cython.inline
@cython.nogil
def growths_of(program: Program, number: Index) -> Index:
    """Return the place of the growths in the forms of a set, less its first cohort."""
    return program.sets[number].form - program.sets[number].cohorts


@cython.inline
@cython.nogil
def weights_of(program: Program, number: Index, addend: Index) -> Index:
    """Return the place of the weights of an addend in the forms of a set, less its first cohort."""
    cohorts: Index = program.sets[number].cohorts_end - program.sets[number].cohorts
    place: Index = (addend - program.sets[number].addends + 1) * cohorts
    return program.sets[number].form + place - program.sets[number].cohorts


@cython.inline
@cython.nogil
def leasts_of(program: Program, number: Index, rank: Index) -> Index:
    """Return the place of the least values of a column of ranks, less the set's first cohort."""
    cohorts: Index = program.sets[number].cohorts_end - program.sets[number].cohorts
    place: Index = (rank - program.sets[number].ranks) * cohorts
    return program.sets[number].leasts + place - program.sets[number].cohorts


@cython.nogil
def form_end(program: Program, number: Index) -> Index:
    """Return the end of a set's places in forms."""
    addends: Index = program.sets[number].addends_end
    return weights_of(program, number, addends) + program.sets[number].cohorts


@cython.nogil
def least_end(program: Program, number: Index) -> Index:
    """Return the end of a set's places in the least ranks of forms."""
    ranks: Index = program.sets[number].ranks_end
    return leasts_of(program, number, ranks) + program.sets[number].cohorts


@cython.inline
@cython.nogil
def arriving_form(store: Store) -> Index:
    """Return the form of the events of the latest timestamp; its growths are 1 + their numbers."""
    return store.forms.shape[1] - 1


@cython.nogil
def begin_form(
    program: Program, store: Store, slot: Index, number: Index, form: Index
) -> cython.void:
    """Reset a form of a set to that of no events."""
    cohorts: Index = program.sets[number].cohorts_end - program.sets[number].cohorts
    first: Index = program.sets[number].form
    for place in range(first, form_end(program, number)):
        store.forms[slot, form, place] = 1.0 if place < first + cohorts else 0.0
    for place in range(program.sets[number].leasts, least_end(program, number)):
        store.form_leasts[slot, form, place] = FOREVER


@cython.nogil
def put_in(
    program: Program, store: Store, slot: Index, number: Index, form: Index, to: Lanes
) -> cython.void:
    """Bring all lanes of a sharing set up to date by a form of its graphlet, and reset the form.

    to: `stored`, or `added` for the events of the latest timestamp. O(lanes).
    """
    composed: Index = store.composed.shape[0] - 1
    growths: Index = growths_of(program, number)
    is_any: cython.bint = False
    begin: Index = program.sets[number].cohorts
    end: Index = program.sets[number].cohorts_end
    load_form(program, store, slot, number, form, composed, begin, end)
    for cohort in range(begin, end):
        if not store.shares[slot, cohort]:
            store.composed[composed, growths + cohort] = 1.0
            for place in range(program.sets[number].addends, program.sets[number].addends_end):
                store.composed[composed, weights_of(program, number, place) + cohort] = 0.0
        is_any |= store.composed[composed, growths + cohort] != 1.0
    begin_form(program, store, slot, number, form)
    if is_any:
        for place in range(program.sets[number].spans, program.sets[number].spans_end):
            first: Index = program.spans[place].members
            nodes: Index = program.spans[place].members_end - first
            put_form_in(program, store, slot, place, first, nodes, composed, to)
    store.counts[number].put_in += program.sets[number].units_end - program.sets[number].units


@cython.nogil
def load_form(
    program: Program,
    store: Store,
    slot: Index,
    number: Index,
    form: Index,
    to: Index,
    begin: Index,
    end: Index,
) -> cython.void:
    """Copy a slot's form to row `to` of `composed`, for cohorts `begin` to before `end`."""
    at: Index
    for cohort in range(begin, end):
        store.composed_powers[to, cohort] = 0.0
        for place in range(program.sets[number].addends - 1, program.sets[number].addends_end):
            at = weights_of(program, number, place) + cohort  # growths are before weights
            store.composed[to, at] = store.forms[slot, form, at]
        for place in range(program.sets[number].ranks, program.sets[number].ranks_end):
            at = leasts_of(program, number, place) + cohort
            store.composed_leasts[to, at] = store.form_leasts[slot, form, at]


@cython.nogil
def put_form_in(
    program: Program,
    store: Store,
    slot: Index,
    span: Index,
    member: Index,
    nodes: Index,
    form: Index,
    to: Lanes,
) -> cython.void:
    """Bring the lanes of some nodes of a span, from `member` on, up to date by a composed form."""
    at: Index = program.spans[span].step
    number: Index = program.spans[span].number
    begin: Index = (member - program.spans[span].members) * program.spans[span].overlap
    lanes: Index = nodes * program.spans[span].overlap
    growths: Index = growths_of(program, number)
    has_power: cython.bint = spread(program, store, span, member, nodes, form, growths, 0)
    if has_power and not store.slots[slot].scaled:
        make_scaled(program, store, slot)
    for place in range(program.steps[at].sums, program.steps[at].sums_end):
        row: Index = 0 if place == program.steps[at].sums else 1
        addend: Index = program.sums[place].weight
        target: Index = program.sums[place].cell + begin
        if addend >= 0:
            weights: Index = weights_of(program, number, addend)
            spread(program, store, span, member, nodes, form, weights, 1)
        gather(program, store, slot, place, begin, lanes, row)
        if store.slots[slot].scaled:
            add_multiples(to, slot, target, store.work, row, store.factors, 0, lanes)
            if addend >= 0:
                add_multiples(to, slot, target, store.work, 0, store.factors, 1, lanes)
        elif add_plain_multiples(store, to, slot, target, row, lanes, addend >= 0):
            make_scaled(program, store, slot)
            normalise(store.work, 0, 0, lanes)
    for place in range(program.steps[at].extremes, program.steps[at].extremes_end):
        take_least_of_all(program, store, slot, place, span, member, nodes, form, to)
    if to is store.added:
        lane: Index = program.steps[at].lane + begin
        touch(store, slot, program.steps[at].block, lane, lane + lanes)


@cython.nogil
def spread(
    program: Program,
    store: Store,
    span: Index,
    member: Index,
    nodes: Index,
    form: Index,
    first: Index,
    row: Index,
) -> cython.bint:
    """Fill row 0 of `factors` with growths - 1 of a composed form, or row 1 with weights.

    first: their place in the form, less the set's first cohort. Return whether one has a power.
    """
    has_power: cython.bint = False
    overlap: Index = program.spans[span].overlap
    first_cohort: Index = program.sets[program.spans[span].number].cohorts
    for node in range(nodes):
        cohort: Index = first_cohort + program.members[member + node]
        factor: cython.double = store.composed[form, first + cohort]
        power: cython.double = store.composed_powers[form, cohort]
        if row == 0 and power == 0.0:
            factor -= 1.0
        has_power |= power > 0.0
        for lane in range(node * overlap, (node + 1) * overlap):
            store.factors.cells[row, lane] = factor
            store.factors.powers[row, lane] = power
    return has_power


@cython.nogil
def add_plain_multiples(
    store: Store, to: Lanes, slot: Index, target: Index, row: Index, lanes: Index, weighted: Index
) -> cython.bint:
    """Add `factors` times a row of `work`, and weights times row 0; return if a sum is great."""
    passed: cython.bint = False
    if weighted:
        for lane in range(lanes):
            store.work.cells[1, lane] = (
                store.factors.cells[0, lane] * store.work.cells[row, lane]
                + store.factors.cells[1, lane] * store.work.cells[0, lane]
            )
    else:
        for lane in range(lanes):
            store.work.cells[1, lane] = store.factors.cells[0, lane] * store.work.cells[row, lane]
    for lane in range(lanes):
        to.cells[slot, target + lane] += store.work.cells[1, lane]
        passed |= not fabs(to.cells[slot, target + lane]) < LIMIT
    return passed


@cython.nogil
def take_least_of_all(
    program: Program,
    store: Store,
    slot: Index,
    place: Index,
    span: Index,
    member: Index,
    nodes: Index,
    form: Index,
    to: Lanes,
) -> cython.void:
    """Take the least of the events' ranks and of an extreme's sources, in lanes with trends."""
    number: Index = program.spans[span].number
    overlap: Index = program.spans[span].overlap
    begin: Index = (member - program.spans[span].members) * overlap
    least: Index = program.extremes[place].least
    for lane in range(nodes * overlap):
        if store.work.cells[0, lane] == 0.0 or store.factors.cells[0, lane] == 0.0:
            continue
        rank: cython.longlong = FOREVER
        if least >= 0:
            cohort: Index = program.sets[number].cohorts + program.members[member + lane // overlap]
            rank = store.composed_leasts[form, leasts_of(program, number, least) + cohort]
        rank = least_of(program, store, slot, place, begin + lane, rank)
        target: Index = program.extremes[place].cell + begin + lane
        to.extremes[slot, target] = min(to.extremes[slot, target], rank)


@cython.nogil
def keep_form(program: Program, store: Store, slot: Index, number: Index) -> cython.bint:
    """Keep the form of a graphlet of all cohorts if there is room; return whether it is kept.

    Its weights have to be far from a double's range.
    """
    form: Index = store.graphlets[slot, number].forms
    if (
        store.graphlets[slot, number].alone > 0
        or store.graphlets[slot, number].pending
        or form >= program.sets[number].most_forms
    ):
        return False
    heaviest: cython.double = store.graphlets[slot, number].spread if form > 0 else 0.0
    growths: Index = growths_of(program, number)
    for place in range(program.sets[number].addends, program.sets[number].addends_end):
        at: Index = weights_of(program, number, place)
        for cohort in range(program.sets[number].cohorts, program.sets[number].cohorts_end):
            weight: cython.double = fabs(store.forms[slot, form, at + cohort])
            heaviest = max(heaviest, weight / store.forms[slot, form, growths + cohort])
    if heaviest * FORMS > MOST:
        return False
    store.graphlets[slot, number].spread = heaviest
    store.graphlets[slot, number].forms += 1
    begin_form(program, store, slot, number, form + 1)
    return True


@cython.nogil
def catch_up(program: Program, store: Store, slot: Index, number: Index) -> cython.void:
    """Bring all lanes of a set up to date by the kept forms, and discard these."""
    forms: Index = store.graphlets[slot, number].forms
    if forms == 0:
        return
    compose(
        program, store, slot, number, program.sets[number].cohorts, program.sets[number].cohorts_end
    )
    for place in range(program.sets[number].spans, program.sets[number].spans_end):
        end: Index = program.spans[place].members_end
        begin: Index = program.spans[place].members
        while begin < end:
            mark: Index = store.marks[slot, program.member_units[begin]]
            last: Index = begin + 1
            while last < end and store.marks[slot, program.member_units[last]] == mark:
                last += 1
            if mark < forms:
                put_form_in(program, store, slot, place, begin, last - begin, mark, store.stored)
            begin = last
    for place in range(program.sets[number].units, program.sets[number].units_end):
        store.marks[slot, place] = 0
    for place in range(program.sets[number].form, form_end(program, number)):
        store.forms[slot, 0, place] = store.forms[slot, forms, place]
    for place in range(program.sets[number].leasts, least_end(program, number)):
        store.form_leasts[slot, 0, place] = store.form_leasts[slot, forms, place]
    store.graphlets[slot, number].forms = 0
    store.counts[number].put_in += program.sets[number].units_end - program.sets[number].units


@cython.nogil
def catch_up_units(program: Program, store: Store, slot: Index, at: Index) -> cython.void:
    """Bring the units up to date that an event reads or changes; `at`: in `Program.breaks`."""
    number: Index = program.breaks[at].number
    forms: Index = store.graphlets[slot, number].forms
    if forms == 0:
        return
    if program.breaks[at].is_whole:
        catch_up(program, store, slot, number)
        return
    for place in range(program.breaks[at].units, program.breaks[at].units_end):
        unit: Index = program.touched[place]
        mark: Index = store.marks[slot, unit]
        if mark == forms:
            continue
        member: Index = program.pieces[program.units[unit].pieces].member
        cohort: Index = program.sets[number].cohorts + program.members[member]
        compose(program, store, slot, number, cohort, cohort + 1)
        for piece in range(program.units[unit].pieces, program.units[unit].pieces_end):
            span: Index = program.pieces[piece].span
            member = program.pieces[piece].member
            put_form_in(program, store, slot, span, member, 1, mark, store.stored)
        store.marks[slot, unit] = cython.cast(cython.uchar, forms)
        store.counts[number].put_in += 1.0


@cython.nogil
def compose(
    program: Program, store: Store, slot: Index, number: Index, begin: Index, end: Index
) -> cython.void:
    """Compose each form with all later ones, for cohorts `begin` to before `end`.

    The growth and the weights of a composed form have a common power of 2**512.
    """
    form: Index = store.graphlets[slot, number].forms - 1
    growths: Index = growths_of(program, number)
    at: Index
    load_form(program, store, slot, number, form, form, begin, end)
    while form > 0:
        form -= 1
        for cohort in range(begin, end):
            growth: cython.double = store.forms[slot, form, growths + cohort]
            later: cython.double = store.composed[form + 1, growths + cohort]
            composed: cython.double = growth * later
            if not program.sets[number].is_repeated:
                composed = growth + later - 1.0
                growth = 1.0
                later = 1.0
            scale: cython.double = DOWN if composed >= GREAT else 1.0
            store.composed[form, growths + cohort] = composed * scale
            store.composed_powers[form, cohort] = store.composed_powers[form + 1, cohort]
            store.composed_powers[form, cohort] += scale != 1.0
            for place in range(program.sets[number].addends, program.sets[number].addends_end):
                at = weights_of(program, number, place) + cohort
                weight: cython.double = store.forms[slot, form, at] * later
                weight += store.composed[form + 1, at] * growth
                store.composed[form, at] = weight * scale
            for place in range(program.sets[number].ranks, program.sets[number].ranks_end):
                at = leasts_of(program, number, place) + cohort
                store.composed_leasts[form, at] = min(
                    store.form_leasts[slot, form, at], store.composed_leasts[form + 1, at]
                )
