"""Reading events from one text file: CSV, JSON (an object a line, or one array), Zeek's logs."""

from __future__ import annotations

import json
import re
import shlex
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.json as pa_json

from elsinore.arrow import to_arrow, to_numpy, to_scalar
from elsinore.errors import InputError, did_you_mean, is_on_the_command_line, option
from elsinore.runtime.iso8601 import parse_iso8601
from elsinore.runtime.lost_zeros import lost_zeros
from elsinore.runtime.numbers_in_text import NUMBER, are_most
from elsinore.runtime.ragged import (
    has_quotes,
    refusal,
    refusal_of_log,
    rest_in_a_quote,
    unclosed,
)
from elsinore.runtime.sources import Reading, empty
from elsinore.runtime.tables import check_names
from elsinore.words import count

# Arrow guesses types from the first block; a whole file as one block lets every row have its say.
LARGEST_BLOCK = 2**31 - 1
MARKS = 3  # texts that may stand for null that a message names
_MEND_JSON = "Correct it there; a file that ends within a value was not written to its end."
LIKELY_DELIMITERS = (";", "\t", "|", ",")
GZIP = b"\x1f\x8b"  # and a file of gzip
UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # what such a text begins with
# Zeek's types that are not text; those of containers and addresses are.
ZEEK_TYPES = {
    "bool": pa.bool_(),
    "count": pa.int64(),
    "int": pa.int64(),
    "port": pa.int64(),
    "double": pa.float64(),
    "interval": pa.float64(),
}


def read_csv(path: Path, reading: Reading) -> pa.Table:
    """Return the table in a CSV file, whose first line names the columns.

    An empty cell is null, and so are those of `reading.nulls`. Types are found from all values, but
    for those of `reading.texts`; timestamps are in microseconds, or nanoseconds where one of them
    needs these. It tells which columns lost zeros.

    Raise InputError that names the place, or the delimiter that the file seems to have.
    """
    delimiter = reading.delimiter or ("\t" if ".tsv" in path.suffixes else ",")
    content = _bytes(path)
    parse = pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=has_quotes(content))
    whole = False

    def read(texts: Sequence[str], only: list[str] | None = None) -> pa.Table:
        block = min(max(content.size, 1), LARGEST_BLOCK) if whole else None
        return pa_csv.read_csv(
            pa.BufferReader(content),
            read_options=pa_csv.ReadOptions(block_size=block, use_threads=not whole),
            parse_options=parse,
            convert_options=pa_csv.ConvertOptions(
                null_values=["", *reading.nulls],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                column_types=dict.fromkeys(texts, pa.string()),
                include_columns=only,
            ),
        )

    try:
        table = read(reading.texts)
        whole = rest_in_a_quote(content, delimiter, table) is not None
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
    for sentence in lost_zeros(content, delimiter, table, lambda names: read(names, names)):
        reading.tell(sentence)
    for field in table.schema:
        if pa.types.is_binary(field.type):
            raise InputError(
                f"'{path}' has text in column '{field.name}' that is not UTF-8. Convert the file, "
                f"for example with: iconv -f latin1 -t utf-8"
            )
    return _usual_times(table)


def _read_whole(
    path: Path, content: pa.Buffer, delimiter: str, read: Callable[[], pa.Table]
) -> pa.Table:
    """Return what `read` gives of a CSV file at once; InputError says what is wrong, and where."""
    try:
        table = read()
    except pa.ArrowInvalid as error:
        if "Empty CSV" not in str(error):
            raise InputError(refusal(path, error)) from error
        header = content.to_pybytes().decode(errors="replace").splitlines()[0]
        if header.count('"') % 2:
            raise InputError(unclosed(path, "the header", header)) from error
        raise InputError(f"'{path}' holds no events: no row, and a header at most.") from error
    unclosed_text = rest_in_a_quote(content, delimiter, table)
    if unclosed_text is not None:
        shown = unclosed_text.splitlines()[0] if unclosed_text else ""
        raise InputError(unclosed(path, f"row {table.num_rows:,}", f'"{shown}'))
    return table


def read_json(path: Path, _: Reading) -> pa.Table:
    """Return the table in a JSON file: an object a line, or an array of objects.

    Raise InputError that names the first line that is no JSON object, or what else is wrong.
    """
    content = _bytes(path)
    if (
        content.slice(0, min(64, content.size))
        .to_pybytes()
        .removeprefix(b"\xef\xbb\xbf")
        .lstrip()
        .startswith(b"[")
    ):
        content = _lines_of_array(path, content.to_pybytes())

    def read(*, whole: bool) -> pa.Table:
        block = min(max(content.size, 1), LARGEST_BLOCK) if whole else None
        options = pa_json.ReadOptions(block_size=block, use_threads=not whole)
        return pa_json.read_json(pa.BufferReader(content), read_options=options)

    if not content.size:
        raise InputError(f"'{path}' holds no events.")
    try:
        return _usual_times(read(whole=False))
    except pa.ArrowInvalid:
        try:
            return _usual_times(read(whole=True))
        except pa.ArrowInvalid as error:
            _refuse_json(path, content.to_pybytes(), error)


