"""Rows of a table as items: their attributes are read from Arrow's buffers."""

from __future__ import annotations

from typing import Any

import cython
import numpy as np
import pyarrow as pa

from elsinore.arrow import present, stored, to_numpy, whole
from elsinore.quantitative.items import record_type
from elsinore.quantitative.machine.instructions import BOOL, DOUBLE, INT, NONE, OBJECT
from elsinore.quantitative.machine.tagged import Tagged, store


class Column:
    """An attribute of rows: doubles, integers of 64 bits, truth values or objects (`kind`)."""

    def __init__(self, column: pa.Array) -> None:
        kind = column.type
        self.kind, self.has_nulls = OBJECT, column.null_count > 0
        if self.has_nulls:
            self.present = np.ascontiguousarray(present(column)).view(np.uint8)
        if pa.types.is_float32(kind) or pa.types.is_float64(kind):
            self.kind = DOUBLE
            self.numbers = np.ascontiguousarray(stored(column), np.float64)
        elif pa.types.is_boolean(kind):
            self.kind = BOOL
            self.wholes = np.ascontiguousarray(stored(column), np.int64)
        elif pa.types.is_integer(kind) and not pa.types.is_uint64(kind):
            self.kind = INT
            self.wholes = np.ascontiguousarray(stored(column), np.int64)
        else:
            self.objects = as_list(column)


@cython.cfunc
def read_cell(
    column: Column, row: cython.Py_ssize_t, frame: Tagged, slot: cython.Py_ssize_t
) -> cython.int:
    """Write the value of a row to a slot."""
    if column.kind == OBJECT:
        store(frame, slot, column.objects[row])
    elif column.has_nulls and not column.present[row]:
        frame.values[slot].tag = NONE
    elif column.kind == DOUBLE:
        frame.values[slot].tag = DOUBLE
        frame.values[slot].number = column.numbers[row]
    else:
        frame.values[slot].tag = column.kind
        frame.values[slot].whole = column.wholes[row]
    return 0


class Rows:
    """Rows of a table, some of whose columns are read."""

    def __init__(self, table: pa.Table, names: tuple[str, ...]) -> None:
        self.table, self.record = table, record_type(names)
        self.lists: dict[str, list[Any]] | None = None
        self.columns: dict[str, Column | None] = {}

    def column(self, name: str) -> Column | None:
        """Return a column, None if there is none of this name."""
        if name not in self.columns:
            names = self.record._fields
            self.columns[name] = Column(whole(self.table[name])) if name in names else None
        return self.columns[name]

    def row(self, number: int) -> Any:
        """Return a row as a record."""
        if self.lists is None:
            names = self.record._fields
            self.lists = {name: as_list(whole(self.table[name])) for name in names}
        return tuple.__new__(self.record, [column[number] for column in self.lists.values()])

    def whole_row(self, number: int) -> Any:
        """Return a row with all of the table's columns, for messages."""
        record = record_type(tuple(self.table.column_names))
        return record(*(column[number].as_py() for column in self.table.columns))


def as_list(column: pa.Array) -> list[Any]:
    """Return a column as Python's values; each text of a dictionary is made once.

    >>> as_list(pa.array(["a", "b", "a"]).dictionary_encode())
    ['a', 'b', 'a']
    """
    if pa.types.is_dictionary(column.type) and not column.null_count:
        names = np.array([*column.dictionary.to_pylist(), None], object)
        return names[to_numpy(column.indices)].tolist()  # type: ignore[no-any-return]
    plain = pa.types.is_integer(column.type) or column.type == pa.float64()
    if plain and not column.null_count:
        return stored(column).tolist()  # type: ignore[no-any-return]
    return column.to_pylist()  # type: ignore[no-any-return]
