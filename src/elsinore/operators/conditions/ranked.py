"""Integers for texts and exact numbers that keep their order, whatever values come later."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.operators.conditions.orders import NULL

Ints = NDArray[np.int64]


class RankedValues:
    """The values of some columns, ascending; twice its place is the code of each.

    So a constant that does not occur has a code between two. Codes change if values come: `learn`
    returns those of the values before.
    """

    def __init__(self, values: Iterable[Any] = ()) -> None:
        self.values: list[Any] = sorted(values)

    def learn(self, columns: Iterable[pa.DictionaryArray]) -> Ints | None:
        """Take in the values of columns; return the new codes of those before, or None.

        None: they have not changed, or there were none.

        >>> ranked = RankedValues()
        >>> ranked.learn([pa.array(["b", "d"]).dictionary_encode()])
        >>> ranked.learn([pa.array(["d", "c"]).dictionary_encode()]).tolist()
        [0, 4]
        """
        known = set(self.values)
        found = {value for column in columns for value in column.dictionary.to_pylist()}
        if found <= known:
            return None
        before, self.values = self.values, sorted(known | found)
        return self._codes_of(before) if before else None

    def keep(self, codes: Ints) -> Ints:
        """Forget all values but those with some codes; return the new codes of all before."""
        wanted = np.unique(codes[codes != NULL]) >> 1
        new = np.full(len(self.values), NULL)
        new[wanted] = 2 * np.arange(len(wanted))
        self.values = [self.values[place] for place in wanted.tolist()]
        return new

    def codes(self, column: pa.DictionaryArray) -> Ints:
        """Return the codes of a column whose values are known; NULL for null."""
        codes = np.append(self._codes_of(column.dictionary.to_pylist()), NULL)
        places = column.indices.fill_null(len(codes) - 1)
        chosen: Ints = codes[places.to_numpy(zero_copy_only=False)]
        return chosen

    def code(self, constant: Any) -> int:
        """Return the code of a constant: odd if no value equals it.

        >>> ranked = RankedValues(["a", "c"])
        >>> ranked.code("c"), ranked.code("b")
        (2, 1)
        """
        place = bisect_left(self.values, constant)
        is_there = place < len(self.values) and self.values[place] == constant
        return 2 * place if is_there else 2 * place - 1

    def _codes_of(self, values: Iterable[Any]) -> Ints:
        places = {value: 2 * place for place, value in enumerate(self.values)}
        return np.array([places[value] for value in values], np.int64)
