"""A query at work: items go in, values come out; the state can be saved and loaded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.errors import InputError, StateError, did_you_mean
from elsinore.model.garbage import without_garbage_collection
from elsinore.quantitative.encoded_values import UnsupportedValueError
from elsinore.quantitative.encoding import Reader, decode, encode, varint
from elsinore.quantitative.fingerprint import fingerprint
from elsinore.quantitative.items import UNDEFINED, as_item
from elsinore.quantitative.machine.batch import Batch, Values
from elsinore.quantitative.machine.columns import Rows
from elsinore.quantitative.machine.control import Program, key_programs
from elsinore.quantitative.machine.layout import maker_of
from elsinore.quantitative.machine.memory import Memory
from elsinore.quantitative.machine.steps import NOTHING, Keys, Moment
from elsinore.quantitative.nodes import described, shortly
from elsinore.quantitative.regex import name_of
from elsinore.saved_states import reading_state, seal, unseal

SAVED_BY = "quantitative stream 5"  # the number is that of the layout of its states
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

    row = 0  # the item's number among those that were taken together

    def __init__(self, message: str, *, item: Any, position: int, expression: str) -> None:
        super().__init__(message)
        self.item, self.position, self.expression = item, position, expression
        self.taken: tuple[list[int], list[Any]] = ([], [])  # values of the items before it

    def show(self, item: Any) -> None:
        """Tell of the item as it is, where only some of its attributes were read."""
        (message,) = self.args
        before, after = (f"{_has(self.__cause__, each)}, at item" for each in (self.item, item))
        self.args = (message.replace(before, after, 1).replace(shown(self.item), shown(item)),)
        self.item = item


def _has(cause: BaseException | None, item: Any) -> str:
    """Return a hint with the attributes of an item if a function read a missing one."""
    names = getattr(item, "_fields", ())
    if not (isinstance(cause, AttributeError) and names and hasattr(cause.obj, "_fields")):
        return ""
    return f" (it has: {', '.join(names)}.{did_you_mean(cause.name or '', names)})"


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
                error.row, error.taken = taken, (places.tolist(), batch.values.to_list())
                raise error from batch.error
            raise error
        return places, batch.values

    def _error(self, batch: Batch, code: int) -> Exception:
        """Return the error of an item at which something raised."""
        program, cause, moment = self.programs[batch.stage], batch.error, batch.moment
        assert cause is not None
        if moment.item_class < 0:  # a condition of a later query, which says what is wrong
            return cause
        item, whole = moment.item(), described(program.node)
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

    def is_fresh(self, code: int) -> bool:
        """Return whether a stream continues as one that has taken no items.

        Its position, which only messages show, may differ. Raises StateError for values that saved
        states do not support, as saving does.
        """
        for program, memory in zip(self.programs, self.memories, strict=True):
            if memory.controls[code] is None:
                continue
            stacks, first = program.stacks_of(memory, code), program.begin()[0]
            if [stack is None for stack in stacks] != [stack is None for stack in first]:
                return False
            if content_of(program, stacks, stacks) != content_of(program, first, first):
                return False
        return True

    def save(self, code: int, written: bytearray, last: Sequence[Any] | None = None) -> None:
        """Append a stream's state: for each query the items taken, and stacks; and last values."""
        for stage, program in enumerate(self.programs):
            stacks = program.stacks_of(self.memories[stage], code)
            content = content_of(program, stacks, stacks if last is None else (stacks, last[stage]))
            position = int(self.positions[stage][code])
            written += varint(position) + varint(len(content)) + content

    def load(self, code: int, reader: Reader, last: list[Any] | None = None) -> None:
        """Read the state that `save` appended."""
        for stage, program in enumerate(self.programs):
            self.positions[stage][code] = reader.number()
            stacks = decode(reader.bytes(reader.number()), key_programs(program))
            if last is not None:
                stacks, last[stage] = stacks
            program.check(stacks)
            program.put(self.memories[stage], code, stacks)


def _label(moment: Moment) -> str | None:
    """Return the function at work and its sub-expression, for messages."""
    source = moment.source()
    if source is None:
        return None
    place, function, name = source
    return f"{name_of(function) if name is None else name} of {shortly(place.node)}"


