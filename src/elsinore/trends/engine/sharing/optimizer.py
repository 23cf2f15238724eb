# cython: infer_types=True
"""The optimizer: who shares a burst (HAMLET, Section 4), and what that saves (Definition 12).

Events take effect when they arrive, so it is decided at the beginning of a burst, by what bursts
were like so far; and anew in a burst that turns out longer. Going over from processing cohorts
alone to sharing is the paper's merge, going back its split.

A plan for a burst says which cohorts of a sharing set share it, of all that could (Figure 7). With
the symbols of the paper's Table 2, its cost is

    Shared      s_c * k * g * p + b * (log2(g) + n * s_p)
    NonShared   k * b * (log2(g) + n)

Here n = g = 1, as an event reads one row of sums and not each earlier event. What is left of k is
the number of cells, that is sums of all queries in all open windows: `separate[c]` is the price of
an event for the cells of a cohort, `values[c]` that of putting in the snapshot's values for them.
Snapshots at events (s_c and s_p) cost nothing beside that: each cohort has a growth of its own,
which an event moves, whether others take it or not (`elsinore.trends.engine.sharing.graphlets`).
Prices were measured once, in nanoseconds.
"""

from __future__ import annotations

import cython

from elsinore.trends.engine.constants import ALWAYS, Index
from elsinore.trends.engine.store import Store
from elsinore.trends.engine.tables import Program

EVENT = cython.declare(cython.double, 16.0)  # an event acts on the cells of a step
CELL = cython.declare(cython.double, 1.0)
GRAPHLET = cython.declare(cython.double, 40.0)  # a shared graphlet begins and ends
VALUE = cython.declare(cython.double, 1.2)  # the snapshot's value is put into a cell
PART = cython.declare(cython.double, 6.0)  # an event joins a shared graphlet
EDGE = cython.declare(cython.double, 12.0)  # an event is compared: a cell of the rows it follows
GROWTH = cython.declare(cython.double, 0.7)  # ... and moves the growth of a cohort
SCALED = cython.declare(cython.double, 6.0)  # times what the first four cost, of great numbers
FIRST_GUESS = cython.declare(cython.double, 0.5)  # of units whose values are put in after a burst


def cell_price(cells: int) -> float:
    """Return the price of an event for cells, beside that of the step that acts on them."""
    return CELL * cells


def value_price(cells: int) -> float:
    """Return the price of putting a snapshot's values into cells."""
    return VALUE * cells


@cython.ccall
@cython.exceptval(check=False)
@cython.nogil
def price(
    events: cython.double,
    scale: cython.double,
    sharing: cython.Py_ssize_t,
    values: cython.double,
    others: cython.Py_ssize_t,
    separate: cython.double,
) -> cython.double:
    """Return the cost of a burst that so many cohorts share and so many others do not.

    events: b; scale: SCALED if numbers are so great that they have powers, else 1. values, and
    separate: prices of cohorts that share, and of the others, added up.
    """
    cost: cython.double = 0.0
    if sharing > 0:
        cost += scale * (GRAPHLET + values) + events * (PART + GROWTH * sharing)
    if others > 0:
        cost += events * scale * (EVENT + separate)
    return cost


