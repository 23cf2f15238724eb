"""Rows of tables: the values after them, and the streams that they belong to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.arrow import present, stored, to_numpy, whole
from elsinore.quantitative.machine.batch import Values
from elsinore.quantitative.values import as_array


@dataclass(frozen=True, slots=True)
class Output:
    """The rows after which there are values, ascending, and these values."""

    places: NDArray[np.int64]
    values: tuple[Values, ...]

    def boxed(self) -> list[Any]:
        """Return the values as Python's."""
        return [value for part in self.values for value in part.to_list()]

    def column(self) -> pa.Array:
        """Return the values as a column."""
        return column_of(self.values)


def column_of(parts: Sequence[Values]) -> pa.Array:
    """Return values as one column. Raises InputError for values of several kinds."""
    columns = [part.column() for part in parts if len(part)]
    if len(columns) == 1:
        return columns[0]
    if columns and all(column.type == columns[0].type for column in columns):
        return pa.concat_arrays(columns)
    return as_array([value for part in parts for value in part.to_list()])


def codes_of(table: pa.Table, by: Sequence[str]) -> tuple[Any, int]:
    """Return each event's number of its key, and how many keys there are."""
    if not by:
        return np.zeros(table.num_rows, np.int32), 1
    codes: Any = None
    for name in by:
        numbers, size = _numbers_of(whole(table[name]))
        if codes is None:
            codes = numbers
            continue
        both = codes.astype(np.int64) * size + numbers
        _, codes = np.unique(both, return_inverse=True)
    return codes.astype(np.int32, copy=False), int(codes.max(initial=-1)) + 1


def _numbers_of(column: pa.Array) -> tuple[Any, int]:
    """Return a number for each value of a column, equal for equal ones, and a bound of them."""
    if pa.types.is_signed_integer(column.type) and len(column) > column.null_count:
        least, most = (bound.as_py() for bound in pc.min_max(column).values())
        if most - least < len(column):  # keys that lie close together are their own numbers
            numbers = np.empty(len(column), np.int32)
            np.subtract(stored(column), least, out=numbers, dtype=np.int64, casting="unsafe")
            if column.null_count:
                numbers[~present(column)] = most - least + 1
            return numbers, most - least + 2
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode(null_encoding="encode")
    none = len(column.dictionary)
    return to_numpy(column.indices.cast(pa.int32()), none), none + 1
