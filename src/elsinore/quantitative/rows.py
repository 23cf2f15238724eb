"""Rows of tables through a query: by compiled code, by loops in Python, or by the generic loop.

Each row belongs to a stream, told by its code 0, 1, ... What is true of the rows' predicates is
told by whoever brings them: an integer of bits for each row (`Bits`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.arrow import present, stored, to_arrow, to_numpy, whole
from elsinore.kernels import numba_is_installed
from elsinore.model.garbage import without_garbage_collection
from elsinore.quantitative.items import record_type
from elsinore.quantitative.machine.control import NotFlat, idle_classes
from elsinore.quantitative.machine.flat_states import FlatStates
from elsinore.quantitative.machine.layout import attributes_read_of
from elsinore.quantitative.machine.predicates import Bits
from elsinore.quantitative.regex import VALUE
from elsinore.quantitative.stream import Machine, OperationError, Stream
from elsinore.quantitative.values import Made, as_array

if TYPE_CHECKING:
    from elsinore.quantitative.lowered import Lowered, Memory

CHUNK = 1 << 16  # rows made records at a time
FLAT = 256  # rows from which on a query is written as loops
MOST_MOVED = 10_000  # streams that go over to another machine when nulls come
MOST_TEXTS = 1 << 20  # that were met, before those that nobody refers to are forgotten

Tell = Callable[[Bits, pa.Table], Any]  # the bits of a table's rows


@dataclass(frozen=True, slots=True)
class Found:
    """After which rows there are values, ascending, and which; None: there are none."""

    places: Any
    values: pa.Array | None


def take(
    stream: Stream, table: pa.Table, truths: Any, reads: set[str] | None = None
) -> tuple[list[int], list[Any]]:
    """Give the rows of a table to a stream; return after which there are values, and which.

    truths: the bits of the first stage's predicates, row by row; reads: the attributes that
    functions read, None: any.
    """
    names = tuple(n for n in table.column_names if reads is None or n in reads)
    places: list[int] = []
    values: list[Any] = []
    for start in range(0, table.num_rows, CHUNK):
        part, bits = table.slice(start, CHUNK), truths[start : start + CHUNK]
        begin = stream.position
        try:
            few, more = stream.extend_records(_records(part, names), bits.tolist())
        except OperationError as error:
            if len(stream.stages) == 1:  # else it may be a later stage's item
                show_whole(error, part, error.position - begin)
            raise
        places += [place + start for place in few]
        values += more
    return places, values


def _records(table: pa.Table, names: tuple[str, ...]) -> list[Any]:
    """Return the rows of a table as records with some attributes."""
    record = record_type(names)
    columns = [table[name].to_pylist() for name in names]
    with without_garbage_collection():  # which would go through the records so far again and again
        return list(map(record, *columns)) if columns else [record()] * table.num_rows


def show_whole(error: OperationError, table: pa.Table, row: int) -> None:
    """Let an error tell of all attributes of the row at which it was."""
    record = record_type(tuple(table.column_names))
    error.show(record(*(column[row].as_py() for column in table.columns)))


class Runs:
    """A query's streams, told by codes, and the machines that run them.

    Compiled machines run where there are some for the columns (`schema`), one for each query of a
    pipeline. Python runs where a function may read a null that compiled code has no place for, and
    from where compiled code raised: it says what is wrong, or computes what compiled code cannot.
    The values are the same. `tell` returns the bits of a pipeline's later predicates.
    """

    def __init__(
        self,
        machines: Sequence[Machine],
        schema: Mapping[str, pa.DataType],
        *,
        compiled: bool,
        tell: Tell | None = None,
    ) -> None:
        self._first = Stream.from_machines(machines)
        self._plain: dict[int, Stream] = {}  # those that the generic loop runs
        self._memories: list[Memory] = []  # of the compiled machines, one for each stage
        self._few = MOST_TEXTS  # texts that they may have met
        self._stages = tuple(machine.node for machine in machines)
        self._schema, self._tell = schema, tell
        self._reads = attributes_read_of(self._stages[0])
        self._flat: FlatStates | None = None  # the first stage as loops
        self._is_flat = len(self._stages) == 1  # whether there may be such
        self._refused: set[frozenset[str]] = set()  # columns with nulls that are not compiled
        if compiled and numba_is_installed():
            self._memories = self._compiled(frozenset())

    @property
    def bits(self) -> Bits:
        """The predicates whose truth must be told of each row."""
        return self._first.stages[0].machine.bits

    @cached_property
    def idle(self) -> Any:
        """By bits, whether such rows change nothing; None: it is not known."""
        if len(self._stages) > 1:
            return None
        idle = idle_classes(self._first.stages[0].machine.program)
        return None if idle is None else np.array(idle)

    @property
    def is_compiled(self) -> bool:
        """Whether there is a compiled machine."""
        return bool(self._memories)

    @property
    def nbytes(self) -> int:
        """How many bytes the states take that compiled machines hold."""
        return sum(memory.nbytes for memory in self._memories)

    def run(self, table: pa.Table, bits: Any, codes: Any, count: int) -> Found:
        """Take rows, row i of the stream `codes[i]` of `count`; return where there are values.

        Raises OperationError where a user's function does.
        """
        if table.num_rows == 0:
            return Found(np.zeros(0, np.int64), None)
        self._forget_texts()
        arrays = self._arrays(table, bits) if self._memories else None
        if arrays is None:
            places, values = self._interpreted(table, bits, codes, 0)
            if isinstance(values, Made):
                return Found(places, values.column() if len(places) else None)
            if not any(memory.machine.has_objects for memory in self._memories):
                self._take_in()  # else they go over when the rows are such as can be compiled
            return Found(places, as_array(values) if values else None)
        self._grow(count)
        if self._plain:  # streams that compiled code cannot hold go on apart
            return self._mixed(table, bits, codes, arrays)
        return self._lowered(table, bits, codes, arrays)

    def run_alone(self, stream: Stream, table: pa.Table, bits: Any) -> Found:
        """Give rows to a stream of the same query that is held elsewhere.

        Its values are told here only; `stream.value` stays behind until its next item.
        """
        self._plain = {}
        alone = self._first.again()
        for mine, theirs in zip(alone.stages, stream.stages, strict=True):
            mine.state, mine.position = theirs.state, theirs.position
        self.put(0, alone)
        try:
            return self.run(table, bits, np.zeros(table.num_rows, np.int32), 1)
        finally:
            for mine, theirs in zip(self.stream(0).stages, stream.stages, strict=True):
                theirs.state, theirs.position = mine.state, mine.position

    def keep_only(self, code: int) -> None:
        """Let go of all streams but one, which gets the code 0."""
        for memory in self._memories:
            memory.keep_only(code)
        if self._flat is not None:
            self._flat.keep_only(code)
        self._plain = {0: self._plain[code]} if code in self._plain else {}

    def stream(self, code: int) -> Stream:
        """Return a stream, in the state that it is in."""
        if code in self._plain:
            return self._plain[code]
        stream = self._first.again()
        if self._flat is not None and code < self._flat.count:
            (stage,) = stream.stages
            stage.state = self._flat.state(code) or stage.state
            stage.position = int(self._flat.taken[code])
        for stage, memory in zip(stream.stages, self._memories, strict=False):
            if code < memory.count:
                state = memory.state(code)
                stage.state = stage.state if state is None else state
                stage.position = int(memory.taken[code])
        return stream

    def open_codes(self, count: int) -> NDArray[np.int32]:
        """Return which of `count` streams continue otherwise than new ones; forget the others.

        Raises StateError for values that saved states do not hold.
        """
        open_streams = np.zeros(count, bool)
        uncertain = [*self._plain]
        if self._flat is not None:
            uncertain += range(self._flat.count)
        for memory in self._memories:
            changed = memory.changed()[:count]
            open_streams[: len(changed)] |= changed
        if any(memory.machine.has_objects for memory in self._memories):
            uncertain += np.flatnonzero(open_streams).tolist()
        for code in uncertain:
            open_streams[code] = not self.stream(code).is_fresh
        fresh = np.flatnonzero(~open_streams)
        for memory in self._memories:
            memory.forget(fresh[fresh < memory.count])
        for code in fresh.tolist():
            self._plain.pop(code, None)
            if self._flat is not None and code < self._flat.count:
                self._flat.forget(code)
        return np.flatnonzero(open_streams).astype(np.int32)

    def put(self, code: int, stream: Stream) -> None:
        """Take a stream over, in the state that it is in."""
        self._plain[code] = stream
        if self._flat is not None:
            self._flatten(code + 1)
        self._take_in()

    # --- compiled machines ----------------------------------------------------------------------

    def _compiled(self, nullable: frozenset[str]) -> list[Memory]:
        """Return memories for machines of which these columns may be null; none: they cannot be."""
        from elsinore.quantitative.lowered import (  # noqa: PLC0415 - the compiler, where needed
            CannotCompile,
            as_item_type,
            check_conditions,
            kept_machine,
        )

        machines: list[Lowered] = []
        try:
            for machine in self._first.machines:
                if not machines:
                    lowered = kept_machine(machine.lowered, machine.program, self._schema, nullable)
                else:
                    value = as_item_type(machines[-1].value)
                    check_conditions(machine.node, value)
                    lowered = kept_machine(machine.lowered, machine.program, None, value=value)
                machines.append(lowered)
        except CannotCompile:
            return []
        return self._memories_of(machines)

    def _memories_of(self, machines: Sequence[Lowered]) -> list[Memory]:
        """Return memories without streams, in which no texts have been met."""
        from elsinore.quantitative.lowered import Memory, Texts  # noqa: PLC0415 - see `_compiled`

        texts = Texts({text for machine in machines for text in machine.spelled_out})
        return [Memory(machine, texts, self.idle) for machine in machines]

    def _grow(self, count: int) -> None:
        """Make room for streams with codes below `count`."""
        for memory in self._memories:
            memory.grow(count)

    def _take_in(self) -> None:
        """Hand streams to the compiled machines, where these can hold them."""
        if not self._memories:
            return
        for code, stream in list(self._plain.items()):
            self._grow(code + 1)
            with suppress(OverflowError):
                for memory, stage in zip(self._memories, stream.stages, strict=True):
                    memory.put(code, stage.state)
                    memory.taken[code] = stage.position
                del self._plain[code]

    def _arrays(self, table: pa.Table, bits: Any) -> list[Any] | None:
        """Return the columns that the first machine reads; None where it must not read them."""
        machine = self._memories[0].machine
        columns = {name: whole(table[name]) for name in machine.columns}
        if not all(map(_is_small, columns.values())):
            return None
        nulls = frozenset(
            name
            for name, column in columns.items()
            if name not in machine.nullable
            and column.null_count
            and machine.meets_null(name, bits[~present(column)])
        )
        if nulls:
            if not self._allow(machine.nullable | nulls):
                return None
            machine = self._memories[0].machine
        return [
            array
            for name in machine.columns
            for array in machine.column(name, columns[name], self._memories[0].texts)
        ]

    def _allow(self, nullable: frozenset[str]) -> bool:
        """Go on with machines of which these columns may be null; return whether there are such."""
        if nullable in self._refused or self._memories[0].count > MOST_MOVED:
            return False
        memories = self._compiled(nullable)
        if not memories:
            self._refused.add(nullable)
            return False
        self._go_over(memories)
        return True

    def _go_over(self, memories: list[Memory]) -> None:
        """Let other memories hold all streams."""
        streams = {code: self.stream(code) for code in range(self._memories[0].count)}
        self._memories = memories
        self._plain |= streams
        self._take_in()

    def _forget_texts(self) -> None:
        """Forget the texts that no stream refers to, where many have been met."""
        if self._memories and len(self._memories[0].texts) > self._few:
            self._go_over(self._memories_of([memory.machine for memory in self._memories]))
            self._few = max(MOST_TEXTS, 4 * len(self._memories[0].texts))

    def _lowered(self, table: pa.Table, bits: Any, codes: Any, arrays: Sequence[Any]) -> Found:
        if len(self._memories) > 1:
            return self._piped(table, bits, codes, arrays)
        (memory,) = self._memories
        places, _, values, stopped = memory.run(bits, codes, arrays)
        if stopped is None:
            return Found(places, concatenated(values))
        later_places, later_values = self._interpreted(table, bits, codes, stopped)
        self._take_in()
        return Found(
            np.concatenate([places, later_places]), concatenated(joined(values, later_values))
        )

    def _piped(self, table: pa.Table, truths: Any, codes: Any, arrays: Sequence[Any]) -> Found:
        """Run all stages, one after another; where one raises, Python does all again."""
        before = [memory.copy() for memory in self._memories]
        rows, bits, of_rows = np.arange(len(truths)), truths, codes
        values: list[pa.Array] = []
        for stage, memory in zip(self._first.stages, self._memories, strict=True):
            if values:
                bits = self._told(stage.machine.bits, concatenated(values))
                of_rows = codes[rows]
            places, words, values, stopped = memory.run(bits, of_rows, arrays)
            if stopped is not None:
                for each, state in zip(self._memories, before, strict=True):
                    each.go_back(state)
                rows_of_values, plain_values = self._interpreted(table, truths, codes, 0)
                self._take_in()
                return Found(rows_of_values, as_array(plain_values) if plain_values else None)
            rows, arrays = rows[places], [np.concatenate(words).reshape(-1)]
        return Found(rows, concatenated(values))

    def _told(self, bits: Bits, values: pa.Array) -> Any:
        """Return the bits of values that are a later stage's items."""
        if not bits.told:
            return np.zeros(len(values), bits.kind)
        assert self._tell is not None
        if pa.types.is_struct(values.type):
            names = [values.type.field(n).name for n in range(values.type.num_fields)]
            return self._tell(bits, pa.table(dict(zip(names, values.flatten(), strict=True))))
        return self._tell(bits, pa.table({VALUE: values}))

    def _mixed(self, table: pa.Table, bits: Any, codes: Any, arrays: Sequence[Any]) -> Found:
        plain = np.isin(codes, np.fromiter(self._plain, np.int64))
        compiled = np.flatnonzero(~plain)
        before = self._plain
        self._plain = {}
        few = table.take(to_arrow(compiled))
        fast = self._lowered(few, bits[compiled], codes[compiled], [a[compiled] for a in arrays])
        self._plain |= before
        rows = np.flatnonzero(plain)
        places, values = self._interpreted(table.take(to_arrow(rows)), bits[rows], codes[rows], 0)
        self._take_in()
        row_of_value = np.concatenate([compiled[fast.places], rows[places]])
        order = np.argsort(row_of_value, kind="stable")
        every = joined([] if fast.values is None else [fast.values], values)
        if not every:
            return Found(row_of_value, None)
        return Found(row_of_value[order], pa.concat_arrays(every).take(to_arrow(order)))

    # --- Python ---------------------------------------------------------------------------------

    def _interpreted(self, table: pa.Table, bits: Any, codes: Any, begin: int) -> tuple[Any, Any]:
        """Give rows from a place on to loops, or to the generic loop stream by stream."""
        if self._is_flat and not self._memories and begin == 0 and (
            self._flat is not None or table.num_rows >= FLAT
        ):  # fmt: skip
            with suppress(NotFlat):
                return self._flattened(table, bits, codes)
            self._leave_flat()
        keys = codes[begin:]
        if len(keys) and keys[0] == keys[-1] and (keys == keys[0]).all():
            code = int(keys[0])
            stream = self._plain[code] = self.stream(code)
            few, values = take(stream, table.slice(begin), bits[begin:], self._reads)
            return np.array(few, np.int64) + begin, values
        places: list[int] = []
        all_values: list[Any] = []
        for start in range(begin, table.num_rows, CHUNK):
            part = table.slice(start, CHUNK)
            given = bits[start : start + CHUNK], codes[start : start + CHUNK]
            rows_of_values, values = self._by_code(part, *given)
            places += [place + start for place in rows_of_values]
            all_values += values
        return np.array(places, np.int64), all_values

    def _flattened(self, table: pa.Table, bits: Any, codes: Any) -> tuple[Any, list[Any] | Made]:
        """Give rows to loops; those at which a function raises to the generic loop."""
        self._flatten(int(codes.max()) + 1)
        flat, columns = self._flat, _Columns(table)
        assert flat is not None
        places: list[Any] = []
        values: list[Any] = []
        begin = 0
        while begin < table.num_rows:
            of_part = columns if begin == 0 else _Columns(table.slice(begin))
            few, part_values, stopped = flat.run(bits[begin:], codes[begin:], of_part)
            if isinstance(part_values, Made):
                if begin == 0 and stopped is None:
                    flat.taken += np.bincount(codes, minlength=flat.count)
                    return few, part_values
                part_values = part_values.records()
            places.append(few + begin)
            values += part_values
            end = table.num_rows if stopped is None else begin + stopped
            flat.taken += np.bincount(codes[begin:end], minlength=flat.count)
            if stopped is None:
                break
            code, row = int(codes[end]), table.slice(end, 1)
            stream = self.stream(code)
            row_places, given = take(stream, row, bits[end : end + 1])  # raises what is to be told
            places.append(np.array(row_places, np.int64) + end)
            values += given
            self.put(code, stream)
            begin = end + 1
        return np.concatenate(places), values

    def _flatten(self, count: int) -> None:
        """Let loops run all streams, with codes below `count` those that are new as well."""
        if self._flat is None:
            names = tuple(self._schema)
            names = tuple(n for n in names if self._reads is None or n in self._reads)
            program = self._first.stages[0].machine.program
            self._flat = FlatStates(program, names, record_type(names))
        self._flat.grow(max([count, *(code + 1 for code in self._plain)]))
        for code, stream in list(self._plain.items()):
            (stage,) = stream.stages
            self._flat.put(code, stage.state)
            self._flat.taken[code] = stage.position
            del self._plain[code]

    def _leave_flat(self) -> None:
        """Let the generic loop run all streams: there can be no loops."""
        if self._flat is not None:
            streams = {code: self.stream(code) for code in range(self._flat.count)}
            self._flat, self._plain = None, streams | self._plain
        self._is_flat = False

    def _by_code(self, table: pa.Table, truths: Any, codes: Any) -> tuple[list[int], list[Any]]:
        """Give rows of several streams to the generic loop."""
        names = tuple(n for n in table.column_names if self._reads is None or n in self._reads)
        items = _records(table, names)
        order = np.argsort(codes, kind="stable")
        edges = np.flatnonzero(np.diff(codes[order], prepend=-1, append=-1))
        rows_and_values: list[tuple[int, Any]] = []
        for start, stop in itertools.pairwise(edges.tolist()):
            rows = order[start:stop]
            code = int(codes[rows[0]])
            stream = self._plain[code] = self.stream(code)
            begin = stream.position
            try:
                places, values = stream.extend_records(
                    [items[row] for row in rows.tolist()], truths[rows].tolist()
                )
            except OperationError as error:
                if len(stream.stages) == 1:
                    show_whole(error, table, int(rows[error.position - begin]))
                raise
            rows_and_values += zip(rows[places].tolist(), values, strict=True)
        rows_and_values.sort(key=lambda pair: pair[0])
        return [row for row, _ in rows_and_values], [value for _, value in rows_and_values]


