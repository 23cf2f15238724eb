"""Reading events from a JSON file: one object per line (JSON Lines), or one array of objects."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import pyarrow as pa
import pyarrow.json as pa_json

from elsinore.errors import InputError
from elsinore.runtime.contents import Content, PieceReader, open_content
from elsinore.runtime.json_lines import NOT_WHOLE, json_lines
from elsinore.runtime.sources import Reading
from elsinore.runtime.text_times import usual_times

# Arrow guesses types from the first block; reading a file as one block guesses from all rows.
LARGEST_BLOCK = 2**31 - 1
CHANGED = re.compile(r"Column\(/([^)]*)\) changed from (\w+) to (\w+) in row (\d+)")


def read_json(path: Path, _: Reading) -> pa.Table:
    """Return the table in a JSON file: one object per line, or an array of objects.

    Raise InputError that names the first line that is not a JSON object, or another error.
    """
    content = open_content(path)

    def read(*, whole: bool) -> pa.Table:
        if not whole:
            # Types are those of the first block if the others fit them: the same as those of all.
            with (
                suppress(pa.ArrowInvalid),
                pa_json.open_json(PieceReader(json_lines(content))) as reader,
            ):
                return reader.read_all()
        block = min(content.size(), LARGEST_BLOCK) if whole else None
        options = pa_json.ReadOptions(block_size=block, use_threads=not whole)
        return pa_json.read_json(PieceReader(json_lines(content)), read_options=options)

    try:
        return usual_times(read(whole=False))
    except pa.ArrowInvalid:
        try:
            return usual_times(read(whole=True))
        except pa.ArrowInvalid as error:
            _refuse(content, error)


def _refuse(content: Content, error: pa.ArrowInvalid) -> NoReturn:
    """Raise InputError that names the first line that is not a JSON object, or another error."""
    path = content.path
    match = CHANGED.search(str(error))
    if match and match[1]:
        name, was, became, row = match.groups()
        raise InputError(
            f"'{path}': column '{name}' holds a {was} in some rows and a {became} in row "
            f"{int(row) + 1:,}. Write one kind of value in it."
        ) from error
    is_empty = True
    for offset, line in _lines(content):
        if not line.strip():
            continue
        is_empty = False
        try:
            value = json.loads(line, parse_int=float)
        except json.JSONDecodeError as cause:
            at = offset + len(cause.doc[: cause.pos].encode())
            raise InputError(f"{_place(content, at)}: {cause.msg}. {NOT_WHOLE}") from cause
        if not isinstance(value, dict):
            number, _ = content.place(offset + len(line) - len(line.lstrip()))
            raise InputError(
                f"'{path}', line {number:,}: an object such as {{...}} is expected."
            ) from error
    if is_empty:
        raise InputError(f"'{path}' has no events.") from error
    raise InputError(f"'{path}' cannot be read as a table of events: {error}.") from error


def _lines(content: Content) -> Iterator[tuple[int, bytes]]:
    """Yield each line of `json_lines` and the offset of its first byte."""
    offset = 0
    line_parts: list[bytes] = []
    for piece in json_lines(content):
        *lines, last = piece.split(b"\n")
        for line in lines:
            whole = b"".join([*line_parts, line])
            yield offset, whole
            offset += len(whole) + 1
            line_parts = []
        line_parts.append(last)
    yield offset, b"".join(line_parts)


def _place(content: Content, offset: int) -> str:
    """Return the file, the line and the column of a byte."""
    line, column = content.place(offset)
    return f"'{content.path}', line {line:,}, column {column:,}"
