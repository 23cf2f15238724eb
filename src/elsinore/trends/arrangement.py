"""Which rows are whose: rows in the order of their keys, or as they came."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.trends.keyed import Codes, Ints, by_key, runs

_STRETCH = 2**16  # rows after which it is seen whether all keys have come


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

    def count(self, rows: NDArray[np.bool_]) -> Ints:
        """Return how many of the chosen rows each key has."""
        return np.add.reduceat(rows, self.begins[:-1], dtype=np.int64)

    def places(self, rows: NDArray[np.bool_]) -> slice | Ints:
        """Return where the chosen rows stand among those that came, in order.

        >>> KeyOrder(np.array([3, 0], dtype=np.int32), together=False).places(np.array([1, 1]) > 0)
        array([1, 0])
        """
        if rows.all():
            return slice(None) if self._order is None else self._order
        return np.flatnonzero(rows) if self._order is None else self._order[rows]

    def table(self, table: pa.Table, rows: NDArray[np.bool_]) -> pa.Table:
        """Return the chosen rows of a table, in order; see `chosen`."""
        if self._order is None:
            return chosen(table, rows)
        order = self._order if rows.all() else self._order[rows]
        return table.take(pa.array(order)).combine_chunks()


class ArrivalOrder:
    """Rows as they came; `slots` [row]: the place of its key among `keys`.

    >>> rows = ArrivalOrder(np.array([3, 0, 3], dtype=np.int32))
    >>> rows.keys, rows.slots, rows.of_rows(np.array([7, 8])), rows.of_rows(np.array([7, 7]))
    (array([0, 3]), array([1, 0, 1], dtype=int32), array([8, 7, 8]), array([7]))
    """

    def __init__(self, keys: Codes) -> None:
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
        found, known = np.empty(len(self.keys), dtype=values.dtype), np.zeros(len(self.keys), bool)
        for first in range(0, len(values), _STRETCH):
            rows = slice(first, first + _STRETCH)
            found[self.slots[rows]] = values[rows]
            known[self.slots[rows]] = True
            if known.all():
                break
        return found

    def count(self, rows: NDArray[np.bool_]) -> Ints:
        """Return how many of the chosen rows each key has."""
        return np.bincount(self.slots[rows], minlength=len(self.keys))

    def table(self, table: pa.Table, rows: NDArray[np.bool_]) -> pa.Table:
        """Return the chosen rows of a table, in order; see `chosen`."""
        return chosen(table, rows)


def chosen(table: pa.Table, rows: NDArray[np.bool_]) -> pa.Table:
    """Return the chosen rows of a table.

    Where they stand together they are a slice, which keeps the memory of all rows alive.
    """
    count, first = int(np.count_nonzero(rows)), int(np.argmax(rows)) if len(rows) else 0
    if rows[first : first + count].all():
        return table.slice(first, count)
    return table.filter(pa.array(rows)).combine_chunks()