def read_zeek(path: Path, reading: Reading) -> pa.Table:
    """Return the table in a log of Zeek: tab-separated, with its `#fields` and `#types`.

    Times become timestamps in UTC, exact to the microsecond; counts, ports and intervals numbers
    (of seconds); all else is text, `-` is null and `(empty)` the empty text.

    Raise InputError where the file is no such log.
    """
    lines = _bytes(path).to_pybytes().splitlines()
    headers = [line for line in lines if line.startswith(b"#")]
    if not headers or not headers[0].startswith(b"#separator"):
        raise InputError(
            f"'{path}' is no log of Zeek, which begins with '#separator'. Name a CSV file .csv, a "
            "JSON file .jsonl."
        )
    said = headers[0].removeprefix(b"#separator").strip()
    try:
        separator = said.decode("unicode_escape")
    except UnicodeDecodeError:
        separator = ""
    if len(separator.encode()) != 1:
        raise InputError(
            f"'{path}': '#separator' is one character, as in '#separator \\x09', not "
            f"'{said.decode(errors='replace')}'. Correct that line."
        )
    header = {
        key: values
        for key, *values in (line.decode(errors="replace").split(separator) for line in headers)
        if key in {"#fields", "#types", "#unset_field", "#empty_field"}
    }
    fields = {line for line in headers if line.startswith((b"#fields", b"#types"))}
    if not {"#fields", "#types"} <= header.keys() or len(fields) != 2:
        raise InputError(
            f"'{path}' has {len(fields)} lines of '#fields' and '#types'; a log has one of each. "
            "Split logs that were joined."
        )
    names, kinds = header["#fields"], header["#types"]
    if len(names) != len(kinds):
        raise InputError(
            f"'{path}': '#fields' names {count(len(names), 'column')} and '#types' "
            f"{count(len(kinds), 'type')}. Give each column one type."
        )
    check_names(names, f"'{path}'")
    body = b"\n".join(line for line in lines if line and not line.startswith(b"#"))
    unset = header.get("#unset_field", ["-"])[0]

    def read(*, threads: bool) -> pa.Table:
        typed = zip(names, kinds, strict=True)
        return pa_csv.read_csv(
            pa.BufferReader(body + b"\n"),
            read_options=pa_csv.ReadOptions(column_names=names, use_threads=threads),
            parse_options=pa_csv.ParseOptions(delimiter=separator, quote_char=False),
            convert_options=pa_csv.ConvertOptions(
                column_types={name: ZEEK_TYPES.get(kind, pa.string()) for name, kind in typed},
                null_values=[unset, *reading.nulls],
                strings_can_be_null=True,
                true_values=["T"],
                false_values=["F"],
            ),
        )

    if not body:
        table = pa.table({name: to_arrow([], pa.string()) for name in names})
    else:
        try:
            table = read(threads=True)
        except pa.ArrowInvalid:
            try:
                table = read(threads=False)  # so that an error names the row
            except pa.ArrowInvalid as error:
                raise InputError(refusal_of_log(path, error, names, kinds)) from error
    empty = header.get("#empty_field", ["(empty)"])[0]
    for index, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        column = table.column(index)
        if kind == "time":
            table = table.set_column(index, name, _epoch_text(column))
        elif pa.types.is_string(column.type):
            plain = pc.if_else(pc.equal(column, empty), to_scalar(""), column)
            table = table.set_column(index, name, plain)
    return table


