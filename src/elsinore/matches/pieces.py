"""Rows of Arrow columns, numbered as they came, in a few tables of growing size."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.arrow import to_arrow, whole
from elsinore.matches.arrays import Bools, Ints


class Pieces:
    """Rows that are appended, and read by their numbers.

    A table is joined with the one before it as soon as it has half as many rows, so that there are
    few of them, and each row is copied a few times.
    """

    def __init__(self) -> None:
        self._tables: list[pa.Table] = []
        self._starts: list[int] = []
        self.rows = 0
        self.nbytes = 0

    def append(self, table: pa.Table) -> int:
        """Append rows; return the number of the first."""
        start = self.rows
        self._tables.append(table)
        self._starts.append(start)
        self.rows += table.num_rows
        self.nbytes += table.nbytes
        tables = self._tables
        while len(tables) > 1 and 2 * tables[-1].num_rows >= tables[-2].num_rows:
            last = tables.pop()
            tables[-1] = pa.concat_tables([tables[-1], last]).combine_chunks()
            self._starts.pop()
        return start

    def table(self, numbers: Ints) -> pa.Table:
        """Return some rows; `numbers` are in any order."""
        schema = self._tables[0].schema
        columns = [self.take(name, numbers) for name in schema.names]
        return pa.table(
            [
                column if column.type == field.type else column.cast(field.type)
                for column, field in zip(columns, schema, strict=True)
            ],
            schema=schema,
        )

    def keep(self, numbers: Ints) -> None:
        """Keep these rows alone, and number them anew."""
        table = self.table(numbers) if len(numbers) else None
        self._tables, self._starts, self.rows, self.nbytes = [], [], 0, 0
        if table is not None:
            self.append(table)

    def has_nulls(self, name: str) -> bool:
        """Return whether a column has nulls."""
        return any(table.column(name).null_count for table in self._tables)

    def take(self, name: str, numbers: Ints, missing: Bools | None = None) -> Any:
        """Return a column at some rows, null where `missing`."""
        columns = [whole(table.column(name)) for table in self._tables]
        if len(columns) == 1:
            return taken(columns[0], numbers, missing)
        piece = np.searchsorted(self._starts, numbers, side="right") - 1
        order = np.argsort(piece, kind="stable")
        ends = np.searchsorted(piece[order], np.arange(len(columns) + 1))
        parts = [
            decoded(taken(columns[n], numbers[order[a:b]] - self._starts[n], None))
            for n, (a, b) in enumerate(itertools.pairwise(ends))
            if a < b
        ]
        if not parts:
            return taken(columns[0], numbers, missing)
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        return taken(pa.concat_arrays(parts), back, missing)


def taken(column: pa.Array, rows: Ints, missing: Bools | None) -> pa.Array:
    """Return a column at some rows, null where `missing`."""
    if pa.types.is_null(column.type):  # of which Arrow gives as many as there were
        return pa.nulls(len(rows))
    return pc.take(column, to_arrow(rows, mask=missing), boundscheck=False)


def decoded(column: pa.Array) -> pa.Array:
    """Return a column without a dictionary: those of two tables may differ."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
