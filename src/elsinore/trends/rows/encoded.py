"""The rows that open windows need, encoded when they come.

A value is encoded once, however many windows it is in and however often windows are closed, where
its code does not depend on the values beside it. Texts and numbers of several kinds are compared by
their rank among all that there are: such rows are kept as they came (`trends.plain`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from struct import Struct
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.kernels import enter
from elsinore.kernels.arrow import Lender
from elsinore.operators.slots import KeySlots, KeyTable, counts_that_fit, words_of
from elsinore.plan import TrendUnit
from elsinore.trends.core.arrays import NEVER
from elsinore.trends.graph.columns import ComparedColumns
from elsinore.trends.keyed import FEW_CLASSES, Doubles, Flags, Ints, as_entered, occurring
from elsinore.trends.rows.arrangement import Chosen, Placed
from elsinore.trends.rows.arriving import (
    ATTRIBUTES,
    CHOSEN,
    COLUMNS,
    CURRENT,
    DISORDER,
    DONE,
    HEAD,
    KEEPS_ALL,
    LENT,
    MATCHED,
    MORE_KEYS,
    MORE_LENT,
    NEW_CLASS,
    NUMBERED,
    OF_BATCH,
    ONE_KEY,
    ROOM,
    SLOTS,
    TAKEN,
    TURN,
    take_rows,
)
from elsinore.trends.values.columns import (
    in_place,
    is_in_place,
    matrix,
    numbers_of,
    order_columns,
    out_of_order,
)

_FEW_ROWS = 2**10  # room that is made at least, and ...
_MANY_ROWS = 2**16  # ... that is given back if it is eight times what is needed
_OF_BATCH = Struct(f"{OF_BATCH}q")  # into arrays sooner than NumPy puts a tuple there
_SECONDS = 4e-6  # that a row takes in plain Python
_WAITING = ("key", "group", "time", "class", "compared", "known")  # as `Waiting` has them


class Encoded(NamedTuple):
    """Rows as evaluators read them; see `KeyedEvents`."""

    times: Ints
    codes: Ints
    classes: list[int] | None  # which these are places among; None: codes are classes
    occur: Ints | None  # the classes that codes tell then, maybe with others
    values: Doubles
    present: Flags
    orders: Ints
    ordered: Flags
    columns: ComparedColumns


class Taken(NamedTuple):
    """What is known of a batch whose rows were put behind those that wait."""

    rows: int  # that were taken
    matched: int  # rows that some state takes
    last: Ints  # [key] -> the time of its last row
    current: int  # the key that goes on, where keys come one after another


def encoded_rows(unit: TrendUnit, schema: pa.Schema) -> EncodedRows | None:
    """Return no rows yet, for batches of a schema; None where such rows cannot be encoded."""
    kinds = [schema.field(f"pair:{name}").type for name in unit.compared]
    none = {name: pa.nulls(0, kind) for name, kind in zip(unit.compared, kinds, strict=True)}
    columns = ComparedColumns.of(none, has_fine_lengths=unit.has_fine_lengths)
    return EncodedRows(unit, schema, columns) if columns.is_steady else None


class Rows(Protocol):
    """Rows that wait: arrays of what they were encoded to, or as they came (`trends.plain`).

    `copies`: rows are copied when they come. `classes`: those that came, and maybe more.
    """

    copies: bool
    schema: pa.Schema  # of batches
    classes: list[int]

    @property
    def one_key(self) -> bool:
        """Whether all rows that there are were found to be of one key."""

    @property
    def count(self) -> int:
        """How many rows there are."""

    @property
    def first(self) -> tuple[int, int]:
        """The key and the group of the first row."""

    @property
    def last_group(self) -> int:
        """The group of the last row."""

    @property
    def nbytes(self) -> int:
        """How much memory they take."""

    def column(self, name: str) -> NDArray[Any]:
        """Return a column of codes: `key`, `group`, `time` or `class`."""

    def add(
        self, batch: pa.RecordBatch, slots: KeySlots | None, last: Ints, current: int | None
    ) -> Taken:
        """Put the rows of a batch that are wanted behind those that there are.

        slots: of keys; None: a key is its own slot. last: [key] -> the time of its last row.
        current: the key that goes on, where keys come one after another; None: they do not. Raises
        InputError where a key's rows are not in time order.
        """

    def read(self, chosen: Chosen) -> Encoded:
        """Return some rows as evaluators read them."""

    def keep(self, chosen: Chosen) -> None:
        """Let go of all rows but some."""

    def saved(self) -> dict[str, NDArray[Any]]:
        """Return what `restore` takes up."""

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take up the rows that `saved` made arrays of."""


