"""Quantitative queries over rows of tables: the interpreter's machine and the compiled one."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.errors import QuerySemanticError, did_you_mean
from elsinore.model import expression as ex
from elsinore.quantitative.lowered import CannotCompile, Lowered, fits, lowered
from elsinore.quantitative.machine.program import Bits
from elsinore.quantitative.pipeline import Pipeline
from elsinore.quantitative.query import Query
from elsinore.quantitative.regex import TYPE, Predicate
from elsinore.quantitative.stream import Stream, record_type
from elsinore.quantitative.values import as_array
from elsinore.runtime.classify import type_numbers
from elsinore.runtime.expressions import evaluate

CHUNK = 1 << 16  # rows made records at a time
LARGE = 1 << 20  # rows given to a compiled machine at a time
NARROW = 62  # predicates that fit the bits of a machine's integer


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


class KeyRuns:
    """Runs a query over rows that are sorted by key and time, each key on a machine of its own.

    A batch may begin with rows of the key that the batch before ended with. The compiled machine
    runs where there is one for the columns and no function may read a null; the state is handed
    from one to the other as needed.
    """

    def __init__(
        self, query: Query | Pipeline, by: Sequence[str], schema: pa.Schema, *, compiled: bool
    ) -> None:
        self._query, self._by = query, tuple(by)
        self._stream = Stream.of(query)
        self._fresh = [(stage.state, stage.value) for stage in self._stream.stages]
        self._threads = any(s.machine.program.threads for s in self._stream.stages)
        self._last: tuple[Any, ...] | None = None
        self._machine: Lowered | None = None
        if compiled and not isinstance(query, Pipeline):
            with suppress(CannotCompile):
                self._machine = lowered(query, dict(zip(schema.names, schema.types, strict=True)))

    def process(self, table: pa.Table) -> tuple[Any, pa.Array | None]:
        """Return after which rows there are values, and which; None for no values at all."""
        if table.num_rows == 0:
            return np.zeros(0, np.int64), None
        codes, _ = codes_of(table, self._by)
        runs = np.cumsum(np.diff(codes, prepend=codes[0]) != 0).astype(np.int32)
        first, last = (self._key(table, row) for row in (0, table.num_rows - 1))
        if first != self._last:
            self._reset()
        self._last = last
        machine = self._machine
        if machine is not None:
            states = machine.states(self._fresh[0][0], int(runs[-1]) + 1)
            found = None
            with suppress(OverflowError):  # of a state that compiled code cannot hold
                machine.put(states, 0, self._stream.stages[0].state)
                found = run_machine(self._query, machine, table, runs, states)
            if found is not None:
                ended = found.streams.get(int(runs[-1]))
                state = machine.state(states[-1]) if ended is None else ended.stages[0].state
                self._stream.stages[0].state = state
                return found.places, found.values
        places: list[int] = []
        values: list[Any] = []
        starts = np.searchsorted(runs, np.arange(int(runs[-1]) + 2))
        for start, stop in itertools.pairwise(starts):
            if start:
                self._reset()
            told, more = take(self._stream, table.slice(start, stop - start))
            places += [place + int(start) for place in told]
            values += more
        return np.array(places, np.int64), as_array(values) if values else None

    def _key(self, table: pa.Table, row: int) -> tuple[Any, ...]:
        return tuple(table[name][row].as_py() for name in self._by)

    def _reset(self) -> None:
        if self._threads:  # threads of keys are not values: each stream has its own
            self._stream = Stream.of(self._query)
            return
        for stage, (state, value) in zip(self._stream.stages, self._fresh, strict=True):
            stage.state, stage.value, stage.position = state, value, 0


def bits(told: Bits, table: pa.Table) -> Any:
    """Return, as an array, what is true of each row of the predicates that have a bit."""
    columns = {name: whole(table[name]) for name in table.column_names}
    wide = len(told.told) > NARROW
    total: Any = np.zeros(table.num_rows, object if wide else np.int64)
    on_type: list[tuple[int, Predicate]] = []
    for place, leaf in enumerate(told.told):
        reads = {str(read.name) for read in ex.attributes(leaf.condition)}
        for name in sorted(reads - set(columns)):
            raise unknown(name, table.column_names, leaf.name)
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


def codes_of(table: pa.Table, by: Sequence[str]) -> tuple[Any, int]:
    """Return each event's number of its key, and how many keys there are."""
    if not by:
        return np.zeros(table.num_rows, np.int32), 1
    codes: Any = np.zeros(table.num_rows, np.int64)
    for name in by:
        column = whole(table[name])
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode(null_encoding="encode")
        more = column.indices.fill_null(len(column.dictionary)).to_numpy()
        codes = codes * (len(column.dictionary) + 1) + more
        _, codes = np.unique(codes, return_inverse=True) if len(by) > 1 else (None, codes)
    return codes.astype(np.int32), int(codes.max(initial=-1)) + 1


