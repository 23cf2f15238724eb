"""Tagged values in places: numbers and truth values as C has them, others as Python's objects."""

from __future__ import annotations

from typing import Any

import cython

from elsinore.quantitative.machine.instructions import BOOL, DOUBLE, INT, NONE, OBJECT, VALUE
from elsinore.structs import empty


class Tagged:
    """Values in places 0, 1, ...

    values, array: these, for C and for NumPy; objects: the values whose tag is OBJECT.
    """

    def __init__(self, size: int) -> None:
        self.array = self.values = empty(VALUE, size)
        self.objects: list[Any] = [None] * size


@cython.cfunc
def boxed(tagged: Tagged, place: cython.Py_ssize_t) -> object:
    """Return a value as Python's."""
    tag: cython.int = tagged.values[place].tag
    if tag == OBJECT:
        return tagged.objects[place]
    if tag == DOUBLE:
        return float(tagged.values[place].number)
    if tag == INT:
        return int(tagged.values[place].whole)
    if tag == BOOL:
        return bool(tagged.values[place].whole)
    return None


@cython.cfunc
def store(tagged: Tagged, place: cython.Py_ssize_t, value: object) -> cython.int:
    """Write a value of Python."""
    kind = type(value)
    if kind is float:
        tagged.values[place].tag = DOUBLE
        tagged.values[place].number = value
    elif kind is bool:
        tagged.values[place].tag = BOOL
        tagged.values[place].whole = 1 if value else 0
    elif value is None:
        tagged.values[place].tag = NONE
    else:
        if kind is int:
            try:
                tagged.values[place].whole = value
            except OverflowError:  # of more than 64 bits
                pass
            else:
                tagged.values[place].tag = INT
                return 0
        tagged.values[place].tag = OBJECT
        tagged.objects[place] = value
    return 0


@cython.inline
@cython.nogil
def copy_number(
    to: Tagged, place: cython.Py_ssize_t, source: Tagged, origin: cython.Py_ssize_t
) -> cython.int:
    """Copy a value but for its object; return its tag.

    Fields are copied one by one: the processor waits where a copy of all of them at once reads what
    was written in pieces just before.
    """
    tag: cython.int = source.values[origin].tag
    to.values[place].tag = tag
    if tag == DOUBLE:
        to.values[place].number = source.values[origin].number
    else:
        to.values[place].whole = source.values[origin].whole
    return tag
