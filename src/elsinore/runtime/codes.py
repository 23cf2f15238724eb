"""Compiled passes that encode integers, and pairs of codes, as dense codes 0, 1, ..."""

from __future__ import annotations

import cython


def number_from(
    values: cython.const_longlong[::1], least: cython.longlong, codes: cython.int[::1]
) -> None:
    """Put values[row] - least into codes[row]."""
    row: cython.Py_ssize_t
    with cython.nogil:
        for row in range(values.shape[0]):
            codes[row] = cython.cast(cython.int, values[row] - least)


def first_rows(codes: cython.const_int[::1], rows: cython.longlong[::1]) -> None:
    """Put the first row of each code into rows[code], which are -1."""
    missing: cython.Py_ssize_t = rows.shape[0]
    row: cython.Py_ssize_t
    with cython.nogil:
        for row in range(codes.shape[0]):
            if rows[codes[row]] < 0:
                rows[codes[row]] = row
                missing -= 1
                if missing == 0:
                    break


def mark_pairs(
    first: cython.const_int[::1], second: cython.const_int[::1], exists: cython.uchar[:, ::1]
) -> None:
    """Put 1 into exists[first[row], second[row]]."""
    row: cython.Py_ssize_t
    with cython.nogil:
        for row in range(first.shape[0]):
            exists[first[row], second[row]] = 1


def look_up_pairs(
    first: cython.const_int[::1],
    second: cython.const_int[::1],
    numbers: cython.const_int[:, ::1],
    codes: cython.int[::1],
) -> None:
    """Put numbers[first[row], second[row]] - 1 into codes[row]."""
    row: cython.Py_ssize_t
    with cython.nogil:
        for row in range(first.shape[0]):
            codes[row] = numbers[first[row], second[row]] - 1
