# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""What an event adds to a sum of the trends that it joins, and what it is in an order."""

from __future__ import annotations

from typing import Any

import numpy as np

from elsinore.trends.core.arrays import FOREVER
from elsinore.trends.core.wide import wide_kernel

# what an event adds to a sum: nothing, one, or of addend column a (of `TrendUnit.addends`) the
# number (VALUE + 2a) or whether there is one (VALUE + 2a + 1)
NOTHING, ONE, VALUE = 0, 1, 2


@wide_kernel(linked=True)
def addend(events: Any, row: int, what: int) -> float:
    """Return what an event adds to a sum for each trend that holds it.

    events: with the columns of `elsinore.trends.keyed.KeyedEvents`.
    """
    if what == NOTHING:
        return 0.0
    if what == ONE:
        return 1.0
    attribute = (what - VALUE) >> 1
    return _added(events.values[attribute, row], events.present[attribute, row], what)


@wide_kernel(linked=True)
def addend_at(columns: Any, rows: int, row: int, what: int) -> float:
    """Return what `addend` does, where columns of so many rows stand one after another."""
    if what == NOTHING:
        return 0.0
    if what == ONE:
        return 1.0
    place = ((what - VALUE) >> 1) * rows + row
    return _added(columns.values[place], columns.present[place], what)


@wide_kernel(linked=True)
def _added(value: float, present: int, what: int) -> float:
    """Return a number as it is asked for, or whether there is one."""
    if present == 0 or np.isnan(value):
        return 0.0
    return 1.0 if (what - VALUE) & 1 == 1 else value


@wide_kernel(linked=True)
def rank_of(events: Any, row: int, ranked: int) -> int:
    """Return an event's rank by column a (2a), inverted for the greatest (2a + 1).

    FOREVER where it has none, or `ranked` is below 0.
    """
    if ranked < 0 or events.ordered[ranked >> 1, row] == 0:
        return FOREVER
    rank = events.orders[ranked >> 1, row]
    return ~rank if ranked & 1 == 1 else rank


@wide_kernel(linked=True)
def rank_at(columns: Any, rows: int, row: int, ranked: int) -> int:
    """Return what `rank_of` does, where columns of so many rows stand one after another."""
    place = (ranked >> 1) * rows + row
    if ranked < 0 or columns.ordered[place] == 0:
        return FOREVER
    return ~columns.orders[place] if ranked & 1 == 1 else columns.orders[place]
