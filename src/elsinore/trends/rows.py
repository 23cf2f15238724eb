"""The rows that open windows need, encoded when they come.

A value is encoded once, however many windows it is in and however often windows are closed, where
its code does not depend on the values beside it. Texts and numbers of several kinds are compared by
their rank among all that there are: such rows are kept as they came (`trends.buffered`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.plan import TrendUnit
from elsinore.trends.arrangement import Chosen, Placed
from elsinore.trends.columns import matrix, order_columns
from elsinore.trends.graph.columns import ComparedColumns
from elsinore.trends.keyed import FEW_CLASSES, Doubles, Flags, Ints, occurring

_FEW_ROWS = 2**10  # room that is made at least, and ...
_MANY_ROWS = 2**16  # ... that is given back if it is eight times what is needed


class Encoded(NamedTuple):
    """Rows as evaluators read them; see `KeyedEvents`."""

    times: Ints
    codes: Ints
    classes: list[int] | None
    values: Doubles
    present: Flags
    orders: Ints
    ordered: Flags
    columns: ComparedColumns


class Arrived(NamedTuple):
    """A batch, which of its rows are kept (None: all), and some columns of these."""

    batch: pa.RecordBatch
    keys: NDArray[np.int32]
    times: Ints
    codes: Ints
    chosen: Ints | None


def encoded_rows(unit: TrendUnit, schema: pa.Schema) -> EncodedRows | None:
    """Return no rows yet, for batches of a schema; None where such rows cannot be encoded."""
    kinds = [schema.field(f"pair:{name}").type for name in unit.compared]
    none = {name: pa.nulls(0, kind) for name, kind in zip(unit.compared, kinds, strict=True)}
    columns = ComparedColumns.of(none)
    if unit.squared or not columns.is_steady:
        return None
    return EncodedRows(unit, schema, columns)


def restored(unit: TrendUnit, arrays: Mapping[str, NDArray[Any]]) -> EncodedRows | None:
    """Return the rows that `EncodedRows.saved` made arrays of; None: there were none."""
    if "row:schema" not in arrays:
        return None
    schema = pa.ipc.read_schema(pa.py_buffer(arrays["row:schema"].tobytes()))
    rows = encoded_rows(unit, schema)
    assert rows is not None
    rows.restore(arrays)
    return rows


class EncodedRows:
    """Rows as arrays with room for more, of which the first may be let go of."""

    def __init__(self, unit: TrendUnit, schema: pa.Schema, columns: ComparedColumns) -> None:
        self._unit = unit
        self._schema = schema
        self._columns = columns
        self.classes: list[int] = []  # those that came, and the place of each
        self._places = np.full(min(unit.classes.size, FEW_CLASSES) + 1, -1, dtype=np.int64)
        self._numbered = unit.classes.size <= FEW_CLASSES
        self._begin = self._end = 0
        self._gone = 0  # rows that were let go of, or have other places now
        self._one_key = True
        compared, ranked = len(unit.compared), len(unit.ranked) + len(unit.edges)
        self._arrays: dict[str, NDArray[Any]] = {
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

    @property
    def count(self) -> int:
        """How many rows there are."""
        return self._end - self._begin

    @property
    def one_key(self) -> bool:
        """Whether all rows that there are were found to be of one key."""
        return self._one_key

    @property
    def nbytes(self) -> int:
        """How much memory they take, with the room for more."""
        return sum(array.nbytes for array in self._arrays.values())

    def column(self, name: str) -> NDArray[Any]:
        """Return a column of codes: `key`, `group` or `time`."""
        return self._arrays[name][self._begin : self._end]

    def add(self, arrived: Arrived) -> None:
        """Put rows behind those that there are."""
        batch, chosen = arrived.batch, arrived.chosen
        count = len(arrived.keys)
        self._make_room(count)
        here = slice(self._end, self._end + count)
        unit, arrays = self._unit, self._arrays

        def put(name: str, column: NDArray[Any]) -> None:
            arrays[name][..., here] = column if chosen is None else column[..., chosen]

        arrays["time"][here] = arrived.times
        arrays["key"][here] = arrived.keys
        put("group", batch.column("group").to_numpy())
        if self._numbered:
            arrays["class"][here] = self._placed(arrived.codes)
        else:
            arrays["class"][here] = arrived.codes
            self.classes = np.union1d(self.classes, occurring(arrived.codes)).astype(int).tolist()
        for row, name in enumerate(self._columns.names):
            encoded = self._columns.codes_of(name, batch.column(f"pair:{name}"), chosen)
            arrays["compared"][row, here] = encoded[0]
            arrays["known"][row, here] = encoded[1]
        if unit.summed:
            values, present = matrix(batch, "sum:", unit.summed, np.float64)
            put("values", values)
            put("present", present)
        if unit.ranked or unit.edges:
            orders, ordered = order_columns(unit, batch)
            put("orders", orders)
            put("ordered", ordered)
        if count and self._one_key:
            self._one_key = bool((arrived.keys == arrays["key"][self._begin]).all())
        self._end = here.stop

    def _placed(self, codes: Ints) -> Ints:
        """Return the places of events' classes among those that came; -1 for those below 0."""
        places = self._places[codes]
        if len(places) and places.min() < 0:
            codes = np.maximum(codes, -1)  # the last place is for those below 0, and stays so
            for code in occurring(codes).tolist():
                if self._places[code] < 0:
                    self._places[code] = len(self.classes)
                    self.classes.append(code)
            places = self._places[codes]
        return places

    def read(self, chosen: Chosen) -> Encoded:
        """Return some rows as evaluators read them."""
        found = self._some(chosen, self._arrays.keys() - {"key", "group"})
        first = self._gone + (chosen.start or 0) if isinstance(chosen, slice) else None
        return Encoded(
            times=found["time"],
            codes=found["class"],
            classes=self.classes if self._numbered else None,
            values=found["values"],
            present=found["present"],
            orders=found["orders"],
            ordered=found["ordered"],
            columns=self._columns.with_rows(found["compared"], found["known"], first),
        )

    def keep(self, chosen: Chosen) -> None:
        """Let go of all rows but some."""
        if isinstance(chosen, slice):
            first, last, _ = chosen.indices(self.count)
            self._gone += first
            self._begin, self._end = self._begin + first, self._begin + last
        else:
            self._gone += self.count
            self._arrays = self._some(chosen, self._arrays)
            self._begin, self._end = 0, chosen.size
        if self.count == 0:
            self._begin = self._end = 0
        if not self._one_key:
            keys = self.column("key")
            self._one_key = bool((keys[1:] == keys[:-1]).all())
        if len(self._arrays["time"]) > max(_MANY_ROWS, 8 * self.count):
            self._move_to(2 * self.count)

    def _some(self, chosen: Chosen, names: Iterable[str]) -> dict[str, NDArray[Any]]:
        """Return columns of some rows."""
        first, last, _ = (chosen if isinstance(chosen, slice) else slice(None)).indices(self.count)
        here = slice(self._begin + first, self._begin + last)
        columns = {name: self._arrays[name][..., here] for name in names}
        if isinstance(chosen, slice):
            return columns
        if isinstance(chosen, Placed):
            return {name: chosen.column(columns[name]) for name in names}
        return {name: columns[name].take(chosen, axis=-1) for name in names}

    def _make_room(self, count: int) -> None:
        """Have room for so many rows behind the last."""
        room, rows = len(self._arrays["time"]), self.count
        if self._end + count <= room:
            return
        if 2 * rows + count <= room:  # what was let go of is as much as what is moved
            for array in self._arrays.values():
                array[..., :rows] = array[..., self._begin : self._end]
            self._begin, self._end = 0, rows
        else:
            self._move_to(2 * rows + max(count, _FEW_ROWS))

    def _move_to(self, room: int) -> None:
        """Have room for so many rows in all."""
        rows = self.count
        for name, array in self._arrays.items():
            larger = np.empty((*array.shape[:-1], room), dtype=array.dtype)
            larger[..., :rows] = array[..., self._begin : self._end]
            self._arrays[name] = larger
        self._begin, self._end = 0, rows

    def saved(self) -> dict[str, NDArray[Any]]:
        """Return what `restored` makes the same rows of."""
        columns = self._some(slice(None), self._arrays)
        found = {f"row:{name}": column for name, column in columns.items()}
        classes = np.array(self.classes, dtype=np.int64)
        schema = np.frombuffer(self._schema.serialize(), dtype=np.uint8)
        return found | {"row:schema": schema, "row:classes": classes}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take up the rows that `saved` made arrays of."""
        self.classes = arrays["row:classes"].tolist()
        if self._numbered:
            self._places[self.classes] = np.arange(len(self.classes))
        self._arrays = {name: arrays[f"row:{name}"] for name in self._arrays}
        self._end = len(self._arrays["time"])
        keys = self.column("key")
        self._one_key = bool((keys[1:] == keys[:-1]).all())
