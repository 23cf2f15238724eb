"""Structs that Python and compiled modules share: NumPy types of their fields.

Cython reads the same definitions: `building/declarations.py` makes `cdef struct SomeNode` of
`SOME_NODE = struct(...)`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray


def struct(**fields: str) -> np.dtype[Any]:
    """Return the NumPy type of a struct: the names of its fields, by their type.

    Types are "i4", "i8" and "f8". Fields lie in memory as in C.

    >>> struct(f8="count", i4="event state").names
    ('count', 'event', 'state')
    """
    pairs = [(name, kind) for kind, names in fields.items() for name in names.split()]
    return np.dtype(pairs, align=True)


def table(kind: np.dtype[Any], rows: Any) -> Any:
    """Return rows as an array of structs whose fields are attributes of its elements."""
    return np.array(rows, dtype=kind).view(np.recarray)


def empty(kind: np.dtype[Any], size: int) -> Any:
    """Return an array of `size` structs of zeros."""
    return np.zeros(size, dtype=kind).view(np.recarray)


def longer(array: Any, begin: int, count: int, size: int) -> Any:
    """Return an array of `size` structs that begins with `count` of another one from `begin` on.

    They are copied as bytes: NumPy copies structs one by one. The rest is undefined.

    >>> longer(table(struct(f8="x"), [(1.0,), (2.0,), (3.0,)]), 1, 2, 8).x[:2].tolist()
    [2.0, 3.0]
    """
    width = array.itemsize
    copy = np.empty(size, array.dtype)
    part = array[begin : begin + count]
    copy.view(np.uint8)[: count * width] = part.view(np.ndarray).view(np.uint8)
    return copy.view(np.recarray)


def as_bytes(array: Any) -> NDArray[np.uint8]:
    """Return structs as bytes, one row for each along the first axis.

    Equal structs have equal bytes: NumPy copies structs by their fields, so that what lies between
    these is whatever the memory held before; here it is 0.

    >>> as_bytes(table(struct(f8="x", i4="n"), [(1.0, 2)]))[0, 8:].tolist()
    [2, 0, 0, 0, 0, 0, 0, 0]
    """
    copy = np.zeros(array.shape, array.dtype)
    for name in array.dtype.names:
        copy[name] = array[name]
    return copy.view(np.uint8).reshape(len(array), math.prod(array.shape[1:]) * array.itemsize)
