"""Schemas as text, inferred from samples, and compared with them."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elsinore.connectors.records import (
    JsonRecords,
    check_fits,
    infer_json_schema,
    parse_schema,
    print_schema,
    read_schema,
    schema_text,
)
from elsinore.errors import InputError

LEAVES = st.sampled_from(
    [
        pa.int8(),
        pa.int16(),
        pa.int32(),
        pa.int64(),
        pa.float32(),
        pa.float64(),
        pa.string(),
        pa.bool_(),
        pa.date32(),
        pa.timestamp("us"),
        pa.timestamp("us", "UTC"),
        pa.timestamp("ns"),
        pa.timestamp("ns", "UTC"),
        pa.binary(),
        pa.decimal128(10, 2),
    ]
)
NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8)
TYPES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        inner.map(lambda kind: pa.list_(pa.field("element", kind))),
        st.lists(st.tuples(NAMES, inner), min_size=1, max_size=3).map(pa.struct),
        st.tuples(LEAVES, inner).map(lambda pair: pa.map_(*pair)),
    ),
    max_leaves=5,
)


SPARK_JSON = """
{"type": "struct", "fields": [
  {"name": "a", "type": "long", "nullable": true, "metadata": {}},
  {"name": "b", "type": {"type": "array", "elementType": "double", "containsNull": true}}
]}"""


@given(st.lists(st.tuples(NAMES, TYPES), min_size=1, max_size=5, unique_by=lambda pair: pair[0]))
def test_a_schema_is_printed_so_that_it_can_be_read(fields):
    schema = pa.schema(fields)
    assert parse_schema(print_schema(schema)) == schema


@pytest.mark.parametrize(
    ("text", "schema"),
    [
        ("a INT", [("a", pa.int32())]),
        ("a int, b varchar(10) NOT NULL", [("a", pa.int32()), ("b", pa.string())]),
        (
            "`a b` DECIMAL(5,2),\n c DECIMAL",
            [("a b", pa.decimal128(5, 2)), ("c", pa.decimal128(10))],
        ),
        ("s STRUCT<x: INT, y STRING>", [("s", pa.struct([("x", pa.int32()), ("y", pa.string())]))]),
        (
            SPARK_JSON,
            [("a", pa.int64()), ("b", pa.list_(pa.field("element", pa.float64())))],
        ),
    ],
)
def test_the_usual_forms_are_read(text, schema):
    assert read_schema(text) == pa.schema(schema)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is empty"),
        ("a", "a type is expected, not the end"),
        ("a INTT", "'intt' is not a type"),
        ("a INT b INT", "',' is expected"),
        ("a ARRAY<INT", "'>' is expected"),
        ("a INT, a INT", "two columns 'a'"),
        ("a DECIMAL(50)", "is none"),
        ("a INT; DROP", "';' is not expected"),
        ('{"type": "record"}', "that of Spark"),
        ("{nonsense", "not the JSON of a Spark schema"),
        ("no/such/schema.sql", "There is no file"),
    ],
)
def test_other_texts_are_refused_with_the_forms(text, reason):
    with pytest.raises(InputError, match=reason):
        read_schema(text)


def test_files_name_schemas(tmp_path):
    (tmp_path / "s.sql").write_text("a INT,\nb STRING\n")
    assert read_schema(str(tmp_path / "s.sql")).names == ["a", "b"]
    pq.write_table(pa.table({"v": [1]}), tmp_path / "s.parquet")
    assert read_schema(str(tmp_path / "s.parquet")) == pa.schema([("v", pa.int64())])
    (tmp_path / "s.avsc").write_text('{"type": "record"}')
    assert schema_text(str(tmp_path / "s.avsc")) == '{"type": "record"}'
    assert schema_text("a INT") == "a INT"


def test_columns_are_inferred_from_a_sample_and_messages_that_are_none_left_out():
    warnings: list[str] = []
    sample = [
        json.dumps({"t": "2024-01-31T12:00:00", "v": 1, "in": {"a": None}, "l": []}).encode(),
        json.dumps({"t": "2024-01-31T12:00:01.5", "v": 2.5, "n": None}, indent=1).encode(),
        b"nonsense",
        b"[" * 100_000,
        b'{"x": ' + b"[" * 500 + b"]" * 500 + b"}",
    ]
    schema = infer_json_schema(sample, "'t'", warnings.append)
    assert schema == pa.schema(
        [
            ("t", pa.timestamp("us")),
            ("v", pa.float64()),
            ("in", pa.struct([("a", pa.string())])),
            ("l", pa.list_(pa.string())),
            ("n", pa.string()),
        ]
    )
    assert [warning.split("'")[1] for warning in warnings] == ["in", "l", "n"]
    table, bad = JsonRecords(schema).parse(sample)
    assert (table.num_rows, list(bad)) == (3, [2, 3])  # the last has no column of the schema


def test_columns_that_cannot_be_inferred_are_an_error():
    with pytest.raises(InputError, match=r"no JSON object is among 0 messages.*schema"):
        infer_json_schema([], "'t'", print)
    with pytest.raises(InputError, match="column 'v' is number in some messages and string in"):
        infer_json_schema([b'{"v": 1}', b'{"v": "x"}'], "'t'", print)


def test_a_schema_that_fits_no_message_is_an_error():
    parser = JsonRecords(pa.schema([("v", pa.int64())]))
    check_fits(parser, [], "'t'")
    check_fits(parser, [b'{"v": 1}', b'{"v": "x"}'], "'t'")
    with pytest.raises(InputError, match=r"fits none of 2 messages of 't'(.|\n)*v is a string"):
        check_fits(parser, [b'{"v": "y"}', b'{"v": "x"}'], "'t'")
