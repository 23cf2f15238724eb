"""Evaluating SQL expressions over Arrow tables with DuckDB.

An expression that fails for a row (a cast of 'N/A' to a number, a division by zero, an overflow) is
null for that row as a whole, even if the failing part is inside COALESCE or IS NULL. Branches of
CASE that are not taken are not evaluated, so they cannot fail.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple, TypeVar

import pyarrow as pa

from elsinore.arrow import whole
from elsinore.errors import InputError, QuerySemanticError
from elsinore.model.expression import Attribute, Expression
from elsinore.model.spark_sql import quoted, spark_sql
from elsinore.runtime.sql.database import run
from elsinore.runtime.sql.kinds import as_spark_reads
from elsinore.runtime.sql.translation import FOR, Translator, parsed, read_path

Key = TypeVar("Key", str, int)
QUERY = "The query"  # the label of queries' expressions in messages


class Translation(NamedTuple):
    """An expression in DuckDB's SQL, with the path of each column it reads, by its name there.

    `has_times`: it contains a date or a time, which Spark computes in the session's time zone.
    """

    text: str
    columns: dict[str, tuple[str, ...]]
    has_times: bool


def evaluate(text: str, table: pa.Table, role: str) -> pa.Array:
    """Evaluate an SQL expression for each row of a table, as `evaluate_sql` does.

    >>> evaluate("1 + n", pa.table({"n": [1, 2]}), "time").to_pylist()
    [2, 3]
    """
    label = f"{FOR}{role}"
    translation = translated(text, table.schema, label)
    return evaluate_translations({"value": translation}, table, label)["value"]


def evaluate_all(expressions: Mapping[Key, Expression], table: pa.Table) -> dict[Key, pa.Array]:
    """Evaluate queries' expressions over single events for each row of a table.

    Returns the values by the expressions' keys; an attribute is its column. Raises
    QuerySemanticError for an expression that only Spark computes.
    """
    values: dict[Key, pa.Array] = {}
    sql: dict[Key, Expression] = {}
    for key, expression in expressions.items():
        if isinstance(expression, Attribute) and expression.name is not None:
            values[key] = whole(table.column(expression.name))
        else:
            sql[key] = expression
    if sql:
        values |= evaluate_translations(translate_all(sql, table.schema), table)
    return {key: values[key] for key in expressions}


def translate_all(
    expressions: Mapping[Key, Expression], schema: pa.Schema
) -> dict[Key, Translation]:
    """Translate queries' expressions over single events to DuckDB's SQL for a schema.

    Raises QuerySemanticError for an expression that only Spark computes.
    """
    translations: dict[Key, Translation] = {}
    for number, (key, expression) in enumerate(expressions.items()):
        try:
            translations[key] = translated(spark_sql(expression, quoted), schema, QUERY, number)
        except InputError as error:
            span = getattr(expression, "span", None)
            raise QuerySemanticError(str(error), span=span) from error
    return translations


def evaluate_translations(
    translations: Mapping[Key, Translation], table: pa.Table, label: str = QUERY
) -> dict[Key, pa.Array]:
    """Evaluate translated expressions in one pass over a table; `label` names them in errors."""
    import duckdb  # noqa: PLC0415 - with the translations

    columns: dict[str, pa.Array] = {"none": pa.nulls(table.num_rows)}
    for translation in translations.values():
        for column, path in translation.columns.items():
            columns[column] = as_spark_reads(read_path(table, path, label))
    texts = {f"v{number}": each.text for number, each in enumerate(translations.values())}
    try:
        values = run(texts, pa.table(columns))
    except duckdb.Error as error:
        why = str(error).splitlines()[0]
        raise InputError(f"{label} cannot be computed: {why}") from error
    return {key: whole(values.column(number)) for number, key in enumerate(translations)}


@lru_cache(maxsize=256)  # live runs evaluate the same expressions for each batch
def translated(text: str, schema: pa.Schema, label: str, number: int = 0) -> Translation:
    """Translate an SQL expression over columns of a schema to DuckDB's SQL.

    `label` names the expression in messages. Expressions that are evaluated together need different
    numbers, which make the names of their columns different.
    """
    translator = Translator(schema, label, f"e{number}_")
    part = translator.translate(parsed(text, schema.names, label))
    return Translation(part.text, translator.columns, translator.has_times)
