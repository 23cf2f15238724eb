"""Columns of every type, and queries for every use of a column, with their expected results.

A column has a few distinct values, which represent the numbers 0, 1, 2 in ascending order. So a
query over a column of any type must return the result over a column of these numbers, with values
in place of the numbers.
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.model import AttributeKind as Kind

UUIDS = [uuid.UUID(int=n).bytes for n in (3, 2**64, 2**127)]
DAYS = [dt.date(2019, 12, 31), dt.date(2020, 1, 1), dt.date(2020, 1, 2)]
TIMES = [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, 12), dt.datetime(2021, 1, 1)]
SPANS = [dt.timedelta(seconds=1), dt.timedelta(minutes=1), dt.timedelta(days=3)]
CLOCKS = [dt.time(0, 0, 1), dt.time(10), dt.time(23, 59, 59)]
TEXTS, OCTETS = ["X", "x", "ä"], [b"", b"x", b"\xff"]
NUMBERS = [Decimal("-1.50"), Decimal("0.00"), Decimal("2.25")]


class Weight(pa.ExtensionType):
    """A user's extension type that is not registered."""

    def __init__(self) -> None:
        super().__init__(pa.int64(), "tests.weight")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> Weight:
        return cls()


def arrow_columns() -> dict[str, pa.Array]:
    """Return an array for each Arrow type: its values in ascending order, then a null."""
    whole = [pa.int8(), pa.int16(), pa.int32(), pa.int64()]
    unsigned_types = [pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
    units = ("s", "ms", "us", "ns")
    plain: list[tuple[Sequence[Any], pa.DataType]] = [
        ([False, True], pa.bool_()),
        *(([-7, 0, 90], kind) for kind in whole),
        *(([0, 1, 200], kind) for kind in unsigned_types),
        *(([-0.5, 0.0, 2.5], kind) for kind in (pa.float16(), pa.float32(), pa.float64())),
        *((NUMBERS, kind) for kind in (pa.decimal32(9, 2), pa.decimal64(12, 2))),
        *((NUMBERS, kind) for kind in (pa.decimal128(17, 2), pa.decimal256(17, 2))),
        *((TEXTS, kind) for kind in (pa.string(), pa.large_string(), pa.string_view())),
        *((OCTETS, kind) for kind in (pa.binary(), pa.large_binary(), pa.binary_view())),
        ([b"aa", b"ab", b"\xff\xff"], pa.binary(2)),
        *((DAYS, kind) for kind in (pa.date32(), pa.date64())),
        *((TIMES, pa.timestamp(unit)) for unit in units),
        *((TIMES, pa.timestamp(unit, "Europe/Berlin")) for unit in units),
        *((SPANS, pa.duration(unit)) for unit in units),
        *((CLOCKS, kind) for kind in (pa.time32("s"), pa.time32("ms"))),
        *((CLOCKS, kind) for kind in (pa.time64("us"), pa.time64("ns"))),
        ([(1, 2, 3), (1, 2, 4), (2, 0, 0)], pa.month_day_nano_interval()),
        ([[1], [2], [2, 3]], pa.list_(pa.int64())),
        ([[1], [2], [2, 3]], pa.large_list(pa.int64())),
        ([[1], [2], [3]], pa.list_(pa.int64(), 1)),
        ([[1], [2], [2, 3]], pa.list_view(pa.int64())),
        ([[1], [2], [2, 3]], pa.large_list_view(pa.int64())),
        ([{"a": 1}, {"a": 2}, {"a": None}], pa.struct({"a": pa.int64()})),
        ([[("a", 1)], [("a", 2)], []], pa.map_(pa.string(), pa.int64())),
    ]
    columns = {str(kind): pa.array([*values, None], kind) for values, kind in plain}
    extensions: dict[str, tuple[pa.Array, pa.DataType]] = {
        "uuid": (pa.array([*UUIDS, None], pa.binary(16)), pa.uuid()),
        "bool8": (pa.array([0, 1, None], pa.int8()), pa.bool8()),
        "json": (pa.array(['{"a":1}', '{"a":2}', None]), pa.json_()),
        "opaque": (pa.array([*TEXTS, None]), pa.opaque(pa.string(), "name", "vendor")),
        "own": (pa.array([1, 2, 3, None]), Weight()),
        "tensor": (
            pa.array([[1, 2], [3, 4], None], pa.list_(pa.int32(), 2)),
            pa.fixed_shape_tensor(pa.int32(), [2]),
        ),
    }
    columns |= {
        name: pa.ExtensionArray.from_storage(kind, storage)
        for name, (storage, kind) in extensions.items()
    }
    uuids = columns["uuid"]
    columns["list of uuid"] = pa.ListArray.from_arrays(
        pa.array([0, 1, 2, None, 3], pa.int32()), uuids
    )
    columns["struct of uuid"] = pa.StructArray.from_arrays(
        [uuids], ["u"], mask=pa.array([False, False, False, True])
    )
    columns["runs"] = pa.RunEndEncodedArray.from_arrays([1, 2, 3, 4], pa.array([*TEXTS, None]))
    for name in ("string", "timestamp[us]", "uuid", "list<item: int64>"):
        indices = pa.array(range(len(columns[name])), pa.uint8())
        columns[f"dictionary of {name}"] = pa.DictionaryArray.from_arrays(indices, columns[name])
    members = [pa.array([1, 2, None]), pa.array(["x"])]
    sparse = pa.array([0, 0, 0], pa.int8())
    columns["sparse union"] = pa.UnionArray.from_sparse(
        sparse, [members[0], pa.array(["x", "y", "z"])]
    )
    places = pa.array([0, 1, 2], pa.int32())
    columns["dense union"] = pa.UnionArray.from_dense(sparse, places, members)
    return columns


# Spark's types: values as SQL, in ascending order.
SPARK_COLUMNS = {
    "boolean": ["false", "true"],
    "tinyint": ["-7Y", "0Y", "90Y"],
    "smallint": ["-7S", "0S", "90S"],
    "int": ["-7", "0", "90"],
    "bigint": ["-7L", "0L", "90L"],
    "float": ["-0.5F", "0F", "2.5F"],
    "double": ["-0.5D", "0D", "2.5D"],
    "decimal(9,2)": ["-1.50BD", "0BD", "2.25BD"],
    "decimal(17,2)": ["-1.50BD", "0BD", "2.25BD"],
    "string": ["'X'", "'x'", "'ä'"],
    "string collate UTF8_LCASE": ["'x'", "'y'", "'z'"],
    "string collate UNICODE_CI": ["'x'", "'y'", "'z'"],
    "binary": ["X''", "X'01'", "X'FF'"],
    "date": ["DATE'2019-12-31'", "DATE'2020-01-01'", "DATE'2020-01-02'"],
    "timestamp": ["TIMESTAMP'2020-01-01 00:00:00Z'", "TIMESTAMP'2020-01-01 12:00:00Z'"],
    "timestamp_ntz": ["TIMESTAMP_NTZ'2020-01-01 00:00:00'", "TIMESTAMP_NTZ'2020-01-01 12:00:00'"],
    "interval day to second": ["INTERVAL '1' SECOND", "INTERVAL '1' MINUTE", "INTERVAL '3' DAY"],
    "interval year to month": ["INTERVAL '1' MONTH", "INTERVAL '1' YEAR"],
    "interval": ["make_interval(0, 1)", "make_interval(1)"],
    "array<int>": ["array(1)", "array(2)", "array(2, 3)"],
    "array<string collate UTF8_LCASE>": ["array('x')", "array('y')"],
    "struct<a:int>": ["named_struct('a', 1)", "named_struct('a', 2)"],
    "map<string,int>": ["map('a', 1)", "map('a', 2)"],
    "variant": ["parse_json('1')", "parse_json('2')"],
    "geometry(0)": [
        "ST_GeomFromWKB(X'0101000000000000000000F03F0000000000000040')",
        "ST_GeomFromWKB(X'0101000000000000000000F03F0000000000000041')",
    ],
}


@dataclass(frozen=True, slots=True)
class Use:
    """A use of the column `v`: a query, and the kinds of values that it takes."""

    query: str
    kinds: frozenset[Kind]
    columns_of_v: tuple[int, ...] = ()  # the result's columns that have values of `v`


NESTED, BYTES, CLOCK, SPAN = Kind.NESTED, Kind.BYTES, Kind.CLOCK, Kind.DURATION
EVERY = frozenset(Kind)
KEYS = EVERY - {NESTED, Kind.INTERVAL, Kind.COLLATED, Kind.OTHER}
WITHIN = KEYS
BETWEEN = KEYS - {BYTES, CLOCK}
ADDED = frozenset({Kind.INTEGER, Kind.NUMBER})
LEAST = ADDED | {Kind.TIME, Kind.BOOLEAN}
MATCH, TREND = "RETURN a.n, b.n AS m PATTERN SEQ(A a, B b)", "RETURN COUNT(*) PATTERN SEQ(A a, B b)"

USES = {
    "key of trends": Use(f"{TREND} WHERE [v]", KEYS),
    "key of matches": Use(f"{MATCH} WHERE [v]", KEYS),
    "group of trends": Use("RETURN v, COUNT(*) PATTERN SEQ(A, B) GROUP BY v", KEYS, (0,)),
    "group of matches": Use("RETURN v, a.n PATTERN SEQ(A a, B b) GROUP BY v", KEYS, (0,)),
    "between events of trends": Use(f"{TREND} WHERE a.v = b.v", BETWEEN),
    "between events of matches": Use(f"{MATCH} WHERE a.v = b.v", BETWEEN),
    "order between events of trends": Use(f"{TREND} WHERE a.v < b.v", BETWEEN),
    "order between events of matches": Use(f"{MATCH} WHERE a.v >= b.v", BETWEEN),
    "difference between events": Use(f"{MATCH} WHERE a.v <> b.v", BETWEEN),
    "within an event": Use(f"{TREND} WHERE a.v = a.w", WITHIN),
    "order within an event": Use(f"{MATCH} WHERE a.v < a.w", WITHIN),
    "null": Use(f"{MATCH} WHERE b.v IS NULL", EVERY),
    "returned": Use("RETURN a.v, b.v AS w PATTERN SEQ(A a, B b)", EVERY, (0, 1)),
    "listed": Use("RETURN b[].v AS l PATTERN SEQ(A a, B b+)", EVERY, (0,)),
    "distinct": Use("RETURN DISTINCT a.v PATTERN SEQ(A a, B b)", EVERY, (0,)),
    "counted": Use("RETURN COUNT(b[].v) AS c, a.n PATTERN SEQ(A a, B b+)", EVERY),
    "counted in trends": Use(
        "RETURN COUNT(b) AS c PATTERN SEQ(A a, B b+) WHERE b.v IS NULL", EVERY
    ),
    "least of trends": Use("RETURN MIN(a.v) AS c PATTERN SEQ(A a, B b)", LEAST, (2,)),
    "greatest of matches": Use("RETURN MAX(b[].v) AS c PATTERN SEQ(A a, B b+)", LEAST, (0,)),
}
AGGREGATES = {  # of other values than the column's own: accepted or rejected, values elsewhere
    "sum of trends": Use("RETURN SUM(a.v) AS c PATTERN SEQ(A a, B b)", ADDED),
    "sum of matches": Use("RETURN SUM(b[].v) AS c PATTERN SEQ(A a, B b+)", ADDED),
    "average": Use("RETURN AVG(b[].v) AS c PATTERN SEQ(A a, B b+)", ADDED),
}


def constant(kind: Kind, value: Any) -> str | None:
    """Return a value as a constant of the language; None for kinds without constants."""
    match kind:
        case Kind.BOOLEAN:
            return "TRUE" if value else "FALSE"
        case Kind.INTEGER | Kind.NUMBER:
            return str(value)
        case Kind.STRING:
            return f"'{value}'"
        case Kind.TIME:
            return f"'{value.isoformat()}'"
    return None


def in_place(rows: Iterable[Mapping[str, Any]], use: Use, values: Sequence[Any]) -> Counter[str]:
    """Return rows with `values` in place of the numbers that represent them, in any order."""

    def value(number: Any) -> Any:
        if isinstance(number, list):
            return [value(element) for element in number]
        return None if number is None else values[number]

    return row_counts(
        [
            value(cell) if place in use.columns_of_v else cell
            for place, cell in enumerate(row.values())
        ]
        for row in rows
    )


def row_counts(rows: Iterable[Iterable[Any]]) -> Counter[str]:
    """Return the number of occurrences of each row, as text: some types have no hash."""
    return Counter(repr(list(row)) for row in rows)


def with_other_types(table: pa.Table, random: Random) -> pa.Table:
    """Return a table with some columns in other Arrow types that have the same values.

    So a test of queries reaches all types that stand for texts, whole numbers, numbers and
    booleans; its results stay the same.
    """
    for place, field in enumerate(table.schema):
        forms = _FORMS.get(field.type, ())
        if field.name != "time" and forms and random.random() < 0.5:
            column = table.column(place).combine_chunks()
            try:
                column = random.choice(forms)(column)
            except pa.ArrowInvalid:  # a value does not fit a narrower type
                continue
            table = table.set_column(place, field.name, column)
    return table


def _extension(kind: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    return lambda column: pa.ExtensionArray.from_storage(kind, column.cast(kind.storage_type))


def _dictionary(index: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    def encoded(column: pa.Array) -> pa.Array:
        parts = column.dictionary_encode()
        return pa.DictionaryArray.from_arrays(parts.indices.cast(index), parts.dictionary)

    return encoded


def _cast(kind: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    def exactly(column: pa.Array) -> pa.Array:
        narrow = column.cast(kind)
        if narrow.cast(column.type).to_pylist() != column.to_pylist():
            raise pa.ArrowInvalid("rounded")
        return narrow

    return exactly


_DICTIONARIES = (_dictionary(pa.uint8()), _dictionary(pa.int16()))
_FORMS: dict[pa.DataType, tuple[Callable[[pa.Array], pa.Array], ...]] = {
    pa.string(): (
        *_DICTIONARIES,
        *map(_cast, (pa.large_string(), pa.string_view())),
        *map(_extension, (pa.json_(), pa.opaque(pa.string(), "name", "vendor"))),
        pc.run_end_encode,
    ),
    pa.int64(): (
        *_DICTIONARIES,
        *map(_cast, (pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint64())),
        _extension(Weight()),
        pc.run_end_encode,
    ),
    pa.float64(): (*_DICTIONARIES, *map(_cast, (pa.float16(), pa.float32())), pc.run_end_encode),
    pa.bool_(): (_extension(pa.bool8()), pc.run_end_encode),
}
