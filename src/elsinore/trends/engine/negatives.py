"""What NOT forbids: intervals of the moments of earlier events.

A negative pattern is a query whose extreme is the moment at which its trends begin. Of all its
matches that have ended before an event only the one that began last matters: if any match lies
between two events, that one does. So an event may follow another one by a *way*, whose negatives
have no match in between, if the other's moment is not before any of these beginnings.

A match lies in a window if it began in it: it has ended before the window does.
"""

from __future__ import annotations

import cython

from elsinore.trends.engine.constants import FOREVER, NO_MOMENT, Index
from elsinore.trends.engine.store import Store
from elsinore.trends.engine.tables import Program


@cython.nogil
def set_limits(program: Program, store: Store, slot: Index, guard: Index) -> cython.void:
    """Set from which moment on (`low`) and before which (`high`) a guard lets events precede.

    Below 0 there is no guard.
    """
    store.low = NO_MOMENT
    store.high = FOREVER
    if guard >= 0:
        free: Index = program.guards[guard].free
        store.low = first_free(program, store, slot, free, program.guards[guard].free_end)
        unless: Index = program.guards[guard].unless
        store.high = first_free(program, store, slot, unless, program.guards[guard].unless_end)


@cython.nogil
def first_free(
    program: Program, store: Store, slot: Index, begin: Index, end: Index
) -> cython.longlong:
    """Return the first moment from which on some way is free; FOREVER if there are no ways."""
    first: cython.longlong = FOREVER
    way: Index
    place: Index
    for way in range(begin, end):
        latest: cython.longlong = NO_MOMENT
        for place in range(program.ways[way].negatives, program.ways[way].negatives_end):
            latest = max(latest, store.latest[slot, program.negatives[place]])
        first = min(first, latest)
    return first


@cython.nogil
def read_beginnings(
    program: Program, store: Store, slot: Index, at: Index, place: Index
) -> cython.void:
    """Gather one empty trend in each open window in which no negative match began."""
    kind: Index = program.reads[at].kind
    lane: Index
    for lane in range(program.reads[at].lanes):
        is_open: cython.double = store.cells[slot, program.kinds[kind].cell + lane]
        is_free: cython.bint = store.low < store.opened[slot, program.kinds[kind].opened + lane]
        store.gathered[place, lane] = is_open if is_free else 0.0
        store.gathered_powers[place, lane] = 0.0


@cython.nogil
def note_matches(program: Program, store: Store, slot: Index, block: Index) -> cython.void:
    """Note when the latest matches began that end in a block, after a timestamp was stored."""
    at: Index
    lane: Index
    for at in range(program.blocks[block].watches, program.blocks[block].watches_end):
        negative: Index = program.watches[at].negative
        for lane in range(program.watches[at].lanes):
            inverted: cython.longlong = store.extremes[slot, program.watches[at].extreme + lane]
            if inverted != FOREVER:
                store.latest[slot, negative] = max(store.latest[slot, negative], ~inverted)
