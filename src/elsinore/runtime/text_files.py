"""Reading events from one CSV file, and the table of readers for all text formats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from elsinore.arrow import to_numpy
from elsinore.errors import (
    InputError,
    did_you_mean,
    is_on_the_command_line,
    option,
    reading_option,
)
from elsinore.runtime.contents import Content, not_utf8, open_content, shell_text
from elsinore.runtime.iso8601 import parse_iso8601
from elsinore.runtime.json_files import read_json
from elsinore.runtime.lost_zeros import begins_with_zero, lost_zeros
from elsinore.runtime.numbers_in_text import NUMBER, are_most
from elsinore.runtime.ragged import (
    is_unclosed,
    refusal,
    rejected_row,
    text_in_unclosed_quote,
    unclosed,
)
from elsinore.runtime.sources import Reading
from elsinore.runtime.text_times import usual_times
from elsinore.runtime.zeek_files import read_zeek

# Arrow guesses types from the first block; reading a file as one block guesses from all rows.
LARGEST_BLOCK = 2**31 - 1
MARKS = 3  # possible null markers that a message names
LIKELY_DELIMITERS = (";", "\t", "|", ",")


def read_csv(path: Path, reading: Reading) -> pa.Table:
    """Return the table in a CSV file, whose first line names the columns.

    Empty cells and `reading.nulls` are null. Types are inferred from all values, except for the
    columns `reading.texts`; timestamps are in microseconds, or in nanoseconds if a value requires
    it. Columns that lost leading zeros are reported. Rows with a wrong number of cells are skipped
    and passed to `reading.reject`, if it is not None.

    Raise InputError that names the place, or the delimiter that the file seems to have.
    """
    delimiter = reading.delimiter or ("\t" if ".tsv" in path.suffixes else ",")
    content = open_content(path)
    has_quotes, has_zeros = _signs(content, delimiter)
    parse = pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=has_quotes)
    convert = pa_csv.ConvertOptions(
        null_values=["", *reading.nulls],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    whole = False
    rejected_rows: list[str] = []

    def skip(row: pa_csv.InvalidRow) -> str:
        if is_unclosed(row.text):
            return "error"
        rejected_rows.append(rejected_row(path, row))
        return "skip"

    def read(texts: Sequence[str], only: list[str] | None = None) -> pa.Table:
        convert.column_types = dict.fromkeys(texts, pa.string())
        convert.include_columns = only or ()
        if not whole:
            # Types are those of the first block if the others fit them: the same as those of all.
            with (
                suppress(pa.ArrowInvalid),
                pa_csv.open_csv(
                    content.open(), parse_options=parse, convert_options=convert
                ) as reader,
            ):
                return reader.read_all()
        if whole and reading.reject is not None:  # without threads, Arrow reports row numbers
            parse.invalid_row_handler = skip
            rejected_rows.clear()
        block = min(content.size(), LARGEST_BLOCK) if whole else None
        options = pa_csv.ReadOptions(block_size=block, use_threads=not whole)
        return pa_csv.read_csv(
            content.open(), read_options=options, parse_options=parse, convert_options=convert
        )

    try:
        table = read(reading.texts)
        whole = has_quotes and text_in_unclosed_quote(content, delimiter, table) is not None
    except pa.ArrowInvalid:
        whole = True  # without threads, so that a parse error names the row
    if whole:
        table = _read_whole(path, content, delimiter, lambda: read(reading.texts))
    if table.num_columns == 1 and reading.delimiter is None:
        _refuse_delimiter(path, table.column_names[0])
    for name in reading.texts:
        if name not in table.column_names:
            hint = did_you_mean(name, table.column_names)
            raise InputError(
                f"'{path}' has no column '{name}', which {option('text')} names.{hint} "
                f"Columns: {', '.join(table.column_names)}."
            )
    if has_zeros:
        for sentence in lost_zeros(table, lambda names: read(names, names)):
            reading.report(sentence)
    for reason in rejected_rows:
        assert reading.reject is not None  # rows are only left out on request
        reading.reject(reason)
    for field in table.schema:
        if pa.types.is_binary(field.type):
            raise InputError(not_utf8(path, f" in column '{field.name}'"))
    return usual_times(table)


def _signs(content: Content, delimiter: str) -> tuple[bool, bool]:
    """Return whether a CSV text has quotes, and whether a cell may begin with a lost zero.

    A quoted cell may contain ends of lines or be unclosed; reading such text block by block would
    lose rows at the ends of blocks.
    """
    has_quotes = has_zeros = False
    before = b""
    for piece in content.pieces():
        has_quotes = has_quotes or b'"' in piece
        has_zeros = has_zeros or begins_with_zero(before + piece, delimiter)
        if has_quotes and has_zeros:
            break
        before = piece[-2:]
    return has_quotes, has_zeros


def _read_whole(
    path: Path, content: Content, delimiter: str, read: Callable[[], pa.Table]
) -> pa.Table:
    """Return the table that `read` reads from a CSV file; convert errors to InputError."""
    try:
        table = read()
    except pa.ArrowInvalid as error:
        if "Empty CSV" not in str(error):
            raise InputError(refusal(path, error)) from error
        header = next(content.pieces()).decode(errors="replace").splitlines()[0]
        if header.count('"') % 2:
            raise InputError(unclosed(path, "the header", header)) from error
        raise InputError(f"'{path}' has no events: at most a header, and no rows.") from error
    unclosed_text = text_in_unclosed_quote(content, delimiter, table)
    if unclosed_text is not None:
        excerpt = unclosed_text.splitlines()[0] if unclosed_text else ""
        raise InputError(unclosed(path, f"row {table.num_rows:,}", f'"{excerpt}'))
    return table


def text_notes(table: pa.Table, columns: set[str]) -> list[str]:
    """Return a warning for each column that is text because of few cells among numbers or times.

    >>> text_notes(pa.table({"v": ["1", "2.5", "N/A", "4"]}), {"v"})[0][:52]
    "Column 'v' is text because row 3 holds 'N/A'. If tha"
    """
    notes = []
    for name in table.column_names:
        if name not in columns or not pa.types.is_string(table.column(name).type):
            continue
        column = table.column(name).combine_chunks()
        for noun, fits in (
            ("numbers", pc.match_substring_regex(column, NUMBER)),
            ("times", parse_iso8601(column)[0].is_valid()),
        ):
            odd = np.flatnonzero(to_numpy(pc.and_(column.is_valid(), pc.invert(fits)), False))
            texts = len(column) - column.null_count
            if not len(odd) or not are_most(texts - len(odd), texts):
                continue
            marks = column.take(pa.array(odd)).unique()[:MARKS].to_pylist()
            rows = [int(pc.index(column, mark).as_py()) + 1 for mark in marks]
            odd_rows = [
                f"row {row:,} holds {mark!r}" for row, mark in zip(rows, marks, strict=True)
            ]
            further = len(odd) - len(marks)
            reason = ", and ".join(
                [*odd_rows, f"{further:,} more are not {noun}"] if further else odd_rows
            )
            verb_phrase = "that stands" if len(marks) == 1 else "those stand"
            notes.append(
                f"Column '{name}' is text because {reason}. If {verb_phrase} for null: "
                f"{_null_option(marks)}."
            )
            break
    return notes


def _null_option(marks: list[str]) -> str:
    """Return the option that makes these texts null."""
    if is_on_the_command_line() or len(marks) == 1:
        return " ".join(reading_option("null", shell_text(mark)) for mark in marks)
    return f"read_events(..., null={marks})"


def _refuse_delimiter(path: Path, header: str) -> None:
    for delimiter in LIKELY_DELIMITERS:
        if delimiter in header:
            delimiter_text = "tab" if delimiter == "\t" else delimiter
            raise InputError(
                f"'{path}' has one column, named '{header}': is the delimiter '{delimiter_text}'? "
                f"If so, add {reading_option('delimiter', shell_text(delimiter_text))}."
            )


READERS: dict[str, Callable[[Path, Reading], pa.Table]] = {
    "csv": read_csv,
    "json": read_json,
    "zeek": read_zeek,
}
