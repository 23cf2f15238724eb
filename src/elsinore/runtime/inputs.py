"""Events that are in memory already, in any of the usual containers, as one Arrow table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from elsinore.errors import InputError
from elsinore.runtime.tables import check_names, plain_views

ACCEPTED = (
    "a pyarrow Table, RecordBatch or RecordBatchReader, an iterable of RecordBatches, a pandas or "
    "polars DataFrame, a polars LazyFrame, a dict of columns or a list of dicts"
)


def as_table(data: Any) -> pa.Table:
    """Return `data` as a table; read an iterator of batches to its end, collect a LazyFrame.

    Accepted are a pyarrow Table, RecordBatch or RecordBatchReader, an iterable of RecordBatches, a
    pandas or polars DataFrame, a polars LazyFrame, whatever has `__arrow_c_stream__`, a dict of
    columns and a list of dicts (a key that a row lacks is null there). The index of a pandas
    DataFrame is not an attribute of the events: call `reset_index` on it to make it one.

    Raise InputError for anything else, and where columns are of unequal length, of mixed types or
    of the same name.

    >>> as_table([{"time": 1, "type": "A"}, {"time": 2, "type": "B", "v": 0.5}]).to_pydict()
    {'time': [1, 2], 'type': ['A', 'B'], 'v': [None, 0.5]}
    """
    try:
        table = _convert(data)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise InputError(f"The events cannot be made a table: {error}") from error
    check_names(table.column_names, "the events")
    return plain_views(table)


def _convert(data: Any) -> pa.Table:
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if isinstance(data, pa.RecordBatchReader):
        return data.read_all()
    library, name = type(data).__module__.partition(".")[0], type(data).__name__
    if library == "pandas" and name == "DataFrame":
        check_names([str(column) for column in data.columns], "the events")
        return pa.Table.from_pandas(data, preserve_index=False).replace_schema_metadata(None)
    if library == "polars" and name == "LazyFrame":
        data = data.collect()
    if library == "polars" and name == "Series":
        raise _refusal(data)  # it has the stream protocol, but is one column
    if hasattr(data, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(data).read_all()
    if isinstance(data, Mapping):
        return _from_columns(data)
    if isinstance(data, Iterable) and not isinstance(data, (str, bytes)):
        return _from_items(list(data))
    raise _refusal(data)


def _from_columns(columns: Mapping[str, Any]) -> pa.Table:
    if not columns:
        raise InputError("The events have no columns: the dict is empty.")
    try:
        return pa.table(dict(columns))
    except (TypeError, ValueError) as error:
        raise InputError(
            f"The dict cannot be made a table: {error}. It maps each column's name to the list of "
            "its values, all lists of one length."
        ) from error


def _from_items(items: list[Any]) -> pa.Table:
    if not items:
        raise InputError(
            "The list of events is empty, so their columns are not known. Pass a pyarrow Table "
            "with a schema instead."
        )
    if all(isinstance(item, pa.RecordBatch) for item in items):
        return pa.Table.from_batches(items)
    if all(isinstance(item, Mapping) for item in items):
        names = dict.fromkeys(name for item in items for name in item)
        return pa.table({name: pa.array([item.get(name) for item in items]) for name in names})
    found = ", ".join(sorted({type(item).__name__ for item in items}))
    raise InputError(
        f"A list of events holds only dicts or only RecordBatches, this one holds {found}. "
        f"Accepted are {ACCEPTED}."
    )


def _refusal(data: object) -> InputError:
    hint = " Read a file with read_events(path) first." if isinstance(data, str) else ""
    kind = f"{type(data).__module__}.{type(data).__qualname__}".removeprefix("builtins.")
    return InputError(f"{kind} holds no events that can be read. Accepted are {ACCEPTED}.{hint}")
