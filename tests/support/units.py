"""Running a unit's operator without a driver: in pieces, in another order, saved and loaded."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.expressions.columns import values
from elsinore.operators import kind_in
from elsinore.operators.partials import by_query
from elsinore.operators.ranks import to_ranks
from elsinore.plan import Plan, Sharing, TrendUnit, Unit
from elsinore.runtime.chunks import whole
from elsinore.runtime.classify import classify, type_numbers
from elsinore.runtime.keys import encode_keys
from elsinore.trends.kind import TrendsOperator, operator_class, spec_of

SECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class UnitInput:
    """The rows that a unit's operator reads, and the groups for finishing its results.

    `planned` is the unit as drivers see it, `unit` what the engine reads of it.
    """

    planned: Unit
    unit: TrendUnit
    batch: pa.RecordBatch
    groups: tuple[pa.Array, ...]
    types: dict[str, pa.DataType]

    @property
    def keys(self) -> list[int]:
        """The key of each row, -1 for rows without a key."""
        found: list[int] = self.batch.column("key").to_pylist()
        return found

    def in_order(self, rows: Iterable[int]) -> pa.RecordBatch:
        """Return some of the rows."""
        return self.batch.take(pa.array(list(rows), pa.int64()))

    def by_key(self) -> pa.RecordBatch:
        """Return the rows key after key, those of a group together, each key's in their order."""
        groups = self.batch.column("group").to_pylist()
        keys = self.keys
        rows = (row for row in range(len(keys)) if keys[row] >= 0)
        return self.in_order(sorted(rows, key=lambda row: (groups[row], keys[row])))

    def interleaved(self, order: Sequence[int]) -> pa.RecordBatch:
        """Return the rows in another order, which keeps the order of each key's rows."""
        keys = self.keys
        waiting: dict[int, list[int]] = {}
        for row in reversed(range(len(keys))):
            waiting.setdefault(keys[row], []).append(row)
        return self.in_order(waiting[keys[row]].pop() for row in order)

    def operator(
        self, *, one_slot: bool = False, sharing: Sharing = Sharing.DYNAMIC
    ) -> TrendsOperator:
        """Return a new operator of the unit."""
        return operator_class(self.unit)(self.unit, one_slot=one_slot, sharing=sharing)

    def stopped(self, operator: TrendsOperator) -> TrendsOperator:
        """Return an operator that continues from another's saved state."""
        return operator_class(self.unit).load(self.unit, operator.save())

    def in_pieces(
        self,
        edges: Sequence[int],
        stops: Sequence[bool],
        times: Sequence[int] = (),
        sharing: Sharing = Sharing.DYNAMIC,
    ) -> list[pa.RecordBatch]:
        """Return the outputs of an operator for rows in pieces, saved and loaded after some.

        edges: the beginnings of pieces, and the end. times: of all rows, if windows that end before
        the next piece are closed before it.
        """
        operator = self.operator(sharing=sharing)
        totals = []
        for (start, end), stop in zip(itertools.pairwise(edges), stops, strict=False):
            totals.append(operator.process(self.batch.slice(start, end - start)))
            if stop:
                operator = self.stopped(operator)
            if end < len(times):
                totals.append(operator.close(times[end]))
        return [*totals, operator.close()]

    def key_after_key(
        self, cut: int, *, stop: bool, sharing: Sharing = Sharing.DYNAMIC
    ) -> list[pa.RecordBatch]:
        """Return the outputs of an operator for keys one after another, as on Spark.

        They come in two pieces, and it may be stopped between them.
        """
        batch = self.by_key()
        operator = self.operator(one_slot=True, sharing=sharing)
        first = operator.process(batch.slice(0, cut))
        if stop:
            operator = self.stopped(operator)
        return [first, operator.process(batch.slice(cut)), operator.close()]

    def results(self, totals: Iterable[pa.RecordBatch]) -> dict[str, pa.Table]:
        """Return the result tables, windows in microseconds."""
        return result_tables(self.planned, totals, self.groups, self.types)


def result_tables(
    unit: Unit,
    totals: Iterable[pa.RecordBatch],
    groups: Sequence[pa.Array],
    types: dict[str, pa.DataType],
) -> dict[str, pa.Table]:
    """Return the results of a unit's queries by name, windows in microseconds."""
    kind = kind_in(unit.kind)
    parts = by_query(kind.partials(unit, types), totals)
    return {
        name: kind.finish(unit, place, part, groups, types)
        for place, (name, part) in enumerate(zip(unit.names, parts, strict=True))
    }


def assert_close(actual: pa.Table, expected: pa.Table, name: str) -> None:
    """Compare a query's results row by row, doubles up to their last digits."""
    assert (actual.num_rows, actual.schema) == (expected.num_rows, expected.schema), name
    for column in expected.column_names:
        values, expected_values = actual.column(column), expected.column(column)
        if not pa.types.is_floating(expected_values.type):
            assert values == expected_values, (name, column)
            continue
        for value, expected_value in zip(
            values.to_pylist(), expected_values.to_pylist(), strict=True
        ):
            is_close = (
                value is expected_value
                if value is None or expected_value is None
                else math.isclose(value, expected_value)
            )
            assert is_close, (name, column, value, expected_value)


def unit_inputs(plan: Plan, table: pa.Table, *, exact: bool) -> list[UnitInput]:
    """Return the input of each unit's operator for a table with times in seconds."""
    types = whole(table.column("type"))
    numbers = type_numbers(types, plan.types)
    return [_unit_input(plan, unit, table, numbers, exact) for unit in plan.units]


def _unit_input(
    plan: Plan, unit: Unit, table: pa.Table, numbers: NDArray[np.int32], exact: bool
) -> UnitInput:
    def column(name: str) -> pa.Array:
        return whole(table.column(name))

    def addend(name: str) -> pa.Array:
        return column(name) if exact else values(column(name)).cast(pa.float64())

    spec = spec_of(unit)
    groups = tuple(column(name) for name in unit.group_by)
    keys = encode_keys(
        groups,
        [column(name) for name in unit.equivalence],
        [column(name) for name in unit.required],
        table.num_rows,
    )
    class_columns = {name: column(name) for name in unit.classes.attributes}
    codes = np.where(keys.key < 0, -1, classify(unit.classes, numbers, plan.types, class_columns))
    batch = pa.RecordBatch.from_pydict(
        {
            "key": pa.array(keys.key),
            "group": pa.array(keys.group),
            "time": pa.array(column("time").to_numpy() * SECOND),
            "class": pa.array(codes),
        }
        | {f"sum:{name}": addend(name) for name in spec.summed}
        | {f"rank:{name}": to_ranks(column(name)) for name in spec.ranked}
        | {f"pair:{name}": column(name) for name in spec.compared}
    )
    return UnitInput(
        unit,
        spec,
        batch,
        tuple(keys.group_values(values) for values in groups),
        {name: table.schema.field(name).type for name in unit.carried},
    )
