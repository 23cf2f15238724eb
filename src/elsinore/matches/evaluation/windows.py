# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Going on from key to key, as `elsinore.matches.scan` does, for other evaluations."""

from __future__ import annotations

from elsinore.kernels import kernel
from elsinore.matches.arrays import Ints
from elsinore.matches.keyed import END_ROW, FIRST_ROW, NEW_ROW
from elsinore.matches.reach import ROW, gather
from elsinore.matches.scan import FIRST_CALL
from elsinore.matches.search import (
    BEGIN,
    EVENTS,
    FIRST,
    FRESH,
    FROM,
    LAST,
    SEGMENT,
    WAYS_TO,
    WINDOW,
)

DEFERRED = 4  # a place in the header of `tables`


@kernel(borrows=True)
def events_of_key(tables: Ints, integers: Ints, keys: Ints, events: Ints, progress: Ints) -> int:
    """Return how many relevant events the key has; gather them where that was not done yet.

    None count where no match can end with a new event.
    """
    if progress[EVENTS] >= 0:
        return progress[EVENTS]
    key = progress[SEGMENT]
    progress[FIRST], progress[FRESH] = keys[key, FIRST_ROW], keys[key, NEW_ROW]
    if tables[DEFERRED] == 1:
        progress[FRESH] = 0
    count = gather(
        tables, integers, keys[key, FIRST_ROW], keys[key, END_ROW], progress[FRESH], events
    )
    if count > 0 and events[count - 1, ROW] < progress[FRESH]:
        count = 0
    progress[EVENTS] = count
    return count


@kernel(borrows=True)
def leave_key(progress: Ints) -> None:
    """Go on to the next key."""
    progress[SEGMENT] += 1
    progress[WINDOW], progress[BEGIN] = FIRST_CALL, FIRST_CALL
    progress[FROM], progress[LAST], progress[WAYS_TO] = 0, 0, -1
    progress[EVENTS] = -1
