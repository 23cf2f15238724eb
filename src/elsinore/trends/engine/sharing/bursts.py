# cython: infer_types=True
"""Bursts: when they begin and end (HAMLET, Definition 10), and what was decided for them.

A burst of a sharing set of E+ are the E events that its queries match, until they match an event of
another type, or a window of some query begins or ends. Bursts are counted in every mode.
"""

from __future__ import annotations

import cython

from elsinore.trends.engine.constants import DYNAMIC, NO_MOMENT, NO_SHARING, Index
from elsinore.trends.engine.sharing.columns import has_rows_apart, put_columns_in, split_rows
from elsinore.trends.engine.sharing.graphlets import begin_graphlet, end_graphlet
from elsinore.trends.engine.sharing.optimizer import decide
from elsinore.trends.engine.sharing.snapshots import catch_up, catch_up_units
from elsinore.trends.engine.store import Store
from elsinore.trends.engine.tables import Program

MEMORY = cython.declare(cython.double, 16.0)  # bursts that the mean length looks back on
LONG = cython.declare(cython.double, 4.0)  # times its mean length, a burst is decided anew
OBSERVED = cython.declare(cython.longlong, 4)  # of so many bursts one is observed
FORGET = cython.declare(cython.double, 2.0**12)  # events after which observations count half
FIRST_GUESS = cython.declare(cython.double, 0.5)  # of units that are put in after a burst
REMEMBER = cython.declare(cython.double, 0.999)
UNKNOWN = cython.declare(Index, 0)  # what became of the burst before, ...
WAS_ALONE = cython.declare(Index, 1)
WAS_SHARED = cython.declare(Index, 2)


@cython.nogil
def break_bursts(program: Program, store: Store, slot: Index, known: Index) -> cython.void:
    """End the bursts that an event of a class breaks; what it reads and changes is up to date."""
    for place in range(program.classes[known].breaks, program.classes[known].breaks_end):
        number: Index = program.breaks[place].number
        store.graphlets[slot, number].left = store.slots[slot].time
        if store.graphlets[slot, number].opened <= store.graphlets[slot, number].changed and (
            store.graphlets[slot, number].changed < store.slots[slot].moment
        ):
            store.graphlets[slot, number].opened = NO_MOMENT
        store.graphlets[slot, number].changed = store.slots[slot].moment
        if store.bursts[slot, number].events > 0:
            end_burst(program, store, slot, number)
        catch_up_units(program, store, slot, place)


@cython.nogil
def end_bursts(program: Program, store: Store, slot: Index) -> cython.void:
    """End all bursts of a slot: a pane is over."""
    for number in range(program.sets.shape[0]):
        store.graphlets[slot, number].opened = NO_MOMENT
        if store.bursts[slot, number].events > 0:
            end_burst(program, store, slot, number)
        catch_up(program, store, slot, number)


@cython.nogil
def note_event(
    program: Program, store: Store, slot: Index, section: Index, has_great: cython.bint
) -> cython.void:
    """Let an event begin or continue a burst, and see whether to share it.

    has_great: products with addends of the batch may exceed a double; such events are not shared.
    """
    number: Index = program.sections[section].number
    if store.bursts[slot, number].events == 0:
        begin_burst(program, store, slot, number)
    store.bursts[slot, number].events += 1
    if store.mode == NO_SHARING or not program.sets[number].can_share:
        return
    if has_great or not has_column_room(program, store, slot, number):
        split(program, store, slot, number)
    elif store.mode == DYNAMIC:
        if store.bursts[slot, number].events > store.bursts[slot, number].limit:
            reconsider(program, store, slot, number)
        if store.bursts[slot, number].is_observed:
            store.counts[number].observed += 1.0
            store.counts[number].taken += program.sections[section].taken
            if store.counts[number].observed > FORGET:
                store.counts[number].observed /= 2.0
                store.counts[number].taken /= 2.0


@cython.nogil
def begin_burst(program: Program, store: Store, slot: Index, number: Index) -> cython.void:
    """Begin a burst, and decide whether to share it."""
    store.bursts[slot, number].time = store.slots[slot].time
    store.bursts[slot, number].benefit = 0.0
    store.bursts[slot, number].limit = LONG * max(store.counts[number].length, 1.0)
    store.bursts[slot, number].queries = 0
    store.bursts[slot, number].is_observed = (
        program.sets[number].cohorts_end - program.sets[number].cohorts > 1
        and store.counts[number].bursts % OBSERVED == 0
    )
    if store.mode == NO_SHARING or not program.sets[number].can_share:
        return
    store.counts[number].considered += 1
    share(program, store, slot, number, store.counts[number].length)


