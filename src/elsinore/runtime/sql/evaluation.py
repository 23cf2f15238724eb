"""SQL expressions over the input's columns, computed in process by DuckDB.

An expression that fails for a row (a cast of 'N/A' to a number, a division by zero, an overflow) is
null there, whatever COALESCE or IS NULL are around the part that fails. Parts that SQL does not
compute, such as other branches of CASE, do not count.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import pyarrow as pa

from elsinore.arrow import whole
from elsinore.errors import InputError
from elsinore.runtime.sql.database import computed
from elsinore.runtime.sql.kinds import as_spark_reads
from elsinore.runtime.sql.translation import Translator, parsed, read_path


class Translation(NamedTuple):
    """An expression of DuckDB, and the columns that it reads, by the names that it has for them."""

    text: str
    columns: dict[str, tuple[str, ...]]


def evaluate(text: str, table: pa.Table, role: str) -> pa.Array:
    """Return an SQL expression's value for each row of a table: see `evaluate_sql`.

    >>> evaluate("1 + n", pa.table({"n": [1, 2]}), "time").to_pylist()
    [2, 3]
    """
    found = translated(text, table.schema, role)
    columns = {
        name: as_spark_reads(read_path(table, path, role)) for name, path in found.columns.items()
    }
    if not columns:  # a constant, for each row
        columns = {"none": pa.nulls(table.num_rows)}
    import duckdb  # noqa: PLC0415 - with the translation

    try:
        return whole(computed({"value": found.text}, pa.table(columns)).column("value"))
    except duckdb.Error as error:
        raise InputError(
            f"The expression for the {role}, {text!r}, cannot be computed: "
            f"{str(error).splitlines()[0]}"
        ) from error


@lru_cache(maxsize=256)  # live runs compute the same over each batch
def translated(text: str, schema: pa.Schema, role: str) -> Translation:
    """Return an expression as DuckDB computes it over columns of a schema."""
    translator = Translator(schema, role)
    part = translator.translate(parsed(text, schema.names, role))
    return Translation(part.text, translator.columns)
