"""Error messages for CSV rows with wrong numbers of cells, invalid cells, and unclosed quotes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv

from elsinore.runtime.contents import Content, not_utf8
from elsinore.words import count

RAGGED = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)(?:: (.*))?", re.DOTALL)
ODD_CELL = re.compile(r"In CSV column #(\d+): .*invalid value '(.*)'", re.DOTALL)
SHOWN_CELLS = 60  # characters of a row in an error


def refusal(path: Path, error: pa.ArrowInvalid) -> str:
    """Return the error message, with the remedy, for CSV that Arrow cannot read.

    Arrow counts the header as a row; messages count rows of data, from 1.

    >>> error = pa.ArrowInvalid("CSV parse error: Row #3: Expected 4 columns, got 3: 2,B,3")
    >>> refusal(Path("e.csv"), error)[:62]
    "'e.csv', row 2: 3 cells where there are 4 columns: 2,B,3. Give"
    """
    match = RAGGED.search(str(error))
    if match is None:
        return f"'{path}' is not CSV that can be read: {error}"
    text = match[4] or ""
    first_line = next(iter(text.splitlines()), "")
    if is_unclosed(text):
        return unclosed(path, f"row {int(match[1]) - 1:,}", _excerpt(first_line))
    message = _unequal(path, int(match[1]) - 1, match)
    return f"{message} A cell with a delimiter in it goes in double quotes."


def is_unclosed(row: str) -> bool:
    """Return whether a row with a wrong number of cells has a quote that is not closed.

    >>> is_unclosed('1,"A,2'), is_unclosed('1,"A",2,3')
    (True, False)
    """
    return len(row.splitlines()) > 1 or row.count('"') % 2 == 1


def rejected_row(path: Path, row: pa_csv.InvalidRow) -> str:
    """Return the reason for rejecting a row with a wrong number of cells, with place and text."""
    return (
        f"{count(row.actual_columns, 'cell')} where there are {row.expected_columns} columns, in "
        f"row {row.number - 1:,} of '{path}': {row.text}"
    )


def refusal_of_log(
    path: Path, error: pa.ArrowInvalid, names: Sequence[str], kinds: Sequence[str]
) -> str:
    """Return the error message for a log of Zeek that Arrow cannot read, with these column types.

    >>> error = pa.ArrowInvalid("In CSV column #1: conversion error: invalid value 'x'")
    >>> refusal_of_log(Path("c.log"), error, ["ts", "port"], ["time", "count"])[:62]
    "'c.log': column 'port' is of Zeek's type count, and holds 'x'."
    """
    if (match := RAGGED.search(str(error))) is not None:
        return _unequal(path, int(match[1]), match)
    if "invalid UTF8" in str(error):
        return not_utf8(path)
    if (odd := ODD_CELL.search(str(error))) is not None:
        name, kind = names[int(odd[1])], kinds[int(odd[1])]
        return (
            f"'{path}': column '{name}' is of Zeek's type {kind}, and holds '{odd[2]}'. Correct "
            f"that cell, or call the type string in the line of '#types'."
        )
    return f"'{path}' cannot be read as a log of Zeek: {error}"


def _unequal(path: Path, row: int, match: re.Match[str]) -> str:
    """Return the error message for a row with a wrong number of cells."""
    _, columns, cells, text = match.groups(default="")
    return (
        f"'{path}', row {row:,}: {count(int(cells), 'cell')} where there are {columns} columns: "
        f"{_excerpt(text)}. Give it {columns} cells, or take it out."
    )


def _excerpt(text: str) -> str:
    """Return the beginning of a row."""
    return text if len(text) <= SHOWN_CELLS else f"{text[: SHOWN_CELLS - 3]}..."


def unclosed(path: Path, where: str, excerpt: str) -> str:
    """Return the error message for a quote that is not closed."""
    return (
        f"'{path}', {where}: a quote is opened and not closed: {excerpt}. Close it with a \"; one "
        "that belongs to the text of a quoted cell is written twice."
    )


def text_in_unclosed_quote(content: Content, delimiter: str, table: pa.Table) -> str | None:
    """Return the last cell of a table if the text that it was read from ends within its quote."""
    last_column = table.column(table.num_columns - 1)
    if (
        not table.num_rows
        or not pa.types.is_string(last_column.type)
        or not last_column[-1].is_valid
    ):
        return None
    cell = str(last_column[-1].as_py())
    quoted = ('"' + cell.replace('"', '""')).encode()
    tail = content.tail(len(quoted) + 1)
    begins = tail[:1] in {delimiter.encode(), b"\n", b"\r"}
    return cell if begins and tail[1:] == quoted else None
