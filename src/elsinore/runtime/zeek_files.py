"""Reading events from a log of Zeek."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from elsinore.arrow import to_arrow, to_scalar
from elsinore.errors import InputError
from elsinore.runtime.contents import Content, PieceReader, open_content
from elsinore.runtime.ragged import refusal_of_log
from elsinore.runtime.sources import Reading
from elsinore.runtime.tables import check_names
from elsinore.words import count

# Zeek's types that are not text; those of containers and addresses are.
ZEEK_TYPES = {
    "bool": pa.bool_(),
    "count": pa.int64(),
    "int": pa.int64(),
    "port": pa.int64(),
    "double": pa.float64(),
    "interval": pa.float64(),
}


def read_zeek(path: Path, reading: Reading) -> pa.Table:
    """Return the table in a Zeek log: tab-separated, with its `#fields` and `#types`.

    Times become timestamps in UTC, exact to the microsecond; counts, ports and intervals (in
    seconds) numbers; other types text. `-` is null, `(empty)` the empty text.

    Raise InputError for other files.
    """
    content = open_content(path)
    headers = _header_lines(content)
    if not headers or not headers[0].startswith(b"#separator"):
        raise InputError(
            f"'{path}' is not a Zeek log, which begins with '#separator'. Name a CSV file .csv, a "
            "JSON file .jsonl."
        )
    separator_text = headers[0].removeprefix(b"#separator").strip()
    try:
        separator = separator_text.decode("unicode_escape")
    except UnicodeDecodeError:
        separator = ""
    if len(separator.encode()) != 1:
        raise InputError(
            f"'{path}': '#separator' is one character, as in '#separator \\x09', not "
            f"'{separator_text.decode(errors='replace')}'. Correct that line."
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
    unset = header.get("#unset_field", ["-"])[0]

    def read(*, threads: bool) -> pa.Table:
        typed = zip(names, kinds, strict=True)
        return pa_csv.read_csv(
            PieceReader(_body(content)),
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

    if not any(_body(content)):
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


def _header_lines(content: Content) -> list[bytes]:
    """Return the lines that begin with #."""
    return [line for lines in _line_groups(content) for line in lines if line.startswith(b"#")]


def _body(content: Content) -> Iterator[bytes]:
    """Yield the lines that are neither empty nor begin with #, in pieces."""
    for lines in _line_groups(content):
        rows = [line for line in lines if line and not line.startswith(b"#")]
        if rows:
            yield b"\n".join(rows) + b"\n"


def _line_groups(content: Content) -> Iterator[list[bytes]]:
    """Yield the lines of each piece of a text, without their ends."""
    unfinished_line = b""
    for piece in content.pieces():
        *lines, unfinished_line = (unfinished_line + piece).split(b"\n")
        yield [line.removesuffix(b"\r") for line in lines]
    yield [unfinished_line.removesuffix(b"\r")]


def _epoch_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert texts of seconds since the epoch to timestamps; null for other text.

    The unit is microseconds, or nanoseconds if a value has more than six decimals.
    """
    parts = pc.extract_regex(
        column.combine_chunks(), r"^(?P<sign>-?)(?P<whole>\d+)\.?(?P<part>\d*)$"
    )
    fine = pc.any(pc.match_substring_regex(parts.field("part"), r"^\d{6}\d*[1-9]")).as_py()
    digits = 9 if fine else 6
    digits_text = pc.utf8_rpad(parts.field("part"), digits, "0")
    whole = _integers(pc.utf8_slice_codeunits(parts.field("whole"), 0, 18))
    part = _integers(pc.utf8_slice_codeunits(digits_text, 0, digits))
    fits = pc.and_(parts.is_valid(), pc.less(whole, to_scalar((2**63 - 1) // 10**digits)))
    whole = pc.if_else(fits, whole, to_scalar(0))
    ticks = pc.add(pc.multiply(whole, to_scalar(10**digits)), part)
    ticks = pc.if_else(pc.equal(parts.field("sign"), to_scalar("-")), pc.negate(ticks), ticks)
    usable = pc.if_else(fits, ticks, to_scalar(None, pa.int64()))
    return pa.chunked_array([usable.cast(pa.timestamp("ns" if fine else "us", "UTC"))])


def _integers(digits: pa.Array) -> pa.Array:
    known = pc.fill_null(pc.not_equal(digits, to_scalar("")), to_scalar(False))
    return pc.if_else(known, digits, to_scalar("0")).cast(pa.int64())
