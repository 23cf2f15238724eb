"""What earlier bursts did, of lanes that no event has read or changed since.

If a burst was shared by all queries of a set, its growths and weights are kept as a *form*, and the
values of its snapshot are put in when an event reads or changes a lane: only then, and only there.
So an event of one query does not cost what others have to do with the burst before it. Two forms
one after the other are one form:

    growth = growth_1 * growth_2          weight = weight_1 * growth_2 + weight_2 * growth_1

or, if a burst's events do not follow one another, growth_1 + growth_2 - 1 and weight_1 + weight_2.

A *unit* is a holder with its twins, which are brought up to date together; of a slot's forms, it
has the first `marks[slot, unit]`. How many forms are kept at most grows with the square root of the
number of cells: composing them costs what they are, putting them in everywhere what the cells are.
"""

from __future__ import annotations

from math import fabs

import cython

from elsinore.trends.engine.constants import DOWN, FOREVER, FORMS, STORED, Index
from elsinore.trends.engine.sharing.snapshots import first_least, first_weight, put_form_in
from elsinore.trends.engine.store import Store
from elsinore.trends.engine.tables import Program

MOST = cython.declare(cython.double, 2.0**192)  # weights of one trend, whose products are doubles
GREAT = cython.declare(cython.double, 2.0**256)  # mantissas of composed forms are below it


@cython.nogil
def keep_form(program: Program, store: Store, slot: Index, number: Index) -> cython.bint:
    """Keep what a graphlet of all cohorts did as a form, if there is room; return if there was.

    Weights have to be far from a double's range.
    """
    if (
        store.graphlets[slot, number].alone > 0
        or store.graphlets[slot, number].pending
        or store.graphlets[slot, number].forms >= program.sets[number].most_forms
    ):
        return False
    form: Index = store.graphlets[slot, number].forms
    begin: Index = program.sets[number].cohorts
    end: Index = program.sets[number].cohorts_end
    cohort: Index
    place: Index
    at: Index
    spread: cython.double = 0.0
    if form > 0:
        spread = store.graphlets[slot, number].spread
    for place in range(program.sets[number].addends, program.sets[number].addends_end):
        at = first_weight(program, number, place)
        for cohort in range(begin, end):
            weight: cython.double = fabs(store.weights[slot, STORED, at + cohort])
            spread = max(spread, weight / store.growths[slot, cohort])
    if spread * FORMS > MOST:
        return False
    store.graphlets[slot, number].spread = spread
    store.graphlets[slot, number].forms = cython.cast(cython.int, form + 1)
    for cohort in range(begin, end):
        store.form_growths[slot, form, cohort] = store.growths[slot, cohort]
        store.growths[slot, cohort] = 1.0
    for place in range(program.sets[number].addends, program.sets[number].addends_end):
        at = first_weight(program, number, place)
        for cohort in range(begin, end):
            store.form_weights[slot, form, at + cohort] = store.weights[slot, STORED, at + cohort]
            store.weights[slot, STORED, at + cohort] = 0.0
    for place in range(program.sets[number].ranks, program.sets[number].ranks_end):
        at = first_least(program, number, place)
        for cohort in range(begin, end):
            store.form_leasts[slot, form, at + cohort] = store.leasts[slot, STORED, at + cohort]
            store.leasts[slot, STORED, at + cohort] = FOREVER
    return True


@cython.nogil
def catch_up(program: Program, store: Store, slot: Index, number: Index) -> cython.void:
    """Bring all lanes of a set up to date by the forms that are kept, and keep none any more."""
    if store.graphlets[slot, number].forms == 0:
        return
    place: Index
    first: Index = program.sets[number].cohorts
    compose(program, store, slot, number, first, program.sets[number].cohorts_end)
    for place in range(program.sets[number].spans, program.sets[number].spans_end):
        end: Index = program.spans[place].members_end
        begin: Index = program.spans[place].members
        while begin < end:
            mark: Index = store.marks[slot, program.member_units[begin]]
            last: Index = begin + 1
            while last < end and store.marks[slot, program.member_units[last]] == mark:
                last += 1
            if mark < store.graphlets[slot, number].forms:
                put_form_in(program, store, slot, number, place, begin, last - begin, mark, STORED)
            begin = last
    for place in range(program.sets[number].units, program.sets[number].units_end):
        store.marks[slot, place] = 0
    store.graphlets[slot, number].forms = 0
    store.counts[number].put_in += program.sets[number].units_end - program.sets[number].units


@cython.nogil
def catch_up_units(program: Program, store: Store, slot: Index, at: Index) -> cython.void:
    """Bring the units that an event reads or changes up to date; `at`: in `Program.breaks`."""
    number: Index = program.breaks[at].number
    forms: Index = store.graphlets[slot, number].forms
    if forms == 0:
        return
    if program.breaks[at].is_whole:
        catch_up(program, store, slot, number)
        return
    place: Index
    piece: Index
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
            put_form_in(program, store, slot, number, span, member, 1, mark, STORED)
        store.marks[slot, unit] = cython.cast(cython.uchar, forms)
        store.counts[number].put_in += 1.0


@cython.nogil
def compose(
    program: Program, store: Store, slot: Index, number: Index, begin: Index, end: Index
) -> cython.void:
    """Compose the forms from each one to the last, for cohorts `begin` to before `end`.

    A composed form has a power of 2**512, which its growth and its weights have in common.
    """
    form: Index = store.graphlets[slot, number].forms - 1
    cohort: Index
    place: Index
    at: Index
    for cohort in range(begin, end):
        store.composed[form, cohort] = store.form_growths[slot, form, cohort]
        store.composed_powers[form, cohort] = 0.0
        for place in range(program.sets[number].addends, program.sets[number].addends_end):
            at = first_weight(program, number, place) + cohort
            store.composed_weights[form, at] = store.form_weights[slot, form, at]
        for place in range(program.sets[number].ranks, program.sets[number].ranks_end):
            at = first_least(program, number, place) + cohort
            store.composed_leasts[form, at] = store.form_leasts[slot, form, at]
    while form > 0:
        form -= 1
        for cohort in range(begin, end):
            growth: cython.double = store.form_growths[slot, form, cohort]
            later: cython.double = store.composed[form + 1, cohort]
            composed: cython.double = growth * later
            if not program.sets[number].is_repeated:
                composed = growth + later - 1.0
                growth = 1.0
                later = 1.0
            scale: cython.double = DOWN if composed >= GREAT else 1.0
            store.composed[form, cohort] = composed * scale
            store.composed_powers[form, cohort] = store.composed_powers[form + 1, cohort]
            store.composed_powers[form, cohort] += scale != 1.0
            for place in range(program.sets[number].addends, program.sets[number].addends_end):
                at = first_weight(program, number, place) + cohort
                weight: cython.double = store.form_weights[slot, form, at] * later
                weight += store.composed_weights[form + 1, at] * growth
                store.composed_weights[form, at] = weight * scale
            for place in range(program.sets[number].ranks, program.sets[number].ranks_end):
                at = first_least(program, number, place) + cohort
                store.composed_leasts[form, at] = min(
                    store.form_leasts[slot, form, at], store.composed_leasts[form + 1, at]
                )
