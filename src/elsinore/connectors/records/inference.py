"""Inferring a schema from a sample of JSON events, and checking a schema with a sample."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.json as pa_json

from elsinore.errors import InputError, option
from elsinore.runtime.json_lines import lines_of_pieces
from elsinore.runtime.text_times import usual_times
from elsinore.words import count

_CHANGED = re.compile(r"Column\(/([^)]*)\) changed from (\w+) to (\w+)")


class Parser(Protocol):
    """The protocol of `JsonRecords` and `AvroRecords`."""

    def parse(self, records: Sequence[bytes]) -> tuple[pa.Table, dict[int, str]]:
        """Return the valid records as a table, and the reasons for invalid ones by position."""


def infer_json_schema(
    sample: Sequence[bytes], source: str, warn: Callable[[str], None]
) -> pa.Schema:
    """Infer the columns of a sample of JSON objects; other records are ignored.

    Texts that are all ISO 8601 become timestamps. A column without values becomes text, with a
    warning to `warn`. Raise InputError if there is no object, or a column has mixed types.

    >>> print(infer_json_schema([b'{"v": 1}', b'{"v": 2.5, "s": "x"}', b"-"], "t", print))
    v: double
    s: string
    """
    records = [record for record in sample if _is_object(record)]
    if not records:
        raise InputError(
            f"The columns of {source} cannot be inferred: no JSON object is among "
            f"{count(len(sample), 'message')}. Declare them with {option('schema')}."
        )
    text = b"\n".join(json.dumps(json.loads(record)).encode() for record in records)
    try:
        table = pa_json.read_json(
            pa.BufferReader(text),
            read_options=pa_json.ReadOptions(use_threads=False, block_size=len(text) + 1),
        )
    except pa.ArrowInvalid as error:
        type_change = _CHANGED.search(str(error))
        why = str(error)
        if type_change:
            name, was, became = type_change.groups()
            why = f"column '{name}' is {was} in some messages and {became} in others"
        raise InputError(
            f"The columns of {source} cannot be inferred: {why}. Declare them with "
            f"{option('schema')}."
        ) from error
    fields = []
    table = usual_times(table)
    for number, field in enumerate(table.schema):
        known_kind = _with_times(field, table.column(number)).type
        kind = _without_null_types(known_kind)
        if kind != known_kind:
            warn(
                f"Column '{field.name}' of {source} has no value of a known type in "
                f"{count(len(records), 'message')} and is read as {kind}. Declare it with "
                f"{option('schema')} if it is something else."
            )
        fields.append(pa.field(field.name, kind))
    return pa.schema(fields)


def check_fits(parser: Parser, sample: Sequence[bytes], source: str) -> None:
    """Raise InputError, with the first reasons, if no message of a sample fits a schema."""
    if not sample:
        return
    _, bad = parser.parse(sample)
    if len(bad) < len(sample):
        return
    lines = [f"The schema fits none of {count(len(sample), 'message')} of {source}:"]
    for position, reason in list(bad.items())[:3]:
        example = sample[position][:120].decode("utf-8", "backslashreplace")
        lines.append(f"  {example} ({reason})")
    lines.append(f"Correct {option('schema')}, or the format of the messages.")
    raise InputError("\n".join(lines))


def _is_object(record: bytes) -> bool:
    """Return whether a record is one JSON object that is not nested too deeply for Arrow."""
    try:
        value = json.loads(record.decode())
        list(lines_of_pieces(Path("message"), [record], is_array=False))  # limits nesting
        return isinstance(value, dict)
    except (InputError, ValueError, RecursionError):
        return False


def _with_times(field: pa.Field, column: pa.ChunkedArray) -> pa.Field:
    """Return a timestamp field if a field's texts are times; Arrow only detects whole seconds."""
    if pa.types.is_string(field.type) and column.null_count < len(column):
        for zone in (None, "UTC"):
            kind = pa.timestamp("us", zone)
            try:
                column.cast(kind)
            except pa.ArrowInvalid:
                continue
            return field.with_type(kind)
    return field


def _without_null_types(kind: pa.DataType) -> pa.DataType:
    """Return a type with text in place of null types, which have no values in the sample."""
    if pa.types.is_null(kind):
        return pa.string()
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_without_null_types(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_without_null_types(field.type)) for field in kind])
    return kind
