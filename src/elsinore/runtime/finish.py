"""From an operator's totals to a query's result table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.model.expression import Column
from elsinore.model.query import Query
from elsinore.model.window import Window
from elsinore.plan import GuardedTemplate, Template, Unit
from elsinore.trends import merge, result_columns, totals_fields


def result_tables(
    unit: Unit,
    totals: pa.Table,
    groups: Sequence[pa.Array],
    types: Mapping[str, pa.DataType],
) -> dict[str, pa.Table]:
    """Return the result of each of a unit's queries: group attributes, window, aggregates.

    `totals` are what the unit's operator gave out, in any order and pieces; `groups` the values of
    the unit's grouping attributes by group code; `types` the types of the attributes. Bounds of
    windows are in microseconds, null without WITHIN. Rows are in the order of group codes and
    windows.
    """
    merged = merge(totals)  # in the order of queries
    edges = np.searchsorted(merged.column("query").to_numpy(), np.arange(len(unit.members) + 1))
    return {
        template.query.name: _result_table(
            unit,
            template,
            merged.slice(edges[number], edges[number + 1] - edges[number]),
            groups,
            types,
        )
        for number, template in enumerate(unit.members)
    }


def _result_table(
    unit: Unit,
    template: Template | GuardedTemplate,
    totals: pa.Table,
    groups: Sequence[pa.Array],
    types: Mapping[str, pa.DataType],
) -> pa.Table:
    query = template.query
    totals = totals.combine_chunks()
    by_name = dict(zip(unit.group_by, groups, strict=True))
    codes = totals.column("group")
    columns = {group_column(query, name): by_name[name].take(codes) for name in query.group_by}
    start, end = window_bounds(query.window, totals.column("window").to_numpy())
    columns |= {"window_start": start, "window_end": end}
    columns |= result_columns(template.aggregation, totals, types)
    return pa.table(columns)


def empty_result(
    unit: Unit,
    number: int,
    group_types: Sequence[pa.DataType],
    types: Mapping[str, pa.DataType],
    *,
    exact: bool,
) -> pa.Table:
    """Return a result without rows, whose columns are those of all results of a query."""
    totals = totals_fields(unit, exact=exact).empty_table()
    groups = [pa.nulls(0, kind) for kind in group_types]
    return _result_table(unit, unit.members[number], totals, groups, types)


def group_column(query: Query, name: str) -> str:
    """Return what a grouping attribute is called in the result: its alias, where RETURN has one."""
    for item in query.returns:
        if isinstance(item.expression, Column) and item.expression.name == name and item.alias:
            return item.alias
    return name


def window_bounds(window: Window | None, indices: NDArray[np.int64]) -> tuple[pa.Array, pa.Array]:
    """Return starts and ends of windows in microseconds; nulls for a query without windows."""
    if window is None:
        nothing = pa.nulls(len(indices), pa.int64())
        return nothing, nothing
    starts = window.origin + window.step * indices
    return pa.array(starts), pa.array(starts + window.within)