class _Columns(dict[str, pa.Array]):
    """The columns of a table, each made one array when it is asked for."""

    def __init__(self, table: pa.Table) -> None:
        super().__init__()
        self._table = table

    def __missing__(self, name: str) -> pa.Array:
        self[name] = whole(self._table[name])
        return self[name]


def joined(parts: Sequence[pa.Array], values: list[Any]) -> list[pa.Array]:
    """Return columns of a machine's values, and more values of Python's."""
    if not values:
        return list(parts)
    made = as_array(values)
    if parts and made.type != parts[0].type:
        with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return [*parts, made.cast(parts[0].type)]
        return [as_array([v for part in parts for v in part.to_pylist()] + values)]
    return [*parts, made]


def concatenated(parts: Sequence[pa.Array]) -> pa.Array:
    """Return columns of values as one, also where some came of another type."""
    if not parts:
        return as_array([])
    if len(parts) == 1:
        return parts[0]
    if all(part.type == parts[0].type for part in parts):
        return pa.concat_arrays(parts)
    return as_array([value for part in parts for value in part.to_pylist()])


def _is_small(column: pa.Array) -> bool:
    """Return whether compiled code may hold a column's whole numbers."""
    from elsinore.quantitative.lowered import fits  # noqa: PLC0415 - see `Runs._compiled`

    if column.type != pa.int64():
        return True
    least, most = pc.min_max(column).values()
    return least.as_py() is None or fits((least.as_py(), most.as_py()))


