"""The database that computes expressions: DuckDB, with what it lacks for Spark's values."""

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
    """Return this thread's database, which reads nothing but tables that are registered."""
    kept: DuckDBPyConnection | None = getattr(_OF_THREAD, "database", None)
    if kept is None:
        kept = empty_database()
        kept.execute(MACROS)
        add: Any = kept.create_function  # whose hints say nothing of Arrow's arrays
        for name, function in _OF_TEXTS.items():
            add(name, function, ["VARCHAR"], "VARCHAR", type="arrow")
        add("elsinore_timestamp", _timestamps, ["VARCHAR"], "TIMESTAMP", type="arrow")
        add("elsinore_time_as", _times_as, ["VARCHAR", "VARCHAR"], "TIMESTAMP", type="arrow")
        _OF_THREAD.database = kept
    return kept


_OF_THREAD = threading.local()  # connections of DuckDB are for one thread


def use_one_core() -> None:
    """Compute expressions on one core in this thread: where other processes use the others."""
    database().execute("SET threads = 1")


def empty_database() -> DuckDBPyConnection:
    """Return a new database in memory that reads nothing but the tables that are registered."""
    try:
        import duckdb  # noqa: PLC0415 - where needed
    except ImportError as error:
        raise SetupError("DuckDB is not installed: pip install duckdb") from error
    made = duckdb.connect(
        config={"enable_external_access": False, "python_enable_replacements": False}
    )
    made.execute("SET TimeZone = 'UTC'")
    return made


def computed(expressions: Mapping[str, str], columns: pa.Table) -> pa.Table:
    """Return expressions of DuckDB over a table's columns, null where one fails for a row."""
    connection = database()
    listed = ", ".join(f'TRY({text}) AS "{name}"' for name, text in expressions.items())
    connection.register(ROWS, columns)
    try:
        return connection.sql(f"SELECT {listed} FROM {ROWS}").to_arrow_table()
    finally:
        connection.unregister(ROWS)


def matches_nothing(quoted: str) -> bool:
    """Return whether a regular expression of RE2, in quotes, matches a text of no length."""
    ((found,),) = database().execute(f"SELECT regexp_matches('', {quoted})").fetchall()
    return bool(found)


def _by_text(function: Callable[[str], str]) -> Callable[[pa.Array], pa.Array]:
    """Return a function of columns that applies one of texts to each different text."""

    def apply(texts: pa.Array) -> pa.Array:
        encoded = _plain(texts).dictionary_encode()
        changed = [None if t is None else function(t) for t in encoded.dictionary.to_pylist()]
        return pa.array(changed, pa.string()).take(encoded.indices)

    return apply


def _plain(texts: pa.Array) -> pa.Array:
    return texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts


def _initcap(text: str) -> str:
    return _WORDS.sub(lambda word: word[0][0].title() + word[0][1:].lower(), text)


def _timestamps(texts: pa.Array) -> pa.Array:
    """Return texts as times, null for what is none."""
    trimmed = pc.utf8_trim_whitespace(_plain(texts))
    return parse_iso8601(trimmed)[0].cast(pa.timestamp("us"))


def _times_as(texts: pa.Array, formats: pa.Array) -> pa.Array:
    """Return texts as times, null for what is not in the one format that all rows have."""
    (form,) = _plain(formats).unique().to_pylist() or ("yyyy",)
    return parse_times(_plain(texts), form).cast(pa.timestamp("us"))


_OF_TEXTS = {
    "elsinore_lower": _by_text(str.lower),
    "elsinore_upper": _by_text(str.upper),
    "elsinore_initcap": _by_text(_initcap),
    "elsinore_reverse": _by_text(lambda text: text[::-1]),
}
