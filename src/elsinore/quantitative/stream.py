"""A query at work: items go in, values come out; the state can be saved and loaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa

from elsinore.errors import InputError, StateError, did_you_mean
from elsinore.kernels.saved import reading_state, seal, unseal
from elsinore.quantitative.encoded_values import UnsupportedValueError
from elsinore.quantitative.encoding import Reader, decode, encode, varint
from elsinore.quantitative.fingerprint import fingerprint
from elsinore.quantitative.items import UNDEFINED, as_item
from elsinore.quantitative.machine.actions import Actions
from elsinore.quantitative.machine.control import NotFlat
from elsinore.quantitative.machine.evaluate import (
    Attempt,
    Keys,
    Program,
    check_state,
    key_programs,
)
from elsinore.quantitative.machine.flat_states import FlatStates
from elsinore.quantitative.machine.layout import maker_of
from elsinore.quantitative.machine.predicates import Bits
from elsinore.quantitative.machine.walk import State
from elsinore.quantitative.nodes import Node, described, shortly
from elsinore.quantitative.values import Made

SAVED_BY = "quantitative stream 4"  # the number is that of the layout of its states
SHOWN = 200  # characters of an item in a message
MANY = 256  # items from which on a query is written as loops
MANY_FOR_TABLES = 2048  # items from which on a query of many states is written as actions


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
    """What runs the streams of a query; each of them has a state of its own.

    lowered: compiled machines, by columns' types; loops: the query written as loops, or as a table
    of actions where it has many states, which holds the state of one stream while that takes items.
    """

    node: Node
    program: Program
    lowered: dict[Any, Any] = field(default_factory=dict)
    loops: FlatStates | Actions | None = None
    kind: type[FlatStates | Actions] = FlatStates  # of the loops
    can_loop: bool = True
    lock: Lock = field(default_factory=Lock)  # of the loops

    @classmethod
    def from_node(cls, node: Node) -> Machine:
        """Return the machine of a node."""
        return cls(node, Program.from_node(node))

    @property
    def bits(self) -> Bits:
        """The predicates of the query."""
        return self.program.bits

    @property
    def least(self) -> int:
        """How many items there must be at least for loops to pay."""
        return MANY if self.kind is FlatStates else MANY_FOR_TABLES

    def loop(
        self, state: State, items: Sequence[Any], bits: Sequence[int]
    ) -> tuple[State, Any, list[Any] | Made, int | None] | None:
        """Take items by loops, or by a table of actions where these cannot be.

        Returns the state then, after which of the items there are values, the values, and the item
        at which a function raised, if one did. None where neither can be.
        """
        given, codes = np.array(bits, self.bits.kind), np.zeros(len(bits), np.int32)
        with self.lock:
            while self.can_loop:
                try:
                    if self.loops is None:
                        self.loops = self.kind(self.program)
                        self.loops.grow(1)
                    self.loops.put(0, state)
                    places, values, stopped = self.loops.run(given, codes, items)
                    return self.loops.state(0) or state, places, values, stopped
                except NotFlat:
                    self.loops, self.can_loop = None, self.kind is FlatStates
                    self.kind = Actions
                    if len(items) < self.least:
                        break
        return None


@dataclass(slots=True)
class Stage:
    """One query of a pipeline: its machine, its state, and how many items it has taken."""

    machine: Machine
    state: State
    value: Any  # at the items so far
    position: int = 0

    def error(self, attempt: Attempt, cause: Exception, item: Any) -> OperationError:
        """Return the error of a user's function that raised at an item."""
        whole = described(self.machine.node)
        if isinstance(cause, InputError):
            where, text, name = whole, str(cause).removesuffix("."), "key"
        else:
            where = name = attempt.label or whole
            text = f"{type(cause).__name__}: {cause}{_has(cause, item)}"
        return OperationError(
            f"{where}: {text}, at item {self.position} (counted from 0): {shown(item)}. The stream "
            "is as it was before this item.",
            item=item,
            position=self.position,
            expression=name,
        )

    def loop(
        self, items: Sequence[Any], bits: Sequence[int]
    ) -> tuple[int, list[int], list[Any]] | None:
        """Take items by loops, up to one at which a user's function raises, which is not taken.

        Returns how many were taken, after which of them there are values, and which. None where
        the query is not written as loops.
        """
        looped = self.machine.loop(self.state, items, bits)
        if looped is None:
            return None
        self.state, places, values, stopped = looped
        taken = len(items) if stopped is None else stopped
        self.position += taken
        values = values.records() if isinstance(values, Made) else values
        if taken:
            ends = len(places) and places[-1] == taken - 1
            self.value = values[-1] if ends else UNDEFINED
        return taken, places.tolist(), values


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
            first = stage.machine.program.begin()[0]
            if [stack is None for stack in stage.state] != [stack is None for stack in first]:
                return False
            if content_of(stage, stage.state) != content_of(stage, first):
                return False
        return True

    @property
    def size(self) -> int:
        """About how many values the state holds: keys, and values in windows."""
        stacks = [stack for stage in self.stages for stack in stage.state if stack is not None]
        values = [value for stack in stacks for value in stack]
        grown = [part for value in values if isinstance(value, tuple) for part in value]
        kinds = list, Keys, Mapping
        return sum(len(value) for value in (*values, *grown) if isinstance(value, kinds))

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
        first = self.stages[0]
        can_loop = all(stage.machine.can_loop for stage in self.stages)
        places: list[int] = []
        values: list[Any] = []
        place = 0
        while place < len(records):
            remaining = len(records) - place
            least = max(stage.machine.least for stage in self.stages)
            if can_loop and remaining >= max(least, self.size):  # the state goes over and back
                if bits is None:
                    bits = [first.machine.bits.of(item) for item in records]
                looped = self._loop(records[place:], bits[place:])
                can_loop = looped is not None
                if looped is not None:
                    taken, few, more = looped
                    places += [place + n for n in few]
                    values += more
                    place += taken
                    if place == len(records):
                        break
            item = records[place]
            try:
                of_item = first.machine.bits.of(item) if bits is None else bits[place]
                has, value = self._take(item, of_item)
            except OperationError as error:
                error.taken = places, values
                raise
            if has:
                places.append(place)
                values.append(value)
            place += 1
        return places, values

    def _loop(
        self, records: Sequence[Any], bits: Sequence[int]
    ) -> tuple[int, list[int], list[Any]] | None:
        """Take items by loops, up to one at which a function of any stage raises.

        Returns how many were taken, after which of them there are values, and which. None where
        a stage is not written as loops.
        """
        before = [(stage.state, stage.value, stage.position) for stage in self.stages]
        items, of_items, rows = records, bits, list(range(len(records)))
        taken = 0
        for number, stage in enumerate(self.stages):
            looped: tuple[int, list[int], list[Any]] | None = None
            with suppress(InputError):  # a condition of a later stage, which says more item by item
                if number:
                    of_items = [stage.machine.bits.of(item) for item in items]
                looped = stage.loop(items, of_items) if items else (0, [], [])
            if looped is None or (number and looped[0] < len(items)):
                for each, saved in zip(self.stages, before, strict=True):
                    each.state, each.value, each.position = saved
                if looped is None:
                    return None
                row = rows[looped[0]]  # at which a later stage's function raises
                return self._loop(records[:row], bits[:row]) if row else (0, [], [])
            taken = taken if number else looped[0]
            rows, items = [rows[n] for n in looped[1]], looped[2]
        return taken, rows, list(items)

    def _take(self, item: Any, bits: int) -> tuple[bool, Any]:
        """Take an item; return whether there is a value after it, and which.

        All stages take it, or none does.
        """
        attempt, has, value = Attempt(), True, item
        after: list[tuple[Stage, State, Any]] = []
        try:
            for stage in self.stages:
                if after:
                    bits = stage.machine.bits.of(value)
                item = value
                attempt.place = None
                try:
                    state, has, value = stage.machine.program.step(stage.state, item, bits, attempt)
                except Exception as error:
                    raise stage.error(attempt, error, item) from error
                after.append((stage, state, value if has else UNDEFINED))
                if not has:
                    break
        except InputError:
            attempt.take_back()
            raise
        for stage, state, given in after:
            stage.state, stage.value, stage.position = state, given, stage.position + 1
        return has, value

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


