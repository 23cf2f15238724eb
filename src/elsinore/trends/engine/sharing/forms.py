"""What earlier bursts did, of lanes that no event has read or changed since.

If a burst was shared by all queries of a set in one part, its total and weights are kept as a
*form*, and the values of its snapshot are put in when an event reads or changes a lane: only then,
and only there. So an event of one query does not cost what others have to do with the burst before
it. Two forms one after the other are one form:

    1 + total = (1 + total_1) * (1 + total_2)
    weight = weight_1 * (1 + total_2) + weight_2 * (1 + total_1)

A *unit* is a holder with its twins, which are brought up to date together; of a slot's forms, it
has the first `marks[slot, unit]`. How many forms are kept at most grows with the square root of the
number of cells: composing them costs what they are, putting them in everywhere what the cells are.
"""

from __future__ import annotations

import cython

from elsinore.trends.engine.store import FORMS as _FORMS
from elsinore.trends.engine.tables import FOREVER as _FOREVER

if cython.compiled:
    from cython.cimports.elsinore.trends.engine.sharing.snapshots import (
        first_least,
        first_weight,
        put_form_in,
    )
    from cython.cimports.elsinore.trends.engine.store import Store
    from cython.cimports.elsinore.trends.engine.tables import Program
    from cython.cimports.libc.math import fabs
else:
    from math import fabs

    from elsinore.trends.engine.sharing.snapshots import first_least, first_weight, put_form_in
    from elsinore.trends.engine.store import Store
    from elsinore.trends.engine.tables import Program

FOREVER = cython.declare(cython.longlong, _FOREVER)
FORMS = cython.declare(cython.Py_ssize_t, _FORMS)
MOST = cython.declare(cython.double, 2.0**192)  # weights of one trend, whose products are doubles
GREAT = cython.declare(cython.double, 2.0**256)  # mantissas of composed totals are below it
DOWN = cython.declare(cython.double, 2.0**-512)
STORED = cython.declare(cython.Py_ssize_t, 0)


def keep_form(
    program: Program, store: Store, slot: cython.Py_ssize_t, number: cython.Py_ssize_t
) -> cython.bint:
    """Keep what a set's only part did as a form, if there is room; return whether there was.

    Weights have to be far from a double's range.
    """
    if (
        store.graphlets[slot, number].parts != 1
        or store.graphlets[slot, number].alone > 0
        or store.graphlets[slot, number].pending
        or store.graphlets[slot, number].forms >= program.sets[number].most_forms
    ):
        return False
    part: cython.Py_ssize_t = program.sets[number].parts
    form: cython.Py_ssize_t = store.graphlets[slot, number].forms
    total: cython.double = store.parts[slot, part].total
    if total == 0.0:  # no event of the burst was stored
        return True
    spread: cython.double = 0.0
    if form > 0:
        spread = store.graphlets[slot, number].spread
    addends: cython.Py_ssize_t = program.sets[number].addends
    ranks: cython.Py_ssize_t = program.sets[number].ranks
    place: cython.Py_ssize_t
    at: cython.Py_ssize_t
    for place in range(addends, program.sets[number].addends_end):
        at = first_weight(program, number, part) + place - addends
        spread = max(spread, fabs(store.weights[slot, STORED, at]) / (1.0 + total))
    if spread * FORMS > MOST:
        return False
    store.graphlets[slot, number].spread = spread
    store.graphlets[slot, number].forms = cython.cast(cython.int, form + 1)
    store.form_totals[slot, form, number] = total
    store.parts[slot, part].total = 0.0
    for place in range(addends, program.sets[number].addends_end):
        at = first_weight(program, number, part) + place - addends
        store.form_weights[slot, form, place] = store.weights[slot, STORED, at]
        store.weights[slot, STORED, at] = 0.0
    for place in range(ranks, program.sets[number].ranks_end):
        at = first_least(program, number, part) + place - ranks
        store.form_leasts[slot, form, place] = store.leasts[slot, STORED, at]
        store.leasts[slot, STORED, at] = FOREVER
    return True