def codes_of(table: pa.Table, by: Sequence[str]) -> tuple[Any, int]:
    """Return each event's number of its key, and how many keys there are."""
    if not by:
        return np.zeros(table.num_rows, np.int32), 1
    codes: Any = None
    for name in by:
        numbers, size = _numbers_of(whole(table[name]))
        if codes is None:
            codes = numbers
            continue
        both = codes.astype(np.int64) * size + numbers
        _, codes = np.unique(both, return_inverse=True)
    return codes.astype(np.int32, copy=False), int(codes.max(initial=-1)) + 1


def _numbers_of(column: pa.Array) -> tuple[Any, int]:
    """Return a number for each value of a column, equal for equal ones, and a bound of them."""
    if pa.types.is_signed_integer(column.type) and len(column) > column.null_count:
        least, most = (bound.as_py() for bound in pc.min_max(column).values())
        if most - least < len(column):  # keys that lie close together are their own numbers
            numbers = np.empty(len(column), np.int32)
            np.subtract(stored(column), least, out=numbers, dtype=np.int64, casting="unsafe")
            if column.null_count:
                numbers[~present(column)] = most - least + 1
            return numbers, most - least + 2
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode(null_encoding="encode")
    none = len(column.dictionary)
    return to_numpy(column.indices.cast(pa.int32()), none), none + 1
