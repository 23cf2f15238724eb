"""Columns of the input by name or by SQL expression.

`--time` and `--type` are Spark SQL expressions. Spark computes them itself; in process
`elsinore.runtime.sql_values` does, which is loaded where an expression is more than a column's
name.
"""

from __future__ import annotations

import pyarrow as pa

from elsinore.arrow import whole


def evaluate_sql(text: str, table: pa.Table, role: str) -> pa.Array:
    """Return an SQL expression's value for each row of a table.

    `role` says what the expression is for. A column's name is taken as it is, whatever characters
    it has. Raises InputError for unknown columns (with the nearest name), text that is not SQL, and
    SQL that this engine cannot compute.

    >>> late = "CASE WHEN delay > 15 THEN 'Late' ELSE 'OnTime' END"
    >>> evaluate_sql(late, pa.table({"delay": [20, 3, None]}), "type").to_pylist()
    ['Late', 'OnTime', 'OnTime']
    """
    if text in table.column_names:
        return whole(table.column(text))
    from elsinore.runtime.sql_values import evaluate  # noqa: PLC0415 - sqlglot, where needed

    return evaluate(text, table, role)
