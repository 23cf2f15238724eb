"""Quantitative queries over tables, in this process."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.errors import InputError, QuerySemanticError, did_you_mean
from elsinore.model import expression as ex
from elsinore.quantitative.lowered import CannotCompile, Lowered, lowered
from elsinore.quantitative.machine.program import Bits
from elsinore.quantitative.pipeline import Pipeline
from elsinore.quantitative.query import Query
from elsinore.quantitative.regex import TYPE, Predicate
from elsinore.quantitative.stream import Stream, record_type
from elsinore.quantitative.values import as_array
from elsinore.runtime.classify import type_numbers
from elsinore.runtime.expressions import evaluate
from elsinore.runtime.inputs import as_table

CHUNK = 1 << 16  # rows made records at a time
LARGE = 1 << 20  # rows given to a compiled machine at a time
MANY = 100_000  # events from which on compiling a machine pays
NARROW = 62  # predicates that fit the bits of a machine's integer


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
    codes, count = _codes(table, by)
    found: tuple[Any, pa.Array] | None = None
    if compiled or (compiled is None and table.num_rows >= MANY):
        found = _run_lowered(query, table, codes, count)
    if found is None:
        places, values = _run_plain(query, table, codes if by else None, count)
        found = places, as_array(values)
    return _result(table, by, *found, time if timed else None)


def take(stream: Stream, table: pa.Table) -> tuple[list[int], list[Any]]:
    """Give the rows of a table to a stream; return after which there are values, and which."""
    names = tuple(table.column_names)
    record = record_type(names)
    told = stream.stages[0].machine.bits
    places: list[int] = []
    values: list[Any] = []
    for start in range(0, table.num_rows, CHUNK):
        part = table.slice(start, CHUNK)
        columns = [part[name].to_pylist() for name in names]
        items = list(map(record, *columns)) if columns else []
        found, more = stream.extend(items, bits(told, part).tolist())
        places += [place + start for place in found]
        values += more
    return places, values


def bits(told: Bits, table: pa.Table) -> Any:
    """Return, as an array, what is true of each row of the predicates that have a bit."""
    columns = {name: _whole(table[name]) for name in table.column_names}
    wide = len(told.told) > NARROW
    total: Any = np.zeros(table.num_rows, object if wide else np.int64)
    on_type: list[tuple[int, Predicate]] = []
    for place, leaf in enumerate(told.told):
        reads = {str(read.name) for read in ex.attributes(leaf.condition)}
        for name in sorted(reads - set(columns)):
            raise _unknown(name, table.column_names, leaf.name)
        if reads == {TYPE} and not wide and _is_text(columns[TYPE]):
            on_type.append((place, leaf))
            continue
        truth = _truth(leaf, columns, table.num_rows)
        total |= truth.astype(total.dtype) << place if not wide else 0
        if wide:
            total = total + truth.astype(object) * (1 << place)
    if on_type:
        total |= _type_bits(on_type, columns[TYPE])
    return total


def _type_bits(leaves: list[tuple[int, Predicate]], types: pa.Array) -> Any:
    """Return the bits of predicates on the type alone: once for each type, not for each event."""
    names = sorted(
        {
            str(constant.value)
            for _, leaf in leaves
            for node in ex.walk(leaf.condition)
            for constant in (node.choices if isinstance(node, ex.InList) else (node,))
            if isinstance(constant, ex.Literal) and isinstance(constant.value, str)
        }
    )
    if any(not _tells_names(leaf.condition) for _, leaf in leaves):
        whole = types.dictionary_decode() if pa.types.is_dictionary(types.type) else types
        found: Any = np.zeros(len(types), np.int64)
        for place, leaf in leaves:
            found |= _truth(leaf, {TYPE: whole}, len(types)).astype(np.int64) << place
        return found
    other = max(names, key=len, default="") + "?"
    each = {TYPE: pa.array([*names, other])}
    table: Any = np.zeros(len(names) + 1, np.int64)
    for place, leaf in leaves:
        table |= _truth(leaf, each, len(names) + 1).astype(np.int64) << place
    return table[type_numbers(types, names)]


def _tells_names(condition: ex.Expression) -> bool:
    """Return whether a condition on the type asks only which of some names it is."""
    for node in ex.walk(condition):
        match node:
            case ex.Binary(ex.Operator.EQ | ex.Operator.NE, ex.Attribute(), ex.Literal(str())):
                continue
            case ex.Binary(ex.Operator.AND | ex.Operator.OR) | ex.Not() | ex.InList():
                continue
            case ex.IsNull(operand) if not isinstance(operand, ex.Attribute):
                continue
            case ex.Attribute() | ex.Literal():
                continue
            case _:
                return False
    return True


def _truth(leaf: Predicate, columns: Mapping[str, pa.Array], rows: int) -> Any:
    held = evaluate(leaf.condition, columns)
    if isinstance(held, pa.Scalar):
        return np.full(rows, bool(held.as_py()))
    return held.cast(pa.bool_()).fill_null(False).to_numpy(zero_copy_only=False)


def _codes(table: pa.Table, by: Sequence[str]) -> tuple[Any, int]:
    """Return each event's number of its key, and how many keys there are."""
    if not by:
        return np.zeros(table.num_rows, np.int32), 1
    codes: Any = np.zeros(table.num_rows, np.int64)
    for name in by:
        column = _whole(table[name])
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode(null_encoding="encode")
        more = column.indices.fill_null(len(column.dictionary)).to_numpy()
        codes = codes * (len(column.dictionary) + 1) + more
        _, codes = np.unique(codes, return_inverse=True) if len(by) > 1 else (None, codes)
    return codes.astype(np.int32), int(codes.max(initial=-1)) + 1


