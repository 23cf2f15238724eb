# cython: infer_types=True
"""The windows of a key, one after another.

Without SLIDE a window of `within` begins with each event that may begin a match. With SLIDE a match
is returned for each window that contains it. A match is returned when its last event is new; if it
ends with NOT, when its window has passed. If times are uncertain, a window relative to a match is
looked at as it grows (`elsinore.matches.engine.worlds`). A row in collapsed form is returned when
its window has passed: `due_windows` lists those that are due.
"""

from __future__ import annotations

from collections.abc import Sequence

import cython
import numpy as np

from elsinore.matches.arrays import Bools, Ints, Keys
from elsinore.matches.engine.codes import MOMENT, TIME, Index, Strategy
from elsinore.matches.engine.graph import build, may_begin
from elsinore.matches.engine.tables import FOREVER as _FOREVER
from elsinore.matches.engine.tables import Program, Search
from elsinore.model.window import first_window, last_window

FOREVER = cython.declare(cython.longlong, _FOREVER)


@cython.nogil
def first_at(
    search: Search, begin: cython.longlong, end: cython.longlong, value: cython.longlong
) -> cython.longlong:
    """Return the first row from `begin` to `end` with a time of at least `value`, else `end`."""
    while begin < end:
        middle: Index = (begin + end) // 2
        if search.values.integers[TIME, middle] < value:
            begin = middle + 1
        else:
            end = middle
    return begin


