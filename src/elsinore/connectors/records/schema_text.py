"""Parsing and printing schemas of events as text.

Three forms are parsed: an SQL column list (`time TIMESTAMP, type STRING, v DOUBLE`), the JSON of a
Spark schema, and the name of a Parquet or Arrow file. Schemas are printed as SQL column lists.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from elsinore.errors import InputError
from elsinore.model.spark_sql import quoted

_TYPES = {
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "tinyint": pa.int8(),
    "short": pa.int16(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "real": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "varchar": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "timestamp_ltz": pa.timestamp("us", "UTC"),
    "timestamp_ns": pa.timestamp("ns", "UTC"),
    "timestamp_ntz_ns": pa.timestamp("ns"),
    "binary": pa.binary(),
}
_PRINTED = {kind: name.upper() for name, kind in reversed(_TYPES.items())} | {
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.timestamp("us", "UTC"): "TIMESTAMP",
    pa.string(): "STRING",
    pa.large_string(): "STRING",
}
_TOKEN = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([\w$.]+)|([<>(),:]))")
_FORMS = (
    "Columns are declared as in: time TIMESTAMP, type STRING, v DOUBLE. A file with such a text, "
    "with the JSON of a Spark or Avro schema, or a Parquet file will do as well"
)


def read_schema(text: str) -> pa.Schema:
    """Return the schema that a text declares, or that of the file that it names.

    Raise InputError, with the accepted forms, for any other text.

    >>> print(read_schema("time TIMESTAMP, v ARRAY<INT>"))
    time: timestamp[us, tz=UTC]
    v: list<element: int32>
      child 0, element: int32
    """
    path = Path(text)
    if path.suffix and "\n" not in text and "," not in text and " " not in text.strip():
        if not path.is_file():
            raise InputError(f"There is no file '{text}' with a schema. {_FORMS}.")
        return _of_file(path)
    return parse_schema(text)


def schema_text(text: str) -> str:
    """Return the text of a schema: the content of the named file, or the text itself."""
    path = Path(text)
    if "\n" in text or "{" in text or not path.is_file():
        return text
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"The schema in '{path}' cannot be read as text: {error}.") from error


def parse_schema(text: str) -> pa.Schema:
    """Return the schema that a text declares, in SQL or as the JSON of a Spark schema."""
    if text.lstrip().startswith("{"):
        return _of_json(text)
    parser = _Parser(text)
    fields = parser.fields("")
    if not fields:
        raise InputError(f"The schema is empty. {_FORMS}.")
    names = [field.name for field in fields]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"The schema has two columns '{name}'. Rename one of them.")
    return pa.schema(fields)


def print_schema(schema: pa.Schema) -> str:
    """Return a schema as an SQL column list, for `parse_schema`.

    Raise InputError for a type without a name in SQL.

    >>> print_schema(pa.schema([("time", pa.timestamp("us", "UTC")), ("count(*)", pa.int64())]))
    'time TIMESTAMP, `count(*)` BIGINT'
    """
    return ", ".join(f"{_name(field.name)} {_sql_type(field.type)}" for field in schema)


class _Parser:
    """Reads names and types from the tokens of a text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0
        self._token: tuple[str, str] = ("", "")  # kind (name, sign or "" at the end) and value
        self._next()

    def fields(self, close: str) -> list[pa.Field]:
        """Return `name type` pairs up to a closing sign, or the end of the text."""
        fields: list[pa.Field] = []
        while self._token != (("sign", close) if close else ("", "")):
            if fields:
                self._expect(",")
            name = self._name("the name of a column")
            if self._token == ("sign", ":"):
                self._next()
            fields.append(pa.field(name, self._type()))
            if self._token[1].upper() == "NOT":
                self._next()
                self._name("NULL")
        return fields

    def _type(self) -> pa.DataType:
        """Parse a type, such as INT, DECIMAL(10, 2) or ARRAY<STRING>."""
        name = self._name("a type").lower()
        if name == "array":
            self._expect("<")
            kind = pa.list_(pa.field("element", self._type()))
            self._expect(">")
            return kind
        if name == "struct":
            self._expect("<")
            fields = self.fields(">")
            self._expect(">")
            return pa.struct(fields)
        if name == "map":
            self._expect("<")
            key = self._type()
            self._expect(",")
            value = self._type()
            self._expect(">")
            return pa.map_(key, value)
        numbers = self._numbers()
        if name in {"decimal", "numeric", "dec"}:
            precision, scale = (*(numbers or [10]), 0)[:2]
            if not 0 < precision <= 38 or not 0 <= scale <= precision:
                raise self._error(f"DECIMAL({precision}, {scale}) is none")
            return pa.decimal128(precision, scale)
        if name not in _TYPES:
            raise self._error(f"'{name}' is not a type: {', '.join(sorted(_TYPES))}, decimal, ...")
        return _TYPES[name]

    def _numbers(self) -> list[int]:
        """Return the numbers in parentheses that follow, if any."""
        numbers: list[int] = []
        if self._token == ("sign", "("):
            self._next()
            while self._token != ("sign", ")"):
                if numbers:
                    self._expect(",")
                word = self._name("a number")
                if not word.isdecimal():
                    raise self._error(f"'{word}' is not a number")
                numbers.append(int(word))
            self._next()
        return numbers

    def _name(self, what: str) -> str:
        kind, value = self._token
        if kind != "name":
            raise self._error(f"{what} is expected, not {repr(value) if value else 'the end'}")
        self._next()
        return value

    def _expect(self, sign: str) -> None:
        if self._token != ("sign", sign):
            raise self._error(f"'{sign}' is expected, not {self._token[1]!r}")
        self._next()

    def _next(self) -> None:
        match = _TOKEN.match(self._text, self._place)
        if match is None:
            remainder = self._text[self._place :].strip()
            if remainder:
                raise self._error(f"{remainder[:1]!r} is not expected")
            self._token = ("", "")
            return
        self._place = match.end()
        quoted, word, sign = match.groups()
        name = quoted.replace("``", "`") if quoted is not None else word
        self._token = ("sign", sign) if sign else ("name", name)

    def _error(self, why: str) -> InputError:
        before = self._text[: self._place].strip()
        return InputError(f"The schema cannot be read behind '{before[-40:]}': {why}. {_FORMS}.")


