"""What runs in Spark's Python workers: an operator over one sorted partition.

Rows come sorted by group, key and time, so that keys come one after another and are numbered as
they change. Memory is one key's, however many events it has.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.plan import Sharing, Unit
from elsinore.runtime.finish import result_tables
from elsinore.runtime.keys import encode_keys
from elsinore.spark.statistics import StatisticsAccumulator
from elsinore.trends import operator_of, to_ranks

CODE_LIMIT = 2**30  # codes begin again here; only neighbours must differ


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Runs a unit's operator: `mapInArrow` calls it with a partition's batches.

    In: `g0`, ... (group), `k0`, ... (rest of the key), `time`, `class`, `s0`, ... (addends, in the
    order of `unit.summed`), `r0`, ... (of `unit.ranked`), `p0`, ... (of `unit.compared`).
    Out: totals, the group's attributes `g0`, ... in place of its code. What the operator counted
    is added to `statistics` when the partition ends.

    `ordered`: events of one key and time come in an order of their own. Else they are simultaneous:
    where sums per state are enough, bursts are shared until the partition's first such events.
    """

    unit: Unit
    ordered: bool
    sharing: Sharing = Sharing.DYNAMIC
    record: bool = False
    statistics: StatisticsAccumulator | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Take a partition's batches; yield totals as groups end."""
        operator = operator_of(
            self.unit,
            one_slot=True,
            ordered=self.ordered,
            sharing=self.sharing,
            record=self.record,
        )
        groups = Numbering([f"g{n}" for n in range(len(self.unit.group_by))])
        keys = Numbering(groups.names + [f"k{n}" for n in range(len(self.unit.equivalence))])
        seen = False
        for batch in batches:
            if batch.num_rows == 0:
                continue
            seen = True
            columns = {
                "key": pa.array(keys.number(batch)),
                "group": pa.array(groups.number(batch)),
                "time": batch.column("time"),
                "class": batch.column("class"),
            }
            for number, name in enumerate(self.unit.summed):
                columns[f"sum:{name}"] = batch.column(f"s{number}")
            for number, name in enumerate(self.unit.ranked):
                columns[f"rank:{name}"] = to_ranks(batch.column(f"r{number}"))
            for number, name in enumerate(self.unit.compared):
                columns[f"pair:{name}"] = batch.column(f"p{number}")
            totals = operator.process(pa.RecordBatch.from_pydict(columns))
            if totals.num_rows:
                yield groups.named(totals)
            groups.forget(operator.open_group)
            keys.forget()
        if seen:
            yield groups.named(operator.close())
            if self.statistics is not None:
                self.statistics.add(operator.statistics)


class Numbering:
    """Numbers runs of equal values in some columns, over batches."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self._last: list[pa.Scalar] | None = None  # the values of the run that is going on
        self._code = -1
        self._codes: list[NDArray[np.int32]] = []  # codes given since `forget`, and their values
        self._values: list[list[pa.Array]] = []

    def number(self, batch: pa.RecordBatch) -> NDArray[np.int32]:
        """Return the code of each row; a new one where a value differs from the row before."""
        columns = [batch.column(name) for name in self.names]
        changed = np.zeros(batch.num_rows, dtype=np.bool_)
        for column in columns:
            changed[1:] |= differs(column)
        changed[0] = self._last is None or any(
            not _equal(column[0], last) for column, last in zip(columns, self._last, strict=True)
        )
        firsts = np.flatnonzero(changed)
        codes = ((self._code + np.cumsum(changed)) % CODE_LIMIT).astype(np.int32)
        if len(firsts):
            rows = pa.array(firsts)
            self._codes.append(codes[firsts])
            self._values.append([column.take(rows) for column in columns])
        self._code = int(codes[-1])
        self._last = [column[-1] for column in columns]
        return codes

    def forget(self, code: int = -1) -> None:
        """Drop the values of all runs before that of a code; -1: of all but the last run."""
        if not self._codes:
            return
        codes = np.concatenate(self._codes)
        found = np.flatnonzero(codes == code)
        first = int(found[-1]) if len(found) else len(codes) - 1
        values = [pa.concat_arrays(pieces) for pieces in zip(*self._values, strict=True)]
        # copies, lest a slice keep all it is cut from
        kept = pa.array(np.arange(first, len(codes)))
        self._codes = [codes[first:].copy()]
        self._values = [[column.take(kept) for column in values]]

    def named(self, totals: pa.RecordBatch) -> pa.RecordBatch:
        """Return totals with the columns' values in place of the code in `group`."""
        codes = np.concatenate(self._codes)
        order = np.argsort(codes, kind="stable")
        group = totals.column("group").to_numpy()
        rows = pa.array(order[np.searchsorted(codes, group, sorter=order)])
        columns = {}
        for number, name in enumerate(self.names):
            values = pa.concat_arrays([held[number] for held in self._values])
            columns[name] = values.take(rows)
        for name in totals.schema.names:
            if name != "group":
                columns[name] = totals.column(name)
        return pa.RecordBatch.from_pydict(columns)


def _equal(one: pa.Scalar, other: pa.Scalar) -> bool:
    """Return whether two values are equal, as nulls and NaNs are among themselves."""
    return one.equals(other) or (_is_nan(one) and _is_nan(other))


def _is_nan(value: pa.Scalar) -> bool:
    return bool(pa.types.is_floating(value.type) and value.is_valid and math.isnan(value.as_py()))


def differs(column: pa.Array) -> NDArray[np.bool_]:
    """Return for each row but the first whether it differs from the one before.

    Nulls are equal to one another, and so are NaNs.
    """
    before, after = column.slice(0, len(column) - 1), column.slice(1)
    different = pc.not_equal(before, after)
    if pa.types.is_floating(column.type):
        both = pc.and_(pc.is_nan(before), pc.is_nan(after))
        different = pc.and_not(different, both)
    if column.null_count:
        one_null = pc.xor(before.is_null(), after.is_null())
        different = pc.or_(different.fill_null(False), one_null)
    return np.asarray(different.to_numpy(zero_copy_only=False), dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class Finish:
    """Makes one query's result of a partition's totals, in which each group is complete.

    In: the output of `Aggregate`, of this query alone. Out: the result's columns, windows in
    microseconds.
    """

    unit: Unit
    query: int
    types: dict[str, pa.DataType]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Take a partition's totals; yield the result's rows."""
        found = [batch for batch in batches if batch.num_rows]
        if not found:
            return
        totals = pa.Table.from_batches(found).combine_chunks()
        columns = [totals.column(f"g{n}").combine_chunks() for n in range(len(self.unit.group_by))]
        keys = encode_keys(columns, [], [], totals.num_rows)
        groups = [keys.of_groups(column) for column in columns]
        coded = totals.append_column("group", pa.array(keys.group))
        coded = coded.select(
            [n for n in coded.column_names if not n.startswith("g") or n == "group"]
        )
        name = self.unit.members[self.query].query.name
        yield from result_tables(self.unit, coded, groups, self.types)[name].to_batches()
