"""Rows of tables given to the streams of a query.

Each row belongs to a stream, which has a code 0, 1, ... Which predicates are true of a row is an
integer of bits (`Bits`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.arrow import present, stored, to_numpy, whole
from elsinore.quantitative.encoding import Reader
from elsinore.quantitative.items import record_type
from elsinore.quantitative.machine.batch import Values
from elsinore.quantitative.machine.columns import Rows
from elsinore.quantitative.machine.control import Program
from elsinore.quantitative.machine.layout import attributes_read_of
from elsinore.quantitative.machine.predicates import Bits
from elsinore.quantitative.stream import OperationError, Stream, Streams
from elsinore.quantitative.values import as_array

CHUNK = 1 << 16  # rows whose columns of texts are made lists at a time


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


def take(stream: Stream, table: pa.Table, bits: Any) -> tuple[list[int], list[Any]]:
    """Push the rows of a table to a stream; return after which there are values, and these.

    bits: of the first query's predicates, row by row.
    """
    reads = attributes_read_of(stream.programs[0].node)
    output = take_rows(stream.streams, table, bits, None, reads, last=stream.last)
    return output.places.tolist(), output.boxed()


def take_rows(
    streams: Streams,
    table: pa.Table,
    bits: Any,
    codes: Any,
    reads: set[str] | None,
    *,
    idle: Any = None,
    last: list[Any] | None = None,
) -> Output:
    """Give the rows of a table to streams.

    codes: the rows' streams, None: all of stream 0; reads: the attributes that functions read,
    None: any; idle: by bits, whether such rows change nothing.
    """
    names = tuple(n for n in table.column_names if reads is None or n in reads)
    places: list[Any] = [np.zeros(0, np.int64)]
    values: list[Values] = []
    for start in range(0, table.num_rows, CHUNK):
        part, of_part = table.slice(start, CHUNK), bits[start : start + CHUNK]
        rows = None if idle is None else np.flatnonzero(~idle[of_part])
        of_rows = None if codes is None else codes[start : start + CHUNK]
        try:
            few, more = streams.take(of_part, Rows(part, names), of_rows, rows, last)
        except OperationError as error:
            if len(streams.programs) == 1:  # else it may be a later query's item
                record = record_type(tuple(part.column_names))
                error.show(record(*(column[error.row].as_py() for column in part.columns)))
            raise
        places.append(few + start)
        values.append(more)
    return Output(np.concatenate(places), tuple(values))


class Runs:
    """A query's streams, by their codes, that take rows of tables."""

    def __init__(self, programs: Sequence[Program]) -> None:
        self._programs = tuple(programs)
        self._streams = Streams(programs)
        self._reads = attributes_read_of(self._programs[0].node)

    @property
    def bits(self) -> Bits:
        """The predicates whose truth must be known of each row."""
        return self._programs[0].bits

    @cached_property
    def idle(self) -> Any:
        """By bits, whether such rows change nothing; None: it is not known."""
        idle = self._programs[0].idle_classes() if len(self._programs) == 1 else None
        return None if idle is None else np.array(idle)

    def run(self, table: pa.Table, bits: Any, codes: Any, count: int) -> Output:
        """Take rows, row i of the stream `codes[i]` of `count`; return where there are values.

        Raises OperationError where a user's function does.
        """
        self._streams.grow(count)
        return take_rows(self._streams, table, bits, codes, self._reads, idle=self.idle)

    def keep_only(self, code: int) -> None:
        """Release all streams but one, which gets the code 0."""
        self._streams.keep_only(code)

    def save(self, code: int, written: bytearray) -> None:
        """Append a stream's state, as `Streams.save` does."""
        self._streams.grow(code + 1)
        self._streams.save(code, written)

    def load(self, code: int, reader: Reader) -> None:
        """Read the state of a stream that `save` appended."""
        self._streams.grow(code + 1)
        self._streams.load(code, reader)

    def open_codes(self, count: int) -> NDArray[np.int32]:
        """Return which of `count` streams continue otherwise than new ones; forget the others.

        Raises StateError for values that saved states do not support.
        """
        self._streams.grow(count)
        is_open = np.zeros(self._streams.count, bool)
        for code in range(self._streams.count):
            is_open[code] = not self._streams.is_fresh(code)
            if not is_open[code]:
                self._streams.forget(code)
        return np.flatnonzero(is_open).astype(np.int32)


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
