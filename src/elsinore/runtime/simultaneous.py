"""Compiled checks of whether times ascend, and searches for rows with equal times."""

from __future__ import annotations

import cython
import numpy as np

DISORDERED, ASCENDING, DISTINCT = (
    0,
    1,
    2,
)  # some time is less than the one before; none is; all times differ
LEAST = cython.declare(cython.longlong, np.iinfo(np.int64).min)  # before any time


def order_of(times: cython.const_longlong[::1]) -> int:
    """Return whether times are DISORDERED, ASCENDING with equal ones, or DISTINCT and ascending.

    >>> [order_of(np.array(times)) for times in ([2, 1], [1, 1, 2], [1, 2])]
    [0, 1, 2]
    """
    falls: cython.bint = False
    equal: cython.bint = False
    row: cython.Py_ssize_t
    with cython.nogil:
        for row in range(1, times.shape[0]):
            if times[row] < times[row - 1]:
                falls = True
                break
            equal |= times[row] == times[row - 1]
    if falls:
        return DISORDERED
    return ASCENDING if equal else DISTINCT


def has_simultaneous(
    times: cython.const_longlong[::1], keys: cython.const_int[::1], count: cython.Py_ssize_t
) -> cython.bint:
    """Return whether a key (0 to count - 1; below 0: none) has two events of one time.

    Times never fall, so keys are compared only if a time equals that of the row before.

    >>> keys = np.array([0, 1, 0], np.int32)
    >>> has_simultaneous(np.array([1, 1, 1]), keys, 2)
    True
    >>> has_simultaneous(np.array([1, 1, 2]), keys, 2)
    False
    """
    last_time: cython.longlong[::1] = np.empty(count, np.int64)  # [key] -> its last time
    is_tied: cython.bint = False
    row: cython.Py_ssize_t
    key: cython.int
    before: cython.int
    with cython.nogil:
        last_time[:] = LEAST
        for row in range(1, times.shape[0]):
            if times[row] == times[row - 1]:
                before, key = keys[row - 1], keys[row]
                if before >= 0:
                    last_time[before] = times[row]
                if key >= 0 and last_time[key] == times[row]:
                    is_tied = True
                    break
    return is_tied


def simultaneous_rows(
    times: cython.const_longlong[::1],
    keys: cython.const_int[::1],
    count: cython.Py_ssize_t,
    rows: cython.longlong[::1],
    moments: cython.longlong[::1],
) -> cython.Py_ssize_t:
    """Find rows whose key (0 to count - 1) and time equal those of another row.

    Puts these rows, and a number for each combination of key and time, into `rows` and `moments`;
    returns the number of rows.
    """
    last_row: cython.longlong[::1] = np.empty(count, np.int64)  # [key] -> its last row
    tie_of: cython.longlong[::1] = np.empty(
        count, np.int64
    )  # [key] -> the moment of that row, if tied
    tied_count: cython.Py_ssize_t = 0
    moment: cython.longlong = 0
    row: cython.Py_ssize_t
    before: cython.longlong
    key: cython.int
    with cython.nogil:
        last_row[:] = -1
        tie_of[:] = -1
        for row in range(times.shape[0]):
            key = keys[row]
            if key < 0:
                continue
            before = last_row[key]
            last_row[key] = row
            if before < 0 or times[before] != times[row]:
                tie_of[key] = -1
                continue
            if tie_of[key] < 0:
                tie_of[key] = moment
                rows[tied_count], moments[tied_count] = before, moment
                tied_count, moment = tied_count + 1, moment + 1
            rows[tied_count], moments[tied_count] = row, tie_of[key]
            tied_count += 1
    return tied_count
