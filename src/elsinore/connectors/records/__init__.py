"""Parsing records of live sources (JSON, Avro) into rows of a schema, and schemas from text."""

from elsinore.connectors.records.avro_records import AvroRecords
from elsinore.connectors.records.inference import check_fits, infer_json_schema
from elsinore.connectors.records.json_records import JsonRecords
from elsinore.connectors.records.schema_text import (
    parse_schema,
    print_schema,
    read_schema,
    schema_text,
)

__all__ = [
    "AvroRecords",
    "JsonRecords",
    "check_fits",
    "infer_json_schema",
    "parse_schema",
    "print_schema",
    "read_schema",
    "schema_text",
]