class EncodedRows:
    """Rows as arrays with room for more, of which the first may be let go of; see `Rows`."""

    copies = True

    def __init__(self, unit: TrendUnit, schema: pa.Schema, columns: ComparedColumns) -> None:
        self._unit = unit
        self.schema = schema
        self.columns = columns  # of no rows
        self.classes: list[int] = []  # those that came, and the place of each
        self._places = np.full(min(unit.classes.size, FEW_CLASSES) + 1, -1, dtype=np.int64)
        self.numbered = unit.classes.size <= FEW_CLASSES
        self._begin = self._end = 0
        self._gone = 0  # rows that were let go of, or have other places now
        self._head = np.zeros(HEAD, dtype=np.int64)
        self._head[KEEPS_ALL], self._head[NUMBERED] = unit.keeps_all, self.numbered
        self._head[ONE_KEY] = True
        self._make_chosen(_FEW_ROWS)
        self._lent: KeyTable | None = None  # of which the head tells
        self._lender = Lender()
        self._looked_at = pa.schema([])  # of batches whose columns are told by ...
        self._doubles = np.zeros(0, dtype=np.int64)  # ... pairs for `take_rows`, and ...
        self._others: list[str] = []  # ... attributes that it does not encode
        compared, ranked = len(unit.compared), len(unit.ranked) + len(unit.edges)
        self._reads_more = not self.numbered or bool(unit.summed) or ranked > 0
        arrays: dict[str, NDArray[Any]] = {
            "time": np.empty(0, dtype=np.int64),
            "key": np.empty(0, dtype=np.int32),
            "group": np.empty(0, dtype=np.int32),
            "class": np.empty(0, dtype=np.int64),  # its place, where classes are numbered
            "compared": np.empty((compared, 0), dtype=np.int64),
            "known": np.empty((compared, 0), dtype=np.uint8),
            "values": np.empty((len(unit.summed), 0)),
            "present": np.empty((len(unit.summed), 0), dtype=np.uint8),
            "orders": np.empty((ranked, 0), dtype=np.int64),
            "ordered": np.empty((ranked, 0), dtype=np.uint8),
        }
        sizes = [array.itemsize * math.prod(array.shape[:-1]) for array in arrays.values()]
        self._row = sum(sizes)  # bytes of a row
        self._has(arrays)

    @property
    def count(self) -> int:
        """How many rows there are."""
        return self._end - self._begin

    @property
    def one_key(self) -> bool:
        """Whether all rows that there are were found to be of one key."""
        return bool(self._head[ONE_KEY])

    @property
    def places(self) -> tuple[int, int, int]:
        """Where the rows are in `arrays`, first and behind the last; which number row 0 has."""
        return self._begin, self._end, self._gone - self._begin

    @property
    def first(self) -> tuple[int, int]:
        """The key and the group of the first row."""
        return self.arrays["key"].item(self._begin), self.arrays["group"].item(self._begin)

    @property
    def last_group(self) -> int:
        """The group of the last row."""
        group: int = self.arrays["group"].item(self._end - 1)
        return group

    @property
    def nbytes(self) -> int:
        """How much memory they take, with the room for more."""
        return self._row * self._room

    def column(self, name: str) -> NDArray[Any]:
        """Return a column of codes: `key`, `group` or `time`."""
        return self.arrays[name][self._begin : self._end]

    def add(
        self, batch: pa.RecordBatch, slots: KeySlots | None, last: Ints, current: int | None
    ) -> Taken:
        """Put the rows of a batch that are wanted behind those that there are."""
        if not batch.schema.equals(self._looked_at):
            batch = self._in_place(batch)
        size, head = batch.num_rows, self._head
        if self._end + size > self._room:
            self._make_room(size if size <= _MANY_ROWS else self._wanted(batch))
        if size not in self._sizes:
            self._make_chosen(max(size, _FEW_ROWS))
        if slots is not None and slots.lent is not self._lent:
            self._lend(slots)
        key, lends = (0, -1) if current is None else (1, current), 0 if slots is None else size
        try:
            lent = self._lender.lend(batch)
            _OF_BATCH.pack_into(head.data, 0, 0, 0, 0, self._end, self._begin, *key, lent, lends)
            last = self._take_rows(batch, slots, last)
        except BaseException:
            self._lender.take_back()  # `take_rows` has let go of it else
            raise
        taken = head.item(TAKEN)
        if taken:
            if self._others or self._reads_more:
                self._add_others(batch, None if taken == size else self._chosen[:taken], taken)
            self._end += taken
        return Taken(taken, head.item(MATCHED), last, head.item(CURRENT))

    def _take_rows(self, batch: pa.RecordBatch, slots: KeySlots | None, last: Ints) -> Ints:
        """Do so with a batch that is lent; return `last`, which may have got longer."""
        head, seconds = self._head, _SECONDS * batch.num_rows
        args = self._places, self._doubles
        while (how := enter(take_rows, seconds, head, last, *args)) != DONE:
            if how == DISORDER:
                raise out_of_order(int(numbers_of(batch, "time", np.int64)[head[TURN]]))
            if how == NEW_CLASS:
                self._number(numbers_of(batch, "class", np.int64)[head[TURN] :])
            elif how == MORE_KEYS:
                keys = self._slots[: batch.num_rows]
                keys = numbers_of(batch, "key", np.int32) if slots is None else keys
                last = np.append(
                    last, np.full(max(int(keys.max()) + 1 - len(last), len(last)), NEVER)
                )
            elif how == MORE_LENT and slots is not None:
                slots.grow()
                self._lend(slots)
        return last

    def _make_chosen(self, room: int) -> None:
        """Have room for which rows of a batch are taken, and for their slots, as the head has."""
        self._chosen, self._slots = np.empty(room, np.int64), np.empty(room, np.int32)
        self._head[SLOTS : CHOSEN + 1] = self._slots.ctypes.data, self._chosen.ctypes.data
        self._sizes = counts_that_fit(room, _FEW_ROWS)

    def _lend(self, slots: KeySlots) -> None:
        """Tell the head what slots are lent from."""
        self._lent = slots.lent
        self._head[LENT:] = words_of(slots.lent)

    def _in_place(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return a batch with its first columns in their places; look for where the others are."""
        if not is_in_place(batch.schema):
            batch = in_place(batch)
        schema = batch.schema
        doubles, self._others = [], []
        for row, name in enumerate(self.columns.names):
            place = schema.get_field_index(f"pair:{name}")
            if schema.field(place).type == pa.float64():
                doubles += [place, row]
            else:
                self._others.append(name)
        self._doubles = np.array(doubles, dtype=np.int64)
        self._looked_at = schema
        return batch

    def _number(self, codes: Ints) -> None:
        """Give the classes of events places, where they have none yet."""
        for code in occurring(np.maximum(codes, -1)).tolist():
            if self._places[code] < 0:
                self._places[code] = len(self.classes)
                self.classes.append(code)

    def _add_others(self, batch: pa.RecordBatch, chosen: Ints | None, count: int) -> None:
        """Put the columns of so many rows that `take_rows` does not read behind the others."""
        here = slice(self._end, self._end + count)
        unit, arrays = self._unit, self.arrays

        def put(name: str, column: NDArray[Any]) -> None:
            arrays[name][..., here] = column if chosen is None else column[..., chosen]

        if not self.numbered:
            classes = occurring(arrays["class"][here])
            self.classes = np.union1d(self.classes, classes).astype(int).tolist()
        for name in self._others:
            row = self.columns.names.index(name)
            encoded = self.columns.codes_of(name, batch.column(f"pair:{name}"), chosen)
            arrays["compared"][row, here], arrays["known"][row, here] = encoded
        if unit.summed:
            values, present = matrix(batch, "sum:", unit.summed, np.float64)
            put("values", values)
            put("present", present)
        if unit.ranked or unit.edges:
            orders, ordered = order_columns(unit, batch)
            put("orders", orders)
            put("ordered", ordered)

    def _wanted(self, batch: pa.RecordBatch) -> int:
        """Return how many rows of a batch are wanted, at most."""
        codes = numbers_of(batch, "class", np.int64)
        return len(codes) if self._unit.keeps_all else int(np.count_nonzero(codes >= 0))

    def _has(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Have other columns from now on."""
        self.arrays = {name: as_entered(array) for name, array in arrays.items()}
        waiting = [self.arrays[name] for name in _WAITING]
        self._head[COLUMNS:ATTRIBUTES] = [column.ctypes.data for column in waiting]
        self._head[ATTRIBUTES : ROOM + 1] = self.arrays["compared"].shape
        self._room = len(self.arrays["time"])

    def read(self, chosen: Chosen) -> Encoded:
        """Return some rows as evaluators read them."""
        read = self._some(chosen, self.arrays.keys() - {"key", "group"})
        first = self._gone + (chosen.start or 0) if isinstance(chosen, slice) else None
        return Encoded(
            times=read["time"],
            codes=read["class"],
            classes=self.classes if self.numbered else None,
            occur=None,
            values=read["values"],
            present=read["present"],
            orders=read["orders"],
            ordered=read["ordered"],
            columns=self.columns.with_rows(read["compared"], read["known"], first),
        )

    def keep(self, chosen: Chosen) -> None:
        """Let go of all rows but some."""
        if isinstance(chosen, slice):
            first, last, _ = chosen.indices(self.count)
            self._gone += first
            self._begin, self._end = self._begin + first, self._begin + last
        else:
            self._gone += self.count
            self._has(self._some(chosen, self.arrays))
            self._begin, self._end = 0, chosen.size
        if self.count == 0:
            self._begin = self._end = 0
        if not self.one_key:
            self._look_for_keys()
        if self._room > _MANY_ROWS and self._room > 8 * self.count:
            self._move_to(2 * self.count)

    def _some(self, chosen: Chosen, names: Iterable[str]) -> dict[str, NDArray[Any]]:
        """Return columns of some rows."""
        first, last, _ = (chosen if isinstance(chosen, slice) else slice(None)).indices(self.count)
        here = slice(self._begin + first, self._begin + last)
        columns = {name: self.arrays[name][..., here] for name in names}
        if isinstance(chosen, slice):
            return columns
        if isinstance(chosen, Placed):
            return {name: chosen.column(columns[name]) for name in names}
        return {name: columns[name].take(chosen, axis=-1) for name in names}

    def _make_room(self, count: int) -> None:
        """Have room for so many rows behind the last."""
        rows = self.count
        if self._end + count <= self._room:
            return
        if 2 * rows + count <= self._room:  # what was let go of is as much as what is moved
            for array in self.arrays.values():
                array[..., :rows] = array[..., self._begin : self._end]
            self._begin, self._end = 0, rows
        else:
            self._move_to(2 * rows + max(count, _FEW_ROWS))

    def _move_to(self, room: int) -> None:
        """Have room for so many rows in all."""
        rows, arrays = self.count, {}
        for name, array in self.arrays.items():
            arrays[name] = np.empty((*array.shape[:-1], room), dtype=array.dtype)
            arrays[name][..., :rows] = array[..., self._begin : self._end]
        self._has(arrays)
        self._begin, self._end = 0, rows

    def saved(self) -> dict[str, NDArray[Any]]:
        """Return what `restore` takes up."""
        columns = self._some(slice(None), self.arrays)
        arrays = {f"row:{name}": column for name, column in columns.items()}
        return arrays | {"row:classes": np.array(self.classes, dtype=np.int64)}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take up the rows that `saved` made arrays of."""
        self.classes = arrays["row:classes"].tolist()
        if self.numbered:
            self._places[self.classes] = np.arange(len(self.classes))
        self._has({name: arrays[f"row:{name}"] for name in self.arrays})
        self._end = len(self.arrays["time"])
        self._look_for_keys()

    def _look_for_keys(self) -> None:
        """Find out whether all rows that there are are of one key."""
        keys = self.column("key")
        self._head[ONE_KEY] = (keys[1:] == keys[:-1]).all()
