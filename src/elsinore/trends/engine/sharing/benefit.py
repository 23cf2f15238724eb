"""What sharing a burst saves (HAMLET, Definition 12), by prices measured once, in nanoseconds.

A plan for a burst says which cohorts of a sharing set share it, of all that could (Figure 7). With
the symbols of the paper's Table 2, its cost is

    Shared      s_c * k * g * p + b * (log2(g) + n * s_p)
    NonShared   k * b * (log2(g) + n)

Here n = g = 1, as an event reads one row of sums and not each earlier event. What is left of k is
the number of cells, that is sums of all queries in all open windows: `separate[c]` is the price of
an event for the cells of a cohort, `values[c]` that of putting in the snapshot's values for them,
and `created[c]` how many snapshots a burst's events are expected to create for the cohort.
"""

from __future__ import annotations

from typing import Any

import cython
import numpy as np
from numpy.typing import NDArray

EVENT = cython.declare(cython.double, 20.0)  # an event acts on the cells of a step
CELL = cython.declare(cython.double, 0.6)
GRAPHLET = cython.declare(cython.double, 60.0)  # a shared graphlet begins and ends
PART = cython.declare(cython.double, 6.0)  # an event moves the total of a part
CUT = cython.declare(cython.double, 40.0)  # a snapshot is created at an event
VALUE = cython.declare(cython.double, 1.2)  # the snapshot's value is put into a cell


def event_price(steps: int, cells: int) -> float:
    """Return the price of an event that acts on cells, in so many steps."""
    return EVENT * steps + CELL * cells


def value_price(cells: int) -> float:
    """Return the price of putting a snapshot's values into cells."""
    return VALUE * cells


def cost_of_plan(
    events: float, separate: Any, values: Any, created: Any, chosen: NDArray[np.uint8]
) -> float:
    """Return the cost of a burst of `events` if the `chosen` cohorts share it.

    >>> one = np.ones(1)
    >>> cost_of_plan(10.0, one, one, one, np.zeros(1, np.uint8))
    210.0
    """
    return plan_cost(events, separate, values, created, chosen, 0, len(chosen))


def plan_cost(
    events: cython.double,
    separate: cython.double[::1],
    values: cython.double[::1],
    created: cython.double[::1],
    chosen: cython.uchar[::1],
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
) -> cython.double:
    """Return the cost of a burst if the `chosen` ones of cohorts `begin` to before `end` share it.

    events: b. A snapshot that is created at an event is one more that later events propagate.
    """
    shared: cython.double = 0.0
    alone: cython.double = 0.0
    propagated: cython.double = 1.0
    sharing: cython.Py_ssize_t = 0
    cohort: cython.Py_ssize_t
    for cohort in range(begin, end):
        if chosen[cohort]:
            sharing += 1
            propagated += created[cohort]
            shared += values[cohort] + CUT * created[cohort]
        else:
            alone += separate[cohort]
    cost: cython.double = 0.0
    if sharing > 0:
        cost += GRAPHLET + shared + events * PART * propagated
    if sharing < end - begin:
        cost += events * (EVENT + alone)
    return cost
