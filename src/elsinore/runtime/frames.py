"""Combining several tables of events, each of one type, into one table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from elsinore.errors import InputError
from elsinore.runtime.inputs import as_table, is_dataset, is_pandas_frame
from elsinore.runtime.type_from import with_type


def are_by_type(data: object) -> bool:
    """Return whether `data` maps types of events to tables (else names of columns to values).

    >>> are_by_type({"A": pa.table({"v": [1]})}), are_by_type({"v": [1]})
    (True, False)
    """
    return isinstance(data, Mapping) and bool(data) and all(map(_is_table, data.values()))


def _is_table(data: object) -> bool:
    if isinstance(data, pa.Table | pa.RecordBatch | pa.RecordBatchReader):
        return True
    kind = type(data)
    is_polars = kind.__module__.partition(".")[0] == "polars" and "Frame" in kind.__name__
    return is_polars or is_pandas_frame(data) or is_dataset(data)


def union_by_type(tables: Mapping[str, Any]) -> pa.Table:
    """Return the events of several tables, with their types in a column `type`.

    Columns are combined by name; one that a table lacks is null for its events. Raises InputError
    for a column that two tables have as two types.

    >>> union_by_type({"A": pa.table({"v": [1]}), "B": pa.table({"w": ["x"]})}).to_pylist()
    [{'v': 1, 'type': 'A', 'w': None}, {'v': None, 'type': 'B', 'w': 'x'}]
    """
    by_type = {name: with_type(as_table(table), name) for name, table in tables.items()}
    refuse_conflicts(
        (name, field.name, None if pa.types.is_null(field.type) else field.type)
        for name, table in by_type.items()
        for field in table.schema
    )
    return pa.concat_tables(by_type.values(), promote_options="default")


def refuse_conflicts(columns: Iterable[tuple[str, str, object | None]]) -> None:
    """Raise InputError if a column has two types; given tables, their columns and types.

    A type None is compatible with any other.
    """
    types_by_column: dict[str, tuple[object, str]] = {}
    for table, name, kind in columns:
        if kind is None:
            continue
        first_kind, first_table = types_by_column.setdefault(name, (kind, table))
        if first_kind != kind:
            raise InputError(
                f"Column '{name}' is {first_kind} in '{first_table}' and {kind} in '{table}'. Cast "
                "one of them to the type of the other."
            )
