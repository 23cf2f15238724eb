"""The smallest kind of query there can be: it counts events of the types of a pattern, by group.

Its condition travels as a column, computed of each event before it comes to the operator.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from elsinore.errors import StateError
from elsinore.model import Query
from elsinore.model import pattern as pt
from elsinore.operators import Kind, OperatorOptions, OperatorStatistics, ResultForm
from elsinore.plan import Carried, PlanOptions, Travel, Unit, partition_of
from elsinore.plan.classes import classes_of

COUNTS = pa.schema([("query", pa.int32()), ("group", pa.int32()), ("n", pa.int64())])


class CountingOperator:
    """Counts a unit's events by group, and gives the counts out at the end."""

    def __init__(self, counts: Mapping[int, int] | None = None) -> None:
        self.statistics = OperatorStatistics()
        self.counts = Counter(counts or {})

    @property
    def open_group(self) -> int:
        return next(iter(self.counts), -1)

    def process(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        self.statistics.events += batch.num_rows
        names = ("group", "class", *batch.schema.names[4:])
        for group, code, *conditions in zip(
            *(batch[name].to_pylist() for name in names), strict=True
        ):
            self.counts[group] += code >= 0 and all(conditions)
        yield from ()

    def close(self, until: int | None = None) -> Iterator[pa.RecordBatch]:
        if until is None:
            counts, self.counts = self.counts, Counter()
            columns = [[0] * len(counts), list(counts), list(counts.values())]
            yield pa.record_batch(columns, schema=COUNTS)

    def deadline(self) -> int | None:
        return None

    def save(self) -> bytes:
        return json.dumps(list(self.counts.items())).encode()


class Toy(Kind):
    """Claims queries whose name begins with `toy`."""

    name = "toy"

    def claims(self, query: Query) -> bool:
        return query.name.startswith("toy")

    def plan(self, queries: Sequence[tuple[int, Query]], options: PlanOptions) -> Sequence[Unit]:
        return [self._unit(number, query) for number, query in queries]

    def _unit(self, number: int, query: Query) -> Unit:
        types = tuple(sorted({event.type for event in pt.events(query.pattern)}))
        return Unit(
            kind=__name__,
            queries=(number,),
            names=(query.name,),
            types_of=(types,),
            partition=partition_of(query),
            classes=classes_of((name, ()) for name in types),
            columns=tuple(
                Carried(f"condition {n}", condition, Travel.RAW)
                for n, condition in enumerate(query.where)
            ),
        )

    def operator(self, unit: Unit, options: OperatorOptions) -> CountingOperator:
        return CountingOperator()

    def load(self, unit: Unit, blob: bytes) -> CountingOperator:
        try:
            return CountingOperator(dict(json.loads(blob)))
        except ValueError as error:
            raise StateError("These bytes are not a saved state.") from error

    def partials(self, unit: Unit, types: Mapping[str, pa.DataType]) -> Sequence[pa.Schema]:
        return [COUNTS]

    def result(self, unit: Unit, query: int, groups: Sequence[Any], types: Any) -> ResultForm:
        columns = [*zip(unit.group_by, groups, strict=True), ("n", pa.int64())]
        return ResultForm(schema=pa.schema(columns), order=unit.group_by)

    def finish(
        self, unit: Unit, query: int, partials: pa.Table, groups: Sequence[pa.Array], types: Any
    ) -> pa.Table:
        summed = partials.group_by("group", use_threads=False).aggregate([("n", "sum")])
        named = [values.take(summed.column("group").combine_chunks()) for values in groups]
        return pa.table([*named, summed.column("n_sum")], names=[*unit.group_by, "n"])


KIND = Toy()
