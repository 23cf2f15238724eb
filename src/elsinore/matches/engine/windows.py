"""From window to window of a key.

Without SLIDE a window of `within` begins with each event that may begin a match. With SLIDE a match
is returned for each window that contains it. A match is returned when its last event is new; if it
ends with NOT, when its window has passed. If times are uncertain, each event that may begin a match
is searched alone, in each window that SLIDE lays out.
"""

from __future__ import annotations

import cython

from elsinore.matches.engine.codes import MOMENT, TIME, Strategy
from elsinore.matches.engine.graph import build, may_begin
from elsinore.matches.engine.possible import FAR as _FAR
from elsinore.matches.engine.possible import Worlds
from elsinore.matches.engine.tables import FOREVER as _FOREVER
from elsinore.matches.engine.tables import Graph, Match, Program, Values, Window

FOREVER = cython.declare(cython.longlong, _FOREVER)
FAR = cython.declare(cython.longlong, _FAR)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def first_at(
    values: Values, begin: cython.longlong, end: cython.longlong, value: cython.longlong
) -> cython.longlong:
    """Return the first row from `begin` to `end` with a time of at least `value`, else `end`."""
    while begin < end:
        middle: cython.longlong = (begin + end) // 2
        if values.integers[TIME, middle] < value:
            begin = middle + 1
        else:
            end = middle
    return begin


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def floor_divided(value: cython.longlong, by: cython.longlong) -> cython.longlong:
    """Return a quotient rounded down; `by` is positive."""
    if value >= 0:
        return value // by
    return -((by - 1 - value) // by)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def leave_key(window: Window, graph: Graph) -> cython.void:
    """Continue with the next key."""
    window.key += 1
    window.is_new = 1
    window.from_event = 0
    window.last = 0
    graph.event_count = -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def next_window(
    program: Program, values: Values, match: Match, graph: Graph, window: Window
) -> cython.bint:
    """Set the window that is searched next; return whether there is one.

    A window of which events are left to begin matches stays.
    """
    if graph.event_count == 0:
        return False
    if not window.is_new and window.begin < window.begin_end:
        return True
    if program.is_uncertain:
        return next_beginning(graph, window, match.worlds)
    if window.slide > 0:
        return next_slide(program, values, match, graph, window)
    if window.within >= 0:
        return next_from_event(program, values, match, graph, window)
    if not window.is_new:
        return False
    if (
        program.is_deferred
        and not program.decides_early
        and window.keys[window.key].reached != FOREVER
    ):
        return False
    window.is_new = 0
    window.number = 0
    window.begin = 0
    window.begin_end = graph.event_count
    window.last = graph.event_count - 1
    window.lowest = 0
    window.highest = window.keys[window.key].end_row - 1
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def next_from_event(
    program: Program, values: Values, match: Match, graph: Graph, window: Window
) -> cython.bint:
    """Set the window that begins with the next event that may begin a match."""
    begin: cython.int = 0 if window.is_new else window.begin
    last: cython.int = window.last
    window.is_new = 0
    window.number = 0
    window.lowest = -1
    while begin < graph.event_count:
        end: cython.longlong = graph.events[begin].time + window.within
        over: cython.longlong = graph.events[begin].time if program.decides_early else end
        if program.is_deferred and over >= window.keys[window.key].reached:
            break
        last = max(last, begin)
        while last + 1 < graph.event_count and graph.events[last + 1].time <= end:
            last += 1
        if graph.built < last:
            until: cython.int = last  # so that it need not be built for each beginning
            while until + 1 < graph.event_count and (
                graph.events[until + 1].time - end <= window.within
            ):
                until += 1
            build(program, values, match, graph, window, begin, until)
        if may_begin(program, graph, begin):
            wanted: cython.bint = graph.events[last].row >= window.fresh
            if program.is_deferred:
                wanted = end >= window.keys[window.key].passed
            if wanted:
                window.begin = begin
                window.begin_end = begin + 1
                window.last = last
                if program.is_deferred:
                    end_row: cython.longlong = window.keys[window.key].end_row
                    row: cython.longlong = graph.events[last].row
                    window.highest = first_at(values, row, end_row, end + 1) - 1
                if window.all_rows:
                    window.lowest = 0
                    window.highest = window.keys[window.key].end_row - 1
                return True
        begin += 1
    window.begin = begin
    window.begin_end = begin
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def next_slide(
    program: Program, values: Values, match: Match, graph: Graph, window: Window
) -> cython.bint:
    """Set the next window of those that SLIDE lays out."""
    number: cython.longlong = window.number + 1
    first: cython.int = window.from_event
    last: cython.int
    if window.is_new:
        number = first_number(window, graph.events[0].time)
    window.is_new = 0
    while True:
        start: cython.longlong = window.origin + number * window.slide
        end: cython.longlong = start + window.within
        while first < graph.event_count and graph.events[first].time < start:
            first += 1
        if first == graph.event_count:
            break
        over: cython.longlong = start + 1 if program.decides_early else end
        if program.is_deferred and over > window.keys[window.key].reached:
            break
        if graph.events[first].time >= end:  # an empty window: skip to the first with the event
            number = first_number(window, graph.events[first].time)
            continue
        last = first
        while last + 1 < graph.event_count and graph.events[last + 1].time < end:
            last += 1
        wanted: cython.bint = graph.events[last].row >= window.fresh
        if program.is_deferred:
            wanted = end > window.keys[window.key].passed
        if wanted:
            end_row: cython.longlong = window.keys[window.key].end_row
            low: cython.longlong = first_at(values, window.first_row, end_row, start)
            window.number = number
            window.lowest = values.integers[MOMENT, low]
            window.highest = first_at(values, low, end_row, end) - 1
            window.from_event = first
            window.begin = first
            window.begin_end = last + 1
            window.last = last
            if program.strategy == Strategy.ANY:
                build(program, values, match, graph, window, first, last)
            return True
        number += 1
    window.begin = 0
    window.begin_end = 0
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def first_number(window: Window, time: cython.longlong) -> cython.longlong:
    """Return the number of the first window that contains a time."""
    return floor_divided(time - window.within - window.origin, window.slide) + 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def first_event(graph: Graph, begin: cython.int, time: cython.longlong) -> cython.int:
    """Return the first event from `begin` on whose earliest time is at least `time`."""
    end: cython.int = graph.event_count
    while begin < end:
        middle: cython.int = (begin + end) // 2
        if graph.events[middle].time < time:
            begin = middle + 1
        else:
            end = middle
    return begin


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def next_beginning(graph: Graph, window: Window, worlds: Worlds) -> cython.bint:
    """Set the window, and the event in it that a match is to begin with; return whether one is."""
    window.last = graph.event_count - 1
    if window.is_new:
        window.is_new = 0
        window.begin = 0
        window.number = 0
        worlds.window_begin = -FAR
        worlds.window_end = FAR
        worlds.within = window.within
        if window.slide > 0:
            set_window(window, worlds, first_number(window, graph.events[0].time))
    while True:
        if (
            window.begin < graph.event_count
            and graph.events[window.begin].time <= worlds.window_end
        ):
            window.begin_end = window.begin + 1
            return True
        if window.slide == 0:
            return False
        number: cython.longlong = window.number + 1
        start: cython.longlong = window.origin + number * window.slide
        window.begin = first_event(graph, 0, start - worlds.longest)
        if window.begin == graph.event_count:
            return False
        time: cython.longlong = graph.events[window.begin].time
        if time >= start + window.within:  # an empty window: skip to the first with the event
            number = first_number(window, time)
        set_window(window, worlds, number)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def set_window(window: Window, worlds: Worlds, number: cython.longlong) -> cython.void:
    """Set the number of the window that SLIDE lays out, and its first and last time."""
    window.number = number
    worlds.window_begin = window.origin + number * window.slide
    worlds.window_end = worlds.window_begin + window.within - 1
    worlds.within = -1
