"""Computing results from partial outputs of several partitions or buckets.

Operators return partial outputs with codes of groups, which are local to a partition (or bucket).
`Outputs` replaces the codes by the groups' values; `Finish` computes the rows of the result from
all partial outputs of a group.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from elsinore.operators import kind_for
from elsinore.operators.kind import QUERY
from elsinore.plan import Unit
from elsinore.runtime.keys import encode_keys


class Outputs:
    """The columns of one table that contains the partial outputs of all queries of a pass.

    Rows have the group's attributes `g0`, ..., and `query`, the query's number in the workload. If
    the queries have equal columns, these follow as `f0`, ...; otherwise there is one struct column
    for each different schema, `o0`, ..., and a row has a value in one of them.
    """

    def __init__(self, units: Sequence[Unit], types: Sequence[Mapping[str, pa.DataType]]) -> None:
        """Plan the columns; `types`: for each unit, the types of the attributes it carries."""
        self._schemas: list[pa.Schema] = []
        self._place: dict[int, int] = {}  # query -> its schema
        for unit, attribute_types in zip(units, types, strict=True):
            partials = kind_for(unit).partials(unit, attribute_types)
            for number, partial_schema in zip(unit.queries, partials, strict=True):
                schema = without_codes(partial_schema)
                if schema not in self._schemas:
                    self._schemas.append(schema)
                self._place[number] = self._schemas.index(schema)

    @property
    def fields(self) -> pa.Schema:
        """The columns after the group's attributes."""
        if len(self._schemas) == 1:
            return pa.schema([("query", pa.int32()), *_numbered(self._schemas[0])])
        structs = [
            (f"o{n}", pa.struct(_numbered(schema))) for n, schema in enumerate(self._schemas)
        ]
        return pa.schema([("query", pa.int32()), *structs])

    def fields_of(self, query: int, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return a query's rows with columns of their own: `g0`, ..., `query`, `f0`, ..."""
        groups = [name for name in rows.schema.names if name[0] == "g"]
        fields = [name for name, _ in _numbered(self._schemas[self._place[query]])]
        if len(self._schemas) == 1:
            return rows.select([*groups, "query", *fields])
        struct = rows.column(f"o{self._place[query]}")
        columns = [*map(rows.column, (*groups, "query")), *struct.flatten()]
        return pa.RecordBatch.from_arrays(columns, names=[*groups, "query", *fields])

    def row(
        self, unit: Unit, partial: pa.RecordBatch, groups: dict[str, pa.Array]
    ) -> pa.RecordBatch:
        """Return an operator's partial output as rows of the table.

        groups: the group's attributes `g0`, ... of each row.
        """
        queries = np.array(unit.queries, dtype=np.int32)[partial.column("query").to_numpy()]
        columns = {**groups, "query": pa.array(queries)}
        place = self._place[int(queries[0])]
        parts = [partial.column(f.name).cast(f.type) for f in self._schemas[place]]
        if len(self._schemas) == 1:
            columns |= {f"f{n}": part for n, part in enumerate(parts)}
            return pa.RecordBatch.from_pydict(columns)
        for number, schema in enumerate(self._schemas):
            kind = pa.struct(_numbered(schema))
            columns[f"o{number}"] = (
                pa.StructArray.from_arrays(parts, fields=list(kind))
                if number == place
                else pa.nulls(partial.num_rows, kind)
            )
        return pa.RecordBatch.from_pydict(columns)


def without_codes(schema: pa.Schema) -> pa.Schema:
    """Return the columns of partial outputs except `query` and `group`."""
    return pa.schema([field for field in schema if field.name not in {"query", "group"}])


def _numbered(schema: pa.Schema) -> list[tuple[str, pa.DataType]]:
    return [(f"f{n}", field.type) for n, field in enumerate(schema)]


@dataclass(frozen=True, slots=True)
class Finish:
    """Computes results from partial outputs with their groups' values (`Outputs.fields_of`).

    The queries of one `family` are finished together. Result columns are those of `Kind.result`,
    times as int64. If the unit's kind adds up, the partial outputs must contain whole groups.
    """

    unit: Unit
    family: tuple[int, ...]  # the queries' places in the unit (`Kind.families`)
    types: dict[str, pa.DataType]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the only query's result, from all partial outputs of a partition."""
        (number,) = self.numbers
        nonempty = (batch for batch in batches if batch.num_rows)
        if not kind_for(self.unit).adds_up(self.unit):
            for batch in nonempty:
                yield from self.finished(pa.Table.from_batches([batch]))[number].to_batches()
        elif whole := list(nonempty):
            rows = pa.Table.from_batches(whole).combine_chunks()
            yield from self.finished(rows)[number].to_batches()

    @property
    def numbers(self) -> list[int]:
        """The numbers of the family's queries in the workload."""
        return [self.unit.queries[place] for place in self.family]

    def finished(self, rows: pa.Table) -> dict[int, pa.Table]:
        """Return the results of partial outputs, by the queries' numbers."""
        kind = kind_for(self.unit)
        names = [f"g{n}" for n in range(len(self.unit.group_by))]
        columns = [rows.column(name).combine_chunks() for name in names]
        keys = encode_keys(columns, [], [], rows.num_rows)
        groups = [keys.group_values(column) for column in columns]
        schema = kind.partials(self.unit, self.types)[self.family[0]]
        fields = iter(without_codes(schema).names)
        partial_columns = {name: rows.column(f"f{n}") for n, name in enumerate(fields)}
        by_number = np.argsort(self.unit.queries)
        places = np.searchsorted(self.unit.queries, rows.column("query"), sorter=by_number)
        partial_columns["query"] = pa.array(by_number[places].astype(np.int32))
        partial_columns["group"] = pa.array(keys.group)
        partials = pa.table([partial_columns[name] for name in schema.names], names=schema.names)
        if len(self.family) == 1:
            table = kind.finish(self.unit, self.family[0], partials, groups, self.types)
            return {self.numbers[0]: table}
        table = kind.finish_family(self.unit, self.family, partials, groups, self.types)
        table = table.combine_chunks()
        edges = np.searchsorted(
            table.column(QUERY).to_numpy(), [*self.family, len(self.unit.queries)]
        )
        table = table.drop_columns([QUERY])
        spans = pairwise(edges.tolist())
        return {
            number: table.slice(first, last - first)
            for number, (first, last) in zip(self.numbers, spans, strict=True)
        }
