"""Evaluating SQL expressions over single events in process, with Spark's semantics.

Users write Spark's SQL dialect. Without Spark, DuckDB evaluates the expressions: `translation`
converts them to DuckDB's dialect, and rejects those whose values would differ. DuckDB and sqlglot
are imported only for expressions that are not plain column names.
"""

from __future__ import annotations

import pyarrow as pa

from elsinore.arrow import whole


def evaluate_sql(text: str, table: pa.Table, role: str) -> pa.Array:
    """Evaluate a column name or SQL expression for each row of a table; null where it fails.

    `role` names the expression's purpose in messages, such as "time". Text that equals a column's
    name means that column, whatever characters it contains. Raises InputError for unknown columns
    (with the nearest name), text that is not SQL, and SQL that is only computed by Spark.

    >>> late = "CASE WHEN delay > 15 THEN 'Late' ELSE 'OnTime' END"
    >>> evaluate_sql(late, pa.table({"delay": [20, 3, None]}), "type").to_pylist()
    ['Late', 'OnTime', 'OnTime']
    """
    if text in table.column_names:
        return whole(table.column(text))
    from elsinore.runtime.sql.evaluation import evaluate  # noqa: PLC0415 - DuckDB, where needed

    return evaluate(text, table, role)
