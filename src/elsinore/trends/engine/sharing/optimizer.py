"""The optimizer: who shares a burst (HAMLET, Section 4).

Events take effect when they arrive, so it is decided at the beginning of a burst, by what bursts
were like so far; and anew in a burst that turns out longer. Going over from processing cohorts
alone to sharing is the paper's merge, going back its split.
"""

from __future__ import annotations

from typing import Any

import cython
import numpy as np

if cython.compiled:
    from cython.cimports.elsinore.trends.engine.sharing.benefit import (
        CUT,
        EVENT,
        GRAPHLET,
        PART,
        SCALED,
        plan_cost,
    )
    from cython.cimports.elsinore.trends.engine.store import Store
    from cython.cimports.elsinore.trends.engine.tables import Program
else:
    from elsinore.trends.engine.sharing.benefit import (
        CUT,
        EVENT,
        GRAPHLET,
        PART,
        SCALED,
        plan_cost,
    )
    from elsinore.trends.engine.store import Store
    from elsinore.trends.engine.tables import Program

NEVER, DYNAMIC, ALWAYS = 0, 1, 2  # modes
FIRST_GUESS = cython.declare(cython.double, 0.5)
_ALWAYS = cython.declare(cython.Py_ssize_t, ALWAYS)
# plans that are compared: none share; those that create no snapshots; as many as pay; all
ALONE = cython.declare(cython.Py_ssize_t, 0)
SNAPSHOT_DRIVEN = cython.declare(cython.Py_ssize_t, 1)
BENEFIT_DRIVEN = cython.declare(cython.Py_ssize_t, 2)
TOGETHER = cython.declare(cython.Py_ssize_t, 3)
PLANS = cython.declare(cython.Py_ssize_t, 4)


def choose(
    events: float, separate: Any, values: Any, created: Any, most_parts: int = 8
) -> tuple[Any, float]:
    """Return which cohorts of queries share a burst, and what that is expected to save.

    Nothing is shared unless that is above 0. The arguments are those of `benefit.plan_cost`, with
    an entry for each cohort.

    - Snapshot-driven pruning: a cohort for which no snapshot is created shares (Theorem 4.1).
    - Benefit-driven pruning: another one shares if leaving it out of the plan in which all share
      costs more (Theorem 4.2).
    - The plan is taken if it costs less than that in which all share, that without the latter
      cohorts, and no sharing.

    So four plans are compared and not all of Figure 7, in O(cohorts). This does not always find the
    cheapest one: Theorem 4.2 holds only if what a cohort adds to a plan's cost does not depend on
    the others. But the first cohort that is left out also pays for its events' steps, which others
    that are left out then have for nothing.

    >>> choose(20.0, np.array([60.0, 6.0]), np.array([9.0, 1.0]), np.array([0.0, 0.0]))[0].tolist()
    [1, 1]
    """
    chosen = np.zeros(len(separate), np.uint8)
    changes, end = min(events, float(sum(created))), len(separate)
    saved = choose_cohorts(
        events, changes, 1.0, separate, values, created, chosen, 0, end, most_parts
    )
    return chosen, saved


def choose_cohorts(
    events: cython.double,
    changes: cython.double,
    scale: cython.double,
    separate: cython.double[::1],
    values: cython.double[::1],
    created: cython.double[::1],
    chosen: cython.uchar[::1],
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    most_parts: cython.double,
) -> cython.double:
    """Do what `choose` does; return what the best plan that shares is expected to save."""
    cohort: cython.Py_ssize_t
    plan: cython.Py_ssize_t
    best: cython.Py_ssize_t = ALONE
    nothing: cython.double = 0.0
    least: cython.double = 0.0
    for plan in range(ALONE, PLANS):
        for cohort in range(begin, end):
            chosen[cohort] = shares(plan, events, scale, separate, values, created, cohort)
        cost: cython.double = plan_cost(
            events, changes, scale, separate, values, created, chosen, begin, end, most_parts
        )
        if plan == ALONE:
            nothing = cost
        elif plan == SNAPSHOT_DRIVEN or cost < least:
            least = cost
            best = plan
    if least >= nothing:
        best = ALONE
    for cohort in range(begin, end):
        chosen[cohort] = shares(best, events, scale, separate, values, created, cohort)
    return nothing - least


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def shares(
    plan: cython.Py_ssize_t,
    events: cython.double,
    scale: cython.double,
    separate: cython.double[::1],
    values: cython.double[::1],
    created: cython.double[::1],
    cohort: cython.Py_ssize_t,
) -> cython.bint:
    """Return whether a cohort shares in one of the plans that are compared."""
    if plan == ALONE or created[cohort] == 0.0:
        return plan != ALONE
    if plan != BENEFIT_DRIVEN:
        return plan == TOGETHER
    shared: cython.double = min(1.0, created[cohort]) * (CUT + events * PART)
    return shared + scale * values[cohort] <= events * scale * (EVENT + separate[cohort])


def decide(
    program: Program,
    store: Store,
    slot: cython.Py_ssize_t,
    number: cython.Py_ssize_t,
    events: cython.double,
) -> cython.double:
    """Choose the cohorts of a set that share a slot's burst of so many events; return the benefit.

    Snapshots are created as often as in earlier bursts.
    """
    begin: cython.Py_ssize_t = program.sets[number].cohorts
    end: cython.Py_ssize_t = program.sets[number].cohorts_end
    cohort: cython.Py_ssize_t
    saved: cython.double
    if begin == end:
        return 0.0
    scale: cython.double = SCALED if store.slots[slot].scaled else 1.0
    ended: cython.double = store.counts[number].ended + 1.0
    units: cython.Py_ssize_t = program.sets[number].units_end - program.sets[number].units
    put_in: cython.double = min(
        1.0, (store.counts[number].put_in / units + FIRST_GUESS) / ended
    )  # of the units, those whose values are put in after a burst
    if end == begin + 1:  # all share, or none does
        saved = events * (scale * (EVENT + program.separate[begin]) - PART)
        saved -= scale * (GRAPHLET + put_in * program.values[begin])
        store.chosen[begin] = saved > 0.0
    else:
        observed: cython.double = max(store.counts[number].observed, 1.0)
        taken: cython.double = store.counts[number].taken / observed
        for cohort in range(begin, end):
            store.created[cohort] = events * store.differing[cohort] / observed
            store.separate[cohort] = taken * program.separate[cohort]
            store.put_prices[cohort] = put_in * program.values[cohort]
        saved = choose_cohorts(
            events,
            events * store.counts[number].changes / observed,
            scale,
            store.separate,
            store.put_prices,
            store.created,
            store.chosen,
            begin,
            end,
            program.sets[number].parts_end - program.sets[number].parts,
        )
    if store.mode == _ALWAYS:
        for cohort in range(begin, end):
            store.chosen[cohort] = 1
    return saved


def decide_often(program: Program, store: Store, times: int) -> None:
    """Decide so many times, to measure how long that takes."""
    for turn in range(times):
        decide(program, store, 0, turn % program.sets.shape[0], 20.0)
