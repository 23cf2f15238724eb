# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Iterating over keys, and over the windows of a key.

`keys` [key] says where its rows begin and end, which is the first new one, and the times that were
(`PASSED`) and are (`REACHED`) known to be over: no event at or before them comes any more.

A window relative to the match, of `progress[WITHIN]` time units, begins with its first event. With
SLIDE a match is given out for each window that holds it. A match is given out when its last event
is new; where its end is a NOT, when its window has passed.
"""

from __future__ import annotations

import numpy as np

from benchmarks.evaluations.checks import (
    ALL_ROWS,
    BEGIN,
    EVENTS,
    FIRST,
    FRESH,
    FROM,
    HIGHEST,
    LAST,
    LOWEST,
    MOMENT,
    ORIGIN,
    SEGMENT,
    SLIDE,
    TIME,
    UNTO,
    WAYS_TO,
    WINDOW,
    WITHIN,
)
from benchmarks.evaluations.checks import COUNTED as GIVEN
from benchmarks.evaluations.kernels import kernel
from benchmarks.evaluations.reach import ALIVE, NEXT_AT, ROW, gather
from benchmarks.evaluations.rows import first_at, first_window
from elsinore.matches.arrays import EVER, Ints, Keys

DEFERRED = 4  # a place in the header of `tables`
NO_WINDOW = -1  # in progress[WITHIN]: the whole stream is one window
FIRST_CALL = -(2**62)  # in progress[WINDOW], progress[BEGIN]: at a key's beginning

# columns of the rows of keys
FIRST_ROW, END_ROW, NEW_ROW, PASSED, REACHED = range(5)


def columns_of(keys: Keys) -> Ints:
    """Return the fields of keys as columns of integers."""
    return np.asarray(keys).view(np.int64).reshape(len(keys), -1)


@kernel
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
    count = 0
    if progress[FRESH] < keys[key, END_ROW]:
        count = gather(
            tables, integers, keys[key, FIRST_ROW], keys[key, END_ROW], progress[FRESH], events
        )
    if count > 0 and events[count - 1, ROW] < progress[FRESH]:
        count = 0
    progress[EVENTS] = count
    return count


@kernel
def leave_key(progress: Ints) -> None:
    """Go on to the next key."""
    progress[SEGMENT] += 1
    progress[WINDOW], progress[BEGIN] = FIRST_CALL, FIRST_CALL
    progress[FROM], progress[LAST], progress[WAYS_TO] = 0, 0, -1
    progress[EVENTS] = -1


@kernel
def next_window(
    tables: Ints, integers: Ints, keys: Ints, events: Ints, count: int, progress: Ints
) -> bool:
    """Set the window that is searched next; return whether there is one.

    Sets FROM and LAST, its first and last events; BEGIN and UNTO, the events that matches begin
    with; LOWEST and HIGHEST, the first moment (below 0: it depends on the match) and the last row
    where a NOT is looked for. A window that is under way is not left.
    """
    if count == 0:
        return False
    is_first = progress[BEGIN] == FIRST_CALL
    if not is_first and progress[BEGIN] <= progress[UNTO]:
        return True
    progress[GIVEN] = 0
    if progress[SLIDE] > 0:
        return next_slide(tables, integers, keys, events, count, progress)
    if progress[WITHIN] != NO_WINDOW:
        return next_from_event(tables, integers, keys, events, count, progress)
    key = progress[SEGMENT]
    if not is_first or (tables[DEFERRED] == 1 and keys[key, REACHED] != EVER):
        return False
    progress[BEGIN], progress[UNTO], progress[LAST] = 0, count - 1, count - 1
    progress[LOWEST], progress[HIGHEST], progress[WINDOW] = 0, keys[key, END_ROW] - 1, 0
    return True


@kernel
def next_from_event(
    tables: Ints, integers: Ints, keys: Ints, events: Ints, count: int, progress: Ints
) -> bool:
    """Set the window, as `next_window` does, that begins with the next event to begin a match.

    If progress[ALL_ROWS] is 1, a NOT is looked for among all rows of the key.
    """
    key, within, deferred = progress[SEGMENT], progress[WITHIN], tables[DEFERRED] == 1
    begin = 0 if progress[BEGIN] == FIRST_CALL else progress[BEGIN]
    progress[WINDOW], progress[LOWEST] = 0, -1
    last, begins = progress[LAST], tables[tables[NEXT_AT]]
    while begin < count:
        time = integers[TIME, events[begin, ROW]]
        if deferred and time + within >= keys[key, REACHED]:
            return False
        if events[begin, ALIVE] & begins == 0:
            begin += 1
            continue
        last = max(last, begin)
        while last + 1 < count and integers[TIME, events[last + 1, ROW]] - time <= within:
            last += 1
        wanted = events[last, ROW] >= progress[FRESH]
        if deferred:
            wanted = time + within >= keys[key, PASSED]
        if wanted:
            progress[BEGIN], progress[UNTO], progress[LAST] = begin, begin, last
            if deferred:
                end = keys[key, END_ROW]
                row = first_at(integers, events[last, ROW], end, time + within + 1)
                progress[HIGHEST] = row - 1
            if progress[ALL_ROWS] == 1:
                progress[LOWEST], progress[HIGHEST] = 0, keys[key, END_ROW] - 1
            return True
        begin += 1
    return False


@kernel
def next_slide(
    tables: Ints, integers: Ints, keys: Ints, events: Ints, count: int, progress: Ints
) -> bool:
    """Set the window, as `next_window` does, that is the next of those that SLIDE lays out."""
    within, slide, origin = progress[WITHIN], progress[SLIDE], progress[ORIGIN]
    key, deferred, first = progress[SEGMENT], tables[DEFERRED] == 1, progress[FROM]
    number = progress[WINDOW] + 1
    if progress[BEGIN] == FIRST_CALL:
        number = first_window(integers[TIME, events[0, ROW]], within, slide, origin)
    while True:
        start = origin + number * slide
        while first < count and integers[TIME, events[first, ROW]] < start:
            first += 1
        if first == count or (deferred and start + within > keys[key, REACHED]):
            return False
        time = integers[TIME, events[first, ROW]]
        if time >= start + within:  # nothing in it: go on to the first window that has the event
            number = first_window(time, within, slide, origin)
            continue
        last = first
        while last + 1 < count and integers[TIME, events[last + 1, ROW]] < start + within:
            last += 1
        wanted = events[last, ROW] >= progress[FRESH]
        if deferred:
            wanted = start + within > keys[key, PASSED]
        if wanted:
            break
        number += 1
    low = first_at(integers, progress[FIRST], keys[key, END_ROW], start)
    progress[WINDOW], progress[LOWEST] = number, integers[MOMENT, low]
    progress[HIGHEST] = first_at(integers, low, keys[key, END_ROW], start + within) - 1
    progress[FROM], progress[BEGIN], progress[UNTO], progress[LAST] = first, first, last, last
    progress[WAYS_TO] = -1
    return True
