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

EVENT = cython.declare(cython.double, 16.0)  # an event acts on the cells of a step
CELL = cython.declare(cython.double, 1.0)
GRAPHLET = cython.declare(cython.double, 40.0)  # a shared graphlet begins and ends
VALUE = cython.declare(cython.double, 1.2)  # the snapshot's value is put into a cell
PART = cython.declare(cython.double, 6.0)  # an event moves the total of a part
CUT = cython.declare(cython.double, 30.0)  # a snapshot is created at an event
LOOK_UP = cython.declare(cython.double, 0.5)  # the part of a cohort, where events differ
SCALED = cython.declare(cython.double, 6.0)  # times what the first four cost, of great numbers


def cell_price(cells: int) -> float:
    """Return the price of an event for cells, beside that of the step that acts on them."""
    return CELL * cells


def value_price(cells: int) -> float:
    """Return the price of putting a snapshot's values into cells."""
    return VALUE * cells


def cost_of_plan(
    events: float,
    separate: Any,
    values: Any,
    created: Any,
    chosen: NDArray[np.uint8],
    most_parts: int = 8,
) -> float:
    """Return the cost of a burst of `events` if the `chosen` cohorts share it; see `plan_cost`.

    >>> one = np.ones(1)
    >>> cost_of_plan(10.0, one, one, one, np.zeros(1, np.uint8))
    170.0
    """
    changes = min(events, float(sum(created)))
    return plan_cost(
        events, changes, 1.0, separate, values, created, chosen, 0, len(chosen), most_parts
    )


def plan_cost(
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
    """Return the cost of a burst if the `chosen` ones of cohorts `begin` to before `end` share it.

    events: b, of which so many `changes` are taken by other cohorts than the one before; scale:
    SCALED if numbers are so great that they have powers, else 1. A snapshot that is created at an
    event is a part more, which later events propagate. A cohort leaves the others once; but if the
    parts are too many, their values are put in, and it may leave them again.
    """
    shared: cython.double = 0.0
    alone: cython.double = 0.0
    parts: cython.double = 1.0
    sharing: cython.Py_ssize_t = 0
    cohort: cython.Py_ssize_t
    for cohort in range(begin, end):
        if chosen[cohort]:
            sharing += 1
            parts += min(1.0, created[cohort])
            shared += values[cohort]
        else:
            alone += separate[cohort]
    cost: cython.double = 0.0
    if sharing > 0:
        cuts: cython.double = parts - 1.0
        graphlets: cython.double = 1.0
        if parts > most_parts:
            parts = most_parts
            cuts = changes
            graphlets += cuts / most_parts
        cost += (
            graphlets * scale * (GRAPHLET * (1.0 + parts) / 2.0 + shared) + events * PART * parts
        )
        cost += CUT * cuts + LOOK_UP * changes * sharing
    if sharing < end - begin:
        cost += events * scale * (EVENT + alone)
    return cost