def _of_file(path: Path) -> pa.Schema:
    if path.suffix.lower() in {".parquet", ".pq"}:
        try:
            return pq.read_schema(path).remove_metadata()
        except (OSError, pa.ArrowException) as error:
            raise InputError(f"'{path}' is not a Parquet file that can be read: {error}") from error
    if path.suffix.lower() in {".arrow", ".feather", ".ipc"}:
        try:
            with pa.OSFile(str(path)) as file:
                return pa.ipc.open_file(file).schema.remove_metadata()
        except (OSError, pa.ArrowException) as error:
            raise InputError(f"'{path}' is not an Arrow file that can be read: {error}") from error
    return parse_schema(schema_text(str(path)))


def _of_json(text: str) -> pa.Schema:
    try:
        spark_schema = json.loads(text)
        if spark_schema.get("type") != "struct":
            raise InputError(
                'A schema in JSON is that of Spark: {"type": "struct", "fields": [...]}.'
            )
        return pa.schema(list(_spark_type(spark_schema)))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"The schema is not the JSON of a Spark schema: {error}.") from error


def _spark_type(kind: Any) -> pa.DataType:
    if isinstance(kind, str):
        (field,) = parse_schema(f"c {kind}")
        return field.type
    if kind["type"] == "struct":
        return pa.struct([pa.field(f["name"], _spark_type(f["type"])) for f in kind["fields"]])
    if kind["type"] == "array":
        return pa.list_(pa.field("element", _spark_type(kind["elementType"])))
    if kind["type"] == "map":
        return pa.map_(_spark_type(kind["keyType"]), _spark_type(kind["valueType"]))
    raise ValueError(f"unknown type {kind['type']!r}")


def _sql_type(kind: pa.DataType) -> str:
    types = pa.types
    if kind in _PRINTED:
        return _PRINTED[kind]
    if types.is_decimal128(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    if types.is_list(kind) or types.is_large_list(kind):
        return f"ARRAY<{_sql_type(kind.value_type)}>"
    if types.is_map(kind):
        return f"MAP<{_sql_type(kind.key_type)}, {_sql_type(kind.item_type)}>"
    if types.is_struct(kind):
        fields = ", ".join(f"{_name(field.name)}: {_sql_type(field.type)}" for field in kind)
        return f"STRUCT<{fields}>"
    raise InputError(f"The type {kind} has no name in SQL. Cast the column.")


def _name(name: str) -> str:
    plain = re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII)
    return name if plain else quoted(name)
