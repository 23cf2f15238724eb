"""What runs in Spark's Python workers: the operators of a pass over one sorted partition.

Rows come sorted by group, key and time, so that keys come one after another and are numbered as
they change. Memory is one key's, however many events it has.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.operators import Operator, OperatorOptions, kind_for
from elsinore.operators.ranks import to_ranks
from elsinore.plan import Carried, Travel, Unit
from elsinore.runtime.keys import encode_keys
from elsinore.spark.statistics import StatisticsAccumulator

CODE_LIMIT = 2**30  # codes begin again here; only neighbours must differ


def travelling(units: Sequence[Unit]) -> dict[tuple[object, Travel], Carried]:
    """Return the columns that the units of a pass carry, those that are alike once."""
    found: dict[tuple[object, Travel], Carried] = {}
    for unit in units:
        for column in unit.columns:
            found.setdefault((column.source, column.travel), column)
    return found


class Outputs:
    """How partial outputs of a pass's queries lie in one data frame.

    Rows have the group's attributes `g0`, ..., and the query's number in the workload. Where all
    queries' columns are the same, these follow as `f0`, ...; else there is a struct of them for
    each different schema, `o0`, ..., and a row has one of them.
    """

    def __init__(self, units: Sequence[Unit], types: Sequence[Mapping[str, pa.DataType]]) -> None:
        """Lay out what the units' operators give out; `types`: of what each unit carries."""
        self._schemas: list[pa.Schema] = []
        self._place: dict[int, int] = {}  # query -> its schema
        for unit, carried in zip(units, types, strict=True):
            partials = kind_for(unit).partials(unit, carried)
            for number, declared in zip(unit.queries, partials, strict=True):
                schema = without_codes(declared)
                if schema not in self._schemas:
                    self._schemas.append(schema)
                self._place[number] = self._schemas.index(schema)

    @property
    def fields(self) -> pa.Schema:
        """The columns after the group's attributes."""
        if len(self._schemas) == 1:
            return pa.schema([("query", pa.int32()), *_numbered(self._schemas[0])])
        structs = [(f"o{n}", pa.struct(_numbered(one))) for n, one in enumerate(self._schemas)]
        return pa.schema([("query", pa.int32()), *structs])

    def columns_of(self, query: int) -> list[str]:
        """Return the columns of a query's fields, which are then called `f0`, ..."""
        place = self._place[query]
        names = [name for name, _ in _numbered(self._schemas[place])]
        return names if len(self._schemas) == 1 else [f"o{place}.{name}" for name in names]

    def row(
        self, unit: Unit, partial: pa.RecordBatch, groups: dict[str, pa.Array]
    ) -> pa.RecordBatch:
        """Return a partial output as rows of the data frame, with the groups' values."""
        queries = np.array(unit.queries, dtype=np.int32)[partial.column("query").to_numpy()]
        columns = {**groups, "query": pa.array(queries)}
        place = self._place[int(queries[0])]
        parts = [partial.column(f.name).cast(f.type) for f in self._schemas[place]]
        if len(self._schemas) == 1:
            columns |= {f"f{n}": part for n, part in enumerate(parts)}
            return pa.RecordBatch.from_pydict(columns)
        for other, one in enumerate(self._schemas):
            kind = pa.struct(_numbered(one))
            columns[f"o{other}"] = (
                pa.StructArray.from_arrays(parts, fields=list(kind))
                if other == place
                else pa.nulls(partial.num_rows, kind)
            )
        return pa.RecordBatch.from_pydict(columns)


def without_codes(schema: pa.Schema) -> pa.Schema:
    """Return the columns of partial outputs but for `query` and `group`."""
    return pa.schema([field for field in schema if field.name not in {"query", "group"}])


def _numbered(schema: pa.Schema) -> list[tuple[str, pa.DataType]]:
    return [(f"f{n}", field.type) for n, field in enumerate(schema)]


