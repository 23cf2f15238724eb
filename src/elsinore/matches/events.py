"""What columns of matches read of events: attributes and groups, by place in the order of keys."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from elsinore.arrow import to_arrow
from elsinore.matches.arrays import Bools, Ints
from elsinore.matches.keyed import END_ROW, FIRST_ROW
from elsinore.matches.pieces import Pieces, decoded, taken

if TYPE_CHECKING:
    from elsinore.matches.store import Rows

SHARED = 1 << 17  # rows that shared columns have, as many as batches mostly have


class Events:
    """The events that are searched: attribute by attribute, place n is row n of `rows`.

    Values that are read more often than there are events are put in the order of rows first: the
    events of a match stand close to each other there.
    """

    def __init__(
        self,
        pieces: Pieces,
        columns: Mapping[str, str],
        rows: Rows,
        group: str | None,
        ready: Mapping[str, pa.Array],
    ) -> None:
        """`columns` are the names of attributes' columns; `ready` attributes in order already.

        `group` is the column with the codes of groups, None if all events are in one.
        """
        self._pieces = pieces
        self._columns = columns
        self._rows = rows
        self._group = group
        self._ready = dict(ready)
        self._read = dict.fromkeys(columns, 0)

    def values(self, name: str, places: Ints) -> pa.Array:
        """Return an attribute at some places, null at those below 0."""
        missing: Bools | None = None
        if len(places) and places.min() < 0:
            missing = places < 0
            places = np.where(missing, 0, places)
        self._read[name] += len(places)
        numbers = self._rows.numbers
        if name not in self._ready and self._read[name] > len(numbers):
            self._ready[name] = self._pieces.take(self._columns[name], numbers)
        if name in self._ready:
            return decoded(taken(self._ready[name], places, missing))
        return decoded(self._pieces.take(self._columns[name], numbers[places], missing))

    def value(self, name: str, place: int) -> Any:
        """Return an attribute of one event."""
        return self.values(name, np.array([place], np.int64))[0].as_py()

    def groups(self, places: Ints) -> pa.Array:
        """Return the codes of the groups of events at some places."""
        if self._group is None:
            return repeated(0, len(places))
        return taken(self._group_of_place, places, None)

    @cached_property
    def _group_of_place(self) -> pa.Array:
        assert self._group is not None
        keys = self._rows.keys
        groups = self._pieces.take(self._group, self._rows.numbers[keys[:, FIRST_ROW]])
        lengths = keys[:, END_ROW] - keys[:, FIRST_ROW]
        return taken(groups, np.repeat(np.arange(len(keys)), lengths), None)


def repeated(number: int, count: int) -> pa.Array:
    """Return a column of so many rows that is one number; such columns share their memory.

    >>> repeated(3, 2).to_pylist()
    [3, 3]
    """
    return _column(number, max(count, SHARED)).slice(0, count)


@lru_cache(maxsize=4)
def _column(number: int, count: int) -> pa.Array:
    return to_arrow(np.full(count, number, dtype=np.int32))
