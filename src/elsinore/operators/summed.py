"""Base class for kinds of query whose results are sums by group of values per event."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.arrow import no_table, to_arrow, to_scalar
from elsinore.errors import StateError, UnsupportedError, raise_errors
from elsinore.model import pattern as pt
from elsinore.model.query import Query
from elsinore.operators.kind import Kind, ResultForm
from elsinore.operators.operator import OperatorOptions
from elsinore.operators.statistics import OperatorStatistics
from elsinore.plan import Carried, PlanOptions, Travel, Unit, partition_of
from elsinore.plan.classes import classes_of
from elsinore.plan.unit import fingerprint
from elsinore.saved_states import seal, table_from_bytes, table_to_bytes, unseal

GROUP = pa.field("group", pa.int32())


class SummedKind(Kind):
    """A kind whose queries are planned separately, and whose results are sums of events' addends.

    A subclass defines a `name`, the columns of its results (`sums`), the queries it `claims`, and
    the `addends` of events. An event counts if its type is in the pattern and it satisfies all
    conditions of WHERE. Such kinds do not support windows: sums are complete at the end.
    """

    sums: ClassVar[Sequence[pa.Field]]

    @abstractmethod
    def addends(self, unit: Unit, events: pa.RecordBatch) -> Sequence[pa.Array]:
        """Return what each event adds to its group's sums; null adds nothing."""

    @classmethod
    def schema(cls) -> pa.Schema:
        """Return the columns of partial outputs."""
        return pa.schema([("query", pa.int32()), GROUP, *cls.sums])

    def plan(self, queries: Sequence[tuple[int, Query]], options: PlanOptions) -> Sequence[Unit]:
        """Plan each query as a separate unit, whose conditions are columns of its batches."""
        raise_errors(
            [
                UnsupportedError(
                    f"WITHIN: results of kind {self.name} have no windows.",
                    span=query.places.get("WITHIN", query.span),
                    query=query.name,
                )
                for _, query in queries
                if query.window is not None
            ]
        )
        return [self._unit(number, query) for number, query in queries]

    def _unit(self, number: int, query: Query) -> Unit:
        types = tuple(sorted({event.type for event in pt.events(query.pattern)}))
        return Unit(
            kind=type(self).__module__,
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

    def operator(self, unit: Unit, options: OperatorOptions) -> SumOperator:
        """Return a new operator."""
        is_open = options.last_time is not None
        return SumOperator(self, unit, no_table(pa.schema([GROUP, *self.sums])), is_open=is_open)

    def load(self, unit: Unit, blob: bytes) -> SumOperator:
        """Return the operator with the sums that `save` wrote.

        Raises StateError if the bytes are damaged, or of another query, kind or version.
        """
        operator = self.operator(unit, OperatorOptions())
        sums = table_from_bytes(unseal(*_owner(self, unit), blob))
        if sums.schema != operator.sums.schema:
            raise StateError("This state was saved by a query of another kind.")
        operator.sums = sums
        return operator

    def streams(self, unit: Unit) -> Sequence[tuple[int, str]]:
        """Return all queries: sums are complete when the stream ends, and not before."""
        why = "its sums are over all events, so nothing is returned before the stream ends."
        return [(place, why) for place in range(len(unit.queries))]

    def partials(self, unit: Unit, types: Mapping[str, pa.DataType]) -> Sequence[pa.Schema]:
        """Return the columns of a group's sums."""
        return [self.schema()]

    def result(
        self,
        unit: Unit,
        query: int,
        groups: Sequence[pa.DataType],
        types: Mapping[str, pa.DataType],
    ) -> ResultForm:
        """Return a column for each attribute of GROUP BY, and one for each sum."""
        columns = [pa.field(*column) for column in zip(unit.group_by, groups, strict=True)]
        return ResultForm(schema=pa.schema([*columns, *self.sums]), order=unit.group_by)

    def finish(
        self,
        unit: Unit,
        query: int,
        partials: pa.Table,
        groups: Sequence[pa.Array],
        types: Mapping[str, pa.DataType],
    ) -> pa.Table:
        """Add up the sums of several keys of a group, or of several operators."""
        summed = sums_by_group(partials.select([GROUP.name, *(field.name for field in self.sums)]))
        codes = summed.column("group").combine_chunks()
        columns = [values.take(codes) for values in groups] + summed.columns[1:]
        form = self.result(unit, query, [values.type for values in groups], types)
        return pa.table(columns, schema=form.schema)


class SumOperator:
    """Accumulates the sums of each group until the end of the stream; an open stream has no end."""

    def __init__(
        self, kind: SummedKind, unit: Unit, sums: pa.Table, *, is_open: bool = False
    ) -> None:
        self.statistics = OperatorStatistics()
        self.sums = sums
        self._kind, self._unit, self._is_open = kind, unit, is_open

    @property
    def open_group(self) -> int:
        """The first group so far."""
        return self.sums.column("group")[0].as_py() if self.sums.num_rows else -1

    def process(self, batch: pa.RecordBatch, until: int | None = None) -> Iterator[pa.RecordBatch]:
        """Add the addends of events that satisfy the conditions; return nothing before the end."""
        del until
        satisfies = pc.greater_equal(batch.column("class"), to_scalar(0))
        for column in self._unit.columns:
            satisfies = pc.and_kleene(satisfies, batch.column(column.name).cast(pa.bool_()))
        events = batch.filter(satisfies)  # null excludes an event
        self.statistics.events += batch.num_rows
        self.statistics.matched += events.num_rows
        columns = [events.column("group"), *self._kind.addends(self._unit, events)]
        self.sums = sums_by_group(
            pa.concat_tables([self.sums, pa.table(columns, schema=self.sums.schema)])
        )
        self.statistics.state_bytes = max(self.statistics.state_bytes, self.sums.nbytes)
        yield from ()

    def close(self, until: int | None = None) -> Iterator[pa.RecordBatch]:
        """Return the sums, at the end."""
        if until is None and self.sums.num_rows and not self._is_open:
            query = to_arrow([0] * self.sums.num_rows, pa.int32())
            totals = pa.table([query, *self.sums.columns], schema=self._kind.schema())
            self.sums = no_table(self.sums.schema)
            self.statistics.totals += totals.num_rows
            yield from totals.combine_chunks().to_batches()

    def deadline(self) -> int | None:
        """Return None: nothing is final before the end."""
        return None

    def idle_time(self) -> int | None:
        """Return None: sums are needed until the end."""
        return None

    def open_keys(self) -> None:
        """Return None: sums are needed until the end, so all keys are in use."""

    def save(self) -> bytes:
        """Return the sums as an Arrow stream."""
        return seal(*_owner(self._kind, self._unit), table_to_bytes(self.sums))


def _owner(kind: SummedKind, unit: Unit) -> tuple[str, str]:
    """Return the owner of a saved state: the kind, and a fingerprint of the unit."""
    return f"sums of {kind.name}", fingerprint((unit.partition, unit.classes))


def sums_by_group(rows: pa.Table) -> pa.Table:
    """Return the sums by group, the first column of `rows`, in order of first occurrence.

    >>> sums_by_group(pa.table({"group": [2, 0, 2], "n": [1, 2, 3]})).to_pydict()
    {'group': [2, 0], 'n': [4, 2]}
    """
    group, *names = rows.column_names
    summed: Any = rows.group_by(group, use_threads=False)
    table = summed.aggregate([(name, "sum") for name in names])
    return pa.table(
        [table.column(n) for n in (group, *(f"{name}_sum" for name in names))],
        names=rows.column_names,
    ).cast(rows.schema)