@cython.nogil
def floor_divided(value: cython.longlong, by: cython.longlong) -> cython.longlong:
    """Return a quotient rounded down; `by` is positive."""
    if value >= 0:
        return value // by
    return -((by - 1 - value) // by)


@cython.nogil
def leave_key(search: Search) -> cython.void:
    """Continue with the next key."""
    search.key += 1
    search.is_new = 1
    search.from_event = 0
    search.last = 0
    search.event_count = -1


@cython.nogil
def next_window(program: Program, search: Search) -> cython.bint:
    """Set the window that is searched next; return whether there is one.

    That is the current one as long as events in it may begin matches.
    """
    if search.event_count == 0:
        return False
    if not search.is_new and search.begin < search.begin_end:
        return True
    if search.slide > 0:
        return next_slide(program, search)
    if search.within >= 0 and not program.is_uncertain:
        return next_from_event(program, search)
    if not search.is_new:
        return False
    if (
        search.within < 0
        and program.is_deferred
        and not program.decides_early
        and search.keys[search.key].reached != FOREVER
    ):
        return False
    search.is_new = 0
    search.window_number = 0
    search.begin = 0
    search.begin_end = search.event_count
    search.last = search.event_count - 1
    search.lowest = 0
    search.highest = search.keys[search.key].end_row - 1
    return True


@cython.nogil
def next_from_event(program: Program, search: Search) -> cython.bint:
    """Set the window that begins with the next event that may begin a match."""
    begin: Index = 0 if search.is_new else search.begin
    last: Index = search.last
    search.is_new = 0
    search.window_number = 0
    search.lowest = -1
    while begin < search.event_count:
        end: cython.longlong = search.events[begin].time + search.within
        over: cython.longlong = search.events[begin].time if program.decides_early else end
        if program.is_deferred and over >= search.keys[search.key].reached:
            break
        last = max(last, begin)
        while last + 1 < search.event_count and search.events[last + 1].time <= end:
            last += 1
        if search.built < last:
            until: Index = last  # farther, so that it is not built for each beginning
            while until + 1 < search.event_count and (
                search.events[until + 1].time - end <= search.within
            ):
                until += 1
            build(program, search, begin, until)
        if may_begin(program, search, begin):
            wanted: cython.bint = search.events[last].row >= search.fresh
            if program.is_deferred:
                wanted = end >= search.keys[search.key].passed
            if wanted:
                search.begin = begin
                search.begin_end = begin + 1
                search.last = last
                if program.is_deferred:
                    end_row: Index = search.keys[search.key].end_row
                    row: Index = search.events[last].row
                    search.highest = first_at(search, row, end_row, end + 1) - 1
                if search.all_rows:
                    search.lowest = 0
                    search.highest = search.keys[search.key].end_row - 1
                return True
        begin += 1
    search.begin = begin
    search.begin_end = begin
    return False


@cython.nogil
def next_slide(program: Program, search: Search) -> cython.bint:
    """Set the next window of those that SLIDE lays out."""
    number: Index = search.window_number + 1
    first: Index = search.from_event
    last: Index
    longest: cython.longlong = search.worlds.longest if program.is_uncertain else 0
    if search.is_new:
        number = first_number(search, search.events[0].time)
    search.is_new = 0
    while True:
        start: cython.longlong = search.origin + number * search.slide
        end: cython.longlong = start + search.within
        while first < search.event_count and search.events[first].time < start - longest:
            first += 1
        if first == search.event_count:
            break
        over: cython.longlong = start + 1 if program.decides_early else end
        if program.is_deferred and over > search.keys[search.key].reached:
            break
        if search.events[first].time >= end:  # an empty window: skip to the first with the event
            number = first_number(search, search.events[first].time)
            continue
        last = first
        while last + 1 < search.event_count and search.events[last + 1].time < end:
            last += 1
        wanted: cython.bint = search.events[last].row >= search.fresh
        if program.is_deferred:
            wanted = end > search.keys[search.key].passed
        if wanted:
            search.window_number = number
            search.from_event = first
            search.begin = first
            search.begin_end = last + 1
            search.last = last
            if program.is_uncertain:
                search.worlds.window_begin = start
                search.worlds.window_end = end - 1
                return True
            end_row: Index = search.keys[search.key].end_row
            low: Index = first_at(search, search.first_row, end_row, start)
            search.lowest = search.values.integers[MOMENT, low]
            search.highest = first_at(search, low, end_row, end) - 1
            if program.strategy == Strategy.ANY:
                build(program, search, first, last)
            return True
        number += 1
    search.begin = 0
    search.begin_end = 0
    return False


@cython.nogil
def first_number(search: Search, time: cython.longlong) -> cython.longlong:
    """Return the number of the first window that contains a time."""
    return floor_divided(time - search.within - search.origin, search.slide) + 1


@cython.nogil
def first_event(search: Search, begin: Index, time: cython.longlong) -> Index:
    """Return the first event from `begin` on whose earliest time is at least `time`."""
    end: Index = search.event_count
    while begin < end:
        middle: Index = (begin + end) // 2
        if search.events[middle].time < time:
            begin = middle + 1
        else:
            end = middle
    return begin


def due_windows(wholes: Ints, keys: Keys, window: Sequence[int], begins: Bools) -> Ints:
    """Return the windows that have ended since the last call, one for each event in them.

    The event may begin a match (`begins`). Columns: its row, the window's number, the
    last row of the window, and the first row of the key.
    """
    within, slide, origin = window
    rows = np.flatnonzero(begins)
    times = wholes[TIME, rows]
    numbers = np.zeros(len(rows), np.int64)
    until = np.full(len(rows), FOREVER - 1) if within < 0 else times + within
    if slide > 0:
        first = first_window(times, within, slide, origin)
        counts = np.maximum(last_window(times, slide, origin) + 1 - first, 0)
        place = np.repeat(np.arange(len(rows)), counts)
        rows = rows[place]
        numbers = np.arange(len(rows)) - (np.cumsum(counts) - counts - first)[place]
        until = origin + numbers * slide + within - 1
    key = np.searchsorted(keys.first_row, rows, side="right") - 1
    is_due = (until >= keys.passed[key]) & (until < keys.reached[key])
    rows, numbers, until, key = (column[is_due] for column in (rows, numbers, until, key))
    begin, end = rows, keys.end_row[key]
    while np.any(begin < end):  # of rows up to the end of the window
        middle = (begin + end) // 2
        is_before = (begin < end) & (wholes[TIME].take(middle, mode="clip") <= until)
        end = np.where(is_before, end, np.minimum(middle, end))
        begin = np.where(is_before, middle + 1, begin)
    return np.stack([rows, numbers, begin - 1, keys.first_row[key]], axis=1)
