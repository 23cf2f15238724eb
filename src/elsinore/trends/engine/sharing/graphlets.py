"""Shared graphlets: the events of a burst, processed once for all queries (HAMLET, Section 3.3).

Each event's trend count is a multiple of the graphlet's snapshot x, and its other sums are
multiples of those of x and of x itself. `total` and `weights` are what these add up to: with n
simultaneous events whose addends are v_1, ..., v_n

    total' = total + n * (1 + total)       weight' = weight + n * weight + (v_1 + ...) * (1 + total)

If an event is taken by some queries and not by others, because of their predicates, its trend count
is a snapshot of its own (Definition 9). From there on the two sets of queries are two *parts* with
a total each; the total that both had is that snapshot's multiple of x. So an event costs O(parts),
however many queries there are. Parts are united again where the graphlet's values are put in.
"""

from __future__ import annotations

import cython

from elsinore.trends.engine.tables import FOREVER as _FOREVER
from elsinore.trends.engine.tables import ONE as _ONE

if cython.compiled:
    from cython.cimports.elsinore.trends.engine.recurrence import addend_of
    from cython.cimports.elsinore.trends.engine.sharing.forms import catch_up, keep_form
    from cython.cimports.elsinore.trends.engine.sharing.snapshots import (
        first_least,
        first_weight,
        put_in,
    )
    from cython.cimports.elsinore.trends.engine.store import Store
    from cython.cimports.elsinore.trends.engine.tables import Batch, Program
    from cython.cimports.libc.math import fabs
else:
    from math import fabs

    from elsinore.trends.engine.recurrence import addend_of
    from elsinore.trends.engine.sharing.forms import catch_up, keep_form
    from elsinore.trends.engine.sharing.snapshots import first_least, first_weight, put_in
    from elsinore.trends.engine.store import Store
    from elsinore.trends.engine.tables import Batch, Program

FOREVER = cython.declare(cython.longlong, _FOREVER)
ONE = cython.declare(cython.Py_ssize_t, _ONE)
GREAT = cython.declare(cython.double, 2.0**100)  # products with numbers below 2**512 are doubles
LONGEST = cython.declare(cython.Py_ssize_t, 64)  # events in a row, which double a total each
STORED = cython.declare(cython.Py_ssize_t, 0)
ARRIVING = cython.declare(cython.Py_ssize_t, 1)
NO_SECTION = cython.declare(cython.Py_ssize_t, -1)
ALONE = cython.declare(cython.int, -1)


def begin_graphlet(
    program: Program, store: Store, slot: cython.Py_ssize_t, number: cython.Py_ssize_t
) -> cython.void:
    """Merge: let the chosen cohorts of a set share a graphlet (HAMLET, Section 4.2).

    Its snapshot's values are the lanes as they are, so this costs O(cohorts).
    """
    cohort: cython.Py_ssize_t
    first: cython.Py_ssize_t = program.sets[number].cohorts
    part: cython.Py_ssize_t = program.sets[number].parts
    cohorts: cython.int = 0
    for cohort in range(first, program.sets[number].cohorts_end):
        if not store.chosen[cohort]:
            catch_up(program, store, slot, number)
        store.part_of[slot, cohort] = cython.cast(cython.int, part)
        if not store.chosen[cohort]:
            store.part_of[slot, cohort] = ALONE
        cohorts += store.chosen[cohort]
    store.graphlets[slot, number].parts = 1
    store.graphlets[slot, number].alone = (
        program.sets[number].cohorts_end - program.sets[number].cohorts - cohorts
    )
    store.graphlets[slot, number].section = NO_SECTION
    store.parts[slot, part].cohorts = cohorts
    store.counts[number].graphlet_snapshots += 1
    store.counts[number].most_propagated = max(store.counts[number].most_propagated, 1)


def end_graphlet(
    program: Program, store: Store, slot: cython.Py_ssize_t, number: cython.Py_ssize_t
) -> cython.void:
    """End a graphlet; each lane gets its own values again now, or when an event reads them."""
    if store.graphlets[slot, number].parts == 0:
        return
    if keep_form(program, store, slot, number):
        store.graphlets[slot, number].parts = 0
        return
    catch_up(program, store, slot, number)
    put_in(program, store, slot, number, STORED)
    if store.graphlets[slot, number].pending:
        put_in(program, store, slot, number, ARRIVING)
        store.graphlets[slot, number].pending = 0
    store.graphlets[slot, number].parts = 0


