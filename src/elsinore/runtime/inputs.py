"""Converting events in memory, in any of the usual containers, to an Arrow table."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from elsinore.arrow import to_arrow
from elsinore.errors import InputError, kind_of_value
from elsinore.expressions.reasons import reason
from elsinore.runtime.column_types import with_stored_types
from elsinore.runtime.options import RunOptions
from elsinore.runtime.tables import check_names, plain_dictionaries

ACCEPTED = (
    "a path, a pyarrow Table, RecordBatch or RecordBatchReader, an iterable of RecordBatches, a "
    "pyarrow Dataset, a pandas or polars DataFrame, a polars LazyFrame, a dict of columns or a "
    "list of dicts"
)


def as_table(data: Any, few: Collection[str] | None = None) -> pa.Table:
    """Return `data` as a table; read an iterator of batches to its end, collect a LazyFrame.

    Accepted are a pyarrow Table, RecordBatch or RecordBatchReader, an iterable of RecordBatches, a
    pyarrow Dataset, a pandas or polars DataFrame, a polars LazyFrame, any object with
    `__arrow_c_stream__`, a dict of columns and a list of dicts (a key that a row lacks is null).
    The index of a pandas DataFrame is an attribute of the events if it has a name. A path (a file,
    a folder, a pattern) is read with `read_events`.

    `few` are the required columns of a pandas DataFrame or Dataset, whose conversion is slow.

    Raise InputError for other data, and for columns of unequal lengths, mixed types or equal names.

    >>> as_table([{"time": 1, "type": "A"}, {"time": 2, "type": "B", "v": 0.5}]).to_pydict()
    {'time': [1, 2], 'type': ['A', 'B'], 'v': [None, 0.5]}
    """
    try:
        table = _convert(data, few)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise InputError(f"The events cannot be made a table: {reason(error)}.") from error
    check_names(table.column_names, "the events")
    return plain_dictionaries(with_stored_types(table))


def _convert(data: Any, few: Collection[str] | None) -> pa.Table:
    """Convert data of any supported container to a table."""
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, str | Path):
        from elsinore.runtime.files import read_events  # noqa: PLC0415 - readers load on first use

        return read_events(data)
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if isinstance(data, pa.RecordBatchReader):
        return data.read_all()
    if is_dataset(data):
        return data.to_table([name for name in data.schema.names if few is None or name in few])
    library, name = type(data).__module__.partition(".")[0], type(data).__name__
    if is_pandas_frame(data):
        check_names([str(column) for column in data.columns], "the events")
        named_levels = [name for name in data.index.names if name not in {None, *data.columns}]
        data = data.reset_index(level=named_levels) if named_levels else data
        selected_columns = [name for name in data.columns if few is None or str(name) in few]
        try:
            table = pa.Table.from_pandas(data, columns=selected_columns, preserve_index=False)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            return pa.table({str(n): _column(str(n), data[n].tolist()) for n in selected_columns})
        return table.replace_schema_metadata(None)
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


def is_pandas_frame(data: object) -> bool:
    """Return whether `data` is a DataFrame of pandas, without importing pandas."""
    kind = type(data)
    return kind.__module__.partition(".")[0] == "pandas" and kind.__name__ == "DataFrame"


def is_dataset(data: object) -> bool:
    """Return whether `data` is a Dataset of pyarrow, without importing `pyarrow.dataset`."""
    return type(data).__module__ == "pyarrow._dataset" and hasattr(data, "to_table")


def columns_to_convert(
    data: Any, attributes: Collection[str] | None, options: RunOptions
) -> frozenset[str] | None:
    """Return the columns of a pandas DataFrame or a Dataset that a run reads; None means all.

    `attributes` are those that queries read, None if unknown. All columns are needed if unusable
    events are returned; an SQL expression may read any column whose name occurs in it.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"t": [1.5], "kind": ["A"], "v": [2], "w": [3]})
    >>> options = RunOptions(time="t + 1", type="kind")
    >>> sorted(columns_to_convert(frame, ["v"], options))
    ['kind', 't', 'v']
    """
    if attributes is None or not (is_pandas_frame(data) or is_dataset(data)):
        return None
    if options.allow_rejects or options.uncertain is not None:
        return None
    labels = data.schema.names if is_dataset(data) else (*data.columns, *data.index.names)
    names = [str(name) for name in labels]
    required = {*attributes, options.time, options.type, *options.order_by}
    for name in attributes:  # a field of a struct: `user.id`
        parts = name.split(".")
        required.update(".".join(parts[:count]) for count in range(1, len(parts)))
    texts = [text.lower() for text in required.difference(attributes, names)]
    return frozenset(
        name for name in names if name in required or any(name.lower() in text for text in texts)
    )


def no_events(attributes: Iterable[str], options: RunOptions) -> pa.Table:
    """Return an empty table with the columns that queries and options name.

    Times are numbers; the other columns have the type null. Numbers of rows are added later.

    >>> no_events(["v"], RunOptions(time="at")).column_names
    ['v', 'type', 'at']
    """
    columns = {name: pa.nulls(0) for name in (*attributes, *options.order_by)}
    columns |= dict.fromkeys([options.type], pa.array([], pa.string()))
    columns |= dict.fromkeys([options.time, *options.time_columns], pa.array([], pa.int64()))
    if options.by_rows:
        del columns[options.time]
    return pa.table(columns)


def _from_columns(columns: Mapping[str, Any]) -> pa.Table:
    if not columns:
        raise InputError("The events have no columns: the dict is empty.")
    arrays = {name: _column(name, values) for name, values in columns.items()}
    lengths = {name: len(column) for name, column in arrays.items()}
    if len(set(lengths.values())) > 1:
        (first_name, first), (second_name, second) = next(
            pair for pair in itertools.pairwise(lengths.items()) if pair[0][1] != pair[1][1]
        )
        raise InputError(
            f"Column '{first_name}' and column '{second_name}' are not of one length: "
            f"{first:,} and {second:,} values."
        )
    return pa.table(arrays)


def _column(name: object, values: Any) -> pa.Array | pa.ChunkedArray:
    """Return a column of Python values; raise InputError, with the row, for mixed types."""
    if not isinstance(name, str):
        raise InputError(f"Columns are named by text, and one is named {kind_of_value(name)}.")
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
        raise InputError(
            f"Column '{name}' is {kind_of_value(values)}: a dict of columns maps each name to the "
            "list of its values."
        )
    try:
        return to_arrow(values)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        raise InputError(_misfit(name, values)) from None


def _misfit(name: str, values: Sequence[Any]) -> str:
    """Return the error message for the first value whose type differs from earlier values'."""
    low, high = 0, len(values)  # the first `low` values make a column, the first `high` do not
    while high - low > 1:
        middle = (low + high) // 2
        try:
            to_arrow(values[:middle])
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            high = middle
        else:
            low = middle
    value = kind_of_value(values[low])
    before = next((earlier for earlier in values[:low] if earlier is not None), None)
    if before is None:
        return f"Column '{name}', row {high}: {value} is not a value that a table can hold."
    return (
        f"Column '{name}' has values of several kinds: {value} in row {high}, and "
        f"{kind_of_value(before)} before it. Make them all of one kind."
    )


def _from_items(items: list[Any]) -> pa.Table:
    """Convert a list of dicts to a table; a key that a dict lacks is null."""
    if not items:
        raise InputError(
            "The list of events is empty, so their columns are not known. Pass a pyarrow Table "
            "with a schema instead."
        )
    if all(isinstance(item, pa.RecordBatch) for item in items):
        return pa.Table.from_batches(items)
    if all(isinstance(item, Mapping) for item in items):
        names = dict.fromkeys(name for item in items for name in item)
        return pa.table({name: _column(name, [item.get(name) for item in items]) for name in names})
    if all(isinstance(item, str | Path) for item in items):
        raise InputError(
            "A list of paths is read by read_events(*paths), as one table; a folder, or a pattern "
            "such as 'logs/*.csv', names several files too."
        )
    kinds = ", ".join(sorted({type(item).__name__ for item in items}))
    raise InputError(
        f"A list of events contains only dicts or only RecordBatches, this one has {kinds}. "
        f"Accepted are {ACCEPTED}."
    )


def _refusal(data: object) -> InputError:
    kind = f"{type(data).__module__}.{type(data).__qualname__}".removeprefix("builtins.")
    return InputError(f"Events cannot be read from {kind}. Accepted are {ACCEPTED}.")