@dataclass(slots=True, repr=False)
class Stream:
    """A query, or a pipeline of them, and the items it has taken so far.

    >>> from elsinore.quantitative import atom, event, iterate, split
    >>> total = split(iterate(atom(event("M"), lambda m: m.val), 0, lambda a, b: a + b),
    ...               atom(event("E")), lambda total, e: total)
    >>> stream = total.start()
    >>> [stream.push({"type": kind, "val": 2}) for kind in "MME"]
    [UNDEFINED, UNDEFINED, 4]
    """

    streams: Streams  # of which there is one
    last: list[Any]  # each query's value at the items so far

    @classmethod
    def from_programs(cls, programs: Sequence[Program]) -> Stream:
        """Return a stream of a pipeline's queries that has taken no items."""
        begun = [program.begin() for program in programs]
        return cls(Streams(programs, 1), [v if has else UNDEFINED for _, has, v in begun])

    @property
    def programs(self) -> tuple[Program, ...]:
        """The queries of the pipeline."""
        return self.streams.programs

    def __repr__(self) -> str:
        query = " >> ".join(repr(program.node) for program in self.programs)
        return f"<stream of {query} at position {self.position}, value {shown(self.value)}>"

    @property
    def value(self) -> Any:
        """The value at the items so far, UNDEFINED if there is none."""
        return self.last[-1]

    @property
    def position(self) -> int:
        """How many items there have been."""
        return int(self.streams.positions[0][0])

    def push(self, item: Any) -> Any:
        """Take one item; return the value after it, UNDEFINED if there is none.

        An item is any object with attributes, a mapping, or a plain number or text. Raises
        OperationError where a user's function does, and is as it was before then.
        """
        _, values = self.extend((item,))
        return values[0] if values else UNDEFINED

    def extend(self, items: Sequence[Any]) -> tuple[list[int], list[Any]]:
        """Take items; return after which of them, counted from 0, there is a value, and which.

        Raises OperationError where a user's function does: the items before have been taken then,
        and their values are the error's `taken`.
        """
        records = [as_item(item) for item in items]
        bits: list[int] = []
        wrong = None
        for record in records:
            try:
                bits.append(self.programs[0].bits.of(record))
            except InputError as error:  # the items before it are taken
                wrong = error
                break
        truths = np.array(bits, self.programs[0].bits.kind)
        places, values = self.streams.take(truths, records, last=self.last)
        if wrong is not None:
            raise wrong
        return places.tolist(), values.to_list()

    def take(
        self,
        data: Any,
        *,
        type: str = "type",  # noqa: A002 - the word for it
    ) -> pa.Table:
        """Take all rows of a table, a batch of Arrow, a data frame of pandas or polars.

        Returns a table of the positions, counted from the stream's first item, after which there
        are values, and of the values. Raises what `run` raises; the rows before the one at fault
        have been taken then.

        >>> from elsinore.quantitative import atom, iterate, sum
        >>> stream = iterate(atom(op=lambda row: row.n), sum()).start()
        >>> stream.take(pa.table({"n": [1, 2, 3]})).to_pylist()[-1]
        {'position': 2, 'value': 6}
        """
        rows = import_module("elsinore.local.streams")
        table: pa.Table = rows.take_rows(self, data, type=type)
        return table

    def over(self, data: Any, *, type: str = "type") -> Iterator[tuple[int, Any]]:  # noqa: A002
        """Yield positions and values over the rows of a table, taking them a batch at a time.

        >>> from elsinore.quantitative import filter, item
        >>> list(filter(item.n > 1).start().over(pa.table({"n": [1, 2]})))
        [(1, Record(n=2))]
        """
        rows = import_module("elsinore.local.streams")
        yield from rows.iterate_rows(self, data, type=type)

    def save(self) -> bytes:
        """Return the state; the same query's `load` goes on from it, in another process too.

        Accumulators and items may consist of numbers, texts, tuples, lists, maps, sets, dates and
        times, NumPy's arrays, dataclasses and named tuples. Raises StateError for others, and names
        the function that gave the value.
        """
        written = bytearray()
        self.streams.save(0, written, self.last)
        return seal(SAVED_BY, self._fingerprint, bytes(written))

    @property
    def _fingerprint(self) -> str:
        return fingerprint([program.node for program in self.programs])

    @classmethod
    def load(cls, programs: Sequence[Program], data: bytes | bytearray | memoryview) -> Stream:
        """Return a stream of a pipeline's queries in a state that was saved.

        Raises StateError where the state is damaged, or of another query or version.
        """
        stream = cls.from_programs(programs)
        content = unseal(SAVED_BY, stream._fingerprint, data)
        with reading_state(SAVED_BY):
            reader = Reader(content)
            stream.streams.load(0, reader, stream.last)
            reader.check_end()
        return stream


def content_of(program: Program, stacks: Any, saved: Any) -> bytes:
    """Return what is saved of a query as bytes: its stacks, and its last value.

    Raises StateError for a value that saved states do not support; names the function that gave it.
    """
    try:
        return encode(saved)
    except UnsupportedValueError as error:
        source = _unsupported(program, stacks)
        where, what = source or (f"the value of {shortly(program.node)}", str(error))
        raise StateError(
            f"The stream cannot be saved: {where} is {what}. What a stream keeps may consist of "
            "numbers, texts, tuples, lists, maps, and dataclasses of these."
        ) from error


def _unsupported(program: Program, stacks: Any) -> tuple[str, str] | None:
    """Return what gave the value that cannot be saved, and what that is; None: nothing here."""
    for stack, atom in zip(stacks, program.layout.atoms, strict=True):
        for value, place in zip(stack or (), atom.below if stack else (), strict=True):
            if isinstance(value, Keys):
                for code in range(len(value) + 1):
                    inner = _unsupported(value.program, value.program.stacks_of(value.memory, code))
                    if inner is not None:
                        return inner
            try:
                encode(value)
            except UnsupportedValueError as error:
                return maker_of(place.node), str(error)
    return None
