"""Rows as they came, for what is encoded with all others of a call, or read but once.

Texts and numbers of several kinds are compared by their rank among all that there are. Sweeps over
events as they come read Arrow's memory where it is, which nothing is faster than.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.arrow import no_table, to_arrow, to_numpy, whole
from elsinore.kernels import enter
from elsinore.kernels.read_only import read_only
from elsinore.kernels.saved import table_from_bytes
from elsinore.operators.slots import KeySlots
from elsinore.plan import TrendUnit
from elsinore.trends.core.arrays import NEVER
from elsinore.trends.graph.columns import ComparedColumns
from elsinore.trends.keyed import Ints, first_out_of_order, occurring
from elsinore.trends.rows.arrangement import Chosen, Placed
from elsinore.trends.rows.encoded import Encoded, Taken
from elsinore.trends.values.columns import (
    matrix,
    numbers_of,
    order_columns,
    out_of_order,
    with_slots,
)

FEW_LEFT_OUT = 1.5  # rows for each wanted one of which copies of the wanted ones cost more

_LARGE = 2**15  # rows of batches that are not put together to be read in stretches


class PlainRows:
    """Rows in Arrow's memory; the contract is that of `elsinore.trends.rows.encoded.Rows`.

    may_keep: events that no state takes may stay among the others.
    """

    copies = one_key = False

    def __init__(self, unit: TrendUnit, schema: pa.Schema, *, may_keep: bool = False) -> None:
        self.schema = schema
        self.classes: list[int] = []
        self._unit = unit
        self._keeps_all, self._compared = unit.keeps_all, unit.compared
        self._may_keep = may_keep
        self._parts: list[pa.Table] = []

    @property
    def count(self) -> int:
        """How many rows there are."""
        return sum(part.num_rows for part in self._parts)

    @property
    def first(self) -> tuple[int, int]:
        """The key and the group of the first row."""
        key, group = (self._parts[0].column(name)[0].as_py() for name in ("key", "group"))
        return key, group

    @property
    def last_group(self) -> int:
        """The group of the last row."""
        group: int = self._parts[-1].column("group")[-1].as_py()
        return group

    @property
    def nbytes(self) -> int:
        """How much memory they take."""
        return sum(part.nbytes for part in self._parts)

    def column(self, name: str) -> NDArray[Any]:
        """Return a column of codes: `key`, `group`, `time` or `class`."""
        return to_numpy(self.table(slice(None)).column(name))

    def add(
        self, batch: pa.RecordBatch, slots: KeySlots | None, last: Ints, current: int | None
    ) -> Taken:
        """Put the rows of a batch that are wanted behind those that there are."""
        codes, times = numbers_of(batch, "class", np.int64), numbers_of(batch, "time", np.int64)
        keys = numbers_of(batch, "key", np.int32)
        if slots is not None:
            keys = slots.of(keys, times)
        wanted = codes >= 0
        matched = int(np.count_nonzero(wanted))
        if self._keeps_all or (self._may_keep and FEW_LEFT_OUT * matched >= len(codes)):
            wanted = keys >= 0
        if not wanted.all():
            batch = batch.filter(to_arrow(wanted))
            keys = keys[wanted] if slots is not None else numbers_of(batch, "key", np.int32)
            codes, times = numbers_of(batch, "class", np.int64), numbers_of(batch, "time", np.int64)
        if len(keys) == 0:
            return Taken(0, matched, last, -1 if current is None else current)
        last = self._in_order(keys, times, codes, last, current)
        present = set(occurring(codes).tolist())
        if not present <= set(self.classes):
            self.classes = sorted(present.union(self.classes))
        batch = batch if slots is None else with_slots(batch, keys)
        self._parts.append(pa.Table.from_batches([batch]))
        return Taken(len(keys), matched, last, int(keys[-1]))

    def _in_order(
        self, keys: NDArray[Any], times: Ints, codes: Ints, last: Ints, current: int | None
    ) -> Ints:
        """Return the time of each key's last row, or raise InputError."""
        if current is not None:
            keys = np.cumsum(np.concatenate(([keys[0] != current], keys[1:] != keys[:-1])))
            if keys[0]:
                last[0] = NEVER
            keys = keys - keys[0]
        most = int(keys.max())
        if most >= len(last):
            last = np.append(last, np.full(max(most + 1 - len(last), len(last)), NEVER))
        keys = read_only(np.require(keys, np.int32, ["C"]))
        least = int(NEVER) if self._keeps_all else 0
        rows = keys, read_only(times), read_only(codes), least
        wrong = enter(first_out_of_order, 1e-6 * len(keys), *rows, last)
        if wrong >= 0:
            raise out_of_order(int(times[wrong]))
        return last if current is None else last[most:][:1].copy()

    def table(self, chosen: Chosen) -> pa.Table:
        """Return some rows."""
        table = pa.concat_tables(self._parts or [no_table(self.schema)])
        chunks = table.column("time").num_chunks
        if chunks > 1 and not (isinstance(chosen, slice) and _LARGE * chunks < table.num_rows):
            table = table.combine_chunks()
        self._parts = [table]
        if isinstance(chosen, slice):
            first, last, _ = chosen.indices(table.num_rows)
            return table.slice(first, last - first)
        order = chosen.column(np.arange(table.num_rows)) if isinstance(chosen, Placed) else chosen
        return table.take(to_arrow(order)).combine_chunks()

    def read(self, chosen: Chosen) -> Encoded:
        """Return some rows as evaluators read them."""
        table, unit = self.table(chosen), self._unit
        compared = {name: whole(table.column(f"pair:{name}")) for name in self._compared}
        values, present = matrix(table, "sum:", unit.summed, np.float64)
        orders, ordered = order_columns(unit, table)
        return Encoded(
            times=_ints(table, "time"),
            codes=_ints(table, "class"),
            classes=None,
            occur=np.array(self.classes, dtype=np.int64),
            values=values,
            present=present,
            orders=orders,
            ordered=ordered,
            columns=ComparedColumns.of(compared, has_fine_lengths=unit.has_fine_lengths),
        )

    def keep(self, chosen: Chosen) -> None:
        """Let go of all rows but some."""
        before, kept = self.count, self.table(chosen)
        if isinstance(chosen, slice) and 2 * kept.num_rows < before:  # leave the memory of others
            kept = kept.take(to_arrow(np.arange(kept.num_rows)))
        self._parts = [kept] if kept.num_rows else []

    def saved(self) -> dict[str, NDArray[Any]]:
        """Return what `restore` takes up."""
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, self.schema) as writer:
            for part in self._parts:
                writer.write_table(part)
        table = np.frombuffer(sink.getvalue(), dtype=np.uint8)
        return {"row:table": table, "row:classes": np.array(self.classes, dtype=np.int64)}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take up the rows that `saved` made arrays of."""
        self.classes = arrays["row:classes"].tolist()
        table = table_from_bytes(arrays["row:table"].tobytes())
        self._parts = [table] if table.num_rows else []


def _ints(table: pa.Table, name: str) -> Ints:
    return np.ascontiguousarray(to_numpy(table.column(name)), dtype=np.int64)