def text_notes(table: pa.Table, columns: set[str]) -> list[str]:
    """Return a sentence for each column that is text because of a few rows among numbers or times.

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
            those = "that stands" if len(marks) == 1 else "those stand"
            notes.append(
                f"Column '{name}' is text because {reason}. If {those} for null: "
                f"{_null_option(marks)}."
            )
            break
    return notes


def _usual_times(table: pa.Table) -> pa.Table:
    """Return timestamps in microseconds, in nanoseconds only where one of them needs these."""
    for index, field in enumerate(table.schema):
        kind = field.type
        if not pa.types.is_timestamp(kind) or kind.unit == "us":
            continue
        column = table.column(index)
        if kind.unit == "ns":
            counts = column.cast(pa.int64())
            if pc.any(
                pc.not_equal(
                    pc.multiply(pc.divide(counts, to_scalar(1000)), to_scalar(1000)), counts
                )
            ).as_py():
                continue
        table = table.set_column(index, field.name, column.cast(pa.timestamp("us", kind.tz)))
    return table


def _epoch_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return seconds since the epoch, as text with decimals, as timestamps; null where none.

    In microseconds, or nanoseconds where a value has more decimals.
    """
    parts = pc.extract_regex(
        column.combine_chunks(), r"^(?P<sign>-?)(?P<whole>\d+)\.?(?P<part>\d*)$"
    )
    fine = pc.any(pc.match_substring_regex(parts.field("part"), r"^\d{6}\d*[1-9]")).as_py()
    digits = 9 if fine else 6
    padded = pc.utf8_rpad(parts.field("part"), digits, "0")
    whole = _integers(pc.utf8_slice_codeunits(parts.field("whole"), 0, 18))
    part = _integers(pc.utf8_slice_codeunits(padded, 0, digits))
    fits = pc.and_(parts.is_valid(), pc.less(whole, to_scalar((2**63 - 1) // 10**digits)))
    whole = pc.if_else(fits, whole, to_scalar(0))
    ticks = pc.add(pc.multiply(whole, to_scalar(10**digits)), part)
    ticks = pc.if_else(pc.equal(parts.field("sign"), to_scalar("-")), pc.negate(ticks), ticks)
    usable = pc.if_else(fits, ticks, to_scalar(None, pa.int64()))
    return pa.chunked_array([usable.cast(pa.timestamp("ns" if fine else "us", "UTC"))])


def _integers(digits: pa.Array) -> pa.Array:
    known = pc.fill_null(pc.not_equal(digits, to_scalar("")), to_scalar(False))
    return pc.if_else(known, digits, to_scalar("0")).cast(pa.int64())


def _null_option(marks: list[str]) -> str:
    """Return how texts are said to stand for null."""
    if is_on_the_command_line() or len(marks) == 1:
        return " ".join(option("null", _shell(mark)) for mark in marks)
    return f"null={marks}"


def _shell(value: str) -> str:
    """Return a value as it is typed where messages speak of the command's options."""
    return shlex.quote(value) if is_on_the_command_line() else value


def _refuse_delimiter(path: Path, header: str) -> None:
    for delimiter in LIKELY_DELIMITERS:
        if delimiter in header:
            shown = "tab" if delimiter == "\t" else delimiter
            raise InputError(
                f"'{path}' has one column, named '{header}': is the delimiter '{shown}'? Say so "
                f"with {option('delimiter', _shell(shown))}."
            )


def _bytes(path: Path) -> pa.Buffer:
    """Return the content of `path`, unpacked where its name ends in .gz."""
    packed = path.suffix.lower() == ".gz"
    try:
        with pa.input_stream(str(path), compression="gzip" if packed else None) as stream:
            content = stream.read_buffer()
    except (OSError, zlib.error) as error:
        raise InputError(_unreadable(path, error, packed=packed)) from error
    if not content.size:
        raise InputError(empty(path))
    if content.slice(0, 2).to_pybytes() == GZIP:
        raise InputError(f"'{path}' is packed with gzip. Name it '{path.name}.gz'.")
    if content.slice(0, 2).to_pybytes() in UTF_16:
        raise InputError(
            f"'{path}' is text in UTF-16. Save it as UTF-8, for example with: "
            "iconv -f utf-16 -t utf-8"
        )
    return content


def _unreadable(path: Path, error: Exception, *, packed: bool) -> str:
    """Say why the content of a file is not had, and what to do."""
    if not packed or not path.is_file():
        return f"'{path}' cannot be read: {error}."
    with path.open("rb") as file:
        begin = file.read(len(GZIP))
    if begin == GZIP:
        return f"'{path}' is a gzip file that is cut off or damaged ({error}). Copy it again."
    return (
        f"'{path}' is named .gz and is not packed with gzip. Name it '{path.stem}', or pack it: "
        f"gzip {_shell(path.stem)}"
    )


def _lines_of_array(path: Path, content: bytes) -> pa.Buffer:
    """Return the objects of a JSON array as lines."""
    try:
        rows = json.loads(content)
    except UnicodeDecodeError as cause:
        raise InputError(f"'{path}': text that is not UTF-8.") from cause
    except json.JSONDecodeError as cause:
        place = f"'{path}', line {cause.lineno}, column {cause.colno}"
        raise InputError(f"{place}: {cause.msg}. {_MEND_JSON}") from cause
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise InputError(f"'{path}', item {number}: an object such as {{...}} is expected.")
    return pa.py_buffer(b"".join(json.dumps(row).encode() + b"\n" for row in rows))


def _refuse_json(path: Path, content: bytes, error: pa.ArrowInvalid) -> NoReturn:
    """Raise InputError that names the first line that is no JSON object, or what else is wrong."""
    for number, line in enumerate(content.split(b"\n"), start=1):
        if not line.strip():
            continue
        place = f"'{path}', line {number}"
        try:
            value = json.loads(line)
        except UnicodeDecodeError as cause:
            raise InputError(f"{place}: text that is not UTF-8.") from cause
        except json.JSONDecodeError as cause:
            message = f"{place}, column {cause.colno}: {cause.msg}. {_MEND_JSON}"
            raise InputError(message) from cause
        if not isinstance(value, dict):
            raise InputError(f"{place}: an object such as {{...}} is expected.") from error
    changed = re.search(r"Column\(/([^)]*)\) changed from (\w+) to (\w+) in row (\d+)", str(error))
    if changed:
        name, was, became, row = changed.groups()
        raise InputError(
            f"'{path}': column '{name}' holds a {was} in some rows and a {became} in row "
            f"{int(row) + 1:,}. Write one kind of value in it."
        ) from error
    raise InputError(f"'{path}' cannot be read as a table of events: {error}.") from error


READERS: dict[str, Callable[[Path, Reading], pa.Table]] = {
    "csv": read_csv,
    "json": read_json,
    "zeek": read_zeek,
}
