"""A query at work: items go in, values come out; the state can be saved and loaded."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import pyarrow as pa

from elsinore.errors import InputError, StateError, did_you_mean
from elsinore.kernels.saved import reading_state, seal, unseal
from elsinore.quantitative.decoding import Reader, decode
from elsinore.quantitative.encoded_classes import UnsupportedValueError
from elsinore.quantitative.encoding import encode, varint
from elsinore.quantitative.fingerprint import fingerprint
from elsinore.quantitative.items import UNDEFINED, as_item
from elsinore.quantitative.machine.keys import KeyThreads, Program
from elsinore.quantitative.machine.program import Bits, ItemError, bits_of, compile_query
from elsinore.quantitative.nodes import Node, described, shortly

SAVED_BY = "quantitative stream 3"  # the number is that of the layout of its states
SHOWN = 200  # characters of an item in a message


@dataclass(frozen=True, slots=True)
class Partial:
    """What was done until an item that failed: the state before it, and the values until then."""

    state: tuple[Any, ...]
    places: list[int]
    values: list[Any]
    taken: int  # items


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
        self.partial: Partial | None = None

    def show(self, item: Any) -> None:
        """Tell of the item as it is, where only some of its attributes were read."""
        (message,) = self.args
        before, after = (f"{_has(self.__cause__, each)}, at item" for each in (self.item, item))
        self.args = (message.replace(before, after, 1).replace(shown(self.item), shown(item)),)
        self.item = item


def _has(cause: BaseException | None, item: Any) -> str:
    """Return what attributes an item has, where a function asked it for another one."""
    names = getattr(item, "_fields", ())
    if not (isinstance(cause, AttributeError) and names and hasattr(cause.obj, "_fields")):
        return ""
    return f" (it has: {', '.join(names)}.{did_you_mean(cause.name or '', names)})"


@dataclass(slots=True)
class Machine:
    """A compiled query that streams are run by; several may be, each with a state of its own."""

    node: Node
    bits: Bits
    program: Program
    serial: int = 0
    lowered: dict[Any, Any] = field(default_factory=dict)  # compiled machines, by columns' types

    @classmethod
    def from_node(cls, node: Node) -> Machine:
        """Return the machine of a node."""
        return cls(node, bits_of(node), compile_query(node))

    def run(
        self,
        state: tuple[Any, ...],
        items: Sequence[Any],
        bits: Iterable[int],
        position: int,
        at: Sequence[int] | None = None,
    ) -> tuple[tuple[Any, ...], list[int], list[Any]]:
        """Return the state after some items, and where there were values, and which.

        The first item is the stream's at `position`; item n is `at[n]` items after it, or n.
        Raises OperationError where a user's function does; its `partial` is the state before the
        item and the values until then.
        """
        places: list[int] = []
        values: list[Any] = []
        bits = bits if isinstance(bits, Sequence) else list(bits)
        try:
            state_after = self.program.run(state, items, bits, self.serial, places, values)
        except ItemError as error:
            self.program.failures.serials.add(self.serial + error.place + 1)
            self.serial += error.place + 1
            before = error.state
            if before is None:
                place = error.place
                before = self.program.run(state, items[:place], bits[:place], self.serial, [], [])
            after = error.place if at is None else at[error.place]
            named = self._named(error, items[error.place], position + after)
            named.partial = Partial(before, places, values, error.place)
            raise named from error.__cause__
        self.serial += len(items)
        return state_after, places, values

    def _named(self, error: ItemError, item: Any, position: int) -> OperationError:
        cause = error.__cause__
        if isinstance(cause, InputError) or cause is None:
            text, name = str(cause).removesuffix("."), "key"
            where = described(self.node)
        else:
            where = self._label(cause)
            text, name = f"{type(cause).__name__}: {cause}{_has(cause, item)}", where
        return OperationError(
            f"{where}: {text}, at item {position} (counted from 0): {shown(item)}. The stream is "
            "as it was before this item.",
            item=item,
            position=position,
            expression=name,
        )

    def _label(self, cause: BaseException) -> str:
        """Return the function that raised and its sub-expression: of the innermost machine."""
        programs = {program.filename: program for program in _programs(self.program)}
        label = described(self.node)
        for frame in traceback.extract_tb(cause.__traceback__):
            program = programs.get(frame.filename)
            if program is not None:
                label = program.labels.get(frame.lineno or 0, label)
        return label


@dataclass(slots=True)
class Stage:
    """One query of a pipeline: its machine, its state, and how many items it has taken."""

    machine: Machine
    state: tuple[Any, ...]
    value: Any  # at the items so far
    position: int = 0


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

    stages: list[Stage] = field(default_factory=list)
    tables: dict[Any, Any] = field(default_factory=dict)  # what runs tables, by their schema

    @classmethod
    def from_machines(cls, machines: Sequence[Machine]) -> Stream:
        """Return a stream of a pipeline's machines that has taken no items."""
        stream = cls()
        for machine in machines:
            state, has, value = machine.program.begin()
            stream.stages.append(Stage(machine, state, value if has else UNDEFINED))
        return stream

    @property
    def machines(self) -> tuple[Machine, ...]:
        """The machines of the stages."""
        return tuple(stage.machine for stage in self.stages)

    def again(self) -> Stream:
        """Return a stream of the same query that has taken no items."""
        return Stream.from_machines(self.machines)

    def __repr__(self) -> str:
        query = " >> ".join(repr(machine.node) for machine in self.machines)
        return f"<stream of {query} at position {self.position}, value {shown(self.value)}>"

    @property
    def value(self) -> Any:
        """The value at the items so far, UNDEFINED where there is none."""
        return self.stages[-1].value

    @property
    def position(self) -> int:
        """How many items there have been."""
        return self.stages[0].position

    @property
    def is_fresh(self) -> bool:
        """Whether the stream goes on as one that has taken no items does.

        Its position, which only messages tell, may be another one. Raises StateError for values
        that saved states do not hold, as `save` does.
        """
        for stage in self.stages:
            program = stage.machine.program
            kept = without_unread(program, stage.state)
            first = without_unread(program, program.begin()[0])
            flags = [place for place, name in enumerate(program.variables) if "_" not in name]
            if any(kept[place] is not first[place] for place in flags):
                return False
            if content_of(stage, kept) != content_of(stage, first):
                return False
        return True

    @property
    def size(self) -> int:
        """About how many values the state holds: keys, and values in windows."""
        states = [value for stage in self.stages for value in stage.state]
        grown = [part for value in states if isinstance(value, tuple) for part in value]
        kinds = list, KeyThreads, Mapping
        return sum(len(value) for value in (*states, *grown) if isinstance(value, kinds))

    def push(self, item: Any) -> Any:
        """Take one item; return the value after it, UNDEFINED where there is none.

        An item is any object with attributes, a mapping, or a plain number or text. Raises
        OperationError where a user's function does, and is as it was before then.
        """
        _, values = self.extend((item,))
        return values[0] if values else UNDEFINED

    def extend(
        self, items: Sequence[Any], bits: Sequence[int] | None = None
    ) -> tuple[list[int], list[Any]]:
        """Take items; return after which of them, counted from 0, there is a value, and which.

        `bits` are the items' predicates, where they are known already. Raises OperationError where
        a user's function does: the items before have been taken then, and their values are the
        error's `taken`.
        """
        return self.extend_records([as_item(item) for item in items], bits)

    def extend_records(
        self, records: Sequence[Any], bits: Sequence[int] | None = None
    ) -> tuple[list[int], list[Any]]:
        """Take items that have attributes, or are plain values, as `extend` does."""
        if len(self.stages) > 1 and any(s.machine.program.threads for s in self.stages):
            return self._singly(records, bits)
        return self._extend(records, bits)

    def extend_among(
        self, items: Sequence[Any], bits: Sequence[int], at: Sequence[int], count: int
    ) -> tuple[list[int], list[Any]]:
        """Take those of `count` items that may change something: item n is the `at[n]`th of all.

        For a query alone that keeps no items by key. Returns what `extend` does, of all items.
        """
        (stage,) = self.stages
        places, values = self._extend(items, bits, at)
        stage.position += count - len(items)
        if not places or at[places[-1]] != count - 1:
            stage.value = UNDEFINED
        return [at[place] for place in places], values

    def take(
        self,
        data: Any,
        *,
        type: str = "type",  # noqa: A002 - the word for it
        compiled: bool | None = None,
    ) -> pa.Table:
        """Take all rows of a table, a batch of Arrow, a data frame of pandas or polars.

        Returns a table of the positions, counted from the stream's first item, after which there
        are values, and of the values. A machine is compiled where it can be and there are many
        rows. Raises what `run` raises; the rows before the one at fault have been taken then.

        >>> from elsinore.quantitative import atom, iterate, sum
        >>> stream = iterate(atom(op=lambda row: row.n), sum()).start()
        >>> stream.take(pa.table({"n": [1, 2, 3]})).to_pylist()[-1]
        {'position': 2, 'value': 6}
        """
        rows = import_module("elsinore.local.streams")
        table: pa.Table = rows.take_rows(self, data, type=type, compiled=compiled)
        return table

    def over(self, data: Any, *, type: str = "type") -> Iterator[tuple[int, Any]]:  # noqa: A002
        """Yield positions and values over the rows of a table, taking them a batch at a time.

        >>> from elsinore.quantitative import filter, item
        >>> list(filter(item.n > 1).start().over(pa.table({"n": [1, 2]})))
        [(1, Record(n=2))]
        """
        rows = import_module("elsinore.local.streams")
        yield from rows.iterate_rows(self, data, type=type)

    def _singly(
        self, items: Sequence[Any], bits: Sequence[int] | None
    ) -> tuple[list[int], list[Any]]:
        """Take items one by one: threads of keys can be taken back by one item only."""
        places: list[int] = []
        values: list[Any] = []
        for place, item in enumerate(items):
            try:
                _, new_values = self._extend(
                    (item,), None if bits is None else bits[place : place + 1]
                )
            except OperationError as error:
                error.taken = places, values
                raise
            places += [place] * len(new_values)
            values += new_values
        return places, values

    def _extend(
        self,
        items: Sequence[Any],
        bits: Sequence[int] | None,
        at: Sequence[int] | None = None,
    ) -> tuple[list[int], list[Any]]:
        given = items
        places = list(range(len(items)))
        before = [(stage.state, stage.value, stage.position) for stage in self.stages]
        for number, stage in enumerate(self.stages):
            truths = bits if number == 0 else None
            if truths is None:
                truths = [stage.machine.bits.of(item) for item in items]
            try:
                state, rows_of_values, values = stage.machine.run(
                    stage.state, items, truths, stage.position, at
                )
            except OperationError as error:
                partial = error.partial
                if partial is None:
                    raise
                if stage.machine.program.threads and number == 0:
                    stage.state, stage.position = partial.state, stage.position + partial.taken
                    stage.value = UNDEFINED
                    error.taken = partial.places, partial.values
                    raise
                self._take_back(before, number)
                taken = places[partial.taken]
                if at is not None:
                    stage.position += at[taken] - taken  # those between that changed nothing
                error.taken = self._extend(given[:taken], None if bits is None else bits[:taken])
                raise
            stage.state, stage.position = state, stage.position + len(items)
            if items:
                last = bool(rows_of_values) and rows_of_values[-1] == len(items) - 1
                stage.value = values[-1] if last else UNDEFINED
            places = [places[place] for place in rows_of_values]
            items = values
        return places, list(items)

    def _take_back(self, before: Sequence[tuple[Any, ...]], failed: int) -> None:
        """Put all stages back to what they were before a batch that failed in one of them."""
        for number, (stage, saved) in enumerate(zip(self.stages, before, strict=True)):
            if number < failed:
                stage.machine.program.failures.serials.add(stage.machine.serial)
            stage.state, stage.value, stage.position = saved

    def save(self) -> bytes:
        """Return the state; the same query's `load` goes on from it, in another process too.

        Accumulators and items may consist of numbers, texts, tuples, lists, maps, sets, dates and
        times, NumPy's arrays, dataclasses and named tuples. Raises StateError for others, and names
        the function that gave the value.
        """
        written = bytearray()
        for stage in self.stages:
            _write(written, stage, value=True)
        return seal(SAVED_BY, self._fingerprint, bytes(written))

    @property
    def _fingerprint(self) -> str:
        return fingerprint([machine.node for machine in self.machines])

    @classmethod
    def load(cls, machines: Sequence[Machine], data: bytes | bytearray | memoryview) -> Stream:
        """Return a stream of a pipeline's machines in a state that was saved.

        Raises StateError where the state is damaged, or of another query or version.
        """
        stream = cls.from_machines(machines)
        content = unseal(SAVED_BY, stream._fingerprint, data)
        with reading_state(SAVED_BY):
            reader = Reader(content)
            for stage in stream.stages:
                _read(reader, stage, value=True)
            reader.check_end()
        return stream

    def save_bare(self, written: bytearray) -> None:
        """Append the state without checksum and last value, for an operator of many streams."""
        for stage in self.stages:
            _write(written, stage, value=False)

    def load_bare(self, reader: Reader) -> None:
        """Take the state that `save_bare` appended."""
        for stage in self.stages:
            _read(reader, stage, value=False)