@dataclass(frozen=True, slots=True)
class RunOperators:
    """Runs the operators of a pass's units: `mapInArrow` calls it with a partition's batches.

    In: `g0`, ... (group), `k0`, ... (rest of the key), `time`, the events' class for each unit
    (`class0`, ...), and what travels (`c0`, ..., in the order of `travelling`). Out: see `Outputs`.
    What the operators counted is added to `statistics`, one for each unit, when the partition ends.

    `options.ordered`: events of one key and time come in an order of their own. Else they are
    simultaneous.
    """

    units: tuple[Unit, ...]
    outputs: Outputs
    options: OperatorOptions
    statistics: tuple[StatisticsAccumulator | None, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Take a partition's batches; yield partial outputs as groups end."""
        operators = [kind_for(unit).operator(unit, self.options) for unit in self.units]
        outputs = self.outputs
        first = self.units[0]
        groups = Numbering([f"g{n}" for n in range(len(first.group_by))])
        keys = Numbering(groups.names + [f"k{n}" for n in range(len(first.equivalence))])
        seen = False
        for batch in batches:
            if batch.num_rows == 0:
                continue
            seen = True
            key, group = pa.array(keys.number(batch)), pa.array(groups.number(batch))
            for number, (unit, operator) in enumerate(zip(self.units, operators, strict=True)):
                given = pa.RecordBatch.from_pydict(
                    {
                        "key": key,
                        "group": group,
                        "time": batch.column("time"),
                        "class": batch.column(f"class{number}"),
                    }
                    | read_columns(self.units, batch, unit)
                )
                if len(self.units) > 1 and not unit.keeps_all:  # others' events are among them
                    given = given.filter(pc.greater_equal(given.column("class"), 0))
                for partial in operator.process(given):
                    if partial.num_rows:
                        yield outputs.row(unit, partial, groups.values(partial.column("group")))
            groups.forget(_first_open(groups, operators))
            keys.forget()
        if not seen:
            return
        for unit, operator, counted in zip(self.units, operators, self.statistics, strict=True):
            for partial in operator.close():
                if partial.num_rows:
                    yield outputs.row(unit, partial, groups.values(partial.column("group")))
            if counted is not None:
                counted.add(operator.statistics)


def read_columns(units: Sequence[Unit], batch: pa.RecordBatch, unit: Unit) -> dict[str, pa.Array]:
    """Return the columns that one of the units of a pass carries, as its operator reads them."""
    places = {place: n for n, place in enumerate(travelling(units))}
    columns = {}
    for column in unit.columns:
        values = batch.column(f"c{places[column.source, column.travel]}")
        columns[column.name] = to_ranks(values) if column.travel is Travel.RANK else values
    return columns


def _first_open(groups: Numbering, operators: Sequence[Operator]) -> int:
    """Return the first of the groups of which some operator may still give something out."""
    return groups.earliest([operator.open_group for operator in operators])


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

    def earliest(self, codes: Iterable[int]) -> int:
        """Return that of some codes whose run began first; -1 where none has values here."""
        known = np.concatenate(self._codes) if self._codes else np.zeros(0, dtype=np.int32)
        places = [found[-1] for code in codes if len(found := np.flatnonzero(known == code))]
        return int(known[min(places)]) if places else -1

    def values(self, codes: pa.Array) -> dict[str, pa.Array]:
        """Return the columns' values for some codes."""
        known = np.concatenate(self._codes)
        order = np.argsort(known, kind="stable")
        rows = pa.array(order[np.searchsorted(known, codes.to_numpy(), sorter=order)])
        return {
            name: pa.concat_arrays([held[number] for held in self._values]).take(rows)
            for number, name in enumerate(self.names)
        }


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
    """Makes one query's result of a partition's partial outputs.

    In: the group's attributes `g0`, ..., and the query's fields `f0`, ... Out: the result's
    columns, times as int64. Where the unit's kind adds up, each group is complete in its
    partition.
    """

    unit: Unit
    query: int  # its place in the unit
    types: dict[str, pa.DataType]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Take a partition's partial outputs; yield the result's rows."""
        filled = (batch for batch in batches if batch.num_rows)
        if not kind_for(self.unit).adds_up(self.unit):
            for batch in filled:
                yield from self._finished(pa.Table.from_batches([batch]))
        elif whole := list(filled):
            yield from self._finished(pa.Table.from_batches(whole).combine_chunks())

    def _finished(self, rows: pa.Table) -> list[pa.RecordBatch]:
        kind = kind_for(self.unit)
        names = [f"g{n}" for n in range(len(self.unit.group_by))]
        columns = [rows.column(name).combine_chunks() for name in names]
        keys = encode_keys(columns, [], [], rows.num_rows)
        groups = [keys.of_groups(column) for column in columns]
        schema = kind.partials(self.unit, self.types)[self.query]
        fields = iter(without_codes(schema).names)
        made = {name: rows.column(f"f{n}") for n, name in enumerate(fields)}
        made["query"] = pa.array(np.full(rows.num_rows, self.query, dtype=np.int32))
        made["group"] = pa.array(keys.group)
        partials = pa.table([made[name] for name in schema.names], names=schema.names)
        batches: list[pa.RecordBatch] = kind.finish(
            self.unit, self.query, partials, groups, self.types
        ).to_batches()
        return batches