def take(
    program: Program,
    store: Store,
    batch: Batch,
    event: cython.Py_ssize_t,
    slot: cython.Py_ssize_t,
    section: cython.Py_ssize_t,
) -> cython.void:
    """Let an event join the shared graphlet of its section's set."""
    number: cython.Py_ssize_t = program.sections[section].number
    if store.graphlets[slot, number].section != section:
        align(program, store, slot, section)
        store.graphlets[slot, number].section = cython.cast(cython.int, section)
    first: cython.Py_ssize_t = program.sets[number].parts
    addends: cython.Py_ssize_t = program.sets[number].addends
    ranks: cython.Py_ssize_t = program.sets[number].ranks
    part: cython.Py_ssize_t
    place: cython.Py_ssize_t
    for part in range(first, first + store.graphlets[slot, number].parts):
        if not store.parts[slot, part].takes:
            continue
        store.parts[slot, part].now += 1.0
        for place in range(addends, program.sets[number].addends_end):
            store.weights[
                slot, ARRIVING, first_weight(program, number, part) + place - addends
            ] += addend_of(batch, event, program.shared_addends[place])
        for place in range(ranks, program.sets[number].ranks_end):
            least: cython.Py_ssize_t = first_least(program, number, part) + place - ranks
            store.leasts[slot, ARRIVING, least] = min(
                store.leasts[slot, ARRIVING, least],
                batch.ranks[event, program.shared_ranks[place]],
            )
    store.graphlets[slot, number].pending = 1
    store.slots[slot].pending = 1


