# cython: infer_types=True
"""The optimizer: which queries share a burst (HAMLET, Section 4), and the benefit (Definition 12).

Events take effect when they arrive, so the decision is made at the beginning of a burst, from
statistics of earlier bursts, and again in a burst that turns out longer. A change from processing
cohorts alone to sharing is the paper's merge, the reverse its split.

A plan for a burst is a choice of the cohorts of a sharing set that share it (Figure 7). With the
symbols of the paper's Table 2, its cost is

    Shared      s_c * k * g * p + b * (log2(g) + n * s_p)
    NonShared   k * b * (log2(g) + n)

Here n = g = 1, as an event reads one row of sums instead of each earlier event. Instead of k, cells
are counted, that is sums of all queries in all open windows: `separate[c]` is the price of an event
for the cells of a cohort, `values[c]` that of putting the snapshot's values into them. Snapshots at
events (s_c and s_p) add nothing: each cohort has a growth of its own, which an event changes
whether others take it or not (`elsinore.trends.engine.sharing.graphlets`). Prices are nanoseconds,
measured once.
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
FIRST_GUESS = cython.declare(cython.double, 0.5)  # share of units put in after a burst


def cell_price(cells: int) -> float:
    """Return the price of an event for cells, without that of the step that acts on them."""
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
    """Return the cost of a burst that `sharing` cohorts share and `others` do not.

    events: b; scale: SCALED if numbers are so great that they have powers, else 1. values,
    separate: total prices of the cohorts that share, and of the others.
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
    """Choose the cohorts that share a burst of `events`; return the expected saving.

    Nothing is shared unless that is above 0. The prices, `separate` and `values`, and `chosen` have
    an entry for each cohort.

    Instead of all plans of Figure 7, three are compared, in O(cohorts): none share, all share, or
    those share for which it pays (`prune`). One of these is the cheapest plan: a snapshot at an
    event costs nothing, so that the cost that a cohort adds to a plan does not depend on the
    others, as Theorems 4.1 and 4.2 demand.
    """
    cohorts: Index = end - begin
    paying: Index = prune(events, scale, separate, values, chosen, begin, end)
    alone: cython.double = 0.0  # prices of all cohorts, and of those that do not share
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

    Return their number.
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
    """Choose the cohorts of a set that share a slot's burst of `events`; return the benefit.

    Values of units are assumed to be put in, and events to be taken, as often as in earlier bursts.
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
    )  # share of units put in after a burst
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
    """Return the benefit of sharing a burst whose events are compared with earlier ones.

    Half as many snapshots are expected as the greatest number so far.
    """
    first: Index = program.sets[number].readers
    readers: cython.double = program.sets[number].readers_end - first
    if readers == 0.0:
        return 0.0
    events = max(events, 1.0)  # the first burst: rows apart would prevent sharing later
    cells: cython.double = program.sets[number].cells
    sums: cython.double = 1.0 + program.sets[number].addends_end - program.sets[number].addends
    columns: cython.double = 1.0 + store.counts[number].columns / 2.0
    parts: cython.double = program.sets[number].parts_end - program.sets[number].parts
    alone: cython.double = events * (parts * EVENT + cells * EDGE)
    shared: cython.double = events * readers * (EVENT + sums * columns * EDGE)
    shared += columns * cells * VALUE
    return alone - shared


def decide_often(program: Program, store: Store, times: int) -> None:
    """Decide a number of times, to measure the time of a decision."""
    for turn in range(times):
        decide(program, store, 0, turn % program.sets.shape[0], 20.0)
