"""Quantitative queries over tables, in this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.errors import InputError
from elsinore.quantitative.pipeline import Pipeline
from elsinore.quantitative.query import Query
from elsinore.quantitative.regex import TYPE
from elsinore.quantitative.rows import CHUNK, Runs, codes_of, joined, take, whole
from elsinore.quantitative.stream import Stream
from elsinore.runtime.inputs import as_table
from elsinore.runtime.streams import bits, check_names, run_rows, unknown

POSITION = "position"  # the column that stands for times where events have none
MANY = 100_000  # events from which on compiling a machine pays


def run(
    query: Query | Pipeline,
    data: object,
    *,
    time: str = "time",
    type: str = TYPE,  # noqa: A002 - the word for it
    by: Sequence[str] = (),
    compiled: bool | None = None,
) -> pa.Table:
    """Return a query's values over the events in `data`, in order of `time` where there is one.

    Columns: those of `by`, whose values each have a stream of their own; `time` if the events have
    it, `position` else (of the event, counted from 0); `value`. Events of one time are taken in the
    order they stand in. A machine is compiled where it can be and there are many events; `compiled`
    asks for it (with few as well) or against it, the values are the same.

    Raises QuerySemanticError where a predicate reads what the events do not have, InputError for
    events without a time or of an odd one.
    """
    table = _typed(as_table(data), type)
    timed = time in table.column_names
    if timed:
        if table[time].null_count:
            raise InputError(
                f"{table[time].null_count} events have no time (column {time!r}). Drop them, or "
                "give them one."
            )
        if not _is_sorted(table[time]):
            table = table.take(pc.sort_indices(table, [(time, "ascending")]))
    for name in by:
        if name not in table.column_names:
            raise unknown(name, table.column_names, "column")
    codes, count = codes_of(table, by)
    asked = table.num_rows >= MANY if compiled is None else compiled
    found = run_rows(query, table, codes, count, compiled=asked)
    return _result(table, by, *found, time if timed else None)


def values_as_events(found: pa.Table, time: str) -> tuple[pa.Table, str]:
    """Return what `run` gave as events for the next query, and the name of the column of times.

    Raises QuerySemanticError where a field of the values is called like a key or the time.
    """
    if time not in found.column_names:
        time = POSITION
    column = whole(found["value"])
    if not pa.types.is_struct(column.type):
        return found, time
    before = found.drop_columns("value")
    names = [column.type.field(number).name for number in range(column.type.num_fields)]
    check_names(names, before.column_names)
    columns = dict(zip(before.column_names, before.columns, strict=True))
    return pa.table(columns | dict(zip(names, column.flatten(), strict=True))), time


def take_rows(
    stream: Stream,
    data: object,
    *,
    type: str = TYPE,  # noqa: A002 - the word for it
    compiled: bool | None = None,
) -> pa.Table:
    """Give all rows of a table to a stream; return positions and values."""
    table = _typed(as_table(data), type)
    rows, start = table.num_rows, stream.position
    values: pa.Array = pa.nulls(0)
    places: Any = np.zeros(0, np.int64)
    asked = rows >= MANY if compiled is None else compiled
    if asked and rows > 1 and len(stream.stages) == 1:
        runs = _runs_for(stream, table)
        first = table.slice(0, rows - 1)
        found = runs.run_alone(stream, first, bits(runs.bits, first))
        places, values = found.places, found.values if found.values is not None else values
        table = table.slice(rows - 1)
    told = bits(stream.stages[0].machine.bits, table)
    few, more = take(stream, table, told)  # the last one, so that `stream.value` is at hand
    places = np.concatenate([places, np.array(few, np.int64) + (rows - table.num_rows)])
    columns = joined([values] if len(values) else [], more)
    value = pa.concat_arrays(columns) if columns else values
    return pa.table({POSITION: places + start, "value": value})


def iterate_rows(
    stream: Stream,
    data: object,
    *,
    type: str = TYPE,  # noqa: A002 - the word for it
) -> Iterator[tuple[int, Any]]:
    """Give the rows of a table to a stream, a batch at a time; yield positions and values."""
    table = _typed(as_table(data), type)
    for begin in range(0, table.num_rows, CHUNK):
        part = table.slice(begin, CHUNK)
        start = stream.position
        places, values = take(stream, part, bits(stream.stages[0].machine.bits, part))
        for place, value in zip(places, values, strict=True):
            yield start + place, value


def _runs_for(stream: Stream, table: pa.Table) -> Runs:
    """Return what runs tables of such columns; compiled once."""
    if table.schema not in stream.tables:
        types = dict(zip(table.schema.names, table.schema.types, strict=True))
        stream.tables[table.schema] = Runs(stream.query, types, compiled=True)
    found: Runs = stream.tables[table.schema]
    return found


def _typed(table: pa.Table, type: str) -> pa.Table:  # noqa: A002 - the word for it
    """Return a table whose types of events are in the column `type`."""
    if type == TYPE:
        return table
    if type not in table.column_names:
        raise unknown(type, table.column_names, "column")
    if TYPE in table.column_names:
        return table.set_column(table.column_names.index(TYPE), TYPE, table[type])
    return table.append_column(TYPE, table[type])


def _result(
    table: pa.Table, by: Sequence[str], places: Any, values: pa.Array, time: str | None
) -> pa.Table:
    rows = pa.array(places, pa.int64())
    shown = {name: whole(table[name]).take(rows) for name in by}
    where = {POSITION: rows} if time is None else {time: whole(table[time]).take(rows)}
    return pa.table(shown | where | {"value": values})


def _is_sorted(column: pa.ChunkedArray) -> bool:
    if len(column) < 2:
        return True
    times = whole(column)
    return bool(pc.all(pc.less_equal(times.slice(0, len(times) - 1), times.slice(1))).as_py())