def take_row(
    program: Program,
    store: Store,
    batch: Batch,
    event: cython.Py_ssize_t,
    slot: cython.Py_ssize_t,
    known: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Let the events after one that joined a graphlet join it, too; return the last one.

    These are of the same key and class, one after another at times of their own in the same
    windows, and do nothing else. This is three times as fast as event by event.
    """
    section: cython.Py_ssize_t = program.classes[known].sections
    if program.classes[known].sections_end != section + 1:
        return event
    number: cython.Py_ssize_t = program.sections[section].number
    if (
        program.classes[known].steps_end != program.classes[known].steps
        or program.classes[known].resets_end != program.classes[known].resets
        or store.graphlets[slot, number].parts == 0
        or store.graphlets[slot, number].alone > 0
        or store.graphlets[slot, number].left == store.slots[slot].time
        or store.bursts[slot, number].is_observed
    ):
        return event
    last: cython.Py_ssize_t = event
    time: cython.longlong = store.slots[slot].time
    end: cython.Py_ssize_t = min(batch.codes.shape[0], event + LONGEST)
    while (
        last + 1 < end
        and batch.codes[last + 1] == batch.codes[event]
        and batch.keys[last + 1] == batch.keys[event]
        and (batch.times[last + 1] > time or (store.ordered and batch.times[last + 1] == time))
        and batch.times[last + 1] < store.slots[slot].edge
    ):
        last += 1
        time = batch.times[last]
    if last == event:
        return event
    store_graphlets(program, store, slot)
    first: cython.Py_ssize_t = program.sets[number].parts
    part: cython.Py_ssize_t
    for part in range(first, first + store.graphlets[slot, number].parts):
        if store.parts[slot, part].takes:
            fold_row(program, store, batch, slot, number, part, event + 1, last)
    store.slots[slot].time = time
    store.matched += last - event
    store.bursts[slot, number].events += last - event
    place: cython.Py_ssize_t
    for place in range(program.classes[known].breaks, program.classes[known].breaks_end):
        store.graphlets[slot, program.breaks[place].number].left = time
    take(program, store, batch, last, slot, section)
    return last


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def fold_row(
    program: Program,
    store: Store,
    batch: Batch,
    slot: cython.Py_ssize_t,
    number: cython.Py_ssize_t,
    part: cython.Py_ssize_t,
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
) -> cython.void:
    """Store events `begin` to before `end` in a part, each of a timestamp of its own."""
    event: cython.Py_ssize_t
    place: cython.Py_ssize_t
    addends: cython.Py_ssize_t = program.sets[number].addends
    ranks: cython.Py_ssize_t = program.sets[number].ranks
    total: cython.double = store.parts[slot, part].total
    for place in range(addends, program.sets[number].addends_end):
        factor: cython.double = 1.0 + total
        at: cython.Py_ssize_t = first_weight(program, number, part) + place - addends
        weight: cython.double = store.weights[slot, STORED, at]
        addend: cython.Py_ssize_t = program.shared_addends[place]
        if addend == ONE:
            for _ in range(begin, end):
                weight += weight + factor
                factor += factor
        else:
            for event in range(begin, end):
                weight += weight + factor * addend_of(batch, event, addend)
                factor += factor
        store.weights[slot, STORED, at] = weight
    for place in range(ranks, program.sets[number].ranks_end):
        at = first_least(program, number, part) + place - ranks
        for event in range(begin, end):
            store.leasts[slot, STORED, at] = min(
                store.leasts[slot, STORED, at], batch.ranks[event, program.shared_ranks[place]]
            )
    for _ in range(begin, end):
        total += 1.0 + total
    store.parts[slot, part].total = total


def store_graphlets(program: Program, store: Store, slot: cython.Py_ssize_t) -> cython.void:
    """Store what the events of a slot's latest timestamp did in its shared graphlets.

    If an event of that timestamp changed what the graphlet's snapshot is made of, the values are
    put in.
    """
    number: cython.Py_ssize_t
    store.slots[slot].pending = 0
    for number in range(program.sets.shape[0]):
        if not store.graphlets[slot, number].pending:
            continue
        store.graphlets[slot, number].pending = 0
        if store.graphlets[slot, number].left == store.slots[slot].time:
            catch_up(program, store, slot, number)
            put_in(program, store, slot, number, STORED)
            put_in(program, store, slot, number, ARRIVING)
        elif fold(program, store, slot, number) and not keep_form(program, store, slot, number):
            catch_up(program, store, slot, number)
            put_in(program, store, slot, number, STORED)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def fold(
    program: Program, store: Store, slot: cython.Py_ssize_t, number: cython.Py_ssize_t
) -> cython.bint:
    """Store the latest timestamp's events in each part; return whether a total is too great."""
    addends: cython.Py_ssize_t = program.sets[number].addends_end - program.sets[number].addends
    ranks: cython.Py_ssize_t = program.sets[number].ranks_end - program.sets[number].ranks
    first: cython.Py_ssize_t = program.sets[number].parts
    part: cython.Py_ssize_t
    place: cython.Py_ssize_t
    is_great: cython.bint = False
    for part in range(first, first + store.graphlets[slot, number].parts):
        events: cython.double = store.parts[slot, part].now
        if events == 0.0:
            continue
        factor: cython.double = 1.0 + store.parts[slot, part].total
        for place in range(
            first_weight(program, number, part), first_weight(program, number, part) + addends
        ):
            weight: cython.double = store.weights[slot, STORED, place] * (1.0 + events)
            weight += store.weights[slot, ARRIVING, place] * factor
            store.weights[slot, STORED, place] = weight
            store.weights[slot, ARRIVING, place] = 0.0
            is_great |= fabs(weight) > GREAT
        for place in range(
            first_least(program, number, part), first_least(program, number, part) + ranks
        ):
            store.leasts[slot, STORED, place] = min(
                store.leasts[slot, STORED, place], store.leasts[slot, ARRIVING, place]
            )
            store.leasts[slot, ARRIVING, place] = FOREVER
        total: cython.double = store.parts[slot, part].total + events * factor
        store.parts[slot, part].total = total
        store.parts[slot, part].now = 0.0
        is_great |= total > GREAT
    return is_great


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def align(
    program: Program, store: Store, slot: cython.Py_ssize_t, section: cython.Py_ssize_t
) -> cython.void:
    """Cut parts until each takes a section's events as a whole or not at all.

    If there would be too many, the values are put in and all begin in one part.
    """
    number: cython.Py_ssize_t = program.sections[section].number
    first: cython.Py_ssize_t = program.sets[number].parts
    count: cython.Py_ssize_t = store.graphlets[slot, number].parts
    cuts: cython.Py_ssize_t = count_takers(program, store, slot, section)
    if cuts > 0:
        catch_up(program, store, slot, number)
    if count + cuts > program.sets[number].parts_end - first:
        put_in(program, store, slot, number, STORED)
        if store.graphlets[slot, number].pending:
            put_in(program, store, slot, number, ARRIVING)
            store.graphlets[slot, number].left = store.slots[slot].time
        unite(program, store, slot, number)
        count = 1
        cuts = count_takers(program, store, slot, section)
    part: cython.Py_ssize_t
    cohort: cython.Py_ssize_t
    place: cython.Py_ssize_t
    for part in range(first, first + count):
        takers: cython.Py_ssize_t = store.part_takers[part]
        store.part_into[part] = cython.cast(cython.int, part)
        store.parts[slot, part].takes = takers > 0
        if 0 < takers < store.parts[slot, part].cohorts:
            new: cython.Py_ssize_t = first + store.graphlets[slot, number].parts
            store.graphlets[slot, number].parts += 1
            store.part_into[part] = cython.cast(cython.int, new)
            copy_part(program, store, slot, number, part, new)
            store.parts[slot, new].cohorts = cython.cast(cython.int, takers)
            store.parts[slot, new].takes = 1
            store.parts[slot, part].cohorts -= cython.cast(cython.int, takers)
            store.parts[slot, part].takes = 0
    if cuts == 0:
        return
    for place in range(program.sections[section].takers, program.sections[section].takers_end):
        cohort = program.takers[place]
        if store.part_of[slot, cohort] >= 0:
            store.part_of[slot, cohort] = store.part_into[store.part_of[slot, cohort]]
    store.counts[number].event_snapshots += cuts
    store.counts[number].most_propagated = max(
        store.counts[number].most_propagated, store.graphlets[slot, number].parts
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def count_takers(
    program: Program, store: Store, slot: cython.Py_ssize_t, section: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """Count the cohorts of each part that take a section's events; return how many parts differ."""
    number: cython.Py_ssize_t = program.sections[section].number
    first: cython.Py_ssize_t = program.sets[number].parts
    end: cython.Py_ssize_t = first + store.graphlets[slot, number].parts
    part: cython.Py_ssize_t
    place: cython.Py_ssize_t
    for part in range(first, end):
        store.part_takers[part] = 0
    for place in range(program.sections[section].takers, program.sections[section].takers_end):
        part = store.part_of[slot, program.takers[place]]
        if part >= 0:
            store.part_takers[part] += 1
    cuts: cython.Py_ssize_t = 0
    for part in range(first, end):
        cuts += 0 < store.part_takers[part] < store.parts[slot, part].cohorts
    return cuts


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def unite(
    program: Program, store: Store, slot: cython.Py_ssize_t, number: cython.Py_ssize_t
) -> cython.void:
    """Let all sharing cohorts be in one part, after their values were put in."""
    first: cython.Py_ssize_t = program.sets[number].parts
    cohort: cython.Py_ssize_t
    cohorts: cython.int = 0
    for cohort in range(program.sets[number].cohorts, program.sets[number].cohorts_end):
        if store.part_of[slot, cohort] >= 0:
            store.part_of[slot, cohort] = cython.cast(cython.int, first)
            cohorts += 1
    store.parts[slot, first].cohorts = cohorts
    store.graphlets[slot, number].parts = 1
    store.counts[number].graphlet_snapshots += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def copy_part(
    program: Program,
    store: Store,
    slot: cython.Py_ssize_t,
    number: cython.Py_ssize_t,
    part: cython.Py_ssize_t,
    new: cython.Py_ssize_t,
) -> cython.void:
    """Let a new part have what a part has so far."""
    place: cython.Py_ssize_t
    when: cython.Py_ssize_t
    addends: cython.Py_ssize_t = program.sets[number].addends_end - program.sets[number].addends
    ranks: cython.Py_ssize_t = program.sets[number].ranks_end - program.sets[number].ranks
    store.parts[slot, new].total = store.parts[slot, part].total
    store.parts[slot, new].now = store.parts[slot, part].now
    for when in range(2):
        for place in range(addends):
            store.weights[slot, when, first_weight(program, number, new) + place] = store.weights[
                slot, when, first_weight(program, number, part) + place
            ]
        for place in range(ranks):
            store.leasts[slot, when, first_least(program, number, new) + place] = store.leasts[
                slot, when, first_least(program, number, part) + place
            ]
