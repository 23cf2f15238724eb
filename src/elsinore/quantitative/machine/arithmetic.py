"""Arithmetic and comparisons of tagged numbers, where C computes what Python would."""

from __future__ import annotations

from math import sqrt

import cython

from elsinore.quantitative.machine.frames import Frame
from elsinore.quantitative.machine.instructions import (
    ABSOLUTE,
    ADD,
    BOOL,
    DIVIDE,
    DOUBLE,
    EQUAL,
    FLOAT,
    FLOOR_DIVIDE,
    GREATER,
    INT,
    LESS,
    LESS_EQUAL,
    MODULO,
    MULTIPLY,
    NEGATIVE,
    NOT_EQUAL,
    ROOT,
    SUBTRACT,
    WHOLE,
)


@cython.inline
@cython.nogil
def calculate(
    code: cython.int,
    frame: Frame,
    target: cython.Py_ssize_t,
    left: cython.Py_ssize_t,
    right: cython.Py_ssize_t,
) -> cython.bint:
    """Write the result of an operation on two numbers; return False if Python must compute it."""
    first: cython.int = frame.values[left].tag
    second: cython.int = frame.values[right].tag
    if first == DOUBLE and second == DOUBLE:
        x: cython.double = frame.values[left].number
        return _doubles(code, frame, target, x, frame.values[right].number)
    if BOOL <= first <= INT and BOOL <= second <= INT:
        return _wholes(code, frame, target, frame.values[left].whole, frame.values[right].whole)
    if first == DOUBLE and second == INT and _is_exact(frame.values[right].whole):
        x = frame.values[left].number
        return _doubles(
            code, frame, target, x, cython.cast(cython.double, frame.values[right].whole)
        )
    if first == INT and second == DOUBLE and _is_exact(frame.values[left].whole):
        x = cython.cast(cython.double, frame.values[left].whole)
        return _doubles(code, frame, target, x, frame.values[right].number)
    return False


@cython.nogil
def calculate_one(
    code: cython.int, frame: Frame, target: cython.Py_ssize_t, left: cython.Py_ssize_t
) -> cython.bint:
    """Write the result of an operation on a number; return False if Python must compute it."""
    tag: cython.int = frame.values[left].tag
    if tag == DOUBLE:
        number: cython.double = frame.values[left].number
        if code == WHOLE:
            if not (number >= -9007199254740992.0 and number <= 9007199254740992.0):
                return False
            frame.values[target].whole = cython.cast(cython.longlong, number)
            frame.values[target].tag = INT
            return True
        if code == ABSOLUTE:
            number = abs(number)
        elif code == NEGATIVE:
            number = -number
        elif code == ROOT:
            if not number >= 0.0:
                return False
            number = sqrt(number)
        frame.values[target].number = number
        frame.values[target].tag = DOUBLE
        return True
    whole: cython.longlong = frame.values[left].whole
    if tag != INT or not _is_exact(whole) or code == ROOT:
        return False
    if code == FLOAT:
        frame.values[target].number = cython.cast(cython.double, whole)
        frame.values[target].tag = DOUBLE
        return True
    if code == NEGATIVE or (code == ABSOLUTE and whole < 0):
        whole = -whole
    frame.values[target].whole = whole
    frame.values[target].tag = INT
    return True


@cython.inline
@cython.nogil
def _is_exact(whole: cython.longlong) -> cython.bint:
    """Return whether a double has exactly the value of an integer."""
    most: cython.longlong = cython.cast(cython.longlong, 9_007_199_254_740_992)
    return -most <= whole <= most


@cython.inline
@cython.nogil
def _doubles(
    code: cython.int,
    frame: Frame,
    target: cython.Py_ssize_t,
    x: cython.double,
    y: cython.double,
) -> cython.bint:
    """Write the result of an operation on two doubles."""
    number: cython.double = 0.0
    if code == ADD:
        number = x + y
    elif code == SUBTRACT:
        number = x - y
    elif code == MULTIPLY:
        number = x * y
    elif code == DIVIDE and y != 0.0:
        number = x / y
    elif code >= LESS:
        frame.values[target].tag = BOOL
        frame.values[target].whole = _compares(code, x < y, x == y, x > y)
        return True
    else:
        return False
    frame.values[target].number = number
    frame.values[target].tag = DOUBLE
    return True


@cython.inline
@cython.nogil
def _wholes(
    code: cython.int,
    frame: Frame,
    target: cython.Py_ssize_t,
    x: cython.longlong,
    y: cython.longlong,
) -> cython.bint:
    """Write the result of an operation on two integers."""
    if code >= LESS:
        frame.values[target].tag = BOOL
        frame.values[target].whole = _compares(code, x < y, x == y, x > y)
        return True
    if not (_is_exact(x) and _is_exact(y)):
        return False
    if code == ADD:
        x = x + y
    elif code == SUBTRACT:
        x = x - y
    elif code == MULTIPLY and _is_short(x) and _is_short(y):
        x = x * y
    elif code == DIVIDE and y != 0:
        frame.values[target].number = cython.cast(cython.double, x) / cython.cast(cython.double, y)
        frame.values[target].tag = DOUBLE
        return True
    elif code == FLOOR_DIVIDE and x >= 0 and y > 0:
        x = x // y
    elif code == MODULO and x >= 0 and y > 0:
        x = x % y
    else:
        return False
    frame.values[target].whole = x
    frame.values[target].tag = INT
    return True


@cython.inline
@cython.nogil
def _is_short(whole: cython.longlong) -> cython.bint:
    """Return whether the product of two such integers has at most 63 bits."""
    return whole > -2_000_000_000 and whole < 2_000_000_000


@cython.inline
@cython.nogil
def _compares(
    code: cython.int, less: cython.bint, equal: cython.bint, greater: cython.bint
) -> cython.bint:
    """Return the result of a comparison of values, of which at most one of these is true."""
    if code == LESS:
        return less
    if code == GREATER:
        return greater
    if code == EQUAL:
        return equal
    if code == NOT_EQUAL:
        return not equal
    return less or equal if code == LESS_EQUAL else greater or equal