def catch_up(
    program: Program, store: Store, slot: cython.Py_ssize_t, number: cython.Py_ssize_t
) -> cython.void:
    """Bring all lanes of a set up to date by the forms that are kept, and keep none any more."""
    if store.graphlets[slot, number].forms == 0:
        return
    compose(program, store, slot, number, 0)
    place: cython.Py_ssize_t
    for place in range(program.sets[number].spans, program.sets[number].spans_end):
        end: cython.Py_ssize_t = program.spans[place].members_end
        begin: cython.Py_ssize_t = program.spans[place].members
        while begin < end:
            mark: cython.Py_ssize_t = store.marks[slot, program.member_units[begin]]
            last: cython.Py_ssize_t = begin + 1
            while last < end and store.marks[slot, program.member_units[last]] == mark:
                last += 1
            if mark < store.graphlets[slot, number].forms:
                put_form_in(program, store, slot, place, begin, last - begin, mark, STORED)
            begin = last
    for place in range(program.sets[number].units, program.sets[number].units_end):
        store.marks[slot, place] = 0
    store.graphlets[slot, number].forms = 0
    store.counts[number].put_in += program.sets[number].units_end - program.sets[number].units


def catch_up_units(
    program: Program, store: Store, slot: cython.Py_ssize_t, at: cython.Py_ssize_t
) -> cython.void:
    """Bring the units that an event reads or changes up to date; `at`: in `Program.breaks`."""
    number: cython.Py_ssize_t = program.breaks[at].number
    forms: cython.Py_ssize_t = store.graphlets[slot, number].forms
    if forms == 0:
        return
    if program.breaks[at].is_whole:
        catch_up(program, store, slot, number)
        return
    place: cython.Py_ssize_t
    piece: cython.Py_ssize_t
    for place in range(program.breaks[at].units, program.breaks[at].units_end):
        unit: cython.Py_ssize_t = program.touched[place]
        mark: cython.Py_ssize_t = store.marks[slot, unit]
        if mark == forms:
            continue
        compose(program, store, slot, number, mark)
        for piece in range(program.units[unit].pieces, program.units[unit].pieces_end):
            put_form_in(
                program,
                store,
                slot,
                program.pieces[piece].span,
                program.pieces[piece].member,
                1,
                mark,
                STORED,
            )
        store.marks[slot, unit] = cython.cast(cython.uchar, forms)
        store.counts[number].put_in += 1.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def compose(
    program: Program,
    store: Store,
    slot: cython.Py_ssize_t,
    number: cython.Py_ssize_t,
    begin: cython.Py_ssize_t,
) -> cython.void:
    """Compose the forms from each of `begin` and later ones to the last.

    A composed form has a power of 2**512, which its total and its weights have in common.
    """
    form: cython.Py_ssize_t = store.graphlets[slot, number].forms
    place: cython.Py_ssize_t
    later: cython.double = 0.0
    power: cython.double = 0.0
    while form > begin:
        form -= 1
        is_last: cython.bint = form + 1 == store.graphlets[slot, number].forms
        total: cython.double = store.form_totals[slot, form, number]
        factor: cython.double = later if power > 0.0 else 1.0 + later
        composed: cython.double = later * (1.0 + total)
        if power == 0.0:
            composed += total
        scale: cython.double = DOWN if composed >= GREAT else 1.0
        for place in range(program.sets[number].addends, program.sets[number].addends_end):
            weight: cython.double = store.form_weights[slot, form, place] * factor
            if not is_last:
                weight += store.composed_weights[form + 1, place] * (1.0 + total)
            store.composed_weights[form, place] = weight * scale
        for place in range(program.sets[number].ranks, program.sets[number].ranks_end):
            least: cython.longlong = store.form_leasts[slot, form, place]
            if not is_last:
                least = min(least, store.composed_leasts[form + 1, place])
            store.composed_leasts[form, place] = least
        later = composed * scale
        power += scale != 1.0
        store.composed[form] = later
        store.composed_powers[form] = power
