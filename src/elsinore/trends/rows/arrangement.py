"""Which rows are whose: rows in the order of their keys, or as they came."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from elsinore.numeric.sorting import places_by_code
from elsinore.trends.keyed import Codes, Ints, by_key, runs

_STRETCH = 2**16  # rows after which it is seen whether all keys have come


class Placed(NamedTuple):
    """Some rows in another order: which of those that there are, where each is put, how many.

    >>> Placed(np.array([0, 2]), np.array([1, 0]), 2).column(np.array([[5, 6, 7]]))
    array([[7, 5]])
    """

    rows: slice | Ints  # ascending
    places: Ints
    size: int

    def column(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return a column, or several [column, row], in this order."""
        arranged = np.empty((*values.shape[:-1], self.size), dtype=values.dtype)
        for of_column, given in zip(np.atleast_2d(arranged), np.atleast_2d(values), strict=True):
            of_column[self.places] = given[self.rows]
        return arranged


Chosen = slice | Ints | Placed  # all that stand together, rows in another order, or written so


class KeyOrder:
    """Rows in the order of their keys, rows of one key as they came.

    `keys`: those there are, in this order; `begins` [key + 1]: where the rows of each begin.

    >>> rows = KeyOrder(np.array([3, 0, 3], dtype=np.int32), together=False)
    >>> rows.keys, rows.begins, rows.of_rows(np.array([7, 8]))
    (array([0, 3]), array([0, 1, 3]), array([7, 8, 8]))
    """

    def __init__(self, keys: Codes, *, together: bool) -> None:
        """Arrange rows; `together`: rows of a key are together already, keys come as they do."""
        self._order: Ints | None = None
        if together or not np.any(keys[1:] < keys[:-1]):
            self.keys, self.begins = runs(keys)
        else:
            self._order, self.keys, self.begins = by_key(keys)

    def column(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return a column in the order of rows."""
        return values if self._order is None else values[self._order]

    def of_rows(self, of_keys: NDArray[Any]) -> NDArray[Any]:
        """Return for each row what is told of its key; of a single key it is told once."""
        return of_keys if len(of_keys) == 1 else np.repeat(of_keys, np.diff(self.begins))

    def first(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return a value of each key, of a column that has one for all its rows."""
        starts = self.begins[:-1]
        return values[starts if self._order is None else self._order[starts]]

    def last(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the value that a column in this order has in each key's last row."""
        return values[self.begins[1:] - 1]

    def count(self, rows: NDArray[np.bool_]) -> Ints:
        """Return how many of the chosen rows each key has."""
        return np.add.reduceat(rows, self.begins[:-1], dtype=np.int64)

    def of_key(self, place: int) -> slice:
        """Return which rows are those of a key."""
        return slice(int(self.begins[place]), int(self.begins[place + 1]))

    def in_order(self, rows: NDArray[np.bool_]) -> tuple[Chosen, Ints]:
        """Return where the chosen rows stand among those that came, and how many each key has.

        >>> rows = KeyOrder(np.array([3, 0, 3], dtype=np.int32), together=False)
        >>> rows.in_order(np.array([1, 1, 0]) > 0)
        (array([1, 0]), array([1, 1]))
        """
        chosen = these(rows)
        if self._order is not None and (not isinstance(chosen, slice) or rows.any()):
            chosen = self._order[chosen]
        return chosen, self.count(rows)


class ArrivalOrder:
    """Rows as they came; `slots` [row]: the place of its key among `keys`.

    >>> rows = ArrivalOrder(np.array([3, 0, 3], dtype=np.int32))
    >>> rows.keys, rows.slots, rows.of_rows(np.array([7, 8])), rows.of_rows(np.array([7, 7]))
    (array([0, 3]), array([1, 0, 1], dtype=int32), array([8, 7, 8]), array([7]))
    """

    def __init__(self, keys: Codes, *, together: bool = False) -> None:
        """Arrange rows; `together`: rows of a key are together already, keys come as they do."""
        self._together = together or not np.any(keys[1:] < keys[:-1])
        if self._together:
            self.keys, begins = runs(keys)
            self.slots = np.repeat(np.arange(len(self.keys), dtype=np.int32), np.diff(begins))
            return
        if keys.max() > len(keys):
            self.keys, slots = np.unique(keys, return_inverse=True)
            self.slots = slots.astype(np.int32)
            return
        occurs = np.zeros(int(keys.max()) + 1, dtype=np.bool_)
        for first in range(0, len(keys), _STRETCH):
            occurs[keys[first : first + _STRETCH]] = True
            if occurs.all():
                break
        self.keys = np.flatnonzero(occurs)
        self.slots = keys
        if len(self.keys) < len(occurs):
            self.slots = (np.cumsum(occurs, dtype=np.int32) - np.int32(1))[keys]

    def column(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return a column in the order of rows."""
        return values

    def of_rows(self, of_keys: NDArray[Any]) -> NDArray[Any]:
        """Return for each row what is told of its key; what is told of all keys alike, once."""
        alike = len(of_keys) > 0 and bool(np.all(of_keys == of_keys[0]))
        return of_keys[:1] if alike else of_keys[self.slots]

    def first(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return a value of each key, of a column that has one for all its rows."""
        first_values, known = (
            np.empty(len(self.keys), dtype=values.dtype),
            np.zeros(len(self.keys), bool),
        )
        for first in range(0, len(values), _STRETCH):
            rows = slice(first, first + _STRETCH)
            first_values[self.slots[rows]] = values[rows]
            known[self.slots[rows]] = True
            if known.all():
                break
        return first_values

    def last(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the value that a column has in each key's last row."""
        last_values = np.empty(len(self.keys), dtype=values.dtype)
        last_values[self.slots] = values
        return last_values

    def count(self, rows: NDArray[np.bool_]) -> Ints:
        """Return how many of the chosen rows each key has."""
        return np.bincount(self.slots[rows], minlength=len(self.keys))

    def in_order(self, rows: NDArray[np.bool_]) -> tuple[Chosen, Ints]:
        """Return the chosen rows in the order of keys, and how many each key has.

        >>> rows = ArrivalOrder(np.array([3, 0, 3], dtype=np.int32))
        >>> rows.in_order(np.array([1, 1, 0]) > 0)
        (Placed(rows=array([0, 1]), places=array([1, 0]), size=2), array([1, 1]))
        """
        count, counts = int(np.count_nonzero(rows)), np.zeros(len(self.keys), dtype=np.int64)
        if count == 0:
            return slice(len(rows), None), counts  # all before it may be let go of
        every = count == len(rows)
        which = slice(None) if every else np.flatnonzero(rows)
        if self._together:
            return which, self.count(rows)
        slots = self.slots if every else np.where(rows, self.slots, np.int32(-1))
        places, starts = places_by_code(slots, len(self.keys))
        return Placed(which, places, count), np.diff(starts)


def these(rows: NDArray[np.bool_]) -> slice | Ints:
    """Return which rows are chosen, as a slice where they stand together; of none at the end.

    >>> these(np.array([0, 1, 1, 0]) > 0), these(np.array([1, 0, 1]) > 0)
    (slice(1, 3, None), array([0, 2]))
    """
    count, first = int(np.count_nonzero(rows)), int(np.argmax(rows)) if len(rows) else 0
    if count == 0:
        return slice(len(rows), None)  # all before it may be let go of
    if rows[first : first + count].all():
        return slice(first, first + count)
    return np.flatnonzero(rows)
