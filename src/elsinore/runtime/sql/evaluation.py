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
from elsinore.model.spark_sql import quoted_column, spark_sql
from elsinore.runtime.sql.database import computed
from elsinore.runtime.sql.kinds import as_spark_reads
from elsinore.runtime.sql.translation import FOR, Translator, parsed, read_path

Key = TypeVar("Key", str, int)


class Translation(NamedTuple):
    """An expression of DuckDB, and the columns that it reads, by the names that it has for them."""

    text: str
    columns: dict[str, tuple[str, ...]]


def evaluate(text: str, table: pa.Table, role: str) -> pa.Array:
    """Return an SQL expression's value for each row of a table: see `evaluate_sql`.

    >>> evaluate("1 + n", pa.table({"n": [1, 2]}), "time").to_pylist()
    [2, 3]
    """
    return _evaluated({"value": text}, table, f"{FOR}{role}")["value"]


def evaluate_all(expressions: Mapping[Key, Expression], table: pa.Table) -> dict[Key, pa.Array]:
    """Return what queries let SQL compute for each row of a table, by the expressions' keys.

    A column is returned as it is. Raises QuerySemanticError for an expression that is not computed
    in process.
    """
    found: dict[Key, pa.Array] = {}
    texts: dict[Key, str] = {}
    for key, expression in expressions.items():
        if isinstance(expression, Attribute) and expression.name is not None:
            found[key] = whole(table.column(expression.name))
            continue
        texts[key] = spark_sql(expression, quoted_column)
        try:
            translated(texts[key], table.schema, "The query", "")
        except InputError as error:
            span = getattr(expression, "span", None)
            raise QuerySemanticError(str(error), span=span) from error
    found |= _evaluated(texts, table, "The query") if texts else {}
    return {key: found[key] for key in expressions}


def _evaluated(texts: Mapping[Key, str], table: pa.Table, whose: str) -> dict[Key, pa.Array]:
    """Return the values of expressions, in one pass over the table."""
    import duckdb  # noqa: PLC0415 - with the translations

    columns: dict[str, pa.Array] = {"none": pa.nulls(table.num_rows)}
    expressions: dict[str, str] = {}
    for number, text in enumerate(texts.values()):
        found = translated(text, table.schema, whose, f"e{number}_")
        expressions[f"v{number}"] = found.text
        for column, path in found.columns.items():
            columns[column] = as_spark_reads(read_path(table, path, whose))
    try:
        values = computed(expressions, pa.table(columns))
    except duckdb.Error as error:
        why = str(error).splitlines()[0]
        raise InputError(f"{whose} cannot be computed: {why}") from error
    return {name: whole(values.column(number)) for number, name in enumerate(texts)}


@lru_cache(maxsize=256)  # live runs compute the same over each batch
def translated(text: str, schema: pa.Schema, whose: str, prefix: str) -> Translation:
    """Return an expression as DuckDB computes it over columns of a schema.

    `whose` says in errors what the expression is for; `prefix` begins the names of columns.
    """
    translator = Translator(schema, whose, prefix)
    part = translator.translate(parsed(text, schema.names, whose))
    return Translation(part.text, translator.columns)
