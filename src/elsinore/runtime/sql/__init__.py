"""Columns of the input by name or by SQL expression.

Expressions over single events are Spark's SQL. Spark computes them itself; in process DuckDB does,
with equal values: `translation` says which expressions these are, and rejects the others. Both load
where an expression is more than a column's name.
"""

from __future__ import annotations

import pyarrow as pa

from elsinore.arrow import whole


def evaluate_sql(text: str, table: pa.Table, role: str) -> pa.Array:
    """Return an SQL expression's value for each row of a table, null where it fails.

    `role` says what the expression is for. A column's name is taken as it is, whatever characters
    it has. Raises InputError for unknown columns (with the nearest name), text that is not SQL, and
    SQL whose value in process would not be Spark's.

    >>> late = "CASE WHEN delay > 15 THEN 'Late' ELSE 'OnTime' END"
    >>> evaluate_sql(late, pa.table({"delay": [20, 3, None]}), "type").to_pylist()
    ['Late', 'OnTime', 'OnTime']
    """
    if text in table.column_names:
        return whole(table.column(text))
    from elsinore.runtime.sql.evaluation import evaluate  # noqa: PLC0415 - DuckDB, where needed

    return evaluate(text, table, role)
