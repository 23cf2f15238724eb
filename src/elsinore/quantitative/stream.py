"""A query at work: items go in, values come out; the state can be saved and loaded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa

from elsinore.errors import InputError
from elsinore.quantitative.fingerprint import fingerprint
from elsinore.quantitative.items import UNDEFINED, as_item
from elsinore.quantitative.machine.control import Program
from elsinore.quantitative.streams import Streams, shown
from elsinore.saved_states import reading_state, seal, unseal

SAVED_BY = "quantitative stream 6"  # the number is that of the layout of its states


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
        return seal(SAVED_BY, self._fingerprint, self.streams.save(0, self.last))

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
            last = stream.streams.load(0, bytes(content))
            stream.last = [value for value, _ in zip(last, programs, strict=True)]
        return stream