def _write(written: bytearray, stage: Stage, *, value: bool) -> None:
    """Append the state of a stage: items so far, length of the rest, stacks, last value."""
    content = content_of(stage, (stage.state, stage.value) if value else stage.state)
    written += varint(stage.position) + varint(len(content)) + content


def content_of(stage: Stage, kept: Any) -> bytes:
    """Return what is kept of a stage as bytes.

    Raises StateError for a value that saved states do not hold; names the function that gave it.
    """
    try:
        return encode(kept)
    except UnsupportedValueError as error:
        found = _unsupported(stage.machine.program, stage.state)
        where, what = found or (f"the value of {shortly(stage.machine.node)}", str(error))
        raise StateError(
            f"The stream cannot be saved: {where} is {what}. What a stream keeps may consist of "
            "numbers, texts, tuples, lists, maps, and dataclasses of these."
        ) from error


def _read(reader: Reader, stage: Stage, *, value: bool) -> None:
    stage.position = reader.number()
    program = stage.machine.program
    state = decode(reader.bytes(reader.number()), key_programs(program))
    if value:
        state, stage.value = state
    check_state(program, state)
    stage.state = state


def _unsupported(program: Program, state: State) -> tuple[str, str] | None:
    """Return what gave the value that cannot be saved, and what that is; None: nothing here."""
    for stack, atom in zip(state, program.layout.atoms, strict=True):
        for value, place in zip(stack or (), atom.below if stack else (), strict=True):
            if isinstance(value, Keys):
                for of_key in (value.idle, *value.states.values()):
                    inner = _unsupported(value.program.program, of_key)
                    if inner is not None:
                        return inner
            try:
                encode(value)
            except UnsupportedValueError as error:
                return maker_of(place.node), str(error)
    return None
