"""Running quantitative queries over tables in this process."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from numbers import Number
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.arrow import picked, to_arrow, to_numpy, to_scalar, whole
from elsinore.errors import InputError
from elsinore.quantitative.check import check_keys, missing_attribute
from elsinore.quantitative.kind import unit_of
from elsinore.quantitative.regex import TYPE
from elsinore.quantitative.runnable import NoValueWarning, Runnable
from elsinore.quantitative.stream import Stream
from elsinore.quantitative.streams import CHUNK
from elsinore.runtime.inputs import as_table, no_events
from elsinore.runtime.keys import encode_keys
from elsinore.runtime.options import RunOptions
from elsinore.runtime.predicate_bits import bits, check_names, run_rows
from elsinore.runtime.rate_mismatch import why_no_value
from elsinore.runtime.schema import schema_of
from elsinore.runtime.times import kind_of_column, numbers_for_text, to_ticks

TIME = "time"  # the column of times, if the events have it
POSITION = "position"  # the column instead of times if events have none
SHOWN = 3  # unusable events in a message


def run(
    query: Runnable,
    data: object,
    *,
    time: str = TIME,
    type: str = TYPE,  # noqa: A002 - the word for it
    by: Sequence[str] = (),
) -> pa.Table:
    """Return a query's values over the events in `data`, in order of `time` if there is one.

    Columns are those of `by`, each combination of whose values is a separate stream; `time` if the
    events have it, else `position`, the event's index from 0; and `value`. Simultaneous events are
    processed in the order of their rows. Warns if there are no values, with the first stream's
    event that the query's rate excludes.

    Raises QuerySemanticError if a predicate reads a missing attribute, InputError for events with
    a missing or invalid time, and for events without a type that the query requires.
    """
    if isinstance(data, list) and not data:
        attributes = unit_of(query, tuple(by), name="values").attributes
        data = no_events(attributes, RunOptions(time=time, type=type))
    table = _table(data, type)
    has_times = time in table.column_names
    if has_times:
        table = _in_order(table, time)
    elif time != TIME:
        raise missing_attribute(time, table.column_names, "time")
    check_keys(by, schema_of(table.schema))
    keys = encode_keys([whole(table[name]) for name in by], (), (), table.num_rows)
    places, values = run_rows(query, table, keys.key, keys.count)
    if not len(places):
        required_columns = [name for name in (*by, time, TYPE) if name in table.column_names]
        why = why_no_value(query, table, keys.key, required_columns)
        if why is not None:
            warnings.warn(why, NoValueWarning, stacklevel=3)
    return _result(table, by, places, values, time if has_times else None)


def no_values(table: pa.Table, keys: Sequence[str], time: str) -> pa.Table:
    """Return the next query's result for an empty result."""
    names = dict.fromkeys((*keys, time, "value"))
    return pa.table({n: table[n] if n in table.column_names else pa.nulls(0) for n in names})


def values_as_events(table: pa.Table, time: str) -> tuple[pa.Table | None, str]:
    """Return the result of `run` as events for the next query, and the name of its time column.

    None means no values. Raises QuerySemanticError if a field of the values has the name of a key
    or the time.
    """
    if time not in table.column_names:
        time = POSITION
    if not table.num_rows:
        return None, time
    column = whole(table["value"])
    if not pa.types.is_struct(column.type):
        return table, time
    before = table.drop_columns("value")
    names = [column.type.field(number).name for number in range(column.type.num_fields)]
    check_names(names, before.column_names)
    columns = dict(zip(before.column_names, before.columns, strict=True))
    return pa.table(columns | dict(zip(names, column.flatten(), strict=True))), time


def take_rows(
    stream: Stream,
    data: object,
    *,
    type: str = TYPE,  # noqa: A002 - the word for it
) -> pa.Table:
    """Push all rows of a table to a stream; return positions and values."""
    table = _table(data, type)
    start = stream.position
    truths = bits(stream.streams.bits, table)
    output = stream.streams.take_rows(table, truths, last=stream.last)
    return pa.table({POSITION: output.places + start, "value": output.column()})


def iterate_rows(
    stream: Stream,
    data: object,
    *,
    type: str = TYPE,  # noqa: A002 - the word for it
) -> Iterator[tuple[int, Any]]:
    """Push the rows of a table to a stream, a batch at a time; yield positions and values."""
    table = _table(data, type)
    for begin in range(0, table.num_rows, CHUNK):
        part = table.slice(begin, CHUNK)
        start = stream.position
        truths = bits(stream.streams.bits, part)
        output = stream.streams.take_rows(part, truths, last=stream.last)
        for place, value in zip(output.places.tolist(), output.boxed(), strict=True):
            yield start + place, value


def _table(data: object, type: str) -> pa.Table:  # noqa: A002 - the word for it
    """Return events as a table whose types of events are in the column `type`."""
    if isinstance(data, Sequence) and data and isinstance(data[0], Number):
        raise InputError(
            "These items are numbers and have no columns. query.start().extend(items) processes "
            'items of any kind; tables have events, such as [{"time": 1, "value": 70}].'
        )
    table = as_table(data)
    if type == TYPE:
        return table
    if type not in table.column_names:
        raise missing_attribute(type, table.column_names, "column")
    if TYPE in table.column_names:
        return table.set_column(table.column_names.index(TYPE), TYPE, table[type])
    return table.append_column(TYPE, table[type])


def _result(
    table: pa.Table, by: Sequence[str], places: Any, values: pa.Array, time: str | None
) -> pa.Table:
    key_columns = {name: picked(whole(table[name]), places) for name in by}
    if time is None:
        where = {POSITION: to_arrow(places, pa.int64())}
    else:
        where = {time: picked(whole(table[time]), places)}
    return pa.table(key_columns | where | {"value": values})


def _in_order(table: pa.Table, time: str) -> pa.Table:
    """Return events in order of their time. Raises InputError for events without a time."""
    column = whole(table[time])
    times = numbers_for_text(column)
    kind, is_fine = kind_of_column(times)
    if kind.form == "text":
        times, _ = to_ticks(times, per_microsecond=1_000 if is_fine else 1)
    elif kind.form == "float":
        times = pc.if_else(pc.is_finite(times), times, to_scalar(None))
    if times.null_count:
        bad = np.flatnonzero(to_numpy(times.is_null()))
        examples = ", ".join(
            f"{column[row].as_py()!r} in row {row}" for row in bad[:SHOWN].tolist()
        )
        raise InputError(
            f"{len(bad)} event{'s have' if len(bad) > 1 else ' has'} no time that can be read "
            f"(column '{time}'): {examples}{', ...' if len(bad) > SHOWN else ''}. Drop such "
            "events, or give them a time."
        )
    if len(times) < 2 or pc.all(pc.less_equal(times[:-1], times[1:])).as_py():
        return table
    return table.take(pc.sort_indices(times))
