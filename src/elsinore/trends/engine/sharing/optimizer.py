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
    from cython.cimports.elsinore.trends.engine.sharing.benefit import CUT, EVENT, PART, plan_cost
    from cython.cimports.elsinore.trends.engine.store import Store
    from cython.cimports.elsinore.trends.engine.tables import Program
else:
    from elsinore.trends.engine.sharing.benefit import CUT, EVENT, PART, plan_cost
    from elsinore.trends.engine.store import Store
    from elsinore.trends.engine.tables import Program

NEVER, DYNAMIC, ALWAYS = 0, 1, 2  # modes
_ALWAYS = cython.declare(cython.Py_ssize_t, ALWAYS)


def choose(
    events: float,
    separate: Any,
    values: Any,
    created: Any,
    most_parts: int = 8,
) -> tuple[Any, float]:
    """Return which cohorts of queries share a burst, and what that is expected to save.

    Nothing is shared unless that is above 0.
    The arguments are those of `benefit.plan_cost`, with an entry for each cohort.

    - Snapshot-driven pruning: a cohort for which no snapshot is created shares (Theorem 4.1).
    - Benefit-driven pruning: another one shares if leaving it out of the plan in which all share
      costs more (Theorem 4.2).
    - The plan is taken if it costs less than that without the latter cohorts, and than no sharing.

    So O(cohorts) plans are looked at and not all of Figure 7. This does not always find the
    cheapest one: Theorem 4.2 holds only if what a cohort adds to a plan's cost does not depend on
    the others. But the first cohort that is left out also pays for its events' steps, which others
    that are left out then have for nothing.

    >>> choose(20.0, np.array([60.0, 6.0]), np.array([9.0, 1.0]), np.array([0.0, 0.0]))[0].tolist()
    [1, 1]
    """
    chosen = np.zeros(len(separate), np.uint8)
    saved = choose_cohorts(events, separate, values, created, chosen, 0, len(separate), most_parts)
    return chosen, saved


def choose_cohorts(
    events: cython.double,
    separate: cython.double[::1],
    values: cython.double[::1],
    created: cython.double[::1],
    chosen: cython.uchar[::1],
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    most_parts: cython.Py_ssize_t,
) -> cython.double:
    """Do what `choose` does; return what the best plan that shares is expected to save."""
    cohort: cython.Py_ssize_t
    for cohort in range(begin, end):
        chosen[cohort] = 0
    nothing: cython.double = plan_cost(events, separate, values, created, chosen, begin, end)
    for cohort in range(begin, end):
        chosen[cohort] = created[cohort] == 0.0
    few: cython.double = plan_cost(events, separate, values, created, chosen, begin, end)
    joining: cython.Py_ssize_t = 0
    for cohort in range(begin, end):
        if created[cohort] > 0.0:
            shared: cython.double = values[cohort] + created[cohort] * (CUT + events * PART)
            chosen[cohort] = shared <= events * (EVENT + separate[cohort])
            joining += chosen[cohort]
    many: cython.double = plan_cost(events, separate, values, created, chosen, begin, end)
    if joining > 0 and (joining >= most_parts or many > few):
        for cohort in range(begin, end):
            chosen[cohort] = created[cohort] == 0.0
        many = few
    if many >= nothing:
        for cohort in range(begin, end):
            chosen[cohort] = 0
    return nothing - many


def decide(
    program: Program,
    store: Store,
    number: cython.Py_ssize_t,
    events: cython.double,
) -> cython.double:
    """Choose the cohorts of a set that share a burst of so many events; return the benefit.

    Snapshots are created as often as in earlier bursts; nothing is shared before there was one.
    """
    begin: cython.Py_ssize_t = program.sets[number].cohorts
    end: cython.Py_ssize_t = program.sets[number].cohorts_end
    cohort: cython.Py_ssize_t
    observed: cython.double = max(store.counts[number].observed, 1.0)
    for cohort in range(begin, end):
        store.created[cohort] = min(1.0, events * store.differing[cohort] / observed)
    saved: cython.double = choose_cohorts(
        events,
        program.separate,
        program.values,
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
        decide(program, store, turn % program.sets.shape[0], 20.0)
