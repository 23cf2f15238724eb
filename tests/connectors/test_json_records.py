"""JSON objects parsed together: each is accepted or not by itself, whatever its neighbours are."""

import os

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from elsinore.connectors.records import json_records
from elsinore.connectors.records.json_records import JsonRecords
from elsinore.errors import InputError

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("s", pa.string()),
        ("d", pa.float64()),
        ("t", pa.timestamp("us")),
        ("day", pa.date32()),
        ("in", pa.struct([("a", pa.int64())])),
        ("list", pa.list_(pa.int64())),
    ]
)
RECORDS = JsonRecords(SCHEMA)
# Records that tempt a parser of many records to see others than there are.
ODD = [
    b"",
    b" ",
    b"{}",
    b"{",
    b"}",
    b"{}{}",
    b"{}\n{}",
    b"{}\n",
    b"\n{}",
    b'{"in":{}',
    b"}{",
    b"[{}]",
    b"{},",
    b",{}",
    b'{"s":"',
    b'"}',
    b'{"s":"\n"}',
    b'{"s":"a\\nb"}',
    b'{\n "id": 1\n}',
    b"null",
    b"1",
    b'{"id":1.5}',
    b'{"id":1e2}',
    b'{"id":"1"}',
    b'{"id":99999999999999999999}',
    b'{"id":null}',
    b'{"d":NaN}',
    b'{"d":1}',
    b'{"d":"1"}',
    b'{"s":1}',
    b'{"s":"\xff"}',
    b'{"s":"\\ud800"}',
    b'{"s":"\xc3\xa4"}',
    b'{"id":1,"id":2}',
    b'{"x":1,"x":2}',
    b'{"t":"2024-01-31T12:00:00Z"}',
    b'{"t":"soon"}',
    b'{"t":5}',
    b'{"day":"2024-01-31"}',
    b'{"day":"2024-02-31"}',
    b'{"day":5}',
    b'{"in":{"a":1,"b":2}}',
    b'{"in":{"a":"x"}}',
    b'{"list":[1,null]}',
    b'{"list":[1.5]}',
    b'\xef\xbb\xbf{"id":3}',
    b'{"id":1}//',
    b'{"id":1,}',
    b"{'id':1}",
    b'{"s":"}\\n{"}',
    b"\x00",
    b"{\x00}",
]


def alone(record: bytes):
    """Parse one record by itself, as text that stands alone."""
    table, bad = RECORDS.parse([record])
    return (table.to_pylist()[0], None) if not bad else (None, bad[0])


ALONE = {record: alone(record) for record in ODD}


def good(n: int) -> bytes:
    return b'{"id": %d, "s": "x%d", "d": %d.5}' % (n, n, n)


@settings(max_examples=int(os.environ.get("ELSINORE_EXAMPLES", "60")))
@given(
    records=st.lists(
        st.one_of(st.sampled_from(ODD), st.integers(0, 99).map(good), st.binary(max_size=4)),
        max_size=40,
    ),
    block=st.sampled_from([1, 30, 1 << 26]),
)
@example(records=[b"{}{}", b""], block=1 << 26)
@example(records=[b'{"in":{}', b"}"], block=1 << 26)
@example(records=[b'{"in":', b"{}}"], block=1 << 26)
def test_a_record_is_accepted_by_itself_whatever_its_neighbours_are(records, block):
    before = json_records.BLOCK_BYTES
    json_records.BLOCK_BYTES = block
    try:
        table, bad = RECORDS.parse(records)
    finally:
        json_records.BLOCK_BYTES = before
    expected = [ALONE.get(record) or alone(record) for record in records]
    assert table.schema == SCHEMA
    assert bad == {n: why for n, (_, why) in enumerate(expected) if why is not None}
    rows = [row for row, why in expected if why is None]
    assert str(table.to_pylist()) == str(rows)  # NaN too


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (b"", "not one JSON object"),
        (b"{}{}", "not one JSON object"),
        (b"[{}]", "not one JSON object"),
        (b'{"id":"1"}', "id is a string, and the schema says number"),
        (b'{"id":1.5}', "'1.5' cannot be read as int64"),
        (b'{"in":{"a":"x"}}', "in/a is a string, and the schema says number"),
        (b'{"id":1,"id":2}', "id occurs twice"),
        (b'{"s":"\xff"}', "text that is not UTF-8"),
        (b'{"day":"2024-02-31"}', "day: '2024-02-31' cannot be read as a time"),
        (b'{"id":1,}', "Missing a name for object member"),
        (b'{"t":"soon"}', "'soon' cannot be read as timestamp[us]"),
    ],
)
def test_a_bad_record_has_a_reason(record, reason):
    assert ALONE.get(record, alone(record))[1].startswith(reason)


def test_a_few_bad_records_among_many_are_found():
    records = [good(n) for n in range(50_000)]
    places = [0, 17, 25_000, 49_999]
    for place in places:
        records[place] = b'{"id": "x"}'
    table, bad = RECORDS.parse(records)
    assert list(bad) == places
    assert table.num_rows == 50_000 - 4


def test_deep_nesting_in_an_ignored_field_is_harmless():
    depth = 100_000
    table, bad = RECORDS.parse([b'{"x":' + b"[" * depth + b"]" * depth + b',"id":1}'])
    assert table.column("id").to_pylist() == [1]
    assert not bad


@pytest.mark.parametrize(
    "kind", [pa.map_(pa.string(), pa.int64()), pa.time64("us"), pa.binary(), pa.duration("s")]
)
def test_a_type_that_json_is_not_read_as_is_refused(kind):
    with pytest.raises(InputError, match=r"Column 'v' is .* Declare it as STRING"):
        JsonRecords(pa.schema([("v", kind)]))
