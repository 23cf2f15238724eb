# cython: infer_types=True
"""Shared graphlets: the events of a burst, processed once for all queries (HAMLET, Section 3.3).

The trend count of each event is a multiple of the graphlet's snapshot x, and its other sums are
multiples of those of x and of x itself. For each cohort of queries, which take the same events,
`growths` is the sum of x and all events' counts, as a multiple of x, and `weights` the sum of the
events' addends: with n simultaneous events whose addends are v_1, ..., v_n

    growth' = growth * (1 + n)          weight' = weight * (1 + n) + (v_1 + ...) * growth

If the events do not follow one another, each adds x: growth' = growth + n, weight' = weight + v_1 +
...

An event that some queries take and others do not is a snapshot of its own (Definition 9): its count
is a different multiple of x for each cohort. So creating one costs nothing, and an event costs
O(cohorts that take it), whatever the number of queries and open windows.
"""

from __future__ import annotations

from math import fabs

import cython

from elsinore.trends.engine.constants import FOREVER, Index
from elsinore.trends.engine.recurrence import addend_of
from elsinore.trends.engine.sharing.snapshots import (
    arriving_form,
    begin_form,
    catch_up,
    growths_of,
    keep_form,
    leasts_of,
    put_in,
    weights_of,
)
from elsinore.trends.engine.store import Store
from elsinore.trends.engine.tables import Batch, Program

GREAT = cython.declare(cython.double, 2.0**100)  # products with numbers below 2**512 are doubles
LONGEST = cython.declare(Index, 64)  # events in a row, which double a growth each


@cython.nogil
def begin_graphlet(program: Program, store: Store, slot: Index, number: Index) -> cython.void:
    """Merge: begin a graphlet that the chosen cohorts of a set share (HAMLET, Section 4.2).

    The current lanes are the values of its snapshot, so this costs O(cohorts).
    """
    alone: cython.int = 0
    for cohort in range(program.sets[number].cohorts, program.sets[number].cohorts_end):
        store.shares[slot, cohort] = store.chosen[cohort]
        alone += not store.chosen[cohort]
    if alone > 0:
        catch_up(program, store, slot, number)
    begin_form(program, store, slot, number, store.graphlets[slot, number].forms)
    begin_form(program, store, slot, number, arriving_form(store))
    store.graphlets[slot, number].sharing = 1
    store.graphlets[slot, number].alone = alone
    store.graphlets[slot, number].snapshots = 1
    store.counts[number].graphlet_snapshots += 1
    store.counts[number].most_propagated = max(store.counts[number].most_propagated, 1)


@cython.nogil
def end_graphlet(program: Program, store: Store, slot: Index, number: Index) -> cython.void:
    """End a graphlet; its values are put into lanes now, or when an event reads them."""
    if not store.graphlets[slot, number].sharing:
        return
    settle(program, store, slot, number)
    if store.graphlets[slot, number].pending:
        put_in(program, store, slot, number, arriving_form(store), store.added)
        store.graphlets[slot, number].pending = 0
    store.graphlets[slot, number].sharing = 0


@cython.nogil
def take(
    program: Program, store: Store, batch: Batch, event: Index, slot: Index, section: Index
) -> cython.void:
    """Add an event to the shared graphlet of its section's set."""
    number: Index = program.sections[section].number
    store.slots[slot].pending = 1
    if store.ordered:  # no other event has its timestamp
        form: Index = store.graphlets[slot, number].forms
        if fold_row(program, store, batch, slot, section, event, event + 1, form):
            settle(program, store, slot, number)
        return
    store.graphlets[slot, number].pending = 1
    fold_row(program, store, batch, slot, section, event, event + 1, arriving_form(store))


@cython.nogil
def take_row(
    program: Program, store: Store, batch: Batch, event: Index, slot: Index, known: Index
) -> Index:
    """Add the events that follow an event of a graphlet to it, too; return the last one.

    They have the same key, class and windows, and different times, and act on nothing else. This is
    three times as fast as event by event.
    """
    section: Index = program.classes[known].sections
    if program.classes[known].sections_end != section + 1:
        return event
    number: Index = program.sections[section].number
    if (
        program.classes[known].steps_end != program.classes[known].steps
        or program.classes[known].resets_end != program.classes[known].resets
        or not store.graphlets[slot, number].sharing
        or store.graphlets[slot, number].alone > 0
        or store.graphlets[slot, number].left == store.slots[slot].time
        or store.bursts[slot, number].is_observed
    ):
        return event
    last: Index = event
    time: cython.longlong = store.slots[slot].time
    end: Index = min(batch.codes.shape[0], event + LONGEST)
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
    form: Index = store.graphlets[slot, number].forms
    if fold_row(program, store, batch, slot, section, event + 1, last, form):
        settle(program, store, slot, number)
    store.slots[slot].time = time
    store.matched += last - event
    store.bursts[slot, number].events += last - event
    for place in range(program.classes[known].breaks, program.classes[known].breaks_end):
        store.graphlets[slot, program.breaks[place].number].left = time
    take(program, store, batch, last, slot, section)
    return last


