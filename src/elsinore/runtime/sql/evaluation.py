"""SQL expressions over the input's columns, computed in process by DuckDB.

An expression that fails for a row (a cast of 'N/A' to a number, a division by zero, an overflow) is
null there, whatever COALESCE or IS NULL are around the part that fails. Parts that SQL does not
compute, such as other branches of CASE, do not count.
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
from elsinore.runtime.sql.database import computed
from elsinore.runtime.sql.kinds import as_spark_reads
from elsinore.runtime.sql.translation import FOR, Translator, parsed, read_path

Key = TypeVar("Key", str, int)
QUERY = "The query"  # whose expressions these are, in errors


class Translation(NamedTuple):
    """An expression of DuckDB, and the columns that it reads, by the names that it has for them.

    `has_times`: some part of it is a date or a time, which Spark computes in the session's zone.
    """

    text: str
    columns: dict[str, tuple[str, ...]]
    has_times: bool


def evaluate(text: str, table: pa.Table, role: str) -> pa.Array:
    """Return an SQL expression's value for each row of a table: see `evaluate_sql`.

    >>> evaluate("1 + n", pa.table({"n": [1, 2]}), "time").to_pylist()
    [2, 3]
    """
    whose = f"{FOR}{role}"
    translation = translated(text, table.schema, whose)
    return evaluate_translations({"value": translation}, table, whose)["value"]


def evaluate_all(expressions: Mapping[Key, Expression], table: pa.Table) -> dict[Key, pa.Array]:
    """Return what queries let SQL compute for each row of a table, by the expressions' keys.

    A column is returned as it is. Raises QuerySemanticError for an expression that is not computed
    in process.
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
    """Return the translations of what queries let SQL compute over columns of a schema.

    Raises QuerySemanticError for an expression that is not computed in process.
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
    translations: Mapping[Key, Translation], table: pa.Table, whose: str = QUERY
) -> dict[Key, pa.Array]:
    """Return the values of translated expressions, in one pass over the table."""
    import duckdb  # noqa: PLC0415 - with the translations

    columns: dict[str, pa.Array] = {"none": pa.nulls(table.num_rows)}
    for translation in translations.values():
        for column, path in translation.columns.items():
            columns[column] = as_spark_reads(read_path(table, path, whose))
    texts = {f"v{number}": each.text for number, each in enumerate(translations.values())}
    try:
        values = computed(texts, pa.table(columns))
    except duckdb.Error as error:
        why = str(error).splitlines()[0]
        raise InputError(f"{whose} cannot be computed: {why}") from error
    return {key: whole(values.column(number)) for number, key in enumerate(translations)}


@lru_cache(maxsize=256)  # live runs compute the same over each batch
def translated(text: str, schema: pa.Schema, whose: str, number: int = 0) -> Translation:
    """Return an expression as DuckDB computes it over columns of a schema.

    `whose` says in errors what the expression is for. Expressions that are computed together have
    different numbers, and so different names for the columns that they read.
    """
    translator = Translator(schema, whose, f"e{number}_")
    part = translator.translate(parsed(text, schema.names, whose))
    return Translation(part.text, translator.columns, translator.has_times)
