"""Compiled passes that spread rows over threads by their keys.

Key k belongs to thread k % threads, which renumbers it to k // threads. The division is a
multiplication of doubles, which is faster; an offset of half a step makes rounding irrelevant.
"""

from __future__ import annotations

import cython


def assign_rows(
    threads: cython.int,
    least: cython.longlong,
    keys: cython.const_int[::1],
    classes: cython.const_longlong[::1],
    owners: cython.uchar[::1],
) -> None:
    """Write the thread of each row to `owners`, or `threads` if its class is below the least.

    Rows without a key (-1) belong to the first thread.
    """
    part: cython.double = 1.0 / threads
    row: cython.Py_ssize_t
    key: cython.int
    owner: cython.int
    with cython.nogil:
        for row in range(keys.shape[0]):
            key = max(keys[row], 0)
            owner = key - threads * cython.cast(cython.int, (key + 0.5) * part)
            owners[row] = owner if classes[row] >= least else threads


def place_rows(
    owners: cython.const_uchar[::1], rows: cython.int[::1], edges: cython.longlong[::1]
) -> None:
    """Write the rows of each thread one after another to `rows`, which is longer by one.

    `edges` receives 0, then the end of each thread's rows. All rows are scanned for each thread
    without a branch; one scan that looks up each row's destination takes twice as long.
    """
    place: cython.Py_ssize_t = 0
    row: cython.Py_ssize_t
    thread: cython.Py_ssize_t
    with cython.nogil:
        for thread in range(edges.shape[0] - 1):
            for row in range(owners.shape[0]):
                rows[place] = cython.cast(
                    cython.int, row
                )  # overwritten by the next one if not owned
                place += owners[row] == thread
            edges[thread + 1] = place


def move_rows(
    threads: cython.int,
    rows: cython.const_int[::1],
    keys: cython.const_int[::1],
    groups: cython.const_int[::1],
    times: cython.const_longlong[::1],
    classes: cython.const_longlong[::1],
    to_keys: cython.int[::1],
    to_groups: cython.int[::1],
    to_times: cython.longlong[::1],
    to_classes: cython.longlong[::1],
) -> None:
    """Copy rows of the columns into others, with keys renumbered for their threads."""
    part: cython.double = 1.0 / threads
    place: cython.Py_ssize_t
    row: cython.int
    with cython.nogil:
        for place in range(rows.shape[0]):
            row = rows[place]
            to_keys[place] = min(keys[row], cython.cast(cython.int, (keys[row] + 0.5) * part))
            to_groups[place] = groups[row]
            to_times[place] = times[row]
            to_classes[place] = classes[row]