@cython.nogil
def fold_row(
    program: Program,
    store: Store,
    batch: Batch,
    slot: Index,
    section: Index,
    begin: Index,
    end: Index,
    form: Index,
) -> cython.bint:
    """Add events `begin` to before `end`, each of a timestamp of its own, to a form.

    If they follow one another, each doubles growths and weights, so that the addends of n events
    count 2**(n - 1) times. Return whether a sum is too great for more events.
    """
    number: Index = program.sections[section].number
    growths: Index = growths_of(program, number)
    at: Index
    scale: cython.double = 1.0
    repeated: cython.double = 0.0
    more: cython.double = 0.0
    is_great: cython.bint = False
    if program.sets[number].is_repeated and form != arriving_form(store):
        repeated = 1.0
        for _ in range(begin, end):
            scale += scale
    else:
        more = cython.cast(cython.double, end - begin)
    if not program.sections[section].is_whole:
        store.counts[number].event_snapshots += end - begin
        store.graphlets[slot, number].snapshots += cython.cast(cython.int, end - begin)
        snapshots: Index = store.graphlets[slot, number].snapshots
        store.counts[number].most_propagated = max(store.counts[number].most_propagated, snapshots)
    for takers in range(program.sections[section].takers, program.sections[section].takers_end):
        first: Index = program.takers[takers].begin
        last: Index = program.takers[takers].end
        for place in range(program.sets[number].addends, program.sets[number].addends_end):
            value: cython.double = 0.0
            for event in range(begin, end):
                value += addend_of(batch, event, program.shared_addends[place])
            value *= scale / (1.0 + repeated)
            at = weights_of(program, number, place)
            for cohort in range(first, last):
                growth: cython.double = store.forms[slot, form, growths + cohort]
                weight: cython.double = store.forms[slot, form, at + cohort] * scale
                weight += (1.0 + repeated * (growth - 1.0)) * value
                store.forms[slot, form, at + cohort] = weight
                is_great |= fabs(weight) > GREAT
        for place in range(program.sets[number].ranks, program.sets[number].ranks_end):
            least: cython.longlong = FOREVER
            for event in range(begin, end):
                least = min(least, batch.ranks[event, program.shared_ranks[place]])
            at = leasts_of(program, number, place)
            for cohort in range(first, last):
                rank: cython.longlong = store.form_leasts[slot, form, at + cohort]
                store.form_leasts[slot, form, at + cohort] = min(rank, least)
        for cohort in range(first, last):
            growth = store.forms[slot, form, growths + cohort] * scale + more
            store.forms[slot, form, growths + cohort] = growth
            is_great |= growth > GREAT
    return is_great


@cython.nogil
def store_graphlets(program: Program, store: Store, slot: Index) -> cython.void:
    """Fold the events of a slot's latest timestamp into its shared graphlets.

    If an event of that timestamp changed the lanes of a graphlet's snapshot, values are put in.
    """
    store.slots[slot].pending = 0
    for number in range(program.sets.shape[0]):
        if not store.graphlets[slot, number].pending:
            continue
        store.graphlets[slot, number].pending = 0
        if store.graphlets[slot, number].left == store.slots[slot].time:
            put_all_in(program, store, slot, number)
            put_in(program, store, slot, number, arriving_form(store), store.added)
        elif fold(program, store, slot, number):
            settle(program, store, slot, number)


@cython.nogil
def settle(program: Program, store: Store, slot: Index, number: Index) -> cython.void:
    """Keep the events of a graphlet so far as a form, or put their values in."""
    if not keep_form(program, store, slot, number):
        put_all_in(program, store, slot, number)


@cython.nogil
def put_all_in(program: Program, store: Store, slot: Index, number: Index) -> cython.void:
    """Bring all lanes of a set up to date by earlier bursts and its graphlet."""
    catch_up(program, store, slot, number)
    form: Index = store.graphlets[slot, number].forms
    put_in(program, store, slot, number, form, store.stored)


@cython.nogil
def fold(program: Program, store: Store, slot: Index, number: Index) -> cython.bint:
    """Fold the latest timestamp's events into the form; return whether a sum is too great."""
    begin: Index = program.sets[number].cohorts
    end: Index = program.sets[number].cohorts_end
    form: Index = store.graphlets[slot, number].forms
    latest: Index = arriving_form(store)
    growths: Index = growths_of(program, number)
    at: Index
    is_great: cython.bint = False
    repeated: cython.double = program.sets[number].is_repeated
    for place in range(program.sets[number].addends, program.sets[number].addends_end):
        at = weights_of(program, number, place)
        for cohort in range(begin, end):
            growth: cython.double = store.forms[slot, form, growths + cohort]
            events: cython.double = store.forms[slot, latest, growths + cohort] - 1.0
            weight: cython.double = store.forms[slot, form, at + cohort]
            weight += weight * events * repeated
            weight += store.forms[slot, latest, at + cohort] * (1.0 + repeated * (growth - 1.0))
            store.forms[slot, form, at + cohort] = weight
            store.forms[slot, latest, at + cohort] = 0.0
            is_great |= fabs(weight) > GREAT
    for place in range(program.sets[number].ranks, program.sets[number].ranks_end):
        at = leasts_of(program, number, place)
        for cohort in range(begin, end):
            store.form_leasts[slot, form, at + cohort] = min(
                store.form_leasts[slot, form, at + cohort],
                store.form_leasts[slot, latest, at + cohort],
            )
            store.form_leasts[slot, latest, at + cohort] = FOREVER
    for cohort in range(begin, end):
        growth = store.forms[slot, form, growths + cohort]
        events = store.forms[slot, latest, growths + cohort] - 1.0
        growth += (1.0 + repeated * (growth - 1.0)) * events
        store.forms[slot, form, growths + cohort] = growth
        store.forms[slot, latest, growths + cohort] = 1.0
        is_great |= growth > GREAT
    return is_great
