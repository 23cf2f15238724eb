"""The rows of a query in collapsed form whose windows have passed, one for each first event.

Columns of a row are its first event, the window, the last event in it, the first row of the key.
"""

from __future__ import annotations

import cython

from elsinore.matches.engine.codes import BEGINS, ENDS, KEY_FIRST, TIME, WINDOW
from elsinore.matches.engine.tables import FOREVER as _FOREVER
from elsinore.matches.engine.tables import Values, Window
from elsinore.matches.engine.windows import first_at, first_number

FOREVER = cython.declare(cython.longlong, _FOREVER)
COLUMNS = 4


def list_windows(
    values: Values,
    window: Window,
    fits: cython.const_uchar[::1],
    rows: cython.longlong[:, ::1],
) -> int:
    """Fill `rows` with first event, window, last event and first row of the key of the due rows.

    A row begins with each event that `fits`, in each window that has it, has passed by now and had
    not before. Returns how many there are, also if `rows` has no room for them.
    """
    count: cython.Py_ssize_t = 0
    row: cython.longlong
    with cython.nogil:
        while window.key < window.keys.shape[0]:
            end_row: cython.longlong = window.keys[window.key].end_row
            last: cython.longlong = window.keys[window.key].first_row
            for row in range(window.keys[window.key].first_row, end_row):
                if not fits[row]:
                    continue
                if window.slide > 0:
                    count = list_slides(values, window, row, count, rows)
                    continue
                last = max(last, row)
                if is_due(values, window, row):
                    latest: cython.longlong = FOREVER
                    if window.within >= 0:
                        latest = values.integers[TIME, row] + window.within
                    while last + 1 < end_row and values.integers[TIME, last + 1] <= latest:
                        last += 1
                    count = put_row(window, row, 0, last, count, rows)
            window.key += 1
    return count


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_due(values: Values, window: Window, row: cython.longlong) -> cython.bint:
    """Return whether the window that begins with an event has passed by now and had not before."""
    if window.within < 0:
        return window.keys[window.key].reached == FOREVER
    until: cython.longlong = values.integers[TIME, row] + window.within
    return window.keys[window.key].passed <= until < window.keys[window.key].reached


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def list_slides(
    values: Values,
    window: Window,
    row: cython.longlong,
    count: cython.Py_ssize_t,
    rows: cython.longlong[:, ::1],
) -> cython.Py_ssize_t:
    """List the due windows that SLIDE lays out and that have an event; return the new count."""
    time: cython.longlong = values.integers[TIME, row]
    number: cython.longlong = first_number(window, time)
    while window.origin + number * window.slide <= time:
        over: cython.longlong = window.origin + number * window.slide + window.within
        if over > window.keys[window.key].reached:
            break
        if over > window.keys[window.key].passed:
            end: cython.longlong = first_at(values, row, window.keys[window.key].end_row, over)
            count = put_row(window, row, number, end - 1, count, rows)
        number += 1
    return count


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_row(
    window: Window,
    first: cython.longlong,
    number: cython.longlong,
    last: cython.longlong,
    count: cython.Py_ssize_t,
    rows: cython.longlong[:, ::1],
) -> cython.Py_ssize_t:
    """Put a row down if there is room; return the new count."""
    if count < rows.shape[0]:
        rows[count, BEGINS] = first
        rows[count, WINDOW] = number
        rows[count, ENDS] = last
        rows[count, KEY_FIRST] = window.keys[window.key].first_row
    return count + 1
