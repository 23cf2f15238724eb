"""What sharing a burst saves (HAMLET, Definition 12), by prices measured once, in nanoseconds.

A plan for a burst says which cohorts of a sharing set share it, of all that could (Figure 7). With
the symbols of the paper's Table 2, its cost is

    Shared      s_c * k * g * p + b * (log2(g) + n * s_p)
    NonShared   k * b * (log2(g) + n)

Here n = g = 1, as an event reads one row of sums and not each earlier event. What is left of k is
the number of cells, that is sums of all queries in all open windows: `separate[c]` is the price of
an event for the cells of a cohort, `values[c]` that of putting in the snapshot's values for them.
Snapshots at events (s_c and s_p) cost nothing beside that: each cohort has a growth of its own,
which an event moves, whether others take it or not (`elsinore.trends.engine.sharing.graphlets`).
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
PART = cython.declare(cython.double, 6.0)  # an event joins a shared graphlet
EDGE = cython.declare(cython.double, 12.0)  # an event is compared: a cell of the rows it follows
GROWTH = cython.declare(cython.double, 0.7)  # ... and moves the growth of a cohort
SCALED = cython.declare(cython.double, 6.0)  # times what the first four cost, of great numbers


def cell_price(cells: int) -> float:
    """Return the price of an event for cells, beside that of the step that acts on them."""
    return CELL * cells


def value_price(cells: int) -> float:
    """Return the price of putting a snapshot's values into cells."""
    return VALUE * cells


def cost_of_plan(events: float, separate: Any, values: Any, chosen: NDArray[np.uint8]) -> float:
    """Return the cost of a burst of `events` if the `chosen` cohorts share it; see `price`.

    >>> one = np.ones(1)
    >>> cost_of_plan(10.0, one, one, np.zeros(1, np.uint8))
    170.0
    """
    shares = np.asarray(chosen, np.bool_)
    sharing, values_in = int(shares.sum()), float(values[shares].sum())
    return price(events, 1.0, sharing, values_in, len(shares) - sharing, separate[~shares].sum())


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
