# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""What an event adds to a sum of the trends that it joins, and what it is in an order."""

from __future__ import annotations

from typing import Any

import numpy as np

from elsinore.trends.core.arrays import FOREVER
from elsinore.trends.wide import wide_kernel

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
    value = events.values[attribute, row]
    if events.present[attribute, row] == 0 or np.isnan(value):
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
