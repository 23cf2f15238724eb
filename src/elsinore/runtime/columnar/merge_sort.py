"""A compiled merge sort of events: stretches of rows in time order are merged."""

from __future__ import annotations

import cython


def merge_stretches(
    stretches: cython.const_longlong[::1],
    firsts: cython.const_longlong[::1],
    starts: cython.const_longlong[::1],
    times: cython.const_longlong[::1],
    rows: cython.longlong[::1],
    buffer: cython.longlong[::1],
    bounds: cython.longlong[::1],
) -> None:
    """Fill `rows` with the rows of each key in the order of time, key after key.

    stretches: key after key, those of key k from `firsts[k]` on; starts: [stretch] -> its first
    row. Stretches that follow one another in time are one run, and if all do, only their ends are
    compared. buffer: as long as the rows of any key; bounds: longer by one than its stretches.
    """
    place: cython.Py_ssize_t = 0
    begin: cython.Py_ssize_t
    key: cython.Py_ssize_t
    number: cython.Py_ssize_t
    row: cython.Py_ssize_t
    with cython.nogil:
        for key in range(firsts.shape[0] - 1):
            begin = place
            runs: cython.Py_ssize_t = 0
            for number in range(firsts[key], firsts[key + 1]):
                first: cython.longlong = starts[stretches[number]]
                last: cython.longlong = starts[stretches[number] + 1]
                if last == first:
                    continue
                if place == begin or times[rows[place - 1]] > times[first]:
                    bounds[runs] = place
                    runs += 1
                for row in range(first, last):
                    rows[place] = row
                    place += 1
            bounds[runs] = place
            _merge_runs(runs, bounds, times, rows, buffer)


@cython.cfunc
@cython.exceptval(check=False)
@cython.nogil
def _merge_runs(
    runs: cython.Py_ssize_t,
    bounds: cython.longlong[::1],
    times: cython.const_longlong[::1],
    rows: cython.longlong[::1],
    buffer: cython.longlong[::1],
) -> cython.void:
    """Merge rows[bounds[r] : bounds[r + 1]], the runs, two by two until one is left."""
    run: cython.Py_ssize_t
    merged: cython.Py_ssize_t
    while runs > 1:
        merged = 0
        for run in range(0, runs - 1, 2):
            _merge_two(rows, bounds[run], bounds[run + 1], bounds[run + 2], times, buffer)
            bounds[merged] = bounds[run]
            merged += 1
        if runs % 2:
            bounds[merged] = bounds[runs - 1]
            merged += 1
        bounds[merged] = bounds[runs]
        runs = merged


@cython.cfunc
@cython.exceptval(check=False)
@cython.nogil
def _merge_two(
    rows: cython.longlong[::1],
    first: cython.Py_ssize_t,
    middle: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    times: cython.const_longlong[::1],
    buffer: cython.longlong[::1],
) -> cython.void:
    """Merge rows[first:middle] and rows[middle:last], each in time order; the first before ties."""
    lefts: cython.Py_ssize_t = middle - first
    left: cython.Py_ssize_t
    right: cython.Py_ssize_t = middle
    place: cython.Py_ssize_t = first
    for left in range(lefts):
        buffer[left] = rows[first + left]
    left = 0
    while left < lefts and right < last:
        if times[rows[right]] < times[buffer[left]]:
            rows[place] = rows[right]
            right += 1
        else:
            rows[place] = buffer[left]
            left += 1
        place += 1
    while left < lefts:
        rows[place] = buffer[left]
        left += 1
        place += 1