def run_plain(
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


def run_lowered(
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
    states = machine.states(Stream.of(query).stages[0].state, count)
    found = run_machine(query, machine, table, codes, states)
    return None if found is None else (found.places, found.values)


@dataclass(frozen=True, slots=True)
class Found:
    """After which rows there are values, which, and streams that went on in Python, by code."""

    places: Any
    values: pa.Array
    streams: Mapping[int, Stream]


def run_machine(
    query: Query | Pipeline, machine: Lowered, table: pa.Table, codes: Any, states: Any
) -> Found | None:
    """Run a compiled machine over rows, row i in state `codes[i]`; None where it must not read one.

    Where compiled code raises, the interpreter goes on from the row before: it says what is wrong,
    or computes what compiled code cannot. Raises OperationError where a user's function does.
    """
    told = bits(machine.bits, table)
    columns = [whole(table[name]) for name in machine.columns]
    for name, column in zip(machine.columns, columns, strict=True):
        if column.null_count and _meets_null(machine, name, column, told):
            return None
        if not _is_small(column):
            return None
    arrays = [machine.column(column) for column in columns]
    places: list[Any] = []
    parts: list[pa.Array] = []
    streams: dict[int, Stream] = {}
    for start in range(0, table.num_rows, LARGE):
        stop = min(start + LARGE, table.num_rows)
        outputs = np.empty(stop - start, machine.output_type)
        rows = np.empty(stop - start, np.int64)
        progress = np.array([start, 0])
        given = (told, codes, outputs, rows, progress, start, stop, *arrays)
        try:
            machine.run(states, *given)
        except Exception:
            streams = _streams(query, machine, codes, states, int(progress[0]))
        number = int(progress[1])
        places.append(rows[:number])
        parts.append(machine.values(outputs[:number]))
        if streams:
            more, values = _go_on(streams, table, codes, int(progress[0]))
            places.append(more)
            parts = _joined(parts, values)
            break
    if not parts:
        return Found(np.zeros(0, np.int64), machine.values(machine.no_values()), streams)
    return Found(np.concatenate(places), pa.concat_arrays(parts), streams)


def _streams(
    query: Query | Pipeline, machine: Lowered, codes: Any, states: Any, place: int
) -> dict[int, Stream]:
    """Return the streams that have rows from a place on, by code, as they were before it."""
    before = np.bincount(codes[:place], minlength=len(states))
    found = {}
    for code in np.unique(codes[place:]).tolist():
        stream = found[code] = Stream.of(query)
        stream.stages[0].state = machine.state(states[code])
        stream.stages[0].position = int(before[code])
    return found


def _go_on(
    streams: Mapping[int, Stream], table: pa.Table, codes: Any, place: int
) -> tuple[Any, list[Any]]:
    """Give streams their rows from a place on; the interpreter's machine runs them."""
    found: list[tuple[int, Any]] = []
    for code, stream in streams.items():
        rows = np.flatnonzero(codes[place:] == code) + place
        places, values = take(stream, table.take(pa.array(rows)))
        found += zip(rows[places].tolist(), values, strict=True)
    found.sort(key=lambda pair: pair[0])
    return np.array([row for row, _ in found], np.int64), [value for _, value in found]


def _joined(parts: Sequence[pa.Array], values: list[Any]) -> list[pa.Array]:
    """Return columns of a machine's values, and more values of the interpreter's."""
    if not values:
        return list(parts)
    more = as_array(values)
    if parts and more.type != parts[0].type:
        with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return [*parts, more.cast(parts[0].type)]
        return [as_array([v for part in parts for v in part.to_pylist()] + values)]
    return [*parts, more]


def _is_small(column: pa.Array) -> bool:
    """Return whether compiled code may hold a column's whole numbers."""
    if column.type != pa.int64():
        return True
    least, most = pc.min_max(column).values()
    return least.as_py() is None or fits((least.as_py(), most.as_py()))


def _meets_null(machine: Lowered, name: str, column: pa.Array, told: Any) -> bool:
    """Return whether a function may read a null: then the interpreter's None is what it reads."""
    mask = machine.readers(name)
    if mask is None:
        return True
    absent = column.is_null().to_numpy(zero_copy_only=False)
    return bool(np.any(told[absent] & mask))


def _is_text(column: pa.Array) -> bool:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def whole(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array."""
    found = column.combine_chunks()
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


def check_names(fields: Sequence[str], taken: Sequence[str]) -> None:
    """Raise QuerySemanticError where a field of values is called like a column of keys or times."""
    for name in fields:
        if name in taken:
            raise QuerySemanticError(
                f"The values have a field '{name}', and so is a key, or the time, of the next "
                "query's items called. Give the field another name."
            )


def unknown(name: str, names: Sequence[str], reader: str) -> QuerySemanticError:
    """Return the error that `reader` asks for a name that the events do not have."""
    return QuerySemanticError(
        f"{reader}: the events have no attribute '{name}'.{did_you_mean(name, names)} "
        f"Attributes: {', '.join(names)}.",
        choices=names,
    )
