# cython: infer_types=True
"""The windows of a key, one after another.

Without SLIDE a window of `within` begins with each event that may begin a match. With SLIDE a match
is returned for each window that contains it. A match is returned when its last event is new; if it
ends with NOT, when its window has passed. If times are uncertain, each event that may begin a match
is searched alone, in each window that SLIDE lays out. A row in collapsed form is returned when its
window has passed: `list_windows` lists those that are due.
"""

from __future__ import annotations

from collections.abc import Sequence

import cython
import numpy as np

from elsinore.matches.arrays import Bools, Ints, Keys
from elsinore.matches.engine.codes import (
    BEGINS,
    ENDS,
    KEY_FIRST,
    MOMENT,
    TIME,
    WINDOW,
    Index,
    Strategy,
)
from elsinore.matches.engine.graph import build, may_begin
from elsinore.matches.engine.possible import FAR as _FAR
from elsinore.matches.engine.tables import FOREVER as _FOREVER
from elsinore.matches.engine.tables import Program, Search, values_alone

FOREVER = cython.declare(cython.longlong, _FOREVER)
FAR = cython.declare(cython.longlong, _FAR)
WINDOW_COLUMNS = 4  # of windows that are due


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
    if program.is_uncertain:
        return next_beginning(search)
    if search.slide > 0:
        return next_slide(program, search)
    if search.within >= 0:
        return next_from_event(program, search)
    if not search.is_new:
        return False
    if (
        program.is_deferred
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
    if search.is_new:
        number = first_number(search, search.events[0].time)
    search.is_new = 0
    while True:
        start: cython.longlong = search.origin + number * search.slide
        end: cython.longlong = start + search.within
        while first < search.event_count and search.events[first].time < start:
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
            end_row: Index = search.keys[search.key].end_row
            low: Index = first_at(search, search.first_row, end_row, start)
            search.window_number = number
            search.lowest = search.values.integers[MOMENT, low]
            search.highest = first_at(search, low, end_row, end) - 1
            search.from_event = first
            search.begin = first
            search.begin_end = last + 1
            search.last = last
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


@cython.nogil
def next_beginning(search: Search) -> cython.bint:
    """Set the window, and the event in it that a match is to begin with; return whether one is."""
    search.last = search.event_count - 1
    if search.is_new:
        search.is_new = 0
        search.begin = 0
        search.window_number = 0
        search.worlds.window_begin = -FAR
        search.worlds.window_end = FAR
        search.worlds.within = search.within
        if search.slide > 0:
            set_window(search, first_number(search, search.events[0].time))
    while True:
        if (
            search.begin < search.event_count
            and search.events[search.begin].time <= search.worlds.window_end
        ):
            search.begin_end = search.begin + 1
            return True
        if search.slide == 0:
            return False
        number: Index = search.window_number + 1
        start: cython.longlong = search.origin + number * search.slide
        search.begin = first_event(search, 0, start - search.worlds.longest)
        if search.begin == search.event_count:
            return False
        time: cython.longlong = search.events[search.begin].time
        if time >= start + search.within:  # an empty window: skip to the first with the event
            number = first_number(search, time)
        set_window(search, number)


@cython.nogil
def set_window(search: Search, number: Index) -> cython.void:
    """Set the number of the window that SLIDE lays out, and its first and last time."""
    search.window_number = number
    search.worlds.window_begin = search.origin + number * search.slide
    search.worlds.window_end = search.worlds.window_begin + search.within - 1
    search.worlds.within = -1


def list_windows(
    search: Search, begins: cython.const_uchar[::1], rows: cython.longlong[:, ::1]
) -> int:
    """Fill `rows` with the windows that have ended since the last call.

    There is one for each event of the window that may begin a match (`begins`). Returns their
    number, also if `rows` has no room for them.
    """
    count: Index = 0
    with cython.nogil:
        while search.key < search.keys.shape[0]:
            first_row: Index = search.keys[search.key].first_row
            end_row: Index = search.keys[search.key].end_row
            for row in range(first_row, end_row):
                if not begins[row]:
                    continue
                time: cython.longlong = search.values.integers[TIME, row]
                number: Index = 0
                start: cython.longlong = time
                if search.slide > 0:
                    number = first_number(search, time)
                    start = search.origin + number * search.slide
                while start <= time:
                    until: cython.longlong = FOREVER - 1
                    if search.within >= 0:
                        until = start + search.within - (1 if search.slide > 0 else 0)
                    if until >= search.keys[search.key].reached:
                        break
                    if until >= search.keys[search.key].passed:
                        if count < rows.shape[0]:
                            rows[count, BEGINS] = row
                            rows[count, WINDOW] = number
                            rows[count, ENDS] = first_at(search, row, end_row, until + 1) - 1
                            rows[count, KEY_FIRST] = first_row
                        count += 1
                    if search.slide == 0:
                        break
                    number += 1
                    start += search.slide
            search.key += 1
    return count


def due_windows(
    search: Search, wholes: Ints, keys: Keys, window: Sequence[int], begins: Bools
) -> Ints:
    """Return the windows that have ended since the last call, one for each event in them.

    The event may begin a match (`begins`). Columns: its row, the window's number, the
    last row of the window, and the first row of the key.
    """
    values = values_alone(np.zeros((0, 0)), wholes)
    rows = np.empty((int(np.count_nonzero(begins)), WINDOW_COLUMNS), np.int64)
    while True:
        search.begin_at(values, keys, *window)
        count = list_windows(search, begins.view(np.uint8), rows)
        if count <= len(rows):
            return rows[:count]
        rows = np.empty((count, WINDOW_COLUMNS), np.int64)
