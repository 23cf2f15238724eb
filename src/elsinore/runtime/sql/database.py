"""The DuckDB connection that evaluates expressions, with functions that behave like Spark's."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.errors import SetupError
from elsinore.runtime.iso8601 import parse_iso8601
from elsinore.runtime.sql.functions import MACROS
from elsinore.runtime.time_formats import parse_times

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

ROWS = "rows"
_WORDS = re.compile(r"[^ ]+")


def database() -> DuckDBPyConnection:
    """Return this thread's DuckDB connection; it can read only registered tables."""
    connection: DuckDBPyConnection | None = getattr(_THREAD_LOCAL, "database", None)
    if connection is None:
        connection = empty_database()
        connection.execute(MACROS)
        add: Any = connection.create_function  # its type hints lack functions of Arrow arrays
        for name, function in _TEXT_FUNCTIONS.items():
            add(name, function, ["VARCHAR"], "VARCHAR", type="arrow")
        add("elsinore_timestamp", _parse_iso8601, ["VARCHAR"], "TIMESTAMP", type="arrow")
        add(
            "elsinore_time_as",
            _parse_with_format,
            ["VARCHAR", "VARCHAR"],
            "TIMESTAMP",
            type="arrow",
        )
        _THREAD_LOCAL.database = connection
    return connection


_THREAD_LOCAL = threading.local()  # DuckDB's connections must not be shared between threads


def use_one_core() -> None:
    """Limit this thread's DuckDB to one core, in Spark's tasks, which occupy one core each."""
    database().execute("SET threads = 1")


def empty_database() -> DuckDBPyConnection:
    """Return a new in-memory DuckDB that can read only registered tables.

    Raises SetupError if DuckDB is not installed.
    """
    try:
        import duckdb  # noqa: PLC0415 - where needed
    except ImportError as error:
        raise SetupError("DuckDB is not installed: pip install duckdb") from error
    connection = duckdb.connect(
        config={"enable_external_access": False, "python_enable_replacements": False}
    )
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def run(expressions: Mapping[str, str], columns: pa.Table) -> pa.Table:
    """Evaluate expressions in DuckDB's SQL over a table, null where one fails for a row.

    Returns a column per expression, by its name.
    """
    connection = database()
    columns_text = ", ".join(f'TRY({text}) AS "{name}"' for name, text in expressions.items())
    connection.register(ROWS, columns)
    try:
        return connection.sql(f"SELECT {columns_text} FROM {ROWS}").to_arrow_table()
    finally:
        connection.unregister(ROWS)


def matches_empty_text(quoted: str) -> bool:
    """Return whether a regular expression of RE2, as a quoted SQL text, matches the empty text."""
    ((matches,),) = database().execute(f"SELECT regexp_matches('', {quoted})").fetchall()
    return bool(matches)


def _elementwise(function: Callable[[str], str]) -> Callable[[pa.Array], pa.Array]:
    """Return a function of Arrow columns that applies `function` to each distinct text."""

    def apply(texts: pa.Array) -> pa.Array:
        encoded_texts = _one_array(texts).dictionary_encode()
        converted = [
            None if t is None else function(t) for t in encoded_texts.dictionary.to_pylist()
        ]
        return pa.array(converted, pa.string()).take(encoded_texts.indices)

    return apply


def _one_array(texts: pa.Array) -> pa.Array:
    return texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts


def _initcap(text: str) -> str:
    return _WORDS.sub(lambda word: word[0][0].title() + word[0][1:].lower(), text)


def _parse_iso8601(texts: pa.Array) -> pa.Array:
    """Parse texts in ISO 8601 as timestamps, null for other text."""
    trimmed = pc.utf8_trim_whitespace(_one_array(texts))
    return parse_iso8601(trimmed)[0].cast(pa.timestamp("us"))


def _parse_with_format(texts: pa.Array, formats: pa.Array) -> pa.Array:
    """Parse texts as timestamps in one format, the same in all rows; null for other text."""
    (form,) = _one_array(formats).unique().to_pylist() or ("yyyy",)
    return parse_times(_one_array(texts), form).cast(pa.timestamp("us"))


_TEXT_FUNCTIONS = {
    "elsinore_lower": _elementwise(str.lower),
    "elsinore_upper": _elementwise(str.upper),
    "elsinore_initcap": _elementwise(_initcap),
    "elsinore_reverse": _elementwise(lambda text: text[::-1]),
}
