"""Reading events from files: Parquet, CSV, JSON and Zeek's logs, single, several or in folders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq

from elsinore.arrow import to_arrow
from elsinore.errors import InputError, reading_option
from elsinore.runtime.column_types import with_stored_types
from elsinore.runtime.contents import reading
from elsinore.runtime.guessed import mark_guessed, refuse_misfits
from elsinore.runtime.sources import (
    DataFile,
    FileFormat,
    Source,
    empty,
    find_source,
    format_of,
    unknown_format,
)
from elsinore.runtime.tables import check_names
from elsinore.runtime.text_files import READERS
from elsinore.runtime.text_orders import mark_declared_text
from elsinore.runtime.type_from import type_column, type_from_named

__all__ = ["FileFormat", "format_of", "read_events", "read_source", "unknown_format"]


def read_events(
    *names: str | Path,
    delimiter: str | None = None,
    null: str | Sequence[str] = (),
    text: str | Sequence[str] = (),
    reject: Callable[[str], None] | None = None,
    type_from: Literal["file", "folder", "zeek", "auto"] | None = None,
) -> pa.Table:
    """Return the events of files and folders, in the order of their names.

    A name may be a pattern (`logs/*.csv`) or `-`, the standard input. The suffix determines the
    format: .parquet or .pq, .csv or .tsv, .json, .jsonl or .ndjson (one object per line, or an
    array), .log (Zeek); except for Parquet, .gz may follow. All files have one format; a column
    that a file lacks is null there. In folders, names that begin with `_` or `.` are skipped, and
    folders named `column=value` give a text column. In CSV the first line names the columns, empty
    cells and those equal to `null` are null, and types are inferred from all values, except for
    the columns `text`.

    `type_from` gives the events a column `type`: the name of their file without its suffix
    ("file"), the name of its folder ("folder") or the `#path` of a Zeek log ("zeek"). "auto" takes
    `#path`, or the names of several files, unless there is a column `type`.

    A CSV row with too few or too many cells is an error; with `reject` it is skipped, and `reject`
    is called with the reason and the place. A column that is text in only some of several CSV files
    is then text, and a run with `rejects=True` gives it the type of its usable rows.

    Raise InputError for missing files (with the nearest name), unknown formats, files whose columns
    have different types, and files that cannot be parsed (with the place).

    >>> read_events("no/such/trips.csv")
    Traceback (most recent call last):
        ...
    elsinore.errors.InputError: Cannot read 'no/such/trips.csv': there is no folder 'no/such'.
    """
    nulls = (null,) if isinstance(null, str) else tuple(null)
    texts = (text,) if isinstance(text, str) else tuple(text)
    source = find_source(
        names,
        delimiter=delimiter,
        nulls=nulls,
        texts=texts,
        reject=reject,
        type_from=None if type_from is None else type_from_named(type_from),
    )
    table = read_source(source)
    if reject is None:
        refuse_misfits(table)
    return table


def read_source(source: Source) -> pa.Table:
    """Return the events of a source as one table; raise the InputErrors of `read_events`.

    A CSV column that is text in only some files becomes text and is marked: unusable rows may be
    the reason, which a run removes before it guesses the type again (`runtime.guessed`).
    """
    if source.streamed:
        raise InputError(
            f"{source.name} was written by a Spark stream, and its files may be incomplete; only "
            "Spark knows which count. Read it with --engine spark."
        )
    tables = [table for _, table in tables_of(source)]
    misfits = misfits_of(source, [table.schema for table in tables])
    if misfits:
        tables = [table for _, table in tables_of(as_text(source, misfits))]
    schema = common_schema(source, [table.schema for table in tables])
    refuse_empty(source, sum(table.num_rows for table in tables))
    table = pa.concat_tables([cast_to_schema(table, schema) for table in tables])
    for name in source.reading.texts:
        table = mark_declared_text(table, name)
    return mark_guessed(table, misfits) if source.format == "csv" else table


def tables_of(source: Source) -> Iterator[tuple[DataFile, pa.Table]]:
    """Yield each file of a source with its table."""
    for file in source.files:
        with reading(file.path):
            if source.format == "parquet":
                table = _read_parquet(file.path)
            else:
                table = READERS[source.format](file.path, source.reading)
            check_names(table.column_names, f"'{file.path}'")
            table = with_stored_types(table)
        for name, value in file.partition:
            if name not in table.column_names:
                column = to_arrow([value] * table.num_rows, pa.string())
                table = table.append_column(name, column)
        yield file, type_column(source, file.path, table)


def misfits_of(source: Source, schemas: Sequence[pa.Schema]) -> dict[str, str]:
    """Return the columns that are text in only some CSV files, each with its error message.

    `schemas` has the schema of each file.
    """
    if source.format != "csv":
        return {}
    by_name: dict[str, dict[bool, tuple[pa.DataType, Path]]] = {}
    for file, schema in zip(source.files, schemas, strict=True):
        for column in schema:
            if not pa.types.is_null(column.type):
                types = by_name.setdefault(column.name, {})
                types.setdefault(pa.types.is_string(column.type), (column.type, file.path))
    return {
        name: _misfit(source, name, *types.values())
        for name, types in by_name.items()
        if len(types) > 1
    }


def as_text(source: Source, names: Iterable[str]) -> Source:
    """Return a source that reads columns as text, without repeating warnings."""
    reading = source.reading
    return replace(
        source,
        reading=replace(
            reading,
            texts=(*reading.texts, *names),
            report=_ignore,
            reject=None if reading.reject is None else _ignore,
        ),
    )


def common_schema(source: Source, schemas: Sequence[pa.Schema]) -> pa.Schema:
    """Return the union of the schemas of a source's files.

    Columns are in the order of the first file, then of further ones. In text formats, whose types
    are guessed from values, integers and doubles become doubles, and a column without values takes
    any type. Raise InputError for other differences, naming two files and the column.
    """
    types_by_name: dict[str, tuple[pa.DataType, Path]] = {}
    for file, schema in zip(source.files, schemas, strict=True):
        for column in schema:
            kind, first_path = types_by_name.get(column.name, (column.type, file.path))
            common_type = _common_type(kind, column.type, guessed=source.format != "parquet")
            if common_type is None:
                raise InputError(
                    _misfit(source, column.name, (kind, first_path), (column.type, file.path))
                )
            types_by_name[column.name] = (
                common_type,
                first_path if common_type == kind else file.path,
            )
    return pa.schema([(name, kind) for name, (kind, _) in types_by_name.items()])


def _misfit(
    source: Source, name: str, first: tuple[pa.DataType, Path], second: tuple[pa.DataType, Path]
) -> str:
    """Return the error message for a column with two types in two files."""
    return (
        f"The files do not fit together: column '{name}' is {_kind(first[0])} in '{first[1]}' and "
        f"{_kind(second[0])} in '{second[1]}'. {_one_type(name, source.format)}"
    )


def _ignore(_: str) -> None:
    """Ignore a warning."""


def refuse_empty(source: Source, rows: int) -> None:
    """Raise InputError for text without rows, whose columns have no types."""
    if rows == 0 and source.format != "parquet":
        header = ": a header and no rows" if source.format != "json" else ""
        raise InputError(f"{source.name} has no events{header}.")


def cast_to_schema(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table cast to a compatible schema; missing columns are null."""
    if table.schema.equals(schema):
        return table
    names = set(table.column_names)
    columns = [
        table.column(field.name).cast(field.type)
        if field.name in names
        else pa.nulls(table.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)


def parquet_schema(path: Path) -> pa.Schema:
    """Return the schema of a Parquet file; InputError if it is invalid."""
    if path.stat().st_size == 0:
        raise InputError(empty(path))
    with reading(path):
        try:
            return pq.read_schema(path).remove_metadata()
        except pa.ArrowInvalid as error:
            raise InputError(f"'{path}' is not a Parquet file that can be read: {error}") from error


def _read_parquet(path: Path) -> pa.Table:
    parquet_schema(path)
    try:
        return pq.ParquetFile(path).read().replace_schema_metadata(None)
    except pa.ArrowInvalid as error:
        raise InputError(f"'{path}' is not a Parquet file that can be read: {error}") from error


def _common_type(kind: pa.DataType, second: pa.DataType, *, guessed: bool) -> pa.DataType | None:
    if kind == second or pa.types.is_null(second):
        return kind
    if pa.types.is_null(kind):
        return second
    if not guessed:
        return None
    if {kind, second} == {pa.int64(), pa.float64()}:
        return pa.float64()
    if pa.types.is_timestamp(kind) and pa.types.is_timestamp(second) and kind.tz == second.tz:
        return pa.timestamp("ns", kind.tz)
    return None


def _one_type(name: str, file_format: FileFormat) -> str:
    """Return the remedy for a column with two types in two files."""
    if file_format == "csv":
        return (
            "If one is text because of cells that stand for null, name these with "
            f"{reading_option('null')}; {reading_option('text', name)} reads the column as text in "
            "all files."
        )
    return "Write one of the files again with the type of the other."


def _kind(kind: pa.DataType) -> str:
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "text"
    return str(kind)
