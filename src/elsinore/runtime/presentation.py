"""Arranging the rows of a result by its form: distinct, sorted, limited, times converted."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.arrow import whole
from elsinore.operators import ResultForm
from elsinore.operators.order import in_order
from elsinore.runtime.chunks import plain
from elsinore.runtime.distinct import distinct_rows
from elsinore.runtime.times import TimeKind, from_ticks, kind_of_bounds


def arrange_rows(table: pa.Table, form: ResultForm, *, ordered: bool = True) -> pa.Table:
    """Return a result's rows made distinct, limited, and sorted unless `ordered` is false.

    >>> form = ResultForm(schema=pa.schema({"n": pa.int64()}), order=("n",), distinct=True)
    >>> arrange_rows(pa.table({"n": [2, None, 1, 2]}), form)["n"].to_pylist()
    [1, 2, None]
    """
    if form.distinct:
        table = distinct_rows(table)
    if form.limit is not None:
        table = table.slice(0, form.limit)
    if not ordered or not form.order or table.num_rows < 2:
        return table
    keys = pa.table({name: plain(whole(table.column(name))) for name in form.order})
    if in_order([whole(column) for column in keys.columns]):
        return table
    return table.take(pc.sort_indices(keys, [(name, "ascending") for name in form.order]))


def presented(table: pa.Table, form: ResultForm, kind: TimeKind) -> pa.Table:
    """Return a finished result as users see it: times of the input's kind, rows arranged."""
    for name, window in form.times.items():
        column = table.column(name)
        result_kind = kind_of_bounds(kind, window)
        if column.null_count == len(column):
            values = pa.nulls(len(column), result_kind.arrow_type)
        else:
            values = from_ticks(column, result_kind)
        table = table.set_column(table.column_names.index(name), name, values)
    return arrange_rows(table, form)
