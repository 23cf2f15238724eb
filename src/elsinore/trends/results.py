"""From an operator's totals to a query's result."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.arrow import no_table, to_arrow, to_numpy
from elsinore.expressions.lengths import is_length
from elsinore.model.expression import Column
from elsinore.model.query import Query
from elsinore.model.window import Window
from elsinore.operators import ResultForm
from elsinore.operators.kind import QUERY
from elsinore.operators.order import in_order, ranks
from elsinore.plan import TrendUnit, Unit
from elsinore.plan.aggregates import Outcome
from elsinore.plan.trends import once_per_unit
from elsinore.trends.partials import merge, result_columns, totals_fields


@once_per_unit
def families(spec: TrendUnit) -> list[list[int]]:
    """Return the queries whose results have the same columns and windows, in lists, by place."""
    alike: dict[Hashable, list[int]] = {}
    for place, member in enumerate(spec.members):
        query, aggregation = member.query, member.aggregation
        form = (
            query.window,
            tuple((name, group_column(query, name)) for name in query.group_by),
            aggregation.columns,
            tuple(extreme.kind for extreme in aggregation.extremes),
        )
        alike.setdefault(form, []).append(place)
    return list(alike.values())


def result_table(
    unit: Unit,
    spec: TrendUnit,
    number: int,
    totals: pa.Table,
    groups: Sequence[pa.Array],
    types: Mapping[str, pa.DataType],
) -> pa.Table:
    """Return a query's result: group attributes, window, aggregates.

    `totals` are what the unit's operators gave out for the query, in any order and pieces; `groups`
    the values of the unit's grouping attributes by group code; `types` the types of the attributes.
    Bounds of windows are int64 as times are, null without WITHIN. Rows are in the order of group
    codes and windows.
    """
    return family_table(unit, spec, [number], totals, groups, types).drop_columns([QUERY])


def family_table(
    unit: Unit,
    spec: TrendUnit,
    family: Sequence[int],
    totals: pa.Table,
    groups: Sequence[pa.Array],
    types: Mapping[str, pa.DataType],
) -> pa.Table:
    """Return the results of queries of one family, as `result_table` does, in order of queries.

    Totals of others, before the first of them or behind the last, are left out.
    """
    groups, totals = _ranked(groups, totals)
    totals = merge(spec, totals, family).combine_chunks()
    template = spec.members[family[0]]
    query = template.query
    by_name = dict(zip(unit.group_by, groups, strict=True))
    codes = totals.column("group")
    columns = {QUERY: totals.column("query")}
    columns |= {group_column(query, name): by_name[name].take(codes) for name in query.group_by}
    start, end = window_bounds(query.window, to_numpy(totals.column("window")))
    columns |= {"window_start": start, "window_end": end}
    columns |= result_columns(template.aggregation, query.window, totals, types)
    return pa.table(columns)


def _ranked(groups: Sequence[pa.Array], totals: pa.Table) -> tuple[Sequence[pa.Array], pa.Table]:
    """Number groups in the order of their values, where that is less than sorting a result's rows.

    Rows that are merged in the order of group codes are then in that of the result.
    """
    if not groups or totals.num_rows < len(groups[0]):
        return groups, totals
    values = [
        column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
        for column in groups
    ]
    if in_order(values):
        return groups, totals
    order, places = ranks(values)
    codes = to_arrow(places[to_numpy(totals.column("group"))])
    place = totals.column_names.index("group")
    ranked = totals.set_column(place, totals.schema.field("group"), codes)
    return [column.take(order) for column in groups], ranked


def result_form(
    unit: Unit,
    spec: TrendUnit,
    number: int,
    group_types: Sequence[pa.DataType],
    types: Mapping[str, pa.DataType],
) -> ResultForm:
    """Return the columns of a query's result, and how its rows are sorted."""
    query = spec.members[number].query
    order = [group_column(query, name) for name in query.group_by]
    columns = spec.members[number].aggregation.columns
    if spec.exact or any(
        column.outcome is Outcome.EXTREME or is_length(types.get(column.attribute or "", pa.null()))
        for column in columns
    ):
        totals = no_table(totals_fields(spec, exact=spec.exact))
        groups = [pa.nulls(0, kind) for kind in group_types]
        schema = result_table(unit, spec, number, totals, groups, types).schema
    else:
        kinds = dict(zip(unit.group_by, group_types, strict=True))
        fields = {group_column(query, name): kinds[name] for name in query.group_by}
        fields |= {"window_start": pa.int64(), "window_end": pa.int64()}
        schema = pa.schema(fields | {column.name: pa.float64() for column in columns})
    return ResultForm(
        schema=schema,
        times={"window_start": query.window, "window_end": query.window},
        order=(*order, "window_start"),
    )


def group_column(query: Query, name: str) -> str:
    """Return what a grouping attribute is called in the result: its alias, where RETURN has one."""
    for item in query.returns:
        if isinstance(item.expression, Column) and item.expression.name == name and item.alias:
            return item.alias
    return name


def window_bounds(window: Window | None, indices: NDArray[np.int64]) -> tuple[pa.Array, pa.Array]:
    """Return starts and ends of windows, as int64; nulls for a query without windows."""
    if window is None:
        nothing = pa.nulls(len(indices), pa.int64())
        return nothing, nothing
    starts, ends = window.bounds(indices)
    return to_arrow(starts), to_arrow(ends)
