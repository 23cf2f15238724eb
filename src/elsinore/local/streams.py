"""Quantitative queries over tables, in this process."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.errors import InputError, QuerySemanticError, did_you_mean
from elsinore.model import expression as ex
from elsinore.quantitative.machine.program import Bits
from elsinore.quantitative.pipeline import Pipeline
from elsinore.quantitative.query import Query
from elsinore.quantitative.regex import TYPE
from elsinore.quantitative.stream import Stream, record_type
from elsinore.quantitative.values import as_array
from elsinore.runtime.expressions import evaluate
from elsinore.runtime.inputs import as_table

CHUNK = 1 << 16  # rows made records at a time
NARROW = 62  # predicates that fit the bits of a machine's integer


def run(
    query: Query | Pipeline,
    data: object,
    *,
    time: str = "time",
    type: str = TYPE,  # noqa: A002 - the word for it
    by: Sequence[str] = (),
) -> pa.Table:
    """Return a query's values over the events in `data`, in order of `time` where there is one.

    Columns: those of `by`, whose values each have a stream of their own; `time` if the events have
    it, `position` else (counted from 0, of the key's own events); `value`. Events of one time are
    taken in the order they stand in. Raises QuerySemanticError where a predicate reads what the
    events do not have, InputError for events without a time or of an odd one.
    """
    table = as_table(data)
    if type != TYPE:
        if type not in table.column_names:
            raise _unknown(type, table.column_names, "column")
        table = table.append_column(TYPE, table[type])
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
            raise _unknown(name, table.column_names, "column")
    stream = Stream.of(query)
    if not by:
        places, values = take(stream, table)
        return _result(table, {}, places, values, time if timed else None)
    return _run_by(query, table, tuple(by), time if timed else None)


def take(stream: Stream, table: pa.Table) -> tuple[list[int], list[Any]]:
    """Give the rows of a table to a stream; return after which there are values, and which."""
    names = tuple(table.column_names)
    record = record_type(names)
    told = stream.stages[0].machine.bits
    places: list[int] = []
    values: list[Any] = []
    for start in range(0, table.num_rows, CHUNK):
        part = table.slice(start, CHUNK)
        columns = [_column(part[name]) for name in names]
        items = list(map(record, *columns)) if columns else []
        found, more = stream.extend(items, bits(told, part))
        places += [place + start for place in found]
        values += more
    return places, values


def bits(told: Bits, table: pa.Table) -> list[int]:
    """Return what is true of each row, of the predicates that have a bit."""
    columns = {name: _whole(table[name]) for name in table.column_names}
    total: Any = np.zeros(table.num_rows, object if len(told.told) > NARROW else np.int64)
    for place, leaf in enumerate(told.told):
        for read in ex.attributes(leaf.condition):
            if read.name not in columns:
                raise _unknown(str(read.name), table.column_names, leaf.name)
        held = evaluate(leaf.condition, columns)
        if isinstance(held, pa.Scalar):
            truth = np.full(table.num_rows, bool(held.as_py()))
        else:
            truth = held.cast(pa.bool_()).fill_null(False).to_numpy(zero_copy_only=False)
        total = total + truth.astype(total.dtype) * (1 << place)
    return total.tolist()  # type: ignore[no-any-return]


def _run_by(
    query: Query | Pipeline, table: pa.Table, by: tuple[str, ...], time: str | None
) -> pa.Table:
    keys = pa.StructArray.from_arrays([_whole(table[name]) for name in by], names=list(by))
    numbers: dict[tuple[Any, ...], int] = {}
    codes = np.empty(len(keys), np.int64)
    for row, key in enumerate(keys.to_pylist()):
        codes[row] = numbers.setdefault(tuple(key.values()), len(numbers))
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(len(numbers) + 1))
    stream = Stream.of(query)
    fresh = [(stage.state, stage.value) for stage in stream.stages]
    all_places: list[Any] = []
    all_values: list[Any] = []
    own: list[Any] = []
    for start, stop in itertools.pairwise(starts):
        rows = order[start:stop]
        for stage, (state, value) in zip(stream.stages, fresh, strict=True):
            stage.state, stage.value, stage.position = state, value, 0
        if stream.stages[0].machine.program.threads:
            stream = Stream.of(query)  # threads of keys are not values: each key has its own
        places, values = take(stream, table.take(pa.array(rows)))
        all_places += rows[places].tolist()
        own += places
        all_values += values
    shown = {name: _whole(table[name]).take(pa.array(all_places, pa.int64())) for name in by}
    return _result(table, shown, all_places, all_values, time, own)


def _result(
    table: pa.Table,
    keys: dict[str, pa.Array],
    places: list[int],
    values: list[Any],
    time: str | None,
    own: list[int] | None = None,
) -> pa.Table:
    if time is None:
        where = {"position": pa.array(places if own is None else own, pa.int64())}
    else:
        where = {time: _whole(table[time]).take(pa.array(places, pa.int64()))}
    return pa.table(keys | where | {"value": as_array(values)})


def _column(column: pa.ChunkedArray) -> list[Any]:
    return column.to_pylist()  # type: ignore[no-any-return]


def _whole(column: pa.ChunkedArray) -> pa.Array:
    whole = column.combine_chunks()
    return whole.combine_chunks() if isinstance(whole, pa.ChunkedArray) else whole


def _is_sorted(column: pa.ChunkedArray) -> bool:
    if len(column) < 2:
        return True
    whole = _whole(column)
    return bool(pc.all(pc.less_equal(whole.slice(0, len(whole) - 1), whole.slice(1))).as_py())


def _unknown(name: str, names: Sequence[str], reader: str) -> QuerySemanticError:
    return QuerySemanticError(
        f"{reader}: the events have no attribute '{name}'.{did_you_mean(name, names)} "
        f"Attributes: {', '.join(names)}.",
        choices=names,
    )
