"""The streams of a query, by their codes: rows of tables go in, values come out.

Each row belongs to a stream, which has a code 0, 1, ... Which predicates are true of a row is an
integer of bits (`Bits`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.errors import InputError, StateError, did_you_mean
from elsinore.model.garbage import without_garbage_collection
from elsinore.quantitative.encoded_values import UnsupportedValueError, exactly
from elsinore.quantitative.encoding import decode, encode
from elsinore.quantitative.items import UNDEFINED
from elsinore.quantitative.machine.batch import NOTHING, Batch, Values
from elsinore.quantitative.machine.columns import Rows
from elsinore.quantitative.machine.control import Program, key_programs
from elsinore.quantitative.machine.layout import attributes_read_of, maker_of
from elsinore.quantitative.machine.memory import Memory
from elsinore.quantitative.machine.moments import Keys, Moment
from elsinore.quantitative.machine.predicates import Bits
from elsinore.quantitative.nodes import described, shortly
from elsinore.quantitative.regex import name_of
from elsinore.quantitative.values import as_array

CHUNK = 1 << 16  # rows whose columns of texts are made lists at a time
SHOWN = 200  # characters of an item in a message


def shown(item: Any) -> str:
    """Return an item for a message, a long one cut short."""
    text = repr(item)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


class OperationError(InputError):
    """A user's function that raised.

    `item` is the item it happened at, `position` the item's place in the stream counted from 0, and
    `expression` the function and the sub-expression. The stream is as it was before the item.
    """

    def __init__(self, message: str, *, item: Any, position: int, expression: str) -> None:
        super().__init__(message)
        self.item, self.position, self.expression = item, position, expression
        self.taken: tuple[list[int], list[Any]] = ([], [])  # values of the items before it


def _has(cause: BaseException | None, item: Any) -> str:
    """Return a hint with the attributes of an item if a function read a missing one."""
    names = getattr(item, "_fields", ())
    if not (isinstance(cause, AttributeError) and names and hasattr(cause.obj, "_fields")):
        return ""
    return f" (it has: {', '.join(names)}.{did_you_mean(cause.name or '', names)})"


@dataclass(frozen=True, slots=True)
class Output:
    """The rows after which there are values, ascending, and these values."""

    places: NDArray[np.int64]
    values: tuple[Values, ...]

    def boxed(self) -> list[Any]:
        """Return the values as Python's."""
        return [value for part in self.values for value in part.to_list()]

    def column(self) -> pa.Array:
        """Return the values as a column."""
        return column_of(self.values)


def column_of(parts: Sequence[Values]) -> pa.Array:
    """Return values as one column. Raises InputError for values of several kinds."""
    columns = [part.column() for part in parts if len(part)]
    if len(columns) == 1:
        return columns[0]
    if columns and all(column.type == columns[0].type for column in columns):
        return pa.concat_arrays(columns)
    return as_array([value for part in parts for value in part.to_list()])


