"""Inferring types of CSV columns again without unusable rows, such as a second header.

The types of CSV columns are guessed from their values. If rows without a usable time or type are
set aside, the types are guessed again without them.
"""

from __future__ import annotations

import io
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.csv as pa_csv

from elsinore.errors import InputError
from elsinore.runtime.options import RunOptions
from elsinore.runtime.rejects import set_aside, unusable_error, unusable_reasons
from elsinore.runtime.sql import evaluate_sql
from elsinore.runtime.text_times import usual_times
from elsinore.runtime.times import to_ticks
from elsinore.runtime.types import types_of

GUESSED = {b"elsinore": b"guessed"}  # metadata of a column guessed as text from its values
MISFIT = b"misfit"  # metadata: the error for a column that is text in only some files


def mark_guessed(table: pa.Table, misfits: Mapping[str, str]) -> pa.Table:
    """Return a table of CSV files with its guessed text columns marked by metadata.

    Columns with metadata, such as those requested as text, are unchanged. misfits: the columns that
    are text in only some of the files, each with the error to raise if they remain so.
    """
    fields = [
        field.with_metadata(
            GUESSED | ({MISFIT: misfits[field.name]} if field.name in misfits else {})
        )
        if pa.types.is_string(field.type) and not field.metadata
        else field
        for field in table.schema
    ]
    return pa.Table.from_arrays(table.columns, schema=pa.schema(fields))


def guessed_columns(table: pa.Table) -> list[str]:
    """Return the names of a table's columns that were guessed as text."""
    return [
        field.name for field in table.schema if (field.metadata or {}).items() >= GUESSED.items()
    ]


def refuse_misfits(table: pa.Table) -> None:
    """Raise InputError if a column is text in only some of several files."""
    for field in table.schema:
        if field.metadata and MISFIT in field.metadata:
            raise InputError(field.metadata[MISFIT].decode())


def guess_again(
    table: pa.Table, options: RunOptions
) -> tuple[pa.Table, pa.Table | None, InputError | None]:
    """Guess types without unusable rows; return the events, the unusable rows and their error.

    A table without guessed columns or unusable rows is returned unchanged. The error is None if
    unusable rows are allowed; callers raise it after errors of the query, which may concern a
    column that is text because of usable rows. Raise InputError for columns that are text in only
    some of several files even without unusable rows.
    """
    names = guessed_columns(table)
    if not names:
        return table, None, None
    time, types = evaluate_sql(options.time, table, "time"), types_of(table, options.type)
    clock = options.clock.per_microsecond
    ticks, _ = to_ticks(time, options.time_unit, clock, options.largest_time)
    if not ticks.null_count and not types.null_count:
        refuse_misfits(table)
        return table, None, None
    reasons = unusable_reasons(time, ticks, types)
    error = None if options.allow_rejects else unusable_error(table, reasons, options.time)
    usable, rejected = set_aside(table, reasons, allowed=True, time=options.time)
    for name in names if usable.num_rows else []:
        place = usable.schema.get_field_index(name)
        column = guessed(usable.column(place))
        if not pa.types.is_string(column.type):
            usable = usable.set_column(place, name, column)
    refuse_misfits(usable)
    return usable, rejected, error


def guessed(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return texts in the type that a CSV column of these values has.

    >>> guessed(pa.chunked_array([["1", None, "2.5"]])).to_pylist()
    [1.0, None, 2.5]
    """
    csv_bytes = io.BytesIO()
    pa_csv.write_csv(pa.table({"v": texts}), csv_bytes)
    options = pa_csv.ReadOptions(block_size=max(csv_bytes.tell(), 1), use_threads=False)
    table = pa_csv.read_csv(
        io.BytesIO(csv_bytes.getvalue()),
        read_options=options,
        parse_options=pa_csv.ParseOptions(ignore_empty_lines=False, newlines_in_values=True),
        convert_options=pa_csv.ConvertOptions(
            null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
        ),
    )
    return usual_times(table).column(0)