def _programs(program: Program) -> list[Program]:
    return [program, *(inner for part in program.keyed for inner in _programs(part))]


def _write(written: bytearray, stage: Stage, *, value: bool) -> None:
    """Append the state of a stage: items so far, length of the rest, variables, last value."""
    kept = without_unread(stage.machine.program, stage.state)
    content = content_of(stage, (kept, stage.value) if value else kept)
    written += varint(stage.position) + varint(len(content)) + content


def content_of(stage: Stage, kept: Any) -> bytes:
    """Return what is kept of a stage as bytes.

    Raises StateError for a value that saved states do not hold; names the function that gave it.
    """
    try:
        return encode(kept)
    except UnsupportedValueError as error:
        place = _unsupported(stage.machine.program, stage.state)
        where, what = place or (f"the value of {shortly(stage.machine.node)}", str(error))
        raise StateError(
            f"The stream cannot be saved: {where} is {what}. What a stream keeps may consist of "
            "numbers, texts, tuples, lists, maps, and dataclasses of these."
        ) from error


def _read(reader: Reader, stage: Stage, *, value: bool) -> None:
    stage.position = reader.number()
    program = stage.machine.program
    makers = {
        inner.filename: maker
        for outer in _programs(program)
        for inner, maker in zip(outer.keyed, outer.keys, strict=True)
    }
    kept = decode(reader.bytes(reader.number()), makers)
    if value:
        kept, stage.value = kept
    check_state(program, kept)
    stage.state = kept


