r"""Parsing JSON objects in bulk, and isolating invalid ones.

pyarrow parses the objects joined by line ends. Whether it accepts an object depends only on the
object and the schema: if parsing fails, the records are divided and parsed again until the invalid
ones are isolated.

The join is safe because of one check. If each record begins with `{` and ends with `}`, and the
join parses as exactly as many objects as there are records, then each record is one object: a line
end cannot occur within a string, and inside an object or array `}` is never followed by `{`, so
each record begins outside of all others and contains at least one object.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.json as pa_json

from elsinore.arrow import no_table
from elsinore.connectors.records.fit import fit_cells
from elsinore.errors import InputError

BLOCK_BYTES = 1 << 26  # of text that is parsed at once
PIECES = 8  # into which records are divided if they cannot be parsed together
NOT_AN_OBJECT = "not one JSON object"
NOT_UTF_8 = "text that is not UTF-8"
_BLANKS = b" \t\r\n"
_BOM = b"\xef\xbb\xbf"
_CHANGED = re.compile(r"Column\(/([^)]*)\) changed from (\w+) to (\w+)")
_UNREAD = re.compile(
    r"Failed to convert JSON to ([^,]+(?:, tz=\S+])?), couldn't parse:\s?(.*)", re.DOTALL
)
_TWICE = re.compile(r"Column\(/([^)]*)\) was specified twice")
_ROW = re.compile(r" in row \d+$")


class JsonRecords:
    """Parses JSON objects into the columns of a schema.

    Fields that are not in the schema are ignored; missing ones are null. Dates are texts such as
    "2024-01-31", timestamps ISO 8601. Raise InputError for types that cannot be parsed from JSON.

    >>> records = JsonRecords(pa.schema([("v", pa.int64())]))
    >>> table, bad = records.parse([b'{"v": 1}', b'{"v": "x"}', b'{"w": 2}'])
    >>> table.to_pylist(), bad
    ([{'v': 1}, {'v': None}], {1: 'v is a string, and the schema says number'})
    """

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self._as_text = [
            number for number, field in enumerate(schema) if _is_read_as_text(field.type)
        ]
        parse_schema = schema
        for number in self._as_text:
            parse_schema = parse_schema.set(number, schema.field(number).with_type(pa.string()))
        self._parsed = parse_schema.remove_metadata()
        for field in schema:
            _check_type(field)

    def parse(self, records: Sequence[bytes]) -> tuple[pa.Table, dict[int, str]]:
        """Return the valid records as a table, and the reasons for invalid ones by position."""
        tables: list[pa.Table] = []
        bad: dict[int, str] = {}
        for first, stop in _blocks(records):
            self._parse_block(records[first:stop], first, tables, bad)
        table = pa.concat_tables(tables) if tables else no_table(self._parsed)
        return self._convert_texts(table, bad, len(records)) if self._as_text else (table, bad)

    def _parse_block(
        self,
        records: Sequence[bytes],
        first: int,
        tables: list[pa.Table],
        bad: dict[int, str],
    ) -> None:
        """Parse records of which the first has position `first`; add to `tables` and `bad`."""
        try:
            tables.append(self._parse_together(records))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, _UnparseableError) as error:
            if len(records) == 1:
                bad[first] = _reason(error)
                return
            size = -(-len(records) // PIECES)
            for begin in range(0, len(records), size):
                self._parse_block(records[begin : begin + size], first + begin, tables, bad)

    def _parse_together(self, records: Sequence[bytes]) -> pa.Table:
        """Parse records as one text; raise _UnparseableError if one is invalid."""
        text = b"\n".join(records)
        between = len(records) - 1
        if not (
            text[:1] == b"{"
            and text[-1:] == b"}"
            and text.count(b"\n") == between
            and text.count(b"}\n{") == between
        ):
            objects = [record.removeprefix(_BOM).strip(_BLANKS) for record in records]
            if not all(record[:1] == b"{" and record[-1:] == b"}" for record in objects):
                raise _UnparseableError(NOT_AN_OBJECT)
            text = b"\n".join(objects)
        if not text.isascii():
            try:
                text.decode()
            except UnicodeDecodeError:
                raise _UnparseableError(NOT_UTF_8) from None
        table = pa_json.read_json(
            pa.BufferReader(text),
            # one block, whose end is not searched for line ends within records
            read_options=pa_json.ReadOptions(use_threads=False, block_size=len(text) + 1),
            parse_options=pa_json.ParseOptions(
                explicit_schema=self._parsed, unexpected_field_behavior="ignore"
            ),
        )
        if table.num_rows != len(records):
            raise _UnparseableError(NOT_AN_OBJECT)
        return table.select(self._parsed.names)

    def _convert_texts(
        self, table: pa.Table, bad: dict[int, str], count: int
    ) -> tuple[pa.Table, dict[int, str]]:
        """Convert the columns that were parsed as text; rows with an invalid cell become bad."""
        reasons = np.full(table.num_rows, None, dtype=object)
        for number in self._as_text:
            field = self.schema.field(number)
            values, why = fit_cells(table.column(number), field)
            table = table.set_column(number, field, values)
            for row in np.flatnonzero(why.is_valid()).tolist():
                reasons[row] = reasons[row] or why[row].as_py()
        rows = np.array([row is None for row in reasons], dtype=np.bool_)
        if rows.all():
            return table, bad
        positions = np.delete(np.arange(count), list(bad))
        bad = bad | {int(positions[row]): reasons[row] for row in np.flatnonzero(~rows).tolist()}
        return table.filter(pa.array(rows)), dict(sorted(bad.items()))


class _UnparseableError(Exception):
    """Some of the records that were parsed together are invalid; the message is the reason."""


def _blocks(records: Sequence[bytes]) -> list[tuple[int, int]]:
    """Return ranges of records of about BLOCK_BYTES each, with at least one record."""
    ends = np.cumsum([len(record) + 1 for record in records])
    blocks = []
    first = 0
    while first < len(records):
        begin = int(ends[first - 1]) if first else 0
        stop = int(np.searchsorted(ends, begin + BLOCK_BYTES, side="right"))
        blocks.append((first, max(stop, first + 1)))
        first = blocks[-1][1]
    return blocks


def _is_read_as_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_date(kind))


def _check_type(field: pa.Field) -> None:
    if not _is_read_as_text(field.type) and not _is_readable(field.type):
        raise InputError(
            f"Column '{field.name}' is {field.type} in the schema, which JSON is not read as. "
            "Declare it as STRING, or as a number."
        )


def _is_readable(kind: pa.DataType) -> bool:
    types = pa.types
    if types.is_struct(kind):
        return all(_is_readable(part.type) for part in kind)
    if types.is_list(kind):
        return _is_readable(kind.value_type)
    return bool(
        types.is_integer(kind)
        or (types.is_floating(kind) and kind.bit_width > 16)
        or types.is_boolean(kind)
        or types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_timestamp(kind)
        or types.is_decimal128(kind)
    )


def _reason(error: Exception) -> str:
    """Return why one record cannot be parsed."""
    text = _ROW.sub("", str(error).removeprefix("JSON parse error: "))
    if type_change := _CHANGED.search(text):
        name, expected, kind = type_change.groups()
        return f"{name} is {_article(kind)}, and the schema says {expected}"
    if unread := _UNREAD.search(text):
        return f"'{unread[2]}' cannot be read as {unread[1]}"
    if twice := _TWICE.search(text):
        return f"{twice[1]} occurs twice"
    return text.rstrip(".")


def _article(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