@cython.nogil
def share(
    program: Program, store: Store, slot: Index, number: Index, events: cython.double
) -> cython.void:
    """Decide who shares a burst of so many events, and merge these cohorts.

    If its events are compared, all share it or none, and all go on to share as long as there are
    rows of shared events.
    """
    store.bursts[slot, number].benefit = decide(program, store, slot, number, events)
    queries: cython.int = 0
    if is_compared(program, number) and can_share(program, store, slot, number):
        queries = program.sets[number].queries
    for cohort in range(program.sets[number].cohorts, program.sets[number].cohorts_end):
        queries += program.cohorts[cohort].queries * store.chosen[cohort]
    if queries == 0:
        catch_up(program, store, slot, number)
        if store.graphlets[slot, number].columns > 0:
            split_rows(program, store, slot, number)
        if store.bursts[slot, number].before == WAS_SHARED:
            store.counts[number].splits += 1
        store.bursts[slot, number].before = WAS_ALONE
        return
    if is_compared(program, number):
        store.graphlets[slot, number].sharing = 1
        store.graphlets[slot, number].first = store.graphlets[slot, number].columns
    else:
        begin_graphlet(program, store, slot, number)
    store.bursts[slot, number].queries = min(queries, program.sets[number].queries)
    if store.bursts[slot, number].before == WAS_ALONE:
        store.counts[number].merges += 1
    store.bursts[slot, number].before = WAS_SHARED


@cython.inline
@cython.nogil
def is_compared(program: Program, number: Index) -> cython.bint:
    """Return whether a set's events are compared with those before them."""
    return program.sets[number].readers < program.sets[number].readers_end


@cython.nogil
def has_column_room(program: Program, store: Store, slot: Index, number: Index) -> cython.bint:
    """Return whether an event of a set can have two more snapshots, of numbers without powers."""
    return not is_compared(program, number) or (
        store.graphlets[slot, number].columns + 2 <= program.sets[number].columns
        and not store.slots[slot].scaled
    )


@cython.nogil
def can_share(program: Program, store: Store, slot: Index, number: Index) -> cython.bint:
    """Return whether to share a burst of compared events: it pays, or those before were shared.

    Where it does not pay, a little is forgotten of how many snapshots there were.
    """
    if store.bursts[slot, number].benefit <= 0.0:
        store.counts[number].columns *= REMEMBER
    if not has_column_room(program, store, slot, number):
        return False
    if store.graphlets[slot, number].columns > 0:
        return True
    pays: cython.bint = store.bursts[slot, number].benefit > 0.0 or store.mode != DYNAMIC
    return pays and not has_rows_apart(program, store, slot, number)


@cython.nogil
def split(program: Program, store: Store, slot: Index, number: Index) -> cython.void:
    """Process the rest of a burst for each query alone."""
    if store.graphlets[slot, number].sharing:
        if is_compared(program, number):
            store.graphlets[slot, number].sharing = 0
            split_rows(program, store, slot, number)
        else:
            end_graphlet(program, store, slot, number)
        store.counts[number].splits += 1
        store.bursts[slot, number].before = WAS_ALONE
    catch_up(program, store, slot, number)


@cython.nogil
def reconsider(program: Program, store: Store, slot: Index, number: Index) -> cython.void:
    """Decide anew for a burst that is longer than expected: as many events may follow.

    Simultaneous events that were not shared change what the snapshot is made of.
    """
    store.bursts[slot, number].limit *= LONG
    if store.bursts[slot, number].queries == 0:
        events: cython.double = cython.cast(cython.double, store.bursts[slot, number].events)
        share(program, store, slot, number, events)
        store.graphlets[slot, number].left = store.slots[slot].time


@cython.nogil
def end_burst(program: Program, store: Store, slot: Index, number: Index) -> cython.void:
    """Count a burst that is complete, and record it if there is room."""
    if not is_compared(program, number):
        end_graphlet(program, store, slot, number)
    elif store.graphlets[slot, number].sharing:
        put_columns_in(program, store, slot, number)
        store.graphlets[slot, number].sharing = 0
    events: cython.longlong = store.bursts[slot, number].events
    queries: cython.int = store.bursts[slot, number].queries
    store.bursts[slot, number].events = 0
    store.counts[number].bursts += 1
    store.counts[number].graphlets += program.sets[number].queries
    store.counts[number].ended += 1.0
    if queries == 0:  # of units whose values would have been put in, the first guess
        units: Index = program.sets[number].units_end - program.sets[number].units
        store.counts[number].put_in += FIRST_GUESS * units
    if store.counts[number].ended > FORGET:
        store.counts[number].ended /= 2.0
        store.counts[number].put_in /= 2.0
    if queries > 0:
        store.counts[number].shared += 1
        store.counts[number].graphlets -= queries - 1
    length: cython.double = store.counts[number].length
    store.counts[number].length += (events - length) / (MEMORY if length > 0.0 else 1.0)
    if store.record_count < store.records.shape[0]:
        store.records[store.record_count].time = store.bursts[slot, number].time
        store.records[store.record_count].events = events
        store.records[store.record_count].benefit = store.bursts[slot, number].benefit
        store.records[store.record_count].number = cython.cast(cython.int, number)
        store.records[store.record_count].key = store.slots[slot].key
        store.records[store.record_count].queries = queries
        store.record_count += 1
