"""Avro records of a schema that is given."""

import datetime as dt
import decimal
import io
import json

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elsinore.connectors.records import AvroRecords
from elsinore.errors import InputError

SCHEMA = {
    "type": "record",
    "name": "Trip",
    "namespace": "com.example",
    "fields": [
        {"name": "time", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "type", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        {"name": "v", "type": ["null", "double"]},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "id", "type": {"type": "string", "logicalType": "uuid"}},
        {
            "name": "price",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        },
        {
            "name": "place",
            "type": {"type": "record", "name": "P", "fields": [{"name": "x", "type": "int"}]},
        },
        {"name": "to", "type": ["null", "P"]},
        {"name": "n", "type": {"type": "map", "values": "long"}},
    ],
}
ROW = {
    "time": dt.datetime(2024, 1, 31, 12, 0, 0, 5000, tzinfo=dt.UTC),
    "type": "B",
    "v": None,
    "tags": ["x", "y"],
    "day": dt.date(2024, 1, 31),
    "id": "5b6d1c1e-7c0a-4b55-8f5a-2f2b7d3f9f10",
    "price": decimal.Decimal("12.30"),
    "place": {"x": 1},
    "to": {"x": 2},
    "n": [("a", 1)],
}
ONE = '{"type": "record", "name": "E", "fields": [{"name": "v", "type": "long"}]}'


def encoded(schema, row) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, schema, row)
    return stream.getvalue()


def test_each_type_has_a_column():
    record = encoded(SCHEMA, ROW | {"n": {"a": 1}})
    records = AvroRecords(json.dumps(SCHEMA))
    table, bad = records.parse([record, record])
    assert not bad
    assert table.schema == records.schema
    assert table.to_pylist() == [ROW, ROW]


def test_bad_records_have_reasons_and_the_others_are_read():
    good = encoded(json.loads(ONE), {"v": 3})
    table, bad = AvroRecords(ONE).parse([good, b"", good + b"!", good])
    assert table.column("v").to_pylist() == [3, 3]
    assert bad == {1: "it ends too early", 2: "bytes are left behind the record: 1"}


def test_a_registrys_header_is_skipped():
    good = b"\x00\x00\x00\x00\x07" + encoded(json.loads(ONE), {"v": 3})
    table, bad = AvroRecords(ONE, confluent=True).parse([good, b"\x06", b"\x01" + good[1:]])
    assert table.column("v").to_pylist() == [3]
    assert set(bad) == {1, 2}


@given(st.lists(st.binary(max_size=30), max_size=20))
def test_any_bytes_are_rows_or_rejected(records):
    parser = AvroRecords(json.dumps(SCHEMA))
    table, bad = parser.parse(records)
    assert table.num_rows + len(bad) == len(records)
    assert table.schema == parser.schema
    alone = [bool(parser.parse([record])[1]) for record in records]
    assert [place in bad for place in range(len(records))] == alone


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ("nonsense", "not an Avro schema"),
        ('"long"', "is a record"),
        ('{"type": "record", "name": "E", "fields": [{"name": "v", "type": "lng"}]}', "lng"),
        (ONE.replace('"long"', '["long", "string"]'), "union of several types"),
    ],
)
def test_what_is_no_schema_of_events_is_refused(schema, reason):
    with pytest.raises(InputError, match=reason):
        AvroRecords(schema)


def test_the_schema_is_known_before_any_record():
    assert AvroRecords(ONE).schema == pa.schema([("v", pa.int64())])
