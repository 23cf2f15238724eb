"""Decoding Avro records of one schema into Arrow columns."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from elsinore.errors import InputError, SetupError

_PLAIN = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "bytes": pa.binary(),
}
_LOGICAL = {
    "date": pa.date32(),
    "time-millis": pa.time64("us"),
    "time-micros": pa.time64("us"),
    "timestamp-millis": pa.timestamp("us", "UTC"),
    "timestamp-micros": pa.timestamp("us", "UTC"),
    "local-timestamp-millis": pa.timestamp("us"),
    "local-timestamp-micros": pa.timestamp("us"),
}
CONFLUENT_HEADER = 5  # bytes: a zero, and the schema's number in a registry
LONGEST_REASON = 200


class AvroRecords:
    r"""Decodes Avro records without file headers into the columns of their schema.

    `schema` is the text of an Avro record schema, with which all messages were written. With
    `confluent`, each message begins with the five bytes that a schema registry's serializer adds.
    Decoding takes some microseconds per record, several times as long as JSON.

    Raises InputError for text that is not a record schema, and for types without an Arrow type (a
    union of several types); SetupError if fastavro is not installed.

    >>> records = AvroRecords(
    ...     '{"type": "record", "name": "E", "fields": [{"name": "v", "type": "long"}]}'
    ... )
    >>> table, bad = records.parse([b"\x06", b""])
    >>> table.to_pylist(), bad
    ([{'v': 3}], {1: 'it ends too early'})
    """

    def __init__(self, schema: str, *, confluent: bool = False) -> None:
        fastavro = _fastavro()
        try:
            avro_schema = _without_uuids(json.loads(schema))
            self._avro = fastavro.parse_schema(avro_schema)
        except Exception as error:
            # fastavro raises errors of many types, even KeyError
            raise InputError(f"The text is not an Avro schema: {_text(error)}.") from error
        if not isinstance(avro_schema, dict) or avro_schema.get("type") != "record":
            raise InputError(
                'An Avro schema of events is a record: {"type": "record", "fields": [...]}.'
            )
        named_types: dict[str, Any] = {}
        kind = _type(avro_schema, named_types, str(avro_schema.get("namespace", "")))
        self.schema = pa.schema(list(kind))
        self._skipped = CONFLUENT_HEADER if confluent else 0

    def parse(self, records: Sequence[bytes]) -> tuple[pa.Table, dict[int, str]]:
        """Return the valid records as a table, and the reasons for invalid ones by position."""
        decode = _fastavro().schemaless_reader
        rows: list[dict[str, Any]] = []
        bad: dict[int, str] = {}
        for position, record in enumerate(records):
            if self._skipped and (len(record) < self._skipped or record[0]):
                bad[position] = "it has no header of a schema registry"
                continue
            stream = io.BytesIO(record)
            stream.seek(self._skipped)
            try:
                row = decode(stream, self._avro, None)
            except EOFError:
                bad[position] = "it ends too early"
                continue
            except Exception as error:  # bytes of another schema may cause any error
                bad[position] = f"it cannot be decoded: {_text(error)}"
                continue
            remaining = len(record) - stream.tell()
            if remaining:
                bad[position] = f"bytes are left behind the record: {remaining}"
                continue
            rows.append(row)
        return self._table(rows, records, bad), bad

    def _table(
        self, rows: list[dict[str, Any]], records: Sequence[bytes], bad: dict[int, str]
    ) -> pa.Table:
        """Return rows as a table; add those with a value that Arrow cannot represent to `bad`."""
        try:
            return pa.Table.from_pylist(rows, self.schema)
        except (pa.ArrowException, OverflowError, ValueError):
            good = []
            positions = [place for place in range(len(records)) if place not in bad]
            for position, row in zip(positions, rows, strict=True):
                try:
                    pa.Table.from_pylist([row], self.schema)
                    good.append(row)
                except (pa.ArrowException, OverflowError, ValueError) as error:
                    bad[position] = f"a value has no place in its column: {_text(error)}"
            return pa.Table.from_pylist(good, self.schema)


def _fastavro() -> Any:
    try:
        import fastavro  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise SetupError(
            "Avro needs the package fastavro. Install it with: pip install 'elsinore[kafka]'"
        ) from error
    return fastavro


def _without_uuids(avro: Any) -> Any:
    """Return an Avro type without the logical type UUID: UUIDs remain text."""
    if isinstance(avro, list):
        return [_without_uuids(part) for part in avro]
    if isinstance(avro, dict):
        return {
            name: _without_uuids(part)
            for name, part in avro.items()
            if (name, part) != ("logicalType", "uuid")
        }
    return avro


def _text(error: Exception) -> str:
    text = str(error).partition("\n")[0].rstrip(".") or type(error).__name__
    return text[:LONGEST_REASON]


def _type(avro: Any, named_types: dict[str, Any], space: str) -> pa.DataType:
    """Return the Arrow type of an Avro type; `named_types` has the records and enums so far."""
    if isinstance(avro, list):
        kinds = [kind for kind in avro if kind != "null"]
        if len(kinds) == 1:
            return _type(kinds[0], named_types, space)
        raise InputError(f"An Avro union of several types has no column: {json.dumps(avro)}.")
    if isinstance(avro, str):
        for name in (avro, f"{space}.{avro}"):
            if name in named_types:
                return named_types[name]
        return _plain_type(avro)
    kind = avro["type"]
    if avro.get("logicalType") in _LOGICAL:
        return _LOGICAL[avro["logicalType"]]
    if avro.get("logicalType") == "decimal":
        return pa.decimal128(avro["precision"], avro.get("scale", 0))
    if kind == "array":
        return pa.list_(_type(avro["items"], named_types, space))
    if kind == "map":
        return pa.map_(pa.string(), _type(avro["values"], named_types, space))
    if kind not in {"record", "enum", "fixed"}:
        return _type(kind, named_types, space)
    space = avro.get("namespace", space)
    if kind == "record":
        fields = [pa.field(f["name"], _type(f["type"], named_types, space)) for f in avro["fields"]]
        arrow = pa.struct(fields)
    else:
        arrow = pa.string() if kind == "enum" else pa.binary(avro["size"])
    name = avro["name"]
    named_types[name if "." in name or not space else f"{space}.{name}"] = arrow
    return arrow


def _plain_type(name: str) -> pa.DataType:
    if name not in _PLAIN:
        raise InputError(
            f"The Avro type '{name}' has no column. Types: {', '.join(_PLAIN)}, records, arrays, "
            "maps, enums and fixed."
        )
    return _PLAIN[name]