@cython.ccall
@cython.exceptval(check=False)
@cython.nogil
def benefit(
    events: cython.double,
    scale: cython.double,
    separate: cython.double[::1],
    values: cython.double[::1],
    chosen: cython.uchar[::1],
    begin: Index,
    end: Index,
) -> cython.double:
    """Choose the cohorts that share a burst of `events`; return what that is expected to save.

    Nothing is shared unless that is above 0. The prices, `separate` and `values`, and `chosen` have
    an entry for each cohort.

    Three plans are compared and not all of Figure 7, in O(cohorts): none share, all share, or those
    share for which it pays (`prune`). One of these is the cheapest plan there is: a snapshot at an
    event costs nothing, so that what a cohort adds to a plan's cost does not depend on the others,
    as Theorems 4.1 and 4.2 demand.
    """
    cohorts: Index = end - begin
    paying: Index = prune(events, scale, separate, values, chosen, begin, end)
    alone: cython.double = 0.0  # prices of all cohorts, and of those for which sharing pays not
    left_alone: cython.double = 0.0
    shared: cython.double = 0.0
    all_shared: cython.double = 0.0
    for cohort in range(begin, end):
        alone += separate[cohort]
        all_shared += values[cohort]
        left_alone += 0.0 if chosen[cohort] else separate[cohort]
        shared += values[cohort] if chosen[cohort] else 0.0
    nothing: cython.double = price(events, scale, 0, 0.0, cohorts, alone)
    some: cython.double = price(events, scale, paying, shared, cohorts - paying, left_alone)
    every: cython.double = price(events, scale, cohorts, all_shared, 0, 0.0)
    if min(some, every) >= nothing or every <= some:
        for cohort in range(begin, end):
            chosen[cohort] = every < nothing
    return nothing - (every if paying == 0 else min(some, every))


@cython.nogil
def prune(
    events: cython.double,
    scale: cython.double,
    separate: cython.double[::1],
    values: cython.double[::1],
    chosen: cython.uchar[::1],
    begin: Index,
    end: Index,
) -> Index:
    """Choose the cohorts that cost more alone than in a burst that others share (Theorem 4.2).

    Return how many these are.
    """
    paying: Index = 0
    for cohort in range(begin, end):
        shared: cython.double = scale * values[cohort] + events * GROWTH
        chosen[cohort] = shared <= events * scale * separate[cohort]
        paying += chosen[cohort]
    return paying


@cython.nogil
def decide(
    program: Program, store: Store, slot: Index, number: Index, events: cython.double
) -> cython.double:
    """Choose the cohorts of a set that share a slot's burst of so many events; return the benefit.

    The values of units are put in, and events are taken, as often as in earlier bursts.
    """
    begin: Index = program.sets[number].cohorts
    end: Index = program.sets[number].cohorts_end
    if begin == end:
        return decide_compared(program, store, number, events)
    scale: cython.double = SCALED if store.slots[slot].scaled else 1.0
    ended: cython.double = store.counts[number].ended + 1.0
    units: Index = program.sets[number].units_end - program.sets[number].units
    put_in: cython.double = min(
        1.0, (store.counts[number].put_in / units + FIRST_GUESS) / ended
    )  # of the units, those whose values are put in after a burst
    taken: cython.double = 1.0
    if store.counts[number].observed > 0.0:
        taken = store.counts[number].taken / store.counts[number].observed
    for cohort in range(begin, end):
        store.separate[cohort] = taken * program.separate[cohort]
        store.put_prices[cohort] = put_in * program.values[cohort]
    saved: cython.double = benefit(
        events, scale, store.separate, store.put_prices, store.chosen, begin, end
    )
    if store.mode == ALWAYS:
        for cohort in range(begin, end):
            store.chosen[cohort] = 1
    return saved


@cython.nogil
def decide_compared(
    program: Program, store: Store, number: Index, events: cython.double
) -> cython.double:
    """Return what sharing a burst saves whose events are compared with those before them.

    There are expected to be half as many snapshots as there were at most before.
    """
    first: Index = program.sets[number].readers
    readers: cython.double = program.sets[number].readers_end - first
    if readers == 0.0:
        return 0.0
    events = max(events, 1.0)  # nothing is known at first; once there are rows apart, it is late
    cells: cython.double = program.sets[number].cells
    sums: cython.double = 1.0 + program.sets[number].addends_end - program.sets[number].addends
    columns: cython.double = 1.0 + store.counts[number].columns / 2.0
    parts: cython.double = program.sets[number].parts_end - program.sets[number].parts
    alone: cython.double = events * (parts * EVENT + cells * EDGE)
    shared: cython.double = events * readers * (EVENT + sums * columns * EDGE)
    shared += columns * cells * VALUE
    return alone - shared


def decide_often(program: Program, store: Store, times: int) -> None:
    """Decide so many times, to measure how long that takes."""
    for turn in range(times):
        decide(program, store, 0, turn % program.sets.shape[0], 20.0)