class Streams:
    """The states of a query's streams, which have the codes 0, 1, ...

    memories, positions: by query of a pipeline, the states and the number of items taken.
    """

    def __init__(self, programs: Sequence[Program], count: int = 0) -> None:
        self.programs = tuple(programs)
        self.memories = [Memory() for _ in programs]
        self.positions: list[NDArray[np.int64]] = [np.zeros(0, np.int64) for _ in programs]
        self.grow(count)

    @property
    def bits(self) -> Bits:
        """The predicates whose truth must be known of each row."""
        return self.programs[0].bits

    @cached_property
    def _reads(self) -> set[str] | None:
        """The attributes of rows that functions read, None: any."""
        return attributes_read_of(self.programs[0].node)

    @cached_property
    def _idle(self) -> Any:
        """By bits, whether such rows change nothing; None: it is not known."""
        idle = self.programs[0].idle_classes() if len(self.programs) == 1 else None
        return None if idle is None else np.array(idle)

    @property
    def count(self) -> int:
        """The number of streams."""
        return len(self.positions[0])

    def grow(self, count: int) -> None:
        """Make room for streams with codes below `count`."""
        added = count - self.count
        if added > 0:
            for memory in self.memories:
                memory.grow(count)
            self.positions = [
                np.concatenate([p, np.zeros(added, np.int64)]) for p in self.positions
            ]

    def keep_only(self, code: int) -> None:
        """Release all streams but one, which gets the code 0."""
        for stage, memory in enumerate(self.memories):
            kept = self.memories[stage] = Memory(1, memory.width)
            kept.put(0, *memory.state(code))
        self.positions = [position[code : code + 1].copy() for position in self.positions]

    def forget(self, code: int) -> None:
        """Reset a stream to its beginning."""
        for memory, positions in zip(self.memories, self.positions, strict=True):
            memory.forget(code)
            positions[code] = 0

    def run(self, table: pa.Table, bits: Any, codes: Any, count: int) -> Output:
        """Take rows, row i of the stream `codes[i]` of `count`, as `take_rows` does."""
        self.grow(count)
        return self.take_rows(table, bits, codes, idle=self._idle)

    def take_rows(
        self,
        table: pa.Table,
        bits: Any,
        codes: Any = None,
        *,
        idle: Any = None,
        last: list[Any] | None = None,
    ) -> Output:
        """Take the rows of a table; return after which there are values, and these.

        codes: the rows' streams, None: all of stream 0; idle: by bits, whether such rows change
        nothing. Raises OperationError where a user's function does.
        """
        names = tuple(n for n in table.column_names if self._reads is None or n in self._reads)
        places: list[Any] = [np.zeros(0, np.int64)]
        values: list[Values] = []
        for start in range(0, table.num_rows, CHUNK):
            part, of_part = table.slice(start, CHUNK), bits[start : start + CHUNK]
            rows = None if idle is None else np.flatnonzero(~idle[of_part])
            of_rows = None if codes is None else codes[start : start + CHUNK]
            few, more = self.take(of_part, Rows(part, names), of_rows, rows, last)
            places.append(few + start)
            values.append(more)
        return Output(np.concatenate(places), tuple(values))

    def take(
        self,
        bits: Any,
        items: Sequence[Any] | Rows,
        codes: NDArray[Any] | None = None,
        rows: NDArray[Any] | None = None,
        last: list[Any] | None = None,
    ) -> tuple[Any, Values]:
        """Take items; return after which of them there are values, and these.

        bits: of the first query's predicates; codes: the items' streams, None: all of stream 0;
        rows: which items to take, ascending, as all others change nothing, None: all. The queries'
        last values are written to `last`. Raises OperationError where a user's function raises,
        with the items before it taken.
        """
        for program in self.programs:
            program.refresh()
        classes = self.programs[0].classes.numbers(bits)
        batch = Batch(self.programs, self.memories, classes, codes, rows, items)
        with without_garbage_collection():
            batch.run()
        taken = len(bits)
        if batch.error is not None:
            taken = batch.taken if rows is None else int(rows[batch.taken])
        if codes is None:
            self.positions[0][0] += taken
        else:
            self.positions[0] += np.bincount(codes[:taken], minlength=self.count)
        for stage, passed in enumerate(batch.passed):
            if passed:
                self.positions[stage] += np.bincount(passed, minlength=self.count)
        if last is not None and taken:
            is_last = rows is None or (batch.taken > 0 and rows[batch.taken - 1] == taken - 1)
            for stage, value in enumerate(batch.last):
                if not stage or batch.passed[stage]:
                    has = value is not NOTHING and (stage or is_last)
                    last[stage] = value if has else UNDEFINED
        places = batch.places_array[: len(batch.values)]
        if batch.error is not None:
            error = self._error(batch, 0 if codes is None else int(codes[taken]))
            if isinstance(error, OperationError):
                error.taken = places.tolist(), batch.values.to_list()
                raise error from batch.error
            raise error
        return places, batch.values

    def _error(self, batch: Batch, code: int) -> Exception:
        """Return the error of an item at which something raised."""
        program, cause, moment = self.programs[batch.stage], batch.error, batch.moment
        assert cause is not None
        if moment.item_class < 0:  # a condition of a later query, which says what is wrong
            return cause
        item: Any = moment.items.whole_row(moment.row) if moment.is_row else moment.item()
        whole = described(program.node)
        if isinstance(cause, InputError):
            where, text, name = whole, str(cause).removesuffix("."), "key"
        else:
            where = name = _label(moment) or whole
            text = f"{type(cause).__name__}: {cause}{_has(cause, item)}"
        position = int(self.positions[batch.stage][code])
        return OperationError(
            f"{where}: {text}, at item {position} (counted from 0): {shown(item)}. The stream "
            "is as it was before this item.",
            item=item,
            position=position,
            expression=name,
        )

    # --- saving ---------------------------------------------------------------------------------

    def open_codes(self, count: int) -> NDArray[np.int32]:
        """Return which of `count` streams continue otherwise than new ones; forget the others.

        Raises StateError for values that saved states do not support.
        """
        self.grow(count)
        first = [program.begin()[0] for program in self.programs]
        waiting = _waiting(first)
        encoded = cache(lambda: self._encoded(first, first))
        is_open = np.zeros(self.count, bool)
        for code in range(self.count):
            if any(memory.controls[code] is not None for memory in self.memories):
                stacks = self._stacks(code)
                is_fresh = _waiting(stacks) == waiting
                is_open[code] = not (is_fresh and self._encoded(stacks, stacks) == encoded())
            if not is_open[code]:  # at most its position differs, which only messages show
                self.forget(code)
        return np.flatnonzero(is_open).astype(np.int32)

    def save(self, code: int, last: Sequence[Any] = ()) -> bytes:
        """Return a stream's state, without line breaks, with the queries' last values.

        Raises StateError for values that saved states do not support.
        """
        self.grow(code + 1)
        stacks = self._stacks(code)
        positions = [int(position[code]) for position in self.positions]
        return self._encoded((positions, stacks, list(last)), stacks, last)

    def load(self, code: int, state: bytes) -> list[Any]:
        """Set a stream to the state that `save` returned; return the queries' last values."""
        self.grow(code + 1)
        positions, stacks, last = decode(state, key_programs(self.programs))
        for stage, program in enumerate(self.programs):
            program.check(stacks[stage])
            program.put(self.memories[stage], code, stacks[stage])
            self.positions[stage][code] = exactly(int, positions[stage])
        return exactly(list, last)  # type: ignore[no-any-return]

    def _stacks(self, code: int) -> list[Any]:
        """Return what the threads of a stream have on their stacks, for each query."""
        both = zip(self.programs, self.memories, strict=True)
        return [program.stacks_of(memory, code) for program, memory in both]

    def _encoded(self, content: Any, stacks: Sequence[Any], last: Sequence[Any] = ()) -> bytes:
        """Return what is saved as bytes.

        Raises StateError for a value that saved states do not support; names the function that gave
        it, which is looked for in `stacks` and among the queries' last values.
        """
        try:
            return encode(content)
        except UnsupportedValueError as error:
            sources = [_unsupported(*each) for each in zip(self.programs, stacks, strict=True)]
            for program, value in zip(self.programs, last, strict=False):
                why = _why_unsupported(value)
                sources.append((f"the value of {shortly(program.node)}", why) if why else None)
            whole = f"the value of {shortly(self.programs[-1].node)}", str(error)  # too deep
            where, what = next(filter(None, sources), whole)
            raise StateError(
                f"The stream cannot be saved: {where} is {what}. What a stream keeps may consist "
                "of numbers, texts, tuples, lists, maps, and dataclasses of these."
            ) from error


def _waiting(stacks: Sequence[Any]) -> list[list[bool]]:
    """Return for each query at which atoms threads wait."""
    return [[stack is not None for stack in of_query] for of_query in stacks]


def _label(moment: Moment) -> str | None:
    """Return the function at work and its sub-expression, for messages."""
    source = moment.source()
    if source is None:
        return None
    place, function, name = source
    return f"{name_of(function) if name is None else name} of {shortly(place.node)}"


def _unsupported(program: Program, stacks: Any) -> tuple[str, str] | None:
    """Return what gave the value that cannot be saved, and what that is; None: nothing here."""
    for stack, atom in zip(stacks, program.layout.atoms, strict=True):
        for value, place in zip(stack or (), atom.below if stack else (), strict=True):
            if isinstance(value, Keys):
                for code in range(len(value) + 1):
                    inner = _unsupported(value.program, value.program.stacks_of(value.memory, code))
                    if inner is not None:
                        return inner
            why = _why_unsupported(value)
            if why is not None:
                return maker_of(place.node), why
    return None


def _why_unsupported(value: Any) -> str | None:
    """Return what a value is that cannot be saved, None for one that can."""
    try:
        encode(value)
    except UnsupportedValueError as error:
        return str(error)
    return None