def without_unread(program: Program, state: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a state without what is kept at atoms at which no thread waits: it is never read."""
    waits = dict(zip(program.variables, state, strict=True))
    return tuple(
        value if waits[name.partition("_")[0]] else False if "_" not in name else None
        for name, value in waits.items()
    )


def check_state(program: Program, state: object) -> None:
    """Raise ValueError for what is no state of a machine, or of other threads of keys than its."""
    if type(state) is not tuple or len(state) != len(program.variables):
        raise ValueError("a state does not fit the query's machine")
    for place, (name, value) in enumerate(zip(program.variables, state, strict=True)):
        if "_" not in name and type(value) is not bool:
            raise ValueError("a flag is no truth value")
        if place in program.threads and value is not None and type(value) is not KeyThreads:
            raise ValueError("the states of keys are missing")


def _unsupported(program: Program, state: tuple[Any, ...]) -> tuple[str, str] | None:
    """Return what gave the value that cannot be saved, and what that is; None: nothing here."""
    for name, value in zip(program.variables, without_unread(program, state), strict=True):
        if isinstance(value, KeyThreads):
            idle, states = value.states()
            for of_key in (idle, *states.values()):
                found = None if of_key is None else _unsupported(value.program, of_key)
                if found is not None:
                    return found
        try:
            encode(value)
        except UnsupportedValueError as error:
            return program.makers.get(name, name), str(error)
    return None
