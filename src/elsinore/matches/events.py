"""What columns of matches read of events: attributes and groups, by place in the order of keys."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.arrow import to_arrow
from elsinore.matches.arrays import Ints
from elsinore.matches.keyed import END_ROW, FIRST_ROW

SHARED = 1 << 17  # rows that shared columns have, as many as batches mostly have


class Events:
    """The events of a batch, whose place n in the order of keys is row `order[n]` of `attributes`.

    Values that are read more often than there are events are put in that order first: the events of
    a match stand close to each other there, and rows of a batch do not.
    """

    def __init__(
        self,
        attributes: Mapping[str, pa.Array],
        order: Ints,
        keys: Ints,
        groups: NDArray[np.int32] | None,
        arranged: Mapping[str, pa.Array],
    ) -> None:
        """`groups` are those of rows, None where all are in one; `arranged` attributes in order."""
        self.attributes = attributes
        self.order = order
        self._keys = keys
        self._groups = groups
        self._arranged = dict(arranged)
        self._read = dict.fromkeys(attributes, 0)

    def values(self, name: str, places: Ints) -> pa.Array:
        """Return an attribute at some places, null at those below 0."""
        missing: Any = None
        if len(places) and places.min() < 0:
            missing = places < 0
            places = np.where(missing, 0, places)
        self._read[name] += len(places)
        if name not in self._arranged and self._read[name] > len(self.order):
            self._arranged[name] = _taken(self.attributes[name], self.order, None)
        if name in self._arranged:
            return _plain(_taken(self._arranged[name], places, missing))
        return _plain(_taken(self.attributes[name], self.order[places], missing))

    def groups(self, places: Ints) -> pa.Array:
        """Return the codes of the groups of events at some places."""
        if self._groups is None:
            return repeated(0, len(places))
        return _taken(self._group_of_place, places, None)

    @cached_property
    def _group_of_place(self) -> pa.Array:
        assert self._groups is not None
        begins = self._keys[:, FIRST_ROW]
        groups = self._groups[self.order[begins]]
        return to_arrow(np.repeat(groups, self._keys[:, END_ROW] - begins))


def repeated(number: int, count: int) -> pa.Array:
    """Return a column of so many rows that is one number; such columns share their memory.

    >>> repeated(3, 2).to_pylist()
    [3, 3]
    """
    return _column(number, max(count, SHARED)).slice(0, count)


@lru_cache(maxsize=4)
def _column(number: int, count: int) -> pa.Array:
    return to_arrow(np.full(count, number, dtype=np.int32))


def _taken(values: pa.Array, rows: Ints, missing: Any) -> pa.Array:
    if pa.types.is_null(values.type):  # of which Arrow gives as many as there were
        return pa.nulls(len(rows))
    return pc.take(values, to_arrow(rows, mask=missing), boundscheck=False)


def _plain(values: pa.Array) -> pa.Array:
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
