"""The Arrow columns of the stored events, and what RETURN reads of them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.arrow import to_arrow, whole
from elsinore.matches.arrays import Bools, Ints, Keys
from elsinore.matches.template import column_of


class ArrivedRows:
    """Rows of Arrow columns in the order in which they came, read by their numbers.

    They are kept as tables. A table is joined with the one before it as soon as it has half as many
    rows, so that there are few tables, and each row is copied a few times.
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
        """Remove all rows but these, and number them anew."""
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
            return _taken(columns[0], numbers, missing)
        table = np.searchsorted(self._starts, numbers, side="right") - 1
        order = np.argsort(table, kind="stable")
        ends = np.searchsorted(table[order], np.arange(len(columns) + 1))
        parts = [
            _decoded(_taken(columns[n], numbers[order[a:b]] - self._starts[n], None))
            for n, (a, b) in enumerate(itertools.pairwise(ends))
            if a < b
        ]
        if not parts:
            return _taken(columns[0], numbers, missing)
        places = np.empty(len(order), np.int64)
        places[order] = np.arange(len(order))
        return _taken(pa.concat_arrays(parts), places, missing)


class EventColumns:
    """The attributes of the events that are searched, read by their rows.

    An attribute that is read more often than there are events is put in the order of the rows
    first: the events of a match are close to each other there.
    """

    def __init__(
        self,
        arrived: ArrivedRows,
        keys: Keys,
        numbers: Ints,
        ordered: Mapping[str, pa.Array],
        *,
        has_groups: bool,
    ) -> None:
        """`numbers` are those of the rows of `keys` among the rows that arrived.

        `ordered` are attributes in the order of rows; `has_groups`: events are in groups.
        """
        self._arrived = arrived
        self._keys, self._numbers = keys, numbers
        self._has_groups = has_groups
        self._ordered = dict(ordered)
        self._reads: dict[str, int] = {}

    def values(self, name: str, rows: Ints) -> pa.Array:
        """Return an attribute at some rows, null at those below 0."""
        missing: Bools | None = None
        if len(rows) and rows.min() < 0:
            missing = rows < 0
            rows = np.where(missing, 0, rows)
        self._reads[name] = self._reads.get(name, 0) + len(rows)
        numbers = self._numbers
        if name not in self._ordered and self._reads[name] > len(numbers):
            self._ordered[name] = self._arrived.take(column_of(name), numbers)
        if name in self._ordered:
            return _decoded(_taken(self._ordered[name], rows, missing))
        return _decoded(self._arrived.take(column_of(name), numbers[rows], missing))

    def value(self, name: str, row: int) -> Any:
        """Return an attribute of one event."""
        return self.values(name, np.array([row], np.int64))[0].as_py()

    def groups(self, rows: Ints) -> pa.Array:
        """Return the codes of the groups of events."""
        if not self._has_groups:
            return to_arrow(np.zeros(len(rows), np.int32))
        return _taken(self._group_of_row, rows, None)

    @cached_property
    def _group_of_row(self) -> pa.Array:
        keys = self._keys
        groups = self._arrived.take("group", self._numbers[keys.first_row])
        lengths = keys.end_row - keys.first_row
        return _taken(groups, np.repeat(np.arange(len(keys)), lengths), None)


def _taken(column: pa.Array, rows: Ints, missing: Bools | None) -> pa.Array:
    """Return a column at some rows, null where `missing`."""
    if pa.types.is_null(column.type):  # `take` returns its length, not that of the rows
        return pa.nulls(len(rows))
    return pc.take(column, to_arrow(rows, mask=missing), boundscheck=False)


def _decoded(column: pa.Array) -> pa.Array:
    """Return a column without a dictionary: those of two tables may differ."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