def _run_plain(
    query: Query | Pipeline, table: pa.Table, codes: Any, count: int
) -> tuple[Any, list[Any]]:
    """Run the interpreter's machine, key by key where there are keys."""
    stream = Stream.of(query)
    if codes is None:
        places, values = take(stream, table)
        return np.array(places, np.int64), values
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(count + 1))
    fresh = [(stage.state, stage.value) for stage in stream.stages]
    threads = any(stage.machine.program.threads for stage in stream.stages)
    all_places: list[Any] = []
    all_values: list[Any] = []
    for start, stop in itertools.pairwise(starts):
        rows = order[start:stop]
        if threads:
            stream = Stream.of(query)  # threads of keys are not values: each stream has its own
        for stage, (state, value) in zip(stream.stages, fresh, strict=True):
            if not threads:
                stage.state, stage.value, stage.position = state, value, 0
        places, values = take(stream, table.take(pa.array(rows)))
        all_places += rows[places].tolist()
        all_values += values
    by_place = sorted(range(len(all_places)), key=all_places.__getitem__)
    found = np.array([all_places[place] for place in by_place], np.int64)
    return found, [all_values[place] for place in by_place]


def _run_lowered(
    query: Query | Pipeline, table: pa.Table, codes: Any, count: int
) -> tuple[Any, pa.Array] | None:
    """Run the compiled machine; None where there is none."""
    if isinstance(query, Pipeline):
        return None
    types = {name: table.schema.field(name).type for name in table.column_names}
    try:
        machine = lowered(query, types)
    except CannotCompile:
        return None
    told = bits(machine.bits, table)
    columns = [_whole(table[name]) for name in machine.columns]
    for name, column in zip(machine.columns, columns, strict=True):
        if column.null_count and _meets_null(machine, name, column, told):
            return None
    arrays = [column.fill_null(0).to_numpy(zero_copy_only=False) for column in columns]
    states = machine.states(Stream.of(query).stages[0].state, count)
    found: list[Any] = []
    parts: list[pa.Array] = []
    for start in range(0, table.num_rows, LARGE):
        stop = min(start + LARGE, table.num_rows)
        outputs = np.empty(stop - start, machine.output_type)
        places = np.empty(stop - start, np.int64)
        progress = np.array([start, 0])
        given = (told, codes, outputs, places, progress, start, stop, *arrays)
        try:
            number = machine.run(states, *given)
        except Exception:  # a user's function raised: the interpreter says which
            place = int(progress[0])
            _raise_again(query, machine.state(states[codes[place]]), table, place)
            raise
        found.append(places[:number])
        parts.append(machine.values(outputs[:number]))
    if not parts:
        return np.zeros(0, np.int64), machine.values(np.zeros(0, machine.output_type))
    return np.concatenate(found), pa.concat_arrays(parts)


def _raise_again(query: Query, state: tuple[Any, ...], table: pa.Table, place: int) -> None:
    stream = Stream.of(query)
    stream.stages[0].state, stream.stages[0].position = state, place
    take(stream, table.slice(place, 1))


def _meets_null(machine: Lowered, name: str, column: pa.Array, told: Any) -> bool:
    """Return whether a function may read a null: then the interpreter's None is what it reads."""
    mask = machine.readers(name)
    if mask is None:
        return True
    absent = column.is_null().to_numpy(zero_copy_only=False)
    return bool(np.any(told[absent] & mask))


def _result(
    table: pa.Table, by: Sequence[str], places: Any, values: pa.Array, time: str | None
) -> pa.Table:
    rows = pa.array(places, pa.int64())
    shown = {name: _whole(table[name]).take(rows) for name in by}
    where = {"position": rows} if time is None else {time: _whole(table[time]).take(rows)}
    return pa.table(shown | where | {"value": values})


def _is_text(column: pa.Array) -> bool:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


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
